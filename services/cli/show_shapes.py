"""What a value looks like, for ``egotools show``: its shape, and the parameters and entities that have such values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from services.cli.console import plain, stdout, table

if TYPE_CHECKING:
    from retrieval.index.value_shapes import ShapeMatch
    from retrieval.snapshot.reader import Snapshot

__all__ = ["matches_to_json", "show_matches", "value_matches"]


def value_matches(snapshot: Snapshot, text: str) -> list[ShapeMatch]:
    """Return the shapes that a whole text has, the most specific first."""
    text = text.strip()
    return [match for match in snapshot.value_shapes.match(text) if match.text == text]


def show_matches(snapshot: Snapshot, matches: Sequence[ShapeMatch], limit: int) -> None:
    """Print the shapes of a value."""
    for match in matches[:limit]:
        named = f" ({match.shape.kind})" if match.shape.kind else ""
        stdout.print(f"[bold]{plain(match.text)}[/] looks like [bold]{plain(match.shape.pattern)}[/]{plain(named)}")
        stdout.print("  entities: " + plain(", ".join(match.entities) or "unknown"))
        rows = [
            (snapshot.tool_id(use.tool), use.parameter, "output" if use.output else "input", use.entity, use.source)
            for use in match.uses[:limit]
        ]
        stdout.print(table("Parameters", ("tool", "parameter", "", "entity", "known from"), rows))
        if len(match.uses) > limit:
            stdout.print(f"… {len(match.uses) - limit} more parameters (--limit)")
    if len(matches) > limit:
        stdout.print(f"… {len(matches) - limit} more shapes (--limit)")


def matches_to_json(snapshot: Snapshot, matches: Sequence[ShapeMatch]) -> list[dict[str, Any]]:
    """Return the JSON form of the shapes of a value."""
    return [
        {
            "value": match.text,
            "pattern": match.shape.pattern,
            "kind": match.shape.kind,
            "specificity": match.specificity,
            "entities": list(match.entities),
            "parameters": [
                {
                    "tool_id": snapshot.tool_id(use.tool),
                    "parameter": use.parameter,
                    "output": use.output,
                    "entity": use.entity,
                    "source": use.source,
                }
                for use in match.uses
            ],
        }
        for match in matches
    ]
