"""The OpenAPI document says what the gateway does: schemathesis calls every operation, and the contract's fields are all there."""

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from egotools.v1 import egotools_pb2 as pb
from scripts.rest_document import rest_document
from tests.conftest import ROOT
from tests.harness.engines import serving
from tests.services.rest.gateways import gateway

CHECKS = (
    "not_a_server_error,status_code_conformance,content_type_conformance,response_headers_conformance,"
    "response_schema_conformance,negative_data_rejection,unsupported_method,allow_header_conformance"
)


@pytest.mark.slow
async def test_schemathesis_finds_nothing(tmp_path: Path) -> None:
    async with serving(outcomes={"": tmp_path / "outcomes"}) as server, gateway(server.address) as client:
        options = ["--phases", "coverage,fuzzing", "--seed", "16", "-n", "4", "--checks", CHECKS, "--no-color"]
        process = await asyncio.create_subprocess_exec(
            *(str(Path(sys.executable).with_name("schemathesis")), "run", f"{client.base_url}/openapi.json", *options),
            cwd=tmp_path,
            env={**os.environ, "SCHEMATHESIS_HOOKS": "tests.services.rest.schema_hooks", "PYTHONPATH": str(ROOT)},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        try:
            printed, _ = await asyncio.wait_for(process.communicate(), 300)
        finally:
            if process.returncode is None:
                process.kill()
    assert process.returncode == 0, printed.decode()


async def test_the_document_has_every_method_and_every_field_of_the_contract() -> None:
    async with serving() as server, gateway(server.address) as client:
        served = await client.get("/openapi.json")
    assert served.text == rest_document(), "run make stubs"
    document: dict[str, Any] = served.json()
    assert document["openapi"].startswith("3.1")
    operations = [each for path in document["paths"].values() for each in path.values()]
    methods = pb.DESCRIPTOR.services_by_name["ToolRetrieval"].methods
    assert {each["operationId"] for each in operations} == {each.name for each in methods} | {"Live", "Ready"}
    schemas = document["components"]["schemas"]
    in_query = {"GetToolRequest", "NeighborsRequest", "GetCatalogRequest"}
    described = {name: schema for name, schema in schemas.items() if name != "Problem"}
    assert set(described) == set(pb.DESCRIPTOR.message_types_by_name) - in_query
    for name, schema in described.items():
        fields = pb.DESCRIPTOR.message_types_by_name[name].fields
        assert set(schema.get("properties", {})) == {field.name for field in fields}, name
        assert all(each.get("description") for each in schema.get("properties", {}).values() if "$ref" not in each), (
            name
        )
        assert schema["description"], name
    for operation in operations:
        message = pb.DESCRIPTOR.message_types_by_name.get(f"{operation['operationId']}Request")
        if message is not None and message.name in in_query:
            named = {each["name"] for each in operation["parameters"] if each["in"] != "header"}
            assert named == {field.name for field in message.fields}
    assert schemas["RetrieveRequest"]["additionalProperties"] is False
    assert schemas["GetCatalogResponse"]["properties"]["tool_count"]["format"] == "int64"
