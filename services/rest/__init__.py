"""REST: the gRPC service over HTTP and JSON. A gateway, which has no rules of retrieval, limits or access of its own.

Bodies and answers are the JSON forms of the messages of the public contract; the OpenAPI document is made from it.
"""
