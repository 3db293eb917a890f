"""The processes: the gRPC server (``server/``), the command (``cli/``), its jobs (``jobs/``) and the call schemas
(``schemas/``).
"""
