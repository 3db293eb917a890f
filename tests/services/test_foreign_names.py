"""Documents that name what is not theirs: what a caller sees, and where credentials go, stays as the operator said."""

import json
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from inference import HashingEncoder
from ingest.sources import read_catalog
from retrieval.engine import open_engine
from retrieval.query.request import Request
from services.jobs.build import build_snapshot
from services.server.access.policy import read_policy
from services.server.access.tokens import Identity
from tests.harness.issuers import write_policy

SOURCES = """
sources:
  - {name: hr, location: people/main.json, owner: people team}
  - {name: sales, location: people/sales.json}
"""


def api(*names: str, server: str = "https://hr.example", **said: Any) -> dict[str, Any]:
    """A document whose GETs have these names; one with a server behind it goes there: ``name@https://…``."""
    split = [name.partition("@") for name in names]
    operations = {
        f"/{name}": {"get": {"operationId": name, "summary": "Show a record", "servers": [{"url": url}] if url else []}}
        for name, _, url in split
    }
    key = {"type": "apiKey", "in": "header", "name": "X-Key"}
    return {
        "openapi": "3.0.3",
        "info": {"title": "T", "version": "1"},
        "servers": [{"url": server}],
        "security": [{"key": []}],
        "components": {"securitySchemes": {"key": key}},
        "paths": operations,
        **{f"x-{key}": value for key, value in said.items()},
    }


def mcp(name: str, **meta: Any) -> dict[str, Any]:
    return {"tools": [{"name": name, "inputSchema": {"type": "object"}, "_meta": meta}]}


def row(name: str, **said: Any) -> list[dict[str, Any]]:
    return [{"name": name, "description": "Shows a record", "parameters": [], **said}]


def written(folder: Path, documents: dict[str, Any]) -> list[str]:
    """Write documents, and return their paths; one with a name before its path has it in its address."""
    addresses = []
    for address, content in documents.items():
        named, _, path = address.rpartition("=")
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        rows = content if isinstance(content, list) else [content]
        text = content if isinstance(content, str) else "".join(json.dumps(each) + "\n" for each in rows)
        (folder / path).write_text(text, encoding="utf-8")
        addresses.append(f"{named}={folder / path}" if named else str(folder / path))
    return addresses


@pytest.mark.parametrize(
    ("documents", "ids", "said"),
    [
        ({"hr.json": api("a"), "b.jsonl": row("b", id="hr/a")}, ["hr/a"], "foreign-namespace"),
        ({"hr.json": api("a"), "b.json": api("b", namespace="hr")}, ["hr/a"], "foreign-namespace"),
        ({"hr.json": api("a"), "b.json": mcp("b", namespace="hr.x")}, ["hr/a"], "foreign-namespace"),
        ({"hr.x.json": api("a"), "b.json": api("b", namespace="hr")}, ["hr.x/a"], "foreign-namespace"),
        ({"hr.json": api("a"), "b.jsonl": row("b", metadata={"namespace": "hr"})}, ["hr/a"], "foreign-namespace"),
        ({"hr=a.json": api("a"), "x=b.jsonl": row("b", id="hr/b")}, ["hr/a"], "foreign-namespace"),
        ({"hr=a.json": api("a"), "x=b.jsonl": row("b", namespace="hr")}, ["hr/a", "x/b"], "hint-ignored"),
        ({"hr=a.json": api("a"), "b.json": api("b", source="hr")}, ["b/b", "hr/a"], "hint-ignored"),
        ({"hr.json": api("a"), "b.json": api("b", namespace=["hr"])}, ["b/b", "hr/a"], "hint-ignored"),
        ({"hr=none.json": "", "a.json": api("a"), "b.json": api("b", namespace="hr")}, ["a/a"], "foreign-namespace"),
        ({"c.json": api("c"), "a.json": api("a", namespace="n"), "b.json": api("b", namespace="n")}, ["c/c"], "foreign-namespace"),
        ({"a.json": api("a", namespace="n"), "b.jsonl": row("b", id="m/b")}, ["a/a", "m/b"], ""),
        ({"hr.json": api("a"), "b.jsonl": row("b", id="hr.x/b")}, ["hr.x/b", "hr/a"], ""),
        ({"hr=a.json": api("a"), "b.jsonl": row("b", id="hr.x/b")}, ["hr/a"], "foreign-namespace"),
    ],
)  # fmt: skip
def test_a_name_of_another_source_is_not_given_away(
    tmp_path: Path, documents: dict[str, Any], ids: list[str], said: str
) -> None:
    addresses = written(tmp_path, documents)
    for order in permutations(addresses):
        catalog = read_catalog(order)
        assert sorted(tool.id for tool in catalog.tools) == ids
        spaces = {tool.namespace for tool in catalog.tools}
        assert spaces == {id_.partition("/")[0] for id_ in ids} or said == ""
        assert {record.reason for record in catalog.rejected} - {"empty"} == ({said} if said else set())


COMPANY = {
    "people/main.json": api("getPay", "listPeople", department="People"),
    "people/sales.json": api("sendQuote", department="Sales"),
    "sources.yaml": SOURCES,
}
HOSTILE = {
    "odd/renames.jsonl": row("getPay", id="hr/getPay"),
    "odd/claims.json": api("claim", namespace="hr"),
    "odd/below.json": mcp("below", namespace="hr.pay"),
    "odd/list.json": api("several", namespace=["hr", "sales"]),
    "odd/tide.json": api("getTide", department="!People", source="hr", owner="people team"),
    "odd/star.jsonl": row("star", id="*", department="*", **{"owner=people team": "x", "owner=": "x"}),
}
KEPT = {"list/several", "tide/getTide", "*"}
HR, SALES = {"hr/getPay", "hr/listPeople"}, {"sales/sendQuote"}


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("names")
    written(folder, {**COMPANY, **HOSTILE})
    build_snapshot([str(folder / "sources.yaml"), str(folder / "odd")], folder / "store", encoder=HashingEncoder())
    return open_engine(folder / "store")


@pytest.mark.parametrize(
    ("rule", "seen"),
    [
        ({"filters": {"id": ["!hr/getPay"]}}, {"hr/listPeople", *SALES, *KEPT}),
        ({"filters": {"namespace": ["hr"]}}, HR),
        ({"filters": {"namespace": ["hr*", "sales"]}}, HR | SALES),
        ({"filters": {"source": ["hr"]}}, HR),
        ({"filters": {"owner": ["people team"]}}, HR),
        ({"filters": {"owner": ["people team=x"]}}, set()),
        ({"filters": {"department": ["*", "!People"]}}, {*SALES, "tide/getTide", "*"}),
        ({"filters": {"department": ["Nobody", "!People"]}}, set()),
        ({"filters": {"department": ["*"]}, "exclude": {"department": ["People"]}}, {*SALES, "tide/getTide", "*"}),
        ({"exclude": {"namespace": ["hr*"], "id": ["sales/*"]}}, KEPT),
    ],
)
def test_a_policy_shows_what_it_says(engine: Any, tmp_path: Path, rule: dict[str, Any], seen: set[str]) -> None:
    policy = write_policy(tmp_path / "policy.yaml", {"match": {"token": "a"}, "roles": ["read"], **rule})
    caller = read_policy(policy).caller(Identity(kind="token", name="a"))
    assert caller is not None
    part = engine.restricted(caller.filters)
    assert set(part.tool_ids(0, 100)) == seen
    assert {tool.id for tool in part.retriever("rrf").retrieve(Request(query="show a record", k=50)).tools} <= seen
