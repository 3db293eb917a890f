"""Characters that a reader does not see or that move what he sees, and letters that are taken for others."""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple

from ingest.word_lists import word_groups

# Not the joiners between emoji or in Indic and Arabic words, nor a single variation selector after a sign: see ``_is_innocent``.
_INVISIBLE = re.compile(
    "[\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200d\u2060-\u2065\u206a-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff"
    "\uffa0\ufff0-\ufffb\ue000-\uf8ff\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff\U000f0000-\U0010ffff]+"
)
_BIDIRECTIONAL = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]+")
_ANY = re.compile(f"(?:{_INVISIBLE.pattern}|{_BIDIRECTIONAL.pattern})+")
_NEVER_TYPED = re.compile("[\U000e0000-\U000e0fff\u180e\u2061-\u2064\ufeff]")
_REORDERING = frozenset("\u202a\u202b\u202d\u202e\u2066\u2067\u2068")
_OVERRIDES = frozenset("\u202d\u202e")
_FLAG, _TAG_END = "\U0001f3f4", "\U000e007f"
_FLAG_TAGS = 8
_FEW = 3  # zero-width spaces that an editor leaves between words
_LEAST_FILLERS = 16  # of the blank Braille pattern and the like, which a table in Braille has now and then
_QUOTED_CHARS = 120


class HiddenRun(NamedTuple):
    """A run of such characters at ``text[start:end]``; ``severe`` where nothing innocent is written with them."""

    start: int
    end: int
    severe: bool


def invisible_runs(text: str) -> list[HiddenRun]:
    """The runs of invisible characters, without those of ordinary writing (emoji, joined letters, a mark at the text's start)."""
    found = () if text.isascii() else (match.span() for match in _INVISIBLE.finditer(text))
    return [HiddenRun(*span, severe=_is_severe(text, *span)) for span in found if not _is_innocent(text, *span)]


def _is_innocent(text: str, start: int, end: int) -> bool:
    run, before, after = text[start:end], text[start - 1 : start], text[end : end + 1]
    if run in {"\ufe0e", "\ufe0f"} or (len(run) == 1 and "\ufe00" <= run <= "\ufe0d"):
        return bool(before) and (not before.isascii() or before in "#*0123456789")
    if len(run) == 1 and "\U000e0100" <= run <= "\U000e01ef":  # a form of an ideograph
        return "\u3400" <= before <= "\u9fff"
    if run in {"\ufe0f\u200d", "\u200d"}:
        if any(char == "\ufe0f" or unicodedata.category(char) in {"So", "Sk"} for char in before + after):
            return True
    if run in ("\u200c", "\u200d") and before and after and _joins(before) and _joins(after):
        return True
    if run[-1] == _TAG_END and before == _FLAG and len(run) <= _FLAG_TAGS:
        return True
    return run == "\ufeff" and start == 0 and end < len(text)


def _joins(char: str) -> bool:
    """Whether a letter is of a script that is written with joiners (Arabic, Indic scripts, Khmer, …)."""
    return "\u0600" <= char <= "\u08ff" or "\u0900" <= char <= "\u109f" or "\u1780" <= char <= "\u18af"


def _is_severe(text: str, start: int, end: int) -> bool:
    """Whether a run hides something: it is long, or it stands inside a word, or it is of a kind that is never typed."""
    run = text[start:end]
    inside = text[start - 1 : start].isalnum() and text[end : end + 1].isalnum()
    if _NEVER_TYPED.search(run):
        return True
    if set(run) <= {"\u2800", "\u3164", "\uffa0"}:
        return len(run) >= _LEAST_FILLERS
    if run == "\u00ad":  # a place where a word may be divided; of one such place nobody is misled
        return text.count(run) > 2 and inside
    if all("\ue000" <= char <= "\uf8ff" for char in run):  # signs of a font, as symbols of lists
        return inside or len(run) >= _LEAST_FILLERS
    return inside or len(run) > _FEW


def bidirectional_runs(text: str) -> list[HiddenRun]:
    """The runs of bidirectional controls; not severe where marks stand in a text with letters that run from right to left."""
    if text.isascii():
        return []
    right_to_left = any(unicodedata.bidirectional(char) in ("R", "AL", "AN") for char in text if char > "\u058f")
    mild = _OVERRIDES if right_to_left else _REORDERING
    return [HiddenRun(*match.span(), not mild.isdisjoint(match[0])) for match in _BIDIRECTIONAL.finditer(text)]


def without_hidden(text: str) -> str:
    """The text without any of these characters."""
    return text if text.isascii() else _ANY.sub("", text)


def visible(text: str, limit: int = _QUOTED_CHARS) -> str:
    """Return the text with an escape sequence for every character that is not seen or that moves others, cut to ``limit`` characters."""
    shown = "".join(map(_shown, text[: limit + 1]))
    if len(shown) <= limit:
        return shown
    kept = ""
    for char in text:
        if len(kept) + len(_shown(char)) > limit - 1:
            break
        kept += _shown(char)
    return f"{kept}…"


def _shown(char: str) -> str:
    blank = char in "\u2800\u3164" or unicodedata.category(char)[0] not in "LNPS"
    is_seen = char.isprintable() if char.isascii() else not blank
    return char if is_seen else char.encode("unicode_escape").decode()


_LATIN = str.maketrans({one: letter for letter, ones in word_groups("trust", "look_alikes").items() for one in ones})
_TYPED = str.maketrans({"0": "o", "1": "l", "|": "l", "I": "l", "5": "s"})


def is_mixed(word: str) -> bool:
    """Whether a word has Latin letters and others that look like Latin ones."""
    translated = word.translate(_LATIN)
    return translated != word and any(char.isascii() and char.isalpha() for char in word) and translated.isascii()


def skeleton(name: str) -> str:
    """What a name looks like: two names with one skeleton are taken for each other."""
    if not name.isascii():
        name = unicodedata.normalize("NFKC", without_hidden(name).translate(_LATIN)).translate(_LATIN)
        name = "".join(char for char in unicodedata.normalize("NFD", name) if not unicodedata.combining(char))
    return name.translate(_TYPED).lower().replace("rn", "m").replace("vv", "w")
