"""Conditions: whether some tool of the path gives what the condition of a request is about."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator

from datagen.patterns import load_patterns
from datagen.synthetic_request import SyntheticRequest
from datagen.validation.clause_parser import Clause
from datagen.validation.parsed_request import ParsedRequest
from datagen.validation.path_fit import PathFit
from datagen.validation.stated_values import is_known_word
from datagen.validation.synonyms import STOP_WORDS, EverydayWords
from datagen.validation.tool_slots import ToolSlots
from ontology.names import is_noun, noun_lemma, verb_lemma, words

__all__ = ["Attributes", "asks_attribute", "condition_texts"]

_TOOLS, _CUES, _VALUES = (
    load_patterns("validation/tools"),
    load_patterns("validation/cues"),
    load_patterns("validation/values"),
)
_QUANTITIES = _TOOLS.words("quantities")
_UNTELLING = _TOOLS.words("dates") | _TOOLS.words("counts") | _TOOLS.words("plain")
"""Words of outputs that people also say of what the documents call by another name."""
_LIGHT = STOP_WORDS | _VALUES.words("function_words") | _CUES.words("light_words")
_ORDERS = load_patterns("validation/clauses").words("order_verbs")
_WORD = re.compile(r"[a-z]+(?:'[a-z]+)?")
_MIN_STEM = 4  # letters that two forms of a word share
_MAX_ENDING = 2  # letters of the shorter one beside these
_MAX_BEFORE = 40  # characters before a value in which a comparison is looked for


class Attributes:
    """The attributes that the documents of a catalogue know: the last words of the names of outputs.

    :param tools: all tools of the catalogue.
    :param everyday: what people call its things.
    """

    def __init__(self, tools: Iterable[ToolSlots], everyday: EverydayWords) -> None:
        self._everyday = everyday
        tools = tuple(tools)
        self._known = frozenset(word for tool in tools for word in tool.attributes) - _UNTELLING
        self._phrases = frozenset(name for tool in tools for name in tool.attribute_names)

    def find_unanswered(self, request: SyntheticRequest, parsed: ParsedRequest, fit: PathFit) -> str:
        """Why no tool of the path answers the condition of a request, or empty.

        A condition on an attribute is answered by a tool in whose document its word stands, and the word before it where both
        together are the name of an output of the catalogue; one that compares a number or
        a day, by a tool that gives a number or a day. A tool that documents no outputs may give anything.
        """
        readers = [tool for tool in fit.tools if tool.reads]
        if not readers or any(tool.undocumented for tool in readers):
            return ""
        documented = frozenset().union(*(tool.document_words for tool in fit.tools))
        filled = {value.value for value in request.values}
        for clause in parsed.clauses:
            if clause.kind != "condition":
                continue
            for said in _attributes_asked(clause):
                noun = said[-1]
                if " ".join(said) in self._phrases and not _is_documented(said[0], documented, ()):
                    return f"the condition is on the {' '.join(said)}, which no tool of the path gives"
                if noun in self._known and not _is_documented(noun, documented, readers):
                    return f"the condition is on the {noun}, which no tool of the path gives"
            if fault := _uncompared(parsed, clause, filled, readers):
                return fault
        return self._undocumented(parsed, fit, readers)

    def _undocumented(self, parsed: ParsedRequest, fit: PathFit, readers: Collection[ToolSlots]) -> str:
        """A condition of whose words, but for what its things are called, none stands in the document of a tool that reads.

        It must say at least one noun. That there is something of a name is no such condition, nor is one on a number that a tool gives.
        Found on the first two sets of requests with planted faults and on the fourth.
        """
        entities = {entity for tool in fit.tools for entity in (tool.entity, *tool.keys) if entity}
        named = {word for one in entities for called in (one, *self._everyday.words(one)) for word in words(called)}
        things = {noun_lemma(word) for word in named}
        documented = frozenset().union(*(tool.document_words for tool in readers))
        measured = any(tool.measures for tool in readers)
        for condition in condition_texts(parsed, measured=measured):
            said = [word.removesuffix("'s") for word in _WORD.findall(condition)]
            said = [word for word in said if len(word) > 1 and word not in _LIGHT and is_known_word(word)]
            told = [word for word in said if noun_lemma(word) not in things]
            exists = len(told) < len(said) and _CUES["existence"].search(condition) is not None
            if exists or not any(map(_is_thing, told)) or any(_is_told(word, documented) for word in told):
                continue
            return f"no tool of the path gives anything on {' '.join(told)!r}, on which the condition is"
        return ""


def asks_attribute(parsed: ParsedRequest) -> bool:
    """Whether a condition is on an attribute of something, not on whether there is something."""
    return any(clause.kind == "condition" and any(_attributes_asked(clause)) for clause in parsed.clauses)


def condition_texts(parsed: ParsedRequest, *, measured: bool) -> Iterator[str]:
    """The text of each condition, without values.

    :param measured: whether conditions that compare a number are left out.
    """
    text = list(parsed.masked)
    for value in parsed.values:
        text[value.start : value.end] = " " * (value.end - value.start)
    for start, end in _spans(parsed):
        stated = [value for value in parsed.values if start <= value.start < end]
        if measured and any(value.kind in ("number", "money", "percent") for value in stated):
            continue
        yield "".join(text[start:end])


def _spans(parsed: ParsedRequest) -> Iterator[tuple[int, int]]:
    """Where each condition begins and ends, whether it opens a sentence or follows what depends on it."""
    opening = [(clause.start, clause.end) for clause in parsed.clauses if clause.kind == "condition"]
    yield from opening
    for cue in parsed.all_condition_cues:
        if any(start <= cue.start < end for start, end in opening) or _CUES["pointing_cue"].match(cue.words):
            continue
        start = cue.start + len(cue.words)
        if _CUES["pointing"].match(parsed.masked, start):
            continue
        stop = _CUES["condition_end"].search(parsed.masked, start)
        yield start, stop.start() if stop is not None else len(parsed.masked)


def _is_thing(word: str) -> bool:
    """Whether a word is a noun, and no verb with which people order something."""
    return is_noun(noun_lemma(word)) and verb_lemma(word) not in _ORDERS


def _is_told(word: str, documented: Collection[str]) -> bool:
    """Whether a document has a word in some form: ``approved`` and ``approval``."""
    if not {noun_lemma(word), verb_lemma(word)}.isdisjoint(documented):
        return True
    stems = ((one, max(_MIN_STEM, min(len(word), len(one)) - _MAX_ENDING)) for one in documented)
    return any(len(one) >= stem and word[:stem] == one[:stem] for one, stem in stems)


def _is_documented(noun: str, documented: Collection[str], readers: Iterable[ToolSlots]) -> bool:
    if noun in documented:
        return True
    # Words of sums stand for each other: a cost is answered by an amount.
    return noun in _QUANTITIES and not _QUANTITIES.isdisjoint(documented) and any(tool.measures for tool in readers)


def _attributes_asked(clause: Clause) -> Iterator[list[str]]:
    """The nouns of which something is said in a condition, with the word before: ``the net price of ...``, ``its price is ...``."""
    for match in _CUES["attribute"].finditer(clause.text):
        said = [noun_lemma(word) for word in match["noun"].split()[-2:]]
        if is_noun(said[-1]):
            yield said


def _uncompared(parsed: ParsedRequest, clause: Clause, filled: Collection[str], readers: Collection[ToolSlots]) -> str:
    """A number or a day that is compared with nothing; a value of an input is not compared."""
    for value in parsed.within(clause):
        if any(value.text in one for one in filled):
            continue
        before = parsed.masked[max(clause.start, value.start - _MAX_BEFORE) : value.start]
        number = value.kind in ("money", "percent") or (value.kind == "number" and _VALUES["comparison"].search(before))
        if number and not any(tool.measures for tool in readers):
            return f"no tool of the path gives a number to compare with {value.text!r}"
        if value.kind == "date" and _CUES["day_compared"].search(before) and not any(tool.dates for tool in readers):
            return f"no tool of the path gives a day to compare with {value.text!r}"
    return ""
