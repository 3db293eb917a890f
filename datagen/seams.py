"""The seams of data generation: four steps, each with an implementation by rules and one by a language model.

An implementation has a versioned name (``rules.v1``, ``llm.v1``), which results record.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from datagen.synthetic_request import RejectedRequest, SampleValue, SyntheticRequest, Verdict
from datagen.tool_path import PathEdge, ToolPath

__all__ = [
    "MAX_OUTPUTS",
    "GeneratedText",
    "Generator",
    "OutputFinder",
    "RequestValidator",
    "SequenceValidator",
    "ToolOutput",
    "ToolOutputs",
]

MAX_OUTPUTS = 3
"""The most outputs of a tool, as in the paper."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolOutput:
    """An output of a tool.

    :param name: as documented; of an inferred one the name, word for word, of an input of the catalogue.
    :param confidence: in [0.5, 1]; what is less likely is left out.
    :param reason: one sentence without a full stop.
    """

    tool: str
    name: str
    confidence: float
    reason: str
    documented: bool


@dataclass(frozen=True, kw_only=True)
class ToolOutputs:
    """The outputs of a catalogue's tools.

    :param by_tool: tool id → its outputs, the best first, at most :data:`MAX_OUTPUTS`.
    :param rejected: the tools without outputs, and answers of a model that could not be used.
    """

    by_tool: Mapping[str, tuple[ToolOutput, ...]]
    rejected: tuple[RejectedRequest, ...] = ()


class OutputFinder(Protocol):
    """Finds the outputs of the tools of a catalogue."""

    @property
    def name(self) -> str:
        """Versioned name."""

    def find(self) -> ToolOutputs:
        """The outputs of every tool of the catalogue that the finder was made for.

        :raises ModelError: when a model is needed and unavailable; its earlier answers are kept in the cache.
        """


class SequenceValidator(Protocol):
    """Tells whether one tool can follow another: same entity or flow, builds on its result, repeats nothing."""

    @property
    def name(self) -> str:
        """Versioned name."""

    def validate(self, edge: PathEdge) -> Verdict:
        """The verdict (check ``sequence``) on the two tools that an R-P edge connects.

        :raises ModelError: when a model is needed and unavailable.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class GeneratedText:
    """The text of a request and the values in it, before validation."""

    text: str
    values: tuple[SampleValue, ...]


class Generator(Protocol):
    """Generates the text of a request."""

    @property
    def name(self) -> str:
        """Versioned name."""

    def generate(self, path: ToolPath, request_class: str, *, seed: int) -> GeneratedText | RejectedRequest:
        """The text of a request of this class over this path, or why there is none. Equal arguments, equal result.

        :param seed: another seed, another text.
        :raises ModelError: when a model is needed and unavailable.
        """


class RequestValidator(Protocol):
    """One check of labelled requests."""

    @property
    def name(self) -> str:
        """Versioned name."""

    @property
    def check(self) -> str:
        """What is checked: ``class``, ``sequence`` or ``error``."""

    def validate(self, request: SyntheticRequest) -> Verdict:
        """The verdict on a request; its class, tools and text are read, never its generator.

        :raises ModelError: when a model is needed and unavailable.
        """
