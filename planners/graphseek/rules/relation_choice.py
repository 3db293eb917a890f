"""Which relationships lead from one place of a question to the next, in which direction, under which conditions."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ontology.names import words
from planners.graphseek.catalog.catalog import TIME_ROLES
from planners.graphseek.rules.phrase_lexicon import Lexicon, PropertyOf, RelationOf
from planners.graphseek.rules.question_reading import Reading, Relation, Stop
from planners.graphseek.rules.question_tokens import base_forms
from planners.graphseek.rules.said_question import UnreadableError
from planners.graphseek.rules.schema_routes import Hop, Route, routes_between
from planners.stores.graph_schema import GraphSchema

__all__ = ["RelationChoice", "Said", "TwoReadingsError", "UnconnectedError"]

_SAID = 2  # score of a relationship whose verb is said
_JOINTS = ("and", "or")
# Before a relation word that is a noun, and says no direction: "reach it within two steps of supplies". Ordinary English; "of" was found on
# the questions on the tool graph.
_BEFORE_NOUN = frozenset("of by over via through along".split())


class TwoReadingsError(Exception):
    """What is said has two readings; the text asks which is meant."""


class UnconnectedError(Exception):
    """No relationships connect what a question names; the text says so."""


@dataclass(frozen=True, slots=True)
class Said:
    """Hops that one relation word says; several where it may mean several relationships."""

    hops: tuple[Hop, ...]
    negated: bool


class RelationChoice:
    """Chooses by what a question says."""

    def __init__(self, reading: Reading, schema: GraphSchema, lexicon: Lexicon) -> None:
        self._reading, self._schema, self._lexicon = reading, schema, lexicon
        self.scores: dict[str, int] = {}
        for each in self._meanings():
            self.scores[each.name] = max(each.score, self.scores.get(each.name, 0))
        self.is_time_used = False
        self._followed: set[str] = set()

    def _meanings(self) -> Iterable[RelationOf]:
        for word in self._reading.words:
            yield from self._lexicon.weak.get(word, ())
        for each in self._reading.relations:
            yield from each.mention.relations

    def said_hops(self, start: Stop, end: Stop, near: Stop) -> list[Said]:
        """Return the hops from one place to another that relation words say, one for each word.

        :param near: which of the two is nearer to what is asked for: it is the subject, unless the other one stands before the word.
        """
        found: dict[str, Said] = {}
        far = end if near is start else start
        relations = [each for each in self._reading.relations if each.only_for in (None, far.at)]
        if self._is_repeated(near, far):
            between = [each for each in relations if near.at < each.mention.start < far.at]
            relations = between or [each for each in relations if each.mention.start > far.at]
        elif own := self._own_words(near, far):
            relations = [each for each in relations if each in own]
        for each in relations:
            hops = self._hops_of(each.mention.relations, each.mention.start, start, end, near)
            if hops:
                names = {hop.relationship for hop in hops}
                is_known = any(names & {hop.relationship for hop in other.hops} for other in found.values())
                if is_known and each.mention.before in _BEFORE_NOUN:
                    continue
                said = " ".join(sorted(f"{hop.relationship} {hop.direction}" for hop in hops))
                found.setdefault(f"{said} {each.negated}", Said(tuple(hops), each.negated))
        return list(found.values())

    def _own_words(self, near: Stop, far: Stop) -> list[Relation]:
        """Return the relation words of one of several places of the same type: "cite A and are cited by B", "Mia steers and Jon inspects".

        They stand before it, behind the place before; of one without such words right behind it; else it has those of the place before.
        """
        chains = (*self._reading.chains, *self._reading.without)
        links = [link for chain in chains for link in itertools.pairwise([self._reading.target, *chain])]
        row = next((other for _, other in links if far in other.row), far)
        peers = sorted((o for n, o in links if n is near and set(o.types) == set(row.types)), key=lambda each: each.at)
        if len(peers) < 2 or row not in peers:
            return []
        own: list[Relation] = []
        taken: list[Relation] = []
        before = -1
        for each, behind in zip(peers, [*(other.at for other in peers[1:]), None], strict=True):
            rest = [relation for relation in self._reading.relations if relation not in taken]
            said = [relation for relation in rest if before < relation.mention.start < each.at]
            said = said or _in_a_row([relation for relation in rest if each.at < relation.mention.start], behind)
            own, before = said or own, each.at
            taken += said
            if each is row:
                break
        return own

    def refuse_other_doer(self, types: Sequence[str]) -> None:
        """Refuse "who wrote …" where what would be told does not write.

        :param types: of what would be told.
        :raises UnreadableError: when it is of another type than those that the relationship is said of.
        """
        doers = self.doers
        if self._reading.doer and doers and not set(doers) & set(types):
            said, shown = self._reading.doer.text, " or ".join(doers)
            raise UnreadableError(f"“who {said}” asks for {shown}, and what it names leads to {types[0]} alone")

    @property
    def doers(self) -> list[str]:
        """The types that "who wrote …" may ask for; none where it does not ask so."""
        said = self._reading.doer.relations if self._reading.doer else ()
        ends = [(each, end) for each in said for end in self._schema.relationship(each.name).ends]
        found = {end.source if each.forward else end.target for each, end in ends}
        return sorted(found | {end.target for each, end in ends if self._schema.relationship(each.name).undirected})

    def _is_repeated(self, near: Stop, far: Stop) -> bool:
        """Whether a chain goes on between the same types: "steer ships that Mia inspects"; each word is of one place then."""
        for chain in (*self._reading.chains, *self._reading.without):
            links = [
                (one, other, {one.types[:1], other.types[:1]})
                for one, other in itertools.pairwise([self._reading.target, *chain])
            ]
            mine = [types for one, other, types in links if one is near and other is far]
            if mine and sum(types == mine[0] for *_, types in links) > 1:
                return True
        return False

    def _hops_of(self, relations: Sequence[RelationOf], at: int, start: Stop, end: Stop, near: Stop) -> list[Hop]:
        far = end if near is start else start
        subject = far if far.at < at else near
        best: dict[str, tuple[int, Hop]] = {}
        for each in relations:
            source, target = (start, end) if (subject is start) == each.forward else (end, start)
            is_as_said = self._connects(each.name, source.types[0], target.types[0])
            if not is_as_said and not self._connects(each.name, target.types[0], source.types[0]):
                continue
            is_out = (source is start) == is_as_said
            rank = 2 * each.score + is_as_said
            hop = self._hop(each.name, "out" if is_out else "in", start.types[0], end.types[0])
            if hop and rank > best.get(each.name, (0, hop))[0]:
                best[each.name] = (rank, hop)
        most = max((rank for rank, _ in best.values()), default=0)
        return [hop for rank, hop in best.values() if rank == most]

    def _connects(self, name: str, source: str, target: str) -> bool:
        ends = self._schema.relationship(name).ends
        return any((end.source, end.target) == (source, target) for end in ends)

    def connects(self, name: str, types: Sequence[str]) -> bool:
        """Whether a relationship leads from one of the types to another one, or to the same: "whom does the head of A refer to"."""
        pairs = itertools.product(types, repeat=2)
        return any(self._connects(name, source, target) for source, target in pairs)

    def _hop(self, name: str, direction: str, start: str, end: str) -> Hop | None:
        routes = routes_between(self._schema, start, end, {name: 3}, only=(name,))
        return next(
            (each.hops[0] for each in routes if len(each.hops) == 1 and each.hops[0].direction in (direction, "both")),
            None,
        )

    def routes(self, start: str, end: str) -> list[Route]:
        """Return the cheapest way between types; several only where each is one hop.

        One that leads there in either direction is followed in both at once, since nothing says which is meant.

        :raises TwoReadingsError: when there are several longer ones.
        :raises UnconnectedError: when there is none.
        """
        routes = routes_between(self._schema, start, end, self.scores)
        if not routes:
            raise UnconnectedError(f"nothing connects {end} with {start}")
        ways = {" and ".join(hop.relationship for hop in each.hops) for each in routes}
        if len(ways) > 1 and len(routes[0].hops) > 1:
            raise TwoReadingsError(
                f"{start} and {end} are connected by {' or by '.join(sorted(ways))}. Which is meant?"
            )
        merged: dict[tuple[Hop, ...], Route] = {}
        for each in routes:
            way = tuple(replace(hop, direction="both") for hop in each.hops) if len(each.hops) == 1 else each.hops
            merged[way] = replace(each, hops=way) if way in merged else each
        return list(merged.values())

    def synonyms(self, hop: Hop, start: str, end: str) -> list[Hop]:
        """Return hops of other relationships that the catalog gives a phrase of this one, and that lead from one type to the other."""
        others = (self._hop(name, hop.direction, start, end) for name in self._lexicon.synonyms(hop.relationship))
        return [each for each in others if each is not None]

    def not_followed(self) -> list[str]:
        """Return notes of relation words that said nothing in the end."""
        words_ = [each.mention for each in self._reading.relations if not (each.mention.values or each.mention.types)]
        unused = [each for each in words_ if not {relation.name for relation in each.relations} & self._followed]
        return [f"“{each.text}” was not followed" for each in unused if not each.text.startswith("use")]

    def cost(self, start: str, end: str) -> float:
        """Return what the cheapest way between types costs; infinite: there is none."""
        return next((each.cost for each in routes_between(self._schema, start, end, self.scores)), float("inf"))

    def places(self, type_: str, *, located: bool) -> list[str]:
        """Return the types at the ends of the relationships that are said best.

        :param located: whether a place is asked for: only along relationships, and those called "located" are said.
        """
        found: dict[str, int] = {}
        times = self._time_types()
        for each in self._schema.relationships:
            score = max(self.scores.get(each.name, 0), _SAID if located and "LOCAT" in each.name.upper() else 0)
            ends = {end.target for end in each.ends if end.source == type_}
            ends |= {end.source for end in each.ends if end.target == type_ and not located}
            for end in ends - {type_} - (times if located else set()):
                if score >= _SAID:
                    found[end] = max(score, found.get(end, 0))
        return sorted(name for name, score in found.items() if score == max(found.values()))

    def _time_types(self) -> set[str]:
        """Return the types of nodes that have a property with a role of time."""
        return {each.owner for each in self._lexicon.properties if each.role in TIME_ROLES and not each.of_relationship}

    def _pure_times(self) -> set[str]:
        """Return those of them that say nothing but a time."""
        roles = ("key", "name", *TIME_ROLES)
        others = {each.owner for each in self._lexicon.properties if each.role not in roles}
        return self._time_types() - others

    def nearest(self, type_: str, others: Sequence[str]) -> tuple[str, ...]:
        """Return which of several types that a word means is nearest to a type."""
        return (min(others, key=lambda each: self.cost(type_, each)),)

    def is_direct(self, type_: str, others: Sequence[str]) -> bool:
        """Whether a relationship connects a type with one of others."""
        ends = [(end.source, end.target) for each in self._schema.relationships for end in each.ends]
        return any((type_, each) in ends or (each, type_) in ends for each in others)

    def property_like(self, type_: str, word: str, types: Sequence[str]) -> PropertyOf | None:
        """Return the property of a type by which a word groups: it is called so, or its values are of the type that is."""
        lemmas = {form for each in words(word) for form in base_forms(each)}
        names = {form for each in types for part in words(each) for form in base_forms(part)}
        fitting = [
            each
            for each in self._lexicon.properties
            if each.owner == type_
            and not each.of_relationship
            and each.role in ("category", "", *TIME_ROLES)
            and (lemmas | names) & set(each.words)
        ]
        return next((each for each in fitting if each.role == "category"), fitting[0] if fitting else None)

    def flow(self, start: str, ends: Sequence[str]) -> str:
        """Return the direction in which effects go: along the relationships where they lead to what is asked for, else against them."""
        reached, front = {start}, {start}
        while front:
            front = {
                end.target for each in self._schema.relationships for end in each.ends if end.source in front
            } - reached
            reached |= front
        return "out" if set(ends) & (reached - {start}) else "in"

    def chained_into(self, type_: str) -> str:
        """Return the relationship over which things become part of a type in several steps; empty where there is none."""
        for each in self._schema.relationships:
            sources = {end.source for end in each.ends if end.target == type_} - {type_}
            if sources & {end.target for end in each.ends}:
                return each.name
        return ""

    def sources(self, name: str) -> list[str]:
        """Return the types that a relationship begins at."""
        return sorted({end.source for end in self._schema.relationship(name).ends})

    def plan_value(self, name: str) -> str:
        """Return how a relationship says that something is planned; empty where it does not."""
        for each in self._lexicon.properties:
            if each.owner == name and each.role == "plan or actual":
                return next((value.value for value in self._lexicon.values_of(each, "planned")), "")
        return ""

    def to_times(self, type_: str) -> list[str]:
        """Return the relationships from a type to nodes of time, such as months, whose words are best said."""
        times = self._pure_times()
        scores = {
            each.name: self.scores.get(each.name, 0)
            for each in self._schema.relationships
            for end in each.ends
            if end.source == type_ and end.target in times - {type_}
        }
        most = max(scores.values(), default=0)
        found = sorted(name for name, score in scores.items() if score == most >= _SAID)
        self._followed.update(found)
        return found

    def conditions(self, hops: Sequence[Hop], hop: Hop) -> list[dict[str, Any]]:
        """Return filters on the relationships of a hop: of plan or actual, and of time, where they say it.

        :param hops: of the whole way: what is said goes with the hops whose word is said, where there are such.
        """
        self._followed.add(hop.relationship)
        is_said = self.scores.get(hop.relationship, 0) >= _SAID
        if not is_said and any(self.scores.get(each.relationship, 0) >= _SAID for each in hops):
            return []
        keys = {
            each.role: each.key.name
            for each in self._lexicon.properties
            if each.of_relationship and each.owner == hop.relationship and each.role
        }
        filters: list[dict[str, Any]] = []
        if self._reading.plan and "plan or actual" in keys:
            filters.append({"key": keys["plan or actual"], "operator": "=", "value": self._reading.plan})
        times = self._times(keys)
        self.is_time_used = self.is_time_used or bool(times)
        return filters + times

    def _times(self, keys: Mapping[str, str]) -> list[dict[str, Any]]:
        """Return filters on properties with roles of time; a quarter is three months where there is no quarter."""
        said = self._reading.when.said
        filters: list[dict[str, Any]] = []
        for name, value in said.items():
            if name in keys:
                filters.append({"key": keys[name], "operator": "=", "value": value})
            elif name == "quarter" and "month" in keys:
                months = list(range(3 * value - 2, 3 * value + 1))
                filters.append({"key": keys["month"], "operator": "in", "value": months})
        return filters if len(filters) == len(said) else []


def _in_a_row(relations: Sequence[Relation], most: int | None) -> list[Relation]:
    """Return the first of some relation words and those that are joined to it: "takes or returns".

    :param most: place that they stand before.
    """
    found: list[Relation] = []
    for each in relations:
        is_apart = bool(found) and each.mention.before not in _JOINTS
        if is_apart or (most is not None and each.mention.start >= most):
            break
        found.append(each)
    return found
