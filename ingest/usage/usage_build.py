"""The usage lines of a catalogue, and what is reported about them; and the interface ``UsageMaker``."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, Protocol

from egotools.usage_lines import OVERLAY, UsageLine, UsageLines
from ingest.usage.usage_rules import RULES, usage_by_rules
from ontology.ontology import Ontology
from ontology.progress import Progress, no_progress
from ontology.tool import Tool

__all__ = ["DroppedLine", "RulesUsage", "UsageBuild", "UsageMaker", "with_declared_requests"]


class DroppedLine(NamedTuple):
    """A line of a model that the document of its tool does not support, and the reason (``unknown-number: 50``)."""

    tool_id: str
    text: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageBuild:
    """The usage lines of a catalogue.

    :param maker: versioned name of what made them; with a model its name and the version of the prompt.
    :param lines: one for each tool, in order.
    :param by_model: number of tools with a usable answer of the model; the others have lines by rules.
    :param dropped: lines of the model that were not kept.
    :param failed: map from tool id to the reason why there is no usable answer.
    :param stopped: why the model was not asked about the remaining tools (budget, number of tools), or empty.
    """

    maker: str
    lines: tuple[UsageLines, ...]
    by_model: int = 0
    dropped: tuple[DroppedLine, ...] = ()
    failed: dict[str, str] = field(default_factory=dict)
    stopped: str = ""

    @property
    def dropped_by_reason(self) -> dict[str, int]:
        """The number of dropped lines by kind of reason, sorted."""
        return dict(sorted(Counter(line.reason.partition(":")[0] for line in self.dropped).items()))


class UsageMaker(Protocol):
    """Makes the usage lines of a catalogue."""

    @property
    def name(self) -> str:
        """Versioned name; with a model its name and the version of the prompt."""

    @property
    def fingerprint(self) -> str:
        """A digest of everything but the code that decides the lines of a tool; with a model its endpoint too."""

    def make(self, tools: Sequence[Tool], progress: Progress = no_progress) -> UsageBuild:
        """Return the lines of these tools.

        :raises ModelError: when a model is needed, and three calls in a row failed.
        """


def with_declared_requests(
    build: UsageBuild, tools: Sequence[Tool], declared: Mapping[str, Mapping[str, str]]
) -> UsageBuild:
    """Return the lines with the requests that overlay files declare, before the others.

    :param declared: tool id → request → origin.
    """
    if not declared:
        return build
    lines = []
    for tool, usage in zip(tools, build.lines, strict=True):
        texts = declared.get(tool.id, {})
        own = tuple(UsageLine(text=text, origin=OVERLAY, source=origin) for text, origin in texts.items())
        lines.append(replace(usage, requests=(*own, *(one for one in usage.requests if one.text not in texts))))
    return replace(build, lines=tuple(lines))


class RulesUsage:
    """Makes usage lines by rules."""

    name = RULES

    def __init__(self, ontology: Ontology) -> None:
        self._ontology = ontology

    @property
    def fingerprint(self) -> str:
        """SHA-256 (hex) of the name and the ontology."""
        return hashlib.sha256(f"{RULES}\n{self._ontology.digest}".encode()).hexdigest()

    def make(self, tools: Sequence[Tool], progress: Progress = no_progress) -> UsageBuild:
        """Return the lines of these tools."""
        lines = tuple(usage_by_rules(tool, self._ontology) for tool in tools)
        progress("usage", len(tools), len(tools))
        return UsageBuild(maker=RULES, lines=lines)
