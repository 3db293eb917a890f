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

from tests.golden.answers import ANSWERS, NotHere, digest, encoder_print  # noqa: E402
from tests.golden.planned import PLANNED  # noqa: E402
from tests.golden.surfaces import SURFACES  # noqa: E402

FOLDER = Path(__file__).resolve().parent / "recordings"
os.chdir(FOLDER.parents[2])  # a snapshot names its sources as they were given
RECORDERS = {**ANSWERS, **SURFACES, **PLANNED}
_WITHOUT_ENCODER = {"commands", "contract", "names"}
_OPTIONAL = {"real"}  # of documents that each fetches for himself
_MOST = 20  # differences that are printed of a recording

app = typer.Typer(no_args_is_help=True, pretty_exceptions_enable=False)
Only = Annotated[list[str] | None, typer.Argument(help="Only these recordings.")]


@app.command()
def record(only: Only = None) -> None:
    """Write the recordings."""
    FOLDER.mkdir(exist_ok=True)
    for name, seen in _seen(only):
        if seen is None:
            continue
        encoder = "" if name in _WITHOUT_ENCODER else encoder_print()
        text = json.dumps(
            {"encoder": encoder, "seen": seen, "sum": digest(json.loads(json.dumps(seen)))},
            indent=1,
            sort_keys=True,
            ensure_ascii=False,
        )
        (FOLDER / f"{name}.json").write_text(text + "\n", encoding="utf-8")
        typer.echo(f"{name}: {len(seen)} places recorded")


@app.command()
def compare(only: Only = None) -> None:
    """Exit with 1 and print what differs, what was never recorded, and what was asked for by name and cannot be compared."""
    faults = 0
    known = {path.stem for path in FOLDER.glob("*.json")}
    for name in sorted(known - RECORDERS.keys()) if not only else ():
        faults += 1
        typer.echo(f"{name}: {name}.json is a recording that nothing compares; delete it, with a line in decisions.md")
    for name in only or RECORDERS:
        if name in RECORDERS and name not in known and name not in _OPTIONAL:
            faults += 1
            typer.echo(f"{name}: {name}.json is missing: record it on the tree before the change")
    for name, seen in _seen(only):
        if seen is None:  # told already
            faults += bool(only)
            continue
        if name not in known and name not in _OPTIONAL:
            continue  # told already
        found = list(_differences(name, json.loads(json.dumps(seen))))
        faults += len(found)
        typer.echo(f"{name}: {f'{len(found)} differences' if found else f'{len(seen)} places are equal'}")
        typer.echo("".join(f"  {each}\n" for each in found[:_MOST]), nl=False)
        if len(found) > _MOST:
            typer.echo(f"  and {len(found) - _MOST} more")
    raise typer.Exit(1 if faults else 0)


def _seen(only: list[str] | None) -> Iterator[tuple[str, dict[str, Any] | None]]:
    unknown = sorted(set(only or ()) - set(RECORDERS))
    if unknown:
        raise typer.BadParameter(f"there is no recording {', '.join(unknown)}; there are {', '.join(RECORDERS)}")
    with tempfile.TemporaryDirectory() as folder:
        for name in only or RECORDERS:
            try:
                yield name, RECORDERS[name](Path(folder).resolve())
            except NotHere as reason:
                typer.echo(f"{name}: left out, not compared: {reason}")
                yield name, None


def _differences(name: str, seen: dict[str, Any]) -> Iterator[str]:
    path = FOLDER / f"{name}.json"
    if not path.is_file():
        yield f"{path.name} is missing: record it on the tree before the change"
        return
    try:
        recorded = json.loads(path.read_text(encoding="utf-8"))
        known, of_encoder, sum_ = recorded["seen"], recorded["encoder"], recorded["sum"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        yield f"{path.name} is cut or no recording ({type(error).__name__}): take it from git again"
        return
    if sum_ != digest(known):
        yield f"{path.name} was cut or changed by hand: its sum is wrong; take it from git again"
    elif name not in _WITHOUT_ENCODER and of_encoder != encoder_print():
        yield f"{path.name} was recorded on a machine whose encoder gives other vectors: record both trees on one machine"
    else:
        yield from _between(known, seen, "")


def _between(old: Any, new: Any, place: str) -> Iterator[str]:
    """The differences of two JSON values, each as the path, the old and the new value."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted(old.keys() | new.keys()):
            yield from _between(old.get(key, "not there"), new.get(key, "not there"), f"{place}/{key}")
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for at, (one, other) in enumerate(zip(old, new, strict=True)):
            yield from _between(one, other, f"{place}/{at}")
    elif old != new:
        yield f"{place}: {_short(old)} -> {_short(new)}"


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 160 else f"{text[:157]}..."


if __name__ == "__main__":
    app()
