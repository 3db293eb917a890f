"""Texts that are encoded in a text: base64 and hexadecimal runs, escapes, spaced letters, digits for letters, ROT13, reversed text."""

from __future__ import annotations

import base64
import binascii
import codecs
import html
import re
from collections.abc import Iterator
from typing import NamedTuple
from urllib.parse import unquote

from ingest.trust.wording import whole_words
from ingest.word_lists import word_list

__all__ = ["EncodedRun", "disguised_runs", "encoded_runs"]

_RUN = re.compile(r"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{24,20000}={0,2}(?![A-Za-z0-9+/=_-])")
_HEX = re.compile(r"(?:[0-9a-f]{2})+\Z|(?:[0-9A-F]{2})+\Z")
_WORDS = re.compile(r"(?<![A-Za-z])[A-Za-z]{2,14}(?![A-Za-z])")
_COMMAND = whole_words("commands", re.IGNORECASE)
_LEAST_WORDS = 3
_SHARE = 0.75  # of the decoded characters that stand in words or between them


class EncodedRun(NamedTuple):
    """A run at ``text[start:end]`` that decodes to words; whether one of these commands something."""

    start: int
    end: int
    decoded: str
    has_command: bool


def encoded_runs(text: str) -> Iterator[EncodedRun]:
    """Yield the runs of a text that decode to at least three words with spaces between them."""
    for match in _RUN.finditer(text) if len(text) >= 24 else ():
        decoded = _decoded(match[0])
        if decoded is None or " " not in decoded:
            continue
        words = _WORDS.findall(decoded)
        if len(words) >= _LEAST_WORDS and sum(map(len, words)) + decoded.count(" ") >= _SHARE * len(decoded):
            yield EncodedRun(match.start(), match.end(), decoded, _COMMAND.search(decoded) is not None)


def _decoded(run: str) -> str | None:
    try:
        raw = (
            bytes.fromhex(run)
            if _HEX.match(run)
            else base64.b64decode(_padded(run), altchars=b"-_" if {"-", "_"} & set(run) else None)
        )
        decoded = raw.decode("utf-8")
    except (ValueError, binascii.Error, UnicodeDecodeError):
        return None
    return decoded if decoded.isprintable() or "\n" in decoded else None


def _padded(run: str) -> str:
    stripped = run.rstrip("=")
    return stripped + "=" * (-len(stripped) % 4)


_SPACED = re.compile(r"(?<![\w@$])(?:[\w@$][ .*_:-]{1,3}){7,400}[\w@$](?![\w@$])")
_ESCAPES = re.compile(
    r"(?:&#x?[0-9a-fA-F]{2,6};){4,4000}|(?:%[0-9a-fA-F]{2}){8,4000}|(?:\\\\?(?:u00|x)[0-9a-fA-F]{2}){4,4000}"
)
_DIGITS_IN_WORDS = re.compile(r"(?<!\w)[A-Za-z]*(?:[A-Za-z][013457$@]|[013457$@][A-Za-z])[A-Za-z013457$@]{2,20}(?!\w)")
_LETTERS = str.maketrans("013457$@", "oieastsa")
_LEAST_DISGUISED = 2
_READ = re.compile(r"[^\W\d_]+")
_TELLING = word_list("trust", "telling")
_ROT13 = frozenset(codecs.encode(word, "rot13") for word in _TELLING)
_REVERSED = frozenset(word[::-1] for word in _TELLING) - frozenset(_TELLING)
_LEAST_KNOWN = 3  # words of one disguise


def disguised_runs(text: str) -> Iterator[EncodedRun]:
    """Yield what a reader can decipher in a text and a search for words does not find: spaced letters, escapes, digits in the place of
    letters, ROT13 and reversed text.
    """
    for match in _SPACED.finditer(text):
        plain = match[0].lower().translate(_LETTERS) if re.search("[^\\W\\d_]", match[0]) else match[0]
        gaps = re.split(r" {2,}| [:-] ", plain)
        yield _run(match.start(), match.end(), " ".join(re.sub(r"[\W_]", "", gap) for gap in gaps))
    for match in _ESCAPES.finditer(text) if "&#" in text or "%" in text or "\\" in text else ():
        plain = re.sub(
            r"\\\\?(?:u00|x)([0-9a-fA-F]{2})", lambda code: chr(int(code[1], 16)), unquote(html.unescape(match[0]))
        )
        yield _run(match.start(), match.end(), plain + text[match.end() : match.end() + 200])
    odd = [match for match in _DIGITS_IN_WORDS.finditer(text) if match[0].lower().translate(_LETTERS) in _TELLING]
    if len(odd) >= _LEAST_DISGUISED:
        yield _run(
            odd[0].start(), odd[-1].end(), text[odd[0].start() : odd[-1].end() + 100].lower().translate(_LETTERS)
        )
    words = frozenset(_READ.findall(text.lower()))
    for known, decode in ((_ROT13, _rot13), (_REVERSED, _reversed)):
        if len(words & known) >= _LEAST_KNOWN:
            found = [match for match in _READ.finditer(text) if match[0].lower() in known]
            start, end = found[0].start(), found[-1].end()
            yield _run(start, end, decode(text[max(0, start - 100) : end + 100]))


def _rot13(text: str) -> str:
    return codecs.encode(text, "rot13")


def _reversed(text: str) -> str:
    return text[::-1]


def _run(start: int, end: int, decoded: str) -> EncodedRun:
    return EncodedRun(start, end, decoded, len(set(_READ.findall(decoded.lower())) & set(_TELLING)) >= _LEAST_DISGUISED)
