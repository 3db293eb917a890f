"""From what the user names to documents: files, folders, globs and live addresses."""

from __future__ import annotations

import glob
import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import urlsplit

from ingest.sources.document import Document
from ingest.sources.source import RejectedRecord

__all__ = ["LIVE_PREFIXES", "find_documents", "slug"]

#: How a live address starts.
LIVE_PREFIXES = ("python:", "mcp:", "mcp+http://", "mcp+https://", "http://", "https://", "aws:", "google-discovery:")

# What people put between a name and its ending: ``orders.openapi.yaml`` is the namespace ``orders``.
_KINDS = (".openapi", ".swagger", ".odata", ".mcp", ".tools", ".functions")
_SKIPPED_FOLDERS = frozenset({"__pycache__", "node_modules"})


def find_documents(addresses: Sequence[str]) -> tuple[list[Document], list[RejectedRecord]]:
    """The documents that the addresses name, each file once, sorted by address, with namespaces of their own.

    What cannot be opened (a missing path, an unreadable folder, a pattern that matches nothing) gives a rejected record.
    """
    found: dict[str, Document] = {}
    rejected: list[RejectedRecord] = []
    for address in sorted(set(addresses)):
        for item in _expand(address):
            if isinstance(item, RejectedRecord):
                rejected.append(item)
            else:
                identity = os.path.realpath(item.path) if item.path is not None else item.url or item.address
                found.setdefault(identity, item)
    documents = sorted(found.values(), key=lambda document: document.address)
    _give_namespaces(documents)
    return documents, rejected


def slug(text: str) -> str:
    """Lower case, with anything but letters, digits, ``_`` and ``.`` as a hyphen."""
    return re.sub(r"[^\w.]+", "-", text.strip().lower()).strip("-.") or "document"


def _expand(address: str) -> Iterator[Document | RejectedRecord]:
    if address.startswith(LIVE_PREFIXES):
        yield Document(address)
        return
    path = Path(address)
    if os.path.lexists(path):
        yield from _expand_path(path, set(), root=path if path.is_dir() else path.parent)
    elif glob.has_magic(address):
        matches = sorted(glob.glob(address, recursive=True))
        if not matches:
            yield RejectedRecord(subject=address, reason="missing", detail="The pattern matches no file.")
        for match in matches:
            yield from _expand_path(Path(match), set(), root=_fixed_part(address))
    else:
        yield RejectedRecord(subject=address, reason="missing", detail="There is no such file or folder.")


def _fixed_part(pattern: str) -> Path:
    """The folder of a pattern before its first magic part."""
    parts = Path(pattern).parent.parts
    fixed = next((index for index, part in enumerate(parts) if glob.has_magic(part)), len(parts))
    return Path(*parts[:fixed])


def _expand_path(path: Path, open_: set[str], *, root: Path) -> Iterator[Document | RejectedRecord]:
    """A file, or all files of a folder and its folders; ``open_`` holds the folders seen, so a loop of links ends."""
    try:
        is_folder = path.is_dir()
        path.stat()
    except OSError as error:
        reason = "missing" if isinstance(error, FileNotFoundError) else "unreadable"
        yield RejectedRecord(subject=path.as_posix(), reason=reason, detail=f"Cannot be opened: {error.strerror}.")
        return
    if not is_folder:
        if path.is_file():
            yield Document(path.as_posix(), path=path, root=root)
        else:
            yield RejectedRecord(
                subject=path.as_posix(), reason="unreadable", detail="It is neither a file nor a folder."
            )
        return
    real = os.path.realpath(path)
    if real in open_:
        return
    open_.add(real)
    try:
        names = sorted(os.listdir(path))
    except OSError as error:
        detail = f"The folder cannot be read: {error.strerror}."
        yield RejectedRecord(subject=path.as_posix(), reason="unreadable", detail=detail)
        return
    for name in names:
        if not name.startswith(".") and name not in _SKIPPED_FOLDERS:
            yield from _expand_path(path / name, open_, root=root)


def _give_namespaces(documents: list[Document]) -> None:
    """The stem of the file; where two share it, with the parent folder, then the ending, then a number."""
    forms = [_namespace_forms(document) for document in documents]
    chosen = [form[0] for form in forms]
    for depth in (1, 2):
        counts = Counter(chosen)
        chosen = [form[depth] if counts[name] > 1 else name for form, name in zip(forms, chosen, strict=True)]
    taken: set[str] = set()
    for document, name in zip(documents, chosen, strict=True):
        unique, number = name, 2
        shared = document.address.startswith("python:")  # the functions of one module are one source
        while unique in taken and not shared:
            unique, number = f"{name}-{number}", number + 1
        taken.add(unique)
        document.namespace = unique


def _namespace_forms(document: Document) -> tuple[str, str, str]:
    if document.path is None:
        name = _live_name(document.address)
        return name, name, name
    file = Path(document.path.name.removesuffix(".gz"))
    stem, suffix = file.stem, file.suffix.lstrip(".")
    stem = next((stem.removesuffix(kind) for kind in _KINDS if stem.lower().endswith(kind) and stem != kind), stem)
    parent = Path(os.path.abspath(document.path)).parent.name
    return slug(stem), slug(f"{parent}-{stem}"), slug(f"{parent}-{stem}-{suffix}")


def _live_name(address: str) -> str:
    scheme, _, rest = address.partition(":")
    if scheme in {"http", "https", "mcp+http", "mcp+https"}:
        parts = urlsplit(address)
        stem = Path(parts.path).stem if scheme.startswith("http") else ""
        return slug(stem or parts.hostname or scheme)
    if scheme == "mcp":
        return slug("-".join(Path(word).stem for word in rest.split() if not word.startswith("-")))[:60].strip("-.")
    if rest == "*":
        return slug(scheme)
    return slug(rest.partition(":")[0])
