"""Masks: names such as ``DATE1`` that stand for the values of a request while a model rewords it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from datagen.synthetic_request import SampleValue
from datagen.validation.stated_values import find_values

__all__ = ["MaskedText", "mask_values"]

_UNKNOWN_KIND = "text"
_BEFORE = "to "  # a name at the beginning of a sentence may be any word


@dataclass(frozen=True, kw_only=True)
class MaskedText:
    """A text in which values are masked.

    :param keep: what must stand in any rewording, letter by letter: the masks, and the values without one.
    :param values: map from mask to value.
    """

    text: str
    keep: tuple[str, ...]
    values: Mapping[str, str]

    def unmask(self, text: str) -> str:
        """Return a rewording with the values in the place of their masks."""
        if not self.values:
            return text
        return re.sub(rf"\b(?:{'|'.join(self.values)})\b", lambda mask: self.values[mask[0]], text)


def mask_values(text: str, values: Iterable[SampleValue], *, masked: bool) -> MaskedText:
    """Return a text with its values masked.

    A value of plain words (``coffee``) is not masked: its words may belong to the sentence.

    :param masked: whether anything is masked; else the values are only listed.
    """
    stated = sorted({value.value for value in values}, key=lambda value: (-len(value), value))
    masks: dict[str, str] = {}
    count: Counter[str] = Counter()
    for value in stated if masked else ():
        kind = _kind(value)
        if kind == _UNKNOWN_KIND and value.islower() and value.replace(" ", "").isalpha():
            continue
        mask = f"{kind.upper()}{count[kind] + 1}"
        replaced = re.sub(rf"(?<!\w){re.escape(value)}(?!\w)", mask, text)
        if replaced != text and mask not in text and mask not in stated:
            text, masks[mask] = replaced, value
            count[kind] += 1
    plain = [value for value in stated if value not in masks.values()]
    keep = sorted((*masks, *plain), key=lambda one: (text.find(one), one))
    return MaskedText(text=text, keep=tuple(keep), values=masks)


def _kind(value: str) -> str:
    """The kind of a value that is of one kind as a whole."""
    kinds = {found.kind for found in find_values(_BEFORE + value) if found.text == value}
    return kinds.pop() if kinds else _UNKNOWN_KIND
