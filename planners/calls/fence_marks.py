"""Moved: see :mod:`planners.calls.untrusted`."""

# ruff: noqa
from planners.calls.untrusted import FenceMarks
