"""What a question wants of the things that it is about: their number, a sum, a mean, a share, the greatest; and how it is to be said.

The patterns were found on the tasks of the half ``dev`` and on the requests of the half ``dev`` of the domain enterprise.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from planners.kgot.asked import Combination, Measure, Unreadable

__all__ = ["QuestionHead", "read_head"]

_MEASURES: dict[str, Measure] = {
    **dict.fromkeys(("total", "sum", "overall"), "sum"),
    **dict.fromkeys(("average", "mean"), "mean"),
    **dict.fromkeys(("highest", "largest", "greatest", "biggest", "maximum", "longest"), "most"),
    **dict.fromkeys(("lowest", "smallest", "least", "minimum", "shortest"), "least"),
}
_MOST = "most|highest|largest|greatest|biggest|longest|maximum|oldest"
_LEAST = "least|lowest|smallest|fewest|shortest|minimum"
_ASK = r"(?:what|how much) (?:is|are|was|were)|give|find|show|calculate|compute"
_MEASURE = "|".join(_MEASURES)
_NUMBERS = {"no": 0, "one": 1, "two": 2, "three": 3, "four": 4}
_ROUND = re.compile(
    r"(?:please )?(?:round(?: (?:it|the answer|the result))?|give (?:it|the answer)(?: rounded)?) to (\w+) (?:decimals?|decimal places?|digits?)",
    re.I,
)
_ORDERED = re.compile(
    r"(?:please )?(?:list|give|name|sort)\b.*\b(?:alphabetical(?:ly)?|ascending|sorted|in order)\b.*", re.I
)
_NAMED = re.compile(
    r"(?:please )?(?:give|list|name|answer with|state)\b(?: me)?(?: only| just)?(?: the| their)? (.+)", re.I
)
_SUM = re.compile(rf"(?:{_ASK}) (?:the )?({_MEASURE})(?: of the)? (.+?) of (?:all )?(?:the |these |those )?(.+)", re.I)
_SHARE = re.compile(
    r"(?:what|which) (?:percentage|percent|share|proportion) of (?:the |all )?(.+?) (?:is|are|was|were) (.+)", re.I
)
_DIFFERENCE = re.compile(
    rf"(?:{_ASK}) (?:the )?difference between the ({_MEASURE})(?: of the)? (.+?) of (?:the )?(.+?) and (?:that|those|the one) (.+)",
    re.I,
)
_FIRST = re.compile(rf"which (.+?) (\w+) the ({_MOST}|{_LEAST}) ([\w ]+)", re.I)
_IN_TOTAL = re.compile(
    r"how many ([\w ]+?) (?:does|do|did|are in|were in|has|have) (?:the )?(.+?)(?: \w+)?(?: in total| together| altogether)",
    re.I,
)
_OVER_ALL = re.compile(
    r",? (?:(?:over|across) (?:both|all)(?: the)? \w+|(?:in|of|from) (?:both|all)(?: the)? (?:files?|tables?|sheets?|lists?|months?))$",
    re.I,
)
_HOW_MANY_OF = re.compile(r"^how many of (?:the |these |all )", re.I)


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionHead:
    """A question without what it wants of its things.

    :param rest: a request for the things themselves.
    :param other: a second one, of a share or a difference.
    :param field: words of the field that the measure or the order is of.
    :param most: of an order: whether the greatest is meant; None where there is no order.
    :param named: words of what is to be given of each, where the question says it.
    """

    rest: str
    other: str = ""
    measure: Measure = "find"
    combination: Combination = ""
    field: str = ""
    most: bool | None = None
    decimals: int | None = None
    in_order: bool = False
    named: str = ""


def read_head(question: str) -> QuestionHead | Unreadable:
    """Return what a question wants, or which sentence of it is not understood."""
    sentences = [
        each.strip() for each in re.split(r"(?<=[.?!])\s+(?=[A-Z])", " ".join(question.split())) if each.strip()
    ]
    if not sentences:
        return Unreadable(reason="there is no question")
    decimals, in_order, named = None, False, ""
    for sentence in sentences[1:]:
        plain = sentence.rstrip(".!")
        if (found := _ROUND.fullmatch(plain)) and (number := _number(found[1])) is not None:
            decimals = number
        elif _ORDERED.fullmatch(plain):
            in_order = True
        elif named_ := _NAMED.fullmatch(plain):
            named = named_[1]
        else:
            return Unreadable(reason=f"the sentence “{plain}” is not understood")
    text = sentences[0].rstrip(".?! ")
    end = sentences[0][len(text) :].strip()
    return _asked(_OVER_ALL.sub("", text), end, decimals, named, in_order=in_order)


def _asked(text: str, end: str, decimals: int | None, named: str, *, in_order: bool) -> QuestionHead:
    made = QuestionHead(
        rest=f"{_HOW_MANY_OF.sub('How many ', text)}{end}", decimals=decimals, in_order=in_order, named=named
    )
    return _measured(text, made) or made


def _measured(text: str, made: QuestionHead) -> QuestionHead | None:
    if found := _DIFFERENCE.fullmatch(text):
        measure, field, things, other = found.groups()
        noun = re.match(r"\w+", things)
        second = f"Find the {noun[0] if noun else things} {other}"
        return replace(
            made,
            rest=f"Find the {things}",
            other=second,
            measure=_MEASURES[measure.casefold()],
            field=field,
            combination="difference",
        )
    if found := _SHARE.fullmatch(text):
        things, state = found.groups()
        return replace(
            made,
            rest=f"Find the {things} that are {state}",
            other=f"Find the {things}",
            measure="count",
            combination="share",
        )
    if found := _SUM.fullmatch(text):
        return replace(made, rest=f"Find the {found[3]}", measure=_MEASURES[found[1].casefold()], field=found[2])
    if found := _IN_TOTAL.fullmatch(text):
        return replace(made, rest=f"Find the {found[2]}", measure="sum", field=found[1])
    if found := _FIRST.fullmatch(text):
        most = bool(re.fullmatch(_MOST, found[3], re.I))
        return replace(made, rest=f"Find the {found[1]}", field=found[4], most=most)
    return None


def _number(word: str) -> int | None:
    return int(word) if word.isdigit() else _NUMBERS.get(word.casefold())
