"""The second pass against trying every assignment, on sets and pairs alone; and its bound."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations, pairwise, product
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from planners.dfs.execution.arc_consistency import Link
from planners.dfs.execution.witnesses import Witnesses
from planners.dfs.execution.work import Work
from tests.harness.waiting import bounded_work

VALUES = "abcd"


@st.composite
def joins(draw: Callable[..., Any]) -> tuple[dict[str, set[str]], list[Link], list[tuple[str, str]]]:
    names = [f"v{at}" for at in range(draw(st.integers(1, 5)))]
    sets = {name: draw(st.sets(st.sampled_from(VALUES), min_size=1)) for name in names}
    ends = [(names[draw(st.integers(0, at - 1))], names[at]) for at in range(1, len(names))]
    more = [pair for pair in combinations(names, 2) if pair not in ends]
    ends += draw(st.lists(st.sampled_from(more), max_size=2, unique=True)) if more else []
    links = []
    for one, two in ends:
        pairs: dict[str, set[str]] = {}
        for first, second in draw(
            st.sets(st.tuples(st.sampled_from(VALUES), st.sampled_from(VALUES)), min_size=4, max_size=14)
        ):
            pairs.setdefault(first, set()).add(second)
        links.append(Link(one, two, pairs) if draw(st.booleans()) else Link(two, one, pairs))
    different = [pair for pair in combinations(names, 2) if draw(st.booleans())]
    return sets, links, different


@settings(max_examples=150, deadline=None)
@given(joins())
def test_what_is_left_is_in_an_answer_and_all_of_that(
    drawn: tuple[dict[str, set[str]], list[Link], list[tuple[str, str]]],
) -> None:
    sets, links, different = drawn
    found = [
        chosen
        for values in product(*sets.values())
        for chosen in [dict(zip(sets, values, strict=True))]
        if all(chosen[each.second] in each.pairs.get(chosen[each.first], ()) for each in links)
        and all(chosen[one] != chosen[two] for one, two in different)
    ]
    wanted = {var: {chosen[var] for chosen in found} for var in sets}
    witnesses = Witnesses(links, different, Work(10_000))
    witnesses.prune(sets)
    assert sets == wanted
    assert witnesses.exact


def test_where_the_bound_is_met_nothing_of_an_answer_is_lost_and_it_says_so() -> None:
    values = [f"x{at}" for at in range(7)]
    names = [f"v{at}" for at in range(8)]  # eight different entities out of seven: none, but only after a search
    everything = {each: set(values) for each in values}
    links = [Link(one, two, everything) for one, two in pairwise(names)]
    sets = {name: set(values) for name in names}
    witnesses = Witnesses(links, list(combinations(names, 2)), Work(1_000))
    with bounded_work():
        witnesses.prune(sets)
    assert not witnesses.exact
    assert all(found == set(values) for found in sets.values())


def test_a_tree_needs_no_search() -> None:
    pairs = {f"a{at}": {f"b{at}", f"b{at + 1}"} for at in range(20_000)}
    sets = {"one": set(pairs), "two": {f"b{at}" for at in range(5, 20_000)}, "three": {"c"}}
    links = [Link("one", "two", pairs), Link("two", "three", {f"b{at}": {"c"} for at in range(10_000)})]
    witnesses = Witnesses(links, [], Work(0))
    with bounded_work():
        witnesses.prune(sets)
    assert witnesses.exact
    assert (len(sets["one"]), len(sets["two"]), sets["three"]) == (9_996, 9_995, {"c"})


def test_a_variable_with_one_candidate_needs_no_search_to_differ_from_another() -> None:
    everyone = {f"p{at}" for at in range(1_000)}
    sets = {"me": {"p7"}, "event": {"ev"}, "others": set(everyone)}
    links = [Link("event", "others", {"ev": everyone}), Link("event", "me", {"ev": everyone})]
    witnesses = Witnesses(links, [("me", "others")], Work(0))
    witnesses.prune(sets)
    assert witnesses.exact
    assert sets["others"] == everyone - {"p7"}


def test_a_witness_of_many_alike_takes_a_few_steps_a_candidate() -> None:
    mails, people = [f"e{at:04}" for at in range(3_000)], {"p1", "p2", "p3"}
    names = ["one", "two", "three"]
    links = [Link("p", name, {each: set(mails) for each in people}) for name in names]
    sets = {"p": set(people)} | {name: set(mails) for name in names}
    witnesses = Witnesses(links, list(combinations(names, 2)), Work(500_000))
    with bounded_work():
        witnesses.prune(sets)
    assert witnesses.exact
    assert all(sets[name] == set(mails) for name in names)
