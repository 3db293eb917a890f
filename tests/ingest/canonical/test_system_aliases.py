"""Aliases of systems: which names are found, which name nothing, and what two systems share."""

from collections.abc import Mapping

import pytest

from egotools.call import Call
from ingest.canonical.canonicalize import system_aliases
from ingest.graph import node_key
from ontology import Provenance, Tool, Triple


def tool(title: str, namespace: str = "docs", host: str = "", **metadata: str) -> Tool:
    call = Call(protocol="http", servers=(f"https://{host}/v1",)) if host else None
    named = {"api": title, "namespace": namespace, **metadata}
    return Tool(id=f"{namespace}/{title}", name="list", metadata=named, call=call)


def aliases(
    *tools: Tool, given: Mapping[str, tuple[str, ...]] = {}, entities: tuple[str, ...] = ()
) -> dict[str, set[str]]:
    """The aliases of each system, by the canonical name of the system."""
    triples = [
        Triple(
            head=one.id,
            head_type="tool",
            predicate=predicate,
            tail=tail,
            tail_type=type_,
            confidence=1.0,
            provenance=Provenance(one.id, "name", "test.v1"),
        )
        for one in tools
        for predicate, tail, type_ in (
            ("has_system", str(one.metadata["api"]).lower(), "system"),
            *(("has_entity", entity, "business_object") for entity in entities),
        )
    ]
    found = system_aliases(tools, triples, given)
    names = [str(one.metadata["api"]).lower() for one in tools]
    return {name: {alias for alias, _ in found[node_key("system", name)]} for name in names}


def test_name_product_and_vendor() -> None:
    assert aliases(tool("Acme CRM API", host="api.acme.com")) == {"acme crm api": {"acme crm", "acme"}}
    assert aliases(tool("Spotify Web API v1")) == {"spotify web api v1": {"spotify"}}
    assert aliases(tool("Blue Yonder Forecast API", host="api.blueyonder.com"))["blue yonder forecast api"] >= {
        "blue yonder"
    }


@pytest.mark.parametrize("title", ["REST API", "The API", "Service v2", "Orders API", "Web Service Gateway"])
def test_generic_and_everyday_words_are_no_aliases(title: str) -> None:
    assert aliases(tool(title, "openapi", host="api.example.com")) == {title.lower(): set()}


def test_an_alias_of_two_systems_is_left_out() -> None:
    sales, billing = tool("Acme CRM API", "a", "api.acme.com"), tool("Acme Billing API", "b", "billing.acme.com")
    assert aliases(sales, billing) == {"acme crm api": {"acme crm"}, "acme billing api": {"acme billing"}}
    own = tool("Acme", "c", "acme.com")
    assert aliases(sales, own)["acme crm api"] == {"acme crm"}, "it is another system's own name"


def test_what_the_owner_gives_is_kept() -> None:
    sales, billing = tool("Acme CRM API", "a", "api.acme.com"), tool("Billing API", "b")
    given = {"a": ("Client Book",), "b": ("acme", "api")}
    found = aliases(sales, billing, given=given)
    assert found == {"acme crm api": {"client book", "acme crm"}, "billing api": {"acme"}}
    both = {"a": ("back office",), "b": ("back office",)}
    assert all("back office" in names for names in aliases(sales, billing, given=both).values())
