"""What a tool answers can be sent on: as JSON, and without a credential that it repeats, however it is written."""

import base64
import json
from typing import Any
from urllib.parse import quote, quote_plus

import pytest

from egotools.calling.invoker import KnownSecrets, ToolAnswer, of_http, of_mcp

KEY, TOKEN, PASSWORD = "s3cr3t+/= key", "abcdefghij12345", 'pa"ss/wörd9'
SECRETS = KnownSecrets([KEY, f"Bearer {TOKEN}", ("jan", PASSWORD), "short"])


def cleaned(body: Any) -> Any:
    return SECRETS.without(ToolAnswer(ok=True, status="200 OK", body=body)).body


WRITTEN: list[str] = [
    KEY,
    quote(KEY, safe=""),
    quote(KEY, safe="").lower(),
    quote_plus(KEY),
    quote(quote(KEY, safe=""), safe=""),
    "".join(f"\\u{ord(char):04x}" for char in TOKEN),
    "".join(f"%{ord(char):02x}" for char in TOKEN),
    json.dumps(PASSWORD)[1:-1],
    json.dumps(PASSWORD, ensure_ascii=False)[1:-1],
    PASSWORD.replace('"', '\\"').replace("/", "\\/"),
    PASSWORD,
    base64.b64encode(f"jan:{PASSWORD}".encode()).decode(),
    base64.urlsafe_b64encode(TOKEN.encode()).decode(),
    f"Authorization: Bearer {TOKEN}",
]


def test_it_is_found(subtests: pytest.Subtests) -> None:
    for written in WRITTEN:
        for as_bytes in [False, True]:
            with subtests.test(ascii(as_bytes)):
                text = f'<"{written}">'
                found = cleaned(text.encode()).decode() if as_bytes else cleaned(text)
                assert "[credential]" in found
                for part in (KEY[:8], TOKEN, PASSWORD[6:], written):
                    assert part not in found


def test_in_values_and_in_the_status() -> None:
    assert cleaned({"a": [TOKEN, 7, None], TOKEN: {"b": KEY}}) == {
        "a": ["[credential]", 7, None],
        "[credential]": {"b": "[credential]"},
    }
    assert SECRETS.without(ToolAnswer(ok=True, status=f"200 {TOKEN}")).status == "200 [credential]"


def test_other_texts_stay() -> None:
    assert cleaned("short 100% abcdefghij1234 \\u0061") == "short 100% abcdefghij1234 \\u0061"
    assert KnownSecrets([]).without(ToolAnswer(ok=True, status="x", body="y")).body == "y"
    assert TOKEN not in repr(SECRETS)


STRANGE_JSON = b'{"a": [NaN, Infinity, -Infinity, 1e999, 1.5], "b": "x\\ud800y", "\\udfff": 1}'
PLAIN_JSON = {"a": [None, None, None, None, 1.5], "b": "x?y", "?": 1}


def _answer(body: object) -> ToolAnswer:
    return ToolAnswer(ok=True, status="200", media_type="application/json", body=body, size=1)


def test_numbers_and_texts_that_json_does_not_have() -> None:
    given = json.loads(STRANGE_JSON)
    for answer in (
        of_http(_answer(STRANGE_JSON)),
        of_mcp(_answer({"structuredContent": given})),
        of_mcp(_answer({"content": [{"type": "text", "text": STRANGE_JSON.decode()}]})),
    ):
        assert answer.body == PLAIN_JSON
        json.dumps(answer.body, allow_nan=False, ensure_ascii=False).encode()
