"""What a parsed sentence says: its entities, what the tool can do, and how things are related."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ingest.extract.noun_phrases import Phrase, noun_phrases, resolve
from ingest.extract.word_lists import LINKING_VERBS, action
from ontology.names import canonical_name, verb_lemma

__all__ = ["Capability", "Finding", "Relation", "findings"]

_MAX_OBJECT_WORDS = 4
_MAX_CONJUNCTS = 4
# Who, in a description, is the tool or its caller: what they do is what the tool does.
_SELVES = frozenset(
    "this it that you we user users tool api endpoint function method operation service action call request which".split()
)
# Found beside a verb, these still tell how two things are related: "get the keywords for a movie".
_NOUN_PREPOSITIONS = frozenset("of for in from about on with by within under inside regarding concerning".split())
_VERB_PREPOSITIONS = frozenset("to into from on onto".split())
_LOOKS = frozenset(
    "get list read show fetch retrieve query search find return display view look obtain provide load check".split()
)
# Nouns made from verbs: "creation of an order" relates nothing.
_DEEDS = frozenset(
    "creation deletion addition removal modification execution retrieval generation update addition use usage usages access "
    "cancellation completion processing handling selection search visit".split()
)
_LIGHT_VERBS = frozenset("be do get let make take give see want need".split())
_DUTIES = frozenset("will must should would may shall".split())
_LINKED, _LOOSE = 0.5, 0.4


@dataclass(frozen=True, slots=True, kw_only=True)
class Capability:
    """A verb and the object it is done to.

    :param name: verb in base form and object in canonical form: ``send email reminder``.
    :param target: the object as written.
    """

    name: str
    target: str
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """Two things and the words between them.

    :param spoken: words to look a predicate up by, the most telling first; the first is the phrase that is kept.
    """

    head: str
    tail: str
    spoken: tuple[str, ...]
    confidence: float
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What one sentence says; positions are those of the original sentence."""

    phrases: tuple[Phrase, ...]
    capabilities: tuple[Capability, ...]
    relations: tuple[Relation, ...]


def findings(doc: Any, lead: int) -> Finding:
    """Read a parsed sentence.

    :param doc: a spaCy Doc with tags and a parse.
    :param lead: characters of the subject that was put before it; positions are counted without them.
    """
    reader = _Reader(doc, lead)
    return Finding(
        phrases=tuple(reader.shifted(phrase) for phrase in reader.phrases.values()),
        capabilities=tuple(reader.capabilities()),
        relations=tuple(reader.relations()),
    )


class _Reader:
    """Walks one dependency tree."""

    def __init__(self, doc: Any, lead: int) -> None:
        self.doc = doc
        self.lead = lead
        self.phrases = noun_phrases(doc, lead)

    def shifted(self, phrase: Phrase) -> Phrase:
        lead = self.lead
        return Phrase(
            name=phrase.name,
            core=phrase.core,
            start=phrase.start - lead,
            end=phrase.end - lead,
            core_start=phrase.core_start - lead,
        )

    def capabilities(self) -> Iterator[Capability]:
        if not self.lead and not any(t.dep_ == "nsubj" and t.lower_ in _SELVES for t in self.doc):
            return
        for verb in self.doc:
            if verb.idx < self.lead or not verb.tag_.startswith("VB") or not self._of_tool(verb):
                continue
            base = self._action(verb)
            linking = base in LINKING_VERBS and any(child.dep_ in ("xcomp", "ccomp") for child in verb.children)
            negated = any(child.dep_ == "neg" for child in verb.children)
            if not base or linking or negated:
                continue
            for target in self._objects(verb):
                if _is_failure(target.core):
                    continue
                name = " ".join([base, *canonical_name(target.core).split()[-_MAX_OBJECT_WORDS:]])
                yield Capability(
                    name=name,
                    target=target.core,
                    start=min(verb.idx, target.core_start) - self.lead,
                    end=max(verb.idx + len(verb.text), target.end) - self.lead,
                )

    def _action(self, verb: Any) -> str:
        """The action, undoing what the sentence's preparation wrote for "get"."""
        if verb.idx == self.lead and verb.lower_ in ("see", "sees"):
            return "get"
        return action(verb.text)

    def _of_tool(self, verb: Any) -> bool:
        """Whether it is the tool that does this: its subject is the one we put there, or says as much."""
        for _ in range(4):
            subjects = [child for child in verb.children if child.dep_ in ("nsubj", "nsubjpass")]
            if subjects:
                subject = subjects[0]
                obliged = any(child.dep_ == "aux" and child.lower_ in _DUTIES for child in verb.children)
                if subject.lower_ in ("user", "users") and obliged:
                    return False  # "The user will receive an email" is not what the tool does
                passive = subject.dep_ == "nsubjpass" and verb_lemma(verb.lower_) not in LINKING_VERBS
                return not passive and (subject.idx < self.lead or subject.lower_ in _SELVES) and verb.dep_ != "relcl"
            linked = verb.dep_ == "xcomp" and verb_lemma(verb.head.lower_) in LINKING_VERBS
            linked = linked or (verb.dep_ == "ccomp" and verb_lemma(verb.head.lower_) in LINKING_VERBS)
            if not (linked or verb.dep_ == "conj") or not verb.head.tag_.startswith("VB"):
                return False
            verb = verb.head
        return False

    def _objects(self, verb: Any) -> Iterator[Phrase]:
        """What a verb is done to; verbs in a row share the object of the last, and "search for" has its own."""
        for child in verb.children:
            if child.dep_ in ("dobj", "oprd"):
                yield from self._row(child)
                return
        for child in verb.children:
            if (child.dep_ == "prep" and child.lower_ == "for") or (
                child.dep_ == "prep" and child.lower_ in ("to", "up")
            ):
                for held in child.children:
                    if held.dep_ == "pobj":
                        yield from self._row(held)
                return
        for child in verb.children:
            if child.dep_ == "conj" and child.tag_.startswith("VB"):
                yield from self._objects(child)

    def _row(self, token: Any) -> Iterator[Phrase]:
        """The phrases of a token and of those coordinated with it."""
        for member in (token, *list(token.conjuncts)[:_MAX_CONJUNCTS]):
            phrase = resolve(member, self.phrases)
            if phrase is not None and (member.i >= token.i):
                yield phrase

    def relations(self) -> Iterator[Relation]:
        for token in self.doc:
            if token.idx < self.lead:
                continue
            if token.dep_ in ("prep", "agent") or (token.dep_ == "dative" and token.tag_ in ("IN", "TO")):
                yield from self._preposition(token)
            elif token.dep_ == "poss":
                yield from self._possessive(token)
            elif token.tag_.startswith("VB"):
                yield from self._clause(token)

    def _preposition(self, preposition: Any) -> Iterator[Relation]:
        governor, word = preposition.head, preposition.lower_
        tails = [phrase for child in preposition.children if child.dep_ == "pobj" for phrase in self._row(child)]
        if governor.tag_.startswith("VB"):
            yield from self._verb_preposition(governor, word, tails)
        elif governor.tag_.startswith("JJ") and governor.dep_ in ("amod", "acl", "relcl", "acomp"):
            owner = governor.head if governor.dep_ != "acomp" else self._subject(governor.head)
            head = self._thing(owner)
            yield from self._pairs([head], (f"{governor.lower_} {word}",), tails, _LINKED)
        elif word in _NOUN_PREPOSITIONS and governor.lower_ not in _DEEDS:
            head = self.phrases.get(governor.i)
            yield from self._pairs([head], (word,), tails, _LINKED)

    def _verb_preposition(self, verb: Any, word: str, tails: list[Phrase]) -> Iterator[Relation]:
        told = self._action(verb) if verb.idx == self.lead else verb.lower_
        spoken = word if verb_lemma(verb.lower_) == "be" else f"{told} {word}"
        if verb.dep_ in ("acl", "amod") and verb.tag_ in ("VBN", "VBG", "VBD"):
            yield from self._pairs([self._thing(verb.head)], (spoken,), tails, _LINKED)
            return
        passive = next((child for child in verb.children if child.dep_ == "nsubjpass"), None)
        if passive is not None:
            yield from self._pairs([self._thing(passive)], (spoken,), tails, _LINKED)
            return
        heads = [phrase for child in verb.children if child.dep_ == "dobj" for phrase in self._row(child)]
        looks = self._action(verb) in _LOOKS
        if looks and word in _NOUN_PREPOSITIONS:
            yield from self._pairs(heads, (word,), tails, _LINKED - 0.05)
        elif word in _VERB_PREPOSITIONS:
            yield from self._pairs(heads, (spoken,), tails, _LOOSE)
        elif not heads and (subject := self._subject(verb)) is not None:
            yield from self._pairs([self._thing(subject)], (spoken,), tails, _LINKED)

    def _possessive(self, owner: Any) -> Iterator[Relation]:
        head, tail = self._thing(owner), self.phrases.get(owner.head.i)
        if tail is not None:
            yield from self._pairs([head], ("has",), [tail], _LINKED)

    def _clause(self, verb: Any) -> Iterator[Relation]:
        """Subject, verb, object; and a participle that says what its noun does ("orders containing items")."""
        base = verb_lemma(verb.lower_)
        if base in _LIGHT_VERBS or base in LINKING_VERBS:
            return
        subject = verb.head if verb.dep_ == "acl" and verb.tag_ == "VBG" else self._subject(verb)
        allowed = verb.dep_ in ("ccomp", "xcomp") and verb_lemma(verb.head.lower_) in LINKING_VERBS
        if (
            subject is None
            or allowed
            or subject.idx < self.lead
            or subject.lower_ in _SELVES - {"which", "that", "user", "users"}
        ):
            return
        tails = [phrase for child in verb.children if child.dep_ == "dobj" for phrase in self._row(child)]
        yield from self._pairs([self._thing(subject)], (verb.lower_,), tails, _LINKED)

    def _subject(self, verb: Any) -> Any:
        return next((child for child in verb.children if child.dep_ in ("nsubj", "nsubjpass")), None)

    def _thing(self, token: Any) -> Phrase | None:
        """The phrase of a token, through a relative pronoun that stands for it."""
        if token is None:
            return None
        if token.tag_ in ("WDT", "WP") and token.head.dep_ == "relcl":
            token = token.head.head
        return resolve(token, self.phrases)

    def _pairs(
        self, heads: Sequence[Phrase | None], spoken: tuple[str, ...], tails: Sequence[Phrase], confidence: float
    ) -> Iterator[Relation]:
        for head in heads:
            for tail in tails:
                if head is None or canonical_name(head.core) == canonical_name(tail.core):
                    continue
                yield Relation(
                    head=head.core,
                    tail=tail.core,
                    spoken=spoken,
                    confidence=confidence,
                    start=min(head.core_start, tail.core_start) - self.lead,
                    end=max(head.end, tail.end) - self.lead,
                )


def _is_failure(name: str) -> bool:
    """Whether it is an error that the tool answers with: no tool is there for that."""
    return bool(re.search(r"\b(?:errors?|exceptions?)\b", name, re.I))
