"""The source ``google-discovery.v1``: discovery documents, from a file or an address."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from egotools.call import Argument, Call, Security, SecurityScheme
from ingest.sources.document import Document
from ingest.sources.json_schema.schema import dangling_reference
from ingest.sources.operation import CallInput, Operation, Output, Schemas, arguments_of, distinct_names
from ingest.sources.prose import brief, name_words, plain, title_of
from ingest.sources.source import RejectedRecord, Source, as_list, as_mapping, as_text
from ontology.errors import DocumentError
from ontology.tool import Tool

_OWNER = {"contact": "ownerName", "contact_host": "ownerDomain"}


class GoogleDiscoverySource(Source):
    """Reader of discovery documents."""

    name = "google-discovery.v1"

    def accepts(self, document: Document) -> bool:
        """JSON of the kind ``discovery#restDescription``."""
        return (
            document.suffix in {".json", ""}
            and as_mapping(document.data_or_none).get("kind") == "discovery#restDescription"
        )

    def read(self, document: Document) -> Iterator[Tool | RejectedRecord]:
        """Yield one tool for each method of all resources; ids are those of the methods."""
        address, api = document.address, _Api(as_mapping(document.data))
        schemas = Schemas(api.lookup)
        methods = list(_methods(api.root, ()))
        if not methods:
            raise DocumentError("the discovery document has no methods", subject=address, reason="no-operations")
        for path, method in methods:
            subject = f"{address}#{'.'.join(path)}"
            if isinstance(method, Mapping):
                yield from schemas.tools(subject, partial(api.operation, path, method))
            else:
                yield RejectedRecord(subject, "wrong-type", "A method must be an object.")


def _methods(node: Mapping[str, Any], resource: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    """The methods of a resource and of the resources inside it, each with the names that lead to it."""
    for name, method in as_mapping(node.get("methods")).items():
        yield (*resource, str(name)), method
    for name, below in as_mapping(node.get("resources")).items():
        if isinstance(below, Mapping):
            yield from _methods(below, (*resource, str(name)))


class _Api:
    def __init__(self, root: Mapping[str, Any]) -> None:
        self.root = root
        self._schemas = as_mapping(root.get("schemas"))

    def lookup(self, ref: str) -> Mapping[str, Any]:
        schema = self._schemas.get(ref)
        if not isinstance(schema, Mapping):
            raise dangling_reference(ref, subject=ref)
        return schema

    def operation(self, path: tuple[str, ...], body: Mapping[str, Any]) -> Operation:
        """A method, whose URL template is ``path`` with the names of the parameters (``flatPath`` has others)."""
        own = as_text(body.get("id")) or f"{self.root.get('name', 'api')}.{'.'.join(path)}"
        inputs = distinct_names([*self._url_inputs(body), *self._body_inputs(body.get("request"), own)])
        answer = as_text(as_mapping(body.get("response")).get("$ref"))
        root = as_text(self.root.get("rootUrl")).rstrip("/")
        base = f"{root}/{as_text(self.root.get('servicePath')).strip('/')}".rstrip("/")
        scopes = [str(scope) for scope in as_list(body.get("scopes"))]
        return Operation(
            id=own,
            description=brief(plain(as_text(body.get("description"))), 600),
            inputs=inputs,
            output=Output({"$ref": answer}) if answer else None,
            metadata=self._metadata(path, body, scopes),
            call=Call(
                protocol="http",
                servers=(base,) if root else (),
                method=str(body.get("httpMethod", "GET")),
                path="/" + as_text(body.get("path")).lstrip("/"),
                media_type="application/json" if any(each.argument.location == "body" for each in inputs) else "",
                accept="application/json",
                arguments=arguments_of(inputs),
                security=tuple(
                    Security(schemes=(SecurityScheme(key="oauth2", type="oauth2", scopes=(scope,)),))
                    for scope in scopes
                ),
            ),
        )

    def _url_inputs(self, body: Mapping[str, Any]) -> Iterator[CallInput]:
        """The parameters of path and query, those that have an order first."""
        parameters = as_mapping(body.get("parameters"))
        ordered = [name for name in as_list(body.get("parameterOrder")) if isinstance(name, str) and name in parameters]
        for name in dict.fromkeys((*ordered, *parameters)):
            row = parameters[name]
            if not isinstance(row, Mapping):
                continue
            schema = {**self.lookup(row["$ref"]), **row} if isinstance(row.get("$ref"), str) else dict(row)
            schema.pop("$ref", None)
            if row.get("repeated") is True:
                outer = {"description": schema.pop("description")} if "description" in schema else {}
                schema = {**outer, "type": "array", "items": schema}
            argument = Argument(name=str(name), location="path" if row.get("location") == "path" else "query")
            yield CallInput(argument, schema, row.get("required") is True)

    def _body_inputs(self, reference: Any, method: str) -> Iterator[CallInput]:
        """The members of a request body; a method names those that it requires in their annotations."""
        name = as_text(as_mapping(reference).get("$ref"))
        schema = self.lookup(name) if name else {}
        for key, row in as_mapping(schema.get("properties")).items():
            field = as_mapping(row)
            if field.get("readOnly") is not True:
                required = method in as_list(as_mapping(field.get("annotations")).get("required"))
                yield CallInput(Argument(name=key, location="body"), field, required)

    def _metadata(self, path: tuple[str, ...], body: Mapping[str, Any], scopes: list[str]) -> dict[str, Any]:
        api = self.root
        *resource, name = path
        return {
            "title": title_of(name) + (f" {name_words(resource[-1])}" if resource else ""),
            "service": str(api.get("title") or api.get("name") or ""),
            "version": str(api.get("version", "")),
            **{key: str(api[own]) for key, own in _OWNER.items() if isinstance(api.get(own), str)},
            "method": str(body.get("httpMethod", "GET")),
            "path": "/" + str(body.get("flatPath") or body.get("path") or "").lstrip("/"),
            "tags": resource,
            "scopes": scopes,
            **({"deprecated": True} if body.get("deprecated") is True else {}),
        }
