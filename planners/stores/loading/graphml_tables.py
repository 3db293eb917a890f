"""A graph in a GraphML file. A file with a document type is refused: an entity in it can stand for gigabytes.

GraphML has no types of nodes: the first attribute called ``labels``, ``label`` or ``type`` that a node has is its type, and likewise
of a relationship; without one they are ``Node`` and ``RELATED``. A type of relationships is undirected where none of its edges is
directed. The id of a node becomes the property ``id``. The whole graph stands in memory while it is read, as the columns of a type are
known at the end only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from xml.parsers import expat

from ontology.errors import DocumentError, RejectionReason
from planners.stores.loading.cell_readers import CELL_READERS
from planners.stores.loading.loaded_tables import ColumnType, NodeTable, RelationshipTable

__all__ = ["graphml_tables"]

_TYPES: dict[str, ColumnType] = {
    "boolean": "boolean",
    "int": "integer",
    "long": "integer",
    "float": "number",
    "double": "number",
    "string": "string",
}
_TYPE_NAMES = ("labels", "label", "type")
_CHUNK_BYTES = 1 << 20


@dataclass(slots=True, kw_only=True)
class _Element:
    """A node or an edge that is being read."""

    line: int
    id: str = ""
    source: str = ""
    target: str = ""
    directed: bool = True
    values: dict[str, object] = field(default_factory=dict)


@dataclass(slots=True, kw_only=True)
class _Key:
    """An attribute of nodes or edges.

    :param default: the value of those that have none, as text.
    """

    name: str
    type: ColumnType
    of: str
    default: str | None = None


def graphml_tables(path: Path) -> tuple[list[NodeTable], list[RelationshipTable]]:
    """Return the tables of a file.

    :raises DocumentError: when it cannot be read, is no GraphML, has a document type, or a value, id or end is at fault.
    """
    reader = _Reader(path)
    reader.read()
    types: dict[str, str] = {}
    grouped: dict[str, list[_Element]] = {}
    for node in reader.nodes:
        if node.id in types:
            raise _fault(path, node.line, f"two nodes have the id {node.id[:60]}")
        types[node.id] = _take_type(node, "Node")
        grouped.setdefault(types[node.id], []).append(node)
    nodes = [_nodes(path, type_, members, reader.types) for type_, members in sorted(grouped.items())]
    pairs: dict[tuple[str, str, str], list[_Element]] = {}
    columns: dict[str, dict[str, ColumnType]] = {}
    directed: set[str] = set()
    for edge in reader.edges:
        for end in (edge.source, edge.target):
            if end not in types:
                raise _fault(path, edge.line, f"no node has the id {end[:60]}")
        type_ = _take_type(edge, "RELATED")
        pairs.setdefault((type_, types[edge.source], types[edge.target]), []).append(edge)
        if edge.directed:
            directed.add(type_)
        columns.setdefault(type_, {}).update((name, reader.types["edge", name]) for name in edge.values)
    relationships = [
        RelationshipTable(
            type=type_,
            source_type=source,
            target_type=target,
            columns=tuple(sorted(columns[type_].items())),
            rows=[
                (each.source, each.target, *(each.values.get(name) for name in sorted(columns[type_])))
                for each in members
            ],
            source=str(path),
            lines=[each.line for each in members],
            undirected=type_ not in directed,
        )
        for (type_, source, target), members in sorted(pairs.items())
    ]
    return nodes, relationships


def _nodes(path: Path, type_: str, members: list[_Element], types: Mapping[tuple[str, str], ColumnType]) -> NodeTable:
    names = sorted({name for each in members for name in each.values})
    key = "id"
    while key in {name.casefold() for name in names}:
        key = f"node_{key}"
    return NodeTable(
        type=type_,
        columns=((key, "string"), *((name, types["node", name]) for name in names)),
        key=key,
        rows=[(each.id, *(each.values.get(name) for name in names)) for each in members],
        source=str(path),
        lines=[each.line for each in members],
    )


def _take_type(element: _Element, default: str) -> str:
    """Return the type of an element, which is then none of its properties; of several labels ``:A:B`` the first."""
    for name in _TYPE_NAMES:
        value = element.values.get(name)
        if isinstance(value, str) and value.strip(": "):
            del element.values[name]
            return value.strip(": ").split(":")[0]
    return default


class _Reader:
    """Reads a file into elements.

    :param types: ``node`` or ``edge`` and the name of an attribute → the type of its values.
    """

    def __init__(self, path: Path) -> None:
        self.nodes: list[_Element] = []
        self.edges: list[_Element] = []
        self.types: dict[tuple[str, str], ColumnType] = {}
        self._path = path
        self._keys: dict[str, _Key] = {}
        self._element: _Element | None = None
        self._kind = ""
        self._directed = ""
        self._key: _Key | None = None
        self._text: list[str] | None = None
        self._parser = expat.ParserCreate(namespace_separator=" ")
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._characters
        self._parser.StartDoctypeDeclHandler = self._refuse

    def read(self) -> None:
        """Read the file."""
        try:
            with self._path.open("rb") as file:
                while chunk := file.read(_CHUNK_BYTES):
                    self._parser.Parse(chunk, False)
            self._parser.Parse(b"", True)
        except expat.ExpatError as error:
            raise _fault(
                self._path, error.lineno, f"it is no XML: {expat.ErrorString(error.code)}", "invalid-xml"
            ) from None
        except (LookupError, ValueError):
            raise _fault(self._path, 1, "its encoding is not read", "invalid-xml") from None
        except OSError as error:
            raise DocumentError(f"it cannot be read: {error.strerror}", subject=str(self._path)) from None
        if not self.nodes:
            raise DocumentError(
                "the file has no nodes", subject=str(self._path), remedy="Give a GraphML file", reason="empty"
            )

    def _start(self, name: str, given: dict[str, str]) -> None:
        tag = name.rpartition(" ")[2]
        if tag == "key":
            self._declare(given)
        elif tag == "graph":
            self._directed = given.get("edgedefault", "directed")
        elif tag in ("node", "edge"):
            self._begin(tag, given)
        elif tag == "data" and self._element is not None:
            self._key = self._keys.get(given.get("key", ""))
            if self._key is None:
                raise self._at_line(f"no key is called {given.get('key', '')[:40]!r}")
            if self._key.of not in (self._kind, "all"):
                raise self._at_line(f"the key {given['key'][:40]!r} is none of a {self._kind}")
            self._text = []
        elif tag == "default":
            self._text = []
        elif tag == "hyperedge":
            raise self._at_line("hyperedges are not read")

    def _declare(self, given: dict[str, str]) -> None:
        kind = _TYPES.get(given.get("attr.type", "string"))
        if kind is None:
            raise self._at_line(f"{given['attr.type'][:40]!r} is no type of GraphML")
        of = given.get("for", "all")
        key = _Key(name=given.get("attr.name", given.get("id", "")), type=kind, of=of)
        self._keys[given.get("id", "")] = self._key = key
        for each in ("node", "edge") if of == "all" else (of,):
            self._type(each, key.name, kind)

    def _type(self, of: str, name: str, kind: ColumnType) -> None:
        if self.types.setdefault((of, name), kind) != kind:
            raise self._at_line(f"the attribute {name[:40]} has two types")

    def _begin(self, tag: str, given: dict[str, str]) -> None:
        if self._element is not None:
            raise self._at_line("graphs in nodes are not read")
        needed = ("id",) if tag == "node" else ("source", "target")
        if any(not given.get(each) for each in needed):
            raise self._at_line(f"a {tag} has no {' or '.join(needed)}")
        self._kind = tag
        self._element = _Element(
            line=self._parser.CurrentLineNumber,
            id=given.get("id", ""),
            source=given.get("source", ""),
            target=given.get("target", ""),
            directed=given.get("directed", self._directed) not in ("undirected", "false", "0"),
        )
        for each in _TYPE_NAMES:
            if each in given:
                self._type(tag, each, "string")
                self._element.values[each] = given[each]

    def _end(self, name: str) -> None:
        tag = name.rpartition(" ")[2]
        text = "".join(self._text or ())
        if tag == "data" and self._element is not None and self._key is not None:
            self._element.values[self._key.name] = self._value(text, self._key)
        elif tag == "default" and self._key is not None:
            self._key.default = text
        elif tag == self._kind and self._element is not None:
            for key in self._keys.values():
                if key.default is not None and key.of in (tag, "all"):
                    self._element.values.setdefault(key.name, self._value(key.default, key))
            (self.nodes if tag == "node" else self.edges).append(self._element)
            self._element = None
        if tag in ("data", "default"):
            self._text = None

    def _characters(self, text: str) -> None:
        if self._text is not None:
            self._text.append(text)

    def _value(self, text: str, key: _Key) -> object:
        try:
            return CELL_READERS[key.type](text if key.type == "string" else text.strip())
        except ValueError:
            raise self._at_line(f"{text[:40]!r} in the attribute {key.name[:40]} is no {key.type}") from None

    def _refuse(self, *_: object) -> None:
        raise self._at_line("it has a document type, which can hide entities")

    def _at_line(self, problem: str) -> DocumentError:
        return _fault(self._path, self._parser.CurrentLineNumber, problem)


def _fault(path: Path, line: int, problem: str, reason: RejectionReason = "unreadable") -> DocumentError:
    return DocumentError(problem, subject=f"{path}:{line}", remedy="Correct the file and load again", reason=reason)
