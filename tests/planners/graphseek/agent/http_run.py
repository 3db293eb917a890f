"""What a model says that calls operators of a graph."""

from __future__ import annotations

from typing import Any


def calls(*made: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    return {"calls": [{"operator": name, "arguments": arguments} for name, arguments in made]}
