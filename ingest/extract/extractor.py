"""The interface ``Extractor``: extract raw triples with provenance from tool documents."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from ontology.tool import Tool
from ontology.tool_graph import Triple

__all__ = ["Extraction", "Extractor", "Fault", "Partition", "RejectedTriple", "partition"]


class Fault(NamedTuple):
    """The reason to reject a triple.

    :param reason: its code, for counts: ``outside-domain``, ``no-evidence``, ``self-loop``, …
    :param detail: one sentence.
    """

    reason: str
    detail: str


@dataclass(frozen=True, slots=True)
class RejectedTriple:
    """A triple that is not in the graph, and the reason."""

    triple: Triple
    reason: str
    detail: str


class Partition(NamedTuple):
    """The accepted and the rejected triples of a document, each in their original order."""

    kept: list[Triple]
    rejected: list[RejectedTriple]


def partition(triples: Iterable[Triple], fault_of: Callable[[Triple], Fault | None]) -> Partition:
    """Divide triples into those without a fault (``kept``) and those with one (``rejected``)."""
    result = Partition([], [])
    for triple in triples:
        fault = fault_of(triple)
        if fault is None:
            result.kept.append(triple)
        else:
            result.rejected.append(RejectedTriple(triple, *fault))
    return result


@dataclass(frozen=True, slots=True, kw_only=True)
class Extraction:
    """The triples of one tool's document.

    :param error: why the extraction from the text failed, or empty; on failure ``triples`` has only those of the structure.
    """

    tool_id: str
    triples: tuple[Triple, ...]
    rejected: tuple[RejectedTriple, ...] = ()
    error: str = ""


class Extractor(Protocol):
    """Extracts triples from tool documents."""

    @property
    def name(self) -> str:
        """Versioned name, ``rules.v1``."""

    @property
    def fingerprint(self) -> str:
        """A hash of everything that changes the triples of a document: name, ontology, model, settings."""

    def extract(self, tools: Sequence[Tool]) -> Iterator[Extraction]:
        """Yield one Extraction for each tool, in order; each depends on its tool alone.

        :raises ModelError: when a model is needed and unavailable.
        :raises BudgetExceededError: when the budget is used up; the extractions yielded before are valid.
        """
