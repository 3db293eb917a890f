"""How many labels of generated requests are wrong, and how many requests a person could have typed: sheets for blind readers.

    python -m benchmarks.readings draw STORE queries.jsonl --count 100 --out sheet.jsonl --key key.jsonl --listing tools.txt
    python -m benchmarks.readings score sheet.jsonl key.jsonl first.jsonl second.jsonl

``draw`` takes requests at random and writes for each its text and a shortlist of tools in a random order: those of the gold set, and the
nearest ones to the text and to these tools. The gold set stands in the key only, which readers do not see. Readers answer as
``reader_instructions.md`` says. A *label error* is a request whose gold set is not what the reader needs: a tool is missing, needless or another one,
an alternative of a slot would not do, or the reader finds the request ambiguous or not servable.
"""

from __future__ import annotations

import json
import random
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import networkx as nx
import typer

from eval.queries import Slot, gold_slots, read_queries, row_tools, slot_name
from ontology.errors import DocumentError, EgotoolsError, InvalidArgumentError
from ontology.files import write_file, write_rows
from ontology.reporting import Proportion
from ontology.tool import Tool
from services.threads import pin_threads

if TYPE_CHECKING:
    from retrieval.engine import Engine


AMBIGUOUS, MISSING = "ambiguous", "missing:"
# A longer shortlist tires a reader; a shorter one shows that the tools of the gold set belong together.
_NEAREST, _SEEDS, _LIKE_A_TOOL, _MOST = 8, 3, 4, 18
_TEXT_CHARS, _NAMES = 200, 10

app = typer.Typer(no_args_is_help=True, help=__doc__, pretty_exceptions_enable=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What one reader says of a row.

    :param slots: the needed tools.
    :param unserved: whether the reader finds it ambiguous, or something missing.
    :param typeable: whether a colleague could have typed the text.
    """

    slots: tuple[Slot, ...]
    unserved: bool
    typeable: bool
    note: str = ""


@app.command()
def draw(
    store: Annotated[Path, typer.Argument(help="store of the catalogue")],
    requests: Annotated[list[Path], typer.Argument(help="labelled requests")],
    out: Annotated[Path, typer.Option(help="the sheet, for readers")],
    key: Annotated[Path, typer.Option(help="the gold sets, not for readers")],
    listing: Annotated[Path | None, typer.Option(help="all tools of the catalogue, for readers")] = None,
    count: Annotated[int, typer.Option(help="number of requests", min=1)] = 100,
    seed: Annotated[int, typer.Option(help="of the draw")] = 1,
) -> None:
    """Draw requests at random, and write the sheet and its key."""
    from retrieval.engine import open_engine

    pin_threads()
    engine = open_engine(store)
    known = sorted(read_queries(list(requests), unanswerable=True).asked, key=lambda one: one.id)
    if len(known) < count:
        raise InvalidArgumentError(f"there are {len(known)} requests", subject="count", remedy="Ask for fewer")
    sheet, gold = [], []
    for number, query in enumerate(random.Random(seed).sample(known, count), start=1):
        row_id = f"r{number:03}"
        tools = shortlist(query.text, query.slots, engine)
        random.Random(f"{seed}:{row_id}").shuffle(tools)
        sheet.append({"id": row_id, "text": query.text, "tools": [_tool_row(engine.tool(tool)) for tool in tools]})
        row = {"id": row_id, "request": query.id, "class": query.request_class, "tools": row_tools(query.slots)}
        gold.append({**row, "seed": seed})
    write_rows(out, sheet)
    write_rows(key, gold)
    if listing is not None:
        rows = [_tool_row(engine.tool(each)) for each in sorted(engine.tool_ids(0, engine.snapshot.tool_count))]
        lines = (f"{row['tool']} | {row['what']} | needs: {', '.join(row['needs']) or 'nothing'}\n" for row in rows)
        write_file(listing, "".join(lines))
    typer.echo(f"{len(sheet)} requests in {out}; the key is {key}")


@app.command()
def score(
    sheet: Annotated[Path, typer.Argument(help="the sheet that was read")],
    key: Annotated[Path, typer.Argument(help="its key")],
    answers: Annotated[list[Path], typer.Argument(help="the answers of one reader a file")],
) -> None:
    """Print rates, and the rows whose label a reader disputes."""
    texts = {row["id"]: row["text"] for _, row in _rows(sheet)}
    gold = {row["id"]: gold_slots(row["tools"]) for _, row in _rows(key)}
    if set(gold) != set(texts):
        raise InvalidArgumentError("it is the key of another sheet", subject=str(key), remedy="Give those of one draw")
    readers = {path.stem: read_answers(path, gold) for path in answers}
    typer.echo("\n".join(report(texts, gold, readers)))


def shortlist(text: str, slots: Sequence[Slot], engine: Engine) -> list[str]:
    """The tools that a reader sees: all of the gold set, then those near the text and near a tool.

    Near is by BM25 and cosine, by no feature of the graph. The tools nearest to the text get neighbours as those of the gold set do, so that
    neighbours do not tell the gold set.
    """
    from retrieval.query.request import Request

    retriever = engine.retriever("fusion")

    def nearest(query: str, count: int) -> list[str]:
        return [tool.id for tool in retriever.retrieve(Request(query=query, k=count, explain=False)).tools]

    gold = [tool for slot in slots for tool in slot]
    near = nearest(text, _NEAREST)
    seeds = dict.fromkeys([*gold[:_SEEDS], *near[:_SEEDS]])
    like = [tool for one in seeds for tool in nearest(_one_line(engine.tool(one)), _LIKE_A_TOOL)]
    others = [tool for tool in dict.fromkeys([*near, *like]) if tool not in gold]
    return [*dict.fromkeys(gold), *others[: max(_MOST - len(gold), 2)]]


def _tool_row(tool: Tool) -> dict[str, Any]:
    """What a reader sees of a tool: one line, its required inputs, and names of its optional inputs and outputs; at most ten each."""
    inputs = [one for one in tool.parameters if "." not in one.name]
    return {
        "tool": tool.id,
        "system": tool.namespace,
        "what": _one_line(tool),
        "needs": [f"{one.name} ({one.type})" for one in inputs if one.required][:_NAMES],
        "takes": [one.name for one in inputs if not one.required][:_NAMES],
        "gives": [one.name for one in tool.returns][:_NAMES],
    }


def _one_line(tool: Tool) -> str:
    text = " ".join(f"{tool.title}. {tool.description}".split())
    return text if len(text) <= _TEXT_CHARS else text[:_TEXT_CHARS].rpartition(" ")[0] + " …"


def read_answers(path: Path, ids: Collection[str]) -> dict[str, Reading]:
    """The answers of a reader by row.

    :param ids: of the rows of the sheet, which are all to be answered once.
    :raises DocumentError: for a line that is no answer, or for rows that are answered twice or not at all.
    """
    found: dict[str, Reading] = {}
    for place, row in _rows(path):
        needed, typeable, name = row.get("needed"), row.get("typeable"), row.get("id")
        if not isinstance(typeable, bool) or not (needed == AMBIGUOUS or isinstance(needed, list)) or name in found:
            raise DocumentError(
                "it is no answer, or the second to a row", subject=place, remedy="See reader_instructions.md"
            )
        listed = needed if isinstance(needed, list) else []
        missing = [one for one in listed if isinstance(one, str) and one.startswith(MISSING)]
        found[str(name)] = Reading(
            slots=gold_slots([one for one in listed if one not in missing]),
            unserved=needed == AMBIGUOUS or bool(missing),
            typeable=typeable,
            note=str(row.get("note") or ""),
        )
    if found.keys() != set(ids):
        wrong = sorted(found.keys() ^ set(ids))
        raise DocumentError(f"rows do not match the sheet: {', '.join(wrong[:10])}", subject=str(path))
    return found


def _rows(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the objects of a JSON Lines file, each with its place ``file:line``."""
    for number, line in enumerate(path.read_text(encoding="utf-8-sig").split("\n"), start=1):
        if line.strip():
            row = json.loads(line)
            if not isinstance(row, dict):
                raise DocumentError("it is not an object", subject=f"{path}:{number}", remedy="Correct it")
            yield f"{path}:{number}", row


def is_wrong(gold: Sequence[Slot], reading: Reading) -> bool:
    """Whether a gold set is not what a reader needs: each slot needs another step of the reader, and each step a slot."""
    if reading.unserved or len(gold) != len(reading.slots):
        return True
    graph: nx.Graph[tuple[str, int]] = nx.Graph()
    left = [("slot", number) for number in range(len(gold))]
    graph.add_nodes_from([*left, *(("step", number) for number in range(len(gold)))])
    for row, slot in enumerate(gold):
        graph.add_edges_from(
            (("slot", row), ("step", column)) for column, step in enumerate(reading.slots) if set(slot) <= set(step)
        )
    return len(nx.bipartite.maximum_matching(graph, top_nodes=left)) != 2 * len(gold)


def report(
    texts: Mapping[str, str], gold: Mapping[str, tuple[Slot, ...]], readers: Mapping[str, Mapping[str, Reading]]
) -> Iterator[str]:
    """Yield rates with Wilson intervals, and what is disputed, as lines of Markdown."""
    wrong = {name: [is_wrong(gold[row], found[row]) for row in gold] for name, found in readers.items()}
    typed = {name: [found[row].typeable for row in gold] for name, found in readers.items()}
    yield "| reader | label error | typeable |\n|---|---|---|"
    for name in readers:
        yield f"| {name} | {_share(sum(wrong[name]), len(gold))} | {_share(sum(typed[name]), len(gold))} |"
    for at, row in enumerate(gold):
        for name, found in readers.items():
            reading = found[row]
            if wrong[name][at] or not reading.typeable:
                needs = " + ".join(map(slot_name, reading.slots)) or "no tool"
                said = "" if reading.typeable else ", not typeable"
                yield f"\n{row} {texts[row]!r}; gold {' + '.join(map(slot_name, gold[row])) or 'no tool'}"
                yield f"  {name}: needs {needs}{said} {reading.note}".rstrip()


def _share(hits: int, of: int) -> str:
    share = Proportion(hits, of)
    return (
        f"{hits}/{of} = {100 * (share.value or 0):.1f} % [{100 * (share.low or 0):.1f}, {100 * (share.high or 0):.1f}]"
    )


if __name__ == "__main__":
    try:
        app()
    except EgotoolsError as error:
        raise SystemExit(str(error)) from error
