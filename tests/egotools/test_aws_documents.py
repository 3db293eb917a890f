"""AWS operations called through their tools, against a server on loopback that knows the model of the service."""

from __future__ import annotations

import base64
import json
import random
import re
from typing import Any
from urllib.parse import parse_qsl, unquote

import pytest

from egotools import AwsCall, build_request
from egotools.calling.send_call import send_aws
from ingest.sources import read_catalog
from tests.egotools.schema_samples import sample_arguments
from tests.harness.http_server import Arrived, Loopback, Reply
from tests.harness.waiting import LIMIT_S

pytest.importorskip("botocore", reason="the extra aws is not installed")

BLOB = base64.b64decode("AAECAw==")


class ModelServer:
    """Finds the operation of a request in the model of a service, and refuses what the model does not have."""

    def __init__(self, service: Any) -> None:
        self._service = service
        self.operation = ""
        self.read: dict[str, Any] = {}
        self.problems: list[str] = []

    def __call__(self, arrived: Arrived) -> Reply:
        self.problems = []
        protocol = self._service.metadata["protocol"]
        if protocol == "json":
            self.operation = arrived.headers["x-amz-target"].rpartition(".")[2]
            self.read = json.loads(arrived.body)
        elif protocol in ("query", "ec2"):
            fields = dict(parse_qsl(arrived.body.decode(), keep_blank_values=True))
            self.operation = fields.pop("Action")
            fields.pop("Version")
            self.read = fields
        else:
            self._route(arrived)
        if self.operation:
            self._check(protocol)
        xml = f"<{self.operation}Response><{self.operation}Result/></{self.operation}Response>"
        return Reply(body=b"{}" if "json" in protocol else xml.encode())

    def _route(self, arrived: Arrived) -> None:
        self.operation, self.read = "", {}
        best = ""
        for name in self._service.operation_names:
            http = self._service.operation_model(name).http
            path, _, query = http["requestUri"].partition("?")
            pattern = re.sub(
                r"\\\{(\w+)(\\\+)?\\\}", lambda m: f"(?P<{m[1]}>{'.+' if m[2] else '[^/]+'})", re.escape(path)
            )
            match = re.fullmatch(pattern, arrived.path)
            fixed = {part.partition("=")[0] for part in query.split("&") if part}
            if http["method"] == arrived.method and match and fixed <= dict(arrived.query).keys():
                if not best or (len(fixed), -path.count("{")) > (best.count("?"), -best.count("{")):
                    best, self.operation = path + "?" * len(fixed), name
                    self.read = {key: unquote(value) for key, value in match.groupdict().items()}
        assert self.operation, f"no operation for {arrived.method} {arrived.target}"
        members = self._service.operation_model(self.operation).input_shape.members
        names = {shape.serialization.get("name", key): key for key, shape in members.items()}
        self.read = {names.get(name, name): value for name, value in self.read.items()}
        payload = self._service.operation_model(self.operation).input_shape.serialization.get("payload")
        body = json.loads(arrived.body) if arrived.body.startswith(b"{") and not payload else {}
        self.read |= {names.get(name, name): value for name, value in body.items()}
        self.read |= {names[name]: value for name, value in arrived.query if name in names}
        headers = {key.lower(): member for key, member in names.items()}
        self.read |= {headers[name]: value for name, value in arrived.headers.items() if name in headers}
        if payload:
            is_structure = members[payload].type_name == "structure"
            self.read[payload] = json.loads(arrived.body) if is_structure and arrived.body else arrived.body

    def _check(self, protocol: str) -> None:
        shape = self._service.operation_model(self.operation).input_shape
        if protocol in ("query", "ec2"):
            tops = {name.partition(".")[0] for name in self.read}
            names = {
                member.serialization.get("name", name) if protocol == "query" else _ec2_name(name, member): name
                for name, member in (shape.members if shape is not None else {}).items()
            } | {name: name for name in (shape.members if shape is not None else {})}
            self.problems += [f"unknown {top}" for top in tops if top not in names]
            self.read = {names.get(top, top): True for top in tops}
        elif shape is not None:
            self._check_value(self.read, shape, self.operation)
            missing = [name for name in shape.required_members if name not in self.read]
            self.problems += [f"missing {name}" for name in missing]

    def _check_value(self, value: Any, shape: Any, where: str) -> None:
        """What is in a JSON body has the types of the model."""
        kinds = {
            "structure": dict,
            "string": str,
            "map": dict,
            "list": list,
            "boolean": bool,
            "integer": int,
            "long": int,
        }
        if getattr(shape, "is_document_type", False) or isinstance(value, str | bytes):
            return  # in URLs and headers all is text
        wanted = kinds.get(shape.type_name)
        if wanted is not None and not isinstance(value, wanted):
            self.problems.append(f"{where}: {type(value).__name__} is no {shape.type_name}")
        elif shape.type_name == "structure":
            names = {member.serialization.get("name", name): member for name, member in shape.members.items()} | dict(
                shape.members
            )
            for name, inner in value.items():
                if name not in names:
                    self.problems.append(f"{where}.{name} is unknown")
                else:
                    self._check_value(inner, names[name], f"{where}.{name}")
        elif shape.type_name == "list":
            for inner in value:
                self._check_value(inner, shape.member, f"{where}[]")


def _ec2_name(name: str, member: Any) -> str:
    own = member.serialization.get("queryName") or member.serialization.get("name") or name
    return own[0].upper() + own[1:]


@pytest.fixture(scope="module")
def session() -> Any:
    from botocore.session import Session

    session = Session()
    session.set_credentials("AKIDEXAMPLE", "secret")
    session.set_config_variable("region", "eu-west-1")
    return session


@pytest.mark.slow
@pytest.mark.parametrize("name", ["dynamodb", "lambda", "sqs", "iam", "kinesis"])
async def test_every_operation_arrives_as_the_model_has_it(name: str, session: Any) -> None:
    server_model = ModelServer(session.get_service_model(name))
    randomness = random.Random(name)
    tools = read_catalog([f"aws:{name}"]).tools
    assert len(tools) > 20
    with Loopback(server_model) as server:
        for tool in tools:
            assert tool.call is not None and tool.input_schema is not None
            if session.get_service_model(name).operation_model(tool.call.operation).has_event_stream_output:
                continue
            for optional in (False, True):
                given = sample_arguments(tool.input_schema, randomness, optional=optional)
                request = build_request(tool.call, given, schema=tool.input_schema)
                assert isinstance(request, AwsCall)
                answer = await send_aws(request, endpoint_url=server.url, session=session, timeout_s=LIMIT_S)
                assert server_model.operation == tool.call.operation, tool.id
                assert server_model.problems == [], tool.id
                # A form of the query protocol has no place for an empty structure.
                written = {key for key, value in given.items() if value not in ({}, [])}
                assert written <= set(server_model.read), (tool.id, answer.status)
                shape = session.get_service_model(name).operation_model(tool.call.operation).input_shape
                assert set(getattr(shape, "required_members", ())) <= set(given), tool.id


async def test_bytes_arrive_as_they_are_meant(session: Any) -> None:
    """A blob is base64 in the JSON of arguments; the service gets the bytes, not the text encoded once more."""
    (tool,) = [tool for tool in read_catalog(["aws:kinesis"]).tools if tool.name == "PutRecord"]
    assert tool.call is not None
    arguments = {"Data": base64.b64encode(BLOB).decode(), "PartitionKey": "k", "StreamName": "s"}
    request = build_request(tool.call, arguments, schema=tool.input_schema)
    assert isinstance(request, AwsCall)
    with Loopback() as server:
        await send_aws(request, endpoint_url=server.url, session=session, timeout_s=LIMIT_S)
    assert base64.b64decode(json.loads(server.only.body)["Data"]) == BLOB


def test_the_server_refuses_what_the_model_does_not_have(session: Any) -> None:
    server = ModelServer(session.get_service_model("kinesis"))
    target = {"x-amz-target": "Kinesis_20131202.PutRecord"}
    server(Arrived("POST", "/", target, b'{"StreamARN": ["x"], "Colour": 1}'))
    assert server.problems == [
        "PutRecord.StreamARN: list is no string",
        "PutRecord.Colour is unknown",
        "missing Data",
    ]
