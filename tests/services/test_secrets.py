"""Twelve kinds of secret are planted into one build; no byte that is written, printed, logged or served has one of them.

The sources are MCP servers over stdio and HTTP, documents over HTTP, a Python module and files; each is read once with
success and once with a failure that repeats what it was given.
"""

import base64
import json
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT
from tests.harness.commands import Run
from tests.harness.http_server import Arrived, Loopback, Reply, as_json

# A key in JSON that a log line or a report would show as it is.
PRIVATE_KEY = "-----BEGIN RSA PRIVATE KEY-----\nMIIEplantedPRIVATEkey0123456789\n-----END RSA PRIVATE KEY-----"
SECRETS = {
    "key in an argument": "sk-plantedARGUMENT0123456789",
    "variable of a command": "glpat-plantedENV0123456789",
    "value of an environment variable": "planted-env-value-0123456789",
    "value of a header": "planted-header-value-0123456789",
    "password of an address": "plantedURLpassword0123456789",
    "key in a query": "plantedQUERYkey0123456789",
    "bearer token": "plantedBEARERtoken0123456789",
    "basic credentials": base64.b64encode(b"user:plantedBASIC0123456789").decode(),
    "AWS key id": "AKIAPLANTED012345678",
    "AWS secret": "plantedAWS/secret+0123456789abcdefghijklm",
    "JWT": "eyJplantedHEADER.eyJplantedPAYLOAD.plantedSIGNATURE",
    "private key in an example": PRIVATE_KEY,
    "password in a description": "plantedDESCRIPTION0123456789",
}
NEEDLES = {**SECRETS, "private key in an example": "MIIEplantedPRIVATEkey0123456789"}

SERVER = f"""
import os, sys
sys.path.insert(0, {str(ROOT)!r})
from tests.harness.plain_mcp import serve
given = " ".join(sys.argv[1:] + [value for name, value in os.environ.items() if name.startswith("PLANTED")])
sys.stderr.write("started with " + given + "\\n")
if "fail" in sys.argv:
    sys.exit("cannot log in with " + given)
ticket = {{"type": "string", "default": given}}
tool = {{"name": "find_ticket", "description": "Find a ticket. Configured with " + given,
        "inputSchema": {{"type": "object", "properties": {{"ticket_id": ticket}}}}}}
serve(given, lambda _: {{"tools": [tool]}}, lambda _: {{}})
"""


def openapi(text: str) -> dict[str, Any]:
    """A document that repeats a text, and has examples of keys and passwords as documents do."""
    properties = {
        "invoice_id": {"type": "string", "example": "INV-1"},
        "key": {"type": "string", "description": f"PEM key, {text}", "example": PRIVATE_KEY},
        "password": {"type": "string", "format": "password", "example": SECRETS["password in a description"]},
        "token": {"type": "string", "example": SECRETS["JWT"], "default": SECRETS["AWS key id"]},
    }
    description = f"Log in with password={SECRETS['password in a description']} at https://a:{SECRETS['password of an address']}@h/."
    body = {"content": {"application/json": {"schema": {"type": "object", "properties": properties}}}}
    operation = {
        "operationId": "findInvoice",
        "description": description,
        "requestBody": body,
        "responses": {"200": {"description": "ok", "content": body["content"]}},
    }
    return {
        "openapi": "3.0.0",
        "info": {"title": "Invoices", "version": "1"},
        "paths": {"/invoices": {"post": operation}},
    }


def answer(asked: Arrived) -> Reply:
    """A document that repeats the request, or an MCP server that repeats its headers; a failure repeats them in its status too."""
    given = " ".join(f"{asked.target} {asked.headers}".split())
    if "fail" in asked.path:
        return Reply(raw=f"HTTP/1.1 500 {given[:900]}\r\n\r\n".encode(), body=json.dumps(openapi(given)).encode())
    if asked.method == "GET":
        return as_json(openapi(given))
    message = asked.json
    tool = {"name": "find_user", "description": f"Find {given}", "inputSchema": {"type": "object"}}
    desk = {
        "protocolVersion": "2025-06-18",
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "desk", "version": "1"},
    }
    results: dict[str, Any] = {"initialize": desk, "tools/list": {"tools": [tool]}}
    told = (
        {"result": results[message["method"]]}
        if message["method"] in results
        else {"error": {"code": 1, "message": given}}
    )
    return as_json({"jsonrpc": "2.0", "id": message.get("id"), **told}, status=200 if "id" in message else 202)


@pytest.fixture
def web() -> Iterator[str]:
    with Loopback(answer) as server:
        yield server.url.removeprefix("http://")


@pytest.fixture
def planted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, web: str) -> list[str]:
    """The arguments of a build in which each secret stands somewhere."""
    pytest.importorskip("mcp")
    variables = {name: value for name, value in SECRETS.items() if "\n" not in value}
    names = {name: f"PLANTED_{number}" for number, name in enumerate(variables)}
    for name, variable in names.items():
        monkeypatch.setenv(variable, SECRETS[name])

    def of(name: str) -> str:
        return f"${{{names[name]}}}"

    (tmp_path / "server.py").write_text(SERVER, encoding="utf-8")
    (tmp_path / "documents").mkdir()
    (tmp_path / "documents" / "invoices.json").write_text(json.dumps(openapi("a text")), encoding="utf-8")
    (tmp_path / "planted_tools_for_test.py").write_text(
        "import os\ndef find_order(name: str) -> str: ...\nfind_order.__doc__ = 'Find an order. ' + os.environ['PLANTED_AWS']\n"
        "if 'FAIL' in os.environ: raise ValueError(os.environ['PLANTED_AWS'])\n",
        encoding="utf-8",
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "bearer").write_text(SECRETS["bearer token"] + "\n", encoding="utf-8")
    command = [sys.executable, str(tmp_path / "server.py")]
    env = {"PLANTED_VALUE": of("value of an environment variable"), "PLANTED_JWT": of("JWT")}
    aws = {"PLANTED_AWS": of("AWS secret"), "PLANTED_AWS_ID": of("AWS key id")}
    headers = {"X-Planted": of("value of a header"), "Authorization": f"Basic {of('basic credentials')}"}
    bearer = {"X-Bearer": {"file": "bearer"}}
    sources: list[dict[str, Any]] = []
    for name, word in (("good", "run"), ("bad", "fail")):
        query = f"?key={of('key in a query')}"
        user = f"user:{of('password of an address')}@"
        sources += [
            {
                "name": f"desk-{name}",
                "location": {"mcp": [*command, word, "--api-key", of("key in an argument")]},
                "env": env,
            },
            {"name": f"web-{name}", "location": f"http://{web}/{word}{query}", "headers": headers, "owner": "finance"},
            {"name": f"user-{name}", "location": f"http://{user}{web}/{word}", "headers": bearer},
            {"name": f"http-{name}", "location": f"mcp+http://{web}/{word}{query}", "headers": headers},
            {
                "name": f"code-{name}",
                "location": "python:planted_tools_for_test",
                "env": aws | ({"FAIL": "yes"} if word == "fail" else {}),
            },
        ]
    listed = f"sources: {json.dumps(sources)}\n"  # JSON is YAML
    (tmp_path / "sources.yaml").write_text(listed, encoding="utf-8")
    secret = SECRETS["variable of a command"]
    given = f"env PLANTED_TOKEN={secret} {shlex.join(command)} %s --api-key {SECRETS['key in an argument']}"
    return [
        str(tmp_path / "sources.yaml"),
        str(tmp_path / "documents"),
        f"mcp:{given % 'run'}",
        f"named=mcp:{given % 'fail'}",
        f"http://user:{SECRETS['password of an address']}@{web}/run?key={SECRETS['key in a query']}#{SECRETS['JWT']}",
        f"mcp+http://user:{SECRETS['password of an address']}@{web}/fail?key={SECRETS['key in a query']}",
    ]


def assert_no_secret(content: bytes | str, where: str) -> None:
    """Fails when a secret stands in the content, also as JSON writes it."""
    raw = content if isinstance(content, bytes) else content.encode()
    found = [
        name for name, needle in NEEDLES.items() if needle.encode() in raw or json.dumps(needle)[1:-1].encode() in raw
    ]
    assert found == [], f"{where} has: {', '.join(found)}"


def test_no_secret_is_written_printed_logged_or_served(
    tmp_path: Path, planted: list[str], run: Run, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    store = tmp_path / "store"
    for options in ([], ["--json"]):
        code, out, error = run("--verbose", "build", *planted, "--out", store, "--encoder", "hashing.v1", *options)
        assert code == 0, error
        assert_no_secret(out + error, f"what build {options} prints")
    report = json.loads(out)
    assert report["rejected_tools"]["by_reason"].keys() >= {"unreachable", "not-importable", "unreadable"}
    assert {source["name"]: source["tools"] for source in report["sources"]} == {
        **{f"{kind}-bad": 0 for kind in ("desk", "web", "user", "http", "code")},
        "named": 0,
        "http-good": 1,
        "desk-good": 1,
        "web-good": 1,
        "user-good": 1,
        "code-good": 1,
    }
    namespaces = {name for source in report["sources"] for name in source["namespaces"]}
    assert namespaces == {"desk-good", "web-good", "user-good", "http-good", "code-good"}

    code, out, error = run("build", *planted, "--out", tmp_path / "strict", "--encoder", "hashing.v1", "--strict")
    assert code == 4
    assert_no_secret(out + error, "the error of a strict build")
    commands: tuple[list[Any], ...] = (
        ["validate", *planted],
        ["validate", *planted[1:], "--json"],
        ["build", planted[3], planted[5], "--out", tmp_path / "none"],
        ["search", "find a ticket", "--store", store, "--json"],
        ["search", "find a ticket", "--store", store],
        ["show", "find_ticket", "--store", store],
        *(["export", tmp_path / f"graph.{ending}", "--store", store] for ending in ("json", "ttl")),
    )
    for command in commands:
        _, out, error = run(*command)
        assert_no_secret(out + error, f"what {command[0]} prints")
    assert_no_secret(caplog.text, "the log")
    written = [path for folder in (store, tmp_path / "strict") for path in folder.rglob("*") if path.is_file()]
    written += list(tmp_path.glob("graph.*"))
    assert {"cache.sqlite", "manifest.json", "tools.jsonl", "graph.json"} <= {path.name for path in written}
    for path in written:
        assert_no_secret(path.read_bytes(), str(path))
