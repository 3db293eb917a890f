"""Texts as a model reads them: without invisible characters, in compatible forms, look-alike letters replaced, lower case."""

from __future__ import annotations

import re
import unicodedata

from ingest.trust.hidden_characters import without_hidden

__all__ = ["fold", "is_mixed", "skeleton"]

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
# Hidden characters, letters that look like Latin ones, and letters in another form (mathematical, enclosed, wide).
_SOME = re.compile(
    "[\u00ad\u034f\u0180-\u0189\u0250-\u058f\u061c\u115f-\u1160\u13a0-\u13ff\u17b4\u17b5\u180b-\u180f\u1d00-\u1dbf\u200b-\u200f\u2028-\u202e\u2060-\u206f\u2070-\u209f"
    "\u2100-\u218f\u2460-\u24ff\u2800\u2c60-\u2dff\u3164\ua640-\ua7ff\ufb00-\ufb06\ufe00-\ufe0f\ufeff-\uff5e\uffa0\ufff0-\uffff\U0001d400-\U0001d7ff\U0001f100-\U0001f1ff"
    "\U000e0000-\U000e0fff]"
)


def fold(text: str) -> str:
    """Fold a text; linear in its length."""
    if text.isascii() or _SOME.search(text) is None:
        return text.lower()
    alike = re.sub(r"[^\W_]+", lambda word: word[0].translate(_LATIN) if is_mixed(word[0]) else word[0], text)
    return unicodedata.normalize("NFKC", without_hidden(alike)).lower()


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
