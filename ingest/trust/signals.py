"""Signals that a sentence of a tool's document speaks to the model that reads it, or against the user: patterns with weights.

A sentence of a document tells what a tool does. What gives an instruction away is to whom it speaks (assistants, "you" as the one
who replies), about what (the conversation, its own reply, other tools, secrets), and how (secrecy, precedence over other rules,
authority, removed safeguards). No single one is proof: the weights of different signals in neighbouring sentences are added.

The patterns are matched against folded text (lower case). A pattern is tried only where a word begins with one of its anchors, and
every repetition in it has a limit, so that the time is linear in the length of the text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ingest.trust.signals_elsewhere import OTHER_LANGUAGES
from ingest.trust.signals_of_acts import ACTS_WANTED
from ingest.trust.signals_of_clauses import CLAUSES
from ingest.trust.signals_of_speech import SPEECH

__all__ = ["SIGNALS", "Signal"]


@dataclass(frozen=True, slots=True)
class Signal:
    """One kind of evidence in a sentence.

    :param weight: what it adds; 1 is enough for quarantine, see :mod:`ingest.trust.instructions`.
    :param anchors: beginnings of words, one of which a sentence must have; separated by ``|``.
    :param pattern: of a folded sentence.
    :param why: what it is evidence of.
    """

    name: str
    weight: float
    anchors: str
    pattern: re.Pattern[str]
    why: str


SIGNALS: tuple[Signal, ...] = tuple(
    Signal(name, weight, anchors, re.compile("|".join(f"(?:{each})" for each in patterns)), why)
    for name, weight, anchors, patterns, why in (*SPEECH, *ACTS_WANTED, *CLAUSES, *OTHER_LANGUAGES)
)
"""The signals; those of one name in several languages count once."""
