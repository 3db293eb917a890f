"""The ranking features: one table. One entry adds a feature; the weight 0 removes it.

A feature is one number that a candidate gets for a request. Features are standardised over the candidates (z-scores) and
added up with their weights (:mod:`retrieval.ranking.fusion`), in the order of the table.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from inference.encoder import Floats1d, Floats2d
from ontology.names import is_word
from retrieval.index.bm25 import coverage_scores, ngrams
from retrieval.index.phrases import PHRASES_FIELD
from retrieval.query.context import QueryContext
from retrieval.query.query import Clause


def ensemble_support(context: QueryContext, tools: NDArray[np.int64]) -> Floats1d:
    """The support of each tool by the entry nodes of a request, float32 [tools], >= 0. Each entry node adds its inverse
    document frequency over the tools to the tools of its ego graph: an n-gram in proportion to its number of words, a
    semantic match in proportion to its cosine."""
    snapshot = context.snapshot
    total = np.zeros(snapshot.tool_count, dtype=np.float32)
    best: dict[int, float] = {}
    for entry in context.entries:
        strength = max(entry.score, 0.0) if entry.kind == "semantic" else 0.5 * (1 + entry.text.count(" "))
        best[entry.node] = max(best.get(entry.node, 0.0), snapshot.idf(entry.node) * strength)
    for node, weight in sorted(best.items()):
        total[context.ego_tools(node)] += weight
    return total[tools]


def value_support(context: QueryContext, clause: Clause, tools: NDArray[np.int64]) -> Floats1d:
    """The support by the values of a clause, or of the whole request, >= 0."""
    support = context.support_by_values(clause.values)
    if not support:
        return np.zeros(len(tools), dtype=np.float32)
    return np.asarray([support.get(int(tool), 0.0) for tool in tools], dtype=np.float32)


MAX_Z = 8.0  # the bound of :func:`bounded`: nothing changes with some hundred candidates
# A cosine of 384 products differs by about so much with the order of adding.
_ROUNDING = 8 * float(np.finfo(np.float32).eps)
_SMALLEST = float(np.finfo(np.float32).tiny)  # below it a spread may round to 0


def bounded(z_scores: NDArray[np.float32]) -> NDArray[np.float32]:
    """The z-scores, none above 8. The z-score of the only tool of N that has a word grows with the square root of N:
    unbounded, one rare word outweighs everything else in a large catalogue."""
    return np.minimum(z_scores, np.float32(MAX_Z))


def standardise(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """Z-scores along the last axis, float32 of the same shape; all zero where a row's values differ by no more than rounding."""
    if not values.size:
        return np.zeros_like(values)
    if values.ndim == 1:
        return _standardise_row(values)
    highest = values.max(axis=-1, keepdims=True).astype(np.float64)
    lowest = values.min(axis=-1, keepdims=True).astype(np.float64)
    equal = highest - lowest <= np.maximum(_ROUNDING * np.maximum(np.abs(highest), np.abs(lowest)), _SMALLEST)
    centred = values - values.mean(axis=-1, keepdims=True)
    # In float64: the square of a small float32 is 0.
    spread = np.sqrt(np.square(centred, dtype=np.float64).mean(axis=-1, keepdims=True))
    return np.where(equal, np.float32(0.0), centred / np.where(equal, 1.0, spread).astype(np.float32))


def _standardise_row(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """The same for one row, to the bit, in a third of the time: a search for weights does it millions of times."""
    highest, lowest = float(values.max()), float(values.min())
    if highest - lowest <= max(_ROUNDING * max(abs(highest), abs(lowest)), _SMALLEST):
        return np.zeros_like(values)
    centred = values - values.sum() / np.float32(len(values))
    spread = math.sqrt(float(np.square(centred, dtype=np.float64).sum()) / len(values))
    standardised: NDArray[np.float32] = centred / np.float32(spread)
    return standardised


Tools: TypeAlias = NDArray[np.int64]
# The values of a feature for these tools, float32 [tools]; None where it cannot be computed, as a cosine without
# vector.
Compute: TypeAlias = Callable[[QueryContext, Clause, Tools], Floats1d | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Feature:
    """One ranking feature."""

    name: str
    compute: Compute  # its raw values for a part of the request, or for all of it
    weight: float  # how much it counts in preset ``default``, 0 to 1,000; only the proportions of the weights matter
    # how much it counts in the baselines. Never changed, so that baselines stay comparable
    baseline_weight: float = 0.0
    text: bool = True  # whether it compares texts, so that it has a value for every tool, whatever the graph


def bm25(field: str) -> Compute:
    """BM25 over one field of :data:`retrieval.index.bm25.FIELDS`, >= 0."""
    return lambda context, clause, tools: context.snapshot.fields[field].scores_of(tools, clause.weights)


def bm25_phrases(context: QueryContext, clause: Clause, tools: Tools) -> Floats1d | None:
    """BM25 over the everyday phrases, >= 0; None where they do not count."""
    if context.phrases is None:
        return None
    return context.snapshot.fields[PHRASES_FIELD].scores_of(tools, clause.weights)


def cosine_text(context: QueryContext, clause: Clause, tools: Tools) -> Floats1d | None:
    """Cosine of title and description, in [-1, 1]; of the best everyday phrase where that is higher, and phrases count."""
    own = context.cosines("vectors", clause, tools)
    said = context.cosines("phrase_vectors", clause, tools) if context.phrases is not None else None
    return own if own is None or said is None else np.maximum(own, said)


def cosine_name(context: QueryContext, clause: Clause, tools: Tools) -> Floats1d | None:
    """Cosine of the name, in [-1, 1]."""
    return context.cosines("name_vectors", clause, tools)


def name_coverage(context: QueryContext, clause: Clause, tools: Tools) -> Floats1d:
    """The share of the tool's name that the request names, weighted by inverse document frequency, in [0, 1]."""
    return coverage_scores(context.snapshot.names_index, clause.weights, tools)


def graph_support(context: QueryContext, clause: Clause, tools: Tools) -> Floats1d:
    """Logarithm of the support by the ensemble of ego graphs of the whole request, >= 0."""
    support: Floats1d = np.log1p(ensemble_support(context, tools))
    return support


# The weights are the middle of a broad optimum over nine open sets: a search that never sees a set chooses weights that do
# nearly as well on it (``benchmarks/notes/unseen.md``).
# All features, in the order in which they are added up.
FEATURES: tuple[Feature, ...] = (
    Feature(name="bm25_text", compute=bm25("text"), weight=0.5, baseline_weight=1.0),
    Feature(name="bm25_params", compute=bm25("params"), weight=0.5, baseline_weight=0.5),
    Feature(name="bm25_returns", compute=bm25("returns"), weight=0.4),
    Feature(name="bm25_values", compute=bm25("values"), weight=0.4),
    Feature(name="cosine_text", compute=cosine_text, weight=1.5, baseline_weight=1.0),
    Feature(name="cosine_name", compute=cosine_name, weight=0.5, baseline_weight=0.5),
    Feature(name="bm25_phrases", compute=bm25_phrases, weight=0.5),
    Feature(name="name_coverage", compute=name_coverage, weight=0.5),
    Feature(name="graph_support", compute=graph_support, weight=1.0, text=False),
    Feature(name="value_support", compute=value_support, weight=2.0, text=False),
)
TEXT_FEATURES = tuple(feature.name for feature in FEATURES if feature.text)  # the names of those that compare texts
_BY_NAME: Mapping[str, Feature] = {feature.name: feature for feature in FEATURES}


def compute_features(context: QueryContext, tools: Tools, names: Iterable[str]) -> dict[str, Floats1d]:
    """The raw values of the features of these names for the whole request, float32 [tools] each. What cannot be
    computed is left out."""
    computed = {name: _BY_NAME[name].compute(context, context.query, tools) for name in names}
    return {name: values for name, values in computed.items() if values is not None}


# What a clause is matched by, with the weight of each; added up in this order.
_CLAUSE_FEATURES: tuple[tuple[Compute, float], ...] = (
    (cosine_text, 1.0),
    (cosine_name, 0.5),
    (bm25("whole"), 1.0),
    (bm25_phrases, 0.5),
    (value_support, 1.0),
)
# No record says on what the next two were found; the weights that were fitted around them are of the nine sets.
CLAUSE_FACTOR = 2.0  # of the z-score of a clause in the exponent: what it counts beside that of the whole request
_WHOLE_FACTOR = 1.25  # of the z-score of the whole request in the exponent


def clause_scores(context: QueryContext) -> Floats2d:
    """How well each candidate matches each clause, z-scores, float32 [clauses, tools]; no row where there is no
    candidate. A request that has no clauses is one. The context keeps them."""
    clauses, tools = context.query.clauses or (context.query,), context.candidates
    if not len(tools):
        return np.empty((0, 0), dtype=np.float32)
    if context.clauses_CT is None:
        values = [[compute(context, clause, tools) for clause in clauses] for compute, _ in _CLAUSE_FEATURES]
        # All parts of a request have a vector, or none has.
        known = [place for place, of_clauses in enumerate(values) if of_clauses[0] is not None]
        z_FCT = bounded(standardise(np.asarray([values[place] for place in known], dtype=np.float32)))
        total_CT = np.zeros((len(clauses), len(tools)), dtype=np.float32)
        for place, z_CT in zip(known, z_FCT, strict=True):
            total_CT += _CLAUSE_FEATURES[place][1] * z_CT
        context.clauses_CT = bounded(standardise(total_CT))
    return context.clauses_CT


def fuse_clauses(clauses_CT: Floats2d, whole_T: Floats1d) -> Floats1d:
    """The share of the clauses that each tool gets, float32 [tools], >= 0; the sum is the number of clauses.
    ``clauses_CT``: as :func:`clause_scores` gives them, float32 [clauses, tools]. ``whole_T``: z-scores for the whole
    request, float32 [tools]."""
    logits_CT = CLAUSE_FACTOR * clauses_CT + _WHOLE_FACTOR * whole_T
    shares_CT = np.exp(logits_CT - logits_CT.max(axis=1, keepdims=True))
    shares_CT /= shares_CT.sum(axis=1, keepdims=True)
    total: Floats1d = shares_CT.sum(axis=0).astype(np.float32)
    return total


_BEST_TOOLS = 60  # of each clause
_SHARPNESS = 1.5  # of the z-scores in the exponent
_NAMED_SHARE = 3.0  # what a clause adds to a system that it names; its best tools share 1
_CARRIED = 0.3  # of that share, for a clause that names none
_EVERYDAY = 0.3  # of that share, where the name is an everyday word in small letters: "in the event", "support"


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemEvidence:
    """The systems of the candidates of one request."""

    # the system of each tool, numbered from 0, int64 [tools]; a tool without one is a system of its own
    systems_T: NDArray[np.int64]
    named_CS: Floats2d  # the share that each clause adds to each system by naming it, float32 [clauses, systems], >= 0
    system_count: int  # the number of systems of the whole catalogue, at least 2

    def log_shares(self, clauses_CT: Floats2d, whole_T: Floats1d) -> Floats1d:
        """The logarithm of the share of each tool's system, float32 [tools], <= 0; 0 for the best system.
        ``clauses_CT``: how well each tool matches each clause, z-scores, float32 [clauses, tools]. ``whole_T``: the
        score of each tool for the whole request, float32 [tools]."""
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


def systems_of(tools: NDArray[np.int64], systems: NDArray[np.int64]) -> NDArray[np.int64]:
    """The system of each of some tools, int64 [tools]; a tool without one (-1 in ``systems``, int64 [catalogue]) is a system of its own, below 0."""
    return np.where(systems[tools] < 0, -1 - tools, systems[tools])


def system_evidence(context: QueryContext) -> SystemEvidence | None:
    """The evidence for the candidates of a request; None where the catalogue has fewer than two systems."""
    snapshot = context.snapshot
    if snapshot.system_count < 2 or not len(context.candidates):
        return None
    own = systems_of(context.candidates, snapshot.tool_systems)
    known, systems_T = np.unique(own, return_inverse=True)
    return SystemEvidence(
        systems_T=systems_T.astype(np.int64),
        named_CS=_named(context, known.tolist()),
        system_count=snapshot.system_count,
    )


def _named(context: QueryContext, systems: Sequence[int]) -> Floats2d:
    """What each clause adds to the systems that it names; one that names none goes on with those that were named last."""
    position = {node: place for place, node in enumerate(systems)}
    clauses = context.query.clauses or (context.query,)
    named_CS = np.zeros((len(clauses), len(systems)), dtype=np.float32)
    named = (named_systems(context, clause.text).items() for clause in clauses)
    found = [{position[node]: _NAMED_SHARE * share for node, share in each if node in position} for each in named]
    last = next((one for one in found if one), {})
    for row, own in zip(named_CS, found, strict=True):
        last = own or last
        for system, share in last.items():
            row[system] = share if own else _CARRIED * share
    return named_CS


def named_systems(context: QueryContext, text: str) -> dict[int, float]:
    """The nodes of the systems that a text of the request names, each with a share in (0, 1]: by a name of theirs that is an
    entry node, which has a share below 1 where it is an everyday word, or by a namespace of their tools that is none."""
    snapshot, shares = context.snapshot, dict[int, float]()
    names: dict[str, set[int]] = {}
    for entry in context.entries:
        if entry.kind == "ngram" and entry.node in snapshot.systems:
            names.setdefault(entry.text, set()).add(entry.node)
    for ngram in ngrams((text,), snapshot.abbreviations):
        named, owner = names.get(ngram, set()), snapshot.system_by_namespace.get(ngram.replace(" ", ""))
        if named or owner is not None:
            first, *others = ngram.split()
            # an everyday word is a name where it has a capital, not at the beginning of the text
            as_name = re.search(rf"\S\s+{re.escape(first[:4].capitalize())}", text)
            everyday = as_name is None and all(map(is_word, (first, *others)))
            for system in named if everyday or owner is None else named | {owner}:
                shares[system] = max(shares.get(system, 0.0), _EVERYDAY if everyday else 1.0)
    return shares
