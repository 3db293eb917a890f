"""The seam ``Extractor``: tool documents to raw triples with provenance."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from ontology.tool import Tool
from ontology.triple import Triple

__all__ = ["Extraction", "Extractor", "Fault", "RejectedTriple", "Sorted", "sort_out"]


class Fault(NamedTuple):
    """What is wrong with a triple.

    :param reason: a slug for counts: ``outside-domain``, ``no-evidence``, ``self-loop``, …
    :param detail: one sentence.
    """

    reason: str
    detail: str


@dataclass(frozen=True, slots=True)
class RejectedTriple:
    """A triple that is not in the graph, with its fault."""

    triple: Triple
    reason: str
    detail: str


class Sorted(NamedTuple):
    """Triples of a document that are kept, and those that are rejected, each in their order."""

    kept: list[Triple]
    rejected: list[RejectedTriple]


def sort_out(triples: Iterable[Triple], fault_of: Callable[[Triple], Fault | None]) -> Sorted:
    """Divide triples into those without and those with a fault."""
    result = Sorted([], [])
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

    :param error: why the tool could not be extracted as a whole, or empty; it then has what its structure declares.
    """

    tool_id: str
    triples: tuple[Triple, ...]
    rejected: tuple[RejectedTriple, ...] = ()
    error: str = ""


class Extractor(Protocol):
    """Reads triples from tools' documents."""

    @property
    def name(self) -> str:
        """Versioned name, ``rules.v1``."""

    @property
    def fingerprint(self) -> str:
        """Changes whenever the same document could give other triples: name, ontology, model, settings."""

    def extract(self, tools: Sequence[Tool]) -> Iterator[Extraction]:
        """One Extraction for each tool, in order, each depending on its tool alone.

        :raises ModelError: when a model is needed and unavailable.
        :raises BudgetExceededError: when the cap is reached; what was yielded before stays good.
        """
