"""Words that change what is asked: each has to be used by some part of the plan, or the question is refused.

They are a closed class of English, in ``question_cues.yaml``: negations, quantities and numbers of them, spans of time, steps, and which
end of a relationship is meant. A word of the graph, such as "total cost", is none of them; nor is a name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ontology.names import is_comparative, is_verb, verb_lemma
from planners.graphseek.rules.joined_mentions import joint_between
from planners.graphseek.rules.question_cues import CHANGING
from planners.graphseek.rules.question_mentions import Mention
from planners.graphseek.rules.question_reading import Reading
from planners.graphseek.rules.said_question import SaidQuestion, UnreadableError

__all__ = ["UnusedWordError", "refuse_not_understood", "refuse_unused"]

_HOW = {
    "negation": "say it as “do not …” before a relationship, as “but do not …”, or as “no …” before a type",
    "quantity": "say “only …”, “at least two …”, “both … and …”, or how many",
    "aggregate": "say “how many …”, “the total …”, “the average …”, “the highest …” or “for each …”",
    "span": "say one year, quarter or month, or “after 2020”",
    "steps": "say “within two steps” after the relationship",
    "direction": "say which relationship is meant, such as “takes” or “returns”",
}
_PLANNED = {
    **dict.fromkeys(("not", "other"), "negation"),
    **dict.fromkeys(("bound", "only", "or"), "quantity"),
    **dict.fromkeys(("top", "sum", "count", "each"), "aggregate"),
    "steps": "steps",
}
"""Kinds of cues that are read first, and are part of the plan of some kinds of questions only; to which group they belong."""
_BEFORE_TARGET = re.compile(r"\s+(?:of\s+)?(?:the\s+|these\s+|those\s+)?(?:[\w-]+\s+){0,2}")
"""Between "all" and what is asked for: "all of the rare books"."""
_THAN = re.compile(r"(?:\b(?:more|less|fewer) [\w -]{1,40}|(?<!\w)(?!rather|other)[\w-]+) (than)\b")
"""With what it compares: "larger than", "more moons than". Found on questions of an outside reader about a graph of the solar system."""
# Between a word and what it narrows, and before a word that narrows: closed classes of English; no shipped question depends on them.
_DETERMINERS = ("", "a", "an", "the")
_BEFORE_ADJECTIVE = frozenset("a an the of in at on by from for with all and or these those".split())
_PREPOSITIONS = frozenset("near past around across against behind beside below under above over off opposite".split())
"""That a list of verbs has too, or may have: a closed class of English; no shipped question depends on them."""
_ARTICLES = ("", "a", "an", "the", "of", "of the")
"""Between a word that counts or ranks and what is counted: a closed class of English, found on the same questions."""


class UnusedWordError(UnreadableError):
    """A question with a word that changes what is asked, and that nothing made use of; the text says how to ask."""


def refuse_not_understood(said: SaidQuestion, reading: Reading) -> None:
    """Refuse a question with a comparison that was not read, or whose word for what is counted was not.

    :raises UnreadableError: when it has one; the text says which word.
    """
    for match in _THAN.finditer(said.text.lower()):
        if not any(each.start <= match.start(1) < each.end for each in said.all):
            text = said.text[match.start() : match.end()]
            raise UnreadableError(
                f"“{text}” was not understood; name a property and a number, such as “more than five”"
            )
    for each in said.unread:
        is_left = each.text in reading.unread
        if is_left and (is_comparative(each.text.lower()) or _is_counted(each, said) or _is_joined(each, said)):
            raise UnreadableError(f"“{each.text}” was not understood")
        if is_left and _narrows(each, said):
            raise UnreadableError(
                f"“{each.text}” was not understood; it may turn round or narrow what stands behind it"
            )


def _is_joined(each: Mention, said: SaidQuestion) -> bool:
    """Whether a word that was not read is joined to a word of the graph: "novels and essays"."""
    before = said.before(each)
    is_thing = before is not None and bool(before.name or before.values or before.types)
    return before is not None and is_thing and bool(joint_between(said, before, each))


def _narrows(each: Mention, said: SaidQuestion) -> bool:
    """Whether a word that was not read stands right before a thing, a value or a property: "outside Berlin", "active projects".

    A verb that leads to it does not, "to manufacture the model": that it was not read is told under the answer.
    """
    behind, before = said.next_to(each), said.before(each)
    if _is_changing(each):  # which is refused with how to ask
        return False
    is_asked = before is not None and before.is_cue("which") and not said.between(before, each).strip()
    if said.text[: each.start].rstrip().endswith(("'s", "’s")) and before is not None and before.name:
        return True  # "Ann's manager"
    is_head = behind is not None and said.between(each, behind).strip().lower() in ("of", "of the")
    if is_head and behind is not None and (behind.name or behind.types):
        return True  # "the manager of Ann"
    if behind is None or said.between(each, behind).strip().lower() not in _DETERMINERS or each.number is not None:
        return False
    if not (behind.name or behind.types or behind.values or behind.properties):
        return False
    is_led_to = is_verb(verb_lemma(each.text.lower())) and each.text.lower() not in _PREPOSITIONS
    return not is_led_to or each.before in _BEFORE_ADJECTIVE or is_asked


def _is_changing(each: Mention) -> bool:
    return any(pattern.fullmatch(each.text.lower()) for pattern in CHANGING.values())


def _is_counted(each: Mention, said: SaidQuestion) -> bool:
    """Whether a word that was not read stands where what is counted or ranked does, with no word of the graph behind it."""
    before, behind = said.before(each), said.next_to(each)
    if before is not None and before.is_cue("which") and before.text.lower() in ("which", "what"):
        behind_word = said.text[each.end :].split()[:1]
        is_share = not said.between(before, each).strip() and behind_word == ["of"]  # "what share of the captains"
        return is_share and not _is_changing(each)
    if before is None or not (before.is_cue("count", "top", "bound", "each") or before.number is not None):
        return False
    is_adjective = (
        behind is not None
        and bool(behind.types or behind.values or behind.properties)
        and not said.between(each, behind).strip()
    )
    return said.between(before, each).strip().lower() in _ARTICLES and not is_adjective


def refuse_unused(said: SaidQuestion, reading: Reading) -> None:
    """Refuse a question with a word that changes what is asked, and that nothing made use of.

    :raises UnusedWordError: when it has one; the text says how to ask.
    """
    for group, text in _unused(said, reading):
        raise UnusedWordError(f"“{text}” changes what is asked, and it is not clear how; {_HOW[group]}")


def _unused(said: SaidQuestion, reading: Reading) -> Iterator[tuple[str, str]]:
    for each in said.cues(*_PLANNED):
        is_choice = each.is_cue("or") and said.is_yes_no  # "Is it north or south?" asks for the value
        if not is_choice and not _is_accounted(each, said, reading):
            yield _PLANNED[each.cue.kind if each.cue else ""], each.text
    for group, pattern in CHANGING.items():
        for match in pattern.finditer(said.text.lower()):
            around = [each for each in said.all if each.start <= match.start() < each.end]
            around = [each for each in around if group != "direction" or each.relations or each.name]
            is_whole = _is_whole(match, reading) and not (said.is_yes_no and match[0] == "all")
            if not any(_is_accounted(each, said, reading) for each in around) and not is_whole:
                yield group, said.text[match.start() : match.end()]


def _is_accounted(each: Mention, said: SaidQuestion, reading: Reading) -> bool:
    """Whether a mention is a name or a word of the graph, or a cue that was read and is part of the plan."""
    if each.cue is not None:
        is_read = each in said.used and (each.cue.kind in reading.planned or each.cue.kind not in _PLANNED)
        return is_read or each in reading.done
    return bool(each.name or each.meanings)


def _is_whole(match: re.Match[str], reading: Reading) -> bool:
    """Whether "all" stands before what is asked for, or "both" before two things that are put together."""
    if match[0] == "all":
        between = match.string[match.end() : reading.target.at]
        return _BEFORE_TARGET.fullmatch(between) is not None
    if match[0] == "both":
        return not reading.either and (len(reading.named) > 1 or len(reading.relations) > 1)
    return False
