"""What a file is, by its content; its ending decides only among kinds of text, and must not say otherwise."""

from __future__ import annotations

import codecs
import zipfile
from pathlib import PurePath

from ontology.errors import DocumentError
from planners.kgot.tools.zip_checks import opened_zip

__all__ = ["CONVERTED", "TEXTS", "decoded", "file_kind"]

CONVERTED = frozenset({"pdf", "docx", "xlsx", "html"})
"""Kinds that become Markdown."""
TEXTS = frozenset({"csv", "tsv", "json", "jsonl", "md", "txt"})
"""Kinds that are read as they are."""

_ENDINGS = {"htm": "html", "xhtml": "html", "markdown": "md", "text": "txt", "ndjson": "jsonl", "log": "txt"}
_MAGIC = (
    (b"PK\x03\x04", "zip"),
    (b"PK\x05\x06", "zip"),  # without a file
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "ole"),
    (b"\x89PNG\r\n\x1a\n", "image"),
    (b"\xff\xd8\xff", "image"),
    (b"GIF8", "image"),
    (b"II*\x00", "image"),
    (b"MM\x00*", "image"),
    (b"ID3", "audio"),
    (b"\xff\xfb", "audio"),
    (b"OggS", "audio"),
    (b"fLaC", "audio"),
)
_RIFF = {b"WEBP": "image", b"WAVE": "audio"}
_PARTS = {"word/document.xml": "docx", "xl/workbook.xml": "xlsx"}
_PDF_SEARCHED = 1_024  # bytes in which readers accept the mark of a pdf
_OTHER_TOOLS = {"zip": "extract_zip", "image": "inspect_image", "audio": "transcribe_audio"}
_HTML = ("<!doctype html", "<html")
_BOMS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))


def file_kind(name: str, content: bytes) -> str:
    """Return a kind of :data:`CONVERTED` or :data:`TEXTS`.

    :param name: of the file, for its ending.
    :raises DocumentError: when it is empty, encrypted, of another kind than its ending says, or of none that is read here.
    :raises TooLargeError: when it is an archive of very many files.
    """
    if not content:
        raise DocumentError("the file is empty", subject=name, reason="empty")
    said = PurePath(name).suffix.lower().removeprefix(".")
    said = _ENDINGS.get(said, said)
    found = _binary_kind(name, content)
    if found == "ole":
        problem = "the file is encrypted, or of an Office before 2007"
        raise DocumentError(problem, subject=name, remedy="Save it without a password, in a format of today")
    if found in _OTHER_TOOLS:
        if said in CONVERTED | TEXTS:
            raise _lying(name, said, found)
        raise DocumentError(f"this is a file of kind {found}", subject=name, remedy=f"Use {_OTHER_TOOLS[found]}")
    if found:
        if said != found and said in CONVERTED | TEXTS:
            raise _lying(name, said, found)
        return found
    text = decoded(name, content)
    if said in ("pdf", "docx", "xlsx"):
        raise _lying(name, said, "text")
    if said not in TEXTS and text[:_PDF_SEARCHED].lstrip().lower().startswith(_HTML):
        return "html"
    return said if said in TEXTS | {"html"} else "txt"


def decoded(name: str, content: bytes) -> str:
    """Return a text: in UTF-8, in UTF-16 where it says so, else in Windows-1252, in which most other files of Europe are.

    :raises DocumentError: when it has zero bytes, as texts have not.
    """
    encoding = next((encoding for bom, encoding in _BOMS if content.startswith(bom)), "")
    try:
        text = content.decode(encoding or "utf-8")
    except UnicodeDecodeError:
        text = content.decode(encoding or "cp1252", "replace")
    if "\0" in text:
        raise DocumentError("this is no text, and of no kind that is read here", subject=name)
    return text


def _binary_kind(name: str, content: bytes) -> str:
    """Return the kind of what is no text; empty of a text, and of what nobody here knows."""
    found = next((kind for magic, kind in _MAGIC if content.startswith(magic)), "")
    if content[:4] == b"RIFF":
        found = _RIFF.get(content[8:12], "")
    if not found and b"%PDF-" in content[:_PDF_SEARCHED]:
        return "pdf"
    return _office_kind(name, content) if found == "zip" else found


def _office_kind(name: str, content: bytes) -> str:
    try:
        with opened_zip(name, content) as archive:
            names = set(archive.namelist())
    except (zipfile.BadZipFile, ValueError, NotImplementedError, OSError):
        return "zip"
    return next((kind for part, kind in _PARTS.items() if part in names), "zip")


def _lying(name: str, said: str, found: str) -> DocumentError:
    return DocumentError(
        f"its name says {said}, but its content is {found}", subject=name, remedy="Use the file under its own ending"
    )
