"""Signals that a sentence of a tool's document speaks to the model that reads it, or against the user: patterns with weights.

A sentence of a document tells what a tool does. What gives an instruction away is to whom it speaks (assistants, "you" as the one
who replies), about what (the conversation, its own reply, other tools, secrets), and how (secrecy, precedence over other rules,
authority, removed safeguards). No single one is proof: the weights of different signals in neighbouring sentences are added.

The patterns stand in ``signals_*.yaml`` beside this module. They are matched against folded text (lower case). A pattern is tried only
where a word begins with one of its anchors, and every repetition in it has a limit, so that the time is linear in the length of the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ontology.yaml_data import read_yaml

__all__ = ["SIGNALS", "Signal"]

_FOLDER = Path(__file__).parent
_FILES = ("signals_of_speech", "signals_of_acts", "signals_of_clauses", "signals_elsewhere")
_PHRASE = re.compile("<([A-Z_]+)>")


@dataclass(frozen=True, slots=True)
class Signal:
    """One kind of evidence in a sentence.

    :param weight: what it adds; 1 is enough for quarantine, see :mod:`ingest.trust.instructions`.
    :param anchors: beginnings of words, one of which a sentence must have; separated by ``|``. One with ``#`` is a mark, see there.
    :param expression: of a folded sentence.
    :param why: what it is evidence of.
    """

    name: str
    weight: float
    anchors: str
    expression: str
    why: str

    @property
    def pattern(self) -> re.Pattern[str]:
        """The expression, compiled where it is first needed: all of them take a sixth of the start of the command."""
        return _compiled(self.expression)


_compiled = cache(re.compile)


def _read() -> Iterator[Signal]:
    phrases: dict[str, str] = {}
    for name, parts in read_yaml(_FOLDER / "signal_phrases.yaml").items():
        phrases[name] = f"(?:{_filled('|'.join(parts), phrases)})"
    for file in _FILES:
        for row in read_yaml(_FOLDER / f"{file}.yaml"):
            patterns = [_near(**each) if isinstance(each, dict) else each for each in row["patterns"]]
            expression = "|".join(_filled(each, phrases) for each in patterns)
            yield Signal(row["name"], row["weight"], "|".join(row["anchors"].split()), expression, row["why"])


def _filled(pattern: str, phrases: Mapping[str, str]) -> str:
    """A pattern with the phrases that it names as ``<NAME>``."""
    return _PHRASE.sub(lambda match: phrases[match[1]], pattern)


def _near(near: tuple[str, str], words: int) -> str:
    """A pattern of two notions with at most so many words between them, in either order."""
    one, other = near
    gap = rf"(?:\W{{1,4}}\w{{1,40}}){{0,{words}}}?\W{{1,4}}"
    return rf"\b(?:{one})\b{gap}(?:{other})\b|\b(?:{other})\b{gap}(?:{one})\b"


SIGNALS: tuple[Signal, ...] = tuple(_read())
"""The signals; those of one name in several languages count once."""
