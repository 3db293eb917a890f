"""Long tasks: two to four accepted requests without a tool in common, of at least two systems, said in two to five sentences.

Each part has passed the checks by itself, with the values that it shares with the parts before it. So the gold of the task is that
of its parts, in their order.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from datagen.interfaces import RequestValidator
from datagen.long_tasks.shared_values import share_values, typed_values
from datagen.profiled_catalogue import ProfiledCatalogue
from datagen.synthetic_request import DEPENDENT_CLASSES, SampleValue, SyntheticRequest, Verdict
from datagen.tool_path import MAX_LONG_TOOLS, ToolPath
from datagen.validation.parsed_request import parse_request
from datagen.validation.rules_validator import validate
from ontology.yaml_data import read_yaml

__all__ = ["LONG_TASK", "LongTasks", "make_long_tasks"]

LONG_TASK = "long-task"
"""The class of long tasks in a row."""
_PART_CLASSES = DEPENDENT_CLASSES | {"single-intent"}
_MIN_TOOLS = 5
_MIN_PARTS, _MAX_PARTS = 2, 4
"""Of 40 tasks 40 are made with 4 or 5 parts at most (5.8 or 6.2 tools a task) and 22 with 3, of 300 requests of the shipped company; of 249
requests of eight other vendors 15 or 21, and 6."""
_MAX_SENTENCES = 5
"""The least with which as many are made: with 4 it is 18 and 8, with 6 or 8 the tasks only get longer."""
_ATTEMPTS = 30  # for each wanted task; with 10 or 90 as many are made on both
_MAX_USES = 3  # of one part; with 5 there are 8 tasks of the vendors instead of 15, with 2 16
_SENTENCE_END = re.compile(r"[.!?](?=\s|$)")
_CAPITAL_WORD = re.compile(r"^[A-Z][a-z]+\b")


@dataclass(frozen=True, kw_only=True)
class LongTasks:
    """The tasks, and why there are no more.

    :param shortage: one sentence without a full stop, or empty.
    """

    tasks: tuple[SyntheticRequest, ...]
    shortage: str = ""


def make_long_tasks(
    catalogue: ProfiledCatalogue,
    requests: Sequence[SyntheticRequest],
    validators: Sequence[RequestValidator],
    count: int,
    *,
    seed: int,
) -> LongTasks:
    """Make at most ``count`` tasks of five to twelve tools. Deterministic.

    :param requests: accepted requests; those of one task in one to five steps are used, without small talk.
    :param validators: what each part must pass with the values that it shares.
    """
    rng = random.Random(f"{seed}\nlong tasks")
    maker = _Maker(catalogue, [one for one in requests if _is_part(one)], validators, rng)
    tasks: dict[str, SyntheticRequest] = {}
    for _ in range(_ATTEMPTS * min(count, maker.most)):
        if len(tasks) == count:
            break
        task = maker.make()
        if task is not None and task.path.id not in tasks:
            tasks[task.path.id] = replace(task, id=f"{LONG_TASK}-{task.path.id}")
            maker.use(task)
    short = len(tasks) < count
    return LongTasks(tasks=tuple(tasks.values()), shortage=maker.shortage if short else "")


def _is_part(request: SyntheticRequest) -> bool:
    """Whether a request can be a part: all of it asks for something, and none of it greets or names somebody by the way."""
    parsed = parse_request(request.text)
    if request.request_class not in _PART_CLASSES or {"statement", "opening"} & {one.kind for one in parsed.clauses}:
        return False
    stated = " ".join(value.value for value in request.values)
    if re.search(_joining()["small_talk"], request.text, re.IGNORECASE):
        return False
    return _all_ask(request) and all(value.text in stated for value in parsed.of_kind("name"))


def _all_ask(request: SyntheticRequest) -> bool:
    """Whether each sentence states a value, where they are no steps: the others tell something by the way."""
    sentences = [one for one in _SENTENCE_END.split(request.text) if one.strip()]
    if len(sentences) < 2 or request.request_class == "explicit-multi-step":
        return True
    return all(any(value.value in sentence for value in request.values) for sentence in sentences)


class _Maker:
    def __init__(
        self,
        catalogue: ProfiledCatalogue,
        parts: Sequence[SyntheticRequest],
        validators: Sequence[RequestValidator],
        rng: random.Random,
    ) -> None:
        self._catalogue, self._parts, self._validators, self._rng = catalogue, parts, validators, rng
        self._uses = {part.path.tools: 0 for part in parts}
        self._types = {part.path.tools: frozenset(typed_values(catalogue, part)) for part in parts}
        self._groups = {part.path.tools: frozenset(map(catalogue.group, part.path.tools)) for part in parts}
        self._systems = 2 if len({catalogue.group(tool.id) for tool in catalogue.tools}) > 1 else 1

    @property
    def most(self) -> int:
        """The number of tasks that the parts suffice for, if all of them went together: more attempts would make no more."""
        return len(self._uses) * _MAX_USES // _MIN_PARTS

    @property
    def shortage(self) -> str:
        """Why there are no more tasks."""
        return (
            f"{len(self._parts)} of the generated requests can be parts of a task; no more of them go together without "
            f"a tool in common, with {_MIN_TOOLS} to {MAX_LONG_TOOLS} tools of {self._systems} systems at least; more of them (--per-class) may make more tasks"
        )

    def make(self) -> SyntheticRequest | None:
        """Return a task of parts chosen at random, or None where they do not go together."""
        chosen = self._choose()
        tools = [tool for part in chosen for tool in part.path.tools]
        systems = {self._catalogue.group(tool) for tool in tools}
        if len(chosen) < _MIN_PARTS or not _MIN_TOOLS <= len(tools) <= MAX_LONG_TOOLS or len(systems) < self._systems:
            return None
        parts = list(self._sharing(chosen))
        text = self._join([part.text for part in parts])
        if len(parts) < len(chosen) or len(_SENTENCE_END.findall(text)) > _MAX_SENTENCES:
            return None
        return SyntheticRequest(
            id="",
            text=text,
            request_class=LONG_TASK,
            path=_joined(parts),
            values=tuple(value for part in parts for value in part.values),
            generator=parts[0].generator,
            verdicts=(_verdict(len(parts), len(systems)),),
        )

    def use(self, task: SyntheticRequest) -> None:
        """Count the uses of the parts of a task."""
        for tools in self._uses:
            self._uses[tools] += set(tools) <= set(task.path.tools)

    def _choose(self) -> list[SyntheticRequest]:
        """Two to four parts without a tool in common, the least used first, from several systems where there are."""
        wanted = self._rng.randint(_MIN_PARTS, _MAX_PARTS)
        free = [part for part in self._parts if self._uses[part.path.tools] < _MAX_USES]
        chosen: list[SyntheticRequest] = []
        while len(chosen) < wanted:
            able = [part for part in free if self._fits(part, chosen)]
            if not able:
                break
            types = frozenset[tuple[str, str]]().union(*(self._types[part.path.tools] for part in chosen))
            chosen.append(min(able, key=lambda part: self._rank(part, types)))
        return chosen

    def _fits(self, part: SyntheticRequest, chosen: Sequence[SyntheticRequest]) -> bool:
        """Whether a part has no tool of the others, and as the second of them another system."""
        taken = {tool for one in chosen for slot in one.path.slots for tool in slot}
        if not taken.isdisjoint(tool for slot in part.path.slots for tool in slot):
            return False
        needs_other = len(chosen) == 1 and self._systems > 1
        return not needs_other or self._groups[part.path.tools] != self._groups[chosen[0].path.tools]

    def _rank(self, part: SyntheticRequest, types: frozenset[tuple[str, str]]) -> tuple[int, bool, float]:
        tools = part.path.tools
        return self._uses[tools], self._types[tools].isdisjoint(types), self._rng.random()

    def _sharing(self, parts: Sequence[SyntheticRequest]) -> Iterator[SyntheticRequest]:
        """The parts with shared values; one that no longer passes keeps its own."""
        known: dict[tuple[str, str], SampleValue] = {}
        for part in parts:
            shared = share_values(self._catalogue, part, known)
            if shared != part and not self._passes(shared):
                shared = part
            yield shared
            known = {**typed_values(self._catalogue, shared), **known}

    def _passes(self, request: SyntheticRequest) -> bool:
        return all(verdict.passed for verdict in validate(request, self._validators).verdicts)

    def _join(self, texts: Sequence[str]) -> str:
        data = _joining()
        said = _closed(texts[0])
        for at, text in enumerate(texts[1:], 2):
            template: str = self._rng.choice(data["last" if at == len(texts) > 2 else "joiners"])
            said += " " + template.format(Part=_capital(_closed(text)), part=_lower(_closed(text)))
        return _capital(said)


@cache
def _joining() -> Mapping[str, Any]:
    data: Mapping[str, Any] = read_yaml(Path(__file__).parent / "joining.yaml")
    return data


def _joined(parts: Sequence[SyntheticRequest]) -> ToolPath:
    """The path of a task: the tools of its parts in their order, with their edges and alternatives."""
    slots = [slot for part in parts for slot in part.path.slots]
    alternatives = tuple(slot[1:] for slot in slots)
    return ToolPath(
        tools=tuple(slot[0] for slot in slots),
        edges=tuple(edge for part in parts for edge in part.path.edges),
        shape="long",
        alternatives=alternatives if any(alternatives) else (),
    )


def _verdict(parts: int, systems: int) -> Verdict:
    reason = f"its {parts} parts pass each for itself, and no two share a tool; {systems} systems are needed"
    return Verdict(check="parts", passed=True, reason=reason, by="rules.v1")


def _closed(text: str) -> str:
    text = text.strip()
    return text if text.endswith((".", "!", "?")) else f"{text}."


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _lower(text: str) -> str:
    """The text with a small first letter where its first word is an ordinary one."""
    first = _CAPITAL_WORD.match(text)
    named = any(value.start == 0 for value in parse_request(text).values)
    return text[:1].lower() + text[1:] if first and not named else text
