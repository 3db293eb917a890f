"""How many shipped questions on graphs are answered rightly: ``python -m benchmarks.planners.graphseek``.

Without ``--endpoint`` the questions are read by rules; with it a chat model plans, over the same graph, operators and limits. Rows are kept
in ``--out`` and not asked again. The EV graph is generated once, at size 1, of which the truths are.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from benchmarks.command import ROOT, run_command
from benchmarks.ev_graph.ev_tables import ev_tables
from benchmarks.ev_graph.graph_table import load_tables
from benchmarks.planners.questions import Answer, Question, Table, score_answer, shipped_questions
from egotools import ClientError
from ontology.errors import EgotoolsError
from planners.graphseek.catalog import SemanticCatalog, catalog_for, read_catalog
from planners.graphseek.llm_turns import LlmTurns
from planners.graphseek.operators.operator import known_operators
from planners.graphseek.question_run import QuestionParts, answer_question
from planners.graphseek.results import ResultStore
from planners.graphseek.rules_turns import RulesTurns
from planners.graphseek.turn import TurnMaker
from planners.stores import open_readable
from planners.stores.graph_schema import ReadableGraph
from services.jobs.tool_graph_file import shipped_store, tool_graph_file

_MOST_ROWS = 1_000_000
_EV_CATALOG = ROOT / "benchmarks" / "ev_graph" / "ev_catalog.yaml"


def main(
    graphs: Annotated[str, typer.Option(help="ev, tool_graph, or both with a comma.")] = "tool_graph",
    endpoint: Annotated[str, typer.Option(help="Base URL of a chat model.")] = "",
    model: Annotated[str, typer.Option(help="Its name.")] = "",
    out: Annotated[Path, typer.Option(help="Folder of the graphs and the rows.")] = ROOT / "out" / "graphseek",
) -> None:
    """Ask, print how many answers are right by both rules, and keep a row for each question."""
    for name in graphs.split(","):
        rows = asyncio.run(_measured(name, out, endpoint, model))
        counts = Counter(row["outcome"].partition(":")[0] for row in rows)
        right = {rule: sum(row[rule] for row in rows) for rule in ("paper", "whole")}
        print(f"{name}: {right['paper']} of {len(rows)} by the paper's rule, {right['whole']} whole; {dict(counts)}")


async def _measured(name: str, out: Path, endpoint: str, model: str) -> list[dict[str, Any]]:
    file = out / f"{name}-{model.replace('/', '_') or 'rules'}.jsonl"
    out.mkdir(parents=True, exist_ok=True)
    kept = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()] if file.exists() else []
    known = {row["question"] for row in kept}
    async with open_readable(f"ladybug:{_graph_file(name, out)}", out) as graph:
        catalog = read_catalog(_EV_CATALOG) if name == "ev" else catalog_for(await graph.schema())
        for question in shipped_questions(name):
            if question.id in known:
                continue
            kept.append(await _asked(question, graph, catalog, _turns(endpoint, model)))
            with file.open("a", encoding="utf-8") as lines:
                lines.write(json.dumps(kept[-1], ensure_ascii=False) + "\n")
    return kept


def _graph_file(name: str, out: Path) -> Path:
    """The Ladybug file of a graph, made where it is missing."""
    if name == "tool_graph":
        return tool_graph_file(shipped_store(out / "stores"), out)
    if name != "ev":
        raise typer.BadParameter(f"no graph {name!r}; there are ev and tool_graph")
    path = out / "ev.lbdb"
    if not path.exists():
        load_tables(path, ev_tables(1.0))
    return path


def _turns(endpoint: str, model: str) -> TurnMaker:
    if not endpoint:
        return RulesTurns()
    from inference.openai_client import OpenAIChat

    return LlmTurns(OpenAIChat(model, base_url=endpoint, timeout_s=1_800.0))


async def _asked(
    question: Question, graph: ReadableGraph, catalog: SemanticCatalog, turns: TurnMaker
) -> dict[str, Any]:
    """Ask a question in a run of its own, and score what it says and shows."""
    started, answer, said = time.perf_counter(), Answer(), ""
    with tempfile.TemporaryDirectory() as folder:
        results = ResultStore(Path(folder))
        parts = QuestionParts(
            graph=graph, catalog=catalog, operators=tuple(known_operators().values()), results=results, turns=turns
        )
        try:
            run = await answer_question(question.text, parts)
            said = run.end.outcome
            if said in ("answered", "ungrounded"):
                answer = Answer(text=run.end.answer, tables=await _tables(results, run.end.of))
        except (EgotoolsError, ClientError) as error:
            said = f"{type(error).__name__}: {error}"
        finally:
            results.close()
    score = score_answer(question.truth, answer)
    return {
        "question": question.id,
        "family": question.family,
        "outcome": said[:300],
        "paper": score.paper,
        "whole": score.whole,
        "answer": answer.text[:300],
        "seconds": round(time.perf_counter() - started, 2),
    }


async def _tables(results: ResultStore, handles: Sequence[str]) -> list[Table]:
    """The tables that an answer rests on."""
    tables: list[Mapping[str, Sequence[object]]] = []
    for handle in handles:
        result = results.result(handle)
        if result.kind == "table":
            rows = await results.rows(handle, limit=_MOST_ROWS)
            tables.append({column.name: [row[at] for row in rows] for at, column in enumerate(result.columns)})
    return tables


if __name__ == "__main__":
    run_command(main)
