"""Numbers in words: "two dozen", "1.5 million", "twenty-first"."""

from __future__ import annotations

import re

_ONES = "one two three four five six seven eight nine".split()
_TEENS = "ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen".split()
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
_SMALL = {word: value for value, word in enumerate(["zero", *_ONES, *_TEENS])}
_SMALL |= {word: 10 * value for value, word in enumerate(_TENS, 2)}
_SCALES = {"dozen": 12, "hundred": 100, "thousand": 1_000, "million": 10**6, "billion": 10**9}
NUMBER_WORDS = frozenset({*_SMALL, *_SCALES})  # the single words of numbers
_FIRST_ONES = "first second third fourth fifth sixth seventh eighth ninth".split()
_FIRST_TEENS = (
    "tenth eleventh twelfth thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth".split()
)
_ORDINALS = {word: value for value, word in enumerate([*_FIRST_ONES, *_FIRST_TEENS], 1)}
_ORDINALS |= {f"{word[:-1]}ieth": _SMALL[word] for word in _TENS}
_ORDINALS |= {f"{tens}-{ones}": _SMALL[tens] + _ORDINALS[ones] for tens in _TENS for ones in _FIRST_ONES}

_BELOW_100 = rf"(?:(?:{'|'.join(_TENS)})(?:[- ](?:{'|'.join(_ONES)}))?|{'|'.join(_TEENS)}|{'|'.join(_ONES)})"
_BELOW_1000 = rf"(?:(?:a|{_BELOW_100}) hundred(?:(?: and)? {_BELOW_100})?|{_BELOW_100})"
_BELOW_MILLION = rf"(?:(?:a|{_BELOW_1000}) thousand(?:,?(?: and)? {_BELOW_1000})?|{_BELOW_1000})"
_BELOW_BILLION = rf"(?:(?:a|{_BELOW_1000}) million(?:,?(?: and)? {_BELOW_MILLION})?|{_BELOW_MILLION})"
_DIGITS = r"[-−]?[0-9](?:,?[0-9]){0,14}(?:\.[0-9]{1,15})?"
_BEGINS = r"(?<!\w)(?<!\w-)"
# A number with a word in it, as a regular expression for lower case, without groups
WORDED_NUMBER = (
    rf"{_BEGINS}(?:zero|half a dozen|(?:a|{_BELOW_100}) dozen|{_DIGITS} (?:{'|'.join(_SCALES)})"
    rf"|(?:a|{_BELOW_1000}) billion(?:,?(?: and)? {_BELOW_BILLION})?|{_BELOW_BILLION})(?!-?\w)"
)
NUMBER = rf"(?:{WORDED_NUMBER}|{_BEGINS}{_DIGITS}(?!\w|[-.,]\d))"  # any number, likewise


def number_of(text: str) -> float | None:
    """Return the number that a text is, without regard to case; None: it is none."""
    lower = text.lower()
    if re.fullmatch(NUMBER, lower) is None:
        return None
    total = group = 0.0
    for word in re.findall(r"-?[0-9.]+|[a-z]+", lower.replace(",", "").replace("−", "-")):
        if scale := _SCALES.get(word):
            group = (group or 1) * scale
            if scale >= 1_000:
                total, group = total + group, 0.0
        elif word[-1].isdigit():
            group = float(word)
        else:
            group += 0.5 if word == "half" else _SMALL.get(word, 0)
    return total + group


def ordinal_of(text: str) -> int | None:
    """Return the place that an ordinal says, without regard to case: "third", "21st", "twenty-first"; None: it is none."""
    digits = re.fullmatch(r"([0-9]{1,9})(?:st|nd|rd|th)", text.lower())
    return int(digits[1]) if digits else _ORDINALS.get(text.lower())
