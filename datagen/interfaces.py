"""The interfaces of data generation: four steps, each with a rule-based backend and an LLM backend.

A backend has a versioned name (``rules.v1``, ``llm.v1``), which results record.
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
"""Maximum number of outputs of a tool, as in the paper."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolOutput:
    """An output of a tool.

    :param name: as documented; an inferred output has exactly the name of an input of the catalogue.
    :param confidence: in [0.5, 1]; less likely outputs are left out.
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

    :param by_tool: map from tool id to its outputs, best first, at most :data:`MAX_OUTPUTS`.
    :param rejected: the tools without outputs, and unusable answers of a model.
    """

    by_tool: Mapping[str, tuple[ToolOutput, ...]]
    rejected: tuple[RejectedRequest, ...] = ()


class OutputFinder(Protocol):
    """Finds the outputs of the tools of a catalogue."""

    @property
    def name(self) -> str:
        """Versioned name."""

    def find(self) -> ToolOutputs:
        """Return the outputs of every tool of the finder's catalogue.

        :raises ModelError: when a model is needed and unavailable; its earlier answers are in the cache.
        """


class SequenceValidator(Protocol):
    """Validates that one tool can follow another: same entity or flow, uses its result, repeats nothing."""

    @property
    def name(self) -> str:
        """Versioned name."""

    def validate(self, edge: PathEdge) -> Verdict:
        """Return the verdict (check ``sequence``) on the two tools of an R-P edge.

        :raises ModelError: when a model is needed and unavailable.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class GeneratedText:
    """The text of a request and the values in it, before validation.

    :param by: versioned name of the generator of this text, where a generator uses others; else empty.
    """

    text: str
    values: tuple[SampleValue, ...]
    by: str = ""


class Generator(Protocol):
    """Generates the text of a request."""

    @property
    def name(self) -> str:
        """Versioned name."""

    def no_words(self, tool: str) -> str:
        """Return why no text can name a tool of the catalogue, without a full stop; empty where one can."""

    def no_part(self, tool: str, request_class: str) -> str:
        """Return why a tool can be no request of its own beside others in a text of a class; empty where it can."""

    def generate(self, path: ToolPath, request_class: str, *, seed: int) -> GeneratedText | RejectedRequest:
        """Return the text of a request of this class over this path, or a rejection. Deterministic.

        A rejection without a text says that another seed would give none either: the path is not tried again.

        :param seed: seed of the random choices.
        :raises ModelError: when a model is needed and unavailable.
        """


class RequestValidator(Protocol):
    """One check of labelled requests."""

    @property
    def name(self) -> str:
        """Versioned name."""

    @property
    def check(self) -> str:
        """The name of the check: ``class``, ``sequence`` or ``error``."""

    def validate(self, request: SyntheticRequest) -> Verdict:
        """Return the verdict on a request, from its class, tools and text, never from its generator.

        :raises ModelError: when a model is needed and unavailable.
        """
