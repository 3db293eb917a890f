"""What is shown of a call and of its answer, for every protocol."""

from __future__ import annotations

from datetime import UTC, datetime

from egotools import AwsCall, McpCall, PythonCall
from egotools.calling.answer_body import of_http
from egotools.calling.tool_answer import ToolAnswer
from services.cli.printable import printable
from services.cli.show_call import shown_answer, shown_request


def test_calls_that_are_no_requests_of_http() -> None:
    arguments = {"name": "x", "data": b"\xff"}
    aws = shown_request(AwsCall(service="sqs", operation="ListQueues", arguments=arguments), "http://127.0.0.1:9")
    assert aws["text"].startswith("AWS sqs ListQueues at http://127.0.0.1:9\n\n{")
    assert aws["request"]["arguments"] == {"name": "x", "data": "/w=="}
    mcp = shown_request(McpCall(session="s", tool="book", arguments={"a": [1]}))
    assert mcp["text"].startswith("MCP tool book\n\n{")
    python = shown_request(PythonCall(function="shop:find", arguments={}))
    assert python["text"] == "Python shop:find\n\n{}"


def test_answers() -> None:
    picture = of_http(ToolAnswer(ok=True, status="200 OK", media_type="image/png", body=b"\x89PNG\xff"))
    found = shown_answer(picture, "shop/t")
    assert ("[5 bytes of image/png]" in found["text"], found["body_base64"]) == (True, "iVBOR/8=")
    assert shown_answer(ToolAnswer(ok=True, status="200", body="é"), "shop/t")["body"] == "é"
    values = shown_answer(
        ToolAnswer(ok=True, status="200", body={"at": datetime(2024, 1, 31, tzinfo=UTC), "to": (1, None)}),
        "shop/t",
    )
    assert values["body"] == {"at": "2024-01-31 00:00:00+00:00", "to": [1, None]}


def test_nothing_that_commands_a_terminal() -> None:
    assert printable("a\x1b[31mb\r\n\tc\u202ed\x9b") == "a�[31mb�\n\tc�d�"
