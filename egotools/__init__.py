"""The public contract of egotools: its values, and the client that retrieves from a server the tools that a request needs.

An agent imports this package only. It needs grpcio, protobuf and httpx, and no other folder of this repository::

    from egotools import Client

    with Client("127.0.0.1:50051") as client:
        for tool in client.retrieve("remind the buyer of late purchase orders", k=5).tools:
            print(tool.rank, tool.id, tool.score)
"""

from importlib import import_module
from typing import TYPE_CHECKING

from egotools import client_errors, values
from egotools.call import Argument, Call, Security, SecurityScheme
from egotools.calling.tool_request import AwsCall, McpCall, PythonCall, build_request
from egotools.client_errors import *  # noqa: F403
from egotools.values import *  # noqa: F403

if TYPE_CHECKING:
    from egotools.client import AsyncClient, Client

__all__ = ["Argument", "AsyncClient", "AwsCall", "Call", "Client", "McpCall", "PythonCall"]
__all__ += ["Security", "SecurityScheme", "build_request"]
__all__ += client_errors.__all__
__all__ += values.__all__


def __getattr__(name: str) -> object:
    """Import a client at its first use: only the clients need grpcio."""
    if name in ("AsyncClient", "Client"):
        return getattr(import_module("egotools.client"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
