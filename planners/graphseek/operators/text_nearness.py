"""How near two texts are: what is looked for, and a name that the graph has."""

from __future__ import annotations

from difflib import SequenceMatcher

from planners.graphseek.dialects.cypher_text import CypherText

__all__ = ["NEAR", "near_names", "nearness"]

NEAR = 0.6
"""Nearness from which a name is shown: the cutoff of :func:`difflib.get_close_matches`."""
_CONTAINED = 0.8
"""Least nearness of a name that contains the text: above those with a typing error in every third letter."""
_LONG = 8  # characters from which two errors are looked for, not one
_COMPARED = 200  # characters of a text


def near_names(text: CypherText, value: str, wanted: str) -> tuple[str, str]:
    """Return the condition of names that may be near, and what orders them so that the nearest stand among the first.

    :param value: expression of the name.
    """
    pieces = text_pieces(wanted)
    tests = [f"lower({value}) CONTAINS lower({text.parameter(piece)})" for piece in pieces]
    scores = [
        f"CASE WHEN {test} THEN {text.parameter(2 * len(piece))} ELSE 0 END"
        for test, piece in zip(tests, pieces, strict=True)
    ]
    return f"({' OR '.join(tests)})", f"{' + '.join(scores)} - abs(size({value}) - {text.parameter(len(wanted))})"


def text_pieces(text: str) -> list[str]:
    """Return pieces of a text, of which one at least stands whole in every name with one or two typing errors.

    A text with n errors, cut into n + 1 pieces, has a piece without an error: engines without fuzzy search look for the pieces.
    """
    text = text.strip()[:_COMPARED]
    number = 1 if len(text) < _LONG // 2 else 2 if len(text) < _LONG else 3
    size = -(-len(text) // number)
    return [piece for at in range(0, len(text), max(size, 1)) if (piece := text[at : at + size])]


def nearness(text: str, name: str) -> float:
    """Return how near a name is, from 0 to 1; 1: equal but for case."""
    one, other = text.strip().casefold()[:_COMPARED], name.casefold()[:_COMPARED]
    if one == other:
        return 1.0
    if one and one in other:
        return round(_CONTAINED + (1 - _CONTAINED) * len(one) / (len(other) + 1), 3)
    return round(SequenceMatcher(None, one, other, autojunk=False).ratio(), 3)
