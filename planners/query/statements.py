"""What a request says of its mentions: pairs of mentions with the verbs and prepositions between them, read from a dependency parse.

Passives are turned round, relative clauses are given the noun that they take up, a verb joined by "and" the subject of the first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from planners.query.lexicon import Lexicon
from planners.query.mentions import Mention

__all__ = ["Statement", "read_statements"]

_OBJECTS = ("dobj", "nsubjpass", "dative", "attr", "oprd", "csubjpass")
_PARTS = ("pobj", "pcomp")


class Statement(NamedTuple):
    """``left middle right``: Jane *send* email; email *from* Jane.

    :param left: None for nothing (a missing subject).
    :param weight: doubt of the reading, subtracted from every score.
    :param marks: ``no`` where it is not so, ``only`` where nothing else is.
    """

    left: Mention | None
    middle: tuple[str, ...]
    right: Mention | None
    weight: float = 0.0
    marks: frozenset[str] = frozenset()


@dataclass(slots=True)
class _Clause:
    """A verb with what it governs."""

    verb: Any
    lemma: tuple[str, ...]
    subjects: list[Mention] = field(default_factory=list)
    objects: list[Mention] = field(default_factory=list)
    parts: list[tuple[str, Mention]] = field(default_factory=list)
    passive: bool = False
    marks: frozenset[str] = frozenset()


class _Reader:
    """Reads one parsed request."""

    def __init__(
        self, doc: Any, mentions: list[Mention], given: Sequence[tuple[Mention, Mention]], words: Lexicon
    ) -> None:
        self._doc = doc
        self._words = words
        self.mentions = mentions
        self._by_token = {at: mention for mention in mentions for at in mention.tokens}
        self._by_token |= {at: noun for value, noun in given for at in value.tokens}
        self._clauses: dict[int, _Clause] = {}

    def statements(self) -> Iterator[Statement]:
        for token in self._doc:
            if token.pos_ in ("VERB", "AUX") and token.dep_ not in ("aux", "auxpass") and token.i not in self._by_token:
                clause = self._clause(token)
                yield from (each._replace(marks=each.marks | clause.marks) for each in self._of_clause(clause))
            elif token.dep_ == "prep" or token.dep_ == "agent":
                yield from self._of_preposition(token)
            elif token.dep_ == "poss" and (owner := self._mention(token)):
                owned = self._mention(token.head)
                if owned and owned is not owner:
                    yield Statement(owner, ("'s",), owned)
            elif token.dep_ in ("compound", "nmod", "amod", "npadvmod") and (part := self._by_token.get(token.i)):
                whole = self._by_token.get(token.head.i)
                if whole and whole is not part:
                    yield Statement(part, (), whole)

    def _mention(self, token: Any) -> Mention | None:
        """The mention of a noun, through "the name of …" and relative pronouns."""
        if token.i in self._by_token:
            return self._by_token[token.i]
        if token.tag_ in ("WDT", "WP", "WP$") and (head := _antecedent(token)) is not None:
            return self._mention(head)
        if token.pos_ in ("NOUN", "PRON", "DET", "ADJ", "NUM"):
            for child in token.children:
                if child.dep_ == "prep" and child.lower_ == "of":
                    return next(
                        (found for part in child.children if part.dep_ in _PARTS and (found := self._mention(part))),
                        None,
                    )
        return None

    def _all(self, token: Any) -> list[Mention]:
        """The mentions of a noun and of those joined to it by "and"."""
        found = [self._mention(each) for each in (token, *(each for each in token.conjuncts if each.i > token.i))]
        return [each for each in found if each]

    def _clause(self, verb: Any) -> _Clause:
        if verb.i in self._clauses:
            return self._clauses[verb.i]
        clause = self._clauses[verb.i] = _Clause(verb, (verb.lemma_.casefold(),))
        clause.passive = any(child.dep_ in ("auxpass", "nsubjpass") for child in verb.children)
        negated = any(child.dep_ == "neg" and child.i != verb.i for child in verb.children)
        exclusive = any(child.lower_ == "only" and child.dep_ == "advmod" for child in verb.children)
        clause.marks = frozenset({"no"} if negated else ()) | frozenset({"only"} if exclusive else ())
        stranded = None
        for child in verb.children:
            if child.dep_ == "nsubj":
                clause.subjects += self._all(child)
            elif child.dep_ in ("acomp", "oprd") and child.pos_ in ("ADJ", "ADV"):
                clause.lemma = (*clause.lemma, child.lower_)
                self._parts(child, clause)
            elif (child.dep_ in _OBJECTS and child.dep_ != "dative") or (
                child.dep_ == "dative" and child.pos_ != "ADP"
            ):
                clause.objects += self._all(child)
            elif child.dep_ in ("prep", "agent", "dative"):
                parts = self._part_mentions(child)
                if child.dep_ == "agent" or (child.lower_ == "by" and clause.passive):
                    clause.subjects += parts
                else:
                    clause.parts += [(child.lower_, part) for part in parts]
                    stranded = child.lower_ if not any(each.dep_ in _PARTS for each in child.children) else stranded
        if not clause.subjects and not clause.passive and len(clause.objects) > 1 and clause.objects[0].at < verb.i:
            clause.subjects.append(clause.objects.pop(0))  # "which books cite …", misread
        if len(clause.subjects) > 1 and not clause.objects and not clause.passive and _asks(verb):
            clause.objects.append(clause.subjects.pop(0))  # "which people have I mailed"
        self._gap(verb, clause, stranded)
        return clause

    def _parts(self, adjective: Any, clause: _Clause) -> None:
        for child in adjective.children:
            if child.dep_ == "prep":
                clause.parts += [(child.lower_, part) for part in self._part_mentions(child)]

    def _part_mentions(self, preposition: Any) -> list[Mention]:
        return [found for part in preposition.children if part.dep_ in _PARTS for found in self._all(part)]

    def _gap(self, verb: Any, clause: _Clause, stranded: str | None) -> None:
        """Fill in what a relative clause takes up, and the subject of a verb joined to another."""
        if verb.dep_ == "acl" and (head := self._mention(verb.head)):
            if verb.tag_ == "VBN":
                clause.passive = True
                clause.objects.insert(0, head)
                by = [part for name, part in clause.parts if name == "by"]
                clause.subjects += by
                clause.parts = [part for part in clause.parts if part[0] != "by"]
            else:
                clause.subjects.insert(0, head)
        elif verb.dep_ == "relcl" and (head := self._mention(verb.head)):
            known = [*clause.subjects, *clause.objects, *(part for _, part in clause.parts)]
            if head not in known:
                if not clause.subjects and not clause.passive:
                    clause.subjects.insert(0, head)
                elif stranded:
                    clause.parts.append((stranded, head))
                else:
                    clause.objects.insert(0, head)
        elif verb.dep_ == "conj" and verb.head.pos_ in ("VERB", "AUX") and not clause.subjects:
            first = self._clause(verb.head)
            clause.subjects += first.objects if first.passive and not first.subjects else first.subjects
            if any(child.lower_ in ("it", "them") and child.dep_ == "dobj" for child in verb.children):
                clause.objects += first.objects
        elif verb.dep_ == "ccomp" and (head := self._taken_up(verb)):  # "mails that Ann sent", misread
            if stranded:
                clause.parts.append((stranded, head))
            elif not clause.objects and not clause.passive:
                clause.objects.append(head)
        if clause.subjects and not clause.objects and not clause.parts:  # "take and return the parameter"
            for child in verb.children:
                if child.dep_ == "conj" and child.pos_ == "VERB":
                    clause.objects += [each for each in self._clause(child).objects if each not in clause.subjects]

    def _taken_up(self, verb: Any) -> Mention | None:
        """The mention right before the "that" with which a clause begins."""
        that = next((child for child in verb.children if child.dep_ == "mark" and child.lower_ == "that"), None)
        if that is None or that.i == 0:
            return None
        there = self._doc[that.i - 1].lower_ == "there"
        before = [each for at, each in self._by_token.items() if at < that.i]
        return self._by_token.get(that.i - 1) or (before[-1] if there and before else None)

    def _of_clause(self, clause: _Clause) -> Iterator[Statement]:
        if clause.verb.i == self._doc[0].i and not clause.subjects and clause.verb.dep_ == "ROOT":
            yield from self._of_command(clause)
            return
        lemma = clause.lemma
        if lemma == ("be",) and clause.objects:
            for subject in clause.subjects:
                yield from (Statement(subject, ("be",), each) for each in clause.objects)
        implied = self._implied(clause)
        if implied:
            yield from self._of_implied(clause, implied)
            return
        for subject in clause.subjects:
            for each in clause.objects:
                yield Statement(subject, lemma, each)
        for preposition, part in clause.parts:
            if preposition in ("without", "as"):
                yield from (_joined(each, (), preposition, part) for each in clause.objects or clause.subjects)
                continue
            for each in clause.objects:
                yield Statement(each, (*lemma, preposition), part)
            for each in clause.subjects:
                yield Statement(each, (*lemma, preposition), part, 0.5 if clause.objects else 0.0)
        if not clause.subjects:
            yield from (Statement(each, lemma, None) for each in clause.objects)

    def _of_command(self, clause: _Clause) -> Iterator[Statement]:
        """What "Find …" governs belongs to the first thing to be found."""
        things = [each for each in clause.objects if each.kind != "user"]
        for preposition, part in clause.parts:
            yield from (_joined(each, (), preposition, part) for each in things[:1])

    def _implied(self, clause: _Clause) -> Mention | None:
        """The entity that a verb implies: one that is mentioned beside it, else a new one."""
        types = self._words.verbs.get(clause.lemma[0], ())
        if not types:
            return None
        beside = [
            *clause.objects,
            *(part for _, part in clause.parts),
            *(clause.subjects if not clause.passive else ()),
        ]
        found = next((each for each in beside if each.kind == "noun" and set(each.types) & set(types)), None)
        if found is None:
            found = next((part for name, part in clause.parts if self._is_of(name, part, types)), None)
        if found is None:
            found = Mention(clause.verb.i, types, "implied", clause.lemma[0])
            self.mentions.append(found)
        return found

    def _is_of(self, preposition: str, part: Mention, types: Sequence[str]) -> bool:
        """Whether a name stands for what a verb implies: "met at the Summit", but not "met at Grand Hotel" or "met in Rome"."""
        if part.kind != "value" or part.fields or not set(part.types) & set(types):
            return False
        article = part.tokens[0] > 0 and self._doc[part.tokens[0] - 1].lower_ == "the"
        if part.likely:
            return bool(part.likely & set(types))
        return article and preposition in ("at", "in")

    def _of_implied(self, clause: _Clause, implied: Mention) -> Iterator[Statement]:
        lemma = clause.lemma
        yield from (Statement(each, lemma, implied) for each in clause.subjects if each is not implied)
        yield from (Statement(implied, lemma, each) for each in clause.objects if each is not implied)
        for name, part in clause.parts:
            things = [each for each in clause.objects if each is not implied] if name == "as" else [implied]
            yield from (_joined(each, () if name == "as" else lemma, name, part) for each in things if part is not each)
        if not clause.subjects:
            yield Statement(implied, lemma, None)

    def _of_preposition(self, preposition: Any) -> Iterator[Statement]:
        head = self._mention(preposition.head) if preposition.head.pos_ not in ("VERB", "AUX") else None
        if head is None:
            return
        for part in self._part_mentions(preposition):
            if part is not head:
                yield _joined(head, (), preposition.lower_, part)


def _joined(left: Mention, verb: tuple[str, ...], preposition: str, right: Mention) -> Statement:
    """A statement with a preposition; without is not with."""
    if preposition == "without":
        return Statement(left, (*verb, "with"), right, marks=frozenset({"no"}))
    return Statement(left, (*verb, preposition), right)


def _asks(verb: Any) -> bool:
    """Whether a clause begins with what it asks for and has another subject."""
    subjects = [child for child in verb.children if child.dep_ == "nsubj"]
    return len(subjects) > 1 and any(child.tag_ in ("WDT", "WP", "WRB") for child in subjects[0].subtree)


def _antecedent(token: Any) -> Any:
    climbing = token
    while climbing.head.i != climbing.i:
        if climbing.dep_ == "relcl":
            return climbing.head if climbing.head.i < token.i else None
        climbing = climbing.head
    return None


def read_statements(
    doc: Any, mentions: list[Mention], given: Sequence[tuple[Mention, Mention]], words: Lexicon
) -> list[Statement]:
    """Return the statements of a parsed request; mentions that verbs imply are added to the list of mentions.

    :param given: values that are conditions by now, each with its mention.
    """
    return list(_Reader(doc, mentions, given, words).statements())
