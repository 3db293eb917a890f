"""Plans what was read: names are looked up, sets are found, and counted, ranked, aggregated, or told with a property."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from planners.graphseek.results.result import Result
from planners.graphseek.results.result_store import ResultStore
from planners.graphseek.rules.first_ones import find_ranked_stops, first_with_ties
from planners.graphseek.rules.name_finding import Found, NameFinding
from planners.graphseek.rules.neighbour_counting import NeighbourCounting
from planners.graphseek.rules.phrase_lexicon import Lexicon, PropertyOf
from planners.graphseek.rules.plan_account import FLOWS, PlanAccount
from planners.graphseek.rules.question_reading import Condition, Reading, Stop
from planners.graphseek.rules.relation_choice import RelationChoice, TwoReadingsError, UnconnectedError
from planners.graphseek.rules.replayed_calls import ReplayedCalls
from planners.graphseek.rules.said_question import UnreadableError
from planners.graphseek.rules.set_finding import MOST_HOPS, EmptyError, Selected, SetFinding, without_value
from planners.graphseek.rules.type_settling import TypeSettling
from planners.graphseek.rules.value_presence import settle_presence
from planners.stores.graph_schema import GraphSchema

__all__ = ["Planned", "plan_question"]

_BACK = -1
"""The place of "it": before the question."""
_BLUEPRINT_HOPS = 3
"""As far as the truth of the second use case (paper, section 5.3) goes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """What a plan came to.

    :param type: of what was asked for.
    :param results: that the answer rests on.
    :param asked: a property that is told.
    :param shape: ``rows``; ``first``, ``firsts``: the first ones of rows or pairs; ``size``: their number is the answer;
        ``cell``: the only number of the only row is; ``pairs``: each with a number.
    :param by: the column by which the first ones are found, where all that share the value of the last one belong to them.
    """

    type: str
    results: tuple[Result, ...]
    asked: PropertyOf | None = None
    shape: str = "rows"
    by: str = ""


async def plan_question(
    reading: Reading,
    lexicon: Lexicon,
    calls: ReplayedCalls,
    schema: GraphSchema,
    results: ResultStore,
    earlier: Result | None = None,
) -> Planned:
    """Return what a question comes to.

    :param earlier: a table of nodes that "they" may stand for.

    :raises FailedError: when an operator gave nothing.
    :raises NeededError: when operators have to run first.
    :raises NotFoundByNameError: when nothing has a name.
    :raises TwoReadingsError: when it has two readings.
    :raises UnconnectedError: when nothing connects what it names.
    :raises UnreadableError: when it has two readings and a word that was not read.
    """
    if reading.pronoun and earlier is None:
        raise UnreadableError(f"“{reading.pronoun}” stands for nothing that was found before; name it")
    choice = RelationChoice(reading, schema, lexicon)
    stops = [stop for chain in (*reading.chains, *reading.without) for stop in chain]
    said = {each.name for relation in reading.relations for each in relation.mention.relations}
    likely_types = {
        name for each in said for end in schema.relationship(each).ends for name in (end.source, end.target)
    }
    types = {*likely_types, *reading.target.types, *(each for stop in stops for each in stop.types)}
    finding = NameFinding(lexicon, calls, results, likely_types, types)
    named = [each for stop in stops for each in stop.row if each.name]
    found = await finding.find([each for each in named if not each.is_plain or each.types])
    for stop in stops:  # a plain word is of the type of what it is joined to, where anything is called so
        for each in stop.row[1:]:
            if each.is_plain and not each.types and stop.at in found:
                each.types = tuple(found[stop.at].names)
    found |= await finding.find([each for each in named if each.at not in found and each.name and each.is_plain])
    reading.part_subjects()
    reading.join_conditions()
    await settle_presence(reading, calls, results)
    if reading.refers_back and earlier is not None:
        of = next(each.node_type for each in earlier.columns if each.node_type)
        found[_BACK] = Found("", {of: ""}, earlier.handle)
        reading.chains.append([Stop(at=_BACK, types=(of,), name=earlier.handle, related=True)])
    sets = SetFinding(reading, lexicon, calls, choice, found)
    is_empty = False
    try:
        TypeSettling(reading, choice).settle({at: list(each.names) for at, each in found.items()})
        choice.refuse_other_doer(reading.target.types)
        _refuse_contradiction([reading.target, *stops, *([reading.counted.of] if reading.counted else [])])
        await find_ranked_stops(reading, calls, results, sets)
        planned = _Plan(reading, calls, choice, sets).planned()
    except EmptyError as error:
        if any(each.negated for each in reading.relations):  # all may fulfil it, or none
            raise UnreadableError(
                "what “not” is said of leads to nothing, so it is not clear what it leaves out"
            ) from None
        planned, is_empty = Planned(type=reading.target.types[0], results=(error.result,)), True
    except TwoReadingsError:
        if reading.unread:  # the readings may have nothing to do with it
            raise UnreadableError(f"“{reading.unread[0]}” was not understood") from None
        raise
    account = PlanAccount(reading, choice, calls.made)
    if is_empty:
        account.take_as_planned()
    else:
        account.refuse_unused_results(calls.made_results, planned.results)
    account.refuse_left_out(planned.asked, {at: (each.handle, *each.names.values()) for at, each in found.items()})
    planned = await _with_ties(planned, reading, calls, results)
    calls.notes += choice.not_followed() if reading.kind not in FLOWS else []
    chosen = [each for stop in stops if not stop.only for each in stop.conditions]
    counted = reading.counted.of.conditions if reading.counted else ()
    await _note_unknown([*reading.target.conditions, *chosen, *counted], calls, results)
    return planned


async def _with_ties(planned: Planned, reading: Reading, calls: ReplayedCalls, results: ResultStore) -> Planned:
    """Return the first ones alone, with all that share the value of the last one."""
    page = planned.results[0]
    if not planned.by or page.size <= reading.first:
        return planned
    first, _ = await first_with_ties(page, planned.by, reading.first, calls, results, descending=reading.is_descending)
    return replace(planned, results=(first,))


def _refuse_contradiction(stops: Sequence[Stop]) -> None:
    """Refuse two values of one property: nothing has both, and the answer "none" would be to another question.

    :raises UnreadableError: when a place has them.
    """
    for stop in stops:
        if stop.is_value and stop.joined:
            name = stop.joined[0].stop.name or "the other one"
            raise UnreadableError(
                f"“{', '.join(stop.conditions[0].values)}” is a value, and “{name}” is none of the same"
            )
        equal = [each for each in stop.conditions if each.operator in ("=", "in")]
        for one, other in itertools.combinations(equal, 2):
            if one.of == other.of and not set(one.values) & set(other.values):
                values = f"“{', '.join(one.values)}” and “{', '.join(other.values)}”"
                raise UnreadableError(f"{values} are two values of {one.of.key.name}, and nothing has both; say “or”")


async def _note_unknown(conditions: Sequence[Condition], calls: ReplayedCalls, results: ResultStore) -> None:
    """Note how many nodes have no value of a category that they were chosen by: it is not known whether they fulfil the condition."""
    for key in dict.fromkeys(each.of for each in conditions if each.of.role == "category"):
        counting = {"filters": [without_value(key)], "aggregations": [{"grouping_type": "COUNT"}]}
        counted = calls.result("get_nodes", node_type=key.owner, **counting)
        ((number, *_),) = await results.rows(counted.handle, limit=1)
        if number:
            calls.notes.append(f"nodes of type {key.owner} whose {key.key.name} is not known: {number:,}")


class _Plan:
    def __init__(self, reading: Reading, calls: ReplayedCalls, choice: RelationChoice, sets: SetFinding) -> None:
        self._reading, self._calls, self._choice, self._sets = reading, calls, choice, sets
        self._counts = NeighbourCounting(reading, calls, choice, sets)

    def planned(self) -> Planned:
        reading = self._reading
        if reading.kind == "blueprint":
            return self._blueprint()
        if reading.kind in ("loss", "change"):
            return self._impact()
        if reading.each_words and reading.kind == "count":
            return Planned(type=self._type, results=(self._counts.per_each(),), shape="pairs")
        if reading.target.rank and reading.target.rank.total:
            return self._first("firsts", *self._counts.ranked_total())
        return self._measured(self._sets.selected())

    @property
    def _type(self) -> str:
        return self._reading.target.types[0]

    # kinds of questions

    def _measured(self, nodes: Selected) -> Planned:
        reading = self._reading
        reading.planned |= {"count", "bound"} | ({"only"} if reading.target.only else set())
        if reading.counted is not None:
            result = self._counts.counted(nodes, reading.counted)
            if reading.counted.bound is None and "count" in [each.name for each in result.columns]:
                return self._first("firsts", result, "count")
            shape = "size" if reading.kind == "count" else "rows"
            return Planned(type=self._type, results=(result,), shape=shape)
        if reading.target.rank is not None:
            return self._ranked(nodes)
        if reading.kind == "total":
            return self._total(nodes)
        if reading.kind == "property":
            return self._property(nodes)
        if reading.kind == "count" and "type" in nodes:
            reading.planned.add("sum")
            result = self._sets.table(nodes, aggregations=[{"grouping_type": "COUNT"}])
            return Planned(type=self._type, results=(result,), shape="cell")
        result = self._sets.listed(nodes)
        if reading.siblings and reading.kind == "list" and reading.chains and reading.chains[0][0].is_alone:
            return self._with_siblings(result)
        if reading.kind == "count":
            reading.planned.add("sum")
        return Planned(type=self._type, results=(result,), shape="size" if reading.kind == "count" else "rows")

    def _ranked(self, nodes: Selected) -> Planned:
        rank = self._reading.target.rank
        self._reading.planned.add("top")
        keys = [each for each in rank.properties if each.owner == self._type] if rank else []
        if not keys:
            names = " or ".join(dict.fromkeys(f"{e.key.name} of {e.owner}" for e in (rank.properties if rank else ())))
            raise UnreadableError(f"{self._type} has no property to find the first ones by; there is {names}")
        if rank is None or len(keys) != 1:
            names = " or ".join(each.key.name for each in keys)
            raise TwoReadingsError(f"The first ones may be found by {names}. Which is meant?")
        by = keys[0].key.name
        result = self._sets.listed(nodes, order_by=by, descending=rank.descending, limit=self._reading.page)
        return self._first("first", result, by, self._asked() if self._reading.kind == "property" else keys[0])

    def _first(self, shape: str, result: Result, by: str, asked: PropertyOf | None = None) -> Planned:
        by = by if self._reading.has_ties else ""
        return Planned(type=self._type, results=(result,), asked=asked, shape=shape, by=by)

    def _total(self, nodes: Selected) -> Planned:
        reading = self._reading
        asked = self._asked()
        reading.planned |= {"sum", "top", "each"}
        grouped: dict[str, Any] = {}
        if reading.each_words:
            by = self._choice.property_like(self._type, reading.each_words, reading.each)
            if by is None:
                raise UnconnectedError(f"“{reading.each_words}” is nothing to group by here")
            grouped = {"group_by": [by.key.name]}
        aggregation = {"grouping_type": reading.total, "property": asked.key.name}
        result = self._sets.table(nodes, **grouped, aggregations=[aggregation])
        return Planned(type=self._type, results=(result,), asked=asked, shape="pairs" if grouped else "cell")

    def _property(self, nodes: Selected) -> Planned:
        asked = self._asked()
        result = self._sets.listed(nodes)
        if asked.role == "category" and result.size > 1:
            grouping = {"group_by": [asked.key.name], "aggregations": [{"grouping_type": "COUNT"}]}
            result = self._calls.result("filter", handle=result.handle, **grouping)
        return Planned(type=self._type, results=(result,), asked=asked)

    def _asked(self) -> PropertyOf:
        """Return the one property of the target that is asked for.

        :raises TwoReadingsError: when there are several.
        :raises UnreadableError: when there is none of it.
        """
        keys = [each for each in self._reading.asked if each.owner == self._type]
        if not keys:
            names = " and ".join(f"{each.key.name} of {each.owner}" for each in self._reading.asked)
            raise UnreadableError(f"{self._type} has no such property; there is {names}, which cannot be told here")
        if len(keys) != 1:
            names = " or ".join(f"{each.key.name} of {each.owner}" for each in keys)
            raise TwoReadingsError(f"It may be asked for {names}. Which is meant?")
        return keys[0]

    def _with_siblings(self, result: Result) -> Planned:
        """What is asked for, and the others beside the named thing: one step back the same way."""
        stop = self._reading.chains[0][0]
        if self._reading.is_other_target:
            raise UnreadableError(f"it is not clear than which “other” of type {self._type} is said")
        self._reading.planned.add("other")
        back = self._counts.hop(self._reading.target, stop)
        start = {"handle": result.handle}
        all_ = self._calls.result(
            "traverse",
            start=start,
            relationship_types=[back.relationship],
            direction=back.direction,
            node_type=stop.types[0],
        )
        own = self._sets.itself(stop)
        others = self._calls.result("merge", handles=[all_.handle, own.handle], how="difference")
        return Planned(type=self._type, results=(result, others))

    def _impact(self) -> Planned:
        """What is missed down the chain where a thing is; only what uses it directly where it changes."""
        reading = self._reading
        named = reading.named
        if not named:
            raise UnconnectedError("it does not say what is missing or changes")
        start = self._sets.starts(named[0])
        direction = self._choice.flow(named[0].types[0], reading.target.types)
        hops = 1 if reading.kind == "change" else MOST_HOPS
        types = list(reading.targets)
        result = self._calls.result("impact", start=start, direction=direction, max_hops=hops, node_types=types)
        return Planned(type=types[0] if len(types) == 1 else "", results=(result,))

    def _blueprint(self) -> Planned:
        reading = self._reading
        flow = self._choice.chained_into(self._type)
        if not flow:
            raise UnconnectedError(f"nothing is made into a {self._type} over several steps")
        planned = reading.plan or self._choice.plan_value(flow)
        plan = {"plan_or_actual": planned} if planned else {}
        if reading.counted is not None:
            reading.plan = planned
            return Planned(type=self._type, results=(self._counts.counted(self._first_ones(), reading.counted),))
        named = reading.named
        start = self._sets.starts(named[0]) if named else self._first_ones()
        graph = self._calls.result(
            "blueprints", start=start, relationship_types=[flow], max_hops=_BLUEPRINT_HOPS, **plan
        )
        types = self._choice.sources(flow)
        tables = [self._calls.result("to_table", handle=graph.handle, what="nodes", type=each) for each in types]
        return Planned(type=self._type, results=(graph, *tables))

    def _first_ones(self) -> Selected:
        nodes = self._sets.selected()
        if not self._reading.limit:
            return nodes
        found = self._sets.listed(nodes)
        self._reading.limit = None
        return {"handle": found.handle}
