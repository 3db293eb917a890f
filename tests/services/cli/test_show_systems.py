"""A system is found by its aliases: by ``egotools show``, and by a request that says one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from inference import HashingEncoder
from retrieval.candidates.entry_nodes import ngram_entries
from retrieval.query.context import QueryContext
from retrieval.query.request import Request
from retrieval.snapshot.reader import open_snapshot
from services.jobs.build import build_snapshot
from tests.harness.commands import Run

SOURCES = """\
sources:
  - name: crm
    location: crm.json
    aliases: [Client Book]
  - name: parcels
    location: parcels.json
"""


def document(title: str, host: str, *nouns: str) -> str:
    responses = {"200": {"description": "ok"}}
    operations = {f"/{noun}": {"get": {"operationId": f"list_{noun}", "responses": responses}} for noun in nouns}
    info = {"title": title, "version": "1", "contact": {"name": "Help desk", "email": "help@zenvik.example"}}
    return json.dumps({"openapi": "3.0.0", "info": info, "servers": [{"url": f"https://{host}"}], "paths": operations})


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("systems")
    (folder / "sources.yaml").write_text(SOURCES, encoding="utf-8")
    (folder / "crm.json").write_text(document("Acme CRM API", "api.acme.com", "leads", "deals"), encoding="utf-8")
    parcels = document("Zenvik Parcels API v2", "10.0.0.1", "parcels", "routes")
    (folder / "parcels.json").write_text(parcels, encoding="utf-8")
    build_snapshot([str(folder / "sources.yaml")], folder / "store", encoder=HashingEncoder())
    return folder / "store"


@pytest.mark.parametrize("name", ["acme crm api", "Acme CRM", "acme", "client book"])
def test_show_finds_a_system_by_its_aliases(run: Run, store: Path, name: str) -> None:
    code, out, _ = run("show", name, "--store", store, "--json")
    assert code == 0
    nodes = {node["key"]: node for node in json.loads(out)["nodes"]}
    system = nodes["system:acme crm api"]
    assert dict(system["aliases"]) == {"acme crm": "documents", "acme": "documents", "client book": "sources file"}
    assert {edge["head"] for edge in system["edges"]} == {"tool:crm/list_leads", "tool:crm/list_deals"}


def test_show_says_which_forms_are_aliases(run: Run, store: Path) -> None:
    assert "acme (documents)" in run("show", "acme", "--store", store)[1]


@pytest.mark.parametrize(
    ("request_", "system"),
    [
        ("which deals does Acme have open?", "acme crm api"),
        ("look it up in our client book", "acme crm api"),
        ("where is it on a Zenvik route?", "zenvik parcel api v2"),
        ("list all leads by api", None),
    ],
)
def test_a_request_that_says_an_alias_enters_at_the_system(store: Path, request_: str, system: str | None) -> None:
    snapshot = open_snapshot(store)
    entries = ngram_entries(QueryContext.begin(Request(query=request_), snapshot, None))
    found = [key for key in (snapshot.node_key(entry.node) for entry in entries) if key.startswith("system:")]
    assert found == ([f"system:{system}"] if system else [])


def test_show_gives_the_entity_of_a_synonym_beside_the_node_of_that_name(run: Run, tmp_path: Path) -> None:
    (tmp_path / "overlay.yaml").write_text("namespaces: {desk: {synonyms: {vendor: supplier}}}\n", encoding="utf-8")
    sources = "sources:\n  - {name: desk, location: desk.json, aliases: [vendor]}\noverlays: [overlay.yaml]\n"
    (tmp_path / "sources.yaml").write_text(sources, encoding="utf-8")
    desk = document("Desk Service", "desk.acme.com", "suppliers", "vendors")
    (tmp_path / "desk.json").write_text(desk, encoding="utf-8")
    build_snapshot([str(tmp_path / "sources.yaml")], tmp_path / "store", encoder=HashingEncoder())
    code, out, _ = run("show", "vendor", "--store", tmp_path / "store", "--json")
    keys = [node["key"] for node in json.loads(out)["nodes"]]
    assert code == 0
    assert {"system:desk service", "business_object:supplier"} <= set(keys)
    assert len(keys) == len(set(keys))
