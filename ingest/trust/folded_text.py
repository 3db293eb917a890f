"""Texts as a model reads them: without invisible characters, in compatible forms, look-alike letters replaced, lower case."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

from ingest.trust.hidden_characters import without_hidden

__all__ = ["FoldedText", "fold", "is_mixed", "skeleton"]

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
_SOME = re.compile(r"[^\x00-\x7f\u00c0-\u024f\u2013-\u201e\u3000-\u9fff]")


@dataclass(frozen=True, slots=True)
class FoldedText:
    """A folded text, and where its characters stand in the text before.

    :param positions: of each character, and the length of the text before; None where they are the same.
    """

    text: str
    positions: tuple[int, ...] | None = None

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Return where ``text[start:end]`` stands in the text before folding."""
        if self.positions is None:
            return start, end
        return self.positions[start], self.positions[end - 1] + 1 if end > start else self.positions[start]


def fold(text: str) -> FoldedText:
    """Fold a text; linear in its length."""
    if text.isascii() or _SOME.search(text) is None:
        lower = text.lower().replace("’", "'")
        if len(lower) == len(text):
            return FoldedText(lower)
    kept: list[str] = []
    positions: list[int] = []
    for word in re.finditer(r"[^\W_]+|[\W_]", text):
        alike = word[0].translate(_LATIN) if not word[0].isascii() and is_mixed(word[0]) else word[0]
        for at, char in enumerate(alike, word.start()):
            plain = without_hidden(char)
            folded = (unicodedata.normalize("NFKC", plain) if not plain.isascii() else plain).lower().replace("’", "'")
            kept.append(folded)
            positions += [at] * len(folded)
    return FoldedText("".join(kept), (*positions, len(text)))


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
