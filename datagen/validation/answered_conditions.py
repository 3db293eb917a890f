"""Conditions: whether some tool of the path gives what the condition of a request is about."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from datagen.patterns import load_patterns
from datagen.synthetic_request import SyntheticRequest
from datagen.validation.clause_parser import Clause
from datagen.validation.parsed_request import ParsedRequest
from datagen.validation.path_fit import PathFit
from datagen.validation.tool_slots import ToolSlots
from ontology.names import is_noun, noun_lemma

__all__ = ["Attributes", "asks_attribute"]

_TOOLS, _CUES, _VALUES = (
    load_patterns("validation/tools"),
    load_patterns("validation/cues"),
    load_patterns("validation/values"),
)
_QUANTITIES = _TOOLS.words("quantities")
_UNTELLING = _TOOLS.words("dates") | _TOOLS.words("counts") | _TOOLS.words("plain")
"""Words of outputs that people also say of what the documents call by another name."""
_MAX_BEFORE = 40  # characters before a value in which a comparison is looked for


class Attributes:
    """The attributes that the documents of a catalogue know: the last words of the names of outputs.

    :param tools: all tools of the catalogue.
    """

    def __init__(self, tools: Iterable[ToolSlots]) -> None:
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
        return ""


def asks_attribute(parsed: ParsedRequest) -> bool:
    """Whether a condition is on an attribute of something, not on whether there is something."""
    return any(clause.kind == "condition" and any(_attributes_asked(clause)) for clause in parsed.clauses)


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
