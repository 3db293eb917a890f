"""Semantic catalogs as YAML files. Reading is strict: every fault of a file is reported at once, each with its line."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar, get_args

import yaml

from ingest.sources.yaml_nodes import YamlNodes, compose, compose_file
from ontology.errors import InvalidArgumentError
from ontology.files import write_file
from ontology.ontology_file import Fault
from planners.graphseek.catalog.semantic_catalog import (
    NodeDescriptor,
    PropertyDescriptor,
    RelationshipDescriptor,
    Role,
    SemanticCatalog,
)

__all__ = ["accept_file", "catalog_of_yaml", "read_catalog", "write_catalog", "yaml_of_catalog"]

T = TypeVar("T")

_TOP = frozenset(("about", "fingerprint", "accepted", "nodes", "relationships"))
_NODE = frozenset(("description", "words", "properties"))
_RELATIONSHIP = frozenset(("description", "forward", "backward", "properties"))
_PROPERTY = frozenset(("description", "words", "values", "groups", "role", "unit"))
_ROLES = {role: role for role in get_args(Role) if role}
_TEXT = "tag:yaml.org,2002:str"
_FLAG = "tag:yaml.org,2002:bool"
_MOST_ENTRIES = 100_000
"""Of all mappings and lists, each as often as aliases name it: else a file of some kilobytes would take minutes."""
_WIDTH = 120
_LINE_END = re.compile("[\n\r\x85\u2028\u2029]")  # PyYAML folds these in all styles but one
_ACCEPTED = re.compile(r"^accepted:[ \t]*\w*", re.MULTILINE)


def read_catalog(path: Path) -> SemanticCatalog:
    """Read a catalog file of at most 1 MiB.

    :raises InvalidArgumentError: when it has faults; the problem lists each with its line.
    """
    return _catalog(compose_file(path), str(path))


def catalog_of_yaml(text: str) -> SemanticCatalog:
    """Read the text of a catalog file.

    :raises InvalidArgumentError: as :func:`read_catalog`.
    """
    return _catalog(compose(text), "catalog")


def yaml_of_catalog(catalog: SemanticCatalog) -> str:
    """Return the text of a catalog file; what is empty is left out, but for the names of types."""
    top: dict[str, Any] = {
        **_filled(about=catalog.about, fingerprint=catalog.fingerprint),
        "accepted": catalog.accepted,
        "nodes": {
            name: _filled(description=node.description, words=_Row(node.words), properties=_properties(node.properties))
            for name, node in catalog.nodes.items()
        },
        "relationships": {
            name: _filled(
                description=each.description,
                forward=_Row(each.forward),
                backward=_Row(each.backward),
                properties=_properties(each.properties),
            )
            for name, each in catalog.relationships.items()
        },
    }
    text: str = yaml.dump(
        top, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=_WIDTH, default_flow_style=False
    )
    return text


def write_catalog(path: Path, catalog: SemanticCatalog) -> Path:
    """Write a catalog file atomically.

    :raises StorageError: when it cannot be written.
    """
    return write_file(path, yaml_of_catalog(catalog))


def accept_file(path: Path, accept: Callable[[SemanticCatalog], SemanticCatalog]) -> SemanticCatalog:
    """Mark a catalog file as accepted. Nothing else of its text changes, so comments stay.

    :param accept: returns the accepted catalog, or raises.
    :raises InvalidArgumentError: when the file has faults.
    :raises StorageError: when it cannot be written.
    """
    accepted = accept(read_catalog(path))
    text, line = path.read_text(encoding="utf-8-sig"), "accepted: true"
    text, found = _ACCEPTED.subn(line, text, count=1)
    text = text if found else f"{line}\n{text}"
    try:
        same = catalog_of_yaml(text) == accepted
    except InvalidArgumentError:  # a file in braces, or one that begins with a directive
        same = False
    write_file(path, text if same else yaml_of_catalog(accepted))
    return accepted


class _Row(tuple[str, ...]):
    """Words, written in one line."""

    __slots__ = ()


class _Pairs(dict[str, str]):
    """Words for values, written in one line."""

    __slots__ = ()


class _Dumper(yaml.SafeDumper):
    """Writes words in one line, and no anchors."""

    def ignore_aliases(self, data: Any) -> bool:
        """Whether a value that stands twice is written twice: always."""
        return True


_Dumper.add_representer(_Row, lambda dumper, row: dumper.represent_sequence("tag:yaml.org,2002:seq", row, True))
_Dumper.add_representer(_Pairs, lambda dumper, pairs: dumper.represent_mapping("tag:yaml.org,2002:map", pairs, True))


_Dumper.add_representer(
    str,
    lambda dumper, text: dumper.represent_scalar(_TEXT, text, style='"' if _LINE_END.search(text) else None),
)


def _filled(**values: Any) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value}


def _properties(properties: Mapping[str, PropertyDescriptor]) -> dict[str, Any]:
    return {
        name: _filled(
            description=each.description,
            words=_Row(each.words),
            values=_Pairs(each.values),
            groups={word: _Row(found) for word, found in each.groups.items()},
            role=each.role,
            unit=each.unit,
        )
        for name, each in properties.items()
    }


def _catalog(root: yaml.Node | Fault, subject: str) -> SemanticCatalog:
    reader = _Reader()
    catalog = SemanticCatalog() if isinstance(root, Fault) else reader.catalog(root)
    faults: Sequence[Fault] = [root] if isinstance(root, Fault) else sorted(reader.faults)
    if faults:
        listed = "; ".join(map(str, faults))
        raise InvalidArgumentError(f"{len(faults)} fault(s): {listed}", subject=subject, remedy="Correct these lines")
    return catalog


class _Reader(YamlNodes):
    """Reader of the descriptors of one file."""

    def __init__(self) -> None:
        super().__init__()
        self._left = _MOST_ENTRIES

    def mapping(self, node: yaml.Node, what: str, known: frozenset[str] | None = None) -> dict[str, yaml.Node]:
        """Return the values of a mapping by key."""
        return super().mapping(node, what, known) if self._may_read(node) else {}

    def items(self, node: yaml.Node | None, what: str) -> Iterator[yaml.Node]:
        """Yield the nodes of a list."""
        if self._may_read(node):
            yield from super().items(node, what)

    def _may_read(self, node: yaml.Node | None) -> bool:
        before = self._left
        if isinstance(node, yaml.CollectionNode):
            self._left -= len(node.value)
        if node is not None and self._left < 0 <= before:
            self.fault(node, f"the file has more than {_MOST_ENTRIES:,} entries", "leave some out")
        return self._left >= 0

    def catalog(self, root: yaml.Node) -> SemanticCatalog:
        """Return the catalog; with faults too."""
        top = self.mapping(root, "the file", _TOP)
        return SemanticCatalog(
            about=self._prose(top.get("about"), "about"),
            fingerprint=self._prose(top.get("fingerprint"), "fingerprint"),
            accepted=self._flag(top.get("accepted"), "accepted"),
            nodes=self._named(top.get("nodes"), "nodes", self._node),
            relationships=self._named(top.get("relationships"), "relationships", self._relationship),
        )

    def _node(self, node: yaml.Node, what: str) -> NodeDescriptor:
        values = self.mapping(node, what, _NODE)
        return NodeDescriptor(
            description=self._prose(values.get("description"), f"description of {what}"),
            words=self._words(values.get("words"), f"words of {what}"),
            properties=self._named(values.get("properties"), f"properties of {what}", self._property),
        )

    def _relationship(self, node: yaml.Node, what: str) -> RelationshipDescriptor:
        values = self.mapping(node, what, _RELATIONSHIP)
        return RelationshipDescriptor(
            description=self._prose(values.get("description"), f"description of {what}"),
            forward=self._words(values.get("forward"), f"forward of {what}"),
            backward=self._words(values.get("backward"), f"backward of {what}"),
            properties=self._named(values.get("properties"), f"properties of {what}", self._property),
        )

    def _property(self, node: yaml.Node, what: str) -> PropertyDescriptor:
        values = self.mapping(node, what, _PROPERTY)
        role = self._prose(values.get("role"), f"role of {what}")
        if role and role not in _ROLES:
            self.fault(values["role"], f"{what} has the unknown role {role!r}", f"known: {', '.join(_ROLES)}")
        return PropertyDescriptor(
            description=self._prose(values.get("description"), f"description of {what}"),
            words=self._words(values.get("words"), f"words of {what}"),
            values=self._named(values.get("values"), f"values of {what}", self.text),
            groups=self._named(values.get("groups"), f"groups of {what}", self._words),
            role=_ROLES.get(role, ""),
            unit=self._prose(values.get("unit"), f"unit of {what}"),
        )

    def _named(self, node: yaml.Node | None, what: str, read: Callable[[yaml.Node, str], T]) -> dict[str, T]:
        """Read the entries of a mapping by name."""
        entries = self.mapping(node, what) if node is not None else {}
        return {name: read(value, f"{name!r} in {what}") for name, value in entries.items()}

    def _words(self, node: yaml.Node | None, what: str) -> tuple[str, ...]:
        found: dict[str, None] = {}
        for item in self.items(node, what):
            text = self._prose(item, f"an item of {what}")
            if text in found:
                self.fault(item, f"{what} has {text!r} twice", "keep one of them")
            elif text:
                found[text] = None
        return tuple(found)

    def _prose(self, node: yaml.Node | None, what: str) -> str:
        if isinstance(node, yaml.ScalarNode) and node.tag != _TEXT:
            self.fault(node, f"{what} must be a text, not {node.value!r}", "put it into quotes")
            return ""
        return self.text(node, what)

    def _flag(self, node: yaml.Node | None, what: str) -> bool:
        if node is None:
            return False
        if not isinstance(node, yaml.ScalarNode) or node.tag != _FLAG:
            self.fault(node, f"{what} must be true or false")
            return False
        return node.value.lower() in ("true", "yes", "on")
