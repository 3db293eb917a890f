"""What a question wants of the things that it is about: their number, a sum, a mean, a share, the greatest; and how it is to be said.

The patterns were found on the tasks of the half ``dev`` and on the requests of the half ``dev`` of the domain enterprise.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from ontology.number_words import number_of
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
_ROUND = re.compile(
    r"(?:please )?(?:round(?: (?:it|the answer|the result))?|give (?:it|the answer)(?: rounded)?) to ([\w-]+) (?:decimals?|decimal places?|digits?)",
    re.I,
)
_ORDER = (
    r"in (?:(reverse|descending|ascending) )?(?:alphabetical )?order|(reverse )?alphabetically|sorted alphabetically"
)
_ORDERED = re.compile(
    rf"(?:please )?(?:list|give|name|sort|order)(?: me)?(?: (?:them|these|those|(?:the|their|its) ([\w ]+?)))?,? (?:{_ORDER})",
    re.I,
)
_NAMED = re.compile(
    r"(?:please )?(?:give|list|name|answer with|state)\b(?: me)?(?: only| just)?(?: the| their| its)? (.+)", re.I
)
_UNREAD_ORDER = re.compile(
    r"\b(?:order|ordered|sort|sorted|alphabetical\w*|ascending|descending|reverse\w*|by|first|last|and|with|without|per|each)\b",
    re.I,
)
"""Words behind "give" that say more than which column is meant."""
_SUM = re.compile(rf"(?:{_ASK}) (?:the )?({_MEASURE})(?: of the)? (.+?) of (?:all )?(?:the |these |those )?(.+)", re.I)
_SHARE = re.compile(
    r"(?:what|which) (?:percentage|percent|share|proportion) of (?:the |all )?(.+?) (?:is|are|was|were) (.+)", re.I
)
_DIFFERENCE = re.compile(
    rf"(?:{_ASK}) (?:the )?difference between the ({_MEASURE})(?: of the)? (.+?) of (?:the )?(.+?) and (?:that|those|the one) (.+)",
    re.I,
)
_VERBS = "has|have|had|is|are|was|were|covers?|covered|ran|runs?|costs?|contains?|contained|holds?|held|makes?|made|took|takes?"
"""Verbs between a thing and its number that say no more than that it has it."""
_FIRST = re.compile(rf"which (.+?) ({_VERBS}) the ({_MOST}|{_LEAST}) ([\w ]+?)((?: (?:in|of|from|on|at) .+)?)", re.I)
_PROPERTY = re.compile(r"(?:what|which) (?:is|are|was|were) the ([\w ]+?) of ((?:the )?.+)", re.I)
_IN_TOTAL = re.compile(
    rf"how many ([\w ]+?) (?:does|do|did|are in|were in|has|have) (?:the )?(.+?)(?: (?:{_VERBS}))?(?: in total| together| altogether)",
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
    :param descending: whether what is sorted begins with the last.
    :param named: words of what is to be given of each, where the question says it.
    :param property: of "the X of Y" the words of X, where the question may mean a property; a measure leaves it empty.
    :param owner: a request for Y, of the same.
    """

    rest: str
    other: str = ""
    measure: Measure = "find"
    combination: Combination = ""
    field: str = ""
    most: bool | None = None
    decimals: int | None = None
    in_order: bool = False
    descending: bool = False
    named: str = ""
    property: str = ""
    owner: str = ""


def read_head(question: str) -> QuestionHead | Unreadable:
    """Return what a question wants, or which sentence of it is not understood."""
    sentences = [
        each.strip() for each in re.split(r"(?<=[.?!])\s+(?=[A-Z])", " ".join(question.split())) if each.strip()
    ]
    if not sentences:
        return Unreadable(reason="there is no question")
    made = QuestionHead(rest="")
    for sentence in sentences[1:]:
        known = _told(sentence.rstrip(".!?"), made)
        if isinstance(known, Unreadable):
            return known
        made = known
    text = sentences[0].rstrip(".?! ")
    end = sentences[0][len(text) :].strip()
    return _asked(_OVER_ALL.sub("", text), end, made)


def _told(plain: str, made: QuestionHead) -> QuestionHead | Unreadable:
    """Return what a sentence behind the first adds: digits, an order or what is to be given."""
    if (found := _ROUND.fullmatch(plain)) and (number := _number(found[1])) is not None:
        return replace(made, decimals=number)
    if found := _ORDERED.fullmatch(plain):
        down = (found[2] or found[3] or "").casefold().strip() in ("reverse", "descending")
        return replace(made, in_order=True, descending=down, named=found[1] or made.named)
    unread = _UNREAD_ORDER.search(plain)
    if (found := _NAMED.fullmatch(plain)) and unread is None and found[1].casefold() not in ("them", "these", "those"):
        return replace(made, named=found[1])
    return Unreadable(reason=f"the sentence “{plain}” is not understood")


def _asked(text: str, end: str, made: QuestionHead) -> QuestionHead:
    head = replace(made, rest=f"{_HOW_MANY_OF.sub('How many ', text)}{end}")
    if measured := _measured(text, head):
        return measured
    if found := _PROPERTY.fullmatch(text):
        return replace(head, property=found[1], owner=f"Find {found[2]}")
    return head


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
        return replace(made, rest=f"Find the {found[1]}{found[5]}", field=found[4], most=most)
    return None


def _number(word: str) -> int | None:
    number = 0.0 if word.casefold() == "no" else number_of(word)
    return None if number is None else int(number)
