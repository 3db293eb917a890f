"""Which engine answers a caller: one in which only its tools exist."""

from __future__ import annotations

from retrieval.engine import Engine
from services.server.caller import Caller

__all__ = ["engine_for", "prepare"]

_NO_TOOL = {"id": ("!*",)}


def engine_for(engine: Engine, caller: Caller) -> Engine:
    """Return the engine of a catalogue as a caller may see it; it is prepared at its first use, on a worker."""
    return engine.restricted(caller.filters) if caller.filters else engine


def prepare(engine: Engine) -> None:
    """Read what all parts of a catalogue share, so that the first caller with filters does not wait for it: seconds for 100,000 tools."""
    engine.restricted(_NO_TOOL).catalog()
