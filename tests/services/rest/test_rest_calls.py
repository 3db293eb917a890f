"""The gateway answers what the gRPC service answers, field by field, refuses what it refuses, and passes on who calls."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.protobuf.json_format import MessageToDict, Parse, ParseDict
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from egotools.v1 import egotools_pb2 as pb
from egotools.v1 import egotools_pb2_grpc as pb_grpc
from services.http.http_server import HTTP_STATUS
from tests.harness.engines import serving, small_engine, small_settings
from tests.harness.issuers import guarded_by
from tests.services.rest.gateways import gateway

QUERY: dict[str, Any] = {"query": "find a customer", "k": 2, "explain": True, "schema_format": "SCHEMA_FORMAT_OPENAI"}
BATCH: dict[str, Any] = {
    "requests": [QUERY, {"query": "…"}, {"query": "注文", "filters": {"namespace": {"values": ["erp"]}}}]
}
REQUESTS: tuple[tuple[str, str, str, dict[str, Any]], ...] = (
    ("Retrieve", "POST", "/v1/retrieve", QUERY),
    ("RetrieveBatch", "POST", "/v1/retrieve-batch", BATCH),
    ("GetTool", "GET", "/v1/tools/crm/get_customer", {"id": "crm/get_customer", "schema_format": "SCHEMA_FORMAT_MCP"}),
    (
        "Neighbors",
        "GET",
        "/v1/neighbors",
        {"node": "crm/get_customer", "predicates": ["has_parameter", "has_parameter"], "limit": 3},
    ),
    ("GetCatalog", "GET", "/v1/catalog", {"page_size": 2}),
    ("ReportOutcome", "POST", "/v1/outcomes", {"request_id": "a", "used": ["crm/get_customer"], "succeeded": True}),
    ("Plan", "POST", "/v1/plan", {"goals": ["crm/get_customer"], "have": {"name": "Acme"}}),
)
_OF_A_CALL = ("timings_ms", "request_id")  # differ between two calls


def _comparable(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _comparable(each) for key, each in value.items() if key not in _OF_A_CALL}
    return [_comparable(each) for each in value] if isinstance(value, list) else value


def _all_fields(message: Message) -> Any:
    return _comparable(
        MessageToDict(message, preserving_proto_field_name=True, always_print_fields_with_no_presence=True)
    )


async def _ask_grpc(target: str, method: str, body: Any, metadata: Any = ()) -> Any:
    described: Any = pb.DESCRIPTOR.services_by_name["ToolRetrieval"].methods_by_name[method].input_type
    kind = GetMessageClass(described)
    async with grpc.aio.insecure_channel(target) as channel:
        ask = getattr(pb_grpc.ToolRetrievalStub(channel), method)
        return await ask(ParseDict(body, kind()), metadata=metadata, timeout=20)


async def _ask_rest(client: Any, verb: str, path: str, body: Any, headers: Any = None) -> Any:
    if verb == "POST":
        return await client.post(path, json=body, headers=headers)
    return await client.get(path, params={key: each for key, each in body.items() if key != "id"}, headers=headers)


async def test_each_answer_has_the_fields_of_the_service_s(tmp_path: Path) -> None:
    async with serving(outcomes={"": tmp_path / "outcomes.jsonl"}) as server, gateway(server.address) as client:
        request_id = (await client.post("/v1/retrieve", json=QUERY)).json()["request_id"]
        for method, verb, path, asked in REQUESTS:
            body = asked | {"request_id": request_id} if method == "ReportOutcome" else asked
            said = await _ask_grpc(server.address, method, body)
            answer = await _ask_rest(client, verb, path, body)
            assert answer.status_code == 200, answer.text
            assert _all_fields(Parse(answer.text, type(said)())) == _all_fields(said), method  # any proto3 JSON reader
            assert _numbers_as_texts(_comparable(json.loads(answer.text)), _all_fields(said)), method
            if method != "ReportOutcome":
                assert answer.headers["egotools-snapshot"] == server.catalogs.state("").engine.snapshot_id  # type: ignore[union-attr]


def _numbers_as_texts(rest: Any, proto: Any) -> bool:
    """Whether two values are equal, but that proto3 JSON writes some numbers as texts."""
    if isinstance(rest, dict):
        return rest.keys() == proto.keys() and all(_numbers_as_texts(rest[key], proto[key]) for key in rest)
    if isinstance(rest, list):
        return len(rest) == len(proto) and all(map(_numbers_as_texts, rest, proto))
    return bool(rest == proto or (isinstance(rest, int) and str(rest) == proto))


HALF = "\ud800"  # of a character: JSON can write it, UTF-8 cannot


@pytest.mark.parametrize(
    ("path", "body", "subject", "detail"),
    [
        ("/v1/retrieve", {"query": "a", "limit": 3}, "limit", "there is no such field."),
        ("/v1/retrieve", {"query": "a", "k": "x"}, "k", "it must be a whole number of 32 bits."),
        ("/v1/retrieve", {"query": "a", "k": 1.5}, "k", "it must be a whole number of 32 bits."),
        ("/v1/retrieve", {"query": "a", "explain": "yes"}, "explain", "it must be true or false."),
        ("/v1/retrieve", {"query": "a", "schema_format": "pdf"}, "schema_format", f"it must be one of {', '.join(pb.SchemaFormat.keys())}."),
        ("/v1/retrieve", {}, "query", "there is neither a need nor a query with a letter or digit."),
        ("/v1/retrieve", {"needs": ["7"]}, "needs[0]", None),
        ("/v1/retrieve-batch", {}, "requests", "a batch has 1 to 64 requests, not 0."),
        ("/v1/retrieve", {"query": "a", "filters": {"x": {"value": []}}}, "filters.value", "there is no such field."),
        ("/v1/retrieve-batch", {"requests": [{"query": "a"}, {"query": 1}]}, "requests.query", "it must be a text."),
        ("/v1/retrieve-batch", {"requests": [{"query": "a", "needs": "b"}]}, "requests.needs", "it must be a list, each a text."),
        ("/v1/retrieve", {"query": "a", "filters": [1]}, "filters", "it must be an object."),
        ("/v1/retrieve", {f"field{number}": 1 for number in range(50_000)}, "field0", "there is no such field."),
        ("/v1/retrieve", {"query": HALF}, "query", "it holds half of a character."),
        ("/v1/retrieve", {"query": "a", "have": {HALF: "a"}}, "have", "it holds half of a character."),
        ("/v1/plan", {"goals": [HALF]}, "goals", None),
        ("/v1/outcomes", {"request_id": "a", "used": [HALF]}, "used", None),
    ],
)  # fmt: skip
async def test_an_invalid_field_is_named(path: str, body: Any, subject: str, detail: str | None) -> None:
    async with serving() as server, gateway(server.address) as client:
        answer = await client.post(path, content=json.dumps(body), headers={"content-type": "application/json"})
    problem = answer.json()
    assert (answer.status_code, answer.headers["content-type"]) == (400, "application/problem+json")
    assert problem["subject"] == subject
    assert detail is None or problem["detail"] == detail
    assert (problem["type"], problem["title"], problem["status"]) == ("about:blank", "Bad Request", 400)
    assert problem["reason"] == "INVALID_ARGUMENT" and "instance" not in problem


async def test_errors_of_the_service_become_problems() -> None:
    def fail(request: Any) -> None:
        raise RuntimeError("no caller may read this")

    engine = small_engine()
    async with serving(engine) as server, gateway(server.address) as client:
        engine.hook = fail
        missing = await client.get("/v1/tools/crm/none")
        assert missing.status_code == 404
        assert missing.json() == {
            "type": "about:blank",
            "title": "Not Found",
            "status": 404,
            "detail": "the catalogue has no such tool.",
            "remedy": "Search for it by what it does.",
            "reason": "NOT_FOUND",
            "subject": "crm/none",
        }
        stale = await client.get("/v1/tools/crm/get_customer", params={"min_snapshot": "another"})
        assert (stale.status_code, stale.json()["reason"]) == (409, "STALE_SNAPSHOT")
        bug = (await client.post("/v1/retrieve", json={"query": "customer"})).json()
        assert bug["status"] == 500 and bug["instance"].startswith("/incidents/") and "no caller" not in str(bug)
        assert bug["instance"].removeprefix("/incidents/") in bug["detail"]
        nothing = await client.get("/v1/nothing")
        assert (nothing.status_code, nothing.json()["status"]) == (404, 404)
        other = await client.put("/v1/plan", json={})
        assert (other.status_code, other.headers["allow"]) == (405, "POST")
        port = server.address
        await server.stop(0)
        gone = await client.post("/v1/retrieve", json={"query": "customer"}, headers={"egotools-timeout-ms": "1500"})
        assert gone.status_code in (503, 504)
        assert port.partition(":")[2] not in gone.text
        assert (await client.get("/readyz")).status_code == 503
        assert (await client.get("/livez")).status_code == 200


async def test_the_access_of_each_route_is_that_of_the_service(tmp_path: Path) -> None:
    access, made = guarded_by(
        tmp_path,
        reader={"roles": ["read"], "tenants": ["*"]},
        sales={"roles": ["read"], "tenants": ["*"], "filters": {"namespace": ["erp"]}},
        publisher={"roles": ["admin"], "tenants": ["*"]},
        other={"roles": ["read"], "tenants": ["globex"]},
    )
    tokens = {"none": "", "bad": "no-token", **made}
    settings = small_settings(**access)
    found: dict[tuple[str, str], int] = {}
    async with (
        serving(small_engine(), settings, outcomes={"": tmp_path / "outcomes.jsonl"}) as server,
        gateway(server.address) as client,
    ):
        for name, token in tokens.items():
            headers = {"authorization": f"Bearer {token}"} if token else {}
            for method, verb, path, body in REQUESTS:
                try:
                    await _ask_grpc(server.address, method, body, tuple(headers.items()))
                    code = "OK"
                except grpc.aio.AioRpcError as error:
                    code = error.code().name
                answer = await _ask_rest(client, verb, path, body, headers)
                found[name, method] = answer.status_code
                assert answer.status_code == (200 if code == "OK" else HTTP_STATUS[code]), (name, method, answer.text)
        assert (await client.get("/livez")).status_code == (await client.get("/readyz")).status_code == 200
        cyrillic = await client.get("/v1/catalog", headers={b"authorization": "Bearer жетон".encode()})
        assert cyrillic.status_code == 401
        wrong_tenant = await client.get(
            "/v1/catalog", headers={"authorization": f"Bearer {tokens['other']}", "egotools-tenant": "acme"}
        )
        assert wrong_tenant.status_code == 403
    by_token = {name: {found[name, method] for method, *_ in REQUESTS} for name in tokens}
    assert by_token["none"] == by_token["bad"] == {401}
    refused = [method for method, *_ in REQUESTS if found["reader", method] != 200]
    assert refused == ["ReportOutcome"], "its id is made up"
    assert by_token["publisher"] == {403}
    assert found["sales", "GetTool"] == 404 and found["sales", "Retrieve"] == 200
