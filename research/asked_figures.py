"""Figures of docs/asked.md: ``python -m research.asked_figures WHAT …``.

``names TOOLS``: is each tool found by its exact id and name? ``prefix TOOLS QUERIES``: what does it cost that every tool's name begins with
the same vendor? ``history TOOLS QUERIES``: what is it worth to search with the turns before? TOOLS and QUERIES are files of the form
of the benchmark sets; for ``history`` those of ``research.bfcl_turns``, whose ids are TASK.TURN. What is measured is CompleteRecall at 5 and 10 tools.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

from eval.gold_slots import gold_slots
from scripts.run_command import run_command
from services.threads import pin_threads

if TYPE_CHECKING:
    from retrieval.engine import Engine

VENDOR = "larkfield"
CUTOFFS = (5, 10)
_RESAMPLES = 10_000
_Row = Mapping[str, Any]
_Text = Callable[[int], str]


def main(
    what: Annotated[str, typer.Argument(help="names, prefix or history")],
    tools: Annotated[Path, typer.Argument(help="tools.jsonl")],
    queries: Annotated[Path | None, typer.Argument(help="queries.jsonl; not for names")] = None,
    most: Annotated[int, typer.Option(help="requests, or tools to name, at equal distances; 0: all")] = 0,
    titles: Annotated[bool, typer.Option(help="whether the tools keep their titles")] = True,
) -> None:
    """Measure, and print a line for each variant."""
    pin_threads()
    catalogue = _rows(tools) if titles else [_without_title(tool) for tool in _rows(tools)]
    if what == "names":
        _names(catalogue, catalogue[:: max(1, len(catalogue) // most)] if most else catalogue)
        return
    asked = [row for row in _rows(queries or tools) if row["tools"]]
    {"prefix": _prefix, "history": _history}[what](catalogue, asked, most or len(asked))


def _names(catalogue: Sequence[_Row], said: Sequence[_Row]) -> None:
    from retrieval.query.request import Request

    retriever = _engine(catalogue).retriever()
    for form in ("id", "name"):
        missed = [
            tool[form]
            for tool in said
            if tool["id"]
            not in {
                each.id
                for each in retriever.retrieve(
                    Request(query=f"check order 4711 of Acme with {tool[form]}, then tell them", k=5, explain=False)
                ).tools
            }
        ]
        print(f"{form}: {len(missed)} of {len(said)} not among the first 5 {missed[:5]}")


def _prefix(catalogue: Sequence[_Row], asked: Sequence[_Row], most: int) -> None:
    asked = asked[:: max(1, len(asked) // most)]
    plain = _complete(_engine(catalogue), asked, lambda place: str(asked[place]["query"]))
    for written in ("name", "name and id"):
        renamed = {tool["id"]: _prefixed_id(tool) if "id" in written else str(tool["id"]) for tool in catalogue}
        tools = [
            {
                **tool,
                "id": renamed[tool["id"]],
                "name": f"{VENDOR}_{tool['name']}",
                "depends_on": [
                    {**need, "tool": renamed.get(need["tool"], need["tool"])} for need in tool.get("depends_on", ())
                ],
            }
            for tool in catalogue
        ]
        rows = [
            {**row, "tools": [[renamed.get(each, each) for each in slot] for slot in gold_slots(row["tools"])]}
            for row in asked
        ]
        found = _complete(_engine(tools), rows, lambda place: str(asked[place]["query"]))
        _print(f"{VENDOR}_ before each {written}", plain, found)


def _without_title(tool: _Row) -> _Row:
    metadata = {key: value for key, value in tool.get("metadata", {}).items() if key != "title"}
    return {**{key: value for key, value in tool.items() if key != "title"}, "metadata": metadata}


def _prefixed_id(tool: _Row) -> str:
    head, slash, last = str(tool["id"]).rpartition("/")
    return f"{head}{slash}{VENDOR}_{last}"


def _history(catalogue: Sequence[_Row], asked: Sequence[_Row], most: int) -> None:
    engine = _engine(catalogue)
    tasks: dict[str, list[str]] = {}
    before: list[list[str]] = []
    for row in asked:
        turns = tasks.setdefault(str(row["id"]).rpartition(".")[0], [])
        before.append(list(turns))
        turns.append(str(row["query"]))
    later = [place for place, turns in enumerate(before) if turns]
    later = later[:: max(1, len(later) // most)]
    rows = [asked[place] for place in later]
    texts: dict[str, _Text] = {
        "the turn alone": lambda place: str(rows[place]["query"]),
        "with the turn before": lambda place: f"{before[later[place]][-1]}\n{rows[place]['query']}",
        "with the nouns of all turns before": lambda place: (
            f"{rows[place]['query']}\n{_nouns(engine, before[later[place]])}"
        ),
    }
    plain = _complete(engine, rows, texts["the turn alone"])
    for name, text in texts.items():
        _print(name, plain, _complete(engine, rows, text))


def _nouns(engine: Engine, turns: Sequence[str]) -> str:
    """The words of the turns that documents of the catalogue have, each once."""
    from retrieval.index.analysis import terms

    words = list(dict.fromkeys(term for turn in turns for term in terms(turn)))
    known = engine.known_terms(" ".join(words))
    return " ".join(word for word in words if word in known)


def _engine(catalogue: Sequence[_Row]) -> Engine:
    from inference import DEFAULT_ENCODER, load_encoder
    from retrieval.snapshot_engine import open_engine
    from services.jobs.build import build_snapshot

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "tools.jsonl"
        file.write_text("".join(f"{json.dumps(tool, ensure_ascii=False)}\n" for tool in catalogue), encoding="utf-8")
        build_snapshot([str(file)], Path(folder) / "store", encoder=load_encoder(DEFAULT_ENCODER))
        return open_engine(Path(folder) / "store")  # what is open stays readable


def _complete(engine: Engine, asked: Sequence[_Row], text: _Text) -> NDArray[np.float64]:
    """Whether each request is complete among the first tools, float64 [cutoffs, requests]."""
    from retrieval.query.request import Request

    retriever, found = engine.retriever(), []
    for place, row in enumerate(asked):
        request = Request(query=text(place), k=max(CUTOFFS), explain=False)
        ids = [tool.id for tool in retriever.retrieve(request).tools]
        slots = gold_slots(row["tools"])
        found.append([all(not set(slot).isdisjoint(ids[:k]) for slot in slots) for k in CUTOFFS])
    return np.asarray(found, dtype=np.float64).T


def _print(name: str, plain: NDArray[np.float64], found: NDArray[np.float64]) -> None:
    generator = np.random.default_rng(0)
    parts = []
    for k, before, after in zip(CUTOFFS, plain, found, strict=True):
        places = generator.integers(0, len(before), size=(_RESAMPLES, len(before)))
        low, high = np.percentile((after - before)[places].mean(axis=1), [2.5, 97.5]) * 100
        change = 100 * (after.mean() - before.mean())
        parts.append(f"@{k} {100 * after.mean():.1f} ({change:+.1f} [{low:+.1f}, {high:+.1f}])")
    print(f"{name}: {len(plain[0])} requests, {', '.join(parts)}", flush=True)


def _rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


if __name__ == "__main__":
    run_command(main)
