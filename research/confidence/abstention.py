"""How well an answer's confidence tells served requests from unserved ones, and how right its probabilities are.

    egotools build examples/enterprise/catalog --out out/benchmark/store
    python -m research.confidence.abstention
    python -m research.confidence.abstention --store STORE --requests FILE --unanswerable FILE --split dev
    python -m research.confidence.abstention --set out/bench-quality/NAME/store=QUERIES --set …

The first two print, for served requests (of the shipped benchmark, or of a file) against unanswerable ones, the area under the
ROC curve (0.5 tells nothing, 1 everything) of the best score of two simple presets and of ``answerable_probability`` of
``default``; for the latter also the false hits where 95 % of the served requests are kept, and what the shipped threshold
keeps and hits. With sets, each is asked its own requests and those of the others, and its probabilities and ``auto_k`` are checked as well.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from numpy.typing import NDArray

from egotools.values import Response
from ontology.errors import InvalidArgumentError
from research.confidence.confidence_evidence import Case, read_cases
from research.enterprise_benchmark import FOLDER, read_rows
from retrieval.engine import SnapshotEngine, open_engine
from retrieval.query.request import Request
from retrieval.retriever import Retriever
from scripts.bench_sets import ROOT
from scripts.run_command import run_command

__all__ = ["area_under_curve", "calibration_error", "complete_at", "false_hits", "texts_of"]

_PRESETS = ("semantic", "bm25")  # theirs are absolute; the scores of the others are standardised request by request
_KEPT = 0.95
_RANKS = 10
_MOST = 20  # tools of an answer with auto_k
_FOREIGN = 20  # requests of each other set


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """One set: fit of served and foreign requests, probability and truth of tools, and lengths and completeness of answers."""

    name: str
    served: list[float]
    foreign: list[float]
    chances: list[float]
    truths: list[bool]
    lengths: list[int]
    needed_ranks: list[int]


def main(
    store: Annotated[Path, typer.Option()] = ROOT / "out" / "benchmark" / "store",
    sets: Annotated[list[str] | None, typer.Option("--set", help="STORE=QUERIES; may be repeated")] = None,
    requests: Annotated[Path, typer.Option(help="requests that the catalogue serves")] = FOLDER / "hand.jsonl",
    unanswerable: Annotated[Path, typer.Option(help="requests that it does not")] = FOLDER / "unanswerable.jsonl",
    split: Annotated[str, typer.Option(help="only the rows of this split")] = "",
    limit: Annotated[int, typer.Option(help="requests of a set")] = 150,
) -> None:
    """Print the figures."""
    if sets:
        _print_sets(read_cases(sets, limit=limit))
    else:
        served, unserved = (texts_of(file, split) for file in (requests, unanswerable))
        _print_unanswerable(open_engine(store), served, unserved)


def texts_of(file: Path, split: str) -> list[str]:
    """The requests of one split of a file; all of them where ``split`` is empty.

    :raises InvalidArgumentError: when there are none.
    """
    texts = [row["query"] for row in read_rows(file) if split in ("", row.get("split"))]
    if not texts:
        raise InvalidArgumentError("there is no request of this split", subject=f"{file}: {split}")
    return texts


def _print_unanswerable(engine: SnapshotEngine, served: Sequence[str], unserved: Sequence[str]) -> None:
    print(f"{len(served)} served requests, {len(unserved)} unanswerable ones")
    for preset in _PRESETS:
        retriever = engine.retriever(preset)
        area = area_under_curve(_best_scores(retriever, served), _best_scores(retriever, unserved))
        print(f"{preset}: {area:.3f}")
    kept, refused = (_fits(engine.retriever(), queries) for queries in (served, unserved))
    fits, foreign = (np.asarray([fit for fit, _ in found]) for found in (kept, refused))
    print(
        f"default: {area_under_curve(fits, foreign):.3f}, false hits {false_hits(fits, foreign):.2f} at 95 % kept; "
        f"the shipped threshold keeps {np.mean([not none for _, none in kept]):.2f} "
        f"and hits {np.mean([not none for _, none in refused]):.2f}"
    )


def _print_sets(cases: Sequence[Case]) -> None:
    checked = [_check(case, cases) for case in cases]
    print(
        "| set | area | false hits | kept | said | true | error | k | complete | complete at k | complete at one k for all |"
    )
    print("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
    mean = float(np.mean([np.mean(one.lengths) for one in checked]))
    for one in checked:
        own = float(np.mean(one.lengths))
        complete = np.mean(np.asarray(one.needed_ranks) <= np.asarray(one.lengths))
        print(
            f"| {one.name} | {area_under_curve(one.served, one.foreign):.3f} | {false_hits(one.served, one.foreign):.2f} "
            f"| {np.mean([bool(length) for length in one.lengths]):.2f} | {np.mean(one.chances):.3f} | {np.mean(one.truths):.3f} "
            f"| {calibration_error(one.chances, one.truths):.3f} | {own:.1f} | {complete:.3f} "
            f"| {complete_at(one.needed_ranks, own):.3f} | {complete_at(one.needed_ranks, mean):.3f} |"
        )


def _check(case: Case, cases: Sequence[Case]) -> Checked:
    retriever = open_engine(case.store).retriever()
    rng = random.Random(0)
    others = [other.queries for other in cases if other.store != case.store]
    strange = [text for queries in others for text, _ in rng.sample(queries, min(_FOREIGN, len(queries)))]
    served, chances, truths, lengths, needed_ranks = [], [], [], [], []
    for text, slots in case.queries:
        full = _ask(retriever, text, k=_MOST)
        served.append(full.answerable_probability or 0.0)
        chances += [tool.probability or 0.0 for tool in full.tools[:_RANKS]]
        firsts = [next((tool.rank for tool in full.tools if tool.id in slot), _MOST + 1) for slot in slots]
        truths += [tool.rank in firsts for tool in full.tools[:_RANKS]]
        needed_ranks.append(max(firsts))
        lengths.append(len(_ask(retriever, text, k=_MOST, auto_k=True).tools))
    foreign = [fit for fit, _ in _fits(retriever, strange)]
    return Checked(
        name=case.name,
        served=served,
        foreign=foreign,
        chances=chances,
        truths=truths,
        lengths=lengths,
        needed_ranks=needed_ranks,
    )


def area_under_curve(
    positives: Sequence[float] | NDArray[np.float64], negatives: Sequence[float] | NDArray[np.float64]
) -> float:
    """The share of pairs in which the positive scores higher; ties count half."""
    differences = np.subtract.outer(np.asarray(positives), np.asarray(negatives))
    return float((np.sign(differences) + 1).mean() / 2)


def false_hits(
    served: Sequence[float] | NDArray[np.float64],
    unserved: Sequence[float] | NDArray[np.float64],
    *,
    kept: float = _KEPT,
) -> float:
    """The share of unserved requests that reach the threshold which ``kept`` of the served ones reach."""
    return float((np.asarray(unserved) >= np.quantile(served, 1 - kept)).mean())


def calibration_error(chances: Sequence[float], truths: Sequence[bool]) -> float:
    """Expected calibration error: over tenths of the scale, how far what was said is from what was true, by count."""
    said, true = np.asarray(chances), np.asarray(truths, dtype=float)
    tenths = np.minimum((said * 10).astype(int), 9)
    return float(sum(abs(said[tenths == tenth].sum() - true[tenths == tenth].sum()) for tenth in range(10)) / len(said))


def complete_at(needed_ranks: Sequence[int], k: float) -> float:
    """The share of requests whose last needed tool is in the first ``k``; between two whole numbers, a mean of both."""
    ranks, whole = np.asarray(needed_ranks), int(k)
    return float((1 - k + whole) * (ranks <= whole).mean() + (k - whole) * (ranks <= whole + 1).mean())


def _best_scores(retriever: Retriever, queries: Sequence[str]) -> list[float]:
    answers = (_ask(retriever, query, k=1) for query in queries)
    return [float(answer.tools[0].score) if answer.tools else 0.0 for answer in answers]


def _fits(retriever: Retriever, queries: Sequence[str]) -> list[tuple[float, bool]]:
    answers = (_ask(retriever, query, k=1) for query in queries)
    return [(answer.answerable_probability or 0.0, answer.unanswerable) for answer in answers]


def _ask(retriever: Retriever, query: str, *, k: int, auto_k: bool = False) -> Response:
    return retriever.retrieve(Request(query=query, k=k, explain=False, auto_k=auto_k))


if __name__ == "__main__":
    run_command(main)
