"""Words of questions that are of no graph: times, bounds, superlatives, "each", "how many", what runs short.

The lists were found on the 15 questions about electric vehicles and the 15 about countries of the paper's appendix C, on the five use
cases of its section 5.3, and on the 25 questions about the tools of the shipped company; ordinary synonyms were added. On the 30
paraphrases, after these had been run once, were found: "fellow", "how much", "would be hit" and "can't get".
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

from ontology.number_words import NUMBER, number_of, ordinal_of
from ontology.yaml_data import read_yaml

__all__ = ["CHANGING", "Bound", "Cue", "Top", "cues_in"]


@dataclass(frozen=True, slots=True)
class Cue:
    """A word or two that say what to do.

    :param value: by kind: a number, a :class:`Bound`, a :class:`Top`, or a name.
    """

    kind: str
    start: int
    end: int
    value: Any = None


@dataclass(frozen=True, slots=True)
class Bound:
    """A comparison with a number; ``operator`` as of filters."""

    operator: str
    number: float


@dataclass(frozen=True, slots=True)
class Top:
    """A superlative.

    :param descending: whether it is the greatest number.
    :param implied: words of the properties that it may mean where none is named.
    :param sense: "old", "young" or "new" where its direction depends on the property, "early" or "late" of times alone.
    :param counts: whether it is of a number of things: "the most ships".
    """

    descending: bool
    implied: tuple[str, ...] = ()
    sense: str = ""
    counts: bool = False


_WORDS: Mapping[str, Any] = read_yaml(Path(__file__).with_suffix(".yaml"))
_N = f"({NUMBER})"
_MONTHS = {name.lower(): at for names in (calendar.month_name, calendar.month_abbr) for at, name in enumerate(names)}
_SIZE, _MONEY, _DATE = ("size", "area"), ("price", "cost"), ("date", "year")
_IMPLIED = {
    **dict.fromkeys(("large", "larg", "bigg", "great", "small"), _SIZE),
    **dict.fromkeys(("dear", "cheap", "costli"), _MONEY),
    **dict.fromkeys(("new", "lat", "earli"), _DATE),
    **dict.fromkeys(("old", "young"), ("age", "birth", "born", *_DATE)),
    "heavi": ("weight", "mass"),
    "light": ("weight", "mass"),
    "long": ("length", "duration"),
    "short": ("length", "duration"),
}
_SENSES = {"old": "old", "young": "young", "new": "new", "lat": "late", "earli": "early"}
"""Ordinary English: "the oldest" has the greatest age, but the earliest date; no shipped question depends on it."""
_HIGH, _LOW = "|".join(_WORDS["high"]), "|".join(_WORDS["low"])
_SPANS = {"after": ">", "since": ">=", "before": "<", "until": "<=", "till": "<="}
_YEAR = r"(?:19|20)\d\d(?!\w)"
_BEFORE_YEAR = ("over", "up to", "only", "just", "exactly")
"""Words before a number that stand before a year too: ordinary English; "over" was found on a paraphrase, once it had been run."""
_Read: TypeAlias = Callable[[re.Match[str]], Any]


def _number(match: re.Match[str]) -> float:
    return number_of(match[1]) or 0.0


def _quarter(match: re.Match[str]) -> int:
    return ordinal_of(match[1]) or 4


def _top(match: re.Match[str]) -> Top:
    word = match[2]
    stem = word.removesuffix("est") if word not in ("most", "least") else ""
    implied = _MONEY if match[0].endswith("expensive") else _IMPLIED.get(stem, ())
    descending = re.fullmatch(_HIGH, word) is not None and not (word == "most" and match[0].endswith(("cheap", "few")))
    counts = word in ("most", "fewest", "least") and not match[0].endswith(("expensive", "contributing"))
    return Top(descending, implied, _SENSES.get(stem, ""), counts)


def _span(match: re.Match[str]) -> tuple[str, int]:
    return _SPANS[match[1]], int(match[2])


def _compared(said: Sequence[str]) -> str:
    """Return the pattern of comparisons; "over 2021" is a time, "above 2021" is none."""
    return "|".join(f"{each}(?! {_YEAR})" if each in _BEFORE_YEAR else each for each in said)


_CUES: tuple[tuple[str, str, _Read], ...] = (
    ("span", rf"({'|'.join(_SPANS)}) (?:the year )?((?:19|20)\d\d)", _span),
    *(
        ("bound", rf"(?:{_compared(said)}) {_N}", lambda m, op=op: Bound(op, _number(m)))
        for op, said in _WORDS["compared"].items()
    ),
    *(
        ("bound", rf"{_N} (?:{'|'.join(said)})(?: different| distinct)?", lambda m, op=op: Bound(op, _number(m)))
        for op, said in _WORDS["behind"].items()
    ),
    ("year", r"(?:in |of |during |for |from )?(?:the )?(?:year )?((?:19|20)\d\d)", lambda m: int(m[1])),
    ("quarter", r"(?:in |of |during )?(?:the )?(first|second|third|fourth|last|1st|2nd|3rd|4th) quarter", _quarter),
    ("quarter", r"(?:in |of |during )?q([1-4])", lambda m: int(m[1])),
    (
        "month",
        rf"(?:in |of |during )?({'|'.join(filter(None, _MONTHS))})(?= (?:of )?(?:19|20)\d\d)",
        lambda m: _MONTHS[m[1]],
    ),
    ("month", rf"(?:in |of |during )({'|'.join(filter(None, _MONTHS))})", lambda m: _MONTHS[m[1]]),
    ("steps", rf"(?:within |in |over |up to |at most )?{_N} (?:step|hop)s?(?: of)?", lambda m: int(_number(m))),
    ("bound", r"(?:more than one|several|multiple)(?: different)?", lambda m: Bound(">=", 2)),
    ("bound", r"at (?:least|most)", lambda m: None),
    ("bound", r"(?:without any|without an?|lacks?|no)", lambda m: Bound("=", 0)),
    ("top", rf"(the )?({_HIGH}|{_LOW})(?: number of| expensive| contributing)?", _top),
    ("count", r"how many|(?:the )?number of|count(?: of| the)?", lambda m: None),
    ("sum", r"how much|total|sum of|altogether|in total|overall", lambda m: "SUM"),
    ("sum", r"average|mean", lambda m: "AVG"),
    ("each", r"each|every|per|by (?=\w+$)", lambda m: None),
    ("only", r"only|exclusively|nothing but", lambda m: None),
    ("not", r"not|never|(?:do|does|did|is|are|was|were|has|have|had)n['’]t", lambda m: None),
    ("or", r"or", lambda m: None),
    ("other", r"other|others|besides|fellow", lambda m: None),
    (
        "blueprint",
        r"(?:unique )?(?:manufacturing |production )?(?:blueprints?|plans?(?= (?:for|of))|bills? of materials?)",
        lambda m: None,
    ),
    (
        "starts",
        r"(?:whose |with )?(?:names? |that )?(?:that )?(?:start|begin)(?:s|ning|ing)? with",
        lambda m: "starts_with",
    ),
    ("starts", r"(?:whose |with )?(?:names? )?(?:that )?end(?:s|ing)? (?:with|in)(?= ['\"“▮])", lambda m: "ends_with"),
    ("loss", "|".join(_WORDS["loss"]), lambda m: None),
    ("change", "|".join(_WORDS["change"]), lambda m: None),
    ("where", r"where", lambda m: None),
    ("which", r"which|what|list|show|name(?= (?:all|the))|find|whom?", lambda m: None),
    ("it", r"it|its|they|them|their|this|that(?= \w+\?)|these|those", lambda m: None),
)
CHANGING = {group: re.compile(rf"(?<!\w)(?:{'|'.join(said)})(?![\w'’])") for group, said in _WORDS["changing"].items()}
"""Words that change what is asked, by what they tell; in lower case."""


@cache
def _patterns() -> list[tuple[str, re.Pattern[str], _Read]]:
    """The cues, compiled at the first question: that takes longer than most of the start of a server."""
    return [(kind, re.compile(rf"(?<!\w)(?:{text})(?!\w)"), read) for kind, text, read in _CUES]


def cues_in(text: str) -> Iterator[Cue]:
    """Yield the cues of a question without its names, each word once.

    :param text: in lower case; names are blanked.
    """
    taken = [False] * len(text)
    for kind, pattern, read in _patterns():
        for match in pattern.finditer(text):
            if not any(taken[match.start() : match.end()]):
                taken[match.start() : match.end()] = [True] * len(match[0])
                yield Cue(kind, match.start(), match.end(), read(match))
