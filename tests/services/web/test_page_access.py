"""Who may use the page, and from where: tokens in headers, roles, tenants, other sites, host names, TLS."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from ontology.errors import InvalidArgumentError
from services.server.settings import ServerSettings
from services.web.web_page import POLICY
from tests.harness.engines import small_settings
from tests.harness.issuers import Authority, guarded_by, write_pair
from tests.harness.waiting import until
from tests.services.web.demo_plan import DemoPlan
from tests.services.web.web_pages import web_page

QUERY = {"query": "open orders of a customer"}


def closed(folder: Path, **changed: object) -> tuple[ServerSettings, dict[str, str]]:
    """Settings with access control, and the tokens by name."""
    access, tokens = guarded_by(
        folder,
        reader={"roles": ["read"], "tenants": ["*"]},
        admin={"roles": ["read", "admin"], "tenants": ["*"]},
        sales={"roles": ["read"], "tenants": ["*"], "filters": {"namespace": ["sales"]}},
        elsewhere={"roles": ["read", "admin"], "tenants": ["elsewhere"]},
    )
    return small_settings(drain_s=0.0, **access, **changed), tokens


@asynccontextmanager
async def page(
    store: Path,
    plan: DemoPlan | None = None,
    settings: ServerSettings | None = None,
    *,
    token: str = "",
    **options: Any,
) -> AsyncIterator[httpx.AsyncClient]:
    """A client of the page of a store, which sends a token as a proxy does; the options are those of ``web_page``."""
    headers = {"authorization": f"Bearer {token}"} if token else {}
    async with (
        web_page(store, plan, settings, **options) as address,
        httpx.AsyncClient(base_url=address, trust_env=False, headers=headers) as client,
    ):
        yield client


async def sign_in(client: httpx.AsyncClient, token: str) -> dict[str, object]:
    """Send a token from now on, as a proxy does; an empty one: none."""
    client.headers.pop("authorization", None)
    if token:
        client.headers["authorization"] = f"Bearer {token}"
    session: dict[str, object] = (await client.get("/api/session")).json()
    return session


async def test_without_a_token_nothing_is_shown(web_store: Path, tmp_path: Path) -> None:
    settings, _ = closed(tmp_path)
    async with page(web_store, DemoPlan(), settings) as client:
        for path in ("/api/catalog", "/api/tool?id=x", "/api/neighbors?node=x"):
            assert (await client.get(path)).status_code == 401
        for path in ("/api/retrieve", "/api/plan", "/api/runs"):
            assert (await client.post(path, json=QUERY)).status_code == 401
        assert (await client.get("/")).status_code == 200
        session = await sign_in(client, "egt_wrong")
        assert session["problem"]


async def test_a_header_is_as_good_and_filters_hold(web_store: Path, tmp_path: Path) -> None:
    settings, tokens = closed(tmp_path)
    async with page(web_store, None, settings, token=tokens["sales"]) as client:
        tools = (await client.post("/api/retrieve", json={**QUERY, "k": 50})).json()["tools"]
        assert {tool["namespace"] for tool in tools} == {"sales"}
        plan = (await client.post("/api/plan", json=QUERY)).json()
        assert {step["tool_id"].split("/")[0] for step in plan["steps"]} == {"sales"}
        assert (await client.get("/api/tool", params={"id": "hostile/mark_customer"})).status_code == 404


async def test_who_is_of_one_tenant_sees_no_other(web_store: Path, tmp_path: Path) -> None:
    settings, tokens = closed(tmp_path)
    async with page(web_store, None, settings, token=tokens["elsewhere"]) as client:
        answer = await client.get("/api/catalog")
        assert answer.status_code in (404, 501)
        assert "hostile" not in answer.text


async def test_a_run_is_answered_with_its_events(web_store: Path) -> None:
    async with page(web_store, DemoPlan()) as client:
        run = await client.post("/api/runs", json=QUERY)
        assert run.headers["content-type"].startswith("text/event-stream")
        assert '"event": "Answered"' in run.text.strip().splitlines()[-1]
        for wrong, status in (({"query": "x", "domain": "none"}, 400), ({"query": ""}, 400)):
            assert (await client.post("/api/runs", json=wrong)).status_code == status


async def test_a_page_that_is_left_ends_its_run(web_store: Path) -> None:
    plan = DemoPlan()
    async with page(web_store, plan) as client:
        async with client.stream("POST", "/api/runs", json={"query": "wait"}) as run:
            plan.steps.release()
            assert await anext(run.aiter_lines())
        await until(lambda: plan.cancelled == 1)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"host": "evil.example"}, 421),
        ({"host": "127.0.0.1.evil.example"}, 421),
        ({"host": "evil.example@127.0.0.1"}, 421),
        ({"host": "[::1]x"}, 421),
        ({"origin": "https://evil.example"}, 403),
        ({"origin": "http://["}, 403),
        ({"sec-fetch-site": "cross-site"}, 403),
        ({"sec-fetch-site": "same-site"}, 403),
        ({"content-type": "text/plain"}, 400),
        ({}, 200),
    ],
)
async def test_what_comes_from_another_site_is_refused(
    web_store: Path, headers: dict[str, str | bytes], status: int
) -> None:
    async with page(web_store) as client:
        sent: dict[str, Any] = {"content-type": "application/json", **headers}
        answer = await client.post("/api/retrieve", content=b'{"query": "customer"}', headers=sent)
        assert answer.status_code == status
        assert answer.headers["content-security-policy"] == POLICY


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 400),
        (b"{", 400),
        (b'{"query": ""}', 400),
        (b'{"query": "a", "k": 101}', 400),
        (b'{"query": "a", "more": 1}', 400),
        (b'{"query": "%s"}' % (b"a" * 20_001), 400),
        (b"[" * 70_000, 413),
    ],
)
async def test_a_body_that_is_none_is_refused_by_name(web_store: Path, body: bytes, status: int) -> None:
    async with page(web_store) as client:
        answer = await client.post("/api/retrieve", content=body, headers={"content-type": "application/json"})
        assert answer.status_code == status
        assert status == 413 or answer.json()["error"]["message"]


async def test_the_page_follows_the_tls_of_its_server(web_store: Path, tmp_path: Path) -> None:
    certificate, key = write_pair(tmp_path, Authority().issue("server"))
    settings, tokens = closed(tmp_path, tls_cert=certificate, tls_key=key)
    async with page(web_store, None, settings, token=tokens["reader"]) as client:
        assert (await client.post("/api/retrieve", json=QUERY)).json()["tools"]


async def test_a_page_open_to_a_network_does_not_start(web_store: Path) -> None:
    from services.server.server import Server
    from services.web.web_page import WebSettings, serve_web

    server = Server(ServerSettings(port=0))
    with pytest.raises(InvalidArgumentError, match="beyond loopback"):
        async with serve_web(server, {"": web_store}, WebSettings(host="0.0.0.0", port=0)):
            pass
