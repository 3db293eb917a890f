"""Questions of general knowledge that somebody has who works with a thing, made from the documents of its catalogue.

Nobody asks for the definition of the very thing that they order in the same breath. They ask what tells it from a thing
like it, what a state of it means, what two actions on it differ in, what an action does to what belongs to it, and what
an abbreviation of a document means. No tool answers these: the documents do, or general knowledge.
"""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from itertools import pairwise

from datagen.generation.action_verbs import action_verbs
from datagen.generation.data_files import fill, read_data, synonyms, templates, word_classes
from datagen.generation.grammar import article, gerund, participle, plural
from datagen.generation.lexicon import Noun
from datagen.generation.tool_frame import ToolFrame
from datagen.generation.tool_wording import ToolWording
from ontology.names import is_noun, is_word
from ontology.tool import Tool

__all__ = ["GeneralQuestions"]

_TEMPLATES = templates("general_questions")
_WORDS = word_classes("general_questions")
_ALIKE = tuple(frozenset(row.split(", ")) for row in read_data("word_classes")["alike_states"])
_DATA = read_data("statements")["words"]
_UNTELLING = frozenset(f"{_DATA['generic']} {_DATA['technical']} {_DATA['transparent']} {_DATA['trailing']}".split())
_ACRONYM = re.compile(r"(?<![\w-])[A-Z]{2,5}(?![\w-])")
_MIN_COMMON_ACTIONS = 3
"""Two things with a common first word are of one standing if so many kinds of tools do the same to both: a purchase order and
a purchase requisition, but not a user pool and a user import job. Found on examples/enterprise and on three clouds' documents."""
_MAX_BESIDE = 3
"""Tools beside which one difference is asked. On examples/enterprise 13 of 30 requests asked what tells a purchase order from a
purchase requisition, which many tools are about."""
_MAX_WORDS = 3  # of a thing that a question names


class GeneralQuestions:
    """The questions beside each tool of one catalogue; each is found when it is first asked for."""

    def __init__(self, wording: ToolWording) -> None:
        self._wording = wording
        self._found: dict[str, tuple[str, ...]] = {}

    def beside(self, frame: ToolFrame) -> tuple[str, ...]:
        """The questions, without question marks, that go with a request for a tool; empty where nobody has one."""
        if frame.tool not in self._found:
            self._found[frame.tool] = tuple(dict.fromkeys(self._questions(frame)))
        return self._found[frame.tool]

    def _questions(self, frame: ToolFrame) -> Iterator[str]:
        for noun in filter(None, (frame.noun, frame.owner_noun)):
            if _is_term(noun):
                yield from self._differences(frame.tool, frame.namespace, noun)
                yield from _about_states(noun, self._states[frame.namespace, noun.key])
        if not frame.reads and _is_term(frame.noun):
            yield from self._about_action(frame)
        for acronym in self._acronyms(frame.tool):
            yield from _all("acronym", acronym=acronym)

    def _differences(self, tool: str, system: str, own: Noun) -> Iterator[str]:
        """What tells a thing from others of its system that have a name like it."""
        for key, other in self._things[system].items():
            able = _is_term(other) and (_is_sibling(own.key, key) or self._has_standing(system, own.key, key))
            if able and not self._tells_itself(own.key, key):
                first, second = sorted((own.key, key))
                if tool not in self._beside_pair(system, first, second):
                    continue
                yield from _all(
                    "difference", one=article(first), other=article(second), ones=plural(first), others=plural(second)
                )

    def _beside_pair(self, system: str, first: str, second: str) -> tuple[str, ...]:
        """The few tools beside which somebody asks what tells a thing from another."""
        tools = {*self._tools_of[system, first], *self._tools_of[system, second]}
        return tuple(
            sorted(tools, key=lambda tool: hashlib.sha256(f"{first}\n{second}\n{tool}".encode()).digest())[:_MAX_BESIDE]
        )

    @cached_property
    def _tools_of(self) -> Mapping[tuple[str, str], list[str]]:
        """(System, thing) → the tools that are about it, or about what belongs to it."""
        found: dict[tuple[str, str], list[str]] = defaultdict(list)
        for frame in self._wording.frames():
            for noun in filter(None, (frame.noun, frame.owner_noun)):
                found[frame.namespace, noun.key].append(frame.tool)
        return found

    def _tells_itself(self, own: str, other: str) -> bool:
        """Whether the names say the difference: their first words are things themselves, as in flight offer and hotel offer, or no nouns."""
        before = [key.split()[-2] for key in (own, other) if " " in key]
        told = bool(before) and all(word in self._single for word in before)
        return told or not all(map(is_noun, before))

    def _has_standing(self, system: str, own: str, other: str) -> bool:
        """Whether two things with a common first word are of one standing."""
        mine, theirs = own.split(), other.split()
        near = len(mine) == len(theirs) > 1 and mine[:-1] == theirs[:-1] and mine != theirs
        actions = self._actions[system]
        return near and len(actions[own] & actions[other]) >= _MIN_COMMON_ACTIONS

    def _about_action(self, frame: ToolFrame) -> Iterator[str]:
        """What an action does to the parts of the thing, whether it can be undone, and what another action differs in."""
        one, verb = frame.noun.words[0], frame.verb
        done = participle(verb)
        if verb in _WORDS["undone"]:
            yield from _all("undone", a_done=article(f"{done} {one}"), a_one=article(one), done=done)
            for part in sorted(self._parts[frame.namespace, frame.noun.key]):
                yield from _all("parts", parts=plural(part), a_one=article(one), done=done)
            for other in sorted(self._verbs[frame.namespace, frame.noun.key] & _WORDS["undone"] - {verb}):
                first, second = sorted((verb, other))
                yield from _all("actions", doing=gerund(first), other=gerund(second), a_one=article(one))
        if frame.kind == "act" and frame.identity is not None and verb in _WORDS["announced"]:
            yield from _all("notified", a_one=article(one), done=done)

    def _acronyms(self, tool_id: str) -> Iterator[str]:
        """The abbreviations of a document that are no words of programs and not the name of its system."""
        tool: Tool = self._wording.tool(tool_id)
        for found in _ACRONYM.findall(f"{tool.title}. {tool.description}"):
            low = found.lower()
            known = low in _WORDS["known_acronyms"] or low in _UNTELLING or is_word(low)
            if not known and low not in tool.namespace.lower() and low not in _SHOUTED:
                yield found

    @cached_property
    def _things(self) -> Mapping[str, Mapping[str, Noun]]:
        """System → canonical name → the thing, of the things that tools are about."""
        found: dict[str, dict[str, Noun]] = defaultdict(dict)
        for frame in self._wording.frames():
            found[frame.namespace].setdefault(frame.noun.key, frame.noun)
        return found

    @cached_property
    def _single(self) -> frozenset[str]:
        """The things of the catalogue that have names of one word."""
        nouns = (noun for frame in self._wording.frames() for noun in (frame.noun, *_nouns(frame)))
        return frozenset(noun.key for noun in nouns if " " not in noun.key)

    @cached_property
    def _actions(self) -> Mapping[str, Mapping[str, frozenset[str]]]:
        """System → thing → the kinds of its tools."""
        found: dict[str, dict[str, frozenset[str]]] = defaultdict(lambda: defaultdict(frozenset))
        for frame in self._wording.frames():
            found[frame.namespace][frame.noun.key] |= {frame.kind}
        return found

    @cached_property
    def _verbs(self) -> Mapping[tuple[str, str], frozenset[str]]:
        """(System, thing) → the verbs of the tools that change it as a whole."""
        found: dict[tuple[str, str], frozenset[str]] = defaultdict(frozenset)
        for frame in self._wording.frames():
            if frame.kind == "act" and frame.identity is not None and frame.decision is None:
                found[frame.namespace, frame.noun.key] |= {frame.verb}
        return found

    @cached_property
    def _states(self) -> Mapping[tuple[str, str], tuple[tuple[str, ...], ...]]:
        """(System, thing) → the states in words that its tools return or take, each in the order of its document."""
        found: dict[tuple[str, str], tuple[tuple[str, ...], ...]] = defaultdict(tuple)
        for frame in self._wording.frames():
            outputs = (output.choices for output in frame.outputs if output.kind == "state")
            inputs = (argument.choices for argument in frame.arguments if argument.role == "state")
            found[frame.namespace, frame.noun.key] += tuple(
                tuple(state for state in states if any(map(str.isalpha, state))) for states in (*outputs, *inputs)
            )
        return found

    @cached_property
    def _parts(self) -> Mapping[tuple[str, str], frozenset[str]]:
        """(System, thing) → the words for the countable things that belong to it."""
        found: dict[tuple[str, str], frozenset[str]] = defaultdict(frozenset)
        for frame in self._wording.frames():
            owner = frame.owner_noun
            if owner is not None and _is_term(frame.noun) and frame.kind in ("list", "create") and not owner.person:
                found[frame.namespace, owner.key] |= {frame.noun.words[0]}
        return found


def _nouns(frame: ToolFrame) -> Iterator[Noun]:
    """Yield the things that the arguments of a tool identify."""
    return (argument.noun for argument in frame.arguments if argument.noun is not None)


def _is_term(noun: Noun) -> bool:
    """Whether a question can name a thing: it is countable, no person, and has a name of a few telling words."""
    words = noun.key.split()
    return not (
        noun.person or noun.uncountable or len(words) > _MAX_WORDS or _UNTELLING & set(words) - {"record", "entry"}
    )


def _is_sibling(own: str, other: str) -> bool:
    """Whether two things have a last word in common, or last words that mean nearly the same, and neither is a kind of the other."""
    mine, theirs = own.split(), other.split()
    if own == other or set(mine) <= set(theirs) or set(theirs) <= set(mine):
        return False
    if mine[-1] == theirs[-1]:
        told_apart = {word for words in (mine, theirs) for word in words if word.endswith("ed")}
        return not told_apart and len(mine) > 1 and len(theirs) > 1
    return mine[:-1] == theirs[:-1] and (theirs[-1] in synonyms(mine[-1]) or mine[-1] in synonyms(theirs[-1]))


def _about_states(noun: Noun, choices: Iterable[tuple[str, ...]]) -> Iterator[str]:
    """What a state of a thing means that does not explain itself, and what two states differ in that people mix up."""
    one = noun.words[0]
    for states in choices:
        for state in states:
            if state not in _WORDS["plain_states"] and not _is_in_progress(state) and not _is_placeholder(state):
                kind = "state" if _is_said_of_thing(state) else "named_state"
                yield from _all(kind, state=state, a_one=article(one))
        for group in _ALIKE:
            alike = [state for state in states if state in group]
            for first, second in pairwise(alike):
                yield from _all("states", first=first, second=second, a_one=article(one))


def _is_said_of_thing(state: str) -> bool:
    """Whether a state stands behind "is": a participle (``parked``), or a phrase of a preposition (``on hold``)."""
    first, *_, last = [*state.split(), state.split()[-1]]
    return last.endswith("ed") or first in ("on", "in", "awaiting")


def _is_placeholder(state: str) -> bool:
    """Whether a value stands for no state: ``job state unspecified``."""
    return state.lower().split()[-1] in _WORDS["placeholder_states"]


def _is_in_progress(state: str) -> bool:
    """Whether a state says that an action runs or has failed, which explains itself: ``delete in progress``."""
    words = state.lower().split()
    return words[-1].endswith("ing") or not _WORDS["running"].isdisjoint(words)


def _all(kind: str, **slots: str) -> Iterator[str]:
    for template in _TEMPLATES[kind]:
        yield fill(template, **slots)


_SHOUTED = frozenset(verb for verb in action_verbs().kinds)
"""Verbs that documents write in capitals for emphasis or for methods of HTTP."""
