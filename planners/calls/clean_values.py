"""Moved: see :mod:`planners.calls.untrusted`."""

# ruff: noqa
from planners.calls.tool_access import CallPipeline as CleanInvoker
from planners.calls.untrusted import clean_text, cleaned
