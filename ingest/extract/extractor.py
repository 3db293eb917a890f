"""The interface ``Extractor``: raw triples with provenance from tool documents."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from egotools.values import Provenance
from ontology.tool import Tool
from ontology.tool_graph import Triple

Node: TypeAlias = tuple[str, str]  # an end of a triple: ``(name, type)``


@dataclass(frozen=True, slots=True)
class RejectedTriple:
    """A triple that is not in the graph, with a code for counts (``outside-domain``, ``self-loop``) and a sentence."""

    triple: Triple
    reason: str
    detail: str


@dataclass(frozen=True, slots=True)
class Evidence:
    """A field of a tool's document from which an extractor reads triples."""

    tool_id: str
    extractor: str
    field: str
    offset: int = 0  # what is added to the spans of the evidence, in characters

    def triple(
        self,
        head: Node,
        predicate: str,
        tail: Node,
        confidence: float = 1.0,
        span: tuple[int, int] = (-1, -1),
        phrase: str = "",
    ) -> Triple:
        """Return a triple; the span is (-1, -1) where the evidence is the whole field, or a name."""
        start, end = (-1, -1) if span[1] < 0 else (self.offset + span[0], self.offset + span[1])
        return Triple(
            head=head[0],
            head_type=head[1],
            predicate=predicate,
            tail=tail[0],
            tail_type=tail[1],
            confidence=confidence,
            provenance=Provenance(self.tool_id, self.field, self.extractor, start, end),
            phrase=phrase,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Extraction:
    """The triples of one tool's document."""

    tool_id: str
    triples: Sequence[Triple]
    rejected: tuple[RejectedTriple, ...] = ()
    # why the extraction from the text failed, or empty; on failure ``triples`` has only those of the structure
    error: str = ""


class Extractor(Protocol):
    """Extracts triples from tool documents."""

    @property
    def name(self) -> str:
        """Versioned name, ``rules.v2``."""

    @property
    def fingerprint(self) -> str:
        """A hash of everything that changes the triples of a document: name, ontology, model, settings."""

    def extract(self, tools: Sequence[Tool]) -> Iterator[Extraction]:
        """Yield one Extraction for each tool, in order; each depends on its tool alone. The build validates the triples.

        :raises ModelError: when a model is needed and unavailable.
        :raises BudgetExceededError: when the budget is used up; the extractions yielded before are valid.
        """
