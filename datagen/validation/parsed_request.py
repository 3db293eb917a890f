"""The ParsedRequest: the values, clauses and cues of a request, found once for all validators."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache

from datagen.patterns import load_patterns
from datagen.validation.clause_parser import Clause, parse_clauses
from datagen.validation.cues import Cue, condition_cues, dependence_cues, order_cues, refers_back
from datagen.validation.stated_values import StatedValue, find_values
from ontology.names import noun_lemma, verb_lemma

__all__ = ["ParsedRequest", "is_read_request", "lemmas_of", "parse_request"]

_MAX_CHARS = 4_000
_MASKED = frozenset(("url", "email", "quoted", "id"))
_WORD = re.compile(r"[^\W_]+")
_ACRONYM = re.compile(r"\b(?:IT|US)\b")
"""In capitals these are no pronouns."""
_MAX_COURTESIES = 4  # phrases before a question that are skipped
_MAX_WORDS_BEFORE_LOOK = 4
_BEFORE_PLACE = 12  # characters before a name that may say that it is a place

_QUESTIONS = load_patterns("validation/questions")


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedRequest:
    """What the text of a request says, whatever its tools are.

    :param text: as typed, cut to 4,000 characters.
    :param masked: in lower case, quotes, addresses and identifiers replaced by as many zeros.
    :param lemmas: its words as nouns and as verbs.
    :param all_order_cues: also those inside a general question; see :attr:`order_cues`.
    :param all_condition_cues: likewise.
    :param first_person: whether the one who asks speaks of themselves.
    """

    text: str
    masked: str
    values: tuple[StatedValue, ...]
    clauses: tuple[Clause, ...]
    lemmas: frozenset[str]
    all_order_cues: tuple[Cue, ...]
    all_condition_cues: tuple[Cue, ...]
    dependence_cues: tuple[str, ...]
    first_person: bool

    @property
    def names_person(self) -> bool:
        """Whether there is a name that may be a person's: one without a preposition of place before it."""
        return any(
            not _QUESTIONS["before_place"].search(self.masked[max(0, value.start - _BEFORE_PLACE) : value.start])
            for value in self.of_kind("name")
        )

    @property
    def about_asker(self) -> bool:
        """Whether it is about the user."""
        return _QUESTIONS["about_asker"].search(self.masked) is not None

    @property
    def about_other(self) -> bool:
        """Whether it is about another person."""
        return _QUESTIONS["about_other"].search(self.masked) is not None

    @property
    def wants(self) -> tuple[Clause, ...]:
        """The clauses that are wants by themselves."""
        return tuple(clause for clause in self.clauses if clause.asks)

    @property
    def min_asked(self) -> int:
        """Minimum number of wants."""
        return max(1, sum(clause.certain for clause in self.wants))

    @property
    def possible_wants(self) -> int:
        """Number of clauses that are, or may be, wants."""
        return sum(
            clause.kind not in ("statement", "condition", "opening") or clause.may_be_want for clause in self.clauses
        )

    @property
    def max_wants(self) -> int:
        """Maximum number of wants."""
        return max(1, self.possible_wants + sum(clause.joined for clause in self.clauses if clause.kind != "condition"))

    @property
    def order_cues(self) -> tuple[str, ...]:
        """The cues of order that are not inside a general question (``once you are past probation``)."""
        return self._outside_general(self.all_order_cues)

    @property
    def condition_cues(self) -> tuple[str, ...]:
        """The cues of a condition that are not inside a general question (``what happens if I lose my badge``)."""
        return self._outside_general(self.all_condition_cues)

    def _outside_general(self, cues: tuple[Cue, ...]) -> tuple[str, ...]:
        if not cues:
            return ()
        general = [
            clause for clause in self.clauses if clause.kind == "question" and self.is_general(clause, strictly=True)
        ]
        return tuple(cue.words for cue in cues if not any(clause.start < cue.start < clause.end for clause in general))

    @property
    def without_general_questions(self) -> ParsedRequest:
        """The request with its questions of general knowledge blanked: they may name any thing beside those of its tools."""
        masked = self.masked
        for clause in self.clauses:
            if clause.kind == "question" and self.is_general(clause, strictly=True):
                masked = f"{masked[: clause.start]}{' ' * (clause.end - clause.start)}{masked[clause.end :]}"
        return replace(self, masked=masked)

    @property
    def refers_back(self) -> bool:
        """Whether a later want refers to an earlier one."""
        wants = [clause for clause in self.clauses if clause.kind != "statement"]
        return any(refers_back(clause.text) for clause in wants[1:])

    def of_kind(self, *kinds: str) -> tuple[StatedValue, ...]:
        """The stated values of these kinds."""
        return tuple(value for value in self.values if value.kind in kinds)

    def within(self, clause: Clause) -> tuple[StatedValue, ...]:
        """The stated values of a clause."""
        return tuple(value for value in self.values if clause.start <= value.start < clause.end)

    def is_open_question(self, clause: Clause) -> bool:
        """Whether a clause is a question without a record, which a knowledge tool may answer."""
        asks = (
            clause.kind == "question"
            or _QUESTIONS["explain"].match(_without_courtesies(clause.text))
            or _QUESTIONS["embedded_question"].search(clause.text)
        )
        return bool(asks) and not self._names_record(clause)

    def is_general(self, clause: Clause, *, strictly: bool) -> bool:
        """Whether a clause asks for general knowledge.

        :param strictly: it must begin as questions of rules and definitions do; else any question counts that names no
            record of somebody.
        """
        if self._names_record(clause):
            return False
        words = _QUESTIONS["adverb"].sub("", _without_courtesies(clause.text))
        embedded = _QUESTIONS["embedded_question"].search(words)
        words = words[embedded.end() :] if embedded is not None else words
        specific, procedure = (
            _QUESTIONS["specific"].search(words) is not None,
            _QUESTIONS["procedure"].match(words) is not None,
        )
        rules, explains = _QUESTIONS["rules"].search(words) is not None, _QUESTIONS["explain"].match(words) is not None
        if strictly:
            return (_QUESTIONS["general"].match(words) is not None and (not specific or procedure)) or (
                rules and explains
            )
        if specific and not rules and not procedure:
            return False
        return clause.kind == "question" or explains or rules

    def _names_record(self, clause: Clause) -> bool:
        """Whether a clause states the identifier of one thing; ``an HP-200`` names a kind of thing."""
        return any(
            value.kind == "id" and not _QUESTIONS["before_type"].search(self.masked[: value.start])
            for value in self.within(clause)
        )


@lru_cache(maxsize=1 << 14)
def parse_request(text: str) -> ParsedRequest:
    """Parse the text of a request."""
    text = text[:_MAX_CHARS].replace("’", "'").replace("‘", "'")
    values = find_values(text)
    masked = _masked(text, values)
    return ParsedRequest(
        text=text,
        masked=masked,
        values=values,
        clauses=parse_clauses(masked),
        lemmas=lemmas_of(masked),
        all_order_cues=order_cues(masked),
        all_condition_cues=condition_cues(masked),
        dependence_cues=dependence_cues(masked),
        first_person=_QUESTIONS["first_person"].search(masked) is not None,
    )


def lemmas_of(text: str) -> frozenset[str]:
    """The words of a text as nouns and as verbs."""
    return frozenset(lemma for word in _WORD.findall(text) for lemma in (noun_lemma(word), verb_lemma(word)))


def is_read_request(clause: Clause) -> bool:
    """Whether a clause is a read request, not an action."""
    if clause.kind == "question":
        return True
    begin = _QUESTIONS["look"].search(clause.text)
    return begin is not None and len(_WORD.findall(clause.text[: begin.start()])) <= _MAX_WORDS_BEFORE_LOOK


def _without_courtesies(text: str) -> str:
    """Return the text of a clause without the courtesies before the question."""
    text = text.strip()
    for _ in range(_MAX_COURTESIES):
        match = _QUESTIONS["courtesy"].match(text)
        if match is None or match.end() >= len(text):
            return text
        asks = match[0].startswith(("explain", "remind", "tell me"))
        if asks and not _QUESTIONS["question_follows"].match(text, match.end()):
            return text
        text = text[match.end() :]
    return text


def _masked(text: str, values: tuple[StatedValue, ...]) -> str:
    masked = text.lower()
    if len(masked) != len(text):  # Some letters have a lower case of two characters: they stay as they are.
        masked = "".join(letter.lower() if len(letter.lower()) == 1 else letter for letter in text)
    if not text.isupper():
        for acronym in _ACRONYM.finditer(text):
            masked = f"{masked[: acronym.start()]}tt{masked[acronym.end() :]}"
    for value in values:
        if value.kind in _MASKED:
            masked = f"{masked[: value.start]}{'0' * len(value.text)}{masked[value.end :]}"
    return masked
