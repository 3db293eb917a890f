"""Characters that a reader does not see or that move what he sees: zero-width, tags, fillers, bidirectional controls."""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple

__all__ = ["bidirectional_runs", "hidden_text", "invisible_runs", "is_mixed", "skeleton", "without_hidden"]

# Not the joiners between emoji or in Indic and Arabic words, nor a single variation selector after a sign: see ``_is_innocent``.
_INVISIBLE = re.compile(
    "[\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200d\u2060-\u2065\u206a-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff"
    "\uffa0\ufff0-\ufffb\ue000-\uf8ff\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff\U000f0000-\U0010ffff]+"
)
_BIDIRECTIONAL = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]+")
_ANY = re.compile(f"(?:{_INVISIBLE.pattern}|{_BIDIRECTIONAL.pattern})+")
_REORDERING = frozenset("\u202a\u202b\u202d\u202e\u2066\u2067\u2068")
_JOINERS = "\u200c\u200d"
_FEW = 3  # zero-width spaces that an editor leaves between words
_FLAG = "\U0001f3f4"
_TAG_END = "\U000e007f"
_LEAST_FILLERS = 16  # of the blank Braille pattern and the like, which a table in Braille has now and then
_RIGHT_TO_LEFT = ("R", "AL", "AN")
_BITS = 8


class HiddenRun(NamedTuple):
    """A run of such characters at ``text[start:end]``; ``severe`` where nothing innocent is written with them."""

    start: int
    end: int
    severe: bool


def invisible_runs(text: str) -> list[HiddenRun]:
    """The runs of invisible characters, without those of ordinary writing (emoji, joined letters, a mark at the text's start)."""
    if text.isascii():
        return []
    return [
        HiddenRun(match.start(), match.end(), severe=_is_severe(text, match.start(), match.end()))
        for match in _INVISIBLE.finditer(text)
        if not _is_innocent(text, match.start(), match.end())
    ]


def _is_innocent(text: str, start: int, end: int) -> bool:
    run, before, after = text[start:end], text[start - 1 : start], text[end : end + 1]
    if run in {"\ufe0e", "\ufe0f"} or (len(run) == 1 and "\ufe00" <= run <= "\ufe0d"):
        return bool(before) and (not before.isascii() or before in "#*0123456789")
    if len(run) == 1 and "\U000e0100" <= run <= "\U000e01ef":  # a form of an ideograph
        return "\u3400" <= before <= "\u9fff"
    if run in {"\ufe0f\u200d", "\u200d"} and ((before and _is_symbol(before)) or (after and _is_symbol(after))):
        return True
    if len(run) == 1 and run in _JOINERS and before and after and _joins(before) and _joins(after):
        return True
    if run[-1] == _TAG_END and before == _FLAG and len(run) <= _BITS:
        return True
    return run == "\ufeff" and start == 0 and end < len(text)


def _is_severe(text: str, start: int, end: int) -> bool:
    """Whether a run hides something: it is long, or it stands inside a word, or it is of a kind that is never typed."""
    run = text[start:end]
    if any("\U000e0000" <= char <= "\U000e0fff" or char in "\u180e\u2061\u2062\u2063\u2064\ufeff" for char in run):
        return True
    if set(run) <= {"\u2800", "\u3164", "\uffa0"}:
        return len(run) >= _LEAST_FILLERS
    inside = text[start - 1 : start].isalnum() and text[end : end + 1].isalnum()
    if run == "\u00ad":  # a place where a word may be divided; of one such place nobody is misled
        return text.count(run) > 2 and inside
    if all("\ue000" <= char <= "\uf8ff" for char in run):  # signs of a font, as symbols of lists
        return inside or len(run) >= _LEAST_FILLERS
    return inside or len(run) > _FEW


def bidirectional_runs(text: str) -> list[HiddenRun]:
    """The runs of bidirectional controls; not severe where marks stand in a text with letters that run from right to left."""
    if text.isascii():
        return []
    right_to_left = any(unicodedata.bidirectional(char) in _RIGHT_TO_LEFT for char in text if char > "\u058f")
    found = []
    for match in _BIDIRECTIONAL.finditer(text):
        reorders = not _REORDERING.isdisjoint(match[0])
        overrides = "\u202d" in match[0] or "\u202e" in match[0]
        found.append(HiddenRun(match.start(), match.end(), overrides or (reorders and not right_to_left)))
    return found


def hidden_text(text: str) -> str:
    """The readable text that invisible characters spell: tags, variation selectors as bytes, two zero-width signs as bits."""
    tags = "".join(chr(ord(char) - 0xE0000) for char in text if "\U000e0020" <= char <= "\U000e007e")
    selectors = "".join(chr(ord(char) - 0xE0100 + 16) for char in text if "\U000e0100" <= char <= "\U000e01ef")
    return " ".join(filter(None, (tags, selectors, *map(_from_bits, _zero_width_runs(text)))))


def _zero_width_runs(text: str) -> list[str]:
    return [run for run in re.findall("[\u200b-\u200d\u2060-\u2064\ufeff]{16,}", text) if len(set(run)) == 2]


def _from_bits(run: str) -> str:
    for zero in sorted(set(run)):
        bits = "".join("0" if char == zero else "1" for char in run)
        letters = "".join(chr(int(bits[at : at + _BITS], 2)) for at in range(0, len(bits) - _BITS + 1, _BITS))
        if letters.isascii() and letters.isprintable():
            return letters
    return ""


def without_hidden(text: str) -> str:
    """The text without any of these characters."""
    return text if text.isascii() else _ANY.sub("", text)


def _is_symbol(char: str) -> bool:
    return unicodedata.category(char) in {"So", "Sk"} or char == "\ufe0f"


def _joins(char: str) -> bool:
    """Whether a letter is of a script that is written with joiners (Arabic, Indic scripts, Khmer, …)."""
    return "\u0600" <= char <= "\u08ff" or "\u0900" <= char <= "\u109f" or "\u1780" <= char <= "\u18af"


# Letters of other scripts that look like Latin ones, after the confusables of Unicode Technical Standard 39; chosen by hand: the
# letters that a font draws alike.
_ALIKE = {
    "a": "аɑαа",
    "b": "ЬᏏƅ",
    "c": "сϲᴄⅽ",
    "d": "ԁɗⅾ",
    "e": "еҽєҿ℮",
    "f": "ƒſẝ",
    "g": "ɡցɢ",
    "h": "һհ",
    "i": "іıɩιⅰӏɪ",
    "j": "јϳʝ",
    "k": "κкᴋ",
    "l": "ⅼǀ|ӀІⵏ",
    "m": "ⅿмᴍ",
    "n": "пոռɴ",
    "o": "оοօσᴏσ০๐",
    "p": "рρϼ⍴",
    "q": "ԛգզ",
    "r": "гᴦɾʀ",
    "s": "ѕƽꜱ",
    "t": "тτᴛ",
    "u": "υսʋᴜц",
    "v": "νѵᴠⅴ",
    "w": "ѡԝաᴡ",
    "x": "хχⅹ×",
    "y": "уγүʏყ",
    "z": "ᴢʐ",
    "A": "АΑᎪ",
    "B": "ВΒᏴ",
    "C": "СϹⅭ",
    "D": "ᎠⅮ",
    "E": "ЕΕᎬ",
    "H": "НΗᎻ",
    "I": "ІΙⅠ",
    "J": "ЈᎫ",
    "K": "КΚᏦ",
    "L": "ᏞⅬ",
    "M": "МΜⅯ",
    "N": "Ν",
    "O": "ОΟՕ",
    "P": "РΡᏢ",
    "S": "ЅᏚ",
    "T": "ТΤᎢ",
    "V": "ѴⅤᏙ",
    "W": "Ꮃ",
    "X": "ХΧⅩ",
    "Y": "ҮΥ",
    "Z": "ΖᏃ",
    "-": "‐‑‒–—−﹣－ー⁃˗",
    "_": "＿‗",
    ".": "․。",
    "/": "⁄∕⧸",
}
_LATIN = str.maketrans({other: letter for letter, others in _ALIKE.items() for other in others if other != "|"})
_TYPED = str.maketrans({"0": "o", "1": "l", "|": "l", "I": "l", "5": "s"})
_PAIRS = (("rn", "m"), ("vv", "w"))


def is_mixed(word: str) -> bool:
    """Whether a word has Latin letters and others that look like Latin ones."""
    translated = word.translate(_LATIN)
    return translated != word and any(char.isascii() and char.isalpha() for char in word) and translated.isascii()


def skeleton(name: str) -> str:
    """What a name looks like: two names with one skeleton are taken for each other."""
    if not name.isascii():
        name = unicodedata.normalize("NFKC", without_hidden(name).translate(_LATIN)).translate(_LATIN)
        name = "".join(char for char in unicodedata.normalize("NFD", name) if not unicodedata.combining(char))
    lower = name.translate(_TYPED).lower()
    for pair, letter in _PAIRS:
        lower = lower.replace(pair, letter)
    return lower
