"""The client of egotools: which tools does this request need?

All that an agent imports. It needs grpcio and protobuf, and nothing else of this repository::

    from egotools import Client

    with Client("127.0.0.1:50051") as client:
        for tool in client.retrieve("remind the buyer of late purchase orders", k=5).tools:
            print(tool.rank, tool.id, tool.score)
"""

from egotools.aio import AsyncClient
from egotools.client import Client
from egotools.errors import (
    ClientCancelledError,
    ClientDeadlineError,
    ClientError,
    InternalServerError,
    InvalidRequestError,
    NotFoundError,
    OverloadedError,
    PermissionDeniedError,
    PreconditionError,
    SnapshotLostError,
    UnavailableError,
)
from egotools.results import (
    Answer,
    Catalog,
    Dependency,
    EgoGraph,
    EntryMatch,
    FoundTool,
    GraphEdge,
    GraphNode,
    OntologyInfo,
    Parameter,
    ParameterBinding,
    Provenance,
    Query,
    Reasons,
    Tool,
    TraversedEdge,
)

__all__ = [
    "Answer",
    "AsyncClient",
    "Catalog",
    "Client",
    "ClientCancelledError",
    "ClientDeadlineError",
    "ClientError",
    "Dependency",
    "EgoGraph",
    "EntryMatch",
    "FoundTool",
    "GraphEdge",
    "GraphNode",
    "InternalServerError",
    "InvalidRequestError",
    "NotFoundError",
    "OntologyInfo",
    "OverloadedError",
    "Parameter",
    "ParameterBinding",
    "PermissionDeniedError",
    "PreconditionError",
    "Provenance",
    "Query",
    "Reasons",
    "SnapshotLostError",
    "Tool",
    "TraversedEdge",
    "UnavailableError",
]
