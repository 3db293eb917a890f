"""Who is asked at the terminal before a call."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import Any

from egotools import Tool
from planners.calls.tool_access import Ask, never
from services.cli.console import plain, stderr

__all__ = ["ask_at_terminal"]


def ask_at_terminal() -> Ask:
    """Return who is asked: whoever sits at the terminal; without one the call is never made."""
    return _ask if sys.stdin.isatty() else never


async def _ask(tool: Tool, arguments: Mapping[str, Any]) -> bool:
    given = json.dumps(arguments, ensure_ascii=False, default=str)
    stderr.print(plain(f"{tool.id} may change something. Arguments: {given}"), soft_wrap=True)
    stderr.print("Call it? [y/N] ", end="", markup=False)
    return sys.stdin.readline().strip().lower() in ("y", "yes")
