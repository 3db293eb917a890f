"""Moved: see :mod:`planners.calls.tool_access`."""

# ruff: noqa
from planners.calls.tool_access import Ask, always, never
from planners.calls.tool_access import CallPipeline as ConsentingInvoker
