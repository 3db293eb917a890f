"""Finding tools: the retrieval service is asked over gRPC; what comes back is call schemas and typed parameter bindings."""
