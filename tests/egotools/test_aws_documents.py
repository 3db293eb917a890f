"""AWS operations called through their tools, against a server on loopback that knows the model of the service."""

import base64
import json
from typing import Any

import pytest

from egotools import Tool
from egotools.calling.aws_invoker import AwsInvoker
from ingest.sources import read_catalog
from tests.harness.http_server import Loopback
from tests.harness.waiting import LIMIT_S

pytest.importorskip("botocore", reason="the extra aws is not installed")

BLOB = base64.b64decode("AAECAw==")


@pytest.fixture(scope="module")
def session() -> Any:
    from botocore.session import Session

    session = Session()
    session.set_credentials("AKIDEXAMPLE", "secret")
    session.set_config_variable("region", "eu-west-1")
    return session


async def test_bytes_arrive_as_they_are_meant(session: Any) -> None:
    """A blob is base64 in the JSON of arguments; the service gets the bytes, not the text encoded once more."""
    (tool,) = [tool for tool in read_catalog(["aws:kinesis"]).tools if tool.name == "PutRecord"]
    assert tool.call is not None
    known = Tool(id=tool.id, name=tool.name, title="", description="", namespace="kinesis", call=tool.call)
    arguments = {"Data": base64.b64encode(BLOB).decode(), "PartitionKey": "k", "StreamName": "s"}
    with Loopback() as server:
        await AwsInvoker(endpoint_url=server.url, session=session, timeout_s=LIMIT_S).invoke(known, arguments)
    assert base64.b64decode(json.loads(server.only.body)["Data"]) == BLOB
