"""The Reading of a request: its values, clauses and cues, found once for all who validator it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from datagen.validation.clause_parser import Clause, clauses_of
from datagen.validation.cues import conditions, dependences, refers_back, sequences, sets_apart
from datagen.validation.stated_values import Stated, stated_values
from ontology.names import noun_lemma, verb_lemma

__all__ = ["Reading", "looks", "read"]

_LONGEST = 4_000
_MASKED = frozenset(("url", "email", "quoted", "id"))
_ACRONYM = re.compile(r"\b(?:IT|US)\b")
"""In capitals these are no pronouns."""
_FIRST_PERSON = re.compile(r"\b(?:i|me|my|mine|myself|i['’](?:m|d|ve|ll)|im|our|ours|us|we)\b")
_WORD = re.compile(r"[^\W_]+")
_EXPLAIN = re.compile(
    r"(?:explain|remind me|refresh my memory|tell me (?:about|how|what|which|whether|if|in general|generally)|do you know|any idea|i(?:['’]d like to| want to|['’]m| was|) ?(?:understand|know|wonder\w*|curious)|quick question|give me (?:the|a) (?:gist|rules?|rundown|overview|summary|low-?down|basics)|what|how|why|who|when|where|which|is|are|am|can|could|may|do|does|should|must|will|(?:for|by|at|in|until|after|within|from|under|to) (?:how|what|which|when|whom)|up to|would|will|how's)\b"
)
_GENERAL = re.compile(
    r"""^(?:what(?:['’]s|s|\s+is|\s+are|['’]re)?\s+(?:a|an|the\s+(?:rule|rules|policy|policies|process|procedure|deal|limit|limits|difference|usual|standard|general|normal|maximum|minimum|guideline|guidelines|notice|allowance|meaning|definition|point|idea|definition|way|best\s+way|correct\s+way|right\s+way|proper|official|drill|story)|our\s+(?:usual|standard|rule|rules|policy|position|stance|process|default|normal|take|approach|house|line|retention|general)|considered|counts?|does\b.*\bmean|do\s+(?:i|you|we|people)\s+(?:need|have|do)|happens?|exactly\s+is|sort|kind)\b
    |how\s+(?:do|does|can|could|should|would|many|much|long|often|far|late|early|soon|is|are|to|you|we|one|people|come|high|big|am|must|will)\b
    |(?:am|are|is)\s+(?:i|we|you|it|people|employees|anyone|staff|there|managers?|contractors?|interns?|trainees?)\b.*\b(?:allowed|entitled|eligible|supposed|permitted|required|ok|okay|possible|covered|insured|obliged|expected|any\s+(?:rule|policy|limit|restriction|way)|a\s+(?:rule|policy|limit|cap|process|restriction|way))\b
    |(?:can|may|could|should|must)\s+(?:i|we|you|one|people|employees|staff|anyone|managers?|contractors?)\b(?!\s+(?:please\s+|also\s+|just\s+)?(?:get|see|have|ask|book|look|tell|show|send|give|find|pull|list|check)\b)
    |(?:do|does|would|will)\s+(?:i|we|you|the\s+company|anyone|people|employees|everyone|\w+)\s+(?:have\s+(?:to|any|a)|need|get|offer|pay|cover|allow|reimburse|require|count|know\s+(?:how|what|why))\b
    |who\s+(?:is\s+(?:allowed|eligible|entitled|supposed)|can|may|gets|has\s+to|pays|qualifies|decides|counts)\b|why\b|when\s+(?:do|does|can|must|should|is|are|may)\b
    |where\s+(?:do|can|should)\b|(?:for|by|at|up\s+to|in|until|after|within|from|under)\s+(?:how|what|which|when)\b|which\s+(?:rules?|documents?|kinds?|types?|countries|costs?|expenses?)\b|explain\b|remind\s+me\b)""",
    re.VERBOSE,
)
_SPECIFIC = re.compile(
    r"\b(?:mine|his|her|their|left|still|so\s+far)\b|\bmy\b|\bdo\s+i\s+have\b(?!\s+to)|\bi(?:['’]ve|\s+have)\s+(?:got|left)\b"
)
"""Words of a question about somebody's own record."""
_HAPPENS = re.compile(
    r"what\s+happens|how\s+do\s+(?:i|we|you)\b(?!\s+(?:have|still))|(?:can|may|am|should|must|do)\s+(?:i|we)\b(?!\s+(?:have|still)\s+(?!to))|why\b"
)
_RULES = re.compile(
    r"\b(?:polic(?:y|ies)|rules?|guidelines?|regulations?|handbook|allowed|permitted|entitled|eligible|eligibility|procedure|process(?:\s+for)?|definition|defined|mean(?:s|ing)?|usually|normally|generally|in\s+general|typically|supposed\s+to|legally|by\s+law|standard|best\s+practice|works?\b|difference\s+between|official(?:ly)?|notice\s+period|retention)\b"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What can be read from a request without its tools.

    :param text: as typed, cut to 4,000 characters.
    :param plain: in lower case, quotes, addresses and identifiers masked by as many other characters.
    :param lemmas: its words as nouns and as verbs.
    """

    text: str
    plain: str
    values: tuple[Stated, ...]
    clauses: tuple[Clause, ...]
    lemmas: frozenset[str]
    orders: tuple[tuple[int, str], ...]
    dependence: tuple[str, ...]
    conditions: tuple[tuple[int, str], ...]
    apart: bool
    first_person: bool

    @property
    def people(self) -> bool:
        """Whether a name is said that may be a person's: one that no place is said with."""
        return any(
            not _PLACE.search(self.plain[max(0, value.start - 12) : value.start]) for value in self.of_kind("name")
        )

    @property
    def of_myself(self) -> bool:
        """Whether the one who asks is whom it is about."""
        return re.search(r"\b(?:my|me|mine|myself)\b", self.plain) is not None

    @property
    def of_another(self) -> bool:
        """Whether it is about another person."""
        return re.search(r"\b(?:he|she|him|her|his|hers)\b|\b(?:he|she)['’]", self.plain) is not None

    @property
    def wants(self) -> tuple[Clause, ...]:
        """The clauses that ask for something."""
        return tuple(clause for clause in self.clauses if clause.wants)

    @property
    def least(self) -> int:
        """How many things are asked for at least."""
        return max(1, sum(clause.certain for clause in self.wants))

    @property
    def asked(self) -> int:
        """How many clauses ask for something, outright or by a hint."""
        return sum(clause.kind not in ("statement", "condition", "opening") or clause.hints for clause in self.clauses)

    @property
    def most(self) -> int:
        """How many things may be asked for at most."""
        return max(1, self.asked + sum(clause.soft for clause in self.clauses if clause.kind != "condition"))

    @property
    def sequence(self) -> tuple[str, ...]:
        """The words that say an order, but for those inside a general question ("once you are past probation")."""
        return self._outside(self.orders)

    @property
    def condition(self) -> tuple[str, ...]:
        """The words that state a condition, but for those inside a general question ("what happens if I lose my badge")."""
        return self._outside(self.conditions)

    def _outside(self, cues: tuple[tuple[int, str], ...]) -> tuple[str, ...]:
        if not cues:
            return ()
        general = [
            clause for clause in self.clauses if clause.kind == "question" and self.general(clause, strictly=True)
        ]
        return tuple(words for start, words in cues if not any(clause.start < start < clause.end for clause in general))

    @property
    def refers_back(self) -> bool:
        """Whether something asked for later speaks of what was asked for before."""
        asked = [clause for clause in self.clauses if clause.kind != "statement"]
        return any(refers_back(clause.text) for clause in asked[1:])

    def of_kind(self, *kinds: str) -> tuple[Stated, ...]:
        """The stated values of these kinds."""
        return tuple(value for value in self.values if value.kind in kinds)

    def open_question(self, clause: Clause) -> bool:
        """Whether a clause asks something and names no record: what a tool of general knowledge could answer."""
        asks = clause.kind == "question" or _EXPLAIN.match(_strip(clause.text)) or _EMBEDDED.search(clause.text)
        return bool(asks) and not self._names_a_record(clause)

    def _names_a_record(self, clause: Clause) -> bool:
        return any(value.kind == "id" and not self._is_type(value) for value in self.within(clause))

    def _is_type(self, value: Stated) -> bool:
        """Whether a code names a kind of thing, not one thing: ``an HP-200``."""
        return re.search(r"\b(?:an?|any|every|all|most)\s+$", self.plain[: value.start]) is not None

    def within(self, clause: Clause) -> tuple[Stated, ...]:
        """The stated values of a clause."""
        return tuple(value for value in self.values if clause.start <= value.start < clause.end)

    def general(self, clause: Clause, *, strictly: bool) -> bool:
        """Whether a clause asks for general knowledge.

        :param strictly: it must speak as questions of rules and definitions do; else any question does that names no
            record of somebody.
        """
        words = _ADVERB.sub("", _strip(clause.text))
        if self._names_a_record(clause):
            return False
        told = _EMBEDDED.search(words)
        words = words[told.end() :] if told is not None else words
        if strictly:
            asks = _GENERAL.match(words) is not None
            return (asks and (_SPECIFIC.search(words) is None or _HAPPENS.match(words) is not None)) or (
                _RULES.search(words) is not None and _EXPLAIN.match(words) is not None
            )
        if _SPECIFIC.search(words) is not None and _RULES.search(words) is None and _HAPPENS.match(words) is None:
            return False
        return clause.kind == "question" or _EXPLAIN.match(words) is not None or _RULES.search(words) is not None


@lru_cache(maxsize=1 << 14)
def read(text: str) -> Reading:
    """The reading of a request."""
    text = text[:_LONGEST].replace("’", "'").replace("‘", "'")
    values = stated_values(text)
    plain = _masked(text, values)
    words = _WORD.findall(plain)
    return Reading(
        text=text,
        plain=plain,
        values=values,
        clauses=clauses_of(plain),
        lemmas=frozenset(lemma for word in words for lemma in (noun_lemma(word), verb_lemma(word))),
        orders=tuple(sequences(plain)),
        dependence=tuple(dependences(plain)),
        conditions=tuple(conditions(plain)),
        apart=sets_apart(plain),
        first_person=_FIRST_PERSON.search(plain) is not None,
    )


_ADVERB = re.compile(r"\b(?:actually|exactly|really|even|again)\s+(?=\w)")
_EMBEDDED = re.compile(
    r"\b(?:hear|know|tell|explain|remind|wonder\w*|understand|ask\w*|find\s+out|learn|sure|curious)\b(?:\s+\w+){0,2}?\s+(?=(?:how|what|why|which|whether|who|when|where|if)\b)"
)
_PLACE = re.compile(r"\b(?:in|at|near|around|via|into|out\s+of)\s+(?:the\s+)?$")
_HEAD = re.compile(
    r"^(?:(?:hi|hello|hey)\b[^,]{0,15},?|please|pls|ok(?:ay)?|so|well|also|and|but|plus|btw|by the way|oh|first(?:ly)?|separately|just|(?:quick|dumb|silly|stupid|general|small) question|quick one|besides|in addition|while you're at it|could you|can you|would you|do you know|any idea|(?:i )?(?:was |am |'m )?(?:wondering|curious)|i(?:'d| would) like to know|i want to know|i need to know|tell me|remind me|let me know|explain(?: to me)?|not sure|one question)[\s,:.–-]+"
)


def _strip(text: str) -> str:
    """A clause without what people say before they ask."""
    text = text.strip()
    for _ in range(4):
        match = _HEAD.match(text)
        if match is None or match.end() >= len(text):
            return text
        if match[0].startswith(("explain", "remind", "tell me")) and not re.match(
            r"(?:what|how|why|who|when|where|which|am|is|are|can|may)\b", text[match.end() :]
        ):
            return text
        text = text[match.end() :]
    return text


_LOOKING = re.compile(
    r"\b(?:show|see|look|check|list|find|search|display|view|read|fetch|pull\s+up|bring\s+up|get\s+(?:me|us)|give\s+(?:me|us)|tell\s+(?:me|us)|let\s+me\s+know|open\s+(?:my|the)|what|who|where|when|how|which)\b"
)


def looks(clause: Clause) -> bool:
    """Whether a clause asks to see something, not to do it."""
    begin = _LOOKING.search(clause.text)
    return clause.kind == "question" or (begin is not None and len(_WORD.findall(clause.text[: begin.start()])) <= 4)


def _masked(text: str, values: tuple[Stated, ...]) -> str:
    # Lower-casing a few letters changes their number: they are kept as they are.
    lowered = (
        text.lower()
        if len(text.lower()) == len(text)
        else "".join(c.lower() if len(c.lower()) == 1 else c for c in text)
    )
    if not text.isupper():
        for match in _ACRONYM.finditer(text):
            lowered = f"{lowered[: match.start()]}tt{lowered[match.end() :]}"
    for value in values:
        if value.kind in _MASKED:
            lowered = f"{lowered[: value.start]}{'0' * len(value.text)}{lowered[value.end :]}"
    return lowered
