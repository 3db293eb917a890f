"""Frameworks of agents with the tools of an egotools server, one module for each, over the client alone.

Each module needs its framework, which an extra of the same name brings in a version that was tested. All of them are views of
:class:`~egotools.integrations.tool_source.ToolSource`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from egotools.client_errors import MissingPackageError
from egotools.integrations.tool_source import ToolSource

__all__ = ["ToolSource", "framework"]


@contextmanager
def framework(package: str) -> Iterator[None]:
    """Import a framework inside the block.

    :param package: as pip takes it.
    :raises MissingPackageError: when it is not installed.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        raise MissingPackageError(package) from error
