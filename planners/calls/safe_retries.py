"""Moved: see :mod:`planners.calls.tool_access`."""

# ruff: noqa
from planners.calls.tool_access import CallPipeline


def RetryingInvoker(inner, policy=None):  # type: ignore[no-untyped-def]  # noqa
    return CallPipeline(inner, retries=policy) if policy is not None else CallPipeline(inner)
