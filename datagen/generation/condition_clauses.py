"""The clauses of conditions on an output of a thing, without ``if``: ``order 4500123 isn't shipped yet``."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from datagen.generation.condition_outputs import ConditionOutput
from datagen.generation.data_files import templates, word_classes
from datagen.generation.grammar import gerund, participle
from datagen.generation.sampler import Sampler, draw

__all__ = ["condition_clauses"]

_WORDS = word_classes("condition_clauses")
_OPPOSITES = [frozenset(pair.split("/")) for pair in _WORDS["opposites"]]
_INTRANSITIVE = word_classes("phrases")["intransitive"]
_TEMPLATES = templates("conditional")
_VALUE_KINDS = {"money": "money", "rate": "rating", "count": "few"}
"""Kind of output → kind of the value that it is compared with."""


def condition_clauses(
    output: ConditionOutput,
    subject: str,
    verbs: Collection[str],
    sampler: Sampler,
    *,
    is_general: bool = False,
    thing: Collection[str] = (),
) -> list[str]:
    """The clauses on one output that a request for these actions can have.

    :param verbs: the verbs of what is to be done; nobody stops a server if it is stopped.
    :param thing: the words of the name of what is tested: nobody asks whether a private article is public, or private.
    :param is_general: in a catalogue without a lexicon of its own, where no number or time is known that decides anything.
    """
    if output.kind == "state":
        lowered = map(str.lower, output.choices)
        states = [state for state in lowered if _is_predicate(state) and not _is_told(state, thing)]
        tests = [_state_tests(state, subject, verbs) for state in states]
        able = [found for found in map(list, tests) if found]
        return sampler.rng.choice(able) if able else []
    if output.kind == "flag":
        return [] if _is_told(output.label, thing) else list(_state_tests(output.label, subject, verbs))
    if is_general:
        return []
    last = output.label.split()[-1]
    if output.kind == "date":
        date = sampler.dates.date()
        if last in ("until", "to"):
            return [f"{subject} runs out before {date}", f"{subject} is good until at least {date}"]
        return [f"the {output.label} of {subject} is {sampler.pick(_TEMPLATES['date_comparisons'])} {date}"]
    value = draw(_VALUE_KINDS[output.kind], sampler.rng, sampler.lexicon)
    if output.kind == "rate" and "percent" in output.name.lower():
        value = draw("percent", sampler.rng, sampler.lexicon)
    return [f"the {output.label} of {subject} {sampler.pick(_TEMPLATES['comparisons'])} {value}"]


def _is_predicate(state: str) -> bool:
    """Whether people say that a thing is in a state by its word alone, and something can still be done with the thing."""
    first, *others = state.split()
    if not _WORDS["gone"].isdisjoint((first, *others)):
        return False
    if others:
        return first in _WORDS["openers"]
    return first.endswith(("ed", "ing")) or first in _WORDS["predicates"]


def _is_told(state: str, thing: Collection[str]) -> bool:
    """Whether the name of a thing has a state, or one that rules it out."""
    ruled_out = {other for pair in _OPPOSITES if state in pair for other in pair}
    return not {state, *ruled_out}.isdisjoint(thing)


def _state_tests(state: str, subject: str, verbs: Collection[str]) -> Iterator[str]:
    """That a thing is in a state, and of a state in which it does its work that it is not.

    A state that the action leads to is tested for its absence only. Nobody removes or starts what does its work because it
    does, nor stops what does not.
    """
    if state in {gerund(verb) for verb in verbs}:
        return
    reached = state in {participle(verb) for verb in verbs}
    works, has = state in _WORDS["working"], state in _INTRANSITIVE
    passes = state.split()[0].endswith("ing") or state in _WORDS["passing"]
    stops = not _WORDS["stopping"].isdisjoint(verbs)
    unfit = works and not (_WORDS["removing"] | _WORDS["starting"]).isdisjoint(verbs)
    if not reached and not unfit and not (stops and not (works or passes)):
        if passes:
            yield f"{subject} is still {state}"
        else:
            yield f"{subject} has {state}" if has else f"{subject} is {state}"
    if reached or (works and not stops):
        yield f"{subject} hasn't {state} yet" if has else f"{subject} isn't {state}{' yet' if _comes(state) else ''}"


def _comes(state: str) -> bool:
    """Whether a state is what comes of an action."""
    return (state.endswith("ed") and state != "enabled") or state in _WORDS["results"]
