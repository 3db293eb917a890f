"""``egotools call``: what it shows, when it asks, what it sends, and its exit codes; against servers on loopback."""

import io
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from inference import HashingEncoder
from services.jobs.build import build_snapshot
from tests.harness.commands import Run
from tests.harness.http_server import Arrived, Loopback, Reply
from tests.harness.servers import running_server

SECRET = "s3cr3tkey"
DOCUMENT = """
openapi: 3.0.3
info: {title: Shop, version: '1'}
servers: [{url: /api}]
components:
  securitySchemes:
    key: {type: apiKey, in: query, name: api_key}
    login: {type: http, scheme: basic}
security: [{key: []}, {login: []}]
paths:
  /orders/{id}:
    get:
      operationId: getOrder
      summary: Show an order
      parameters: [{name: id, in: path, required: true, schema: {type: integer}}]
    delete:
      operationId: cancelOrder
      summary: Cancel an order
      parameters: [{name: id, in: path, required: true, schema: {type: integer}}]
"""


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("call")
    (folder / "shop.yaml").write_text(DOCUMENT, encoding="utf-8")
    build_snapshot([str(folder / "shop.yaml")], folder / "store", encoder=HashingEncoder())
    return folder / "store"


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_KEY", SECRET)
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))  # no terminal


def answer(arrived: Arrived) -> Reply:
    if arrived.target.startswith("/api/orders/404"):
        return Reply(status=404, body=b'{"error": "no such order"}')
    return Reply(body=json.dumps({"did": f"{arrived.method} {arrived.path}", "bell": "\x1b[31m"}).encode())


@pytest.fixture
def shop() -> Iterator[Loopback]:
    with Loopback(answer) as server:
        yield server


KEY = ("--credential", "key=${SHOP_KEY}")


def test_a_call_that_only_reads_is_shown_and_sent(run: Run, store: Path, shop: Loopback) -> None:
    code, out, err = run("call", "shop/getOrder", "--store", store, "-a", '{"id": 7}', "--base-url", shop.url, *KEY)
    assert (code, err) == (0, "")
    assert f"GET {shop.url}/api/orders/7?api_key=***" in out
    assert "200 OK" in out
    assert '"did": "GET /api/orders/7"' in out
    assert SECRET not in out
    assert "\x1b" not in out
    assert shop.only.query == [("api_key", SECRET)]


def test_a_dry_run_sends_nothing(run: Run, store: Path, shop: Loopback) -> None:
    for more in ((), ("--json",)):
        code, out, _ = run("call", "shop/cancelOrder", "--store", store, "-a", '{"id": 7}', "--base-url", shop.url,
                           *KEY, "--dry-run", *more)  # fmt: skip
        assert code == 0
        assert "DELETE" in out
        assert SECRET not in out
    assert shop.arrived == []


def test_a_call_that_may_change_something_needs_a_yes(run: Run, store: Path, shop: Loopback) -> None:
    command = ("call", "shop/cancelOrder", "--store", store, "-a", '{"id": 7}', "--base-url", shop.url, *KEY)
    code, _, err = run(*command)
    assert code == 2
    assert "no terminal to confirm it" in err
    assert shop.arrived == []
    code, out, _ = run(*command, "--yes")
    assert code == 0
    assert "DELETE /api/orders/7" in out
    assert shop.only.method == "DELETE"


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("-a", "{"), 2, "this is no JSON"),
        (("-a", "[1]"), 2, "no JSON object"),
        (("-a", "@/no/such/file"), 2, "cannot be read"),
        (("-a", '{"id": "x"}'), 2, "id: the value is a string, not an integer"),
        (("-a", '{"id": 7}', "--file", "photo"), 2, "is not NAME=PATH"),
        (("-a", '{"id": 7}', "--credential", "key=${NO_SUCH_VARIABLE}"), 2, "no variable NO_SUCH_VARIABLE"),
        (("-a", '{"id": 7}', "--credential", "key=@/no/such/file"), 2, "cannot be read"),
        (("-a", '{"id": 7}', "--credential", SECRET), 2, "not NAME=REFERENCE"),
        (
            ("-a", '{"id": 7}', *KEY, "--credential", "kay=${SHOP_KEY}"),
            2,
            "--credential: the call has no scheme 'kay'. Its schemes: key, login",
        ),
        (("-a", '{"id": 7}'), 2, "the call needs a credential: 'key' (apiKey in the query api_key) or 'login' (basic)"),
        (
            ("-a", '{"id": 7}', "--credential", "shop.key=${SHOP_KEY}"),
            2,
            "the server of the document is relative: /api",
        ),
        (("-a", '{"id": 7}', *KEY, "--base-url", f"http://me:{SECRET}@127.0.0.1"), 2, "holds a user name"),
        (("-a", '{"id": 7}', *KEY, "--base-url", "http://127.0.0.1:9"), 16, "cannot be reached"),
    ],
)
def test_what_is_wrong_is_said_and_no_secret_is_repeated(
    run: Run, store: Path, arguments: tuple[str, ...], code: int, said: str
) -> None:
    if "credential" in said and "--base-url" not in arguments:
        arguments = (*arguments, "--base-url", "http://127.0.0.1:9")
    found, out, err = run("call", "shop/getOrder", "--store", store, *arguments)
    assert said in err
    assert found == code
    assert SECRET not in out + err


def test_a_misspelt_id_is_answered_with_near_ones(run: Run, store: Path) -> None:
    for command in (("call", "shop/getOrdr"), ("plan", "an order", "--goal", "shop/getOrdr")):
        code, _, err = run(*command, "--store", store)
        assert code == 7 and "shop/getOrdr: the catalogue has no such tool. Perhaps it is shop/getOrder" in " ".join(
            err.split()
        )


def test_an_error_of_the_tool_has_its_own_exit_code(run: Run, store: Path, shop: Loopback) -> None:
    code, out, err = run("call", "shop/getOrder", "--store", store, "-a", '{"id": 404}', "--base-url", shop.url, *KEY)
    assert code == 16
    assert "no such order" in out
    assert "404 Not Found" in err


@pytest.fixture(scope="module")
def served(store: Path) -> Iterator[str]:
    with running_server(store) as server:
        yield server.address


def test_a_tool_of_a_running_server(run: Run, served: str, shop: Loopback) -> None:
    code, out, _ = run("call", "shop/getOrder", "--server", served, "-a", '{"id": 7}', "--base-url", shop.url, *KEY)
    assert code == 0
    assert '"did": "GET /api/orders/7"' in out
    assert run("call", "shop/paintOrder", "--server", served)[0] == 7


def test_a_document_gets_neither_a_credential_nor_an_address_inside(run: Run, tmp_path: Path, shop: Loopback) -> None:
    (tmp_path / "inner.yaml").write_text(DOCUMENT.replace("/api", f"{shop.url}/api", 1), encoding="utf-8")
    store = tmp_path / "inner"
    build_snapshot([str(tmp_path / "inner.yaml")], store, encoder=HashingEncoder())
    command = ("call", "inner/getOrder", "--store", store, "-a", '{"id": 7}')
    code, _, err = run(*command, *KEY)
    assert (code, "not sent to the server that the document names" in err) == (2, True), err
    bound = (*command, "--credential", "inner.key=${SHOP_KEY}")
    code, _, err = run(*bound)
    assert (code, "no public address" in err, "--allow-network" in err) == (23, True, True), err
    assert shop.arrived == []
    code, _, err = run(*bound, "--allow-network", "127.0.0.0/8")
    assert (code, len(shop.arrived)) == (0, 1), err


@pytest.mark.parametrize(
    ("decision", "code", "said"), [("deny", 23, "policy"), ("ask", 2, "no terminal"), ("allow", 0, "")]
)
def test_a_policy_stands_above_yes(
    run: Run, store: Path, shop: Loopback, tmp_path: Path, decision: str, code: int, said: str
) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text(f"rules:\n  - {{tool: shop/get*, decision: {decision}}}", encoding="utf-8")
    found, _, err = run("call", "shop/getOrder", "--store", store, "-a", '{"id": 7}', "--base-url", shop.url, *KEY,
                        "--policy", policy, "--yes")  # fmt: skip
    assert (found, said in err, len(shop.arrived)) == (code, True, int(code == 0)), err
