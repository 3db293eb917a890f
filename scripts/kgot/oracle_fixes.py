"""How the oracle corrects a statement or a query: by what the engine says of it, or by the labels that stand in the graph."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import get_close_matches

__all__ = ["corrected", "with_labels_of_graph"]

_STRING = r"""'(?:[^'\\]|\\[\\'"nrtbfu])*+'|"(?:[^"\\]|\\[\\'"nrtbfu])*+\""""
_WELL_QUOTED = re.compile(rf"""(?:(?:{_STRING})(?=[\s,;:.^)\]}}]|\Z)|[^'"\\])*+""")
_CLOSERS = {"(": ")", "[": "]", "{": "}"}
_BRACKETS = re.compile(rf"{_STRING}|[()\[\]{{}}]")
_LABEL = re.compile(r"(\(\w*:|\ba :|\['label'\] == ')(\w+)")  # in Cypher, SPARQL and Python


def corrected(text: str, fault: str) -> str:
    """Return a text as its fault asks for it; as it is, where the fault says nothing of backslashes, quotes or brackets.

    :param fault: what the engine says.
    """
    if re.search(r"\\|quote|string literal", fault):
        return _without_backslash(text, fault)
    return _with_bracket(text) if "bracket" in fault else text


def _without_backslash(text: str, fault: str) -> str:
    """Leave out the backslash without which all strings are well written; of several the one next to the place that the fault names."""
    named = re.search(r" at (\d+) ", fault)
    places = [found.start() for found in re.finditer(r"\\", text)]
    places.sort(key=lambda at: abs(at - int(named[1])) if named else at)
    without = (text[:at] + text[at + 1 :] for at in places)
    return next((each for each in without if _WELL_QUOTED.fullmatch(each)), text)


def _with_bracket(text: str) -> str:
    """Close the bracket that is open where another closes; else one left open, behind a type or at the end."""
    opened: list[int] = []
    for found in _BRACKETS.finditer(text):
        sign, at = found[0], found.start()
        if sign in _CLOSERS:
            opened.append(at)
        elif sign in _CLOSERS.values() and opened:
            closer = _CLOSERS[text[opened.pop()]]
            if closer != sign:
                return text[:at] + closer + text[at:]
    if not opened:
        return text
    type_ = re.compile(r"\[:\w+").match(text, opened[-1])
    at = type_.end() if type_ else len(text)
    return text[:at] + _CLOSERS[text[opened[-1]]] + text[at:]


def with_labels_of_graph(query: str, labels: Sequence[str]) -> str:
    """Return a query with the nearest label of the graph in the place of each that the graph does not have."""

    def known(found: re.Match[str]) -> str:
        near = found[2] if found[2] in labels else next(iter(get_close_matches(found[2], labels, n=1)), found[2])
        return found[1] + near

    return _LABEL.sub(known, query)
