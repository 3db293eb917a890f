"""Writes the files of the shipped tasks; ``python -m benchmarks.kgot_tasks.write_task_files FOLDER``."""

from __future__ import annotations

import csv
import io
import json
import sys
from html import escape
from pathlib import Path

from benchmarks.kgot_tasks.office_files import archive, document, spreadsheet
from benchmarks.kgot_tasks.pdf_page import pdf_page
from benchmarks.kgot_tasks.task_rows import Cell, Rows, task_rows

__all__ = ["task_files", "write_task_files"]

_LETTER = (
    "Letter of 3 November 2026",
    "Dear customer, thank you for your patience. Our fitter was to come on the Tuesday after next; as the part came late, "
    "we would like to move the visit by three days.",
    "Please have the machine switched off and cooled down. Yours sincerely, Pump Service",
)


def task_files() -> dict[str, bytes]:
    """Return the files by their names."""
    rows = task_rows()
    months = {name: _csv(rows[name]) for name in ("sales_january", "sales_february")}
    return {
        "sales.csv": _csv(rows["sales"]),
        "stock.xlsx": spreadsheet("stock", rows["stock"]),
        "machines.json": json.dumps({"machines": rows["machines"]}, indent=1).encode() + b"\n",
        "tickets.md": _markdown("Tickets of the week", rows["tickets"]),
        "runs.html": _html("Runs", rows["runs"]),
        "offer.pdf": pdf_page("Offer 2026-118", rows["offer"]),
        "participants.docx": document(["Participants", "Who takes part in the course."], rows["participants"]),
        "letter.docx": document(_LETTER),
        "months.zip": archive({f"{name}.csv": data for name, data in months.items()}),
        "plan.zip": archive(
            {"readme.md": b"# Rooms\n\nThe rooms of the building.\n", "data/rooms.csv": _csv(rows["rooms"])}
        ),
    }


def write_task_files(folder: Path) -> None:
    """Write the files into a folder, which is made where it is missing."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in task_files().items():
        (folder / name).write_bytes(data)


def _csv(rows: Rows) -> bytes:
    held = io.StringIO()
    writer = csv.DictWriter(held, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return held.getvalue().encode()


def _markdown(title: str, rows: Rows) -> bytes:
    lines: list[list[Cell]] = [list(rows[0]), ["---"] * len(rows[0]), *(list(row.values()) for row in rows)]
    table = "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)
    return f"# {title}\n\n{table}\n".encode()


def _html(title: str, rows: Rows) -> bytes:
    head = "".join(f"<th>{escape(name)}</th>" for name in rows[0])
    body = "\n".join(f"<tr>{''.join(f'<td>{escape(str(value))}</td>' for value in row.values())}</tr>" for row in rows)
    text = f"<html><head><title>{title}</title></head><body><h1>{title}</h1>\n<table>\n<tr>{head}</tr>\n{body}\n</table></body></html>\n"
    return text.encode()


if __name__ == "__main__":
    write_task_files(Path(sys.argv[1]))
