"""What a tool answers can be sent on as JSON, whatever it holds."""

import json

from egotools.calling.invoker import ToolAnswer, of_http, of_mcp

HOSTILE = b'{"a": [NaN, Infinity, -Infinity, 1e999, 1.5], "b": "x\\ud800y", "\\udfff": 1}'
HARMLESS = {"a": [None, None, None, None, 1.5], "b": "x?y", "?": 1}


def _answer(body: object) -> ToolAnswer:
    return ToolAnswer(ok=True, status="200", media_type="application/json", body=body, size=1)


def test_numbers_and_texts_that_json_does_not_have() -> None:
    given = json.loads(HOSTILE)
    for answer in (
        of_http(_answer(HOSTILE)),
        of_mcp(_answer({"structuredContent": given})),
        of_mcp(_answer({"content": [{"type": "text", "text": HOSTILE.decode()}]})),
    ):
        assert answer.body == HARMLESS
        json.dumps(answer.body, allow_nan=False, ensure_ascii=False).encode()
