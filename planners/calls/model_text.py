"""Texts of models: what one says beside what it was asked for (thoughts aloud, a preface, JSON amid prose, or that it does not know), and
how many tokens a planner puts before it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import inference
from inference.chat import ChatModel, Completion, ObservedModel
from ontology.json_values import canonical_text

__all__ = ["CountedModel", "PromptTokens", "is_no_answer", "json_objects", "without_thoughts"]

_THOUGHTS = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL)
_THOUGHT_BEFORE = re.compile(r"\A.*</think(?:ing)?>", re.DOTALL)  # some servers take the opening mark away
_NO_ANSWER = re.compile(
    r"(?:sorry|unfortunately)?[\s,:]*(?:i\s+(?:do\s+not|don['’]t)\s+know|i(?:['’]m|\s+am)\s+not\s+sure|unknown|n/a)[\s.!]*",
    re.IGNORECASE,
)
_MOST = 64  # places of a text where an object may begin
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]]|[^"{}\[\]]+', re.DOTALL)
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


def json_objects(text: str, *, mended: bool = False) -> Iterator[dict[str, Any]]:
    """Yield the JSON objects that stand in a text, none inside another one.

    :param mended: also those of which only the writing is wrong: brackets lost or surplus, a comma before a closing one, raw line breaks,
        bad escapes (``\\'`` and ``\\x41`` of Python). Nothing else is guessed: what ends amid a string or lacks a value is no JSON.
    """
    decoder = json.JSONDecoder(strict=False, parse_constant=_no_constant) if mended else json.JSONDecoder()
    at = text.find("{")
    for _ in range(_MOST):
        if at < 0:
            return
        value, end = _object(decoder, text, at)
        if mended and not end:
            closed, after = _mended(text, at)
            value, end = _object(decoder, closed, 0)
            end = after if end == len(closed) else 0
        if end:
            yield value
        at = text.find("{", end or at + 1)


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _object(decoder: json.JSONDecoder, text: str, at: int) -> tuple[Any, int]:
    """Return the object that begins at a place, and its end; 0 where there is none."""
    try:
        return decoder.raw_decode(text, at)
    except (ValueError, RecursionError):
        return None, 0


def _mended(text: str, at: int) -> tuple[str, int]:
    """Return the brackets that open at a place, closed, with what stands in them, and their end; an empty text where a string does not end."""
    made: list[str] = []
    closers: list[str] = []
    while at < len(text):
        token = _TOKEN.match(text, at)
        if token is None or (token[0] in ("}", "]") and token[0] not in closers):
            return "", 0
        at, piece = token.end(), token[0]
        if piece in ("}", "]"):
            _close(made, closers, piece)
            if not closers:
                return "".join(made), at
        else:
            closers += {"{": "}", "[": "]"}.get(piece, "")
            made.append(_ESCAPE.sub(_escaped, piece) if piece[0] == '"' else piece)
    _close(made, closers, "")
    return "".join(made), at


def _close(made: list[str], closers: list[str], last: str) -> None:
    """Close the brackets that are open, up to one, without a comma before each."""
    closer = ""
    while closers and closer != (last or None):
        made[-1] = made[-1].rstrip().removesuffix(",")
        closer = closers.pop()
        made.append(closer)


def _escaped(found: re.Match[str]) -> str:
    """Return an escape as JSON has it; a backslash that begins none stands for itself."""
    if code := found[1] or found[2]:
        return json.dumps(chr(int(code, 16)))[1:-1]
    if found[0] == "\\'":
        return "'"
    return found[0] if found[0][1] in '"\\/bfnrt' or len(found[0]) > 2 else f"\\{found[0]}"


class PromptTokens:
    """Counts the tokens of texts with the WordPiece tokenizer of the shipped encoder. It counts English text and JSON somewhat higher than
    tokenizers of chat models, none of which is shipped; :attr:`name` says so in accounts."""

    name = f"tokenizer of {_TOKENIZER.parent.name}"

    def count(self, text: str) -> int:
        """Return the number of tokens of a text, without those that a model adds around it."""
        return len(_tokenizer().encode(text, add_special_tokens=False).ids)


@cache
def _tokenizer() -> Any:
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(_TOKENIZER))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


class CountedModel(ObservedModel):
    """Hands prompts on to a model and counts their tokens: the messages, and the schema of the answer.

    :ivar prompts: tokens of each prompt so far.
    """

    def __init__(self, model: ChatModel, tokens: PromptTokens) -> None:
        super().__init__(model, self._counted)
        self.counter = tokens.name
        self.prompts: list[int] = []
        self._count = tokens.count

    def _counted(self, step: str, asked: Mapping[str, Any], ask: Callable[[], Completion]) -> Completion:
        texts = [text for _, text in asked["messages"]]
        texts += [canonical_text(asked["schema"])] if asked["schema"] is not None else []
        self.prompts.append(sum(map(self._count, texts)))
        return ask()
