"""Instructions to the model in a text: signals of neighbouring sentences, added up."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import Final, NamedTuple

from ingest.trust.encoded_text import disguised_runs, encoded_runs
from ingest.trust.finding import QUARANTINE, REPORT, Severity
from ingest.trust.folded_text import FoldedText, fold
from ingest.trust.security_advice import names_credential, without_advice
from ingest.trust.signals import SIGNALS, Signal
from ingest.trust.tool_fields import Role

__all__ = ["QUARANTINED", "Instruction", "Sentence", "find_instructions", "sentences_of", "signals_in"]

QUARANTINED: Final = 0.8
_REPORTED: Final = 0.7
_SENTENCE_CHARS = 600  # a longer sentence is cut, so that a pattern sees at most so much
_ODD_PLACE = 0.3  # a sentence in a place that has no sentences
_ODD_CHARS = 40
_WORD = re.compile(r"[^\W_]+")
_CHINESE = re.compile("[\u4e00-\u9fff]")
_END = re.compile(r"[.!?](?=\s|$)|[;\n。！？；]")
_MOST_WORDS = 1 << 18


class Sentence(NamedTuple):
    """A part of a folded text, and the signals in it."""

    start: int
    end: int
    signals: frozenset[int]


class Instruction(NamedTuple):
    """An instruction to the model at ``text[start:end]``; ``names`` of its signals."""

    start: int
    end: int
    severity: Severity
    names: tuple[str, ...]
    why: str


@cache
def _anchors() -> tuple[tuple[int, re.Pattern[str]], ...]:
    return tuple((at, re.compile(signal.anchors)) for at, signal in enumerate(SIGNALS) if signal.anchors)


@lru_cache(maxsize=1 << 14)
def _most(possible: frozenset[int]) -> float:
    """The most that signals can weigh together, with what a repetition adds."""
    weights = {SIGNALS[at].name: SIGNALS[at].weight for at in possible}
    return sum(weights.values()) + (_REPEATED if max(weights.values()) >= _STRONG else 0.0)


@cache
def _without_anchors() -> frozenset[int]:
    return frozenset(at for at, signal in enumerate(SIGNALS) if not signal.anchors)


@lru_cache(maxsize=_MOST_WORDS)
def _signals_of_word(word: str) -> frozenset[int]:
    """The signals of which an anchor begins the word."""
    return frozenset(at for at, pattern in _anchors() if pattern.match(word))


def _possible(text: str) -> set[int]:
    """The signals whose patterns may match in a text."""
    found: set[int] = set()
    for word in set(_WORD.findall(text)):
        if len(word) <= _LONGEST_WORD:
            found |= _signals_of_word(word)
    if "(" in text and "=" in text:
        found |= _signals_of_word("#call")
    if "~/" in text or "/." in text or "/etc/" in text or "/home/" in text or "/root/" in text or "$" in text:
        found |= _signals_of_word("#path")
    if "<" in text or "[" in text:
        found |= _signals_of_word("#markup")
    if not text.isascii() and _CHINESE.search(text):
        found |= _without_anchors()
    return found


_LONGEST_WORD = 40


def sentences_of(text: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of the sentences of a text, each at most 600 characters long; linear."""
    start = 0
    for match in _END.finditer(text):
        yield from _cut(start, match.end())
        start = match.end()
    yield from _cut(start, len(text))


def _cut(start: int, end: int) -> Iterator[tuple[int, int]]:
    while start < end:
        yield start, min(end, start + _SENTENCE_CHARS)
        start += _SENTENCE_CHARS


def signals_in(folded: str, least: float = 0.0) -> list[Sentence]:
    """The sentences of a folded text that have signals.

    :param least: nothing is looked for where all possible signals together weigh less.
    """
    possible = _possible(folded)
    if not possible or (least and _most(frozenset(possible)) < least):
        return []
    found = []
    for start, end in sentences_of(folded):
        part = folded[start:end]
        here = possible if end - start == len(folded) else _possible(part)
        signals = frozenset(at for at in here if SIGNALS[at].pattern.search(part))
        if signals:
            found.append(Sentence(start, end, signals))
    return found


def find_instructions(text: str, role: Role = "prose", *, keep: bool = True) -> list[Instruction]:
    """The instructions to the model in a text, each with its span.

    :param role: of the text's field; a sentence in a name, a label or a value is odd in itself.
    :param keep: whether the text and what was found are kept in memory for an equal text; not the texts of users.
    """
    if len(text) < _SHORTEST:
        return []
    return list(_found(text, role) if keep else _found.__wrapped__(text, role))


_SHORTEST = 12


@lru_cache(maxsize=1 << 15)
def _found(text: str, role: Role) -> tuple[Instruction, ...]:
    folded = fold(text)
    instructions = list(
        _groups(folded, signals_in(folded.text, _REPORTED - (0.0 if role == "prose" else _ODD_PLACE)), role)
    )
    for run in (*encoded_runs(text), *disguised_runs(text)):
        inner = {SIGNALS[at].name for sentence in signals_in(run.decoded.lower()) for at in sentence.signals}
        if not (inner or run.has_command or " " in run.decoded):
            continue
        severity: Severity = QUARANTINE if inner - _WEAK or run.has_command else REPORT
        names = ("encoded", *sorted(inner))
        instructions.append(
            Instruction(run.start, run.end, severity, names, f"a text is disguised in it: {run.decoded[:80]}")
        )
    return tuple(instructions)


def _groups(folded: FoldedText, sentences: list[Sentence], role: Role) -> Iterator[Instruction]:
    """Join sentences that stand beside each other, and keep the groups that weigh enough."""
    for at, sentence in enumerate(sentences):
        best = _instruction(folded, sentence.start, sentence.end, sentence.signals, role)
        if at + 1 < len(sentences) and sentences[at + 1].start - sentence.end <= _NEAR:
            after = sentences[at + 1]
            repeated = bool(_strong(sentence.signals) & _strong(after.signals))
            both = _instruction(
                folded, sentence.start, after.end, sentence.signals | after.signals, role, repeated=repeated
            )
            if both is not None and (best is None or (best.severity == REPORT and both.severity == QUARANTINE)):
                best = both
        if best is not None:
            yield best


def _strong(signals: frozenset[int]) -> set[str]:
    return {SIGNALS[at].name for at in signals if SIGNALS[at].weight >= _STRONG}


_STRONG = 0.6
_REPEATED = 0.25  # for a strong signal in both sentences
_WEAK = frozenset(("demand", "private-data", "secret"))  # they say something only beside one of the next
_SUPPORTING = frozenset(
    (
        "foreign-call",
        "secret-moved",
        "safeguard",
        "self-reference",
        "conversation-moved",
        "steering",
        "other-tool",
        "opened",
        "secrets-wanted",
        "rivals",
    )
)
_TWO = 2
_ALONE = 0.6  # the part of their weight that counts where nobody is spoken to
_INTERACTION = frozenset(
    (
        "addressed",
        "addressed-agent",
        "conversation",
        "secrecy",
        "your-reply",
        "tool-choice",
        "intercept",
        "other-tools",
        "authority",
        "first-person",
        "danger-call",
        "tamper",
        "secret-tool",
        "secret-file",
        "agent-acts",
        "persona",
        "not-told",
        "misreported",
        "tool-defect",
        "coaxing",
        "without-end",
        "timed",
        "guard-voided",
        "talk",
        "against-wish",
        "blinded",
        "worded",
        "assumed-consent",
    )
)
_NEAR = 120  # characters between two sentences that belong together


def _instruction(
    folded: FoldedText, start: int, end: int, signals: frozenset[int], role: Role, *, repeated: bool = False
) -> Instruction | None:
    by_name: dict[str, Signal] = {}
    for at in signals:
        by_name.setdefault(SIGNALS[at].name, SIGNALS[at])
    if by_name.keys() & {"addressed", "addressed-agent"}:
        by_name.pop("agent-acts", None)  # the same evidence
        if len(by_name) == _TWO and "demand" in by_name and "addressed-agent" in by_name:
            by_name.pop("demand")  # a model of the tool's own business, of which a rule is told
    alone = not by_name.keys() & _INTERACTION
    if alone:
        by_name = {name: signal for name, signal in by_name.items() if name not in _WEAK}
    weight = sum(signal.weight * (_ALONE if alone and name in _SUPPORTING else 1.0) for name, signal in by_name.items())
    if role != "prose" and by_name.keys() & _TELLING and end - start >= _ODD_CHARS:
        weight += _ODD_PLACE
    if repeated:
        weight += _REPEATED
    if weight < _REPORTED or (by_name.keys() <= _OF_ADVICE and _is_advice(folded.text, start, end)):
        return None
    ordered = sorted(by_name.values(), key=lambda signal: (-signal.weight, signal.name))
    begin, stop = folded.span(start, end)
    severity: Severity = QUARANTINE if weight >= QUARANTINED - 1e-9 else REPORT
    names = tuple(signal.name for signal in ordered)
    return Instruction(begin, stop, severity, names, ", ".join(dict.fromkeys(signal.why for signal in ordered)))


def _is_advice(text: str, start: int, end: int) -> bool:
    """Whether all that a part of a text wants kept from anybody is a credential, which the part or the text before it names."""
    if not names_credential(text[max(0, start - _NEAR) : end]):
        return False
    left = {SIGNALS[at].name for part in signals_in(without_advice(text[start:end])) for at in part.signals}
    return not left & _KEPT_FROM


_KEPT_FROM = frozenset(("secrecy", "not-told"))
_OF_ADVICE = _KEPT_FROM | {"demand", "secret"}  # whatever else there is, is no advice
_TELLING = frozenset(
    (
        "addressed",
        "addressed-agent",
        "secrecy",
        "override",
        "conversation",
        "your-reply",
        "foreign-call",
        "authority",
        "secret-file",
    )
)
