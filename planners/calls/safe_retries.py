"""Old names of :mod:`planners.calls.tool_access`."""

from egotools.calling.invoker import ToolInvoker
from inference.retry import RetryPolicy
from planners.calls.tool_access import CallPipeline

__all__ = ["RetryingInvoker"]


def RetryingInvoker(inner: ToolInvoker, policy: RetryPolicy) -> CallPipeline:  # noqa: D103
    return CallPipeline(inner, retries=policy)
