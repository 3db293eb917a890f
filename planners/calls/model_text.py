"""Texts of models: what one says beside what it was asked for (thoughts aloud, a preface, JSON amid prose, or that it does not know), and
how many tokens a planner puts before it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import inference

_THOUGHTS = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL)
_THOUGHT_BEFORE = re.compile(r"\A.*</think(?:ing)?>", re.DOTALL)  # some servers take the opening mark away
_NO_ANSWER = re.compile(
    r"(?:sorry|unfortunately)?[\s,:]*(?:i\s+(?:do\s+not|don['’]t)\s+know|i(?:['’]m|\s+am)\s+not\s+sure|unknown|n/a)[\s.!]*",
    re.IGNORECASE,
)
_MOST = 64  # places of a text where an object may begin
_ESCAPE = re.compile(
    r"\\(?:[\"\\/bfnrt]|u[0-9A-Fa-f]{4}|x([0-9A-Fa-f]{2})|U(00(?:0[0-9A-Fa-f]|10)[0-9A-Fa-f]{4})|.)", re.DOTALL
)
_TOKENIZER = Path(inference.__file__).parent / "weights" / "minilm-l6-v2-int8" / "tokenizer.json"


def without_thoughts(text: str) -> str:
    """Return a text without what stands in ``<think>``, and without a block that is not closed."""
    return _THOUGHT_BEFORE.sub("", _THOUGHTS.sub("", text)).strip()


def is_no_answer(text: str) -> bool:
    """Whether a text only says that there is no answer: "I do not know."."""
    return _NO_ANSWER.fullmatch(text.strip()) is not None


def json_objects(text: str) -> Iterator[dict[str, Any]]:
    """Yield the JSON objects that stand in a text, none inside another one.

    Raw line breaks in strings are read, and escapes that JSON does not have (``\\'`` and ``\\x41`` of Python). Nothing else is guessed.
    """
    decoder = json.JSONDecoder(strict=False, parse_constant=_no_constant)
    text = _ESCAPE.sub(_escaped, text)
    at = text.find("{")
    for _ in range(_MOST):
        if at < 0:
            return
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            end = at + 1
        else:
            yield value
        at = text.find("{", end)


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _escaped(found: re.Match[str]) -> str:
    """Return an escape as JSON has it; a backslash that begins none stands for itself."""
    if code := found[1] or found[2]:
        return json.dumps(chr(int(code, 16)))[1:-1]
    if found[0] == "\\'":
        return "'"
    return found[0] if found[0][1] in '"\\/bfnrt' or len(found[0]) > 2 else f"\\{found[0]}"


def prompt_tokens(text: str) -> int:
    """Return the number of tokens of a text, without those that a model adds around it, by the WordPiece tokenizer of the shipped
    encoder. It counts English text and JSON somewhat higher than tokenizers of chat models, none of which is shipped."""
    return len(_tokenizer().encode(text, add_special_tokens=False).ids)


@cache
def _tokenizer() -> Any:
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(_TOKENIZER))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer
