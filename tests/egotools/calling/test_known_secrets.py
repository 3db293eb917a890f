"""A credential that an answer repeats is taken out, however it is written."""

from __future__ import annotations

import base64
import json
import time
from typing import Any
from urllib.parse import quote, quote_plus

import pytest

from egotools.calling.known_secrets import KnownSecrets
from egotools.calling.tool_answer import ToolAnswer

KEY, TOKEN, PASSWORD = "s3cr3t+/= key", "abcdefghij12345", 'pa"ss/wörd9'
SECRETS = KnownSecrets([KEY, f"Bearer {TOKEN}", ("jan", PASSWORD), "short"])


def cleaned(body: Any) -> Any:
    return SECRETS.without(ToolAnswer(ok=True, status="200 OK", body=body)).body


@pytest.mark.parametrize("as_bytes", [False, True])
@pytest.mark.parametrize(
    "written",
    [
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
    ],
)
def test_it_is_found(written: str, as_bytes: bool) -> None:
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


@pytest.mark.parametrize(
    "large",
    [
        "x" * 10_000_000,
        "100% " * 2_000_000,
        "\\" * 10_000_000,
        "%" + "25" * 5_000_000,
        [{"a": "abcdefgh"}] * 200_000,
        [["%20"]] * 300_000,
    ],
    ids=["plain", "percent", "backslashes", "escaped percent", "values", "short texts"],
)
def test_a_large_answer_takes_little_time(large: Any) -> None:
    many = KnownSecrets([f"{TOKEN}{number:03}" * 2 for number in range(50)])
    started = time.process_time()
    assert many.without_in(large) == large
    assert time.process_time() - started < 3.0


@pytest.mark.parametrize("before", [0, 2**18 - 40, 2**18 - 20, 2**18 - 1, 2**18])
def test_one_that_stands_across_two_pieces(before: int) -> None:
    written = "".join(f"%{ord(char):02x}" for char in TOKEN)
    assert cleaned(f"{'ä' * (before // 2)}{written}%21 end") == f"{'ä' * (before // 2)}[credential]%21 end"


def test_what_is_nested_too_deep_is_left_out() -> None:
    value: Any = TOKEN
    for _ in range(300):
        value = [value]
    found = cleaned(value)
    for _ in range(100):
        (found,) = found
    assert found == "[nested more than 100 levels deep]"
