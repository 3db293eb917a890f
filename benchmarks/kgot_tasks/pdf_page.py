"""A PDF of one page: a title, and a table with ruled lines; the same bytes on every run."""

from __future__ import annotations

from benchmarks.kgot_tasks.task_rows import Cell, Rows

__all__ = ["pdf_page"]

_LEFT, _TOP, _LINE, _WIDTH = 60, 740, 22, 110
"""Of the table, in points; the page is A4, 595 by 842."""


def pdf_page(title: str, rows: Rows) -> bytes:
    """Return the page: the title, the names of the columns and the rows below."""
    lines: list[list[Cell]] = [list(rows[0]), *(list(row.values()) for row in rows)]
    drawn = [_text(_LEFT, _TOP + 40, title, size=16)]
    for number, line in enumerate(lines):
        height = _TOP - number * _LINE
        drawn += [_text(_LEFT + 6 + place * _WIDTH, height + 6, value) for place, value in enumerate(line)]
    bottom, right = _TOP - (len(lines) - 1) * _LINE, _LEFT + len(lines[0]) * _WIDTH
    drawn += [
        f"{_LEFT} {_TOP + _LINE - n * _LINE} m {right} {_TOP + _LINE - n * _LINE} l S" for n in range(len(lines) + 1)
    ]
    drawn += [
        f"{_LEFT + n * _WIDTH} {bottom} m {_LEFT + n * _WIDTH} {_TOP + _LINE} l S" for n in range(len(lines[0]) + 1)
    ]
    content = "\n".join(drawn).encode("latin-1")
    return _written(
        [
            b"<< /Type /Catalog /Pages 2 0 R >>",
            b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>",
            b"<< /Length %d >>\nstream\n%s\nendstream" % (len(content), content),
            b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        ]
    )


def _text(x: int, y: int, value: Cell, size: int = 11) -> str:
    shown = str(value).replace("\\", "\\\\").replace("(", "\\(").replace(")", "\\)")
    return f"BT /F1 {size} Tf {x} {y} Td ({shown}) Tj ET"


def _written(objects: list[bytes]) -> bytes:
    """Return a file of objects, numbered from 1, with the table of their places."""
    data, places = b"%PDF-1.4\n", []
    for number, each in enumerate(objects, start=1):
        places.append(len(data))
        data += b"%d 0 obj\n%s\nendobj\n" % (number, each)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    return data + (
        b"xref\n0 %d\n0000000000 65535 f \n%strailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n"
        % (len(objects) + 1, table, len(objects) + 1, len(data))
    )
