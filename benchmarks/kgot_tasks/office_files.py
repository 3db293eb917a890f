"""Small spreadsheets, documents and archives with the same bytes on every run: no library is needed and no time is written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from io import BytesIO
from zipfile import ZIP_STORED, ZipFile, ZipInfo

from benchmarks.kgot_tasks.task_rows import Cell, Rows

__all__ = ["archive", "document", "spreadsheet"]

_EPOCH = (1980, 1, 1, 0, 0, 0)
_HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>'
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_SHEET = "application/vnd.openxmlformats-officedocument.spreadsheetml"
_WORD = "application/vnd.openxmlformats-officedocument.wordprocessingml"


def archive(files: Mapping[str, bytes]) -> bytes:
    """Return a ZIP archive of files, not compressed: compressors differ in their bytes."""
    held = BytesIO()
    with ZipFile(held, "w", ZIP_STORED) as target:
        for name, data in files.items():
            about = ZipInfo(name, _EPOCH)
            about.compress_type = ZIP_STORED
            about.create_system = 3
            target.writestr(about, data)
    return held.getvalue()


def spreadsheet(name: str, rows: Rows) -> bytes:
    """Return a workbook with one sheet: a row of column names, then the rows."""
    lines: list[list[Cell]] = [list(rows[0]), *(list(row.values()) for row in rows)]
    cells = "".join(f"<row>{''.join(map(_cell, line))}</row>" for line in lines)
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    parts = {
        "[Content_Types].xml": _types(
            {"/xl/workbook.xml": f"{_SHEET}.sheet.main+xml", "/xl/worksheets/sheet1.xml": f"{_SHEET}.worksheet+xml"}
        ),
        "_rels/.rels": _relations({"rId1": ("officeDocument", "xl/workbook.xml")}),
        "xl/workbook.xml": f'<workbook xmlns="{main}" xmlns:r="{_OFFICE}"><sheets>'
        f'<sheet name="{escape(name)}" sheetId="1" r:id="rId1"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": _relations({"rId1": ("worksheet", "worksheets/sheet1.xml")}),
        "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{main}"><sheetData>{cells}</sheetData></worksheet>',
    }
    return archive({path: f"{_HEAD}{text}".encode() for path, text in parts.items()})


def document(paragraphs: Sequence[str], rows: Rows = ()) -> bytes:
    """Return a Word document: paragraphs, of which the first is a heading, then a table of the rows where there are some."""
    main = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    styles = ["Heading1", *[""] * (len(paragraphs) - 1)]
    body = "".join(map(_paragraph, paragraphs, styles)) + (_word_table(rows) if rows else "")
    style = '<w:style w:type="paragraph" w:styleId="Heading1"><w:name w:val="heading 1"/></w:style>'
    parts = {
        "[Content_Types].xml": _types(
            {"/word/document.xml": f"{_WORD}.document.main+xml", "/word/styles.xml": f"{_WORD}.styles+xml"}
        ),
        "_rels/.rels": _relations({"rId1": ("officeDocument", "word/document.xml")}),
        "word/document.xml": f'<w:document xmlns:w="{main}"><w:body>{body}</w:body></w:document>',
        "word/_rels/document.xml.rels": _relations({"rId1": ("styles", "styles.xml")}),
        "word/styles.xml": f'<w:styles xmlns:w="{main}">{style}</w:styles>',
    }
    return archive({path: f"{_HEAD}{text}".encode() for path, text in parts.items()})


def _cell(value: Cell) -> str:
    if isinstance(value, str):
        return f'<c t="inlineStr"><is><t>{escape(value)}</t></is></c>'
    return f"<c><v>{value}</v></c>"


def _paragraph(text: str, style: str = "") -> str:
    look = f'<w:pPr><w:pStyle w:val="{style}"/></w:pPr>' if style else ""
    return f"<w:p>{look}<w:r><w:t>{escape(text)}</w:t></w:r></w:p>"


def _word_table(rows: Rows) -> str:
    lines: list[list[Cell]] = [list(rows[0]), *(list(row.values()) for row in rows)]
    made = "".join(
        f"<w:tr>{''.join(f'<w:tc>{_paragraph(str(value))}</w:tc>' for value in line)}</w:tr>" for line in lines
    )
    return f"<w:tbl>{made}</w:tbl>"


def _types(parts: Mapping[str, str]) -> str:
    named = "".join(f'<Override PartName="{path}" ContentType="{kind}"/>' for path, kind in parts.items())
    known = '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    known += '<Default Extension="xml" ContentType="application/xml"/>'
    return f'<Types xmlns="{_PACKAGE}/content-types">{known}{named}</Types>'


def _relations(targets: Mapping[str, tuple[str, str]]) -> str:
    made = "".join(
        f'<Relationship Id="{id}" Type="{_OFFICE}/{kind}" Target="{target}"/>' for id, (kind, target) in targets.items()
    )
    return f'<Relationships xmlns="{_PACKAGE}/relationships">{made}</Relationships>'
