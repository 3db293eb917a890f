"""The Scene: what the wording of one request starts from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from datagen.generation.sampler import Speech
from datagen.generation.tool_frame import Reading
from datagen.tool_path import PathEdge, ToolPath

__all__ = ["Scene", "Unwordable"]


class Unwordable(Exception):
    """A path has no words in a class; the text says why, without a full stop."""


@dataclass(frozen=True, kw_only=True)
class Scene:
    """A path with its readings, and the speech that words it."""

    path: ToolPath
    readings: Mapping[str, Reading]
    speech: Speech

    @cached_property
    def steps(self) -> tuple[Reading, ...]:
        """The readings in the order of the path."""
        return tuple(self.readings[tool] for tool in self.path.tools)

    def into(self, tool: str) -> tuple[PathEdge, ...]:
        """The edges that fill inputs of a tool, one for each input that can be spoken of."""
        return tuple(edge for edge in self.path.into(tool) if self.readings[tool].argument(edge.parameter) is not None)

    @property
    def goals(self) -> tuple[Reading, ...]:
        """The steps that fill no other: what the request is for."""
        feeding = {edge.source for edge in self.path.edges if edge.kind == "R-P"}
        return tuple(step for step in self.steps if step.tool not in feeding)

    def need_dependence(self) -> None:
        """Each step but one must hang on another.

        :raises Unwordable: when there is one step only, or a step that nothing joins to the others.
        """
        ends = {end for edge in self.path.edges if edge.kind == "R-P" for end in (edge.source, edge.target)}
        if len(self.path.tools) < 2:
            raise Unwordable("one tool has no steps")
        if not ends.issuperset(self.path.tools):
            raise Unwordable("its steps do not depend on each other")
