"""Statements → edges and filters of the domain: the best-fitting phrase first, then whatever joins what is left."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ontology.errors import InvalidArgumentError
from planners.query.domain import Domain
from planners.query.parsing.domain_lexicon import EdgePhrase, FieldName, Lexicon
from planners.query.parsing.mentions import Mention
from planners.query.parsing.statements import Statement
from planners.query.query_graph import MAX_VARS

__all__ = ["Link", "Links", "refuse_many"]

_WHOLE, _HALF, _LAST, _VERB, _ANY = 4.0, 3.5, 2.5, 1.5, 0.25
_ROLE = 4.5
_UNLIKELY = 1.5
_SURE = 3.0
_DOUBT = 0.75
_GOOD = 1.0  # less than a matching verb is no evidence for a second path


class Link(NamedTuple):
    """An edge between two mentions, in the direction of the domain."""

    source: Mention
    edge: str
    target: Mention


class _Fit(NamedTuple):
    score: float
    link: Link
    types: tuple[str, str]


@dataclass(slots=True)
class Links:
    """Joins the mentions of one request.

    :param links: the edges so far.
    :param assumed: those of them that no phrase of the request says.
    :param given: values that became conditions, each with the mention that has it.
    """

    domain: Domain
    words: Lexicon
    mentions: list[Mention]
    links: list[Link] = field(default_factory=list)
    given: list[tuple[Mention, Mention]] = field(default_factory=list)
    assumed: list[Link] = field(default_factory=list)

    def read(self, statements: Sequence[Statement]) -> None:
        """Turn statements into links and filters, the surest first."""
        refuse_many(self.mentions)  # verbs imply mentions, and so do nouns and edges
        waiting = self._united(statements)
        waiting = [each for each in waiting if not self._filter(each)]
        imply_by_nouns(self, waiting)
        while waiting:
            refuse_many(self.mentions)
            fits = [
                (fit.score - each.weight, -number, fit, each)
                for number, each in enumerate(waiting)
                if (fit := self._fit(each))
            ]
            if not fits:
                return
            _, _, fit, chosen = max(fits, key=lambda each: each[:2])
            waiting.remove(chosen)
            self._commit(fit)

    def _commit(self, fit: _Fit) -> None:
        source, edge, target = fit.link
        if self._linked(source, target) or (fit.score < _GOOD and target in self.reached(source)):
            return
        source.types, target.types = (fit.types[0],), (fit.types[1],)
        self.links.append(Link(source, edge, target))
        if fit.score < _GOOD and "date" not in (source.kind, target.kind):
            self.assumed.append(self.links[-1])

    def _linked(self, first: Mention, second: Mention) -> bool:
        return any({first, second} == {link.source, link.target} for link in self.links)

    def _united(self, statements: Sequence[Statement]) -> list[Statement]:
        """The statements without those that say that two mentions are one, said of that one."""
        same: dict[Mention | None, Mention] = {}
        rest = []
        for statement in statements:
            pair = self._unite(statement)
            if pair:
                same[pair[0]] = pair[1]
            else:
                rest.append(statement)
        return [
            each._replace(left=same.get(each.left, each.left), right=same.get(each.right, each.right)) for each in rest
        ]

    def _unite(self, statement: Statement) -> tuple[Mention, Mention] | None:
        """ "the Quality department", "the account owner is Jane", "who is the owner", "the account of the customer"."""
        left, middle, right = statement.left, statement.middle, statement.right
        if left is None or right is None or middle not in ((), ("be",), ("of",)):
            return None
        for name, noun in ((left, right), (right, left)):
            if middle != ("of",) and name.kind == "value" and noun.kind == "noun" and self.give(noun, name):
                return name, noun
        nouns = left.kind == right.kind == "noun" and left in self.mentions and right in self.mentions
        shared = tuple(kind for kind in right.types if kind in left.types)
        edge = any(source in left.types and target in left.types for source, _, target in self.words.phrases)
        if not nouns or not shared or middle == () or (middle == ("of",) and edge):
            return None
        lost, kept = sorted((left, right), key=lambda each: each.at)
        kept.types = shared
        kept.filters += lost.filters
        kept.ordinal = kept.ordinal or lost.ordinal
        self.mentions.remove(lost)
        return lost, kept

    def give(self, noun: Mention, value: Mention) -> bool:
        """Make a value a condition on a mention, where a field of one of its types takes it."""
        fits = [each for each in value.fields if each.kind in noun.types]
        if not fits and not value.fields:
            fits = [each for kind in noun.types for each in self._named(kind)]
        if (
            not fits
            or value not in self.mentions
            or any(link.source is value or link.target is value for link in self.links)
        ):
            return False
        self.restrict(noun, fits[0], "=", value)
        return True

    def restrict(self, noun: Mention, where: FieldName, op: str, value: Mention) -> None:
        """Make a value a condition on a mention."""
        noun.types = (where.kind,)
        noun.filters.append((where.field, op, value.word))
        self.mentions.remove(value)
        self.given.append((value, noun))

    def _named(self, kind: str) -> Iterator[FieldName]:
        if kind in self.words.names:
            yield FieldName(kind, self.words.names[kind])

    def _filter(self, statement: Statement) -> bool:
        """ "trips to Lisbon": a preposition that names a field."""
        left, middle, right = statement.left, statement.middle, statement.right
        if (
            left is None
            or right is None
            or right.kind != "value"
            or right.fields
            or not middle
            or right not in self.mentions
        ):
            return False
        fit = self._fit(statement)
        others = () if fit and fit.score >= _SURE else self._nearest(right)
        for noun in (left, *others):
            for phrase in (" ".join(middle), middle[-1]) if noun is left else (middle[-1],):
                for where in self.words.field_words.get(phrase, ()):
                    if where.kind in noun.types:
                        self.restrict(
                            noun, where, self.domain.types[where.kind].fields[where.field].operators[0], right
                        )
                        return True
        return False

    def _nearest(self, mention: Mention) -> list[Mention]:
        """The nouns before a mention, the nearest first."""
        return [each for each in reversed(self.mentions) if each.kind in ("noun", "implied") and each.at < mention.at]

    def _fit(self, statement: Statement) -> _Fit | None:
        left, right = statement.left, statement.right
        if left is None or left not in self.mentions:
            return None
        if right is None:
            return self._user_fit(left, statement.middle)
        if right not in self.mentions or left is right or self._linked(left, right):
            return None
        best = max(self._fits(left, statement.middle, right), key=lambda fit: fit.score, default=None)
        sure = _LAST if left.kind == "implied" else _SURE
        if (best and best.score >= sure) or not statement.middle or statement.middle == ("'s",):
            return best
        best = max((best, *self._elsewhere(statement, right)), key=lambda fit: fit.score if fit else 0.0)
        through = None if best and best.score >= _GOOD else self._through(left, statement, right)
        return through or best

    def _through(self, left: Mention, statement: Statement, right: Mention) -> _Fit | None:
        """ "photos from Sofia": a file is from nobody, the mail that it was attached to is."""
        if right.kind != "value" or left.kind != "noun":
            return None
        for kind, entity in self.domain.types.items():
            between = Mention(left.at, (kind,), "implied", "")
            fit = max(self._fits(between, statement.middle[-1:], right), key=lambda each: each.score, default=None)
            if (
                entity.kind == "entity"
                and fit
                and fit.score >= _LAST - _DOUBT
                and any(True for _ in self._fits(left, (), between))
            ):
                self.mentions.append(between)
                self.join(left, between)
                return fit
        return None

    def _elsewhere(self, statement: Statement, right: Mention) -> Iterator[_Fit]:
        """The same said of another mention: parsers hang "to Mark" on "from Jane" in "mails from Jane to Mark"."""
        for other in self.mentions:
            if other in (statement.left, right) or other.kind in ("user", "date") or self._linked(other, right):
                continue
            for fit in self._fits(other, statement.middle[-1:], right):
                if fit.score >= _LAST:
                    far = abs(other.at - right.at) * 0.02 + (0.3 if other.at > right.at else 0.0)
                    yield fit._replace(score=fit.score - _DOUBT - far)

    def _fits(self, left: Mention, middle: tuple[str, ...], right: Mention) -> Iterator[_Fit]:
        for (source, edge, target), phrases in self.words.phrases.items():
            for reversed_, (first, second) in enumerate(((left, right), (right, left))):
                if source not in first.types or target not in second.types:
                    continue
                ends = ("target", "source") if reversed_ else ("source", "target")
                score = max((_score(phrase, middle, ends, (left, right)) for phrase in phrases), default=0.0)
                doubt = (
                    0.01 * (first.types.index(source) + second.types.index(target))
                    + _unlikely(first, source, self.words)
                    + _unlikely(second, target, self.words)
                )
                yield _Fit(max(score, _ANY) - doubt, Link(first, edge, second), (source, target))

    def _user_fit(self, left: Mention, middle: tuple[str, ...]) -> _Fit | None:
        """ "received": where nobody is named, the user is meant if the domain says so."""
        for (source, edge, target), phrases in self.words.phrases.items():
            if target == self.words.user and source in left.types and EdgePhrase("source", middle[:1], "") in phrases:
                return _Fit(_HALF, Link(left, edge, self.user(left.at)), (source, target))
        return None

    def ends(self, name: str) -> list[tuple[str, str]]:
        """The types that edges of a name join, as (source, target)."""
        return [(source, target) for source, edge, target in self.words.phrases if edge == name]

    def user(self, at: int) -> Mention:
        """The one mention of the user."""
        found = next((each for each in self.mentions if each.kind == "user"), None)
        if found is None:
            found = Mention(at, (self.words.user,), "user", "")
            self.mentions.append(found)
        return found

    def reached(self, start: Mention) -> list[Mention]:
        """The mentions that links join to one, itself first."""
        found = [start]
        for each in found:
            ends = [
                link.target if link.source is each else link.source
                for link in self.links
                if each in (link.source, link.target)
            ]
            found += [end for end in ends if end not in found]
        return found

    def join(self, first: Mention, second: Mention) -> bool:
        """Join two mentions by the only sort of edge that their types allow, or through an entity between them."""
        fit = max(self._fits(first, (), second), key=lambda each: each.score, default=None)
        if fit:
            self._commit(fit)
            return True
        for kind, entity in self.domain.types.items():
            if entity.kind != "entity":
                continue
            between = Mention(first.at, (kind,), "implied", "")
            if any(True for _ in self._fits(first, (), between)) and any(True for _ in self._fits(between, (), second)):
                self.mentions.append(between)
                return self.join(first, between) and self.join(between, second)
        return False


def refuse_many(mentions: Sequence[Mention]) -> None:
    """Refuse more mentions than a graph has variables, before each is tried with each other.

    :raises InvalidArgumentError: says how many there are.
    """
    if len(mentions) > MAX_VARS:
        raise InvalidArgumentError(
            f"the request mentions {len(mentions)} things, and a query graph has at most {MAX_VARS} variables",
            subject="request",
            remedy="Ask for less at a time",
        )


def imply_by_nouns(links: Links, statements: Sequence[Statement]) -> None:
    """An attachment is one of a mail: a noun that says an edge implies its other end, unless that is mentioned beside it."""
    for mention in [each for each in links.mentions if each.kind == "noun"]:
        for (source, edge, target), phrases in links.words.phrases.items():
            for phrase in phrases:
                if phrase.left or " ".join(phrase.middle[:-1]) != mention.word or not phrase.right:
                    continue
                own, other = (target, source) if phrase.right == "source" else (source, target)
                others = {ends[phrase.right == "target"] for ends in links.ends(edge)}
                beside = any(_pairs(statement, mention, others) for statement in statements)
                if own in mention.types and links.domain.types[other].kind == "entity" and not beside:
                    _imply(mention, own, edge, other, links)


def _pairs(statement: Statement, mention: Mention, others: set[str]) -> bool:
    ends = (statement.left, statement.right)
    return mention in ends and any(
        end is not None and end is not mention and end.kind != "value" and others & set(end.types) for end in ends
    )


def _imply(mention: Mention, own: str, edge: str, other: str, links: Links) -> None:
    if any(mention in (link.source, link.target) and link.edge == edge for link in links.links):
        return
    found = Mention(mention.at, (other,), "implied", "")
    links.mentions.append(found)
    mention.types = (own,)
    links.join(mention, found)


def _unlikely(mention: Mention, kind: str, words: Lexicon) -> float:
    if mention.kind != "value" or mention.fields:
        return 0.0
    shaped = any(shape.field == (kind, words.names.get(kind)) for shape in words.shapes)  # names of files have a form
    return _UNLIKELY * (2 * shaped + (bool(mention.likely) and kind not in mention.likely))


def _score(
    phrase: EdgePhrase, middle: tuple[str, ...], ends: tuple[str, str], mentions: tuple[Mention, Mention]
) -> float:
    """How well a phrase fits a statement whose left and right ends are these ends of the edge."""
    noun = _role_score(phrase, middle, ends, mentions)
    if noun:
        return noun
    if not middle or phrase.left not in ("", ends[0]) or phrase.right not in ("", ends[1]):
        return 0.0
    whole = _WHOLE if phrase.left and phrase.right else _HALF
    if phrase.middle == middle:
        return whole
    if len(middle) > 1 and phrase.left and phrase.right and phrase.middle == middle[-1:]:
        return _LAST
    return _VERB if phrase.middle[:1] == middle[:1] and middle[0] != "be" else 0.0


def _role_score(
    phrase: EdgePhrase, middle: tuple[str, ...], ends: tuple[str, str], mentions: tuple[Mention, Mention]
) -> float:
    """ "the sender of the mail", "my manager": a noun that says the edge; its entity is at the other end than the phrase names."""
    if phrase.left or not phrase.right or len(phrase.middle) < 2:
        return 0.0
    *noun, preposition = phrase.middle
    word = " ".join(noun)
    if mentions[0].word == word and ends[1] == phrase.right and middle == (preposition,):
        return _ROLE
    if mentions[1].word == word and ends[0] == phrase.right and middle in (("'s",), ()):
        return _ROLE
    return 0.0
