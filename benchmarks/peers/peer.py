"""The process of a peer: it builds its index over one catalogue, answers every request, and writes the run.

It runs inside the peer's own environment, as ``python -P benchmarks/peers/peer.py JOB.json``, with the standard library alone. A
peer is a script beside this file that imports its library at the top and has one function::

    def build(tools: Sequence[PeerTool], embed: Embed | None) -> Search: ...

The first request is sent once more before, so that what is made at the first use is not part of its time. A peer that uses a network
gets an error.
"""

from __future__ import annotations

import importlib.util
import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol

Search = Callable[[str, int], list[str]]
"""Answers a request in plain words with the ids of at most k tools, best first."""

Embed = Callable[[list[str]], list[list[float]]]
"""Turns texts into vectors of length 1."""

_JSON_TYPES = {
    "array": ("array", "list", "set", "tuple", "sequence"),
    "boolean": ("bool", "boolean"),
    "integer": ("int", "integer", "long", "int32", "int64"),
    "number": ("decimal", "double", "float", "number"),
    "object": ("dict", "map", "object"),
}


class NetworkError(RuntimeError):
    """A peer tried to use a network."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerTool:
    """A tool in the forms that peers read.

    :param id: as in the catalogue.
    :param name: unique: the tool's own name, or its id where several tools share a name.
    :param input_schema: JSON schema of the parameters; ``output_schema`` of the outputs, empty where none are known.
    :param depends_on: ids of the tools that this one depends on, as the catalogue declares them, in its order.
    """

    id: str
    name: str
    description: str
    input_schema: Mapping[str, Any]
    output_schema: Mapping[str, Any]
    depends_on: tuple[str, ...] = ()


class _Script(Protocol):
    def build(self, tools: Sequence[PeerTool], embed: Embed | None) -> Search: ...


def main(arguments: Sequence[str]) -> int:
    """Do the job in the file that the one argument names."""
    _refuse_network()
    run_job(json.loads(Path(arguments[0]).read_text(encoding="utf-8")))
    return 0


def run_job(job: Mapping[str, Any]) -> None:
    """Load the peer, build, answer one request to warm up and then every request alone; write rows and header.

    :param job: ``script`` of the peer; ``encoder`` of the project that it embeds with, or empty; files of ``tools`` and ``queries``; ``run``,
        the header that the run will have; the files ``rows``, to which answers are appended, and ``header``, written after the last one.

    A request at which the peer fails is a row with its error; a peer that cannot load or build raises.
    """
    tools = read_tools(Path(job["tools"]))
    queries = _rows(Path(job["queries"]))
    script = _load(Path(job["script"]))
    search = script.build(tools, _embedding(job["encoder"]) if job["encoder"] else None)
    known = frozenset(tool.id for tool in tools)
    if queries:
        _answer(search, queries[0], job["run"]["k"], known)
    with Path(job["rows"]).open("w", encoding="utf-8") as rows:
        for query in queries:
            rows.write(json.dumps(_answer(search, query, job["run"]["k"], known)) + "\n")
            rows.flush()
    done = {**job["run"], "failure": ""}
    Path(job["header"]).write_text(json.dumps(done, indent=1) + "\n", encoding="utf-8")


def read_tools(path: Path) -> list[PeerTool]:
    """Read the catalogue, each tool with a unique name.

    :raises ValueError: when two tools have the same id.
    """
    rows = _rows(path)
    names = _unique_names(rows)
    return [
        PeerTool(
            id=row["id"],
            name=name,
            description=row.get("description") or "",
            input_schema=_schema(row.get("parameters") or ()),
            output_schema=_schema(row["returns"]) if row.get("returns") else {},
            depends_on=tuple(dict.fromkeys(need["tool"] for need in row.get("depends_on") or ())),
        )
        for row, name in zip(rows, names, strict=True)
    ]


def _unique_names(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """A name for each row: its own where it is unique, else its id."""
    shared = Counter(row["name"] for row in rows)
    names = [row["name"] if shared[row["name"]] == 1 else row["id"] for row in rows]
    taken = Counter(names)
    names = [row["id"] if taken[name] > 1 else name for row, name in zip(rows, names, strict=True)]
    repeated = sorted(name for name, count in Counter(names).items() if count > 1)
    if repeated or len({row["id"] for row in rows}) < len(rows):
        raise ValueError(f"tools cannot be told apart by name or id: {', '.join(repeated[:3])}")
    return names


def _schema(parameters: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """A JSON schema; of two parameters with one name (in path and body, for example) it has the first."""
    properties: dict[str, Any] = {}
    for parameter in parameters:
        value = {"type": _json_type(parameter.get("type") or ""), "description": parameter.get("description") or ""}
        if parameter.get("enum"):
            value["enum"] = list(parameter["enum"])
        properties.setdefault(parameter["name"], value)
    required = [parameter["name"] for parameter in parameters if parameter.get("required")]
    return {"type": "object", "properties": properties, "required": list(dict.fromkeys(required))}


def _json_type(written: str) -> str:
    """The JSON type of a source's type (``List[str]``, ``NUMBER``); an unknown one is a string."""
    word = written.lower().replace("[", "<").split("<")[0].strip()
    return next((name for name, words in _JSON_TYPES.items() if word in words), "string")


def _answer(search: Search, query: Mapping[str, Any], k: int, known: frozenset[str]) -> dict[str, Any]:
    """Ask once; ``known`` are the ids that an answer may hold."""
    tools: list[str] = []
    error = ""
    started = time.perf_counter()
    try:
        tools = search(query["query"], k)
    except Exception as raised:  # any error of a peer is its failure on this request
        error = f"{type(raised).__name__}: {raised}"
    spent_ms = round((time.perf_counter() - started) * 1e3, 3)
    if len(tools) > k or len(set(tools)) < len(tools) or not known.issuperset(tools):
        error = "the answer has too many tools, one of them twice, or one that the catalogue does not have"
        tools = []
    return {"id": query["id"], "tools": tools, "ms": {"total": spent_ms}, "fallbacks": [], "error": error}


def _rows(path: Path) -> list[dict[str, Any]]:
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines if line.strip()]


def _load(path: Path) -> _Script:
    spec = importlib.util.spec_from_file_location(f"peer_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is no Python file")
    module: ModuleType = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _embedding(encoder: str) -> Embed:
    from inference import load_encoder

    loaded = load_encoder(encoder)
    return lambda texts: loaded.encode(texts).tolist()


def _refuse_network() -> None:
    def refuse(event: str, arguments: tuple[Any, ...]) -> None:
        if event in ("socket.connect", "socket.getaddrinfo", "socket.sendto"):
            raise NetworkError(f"a peer is measured without a network ({event} {arguments[1:] or arguments})")

    sys.addaudithook(refuse)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
