"""The graphs of the account with their questions: the EV graph at any size, the tool graph of the shipped catalogue, countries."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.ev_graph.ev_tables import ev_tables
from ontology.files import write_file
from planners.graphseek.catalog import SemanticCatalog, catalog_for
from planners.graphseek.operators.pattern import name_property
from planners.stores.graph_schema import GraphSchema, NodeType, ReadableGraph
from planners.stores.ladybug import open_ladybug_reader
from planners.stores.property_graph import QueryLimits
from planners.stores.statements import quoted_name, quoted_text
from retrieval.snapshot.reader import open_snapshot
from scripts.graphseek.countries_questions import countries_questions
from scripts.graphseek.countries_tables import country_tables
from scripts.graphseek.ev_frames import ev_frames
from scripts.graphseek.ev_questions import ev_questions, random_ev_questions
from scripts.graphseek.load_tables import load_tables
from scripts.graphseek.question import Question, question_of_record
from scripts.graphseek.tool_graph_questions import tool_graph_questions
from services.jobs.cached_store import shipped_store
from services.jobs.tool_graph_file import tool_graph_file

__all__ = [
    "AccountGraph",
    "account_graphs",
    "drawn_questions",
    "ev_file",
    "ev_graph",
    "open_account_graph",
    "typed_pattern",
]

_MOST_NAMES = 10_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountGraph:
    """A graph that is open.

    :param names: what its nodes are called, for the score.
    """

    name: str
    graph: ReadableGraph
    schema: GraphSchema
    catalog: SemanticCatalog
    questions: Sequence[Question]
    names: frozenset[str]


def ev_graph(folder: Path, scale: float) -> Path:
    """Return the EV graph of a size as a Ladybug file, which is made once."""
    path = folder / f"ev-{scale:g}.lbdb"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        load_tables(path, ev_tables(scale))
    return path


def ev_file(folder: Path, scale: float = 1.0) -> tuple[Path, list[Question]]:
    """Return the EV graph of a size, and its 15 questions, whose truths take as much memory as the tables."""
    path = ev_graph(folder, scale)
    return path, _kept_questions(_beside(path), lambda: ev_questions(ev_frames(ev_tables(scale))))


def drawn_questions(folder: Path, count: int) -> list[Question]:
    """Return the questions on the EV graph of size 1 with so many random parameters each."""
    path = folder / f"ev-1.random-{count}.json"
    return _kept_questions(path, lambda: random_ev_questions(ev_frames(ev_tables()), count))


def account_graphs(folder: Path, countries: Path | None = None) -> dict[str, tuple[Path, list[Question]]]:
    """Return files and questions by name of the graph.

    :param folder: where they are made once.
    :param countries: the unpacked npm package ``world-countries``; that graph is left out where None.
    """
    store = shipped_store(folder / "stores")
    tools = tool_graph_file(store, folder)
    found = {"ev": ev_file(folder)}
    if countries is not None:
        path = folder / "countries.lbdb"
        if not path.exists():
            load_tables(path, country_tables(countries))
        found["countries"] = path, _kept_questions(_beside(path), lambda: countries_questions(countries))
    found["tool_graph"] = tools, tool_graph_questions(open_snapshot(store))
    return found


def _beside(graph: Path) -> Path:
    return graph.with_suffix(".questions.json")


def _kept_questions(path: Path, make: Callable[[], list[Question]]) -> list[Question]:
    """Return questions with whole truths from a file; it is written where it is missing."""
    if not path.exists():
        write_file(path, json.dumps([asdict(each) for each in make()], ensure_ascii=False))
    return [question_of_record(record) for record in json.loads(path.read_text(encoding="utf-8"))]


@contextlib.asynccontextmanager
async def open_account_graph(name: str, path: Path, questions: Sequence[Question] = ()) -> AsyncIterator[AccountGraph]:
    """Open a graph, and close it at the end. Names are read where there are questions to score."""
    async with open_ladybug_reader(path) as graph:
        schema = await graph.schema()
        catalog = catalog_for(schema)
        types = schema.nodes if questions else ()
        names = await asyncio.gather(*(_names(graph, each, catalog) for each in types))
        yield AccountGraph(
            name=name,
            graph=graph,
            schema=schema,
            catalog=catalog,
            questions=questions,
            names=frozenset().union(*names),
        )


def typed_pattern(variable: str, type_: NodeType) -> str:
    """Return the pattern of the nodes of a type, however the graph marks it."""
    mark = type_.mark
    held = f" {{{quoted_name(mark.property)}: {quoted_text(mark.value)}}}" if mark.property else ""
    return f"({variable}:{quoted_name(mark.label)}{held})"


async def _names(graph: ReadableGraph, type_: NodeType, catalog: SemanticCatalog) -> set[str]:
    name = name_property(type_, catalog)
    text = f"MATCH {typed_pattern('n', type_)} RETURN DISTINCT n.{quoted_name(name)}"
    async with graph.read(text, None, QueryLimits(rows=_MOST_NAMES, seconds=300.0)) as rows:
        return {str(value) for batch in [each async for each in rows.batches()] for (value,) in batch if value}
