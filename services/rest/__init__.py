"""REST: the gRPC service over HTTP and JSON. A gateway, which has no rules of retrieval, limits or access of its own.

The messages, their fields and their comments are those of the public contract: the models and the OpenAPI document are made from it.
"""
