"""Discovery documents: small ones, broken ones, and those that the installed client ships."""

from functools import partial
from pathlib import Path

import yaml

from ingest.sources.google.source import GoogleDiscoverySource
from tests.ingest.sources import read_file

API = yaml.safe_load("""
kind: discovery#restDescription
discoveryVersion: v1
name: library
version: v1
title: Library API
ownerName: Zenvik
ownerDomain: zenvik.example
schemas:
  Book:
    id: Book
    type: object
    properties:
      title: {type: string, annotations: {required: [library.shelves.books.create]}}
      state: {type: string, enum: [IN, OUT], readOnly: true}
      sequel: {$ref: Book}
  List: {type: object, properties: {books: {type: array, items: {$ref: Book}}}}
methods: {ping: {id: library.ping, httpMethod: GET, path: ping}}
resources:
  shelves:
    resources:
      books:
        methods:
          create:
            id: library.shelves.books.create
            httpMethod: POST
            path: shelves/{shelf}/books
            description: Puts a book on a [shelf](https://example.com).
            parameterOrder: [shelf]
            parameters:
              notify: {type: string, location: query, repeated: true, enum: [A, B]}
              shelf: {type: string, location: path, required: true}
            request: {$ref: Book}
            response: {$ref: Book}
            scopes: [a, b]
          list: {id: library.shelves.books.list, response: {$ref: List}, deprecated: true}
""")
SCOPES = {f"https://example.com/{number}": {"description": "x" * 60} for number in range(80)}
API = {"auth": {"oauth2": {"scopes": SCOPES}}, **API}  # what tells the format stands behind them


read = partial(read_file, GoogleDiscoverySource())


def test_methods_of_nested_resources_become_tools(tmp_path: Path) -> None:
    tools, rejected = read(tmp_path / "library.json", API)
    assert rejected == []
    assert list(tools) == ["library.ping", "library.shelves.books.create", "library.shelves.books.list"]
    create = tools["library.shelves.books.create"]
    assert create.description == "Puts a book on a shelf."
    assert create.title == "Create books"
    assert [(p.name, p.type, p.required, p.location) for p in create.parameters] == [
        ("shelf", "string", True, "path"),
        ("notify", "array", False, "query"),
        ("title", "string", True, "body"),
        ("sequel", "object", False, "body"),
        ("sequel.title", "string", False, "body"),
        ("sequel.sequel", "object", False, "body"),  # a type inside itself is opened once
    ]
    assert create.parameters[1].enum == ("A", "B")
    assert [o.name for o in create.returns] == ["title", "state", "sequel"]
    assert create.metadata["tags"] == ["shelves", "books"]
    assert create.metadata["scopes"] == ["a", "b"]
    assert (create.metadata["method"], create.metadata["path"]) == ("POST", "/shelves/{shelf}/books")
    assert (create.metadata["service"], create.metadata["version"]) == ("Library API", "v1")
    assert (create.metadata["contact"], create.metadata["contact_host"]) == ("Zenvik", "zenvik.example")
    listed = tools["library.shelves.books.list"]
    assert listed.metadata["deprecated"] is True
    assert [o.name for o in listed.returns][:2] == ["books", "books[].title"]


def test_a_schema_defined_nowhere_costs_its_method_or_the_answer_of_it(tmp_path: Path) -> None:
    tools, rejected = read(tmp_path / "l.json", {**API, "schemas": {"List": API["schemas"]["List"]}})
    assert {name: bool(tool.returns) for name, tool in tools.items()} == {
        "library.ping": False,
        "library.shelves.books.list": False,
    }
    assert [(r.subject, r.reason) for r in rejected] == [
        ("l.json#shelves.books.create", "dangling-ref"),
        ("l.json#shelves.books.list", "dangling-ref"),
    ]
