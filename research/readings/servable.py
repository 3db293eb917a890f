"""Readings of unanswerable requests: two readers who did not know which rows were meant to be served looked for tools that do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ontology.errors import DocumentError
from research.reader_answers import numbered_rows

__all__ = ["ServableRow", "read_servable", "servable_table"]

_PARTLY = "partly"
_ANSWERABLE = "answerable"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServableRow:
    """A request and what the readers say of it.

    :param kind: of an unanswerable request, or ``answerable`` for a request with a gold set.
    :param servable: of each reader: ``True`` (tools do all of it), ``"partly"`` or ``False``.
    :param typeable: of each reader, whether a person could have typed it.
    """

    kind: str
    servable: tuple[bool | str, ...]
    typeable: tuple[bool, ...]


def read_servable(folder: Path, readers: Sequence[str]) -> list[ServableRow]:
    """The rows of a reading in the order of its sheet.

    :raises DocumentError: where a file lacks a row of the sheet, or a row has an answer that is none.
    """
    ids = [row["id"] for _, row in numbered_rows(folder / "sheet.jsonl")]
    key = _by_id(folder / "key.jsonl", ids)
    if unkind := next((row for row, one in key.items() if not isinstance(one.get("kind"), str)), ""):
        raise DocumentError(
            "it has no kind", subject=f"{folder.name}/key.jsonl, row {unkind}", remedy="Give the key of this sheet"
        )
    answers = [_by_id(folder / f"{reader}.jsonl", ids) for reader in readers]
    for reader, rows in zip(readers, answers, strict=True):
        for row in rows.values():
            servable = row.get("servable")
            if not (isinstance(servable, bool) or servable == _PARTLY) or not isinstance(row.get("typeable"), bool):
                raise DocumentError(
                    "it is no answer",
                    subject=f"{folder.name}/{reader}.jsonl, row {row['id']}",
                    remedy="Say servable (true, false or partly) and typeable (true or false)",
                )
    return [
        ServableRow(
            kind=key[row]["kind"],
            servable=tuple(of[row]["servable"] for of in answers),
            typeable=tuple(of[row]["typeable"] for of in answers),
        )
        for row in ids
    ]


def servable_table(readings: Mapping[str, Sequence[ServableRow]]) -> Iterator[str]:
    """Yield the lines of a table in Markdown: catalogue and kind, and what each reader found."""
    yield "| catalogue | kind | requests | tools do all of it, reader 1 / 2 | a part | nothing | could have been typed |"
    yield "|---|---|---:|---:|---:|---:|---:|"
    for catalogue, rows in readings.items():
        for kind in sorted({row.kind for row in rows}, key=lambda name: (name == _ANSWERABLE, name)):
            of = [row for row in rows if row.kind == kind]
            found = [_each(row.servable for row in of), _each(row.typeable for row in of)]
            cells = [" / ".join(str(said.count(answer)) for said in found[0]) for answer in (True, _PARTLY, False)]
            cells.append(" / ".join(str(said.count(True)) for said in found[1]))
            yield f"| {catalogue} | {kind} | {len(of)} | {' | '.join(cells)} |"


def _each(rows: Iterator[tuple[bool | str, ...]]) -> list[tuple[bool | str, ...]]:
    """What each reader says, row by row."""
    return list(zip(*rows, strict=True))


def _by_id(path: Path, ids: Sequence[str]) -> dict[str, dict[str, Any]]:
    found = {row["id"]: row for _, row in numbered_rows(path)}
    if found.keys() != set(ids):
        raise DocumentError(
            "its rows are not those of the sheet", subject=str(path), remedy="Give the files of one reading"
        )
    return found
