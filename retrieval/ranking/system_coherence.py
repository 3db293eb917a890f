"""System coherence: which systems each clause of a request is about, as far as its best tools and its words tell.

Most tools that a clause needs are of one system (application, server, service). A tool that matches by its words alone, but is
of a system that nothing else in the request speaks of, is rarely needed. So for each clause the best tools share one unit
between their systems (a softmax over the tools, summed by system), and the systems that the clause names get a share more. A
tool is lowered by the logarithm of the largest share of its system in any clause, relative to the best system: softly, and
never by more than chance, one over the number of systems, would explain.

Its constants were found on the development halves of the real documents and of the shipped company; it changes nothing where a
catalogue has one system.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from inference.arrays import Floats1d, Floats2d
from ontology.names import is_word
from retrieval.index.analysis import ngrams
from retrieval.query.context import QueryContext
from retrieval.ranking.z_scores import standardise

__all__ = ["SystemEvidence", "system_evidence"]

# Chosen on the same sets. Half the sharpness costs 3 points at 10 on the shipped company; half or twice each other changes nothing
# there.
_BEST_TOOLS = 60  # of each clause
_SHARPNESS = 1.5  # of the z-scores in the exponent
_NAMED_SHARE = 3.0  # what a clause adds to a system that it names; its best tools share 1
_CARRIED = 0.3  # of that share, for a clause that names none
_EVERYDAY = 0.3  # of that share, where the name is an everyday word in small letters: "in the event", "support"


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemEvidence:
    """The systems of the candidates of one request.

    :param systems_T: the system of each tool, numbered from 0, int64 [tools]; a tool without one is a system of its own.
    :param named_CS: the share that each clause adds to each system by naming it, float32 [clauses, systems], >= 0.
    :param system_count: the number of systems of the whole catalogue, at least 2.
    """

    systems_T: NDArray[np.int64]
    named_CS: Floats2d
    system_count: int

    def log_shares(self, clauses_CT: Floats2d, whole_T: Floats1d) -> Floats1d:
        """The logarithm of the share of each tool's system, float32 [tools], <= 0; 0 for the best system.

        :param clauses_CT: how well each tool matches each clause, z-scores, float32 [clauses, tools].
        :param whole_T: the score of each tool for the whole request, float32 [tools].
        """
        scores_CT = clauses_CT + standardise(whole_T)
        clauses, systems = self.named_CS.shape
        rows_C1 = np.arange(clauses)[:, None]
        best_CB = np.argsort(-scores_CT, axis=1, kind="stable")[:, :_BEST_TOOLS]
        best_scores_CB = scores_CT[rows_C1, best_CB]
        mass_CB = np.exp(_SHARPNESS * (best_scores_CB - best_scores_CB[:, :1]))
        mass_CB /= mass_CB.sum(axis=1, keepdims=True)
        places_CB = self.systems_T[best_CB] + systems * rows_C1
        found = np.bincount(places_CB.ravel(), weights=mass_CB.ravel(), minlength=clauses * systems)
        found_CS = found.reshape(clauses, systems) + self.named_CS
        shares = (found_CS / found_CS.sum(axis=1, keepdims=True)).max(axis=0)
        relative = np.maximum(shares / shares.max(), 1.0 / self.system_count)
        logarithms: Floats1d = np.log(relative[self.systems_T]).astype(np.float32)
        return logarithms


def system_evidence(context: QueryContext) -> SystemEvidence | None:
    """The evidence for the candidates of a request; None where the catalogue has fewer than two systems."""
    snapshot = context.snapshot
    if snapshot.system_count < 2 or not len(context.candidates):
        return None
    nodes = snapshot.tool_systems[context.candidates]
    alone = nodes < 0
    known, systems_T = np.unique(np.where(alone, -1 - context.candidates, nodes), return_inverse=True)
    return SystemEvidence(
        systems_T=systems_T.astype(np.int64),
        named_CS=_named(context, known.tolist()),
        system_count=snapshot.system_count,
    )


def _named(context: QueryContext, systems: Sequence[int]) -> Floats2d:
    """What each clause adds to the systems that it names; one that names none goes on with those that were named last."""
    position = {node: place for place, node in enumerate(systems)}
    names: dict[str, list[int]] = {}
    for entry in context.entries:
        if entry.kind == "ngram" and entry.node in position:
            names.setdefault(entry.text, []).append(position[entry.node])
    clauses = context.query.clauses or (context.query,)
    named_CS = np.zeros((len(clauses), len(systems)), dtype=np.float32)
    if not names:
        return named_CS
    found = [_shares(clause.text, names, context.snapshot.abbreviations) for clause in clauses]
    last = next((one for one in found if one), {})
    for row, own in zip(named_CS, found, strict=True):
        last = own or last
        for system, share in last.items():
            row[system] = share if own else _CARRIED * share
    return named_CS


def _shares(text: str, names: Mapping[str, Sequence[int]], abbreviations: Mapping[str, str]) -> dict[int, float]:
    """System that a clause names → what that adds to it."""
    shares: dict[int, float] = {}
    for ngram in ngrams((text,), abbreviations):
        if ngram in names:
            everyday = all(map(is_word, ngram.split())) and not _is_written_as_name(ngram, text)
            share = _NAMED_SHARE * (_EVERYDAY if everyday else 1.0)
            for system in names[ngram]:
                shares[system] = max(shares.get(system, 0.0), share)
    return shares


def _is_written_as_name(ngram: str, text: str) -> bool:
    """Whether the first word of a name has a capital in a text, not at its beginning."""
    return re.search(rf"\S\s+{re.escape(ngram.split()[0][:4].capitalize())}", text) is not None
