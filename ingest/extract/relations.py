"""Extract from a parsed sentence: the objects that it names, the capabilities of the tool, and relations between objects."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ingest.extract.noun_phrases import Phrase, noun_phrases, resolve
from ingest.extract.vocabulary import LINKING_VERBS, action, vocabulary
from ontology.names import canonical_name, verb_lemma

__all__ = ["Capability", "Finding", "Relation", "findings"]

_MAX_OBJECT_WORDS = 4
_MAX_CONJUNCTS = 4
_TOOL_SUBJECTS = vocabulary("tool_subjects")
_NOUN_PREPOSITIONS = vocabulary("noun_prepositions")
_VERB_PREPOSITIONS = vocabulary("verb_prepositions")
_LOOKUP_VERBS = vocabulary("lookup_verbs")
_ACTION_NOUNS = vocabulary("deed_nouns")
_LIGHT_VERBS = vocabulary("light_verbs")
_OBLIGATIONS = vocabulary("obligations")
_ERROR = re.compile(r"\b(?:errors?|exceptions?)\b", re.IGNORECASE)
_MAX_CHAIN = 4  # maximum number of verbs between a verb and its subject
_STRONG, _WEAK = 0.5, 0.4  # confidence of a relation


@dataclass(frozen=True, slots=True, kw_only=True)
class Capability:
    """A verb and its object.

    :param name: verb in base form and object in canonical form: ``send email reminder``.
    :param target: the object in its original spelling.
    """

    name: str
    target: str
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """Two objects and the words between them; the confidence is in [0, 1].

    :param phrase: the words, for the choice of a predicate.
    """

    head: str
    tail: str
    phrase: str
    confidence: float
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """The extraction from one sentence; positions are character indices in the original sentence."""

    phrases: tuple[Phrase, ...]
    capabilities: tuple[Capability, ...]
    relations: tuple[Relation, ...]


def findings(doc: Any, prefix_chars: int) -> Finding:
    """Extract phrases, capabilities and relations from a parsed sentence.

    :param doc: a spaCy Doc with tags and a dependency parse.
    :param prefix_chars: length of the subject inserted before the sentence; positions are counted without it.
    """
    extractor = _TreeExtractor(doc, prefix_chars)
    return Finding(
        phrases=tuple(phrase.shifted(-prefix_chars) for phrase in extractor.phrases.values()),
        capabilities=tuple(extractor.capabilities()),
        relations=tuple(extractor.relations()),
    )


class _TreeExtractor:
    """Extractor for one dependency tree."""

    def __init__(self, doc: Any, prefix_chars: int) -> None:
        self.doc = doc
        self.prefix_chars = prefix_chars
        self.phrases = noun_phrases(doc, prefix_chars)

    def capabilities(self) -> Iterator[Capability]:
        if not self.prefix_chars and not any(t.dep_ == "nsubj" and t.lower_ in _TOOL_SUBJECTS for t in self.doc):
            return
        for verb in self.doc:
            if verb.idx < self.prefix_chars or not verb.tag_.startswith("VB") or not self._has_tool_subject(verb):
                continue
            base = self._action(verb)
            linking = base in LINKING_VERBS and any(child.dep_ in ("xcomp", "ccomp") for child in verb.children)
            negated = any(child.dep_ == "neg" for child in verb.children)
            if not base or linking or negated:
                continue
            for target in self._objects(verb):
                if _ERROR.search(target.core):
                    continue  # an error that the tool returns is not its object
                name = " ".join([base, *canonical_name(target.core).split()[-_MAX_OBJECT_WORDS:]])
                yield Capability(
                    name=name,
                    target=target.core,
                    start=min(verb.idx, target.core_start) - self.prefix_chars,
                    end=max(verb.idx + len(verb.text), target.end) - self.prefix_chars,
                )

    def _action(self, verb: Any) -> str:
        """Return the action of a verb; :mod:`ingest.extract.sentences` replaces "get" by "see"."""
        if verb.idx == self.prefix_chars and verb.lower_ in ("see", "sees"):
            return "get"
        return action(verb.text)

    def _has_tool_subject(self, verb: Any) -> bool:
        """Whether the tool is the subject of the verb: the inserted subject, or a word for the tool."""
        for _ in range(_MAX_CHAIN):
            subjects = [child for child in verb.children if child.dep_ in ("nsubj", "nsubjpass")]
            if subjects:
                subject = subjects[0]
                obliged = any(child.dep_ == "aux" and child.lower_ in _OBLIGATIONS for child in verb.children)
                if subject.lower_ in ("user", "users") and obliged:
                    return False  # "The user will receive an email" is no action of the tool
                passive = subject.dep_ == "nsubjpass" and verb_lemma(verb.lower_) not in LINKING_VERBS
                return (
                    not passive
                    and (subject.idx < self.prefix_chars or subject.lower_ in _TOOL_SUBJECTS)
                    and verb.dep_ != "relcl"
                )
            linked = verb.dep_ in ("xcomp", "ccomp") and verb_lemma(verb.head.lower_) in LINKING_VERBS
            if not (linked or verb.dep_ == "conj") or not verb.head.tag_.startswith("VB"):
                return False
            verb = verb.head
        return False

    def _objects(self, verb: Any) -> Iterator[Phrase]:
        """Yield the objects of a verb; coordinated verbs share the object of the last; "search for" has it after the preposition."""
        for child in verb.children:
            if child.dep_ in ("dobj", "oprd"):
                yield from self._conjuncts(child)
                return
        for child in verb.children:
            if child.dep_ == "prep" and child.lower_ in ("for", "to", "up"):
                for grandchild in child.children:
                    if grandchild.dep_ == "pobj":
                        yield from self._conjuncts(grandchild)
                return
        for child in verb.children:
            if child.dep_ == "conj" and child.tag_.startswith("VB"):
                yield from self._objects(child)

    def _conjuncts(self, token: Any) -> Iterator[Phrase]:
        """Yield the phrases of a token and of the tokens coordinated with it."""
        for member in (token, *list(token.conjuncts)[:_MAX_CONJUNCTS]):
            phrase = resolve(member, self.phrases)
            if phrase is not None and (member.i >= token.i):
                yield phrase

    def relations(self) -> Iterator[Relation]:
        for token in self.doc:
            if token.idx < self.prefix_chars:
                continue
            if token.dep_ in ("prep", "agent") or (token.dep_ == "dative" and token.tag_ in ("IN", "TO")):
                yield from self._preposition(token)
            elif token.dep_ == "poss":
                yield from self._possessive(token)
            elif token.tag_.startswith("VB"):
                yield from self._clause(token)

    def _preposition(self, preposition: Any) -> Iterator[Relation]:
        governor, word = preposition.head, preposition.lower_
        tails = [phrase for child in preposition.children if child.dep_ == "pobj" for phrase in self._conjuncts(child)]
        if governor.tag_.startswith("VB"):
            yield from self._verb_preposition(governor, word, tails)
        elif governor.tag_.startswith("JJ") and governor.dep_ in ("amod", "acl", "relcl", "acomp"):
            owner = governor.head if governor.dep_ != "acomp" else self._subject(governor.head)
            head = self._phrase_of(owner)
            yield from self._pairs([head], f"{governor.lower_} {word}", tails, _STRONG)
        elif word in _NOUN_PREPOSITIONS and governor.lower_ not in _ACTION_NOUNS:
            head = self.phrases.get(governor.i)
            yield from self._pairs([head], word, tails, _STRONG)

    def _verb_preposition(self, verb: Any, word: str, tails: list[Phrase]) -> Iterator[Relation]:
        name = self._action(verb) if verb.idx == self.prefix_chars else verb.lower_
        phrase = word if verb_lemma(verb.lower_) == "be" else f"{name} {word}"
        if verb.dep_ in ("acl", "amod") and verb.tag_ in ("VBN", "VBG", "VBD"):
            yield from self._pairs([self._phrase_of(verb.head)], phrase, tails, _STRONG)
            return
        passive = next((child for child in verb.children if child.dep_ == "nsubjpass"), None)
        if passive is not None:
            yield from self._pairs([self._phrase_of(passive)], phrase, tails, _STRONG)
            return
        heads = [phrase for child in verb.children if child.dep_ == "dobj" for phrase in self._conjuncts(child)]
        is_lookup = self._action(verb) in _LOOKUP_VERBS
        if is_lookup and word in _NOUN_PREPOSITIONS:
            yield from self._pairs(heads, word, tails, _STRONG - 0.05)
        elif word in _VERB_PREPOSITIONS:
            yield from self._pairs(heads, phrase, tails, _WEAK)
        elif not heads and (subject := self._subject(verb)) is not None:
            yield from self._pairs([self._phrase_of(subject)], phrase, tails, _STRONG)

    def _possessive(self, owner: Any) -> Iterator[Relation]:
        head, tail = self._phrase_of(owner), self.phrases.get(owner.head.i)
        if tail is not None:
            yield from self._pairs([head], "has", [tail], _STRONG)

    def _clause(self, verb: Any) -> Iterator[Relation]:
        """Yield the relations between subject and object of a verb, also of a participle ("orders containing items")."""
        base = verb_lemma(verb.lower_)
        if base in _LIGHT_VERBS or base in LINKING_VERBS:
            return
        subject = verb.head if verb.dep_ == "acl" and verb.tag_ == "VBG" else self._subject(verb)
        is_complement = verb.dep_ in ("ccomp", "xcomp") and verb_lemma(verb.head.lower_) in LINKING_VERBS
        if (
            subject is None
            or is_complement
            or subject.idx < self.prefix_chars
            or subject.lower_ in _TOOL_SUBJECTS - {"which", "that", "user", "users"}
        ):
            return
        tails = [phrase for child in verb.children if child.dep_ == "dobj" for phrase in self._conjuncts(child)]
        yield from self._pairs([self._phrase_of(subject)], verb.lower_, tails, _STRONG)

    def _subject(self, verb: Any) -> Any:
        return next((child for child in verb.children if child.dep_ in ("nsubj", "nsubjpass")), None)

    def _phrase_of(self, token: Any) -> Phrase | None:
        """Return the phrase of a token; for a relative pronoun, the phrase of its antecedent; None where there is none."""
        if token is None:
            return None
        if token.tag_ in ("WDT", "WP") and token.head.dep_ == "relcl":
            token = token.head.head
        return resolve(token, self.phrases)

    def _pairs(
        self, heads: Sequence[Phrase | None], phrase: str, tails: Sequence[Phrase], confidence: float
    ) -> Iterator[Relation]:
        for head in heads:
            for tail in tails:
                if head is None or canonical_name(head.core) == canonical_name(tail.core):
                    continue
                yield Relation(
                    head=head.core,
                    tail=tail.core,
                    phrase=phrase,
                    confidence=confidence,
                    start=min(head.core_start, tail.core_start) - self.prefix_chars,
                    end=max(head.end, tail.end) - self.prefix_chars,
                )
