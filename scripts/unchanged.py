"""The answers of one state of the code, recorded; two recordings compared. For changes that must not change an answer.

``record DIR`` writes, over the sets of the gate (each cut as the gate cuts it) and the shipped ones: the id, the files and
the manifest of each snapshot; the ranking of every preset and every ablation, ids and scores; the explained answers of
``default``; rankings with a reranker that works and with one that is down, with a filter, and with tuned weights; what is
read from the specification files; the requests that are generated; what the demo prints. ``compare A B`` lists what is not
the same, and ends with 1 when anything is not, or was recorded on one side only.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ontology.errors import ModelError
from ontology.progress import no_progress
from scripts.bench_sets import BENCH, ROOT, bench_sets, catalog_address, reduced
from services.threads import pin_threads

PARTS = ("answers", "sources", "datagen", "demo")
RENAMED = {
    '["default-no-text-pools"': '["default-no-text-candidates"',
    '["default-no-needs"': '["default-no-dependency-expansion"',
    '"clause_votes": ': '"clause_fusion": ',
    # reasons for which no text is generated
    " cannot be worded: ": " cannot be put into words: ",
    "its name is a thing, and says nothing of what is done": "its name is a thing, and names no action",
    "one want is served by one tool": "a single request needs one tool",
    "several wants need several tools": "several requests need several tools",
    "its steps lead to several goals, and one sentence without 'and' can say": "its steps have several goals, and a sentence without 'and' can state",
    "no step before the last gives anything that a condition could be put on": "no step before the last has a result that a condition could test",
    "too many steps stand one behind the other to be said as": "too many steps stand one behind the other for",
    "what the steps look up makes too long a description": "the description of what the steps look up is too long",
    "a step before the last changes something, which cannot be left unsaid": "a step before the last changes something, which the text must state",
    "nothing says which one of several a step before": "nothing selects the one of several that a step before",
    "a step before the last gives but the number that is said, so that": "a step before the last only returns the number that is stated, so",
    " got lost in the wording": " is not in the text",
    "the wording says ": "the text contains ",
    "the wording holds ": "the text contains ",
    "' of itself\"": "' as a part of itself\"",
    ", which no one would say": ", which looks like an internal name",
}  # fmt: skip
"""Labels that were renamed: text of an older recording → text of a newer one."""
EXPECTED = {"default-no-clauses": "it took query decomposition away too; now it takes clause fusion alone"}
"""Ablations that were corrected: name → what was wrong. Their answers are not compared."""
_NOT_CONTENT = ("snapshot_id", "format_version")
"""Keys of a manifest that are not compared: format 3 changed the second, and with it the first."""
_TUNED = {"bm25_text": 0.75, "cosine_text": 1.0, "name_coverage": 0.0, "graph_support": 2.0}
_TUNED_REST = {"clause_fusion": 1.5, "resolver_margin": 0.25}
_RERANKED = ("default", "paper", "hybrid")
"""The presets that take a reranker."""
_REQUESTS = 150
_TOOLS = 1_000
_EXPLAINED = 30
_CONDITIONED = 30
"""Requests that are asked with a reranker, with a filter, and with tuned weights."""
_DATAGEN_SETS = ("enterprise", "restbench")


class MemoEncoder:
    """An encoder that asks the real one once for each text, whatever state of the code asks."""

    def __init__(self, encoder: Any, file: Path) -> None:
        self._encoder = encoder
        self.name, self.dimensions, self.digest = encoder.name, encoder.dimensions, encoder.digest
        self._rows = sqlite3.connect(file)
        self._rows.execute("create table if not exists vectors (key text primary key, vector blob)")

    def encode(self, texts: Sequence[str]) -> Any:
        """Vectors of the texts, float32 [texts, dimensions]."""
        keys = [hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest() for text in texts]
        known: dict[str, bytes] = {}
        for key in keys:
            row = self._rows.execute("select vector from vectors where key = ?", (key,)).fetchone()
            if row:
                known[key] = row[0]
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
        if missing:
            made = self._encoder.encode(list(missing.values()))
            known |= {key: vector.tobytes() for key, vector in zip(missing, made, strict=True)}
            rows = [(key, known[key]) for key in missing]
            self._rows.executemany("insert or ignore into vectors values (?, ?)", rows)
            self._rows.commit()
        if not texts:
            return np.empty((0, self.dimensions), dtype=np.float32)
        return np.stack([np.frombuffer(known[key], dtype=np.float32) for key in keys])


class ScriptedReranker:
    """A reranker without a model: the score is made from a hash of request and text, so another text has another score.

    :param down: whether every call fails, as when its server is down.
    """

    name = "scripted.v1"

    def __init__(self, *, down: bool = False) -> None:
        self._down = down

    def score(self, query: str, documents: Sequence[str]) -> Any:
        """Scores in [0, 1), float32 [documents].

        :raises ModelError: when it is down.
        """
        if self._down:
            raise ModelError("it is down", subject=self.name)
        pairs = [f"{query}\n{document}".encode("utf-8", "surrogatepass") for document in documents]
        hashed = [int.from_bytes(hashlib.sha256(pair).digest()[:3], "big") for pair in pairs]
        return np.array(hashed, dtype=np.float32) / np.float32(2**24)


def record(out: Path, memo: Path, parts: Sequence[str], sets: Sequence[str], requests: int) -> None:
    """Write what this state of the code answers."""
    from inference import DEFAULT_ENCODER, load_encoder

    out.mkdir(parents=True, exist_ok=True)
    encoder = MemoEncoder(load_encoder(DEFAULT_ENCODER, workers=2), memo)
    if "answers" in parts:
        for bench_set in bench_sets(sets):
            _record_set(bench_set, out, encoder, requests)
            print(bench_set.name, flush=True)
    if "sources" in parts:
        _record_sources(out / "sources")
    if "datagen" in parts:
        _record_datagen(out / "datagen", encoder)
    if "demo" in parts:
        _record_demo(out)


def _record_set(bench_set: Any, out: Path, encoder: MemoEncoder, requests: int) -> None:
    from retrieval.ablations import make_ablations
    from retrieval.presets import make_presets
    from retrieval.query.request import Request
    from retrieval.snapshot.reader import open_snapshot
    from services.jobs.build import build_snapshot

    work = out / "work" / bench_set.name
    small = reduced(bench_set, work, queries=_REQUESTS, tools=_TOOLS)
    report = build_snapshot(
        [str(catalog_address(small, work))], work / "store", encoder=encoder, workers=2, cached=False
    )
    snapshot = open_snapshot(work / "store")
    rows = [json.loads(line) for line in small.queries.read_text(encoding="utf-8").splitlines() if line.strip()]
    rows = rows[:requests]
    files = {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(report.folder.rglob("*"))
        if path.is_file()
    }
    manifest = json.loads((report.folder / "manifest.json").read_text(encoding="utf-8"))
    _write(out / f"snapshot-{bench_set.name}.jsonl", [{"id": report.snapshot_id}, files, manifest])
    presets = make_presets(snapshot, encoder)
    retrievers = {**presets, **make_ablations(snapshot, encoder)}
    answers = []
    for name, retriever in sorted(retrievers.items()):
        answers += [[name, *answer[:2]] for answer in _answers(retriever, rows)]
    _write(out / f"answers-{bench_set.name}.jsonl", answers)
    explained = []
    for row in rows[:_EXPLAINED]:
        response = presets["default"].retrieve(Request(query=row["query"], k=5, auto_k=True))
        explained.append([row["id"], response.answerable_probability, response.unanswerable])
        for tool in response.tools:
            reasons = tool.reasons
            explained.append(
                [
                    tool.id,
                    [[e.node, e.kind, e.text, round(e.score, 6)] for e in reasons.entries],
                    [[e.head, e.predicate, e.tail, e.confidence] for e in reasons.edges],
                    sorted(reasons.features.values()),
                    [[b.parameter, b.supplier, b.output, b.kind, b.confidence] for b in reasons.bindings],
                ]
            )
    _write(out / f"explained-{bench_set.name}.jsonl", explained)
    rows = rows[:_CONDITIONED]
    reranked: list[Any] = []
    for label, reranker in (("works", ScriptedReranker()), ("is down", ScriptedReranker(down=True))):
        with_reranker = make_presets(snapshot, encoder, reranker)
        for name in _RERANKED:
            reranked += [[name, label, *answer] for answer in _answers(with_reranker[name], rows)]
    _write(out / f"reranked-{bench_set.name}.jsonl", reranked)
    filters = _filters(report.folder)
    filtered = [
        [name, filters, *answer]
        for name in sorted(presets)
        for answer in _answers(presets[name], rows, filters=filters)
    ]
    _write(out / f"filtered-{bench_set.name}.jsonl", filtered)
    _write(out / f"tuned-{bench_set.name}.jsonl", list(_tuned(snapshot, work / "tuned", encoder, rows)))


def _answers(retriever: Any, rows: Sequence[Any], **conditions: Any) -> Iterator[list[Any]]:
    """The answer to each request: its id, the tools, and how many parts of the answer are by a fallback."""
    from retrieval.query.request import Request

    for row in rows:
        response = retriever.retrieve(Request(query=row["query"], k=10, explain=False, **conditions))
        tools = [[tool.id, tool.score, tool.probability] for tool in response.tools]
        yield [row["id"], tools, len(response.fallbacks)]


def _filters(folder: Path) -> dict[str, tuple[str, ...]]:
    """The filter by one value of the metadata that is nearest to half of the tools of a snapshot."""
    tools = [json.loads(line) for line in (folder / "tools.jsonl").read_text(encoding="utf-8").splitlines()]
    pairs = (pair for tool in tools for pair in (tool.get("metadata") or {}).items())
    counts = Counter((key, value) for key, value in pairs if isinstance(value, str))
    (key, value), _ = min(counts.items(), key=lambda item: (abs(item[1] - len(tools) / 2), item[0]))
    return {key: (value,)}


def _tuned(snapshot: Any, store: Path, encoder: MemoEncoder, rows: Sequence[Any]) -> Iterator[Any]:
    """The ranking section of the snapshot under other weights, and what its presets with weights answer."""
    from retrieval.presets import make_presets
    from retrieval.ranking.weights import RankingWeights, ranking_section
    from retrieval.snapshot.reader import open_snapshot
    from retrieval.snapshot.reweight import publish_reweighted, published_id

    section = ranking_section(RankingWeights(**_TUNED, **_TUNED_REST))
    publish_reweighted(snapshot, store, section, replaces=published_id(store))
    tuned = open_snapshot(store)
    yield json.loads((tuned.layout.folder / "manifest.json").read_text(encoding="utf-8"))["ranking"]
    for name, retriever in sorted(make_presets(tuned, encoder).items()):
        if name in ("default", "fast", "paper"):
            yield from ([name, *answer] for answer in _answers(retriever, rows))


def _record_sources(out: Path) -> None:
    from ingest.sources import read_catalog

    specs = BENCH.parent / "specs"
    addresses = [*sorted(specs.glob("*.*")), ROOT / "examples" / "enterprise" / "catalog"]
    for address in addresses:
        catalog = read_catalog([str(address)])
        rows: list[Any] = [tool.to_json() for tool in catalog.tools]
        rows += [
            [r.subject.replace(str(ROOT.parent), ""), r.reason, r.detail.replace(str(ROOT.parent), "")]
            for r in catalog.rejected
        ]
        _write(out / f"{address.name}.jsonl", rows)


def _record_datagen(out: Path, encoder: MemoEncoder) -> None:
    from services.jobs import generate as service
    from services.jobs.plans import DatagenPlan

    for name in _DATAGEN_SETS:
        plan = DatagenPlan(
            store=out.parent / "work" / name / "store", out=out.parent / "work" / f"datagen-{name}", per_class=40
        )
        service.load_encoder = lambda known: encoder  # type: ignore
        service.generate_requests(plan, no_progress)
        for file in ("queries.jsonl", "rejected.jsonl", "edges.jsonl", "outputs.jsonl"):
            (out / f"{name}-{file}").parent.mkdir(parents=True, exist_ok=True)
            (out / f"{name}-{file}").write_bytes((plan.out / file).read_bytes())


def _record_demo(out: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "services.cli.demo"], capture_output=True, text=True, cwd=ROOT, check=True
    )
    text = re.sub(r"127\.0\.0\.1:\d+", "ADDRESS", done.stdout)
    (out / "demo.txt").write_text(re.sub(r"in \d+\.\d s", "in T s", text), encoding="utf-8")


def _write(path: Path, rows: Sequence[Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")


def compare(before: Path, after: Path, allowed: Collection[str] = ()) -> int:
    """Print what is not the same; returns 1 when anything is not, or nothing was recorded.

    :param allowed: names of files that may be there on one side only.
    """
    names = {path.relative_to(side) for side in (before, after) for path in side.rglob("*") if path.is_file()}
    different = 0
    names = {name for name in names if name.parts[0] != "work"}
    for name in sorted(names):
        if not ((before / name).exists() and (after / name).exists()):
            different += str(name) not in allowed
            print(f"{'new          ' if (after / name).exists() else 'not recorded '} {name}")
            continue
        old, new = (_lines(side / name) for side in (before, after))
        if old == new:
            print(f"same          {name} ({len(old)} lines)")
            continue
        different += 1
        lines = [at for at, pair in enumerate(zip(old, new, strict=False)) if pair[0] != pair[1]]
        print(f"DIFFERENT     {name}: {len(lines)} of {len(old)} lines differ; {len(new)} lines now")
        for at in lines[:3]:
            print(f"    - {old[at][:300]}\n    + {new[at][:300]}")
    return 1 if different or not names else 0


def _lines(path: Path) -> list[str]:
    """The lines of a recording under today's labels; answers in the order of their labels, without those of EXPECTED.

    Of a snapshot, the hash of every file but the manifest, and the content of the manifest but its id and format version.
    """
    lines = path.read_text(encoding="utf-8").splitlines()
    for old, new in RENAMED.items():
        lines = [line.replace(old, new) for line in lines]
    if path.name.startswith("answers-"):
        return sorted(line for line in lines if json.loads(line)[0] not in EXPECTED)
    if path.name.startswith("snapshot-"):
        files = [f"{name} {digest}" for name, digest in json.loads(lines[1]).items() if name != "manifest.json"]
        return [*files, *(_content(json.loads(line)) for line in lines[2:])]
    return lines


def _content(manifest: Mapping[str, Any]) -> str:
    return json.dumps({key: value for key, value in manifest.items() if key not in _NOT_CONTENT}, sort_keys=True)


def main() -> int:
    """Record or compare; returns the exit code."""
    pin_threads()
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    recording = commands.add_parser("record")
    recording.add_argument("out", type=Path)
    recording.add_argument("--memo", type=Path, required=True, help="file that keeps the vectors")
    recording.add_argument("--parts", default=",".join(PARTS))
    recording.add_argument("--sets", default="")
    recording.add_argument("--requests", type=int, default=_REQUESTS)
    comparing = commands.add_parser("compare")
    comparing.add_argument("before", type=Path)
    comparing.add_argument("after", type=Path)
    comparing.add_argument("--allow", action="append", default=[], metavar="FILE", help="a file that one side may lack")
    options = parser.parse_args()
    if options.command == "compare":
        return compare(options.before, options.after, options.allow)
    sets = [name for name in options.sets.split(",") if name]
    record(options.out, options.memo, options.parts.split(","), sets, options.requests)
    return 0


if __name__ == "__main__":
    sys.exit(main())
