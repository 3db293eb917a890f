"""How many labels of generated requests are wrong, and how many requests a person could have typed: sheets for blind readers.

    python -m research.reading_sheet draw STORE queries.jsonl --count 100 --seed 1 --out sheet.jsonl --key key.jsonl --listing tools.txt
    python -m research.reading_sheet instructions
    python -m research.reading_sheet score sheet.jsonl key.jsonl first.jsonl second.jsonl [--adjudicated third.jsonl]

``draw`` takes requests at random and writes for each its text and a shortlist of tools in a random order: those of the gold set and, for them and
for the tools that are nearest to the text, the nearest ones and those of the same entity. The gold set stands in the key only, which readers
do not see, and so does the id of the request, which may tell its class. Readers answer as ``instructions`` says. ``score`` compares them
with the gold set and with each other; :mod:`research.reading_scores` has the definitions.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from eval.queries import Slot, read_queries, row_tools
from ontology.errors import EgotoolsError, InvalidArgumentError
from ontology.files import write_file, write_rows
from research.reader_answers import numbered_rows, read_answers, read_gold
from research.reading_scores import report
from research.sheet_catalogue import Catalogue, SnapshotCatalogue, one_line, tool_row
from services.threads import pin_threads

__all__ = ["DrawnRequest", "draw_requests", "read_requests", "row_of", "shortlist"]

INSTRUCTIONS = Path(__file__).with_name("reader_instructions.md")
# The sizes of a shortlist. A longer one tires a reader; a shorter one shows that the tools of the gold set belong together.
_NEAREST = 8
_LIKE_A_TOOL = 2
_SEEDS = 3
_MOST = 18

app = typer.Typer(no_args_is_help=True, help=__doc__, pretty_exceptions_enable=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnRequest:
    """A labelled request.

    :param slots: the gold set; empty for a request that no tool serves.
    """

    id: str
    text: str
    slots: tuple[Slot, ...]
    request_class: str = ""


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
    catalogue = SnapshotCatalogue(engine)
    drawn = draw_requests(read_requests(requests), count, seed)
    rows = [row_of(f"r{number:03}", one, catalogue, seed) for number, one in enumerate(drawn, start=1)]
    write_rows(out, (row for row, _ in rows))
    write_rows(key, ({**gold, "seed": seed} for _, gold in rows))
    if listing is not None:
        write_file(listing, "".join(f"{line}\n" for line in catalogue.listing()))
    typer.echo(f"{len(rows)} requests in {out}; the key is {key}")


@app.command()
def instructions() -> None:
    """Print what readers are told."""
    typer.echo(INSTRUCTIONS.read_text(encoding="utf-8"))


@app.command()
def score(
    sheet: Annotated[Path, typer.Argument(help="the sheet that was read")],
    key: Annotated[Path, typer.Argument(help="its key")],
    answers: Annotated[list[Path], typer.Argument(help="the answers of one reader a file")],
    adjudicated: Annotated[Path | None, typer.Option(help="answers to the rows on which the readers differ")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="only the table, not the rows")] = False,
) -> None:
    """Print rates, agreement, and the rows whose label a reader disputes."""
    texts = {row["id"]: row["text"] for _, row in numbered_rows(sheet)}
    gold = read_gold(key, texts)
    alike = len({path.stem for path in answers}) < len(answers)  # then the whole path names a reader
    readers = {str(path) if alike else path.stem: read_answers(path, gold) for path in answers}
    final = read_answers(adjudicated, gold, all_rows=False) if adjudicated else {}
    typer.echo("\n".join(report(texts, gold, readers, final, rows=not quiet)))


def read_requests(files: Iterable[Path]) -> list[DrawnRequest]:
    """The labelled requests of some files; those without tools are kept.

    :raises DocumentError: for a file or a row that cannot be used.
    """
    return [
        DrawnRequest(id=query.id, text=query.text, slots=query.slots, request_class=query.request_class)
        for query in read_queries(list(files), unanswerable=True).asked
    ]


def draw_requests(requests: Sequence[DrawnRequest], count: int, seed: int) -> list[DrawnRequest]:
    """Requests at random, each as likely as any other; the order of the file does not matter.

    :raises InvalidArgumentError: when there are fewer than ``count``.
    """
    if len(requests) < count:
        raise InvalidArgumentError(
            f"there are {len(requests)} requests, not {count}", subject="count", remedy="Ask for fewer"
        )
    ordered = sorted(requests, key=lambda one: one.id)
    return random.Random(seed).sample(ordered, count)


def row_of(
    row_id: str, request: DrawnRequest, catalogue: Catalogue, seed: int
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The row of the sheet and that of the key."""
    tools = shortlist(request, catalogue)
    random.Random(f"{seed}:{row_id}").shuffle(tools)
    row = {"id": row_id, "text": request.text, "tools": [tool_row(catalogue.tool(tool)) for tool in tools]}
    gold = {
        "id": row_id,
        "request": request.id,
        "class": request.request_class,
        "tools": row_tools(request.slots),
    }
    return row, gold


def shortlist(request: DrawnRequest, catalogue: Catalogue) -> list[str]:
    """The tools that a reader sees: all of the gold set, then in turn those near the text, near a tool, and of its entity.

    The tools nearest to the text get neighbours as those of the gold set do, so that neighbours do not tell the gold set.
    """
    gold = [tool for slot in request.slots for tool in slot]
    near = list(catalogue.nearest(request.text, _NEAREST))
    seeds = list(dict.fromkeys([*gold[:_SEEDS], *near[:_SEEDS]]))
    kin = [tool for one in seeds for tool in catalogue.kin(one)[:_LIKE_A_TOOL]]
    like = [tool for one in seeds for tool in catalogue.nearest(one_line(catalogue.tool(one)), _LIKE_A_TOOL + 1)]
    distractors = [tool for tool in dict.fromkeys([*near, *kin, *like]) if tool not in gold]
    return [*dict.fromkeys(gold), *distractors[: max(_MOST - len(gold), _LIKE_A_TOOL)]]


def main() -> None:
    """Run the command; an error of egotools is printed as one line."""
    import sys

    try:
        app()
    except EgotoolsError as error:
        typer.echo(str(error), err=True)
        sys.exit(error.exit_code)


if __name__ == "__main__":
    main()
