"""OData tools of public services, called against a server on loopback that is made from their ``$metadata``."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote
from xml.etree import ElementTree

import httpx
import pytest

from egotools import ToolRequestError, build_request
from egotools.calling.http_call import ToolHttpRequest
from ingest.sources import read_catalog
from ontology.tool import Tool
from tests.egotools.schema_samples import sample_arguments
from tests.harness.http_server import Arrived, Loopback, Reply
from tests.harness.stores import ToolsOf
from tests.ingest.sources.test_odata import V2, V4

_TEXT = r"'(?:[^']|'')*'"
_INTEGER, _TIME = r"-?\d+", r"\d\d:\d\d(?::\d\d(?:\.\d+)?)?"
_GUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_MOMENT = rf"\d{{4}}-\d\d-\d\dT{_TIME}"
LITERALS: Mapping[str, Mapping[str, str]] = {
    "v2": {
        "String": _TEXT, "Int16": _INTEGER, "Int32": _INTEGER, "Byte": _INTEGER, "Int64": rf"{_INTEGER}L",
        "Decimal": rf"{_INTEGER}(?:\.\d+)?M", "Double": rf"{_INTEGER}(?:\.\d+)?d", "Boolean": "true|false", "Guid": f"guid'{_GUID}'",
        "DateTime": f"datetime'{_MOMENT}'", "DateTimeOffset": rf"datetimeoffset'{_MOMENT}(?:Z|[+-]\d\d:\d\d)'",
        "Time": "time'P[^']+'",
    },
    "v4": {
        "String": _TEXT, "Int16": _INTEGER, "Int32": _INTEGER, "Byte": _INTEGER, "Int64": _INTEGER,
        "Decimal": rf"{_INTEGER}(?:\.\d+)?", "Double": rf"{_INTEGER}(?:\.\d+)?", "Single": rf"{_INTEGER}(?:\.\d+)?",
        "Boolean": "true|false", "Guid": _GUID, "DateTimeOffset": rf"{_MOMENT}(?:Z|[+-]\d\d:\d\d)",
        "Date": r"\d{4}-\d\d-\d\d", "TimeOfDay": _TIME, "Duration": "duration'-?P[^']+'",
    },
}  # fmt: skip


class Operation(NamedTuple):
    """A function or an action: its parameters without the binding one, the type it is bound to, whether it is a function."""

    parameters: Mapping[str, str]
    binding: str
    is_function: bool
    returns: str


class Metadata:
    """A document of a service, read by its own elements alone."""

    def __init__(self, path: Path) -> None:
        root = ElementTree.fromstring(path.read_bytes())
        for element in root.iter():
            element.tag = element.tag.rpartition("}")[2]
            element.attrib = {name.rpartition("}")[2]: value for name, value in element.attrib.items()}
        self.version = "v4" if root.get("Version", "").startswith("4") else "v2"
        self.types: dict[str, ElementTree.Element] = {}
        self.enums: set[str] = set()
        self.sets: dict[str, str] = {}
        self.singletons: dict[str, str] = {}
        self.ends: dict[tuple[str, str], str] = {}
        self.operations: dict[str, list[Operation]] = {}
        self.imports: dict[str, ElementTree.Element] = {}
        schemas = list(root.iter("Schema"))
        for schema in schemas:
            if alias := schema.get("Alias"):
                _expand(root, alias, schema.get("Namespace", ""))
        for schema in schemas:
            self._read_types(schema, schema.get("Namespace", ""))
            self._read_container(schema)

    def _read_types(self, schema: ElementTree.Element, namespace: str) -> None:
        for element in schema:
            name = f"{namespace}.{element.get('Name', '')}"
            if element.tag in ("EntityType", "ComplexType"):
                self.types[name] = element
            elif element.tag == "EnumType":
                self.enums.add(name)
            elif element.tag == "Association":
                for end in element.iter("End"):
                    self.ends[name, end.get("Role", "")] = end.get("Type", "")
            elif element.tag in ("Function", "Action"):
                given = {one.get("Name", ""): one.get("Type", "") for one in element.iter("Parameter")}
                bound = element.get("IsBound") == "true"
                binding = given.pop(next(iter(given))) if bound else ""
                returned = element.find("ReturnType")
                made = Operation(
                    given, binding, element.tag == "Function", returned.get("Type", "") if returned is not None else ""
                )
                self.operations.setdefault(name, []).append(made)

    def _read_container(self, schema: ElementTree.Element) -> None:
        for element in schema.iter("EntitySet"):
            self.sets[element.get("Name", "")] = element.get("EntityType", "")
        for element in schema.iter("Singleton"):
            self.singletons[element.get("Name", "")] = element.get("Type", "")
        for tag in ("FunctionImport", "ActionImport"):
            self.imports |= {element.get("Name", ""): element for element in schema.iter(tag)}

    def lineage(self, name: str) -> Iterator[ElementTree.Element]:
        while name in self.types:
            yield self.types[name]
            name = self.types[name].get("BaseType", "")

    def properties(self, name: str) -> dict[str, ElementTree.Element]:
        return {one.get("Name", ""): one for each in self.lineage(name) for one in each.findall("Property")}

    def navigations(self, name: str) -> dict[str, str]:
        found = {}
        for each in self.lineage(name):
            for one in each.findall("NavigationProperty"):
                type_ = one.get("Type") or self.ends.get((one.get("Relationship", ""), one.get("ToRole", "")), "")
                found[one.get("Name", "")] = type_
        return found

    def keys(self, name: str) -> list[str]:
        return next(
            (
                [ref.get("Name", "") for ref in each.iter("PropertyRef")]
                for each in self.lineage(name)
                if each.find("Key") is not None
            ),
            [],
        )

    def is_literal(self, type_: str, text: str) -> bool:
        pattern = LITERALS[self.version].get(type_.removeprefix("Edm."))
        if type_ in self.enums:
            pattern = rf"{re.escape(type_)}{_TEXT}"
        return bool(re.fullmatch(pattern or ".+", text, re.ASCII if pattern else 0))


def _expand(root: ElementTree.Element, alias: str, namespace: str) -> None:
    """Write the names of types with their namespace instead of its alias."""
    pattern = re.compile(rf"(?<![\w.]){re.escape(alias)}\.(?=\w+\)?$)")
    for element in root.iter():
        for key in ("Type", "BaseType", "EntityType", "UnderlyingType", "Function", "Action"):
            if key in element.attrib:
                element.attrib[key] = pattern.sub(f"{namespace}.", element.attrib[key])


class ODataServer:
    """Follows the path of a request through the document, and says what the document does not have."""

    def __init__(self, metadata: Metadata) -> None:
        self._metadata = metadata
        self.problems: list[str] = []

    def __call__(self, arrived: Arrived) -> Reply:
        self.problems = []
        try:
            self._request(arrived)
        except (KeyError, ValueError, StopIteration) as error:
            self.problems.append(f"{type(error).__name__} {error}")
        return Reply(status=400 if self.problems else 200)

    def _request(self, arrived: Arrived) -> None:
        type_, many, operation = "", False, None
        for segment in arrived.path.removeprefix("/").split("/"):
            name, _, written = unquote(segment).partition("(")
            given = self._pairs(written.removesuffix(")")) if written else None
            type_, many, operation = self._step(type_, many, name, given, dict(arrived.query))
        query = dict(arrived.query)
        for name, text in query.items():
            self._option(name, text, type_, operation)
        body = json.loads(arrived.body) if arrived.body else {}
        if operation is not None:
            known = set(operation.parameters) if not operation.is_function else set()
        else:
            known = {*self._metadata.properties(type_), *self._metadata.navigations(type_)}
        self.problems += [f"unknown member {name}" for name in body if name not in known]
        if operation is None and arrived.method == "GET" and not many and self._metadata.types.get(type_) is None:
            self.problems.append(f"{arrived.path} leads to no entity")

    def _pairs(self, text: str) -> dict[str, str]:
        """``a='x',b=2``; a single key has the empty name."""
        parts = re.findall(rf"(?:(@?\w+)=)?((?:[\w.]*{_TEXT}|[^,'=])+)(?:,|$)", text)
        return dict(parts)

    def _step(
        self, type_: str, many: bool, name: str, given: dict[str, str] | None, query: Mapping[str, str]
    ) -> tuple[str, bool, Operation | None]:
        data = self._metadata
        if name in data.operations or (not type_ and name in data.imports):
            return self._operation(type_, many, name, given or {}, query)
        if not type_:
            found, many = (data.sets[name], True) if name in data.sets else (data.singletons[name], False)
        else:
            if many:
                raise ValueError(f"{name} of a collection")
            found = data.navigations(type_).get(name, "") or data.properties(type_)[name].get("Type", "")
            many = found.startswith("Collection(") or data.version == "v2"
        found = found.removeprefix("Collection(").removesuffix(")")
        if given is not None:
            keys = data.keys(found)
            named = {keys[0]: given[""]} if list(given) == [""] and len(keys) == 1 else given
            if set(named) != set(keys):
                raise ValueError(f"keys {sorted(named)} of {name} and not {sorted(keys)}")
            self._literals(named, {key: data.properties(found)[key].get("Type", "") for key in keys})
            many = False
        return found, many, None

    def _operation(
        self, type_: str, many: bool, name: str, given: dict[str, str], query: Mapping[str, str]
    ) -> tuple[str, bool, Operation]:
        data = self._metadata
        if name in data.operations:
            overloads = data.operations[name]
        else:
            element = data.imports[name]
            own = {one.get("Name", ""): one.get("Type", "") for one in element.iter("Parameter")}
            overloads = data.operations.get(element.get("Function") or element.get("Action") or "", [])
            overloads = overloads or [Operation(own, "", False, "")]
        place = f"Collection({type_})" if many else type_
        lineage = {place} | {f"Collection({n})" if many else n for n in _names(data, type_)}
        operation = next(
            one for one in overloads
            if (not one.binding or one.binding in lineage) and (not given or set(given) <= set(one.parameters))
        )  # fmt: skip
        plain = {key: text for key, text in given.items() if not text.startswith("@")}
        self._literals(plain, operation.parameters)
        for text in given.values():
            if text.startswith("@"):
                json.loads(query[text])
        return "", False, operation

    def _literals(self, given: Mapping[str, str], types: Mapping[str, str]) -> None:
        for name, text in given.items():
            if not self._metadata.is_literal(types[name], text):
                self.problems.append(f"{name}: {text} is no {types[name]}")

    def _option(self, name: str, text: str, type_: str, operation: Operation | None) -> None:
        data = self._metadata
        if operation is not None and name in operation.parameters:
            self._literals({name: text}, operation.parameters)
        elif name == "$filter":
            properties = data.properties(type_)
            for comparison in re.findall(rf"(\w+) eq ((?:[\w.]*{_TEXT}|[^ '])+)", text):
                self._literals(
                    {comparison[0]: comparison[1]}, {comparison[0]: properties[comparison[0]].get("Type", "")}
                )
        elif name in ("$top", "$skip"):
            int(text)
        elif not name.startswith(("$", "@")):
            self.problems.append(f"unknown option {name}")


def _names(data: Metadata, type_: str) -> Iterator[str]:
    while type_ in data.types:
        yield type_
        type_ = data.types[type_].get("BaseType", "")


def called(path: Path, catalogue: Sequence[Tool], step: int = 1) -> tuple[dict[str, str], int]:
    """Call each tool of a service with required and with further arguments; return the faults and the number of requests."""
    service = ODataServer(Metadata(path))
    tools = [tool for tool in catalogue if tool.call is not None][::step]
    randomness = random.Random(path.name)
    faults: dict[str, str] = {}
    sent = 0
    with Loopback(service) as server, httpx.Client(trust_env=False, verify=False) as client:
        for tool in tools:
            assert tool.call is not None and tool.input_schema is not None
            for optional in (False, True):
                given: dict[str, Any] = sample_arguments(tool.input_schema, randomness, optional=optional)
                for one in [one for one in given if one.startswith("$") and one not in ("$top", "$skip")]:
                    del given[one]  # expressions of OData, which a schema does not describe
                if (
                    tool.call.service == "v4"
                ):  # overloads differ by their optional parameters: no overload has all of them
                    inline = [one.name for one in tool.call.arguments if one.location == "query" and "." in one.style]
                    given = {key: value for key, value in given.items() if key not in inline[1:]}
                try:
                    request = build_request(tool.call, given, schema=tool.input_schema, server=server.url)
                except ToolRequestError as error:
                    faults[tool.id] = str(error)
                    continue
                assert isinstance(request, ToolHttpRequest)
                client.send(request)
                sent += 1
                if service.problems:
                    faults[tool.id] = f"{request.method} {request.url}: {service.problems[:3]}"
    return faults, sent


@pytest.mark.slow
@pytest.mark.shared
@pytest.mark.parametrize(
    ("name", "step", "count"),
    [
        ("API_BUSINESS_PARTNER.edmx", 1, 300),
        ("API_SALES_ORDER_SRV.edmx", 1, 50),
        ("API_PURCHASEORDER_PROCESS_SRV.edmx", 1, 50),
        ("msgraph_v1.csdl", 7, 400),
    ],
)
def test_operations_of_a_public_service_arrive_as_its_document_has_them(
    tools_of: ToolsOf, shared: Path, name: str, step: int, count: int
) -> None:
    path = shared / "specs" / name
    faults, sent = called(path, tools_of(str(path)), step)
    assert faults == {}, "\n".join(f"{id_}: {fault}" for id_, fault in list(faults.items())[:20])
    assert sent > count


@pytest.mark.parametrize("text", [V2, V4], ids=["v2", "v4"])
def test_operations_of_a_small_service_arrive_as_its_document_has_them(tmp_path: Path, text: str) -> None:
    path = tmp_path / "service.edmx"
    path.write_text(text, encoding="utf-8")
    faults, sent = called(path, read_catalog([str(path)]).tools)
    assert faults == {}
    assert sent > 10


@pytest.mark.parametrize(
    ("target", "body", "problem"),
    [
        ("/A_StockOrder(7)", b"", "7 is no Edm.String"),
        ("/A_StockOrder(Plant='7')", b"", "keys"),
        ("/A_StockOrder('7')/to_Nothing", b"", "KeyError"),
        ("/A_StockOrder?$filter=Plant%20eq%207", b"", "7 is no Edm.String"),
        ("/A_StockOrder", b'{"Colour": "red"}', "unknown member Colour"),
    ],
)
def test_the_server_refuses_what_the_document_does_not_have(
    tmp_path: Path, target: str, body: bytes, problem: str
) -> None:
    path = tmp_path / "service.edmx"
    path.write_text(V2, encoding="utf-8")
    server = ODataServer(Metadata(path))
    server(Arrived("POST", target, {}, body))
    assert problem in " ".join(server.problems)
