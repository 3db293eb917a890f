"""Credentials are taken out of answers: one that repeats what the request said of the caller would bring it into journals and prompts."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from egotools.calling.call_credentials import Credential
from egotools.calling.tool_answer import ToolAnswer

__all__ = ["KnownSecrets"]

_SHORTEST = 8  # characters; a shorter one also stands in answers by chance
_HIDDEN = "[credential]"
_SCHEME = re.compile(r"(?:Bearer|Basic|Token|ApiKey)\s+", re.IGNORECASE)


class KnownSecrets:
    """The credentials of some calls, found also where they are percent-encoded, escaped as in JSON, or in base64.

    One that a server transforms in another way, or sends back in parts, is not found.

    :param credentials: keys, tokens, values of headers or variables, and pairs of user and password. Shorter than 8 characters
        they are left out.
    """

    def __init__(self, credentials: Iterable[Credential]) -> None:
        found = {text for each in credentials for text in _texts(each) if len(text) >= _SHORTEST}
        longest_first = sorted(found, key=lambda text: (-len(text), text))
        self._pattern = re.compile("|".join(map(_written, longest_first))) if found else None
        self._plain = [form for text in longest_first for form in _plain(text)]

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    def without(self, answer: ToolAnswer) -> ToolAnswer:
        """Return the answer without them."""
        if self._pattern is None:
            return answer
        return replace(answer, status=self._cleaned(answer.status), body=self._cleaned(answer.body))

    def _cleaned(self, value: Any) -> Any:
        pattern = self._pattern
        if pattern is None:
            return value
        if isinstance(value, str):
            if "%" in value or "\\" in value:
                return pattern.sub(_HIDDEN, value)
            for form in self._plain:  # thirty times as fast, where nothing is encoded
                value = value.replace(form, _HIDDEN)
            return value
        if isinstance(value, bytes):
            return self._cleaned(value.decode("latin-1")).encode("latin-1")
        if isinstance(value, Mapping):
            return {self._cleaned(key): self._cleaned(inner) for key, inner in value.items()}
        return [self._cleaned(inner) for inner in value] if isinstance(value, list | tuple) else value


def _texts(credential: Credential) -> Iterator[str]:
    """The texts by which a credential may come back."""
    pair = tuple(credential.split(":", 1)) if isinstance(credential, str) else credential
    whole = [_SCHEME.sub("", credential, count=1), credential] if isinstance(credential, str) else []
    for text in (*whole, *pair[1:], ":".join(pair)):
        yield text
        yield from _in_base64(text)


def _in_base64(text: str) -> Iterator[str]:
    raw = text.encode("utf-8", "replace")
    for encoded in (base64.b64encode(raw), base64.urlsafe_b64encode(raw)):
        yield encoded.decode("ascii")
        yield encoded.decode("ascii").rstrip("=")


def _plain(text: str) -> list[str]:
    bytes_as_text = text.encode("utf-8", "replace").decode("latin-1")
    return list(dict.fromkeys((text, text.replace(" ", "+"), bytes_as_text)))


def _written(text: str) -> str:
    return "".join(map(_character, text))


def _character(char: str) -> str:
    """A pattern of the ways in which a character may be written."""
    raw = char.encode("utf-8", "replace")
    units = char.encode("utf-16-be", "replace")
    escaped = "".join(rf"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))
    percent = "".join(f"%(?:25)*{byte:02x}" for byte in raw)
    forms = [re.escape(char), f"(?i:{percent})", f"(?i:{escaped})"]
    if char in '"\\/':
        forms.append(rf"\\+{re.escape(char)}")
    if char == " ":
        forms.append(r"\+")
    if not char.isascii():
        forms.append(re.escape(raw.decode("latin-1")))
    return f"(?:{'|'.join(forms)})"
