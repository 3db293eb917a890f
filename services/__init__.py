"""The processes people run: the gRPC server, the command line and what they share."""
