"""Frameworks of agents with the tools of an egotools server, one module for each, over the client alone.

Each module needs its framework, which an extra of the same name brings; importing it with another version than was tested is an
error. All of them share :class:`~egotools.integrations.tool_source.ToolSource`.
"""

from egotools.integrations.tool_source import ToolSource

__all__ = ["ToolSource"]
