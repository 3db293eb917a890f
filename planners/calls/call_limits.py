"""Old names of :mod:`planners.calls.tool_access`."""

from egotools.calling.invoker import ToolInvoker
from planners.calls.tool_access import CallLimits, CallPipeline

__all__ = ["CallLimits", "LimitedInvoker"]


def LimitedInvoker(inner: ToolInvoker, limits: CallLimits) -> CallPipeline:  # noqa: D103
    return CallPipeline(inner, limits=limits)
