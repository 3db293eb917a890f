"""Moved: see :mod:`planners.calls.tool_access`."""

# ruff: noqa
from planners.calls.tool_access import CallLimits, CallPipeline


def LimitedInvoker(inner, limits):  # type: ignore[no-untyped-def]  # noqa
    return CallPipeline(inner, limits=limits)
