"""The context of a template: the input for the text of one request."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from datagen.generation.sampler import Sampler
from datagen.generation.tool_frame import GenerationError, ToolFrame
from datagen.tool_path import PathEdge, ToolPath

__all__ = ["TemplateContext"]


@dataclass(frozen=True, kw_only=True)
class TemplateContext:
    """A path with the frames of its tools, and the sampler of the request.

    :param frames: tool → frame.
    """

    path: ToolPath
    frames: Mapping[str, ToolFrame]
    sampler: Sampler

    @cached_property
    def steps(self) -> tuple[ToolFrame, ...]:
        """The frames in the order of the path."""
        return tuple(self.frames[tool] for tool in self.path.tools)

    def into(self, tool: str) -> tuple[PathEdge, ...]:
        """The edges that fill arguments of a tool."""
        return tuple(edge for edge in self.path.into(tool) if self.frames[tool].argument(edge.parameter) is not None)

    @cached_property
    def goals(self) -> tuple[ToolFrame, ...]:
        """The steps that fill no other step: the purpose of the request."""
        sources = {edge.source for edge in self.path.edges if edge.kind == "R-P"}
        return tuple(step for step in self.steps if step.tool not in sources)

    def require_dependence(self) -> None:
        """Check that there are several steps, each joined to another.

        :raises GenerationError: when this is not so.
        """
        ends = {end for edge in self.path.edges if edge.kind == "R-P" for end in (edge.source, edge.target)}
        if len(self.path.tools) < 2:
            raise GenerationError("one tool has no steps")
        if not ends.issuperset(self.path.tools):
            raise GenerationError("its steps do not depend on each other")
