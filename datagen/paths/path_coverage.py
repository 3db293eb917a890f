"""Reach: how much of a catalogue the paths of each class lead over."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from datagen.catalogue import Catalogue
from datagen.tool_path import ToolPath

__all__ = ["Reach", "Reached", "measure_reach"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reached:
    """What some paths lead over, each beside how many there are.

    :param edges: ordered pairs of tools that an R-P edge joins.
    """

    groups: tuple[int, int]
    tools: tuple[int, int]
    edges: tuple[int, int]


@dataclass(frozen=True, kw_only=True)
class Reach:
    """What all paths lead over, and those of each class.

    :param unused: tool id → why no path has it, in the catalogue's order.
    """

    total: Reached
    by_class: Mapping[str, Reached]
    unused: Mapping[str, str]

    def to_json(self) -> dict[str, Any]:
        """The JSON form."""
        return {
            "total": asdict(self.total),
            "by_class": {name: asdict(reached) for name, reached in self.by_class.items()},
            "unused": dict(self.unused),
        }


def measure_reach(
    catalogue: Catalogue, pairs: int, by_class: Mapping[str, Iterable[ToolPath]], unused: Mapping[str, str]
) -> Reach:
    """Count what the paths lead over.

    :param pairs: how many ordered pairs of tools an R-P edge joins.
    """
    groups = {tool.id: catalogue.group(tool.id) for tool in catalogue.tools}

    def reached(paths: Iterable[ToolPath]) -> Reached:
        tools: set[str] = set()
        walked: set[tuple[str, str]] = set()
        for path in paths:
            tools.update(path.tools)
            walked.update((edge.source, edge.target) for edge in path.edges if edge.kind == "R-P")
        own = {groups[tool] for tool in tools}
        return Reached(
            groups=(len(own), len(set(groups.values()))), tools=(len(tools), len(groups)), edges=(len(walked), pairs)
        )

    return Reach(
        total=reached(path for paths in by_class.values() for path in paths),
        by_class={name: reached(paths) for name, paths in by_class.items()},
        unused=unused,
    )
