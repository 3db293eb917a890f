"""The nodes and edges of one answer, by the shape of its JSON and of the tables in its texts."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any, TypeAlias

from planners.graphs.property_graph import GraphState, MergeEdge, MergeNode, NodeRef, Operation, Scalar, Value
from planners.kgot.rules.own_identifiers import is_key, own_identifier
from planners.kgot.rules.shape_names import (
    CALL,
    GAVE,
    identifier_of,
    label_of,
    property_name,
    reference_type,
    table_label,
)
from planners.kgot.rules.shape_tables import json_in, tables_in

__all__ = ["MOST_NODES", "AnswerShapes", "Known", "known_identifiers"]

MOST_NODES = 1_000
"""Of one answer: twice the largest graph of the paper (522 nodes)."""
_MOST_DEPTH = 40
_MOST_TEXT = 4_000  # characters of one property; of what is longer the graph keeps the beginning
_INT64 = range(-(2**63), 2**63)
_NO_TEXT = re.compile("[\0\ud800-\udfff]")

Known: TypeAlias = Mapping[str, tuple[str, str]]
"""Value of an identifier → label and property of the one thing that it names."""


def known_identifiers(graph: GraphState) -> dict[str, set[tuple[str, str]]]:
    """Return the identifiers of what stands in a graph: value → labels and properties of the things that it names."""
    found: dict[str, set[tuple[str, str]]] = {}
    for node in graph.nodes:
        for name, value in node.properties.items():
            of = identifier_of(name)
            if of is not None and label_of(of or node.label) == node.label:
                found.setdefault(str(value), set()).add((node.label, name))
    return found


class AnswerShapes:
    """Makes the writes of one answer.

    :param known: value of an identifier → label and property of the thing that it names, where it names one.
    :param expected: field that identifies what the call gives, where whoever chose the tool knows it.
    """

    def __init__(self, known: Known, *, expected: str = "", most_nodes: int = MOST_NODES) -> None:
        self._known = known
        self._expected = expected
        self._tool = ""
        self._left = most_nodes
        self._left_out = 0
        self._written: list[Operation] = []
        self.named: dict[str, set[tuple[str, str]]] = {}
        """Identifiers of what the answer gives, as :func:`known_identifiers` has them."""

    def of_call(self, tool_id: str, arguments: str, body: Any, file: str) -> list[Operation]:
        """Return the writes of a call.

        :param arguments: as JSON.
        :param file: that it is about, or empty.
        """
        key: dict[str, Value] = {"tool": _scalar(tool_id), "arguments": _scalar(arguments)}
        call = NodeRef(label=CALL, key=key)
        own: dict[str, Value] = dict(key)
        given = json_in(arguments)
        for name, value in (given if isinstance(given, dict) else {}).items():
            if _is_scalar(value):
                own[_free(own, f"arg_{property_name(name)}")] = _scalar(value)
        page = given.get("page", 1) if isinstance(given, dict) else 1
        place = f"{PurePath(file).name}{f' page {page}' if page != 1 else ''}" if file else f"{tool_id} {arguments}"
        self._tool = tool_id.rpartition("/")[2]
        whole = body if isinstance(body, dict) else {}
        asked = given if isinstance(given, dict) else {}
        if whole_own := own_identifier(whole, called="", tool=self._tool, arguments=asked, expected=self._expected):
            self._child(call, GAVE, whole, self._tool, place, 0, own=whole_own)
        else:
            fields = body if isinstance(body, dict) else {"answer": body}
            self._fields(call, own, fields, "", place, 0, gives=True, file=file)
        if self._left_out:
            own[_free(own, "left_out")] = self._left_out
        properties = {name: value for name, value in own.items() if name not in key}
        return [MergeNode(node=call, properties=properties), *self._written]

    def _child(
        self, parent: NodeRef, kind: str, record: Mapping[Any, Any], name: str, place: str, depth: int, own: str
    ) -> None:
        """Write a record as a node, and the edge that leads to it.

        :param own: the field that identifies it, or empty.
        """
        if self._left <= 0:
            self._left_out += 1
            return
        self._left -= 1
        of = identifier_of(own) if own else None
        key: dict[str, Value] = {"of": _scalar(place[-200:])} if not own else {property_name(own): _scalar(record[own])}
        node = NodeRef(label=label_of(of or name), key=key)
        properties: dict[str, Value] = dict(key)
        if own:
            self.named.setdefault(str(record[own]), set()).add((node.label, property_name(own)))
        place = f"{node.label} {record[own]}" if own else place
        at = len(self._written)
        fields = {field: value for field, value in record.items() if not own or field != own}
        self._fields(node, properties, fields, "", place, depth, gives=False, file="")
        rest = {field: value for field, value in properties.items() if field not in key}
        self._written[at:at] = [
            MergeNode(node=node, properties=rest),
            MergeEdge(type=kind, source=parent, target=node),
        ]

    def _fields(
        self,
        node: NodeRef,
        properties: dict[str, Value],
        fields: Mapping[Any, Any],
        before: str,
        place: str,
        depth: int,
        *,
        gives: bool,
        file: str,
    ) -> None:
        """Add the scalars of a record to its properties, and write what it holds."""
        for field, value in fields.items():
            name, inner = f"{before}{field}", f"{place}/{field}"
            kind = GAVE if gives else reference_type(str(field))
            if value is None or depth > _MOST_DEPTH:
                continue
            own = own_identifier(value, called=str(field), arguments={}, alone=True) if isinstance(value, dict) else ""
            if isinstance(value, dict) and not own:
                self._fields(node, properties, value, f"{name}_", inner, depth + 1, gives=gives, file=file)
            elif isinstance(value, dict):
                self._child(node, kind, value, str(field), inner, depth + 1, own)
            elif isinstance(value, list):
                self._list(node, properties, name, value, kind, inner, depth)
            elif gives and isinstance(value, str) and self._text(node, value, file, place, depth):
                continue
            else:
                properties[_free(properties, property_name(name))] = _scalar(value)
                self._reference(node, str(field), value)

    def _list(
        self,
        node: NodeRef,
        properties: dict[str, Value],
        name: str,
        values: Sequence[Any],
        kind: str,
        place: str,
        depth: int,
    ) -> None:
        held = [value for value in values if value is not None]
        if held and all(map(_is_scalar, held)):
            made = [_scalar(value) for value in held]
            if len({type(value) for value in made}) == 1:
                properties[_free(properties, property_name(name))] = tuple(made)
                return
        records = [value if isinstance(value, dict) else {"value": value} for value in held]
        called = name.rpartition("_")[2] or name
        expected, tool = (self._expected, self._tool) if kind == GAVE else ("", "")
        for number, record in enumerate(records, start=1):
            own = own_identifier(record, called=called, tool=tool, arguments={}, expected=expected)
            self._child(node, kind, record, called, f"{place}/{number}", depth + 1, own)

    def _text(self, node: NodeRef, text: str, file: str, place: str, depth: int) -> bool:
        """Write the rows of a text that is JSON or holds tables; returns whether it is one."""
        if (held := json_in(text)) is not None:
            records = held if isinstance(held, dict) else {PurePath(file).stem or "row": held}
            self._fields(node, {}, records, "", place, depth + 1, gives=True, file="")
            return True
        tables = tables_in(text)
        for number, table in enumerate(tables, start=1):
            name = table_label(table.title) if table_label(table.title) != "Row" else table_label(PurePath(file).stem)
            for row, record in enumerate(table.rows, start=1):
                self._row(node, name, record, f"{place}#{number}", row)
        return bool(tables)

    def _row(self, parent: NodeRef, label: str, record: Mapping[str, Scalar], of: str, row: int) -> None:
        if self._left <= 0:
            self._left_out += 1
            return
        self._left -= 1
        key: dict[str, Value] = {"of": _scalar(of[-200:]), "row": row}
        properties: dict[str, Value] = dict(key)
        for name, value in record.items():
            properties[_free(properties, property_name(name))] = _scalar(value)
        node = NodeRef(label=label, key=key)
        rest = {name: value for name, value in properties.items() if name not in key}
        self._written += [MergeNode(node=node, properties=rest), MergeEdge(type=GAVE, source=parent, target=node)]

    def _reference(self, node: NodeRef, field: str, value: Any) -> None:
        """Write the edge of a field that holds the identifier of another thing."""
        of = identifier_of(field)
        if not of or not is_key(value):
            return
        label, name = self._known.get(str(value), (label_of(of), field))
        target = NodeRef(label=label, key={property_name(name): _scalar(value)})
        if target == node:
            return
        self._written += [
            MergeNode(node=target),
            MergeEdge(type=reference_type(field), source=node, target=target),
        ]


def _is_scalar(value: Any) -> bool:
    return isinstance(value, str | int | float | bool)


def _scalar(value: Any) -> Scalar:
    """Return a value as stores take it: what is no number of theirs is its text."""
    if isinstance(value, str):
        return _NO_TEXT.sub("\ufffd", value)[:_MOST_TEXT]
    if isinstance(value, bool):
        return value
    if isinstance(value, int) and value in _INT64:
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    return str(value)[:_MOST_TEXT]


def _free(properties: Mapping[str, Value], name: str) -> str:
    """Return a name that no property has yet, without regard to case, as some stores have it."""
    taken = {each.casefold() for each in properties}
    number, found = 1, name
    while found.casefold() in taken:
        number += 1
        found = f"{name}_{number}"
    return found
