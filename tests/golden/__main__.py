"""Record what users see, or compare it with what was recorded.

A recording is a file of ``recordings/``: a JSON object from a place to what is seen there, short values in full, long ones as hashes. What
needs data that is not here (the open sets, the real documents) is said to be left out and is not compared; everything else must be there.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from services.threads import pin_threads

pin_threads()  # before anything numeric is imported

from tests.golden.answers import ANSWERS, NotHere, encoder_print  # noqa: E402
from tests.golden.surfaces import SURFACES  # noqa: E402

FOLDER = Path(__file__).resolve().parent / "recordings"
os.chdir(FOLDER.parents[2])  # a snapshot names its sources as they were given
RECORDERS = {**ANSWERS, **SURFACES}
_MOST = 20  # differences that are printed of a recording

app = typer.Typer(no_args_is_help=True, pretty_exceptions_enable=False)
Only = Annotated[list[str] | None, typer.Argument(help="Only these recordings.")]


@app.command()
def record(only: Only = None) -> None:
    """Write the recordings."""
    FOLDER.mkdir(exist_ok=True)
    for name, seen in _seen(only):
        text = json.dumps({"encoder": encoder_print(), "seen": seen}, indent=1, sort_keys=True, ensure_ascii=False)
        (FOLDER / f"{name}.json").write_text(text + "\n", encoding="utf-8")
        typer.echo(f"{name}: {len(seen)} places recorded")


@app.command()
def compare(only: Only = None) -> None:
    """Exit with 1 and print what differs, or what was never recorded."""
    faults = 0
    for name, seen in _seen(only):
        found = list(_differences(name, json.loads(json.dumps(seen))))
        faults += len(found)
        typer.echo(
            f"{name}: {f'{len(found)} of {len(seen)} places differ' if found else f'{len(seen)} places are equal'}"
        )
        typer.echo("".join(f"  {each}\n" for each in found[:_MOST]), nl=False)
    raise typer.Exit(1 if faults else 0)


def _seen(only: list[str] | None) -> Iterator[tuple[str, dict[str, Any]]]:
    unknown = sorted(set(only or ()) - set(RECORDERS))
    if unknown:
        raise typer.BadParameter(f"there is no recording {', '.join(unknown)}; there are {', '.join(RECORDERS)}")
    with tempfile.TemporaryDirectory() as folder:
        for name in only or RECORDERS:
            try:
                yield name, RECORDERS[name](Path(folder))
            except NotHere as reason:
                typer.echo(f"{name}: left out: {reason}")


def _differences(name: str, seen: dict[str, Any]) -> Iterator[str]:
    path = FOLDER / f"{name}.json"
    try:
        recorded = json.loads(path.read_text(encoding="utf-8"))
        known = recorded["seen"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        yield f"{path.name} cannot be read ({type(error).__name__}): record it on the tree before the change"
        return
    if recorded["encoder"] != encoder_print():
        yield f"{path.name} was recorded on a machine whose encoder gives other vectors: record both trees on one machine"
        return
    for place in sorted(known.keys() | seen.keys()):
        if known.get(place) != seen.get(place):
            yield f"{place}: {_short(known.get(place, 'not there'))} -> {_short(seen.get(place, 'not there'))}"


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 160 else f"{text[:157]}..."


if __name__ == "__main__":
    app()
