"""Old names of :mod:`planners.calls.untrusted`."""

from planners.calls.untrusted import FenceMarks

__all__ = ["FenceMarks"]
