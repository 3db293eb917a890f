"""Old names of :mod:`planners.calls.tool_access`."""

from planners.calls.tool_access import Ask, always, never
from planners.calls.tool_access import CallPipeline as ConsentingInvoker

__all__ = ["Ask", "ConsentingInvoker", "always", "never"]
