"""What everyday phrases are worth, on whole requests and on needs: ``python -m benchmarks.phrases`` renews the tables of docs/results.md.

``phrases.jsonl.gz`` beside this module has the phrases of the sets: who wrote them, and from what, stands in ``notes/phrases.md``. Each set is built
with its phrases, and the requests that have recorded needs are asked four times over the same snapshot: without phrases and with them, whole and
by needs.
"""

from __future__ import annotations

import gzip
import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

from benchmarks.command import ROOT, current, replace_block, run_command
from benchmarks.sets import REAL, SHIPPED_DEV, SHIPPED_TEST, BenchSet, bench_sets, real_sets
from egotools.values import Response
from eval.metrics import interval, resampled_means
from eval.queries import LabelledQuery, read_queries, with_needs
from eval.systems import make_ablations
from inference import DEFAULT_ENCODER, load_encoder
from inference.encoder import Encoder
from inference.encoder_wrappers import with_recent_vectors
from retrieval.engine import open_engine
from retrieval.query.request import Request
from services.jobs.build import build_snapshot

CUTOFFS = (3, 5, 10)
_FILE = Path(__file__).with_suffix(".jsonl.gz")
_SHIPPED = ROOT / "examples" / "enterprise" / "phrases.jsonl"
_APART = (SHIPPED_DEV, SHIPPED_TEST, REAL)  # in no mean
_WITHOUT, _WITH = "default-no-phrases", "default"
_NOTHING, _PHRASES, _NEEDS, _BOTH = range(4)
_DRAWS, _SEED = 10_000, 7
# float64 [requests, 4 ways, whether complete at 3, 5, 10 and in the answer of ``auto_k``, its size, whether complete by the best tool of each need]
_Figures = NDArray[np.float64]


def main(out: Annotated[Path, typer.Option(help="Folder of snapshots.")] = ROOT / "out" / "phrases") -> None:
    """Measure the sets that have phrases, and renew the tables."""
    encoder = with_recent_vectors(load_encoder(DEFAULT_ENCODER, workers=2))
    written, found = _written(), dict[str, _Figures]()
    for one in (*bench_sets([SHIPPED_DEV, SHIPPED_TEST]), *real_sets(), *bench_sets()):
        if (
            one.needs is not None
            and one.declared is None
            and (one.name in written or one.catalog.parent == _SHIPPED.parent)
        ):
            found[one.name] = _measured(one, written.get(one.name), out / one.name, encoder)
            print(_row(one.name, found[one.name]), flush=True)
    apart, open_sets = ({name: found[name] for name in found if (name in _APART) == each} for each in (True, False))
    measured = f"Measured with {current(DEFAULT_ENCODER)}. Command: `python -m benchmarks.phrases`."
    page, note = [*_differences(apart, open_sets), "", *_rows(apart, open_sets), "", measured], _rows(open_sets, {})
    replace_block(ROOT / "docs" / "results.md", "phrases", "\n".join(page))
    replace_block(Path(__file__).parent / "notes" / "phrases.md", "phrases-by-set", "\n".join([*note, "", measured]))


def figures_of(ranked: Response, sized: Response, gold: Sequence[Sequence[str]]) -> list[float]:
    """Whether the needed tools are among the first 3, 5, 10 of an answer, and in that of ``auto_k``; the size of the latter; and whether the
    best tools of the needs are all that is needed."""
    tools, best = [tool.id for tool in ranked.tools], {each.tool for each in ranked.need_results}
    answers = [*(set(tools[:cutoff]) for cutoff in CUTOFFS), {tool.id for tool in sized.tools}]
    complete = [float(all(answer & set(slot) for slot in gold)) for answer in (*answers, best)]
    return [*complete[:-1], float(len(sized.tools)), complete[-1]]


def percents(values: Sequence[float]) -> str:
    """Shares as percents, in one cell."""
    return "/".join(f"{100 * value:.1f}" for value in values)


def _written() -> dict[str, list[dict[str, Any]]]:
    found = defaultdict(list)
    for line in gzip.open(_FILE, "rt", encoding="utf-8"):
        row = json.loads(line)
        found[row.pop("set")].append(row)
    return found


def _measured(one: BenchSet, rows: Sequence[Mapping[str, Any]] | None, folder: Path, encoder: Encoder) -> _Figures:
    file, store = _SHIPPED, folder / "store"
    if rows is not None:
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / "phrases.jsonl"
        file.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    build_snapshot([str(one.catalog)], store, encoder=encoder, workers=2, phrases_file=file)
    engine = open_engine(store, encoder=encoder)
    retrievers = (make_ablations(engine.snapshot, encoder)[_WITHOUT], engine.retriever(_WITH))

    def asked(query: LabelledQuery) -> list[list[float]]:
        requests = [Request(query=query.text, needs=needs, explain=False) for needs in ((), query.needs or ())]
        sized = [Request(query=each.query, needs=each.needs, explain=False, k=40, auto_k=True) for each in requests]
        return [
            figures_of(retriever.retrieve(request), retriever.retrieve(sizes), query.slots)
            for request, sizes in zip(requests, sized, strict=True)
            for retriever in retrievers
        ]

    labelled = with_needs(read_queries([one.queries], split=one.split), [path for path in [one.needs] if path])
    return np.asarray([asked(query) for query in labelled.queries])


def _row(name: str, found: _Figures, requests: int = 0) -> str:
    mean = found.mean(axis=0)
    sizes = " → ".join(f"{100 * mean[way, -3]:.0f} % ({mean[way, -2]:.1f})" for way in (_NEEDS, _BOTH))
    best = " → ".join(f"{100 * mean[way, -1]:.1f}" for way in (_NEEDS, _BOTH))
    cells = [percents(mean[way, : len(CUTOFFS)]) for way in range(4)]
    return f"| {name} | {requests or len(found)} | {' | '.join(cells)} | {best} | {sizes} |"


def _rows(sets: Mapping[str, _Figures], mean_of: Mapping[str, _Figures]) -> list[str]:
    lines = ["| set | requests | nothing | phrases | needs | both | best tool of each need | `auto_k` by needs |"]
    lines += ["|---|---:|---|---|---|---|---|---|", *(_row(name, each) for name, each in sets.items())]
    if mean_of:
        means = np.asarray([each.mean(axis=0) for each in mean_of.values()])
        lines.append(_row(f"*mean of {len(mean_of)} open sets*", means, sum(map(len, mean_of.values()))))
    return lines


def _differences(apart: Mapping[str, _Figures], open_sets: Mapping[str, _Figures]) -> list[str]:
    lines = ["| phrases, minus without them | whole requests @3/@5/@10 | by needs @3/@5/@10 |", "|---|---|---|"]
    mean = f"*mean of {len(open_sets)} open sets*"
    for name, group in [*((name, {name: each}) for name, each in apart.items()), (mean, open_sets)]:
        gains = [_gains(group, without, given) for without, given in ((_NOTHING, _PHRASES), (_NEEDS, _BOTH))]
        lines.append(f"| {name} | {' | '.join(gains)} |")
    return lines


def _gains(group: Mapping[str, _Figures], without: int, given: int) -> str:
    """The mean differences in points with their intervals, bold where these exclude 0; each set counts the same."""
    columns = slice(0, len(CUTOFFS))
    means, drawn = [], []
    for name, each in group.items():
        differences = (each[:, given, columns] - each[:, without, columns]).astype(np.float32)
        means.append(differences.mean(axis=0))
        drawn.append(resampled_means(differences, resamples=_DRAWS, seed=_SEED, stratum=name))
    ends = zip(100 * np.mean(means, axis=0), *(100 * end for end in interval(np.mean(drawn, axis=0))), strict=True)
    cells = [(f"{mean:+.1f} [{low:+.1f}, {high:+.1f}]", low * high > 0) for mean, low, high in ends]
    return " / ".join(f"**{text}**" if sure else text for text, sure in cells)


if __name__ == "__main__":
    run_command(main)
