"""The gRPC server: it decodes and limits requests, asks the engine, and encodes answers and errors; health, logs, settings."""
