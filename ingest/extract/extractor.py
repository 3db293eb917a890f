"""The seam ``Extractor``: tool documents in, raw triples with provenance out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from ontology.tool import Tool
from ontology.triple import Triple

__all__ = ["Extraction", "Extractor", "RejectedTriple"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RejectedTriple:
    """A triple that was not taken into the graph, and why.

    :param reason: a slug that counts can be made of: ``outside-domain``, ``no-evidence``, ``self-loop``, …
    :param detail: one sentence.
    """

    triple: Triple
    reason: str
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Extraction:
    """What one tool's document says.

    :param error: why the tool could not be extracted as a whole, or empty; it then has what its structure declares.
    """

    tool_id: str
    triples: tuple[Triple, ...]
    rejected: tuple[RejectedTriple, ...] = ()
    error: str = ""

    def to_json(self) -> dict[str, Any]:
        """The JSON form, for the cache."""
        return {
            "tool_id": self.tool_id,
            "triples": [triple.to_json() for triple in self.triples],
            "rejected": [[r.triple.to_json(), r.reason, r.detail] for r in self.rejected],
            "error": self.error,
        }

    @classmethod
    def from_json(cls, row: dict[str, Any]) -> Extraction:
        """Read the JSON form."""
        return cls(
            tool_id=row["tool_id"],
            triples=tuple(map(Triple.from_json, row["triples"])),
            rejected=tuple(
                RejectedTriple(triple=Triple.from_json(triple), reason=reason, detail=detail)
                for triple, reason, detail in row["rejected"]
            ),
            error=row["error"],
        )


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

        :raises ModelError: when a model is needed and dead.
        :raises BudgetExceededError: when the cap is reached; what was yielded before stays good.
        """
