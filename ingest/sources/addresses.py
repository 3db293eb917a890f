"""Find the documents of the addresses that the user gives: files, folders, globs and live addresses."""

from __future__ import annotations

import glob
import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from ingest.sources.detect import LIVE_PREFIXES
from ingest.sources.document import Document
from ingest.sources.source import RejectedRecord
from ontology.errors import RejectionReason
from ontology.redaction import command_words

__all__ = ["find_documents"]

# Second file endings, removed from the namespace: ``orders.openapi.yaml`` has the namespace ``orders``.
_KINDS = (".openapi", ".swagger", ".odata", ".mcp", ".tools", ".functions")
_SKIPPED_FOLDERS = frozenset({"__pycache__", "node_modules"})
_MAX_COMMAND_CHARS = 60


class Found(NamedTuple):
    """The documents of some addresses.

    :param documents: each file once, sorted by address, with unique namespaces.
    :param rejected: a record for each address that cannot be opened: a missing path, an unreadable folder, a pattern
        without a match.
    """

    documents: list[Document]
    rejected: list[RejectedRecord]


def find_documents(addresses: Sequence[str]) -> Found:
    """Return the documents of the addresses: files, folders, glob patterns or live addresses."""
    by_identity: dict[str, Document] = {}
    rejected: list[RejectedRecord] = []
    for address in sorted(set(addresses)):
        for item in _expand(address):
            if isinstance(item, RejectedRecord):
                rejected.append(item)
            else:
                identity = os.path.realpath(item.path) if item.path is not None else item.target
                by_identity.setdefault(identity, item)
    documents = sorted(by_identity.values(), key=lambda document: document.address)
    _assign_namespaces(documents)
    return Found(documents, rejected)


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
            yield RejectedRecord(address, "missing", "The pattern matches no file.")
        for match in matches:
            yield from _expand_path(Path(match), set(), root=_fixed_part(address))
    else:
        yield RejectedRecord(address, "missing", "There is no such file or folder.")


def _fixed_part(pattern: str) -> Path:
    """Return the path of a pattern before its first part with a wildcard."""
    parts = Path(pattern).parent.parts
    fixed = next((index for index, part in enumerate(parts) if glob.has_magic(part)), len(parts))
    return Path(*parts[:fixed])


def _expand_path(path: Path, seen: set[str], *, root: Path) -> Iterator[Document | RejectedRecord]:
    """Yield a file, or all files below a folder; ``seen`` has the folders already read, so that cyclic links end."""
    subject = path.as_posix()
    try:
        is_folder = path.is_dir()
        path.stat()
    except OSError as error:
        reason: RejectionReason = "missing" if isinstance(error, FileNotFoundError) else "unreadable"
        yield RejectedRecord(subject, reason, f"Cannot be opened: {error.strerror}.")
        return
    if is_folder:
        real = os.path.realpath(path)
        if real not in seen:
            seen.add(real)
            yield from _expand_folder(path, seen, root=root)
    elif path.is_file():
        yield Document(subject, path=path, root=root)
    else:
        yield RejectedRecord(subject, "unreadable", "It is neither a file nor a folder.")


def _expand_folder(path: Path, seen: set[str], *, root: Path) -> Iterator[Document | RejectedRecord]:
    try:
        names = sorted(os.listdir(path))
    except OSError as error:
        yield RejectedRecord(path.as_posix(), "unreadable", f"The folder cannot be read: {error.strerror}.")
        return
    for name in names:
        if not name.startswith(".") and name not in _SKIPPED_FOLDERS:
            yield from _expand_path(path / name, seen, root=root)


def _assign_namespaces(documents: Sequence[Document]) -> None:
    """Use the file's stem; where several files share it, add the parent folder, then the ending, then a number."""
    forms = [_namespace_forms(document) for document in documents]
    chosen = [form[0] for form in forms]
    for depth in (1, 2):
        counts = Counter(chosen)
        chosen = [form[depth] if counts[name] > 1 else name for form, name in zip(forms, chosen, strict=True)]
    taken: set[str] = set()
    for document, name in zip(documents, chosen, strict=True):
        unique, number = name, 2
        shared = document.address.startswith("python:")  # all functions of one module have one namespace
        while unique in taken and not shared:
            unique, number = f"{name}-{number}", number + 1
        taken.add(unique)
        document.namespace = unique


def _namespace_forms(document: Document) -> tuple[str, str, str]:
    if document.path is None:
        name = _live_namespace(document.address)
        return name, name, name
    file = Path(document.path.name.removesuffix(".gz"))
    stem, suffix = file.stem, file.suffix.lstrip(".")
    stem = next((stem.removesuffix(kind) for kind in _KINDS if stem.lower().endswith(kind) and stem != kind), stem)
    parent = Path(os.path.abspath(document.path)).parent.name
    return _slug(stem), _slug(f"{parent}-{stem}"), _slug(f"{parent}-{stem}-{suffix}")


def _live_namespace(address: str) -> str:
    scheme, _, rest = address.partition(":")
    if rest.startswith("//"):
        try:
            parts = urlsplit(address)
        except ValueError:  # it is fetched in vain, and rejected then
            return _slug(scheme)
        stem = Path(parts.path).stem if scheme.startswith("http") else ""
        return _slug(stem or parts.hostname or scheme)
    if scheme == "mcp":
        return _slug(_program(address))[:_MAX_COMMAND_CHARS].strip("-.")
    return _slug(scheme if rest == "*" else rest.partition(":")[0])


def _program(address: str) -> str:
    """The name of the program that ``mcp:COMMAND`` starts; its arguments may be secret."""
    words = command_words(address)
    names = [word for word in words if not word.startswith("-") and "=" not in word and Path(word).name != "env"]
    return Path(names[0]).stem if names else "mcp"


def _slug(text: str) -> str:
    """Return the text in lower case; other characters than letters, digits, ``_`` and ``.`` become a hyphen."""
    return re.sub(r"[^\w.]+", "-", text.strip().lower()).strip("-.") or "document"
