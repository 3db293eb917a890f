"""Real files of the kinds that people attach, made by the libraries that make them."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any


def pdf(path: Path, lines: Sequence[str], password: str = "") -> Path:
    from reportlab.lib.pdfencrypt import StandardEncryption
    from reportlab.pdfgen.canvas import Canvas

    canvas = Canvas(str(path), encrypt=StandardEncryption(password, ownerPassword="owner") if password else None)
    for number, line in enumerate(lines):
        canvas.drawString(72, 760 - 20 * number, line)
    canvas.save()
    return path


def table_docx(path: Path, heading: str, rows: Sequence[Sequence[str]]) -> Path:
    from docx import Document

    document = Document()
    document.add_heading(heading)
    table = document.add_table(len(rows), len(rows[0]))
    for cells, row in zip(table.rows, rows, strict=True):
        for cell, text in zip(cells.cells, row, strict=True):
            cell.text = text
    document.save(str(path))
    return path


def workbook(path: Path, sheets: Mapping[str, Sequence[Sequence[Any]]]) -> Path:
    from openpyxl import Workbook

    book = Workbook()
    book.remove(book.worksheets[0])
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(list(row))
    book.save(path)
    return path


def zipped(path: Path, members: Mapping[str, bytes]) -> Path:
    path.write_bytes(zip_bytes(members))
    return path


def zip_bytes(members: Mapping[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()
