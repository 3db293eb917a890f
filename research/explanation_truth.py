"""How many of the supplier claims of explanations are true and of use.

    python -m research.explanation_truth draw STORE REQUESTS --split dev --start 30 --most 30 > SHEET
    python -m research.explanation_truth score research/explanation_verdicts/real_documents.jsonl

``draw`` writes every claim ("call X first for Y") of some answers, with what the documents say of both tools. A reader adds ``true`` (the
output of X is a value that Y takes) and ``useful`` (who calls the tool for this request needs X first: the request does not state the
value, and X can find it). ``score`` counts both by ``part``, 30 answers each. The requests are in the order of a hash of their ids.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from services.threads import pin_threads

if TYPE_CHECKING:
    from retrieval.engine import SnapshotEngine

_TEXT_CHARS = 160
_CLAIM = re.compile(r"call (.+?) first for (\S+?)(?:;|$)")
app = typer.Typer(no_args_is_help=True, help=__doc__)


@app.command()
def draw(
    store: Annotated[Path, typer.Argument(help="store of the catalogue")],
    requests: Annotated[Path, typer.Argument(help="labelled requests")],
    split: Annotated[str, typer.Option(help="only rows of this split")] = "dev",
    start: Annotated[int, typer.Option(help="requests that are skipped")] = 0,
    most: Annotated[int, typer.Option(help="requests")] = 30,
) -> None:
    """Write the claims of the answers, a JSON object a line."""
    from eval.queries import read_queries
    from retrieval.engine import open_engine

    pin_threads()
    engine = open_engine(store)
    queries = read_queries([requests], split=split).queries
    ordered = sorted(queries, key=lambda one: hashlib.sha256(one.id.encode()).hexdigest())
    for query in ordered[start : start + most]:
        for row in claims(engine, query.text):
            print(
                json.dumps(
                    {"part": start // max(most, 1) + 1, "request": query.id, "query": query.text, **row},
                    ensure_ascii=False,
                )
            )


@app.command()
def score(sheet: Annotated[Path, typer.Argument(help="claims with verdicts")]) -> None:
    """Count the claims that are true and of use."""
    rows = [json.loads(line) for line in sheet.read_text(encoding="utf-8").splitlines()]
    for part in sorted({row["part"] for row in rows}):
        print(f"part {part}: {verdict([row for row in rows if row['part'] == part])}")
    print(f"all: {verdict(rows)}")


def verdict(rows: list[dict[str, Any]]) -> str:
    """The counts in words."""
    if not rows:
        return "no claims"
    true = sum(row["true"] for row in rows)
    both = sum(row["true"] and row["useful"] for row in rows)
    answers = len({row["request"] for row in rows})
    return f"{len(rows)} claims in {answers} answers: {true} true, {both} true and useful ({both / len(rows):.0%})"


def claims(engine: SnapshotEngine, text: str) -> Iterator[dict[str, str]]:
    """Yield the claims of the answer to one request, with what the documents say of both tools."""
    from retrieval.query.request import Request

    request = Request(query=text, explain=False, explanation=True)
    for ranked in engine.retriever().retrieve(request).tools:
        for supplier, parameter in _CLAIM.findall(ranked.explanation):
            consumer, producer = engine.tool(ranked.id), engine.tool(supplier)
            described = (each.description for each in consumer.parameters if each.name.endswith(parameter))
            yield {
                "tool": ranked.id,
                "input": parameter,
                "first": supplier,
                "tool_is": f"{consumer.title}. {consumer.description}"[:_TEXT_CHARS],
                "input_is": next(described, "")[:_TEXT_CHARS],
                "first_is": f"{producer.title}. {producer.description}"[:_TEXT_CHARS],
                "first_needs": ", ".join(each.name for each in producer.parameters if each.required)[:_TEXT_CHARS],
            }


if __name__ == "__main__":
    app()
