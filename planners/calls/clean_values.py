"""Old names of :mod:`planners.calls.untrusted`."""

from planners.calls.tool_access import CallPipeline as CleanInvoker
from planners.calls.untrusted import clean_text, cleaned

__all__ = ["CleanInvoker", "clean_text", "cleaned"]
