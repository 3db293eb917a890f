"""Opening a graph that is only read, by its address."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
from collections.abc import AsyncIterator
from pathlib import Path

from ontology.errors import InvalidArgumentError, StorageError
from planners.stores.bolt.bolt_reader import open_bolt_reader
from planners.stores.graph_path import graph_path
from planners.stores.ladybug.ladybug_reader import open_ladybug_reader
from planners.stores.loading.csv_tables import csv_tables
from planners.stores.loading.graph_loading import load_once
from planners.stores.loading.graphml_tables import graphml_tables
from planners.stores.readable_graph import ReadableGraph

__all__ = ["READABLE_ADDRESSES", "open_readable"]

READABLE_ADDRESSES = ("ladybug:PATH", "csv:FOLDER", "graphml:FILE", "neo4j:bolt://USER:PASSWORD@HOST:PORT")
"""What addresses look like."""
_LAYOUT = "2"
"""Of loaded files: part of their names; it changes with what :mod:`planners.stores.loading` makes of the same bytes."""


@contextlib.asynccontextmanager
async def open_readable(address: str, cache: Path) -> AsyncIterator[ReadableGraph]:
    """Open a graph, and close it at the end.

    :param cache: folder where ``csv:`` and ``graphml:`` are loaded into, once for each content.
    :raises DocumentError: when a file to be loaded is at fault; the subject is file and line.
    :raises InvalidArgumentError: when it is no such address.
    :raises MissingExtraError: when the store needs a package that is not installed.
    :raises StorageError: when the graph cannot be reached, read or loaded.
    """
    store, _, rest = address.partition(":")
    if store == "neo4j" and rest:
        async with open_bolt_reader(rest) as bolt:
            yield bolt
        return
    if not rest or store not in ("ladybug", "csv", "graphml"):
        raise InvalidArgumentError(
            f"no graph has the address {store[:80]!r}",
            subject="graph",
            remedy=f"Use one of {', '.join(READABLE_ADDRESSES)}",
        )
    given = graph_path(store, rest)
    path = given if store == "ladybug" else await asyncio.to_thread(_loaded, store, given, cache)
    async with open_ladybug_reader(path) as ladybug:
        yield ladybug


def _loaded(store: str, source: Path, cache: Path) -> Path:
    """Return the file that a folder of CSV files or a GraphML file was loaded into."""
    is_folder = store == "csv"
    if not (source.is_dir() if is_folder else source.is_file()):
        raise StorageError(
            f"there is no such {'folder' if is_folder else 'file'}", subject=str(source), remedy="Check the path"
        )
    digest = hashlib.sha256(f"{store} {_LAYOUT}".encode())
    for path in sorted(source.glob("*.csv")) if is_folder else [source]:
        digest.update(f"\n{path.name if is_folder else ''}\n{_content(path)}".encode())
    return load_once(
        cache / f"{digest.hexdigest()}.lbdb", lambda: csv_tables(source) if is_folder else graphml_tables(source)
    )


def _content(path: Path) -> str:
    if not path.is_file():  # reading a pipe would wait for ever
        raise StorageError("this is no regular file", subject=str(path), remedy="Remove it, or give another folder")
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise StorageError(
            f"the file cannot be read: {error.strerror}", subject=str(path), remedy="Check its permissions"
        ) from None
