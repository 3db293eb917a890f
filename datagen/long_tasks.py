"""Long tasks: paths of five to twelve tools, joined from the paths of accepted requests, of at least two systems, and written anew."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from datagen.catalogue import ProfiledCatalogue
from datagen.requests import DEPENDENT_CLASSES, MAX_LONG_TOOLS, RejectedRequest, SyntheticRequest, ToolPath
from datagen.run import Steps, read_back, seed_of
from datagen.writing import LONG_TASK

_PART_CLASSES = DEPENDENT_CLASSES | {"single-intent"}
_MIN_TOOLS = 5
_MIN_PARTS, _MAX_PARTS = 2, 4
_ATTEMPTS = 6  # for each wanted task
_MAX_USES = 3  # of one part


@dataclass(frozen=True, kw_only=True)
class LongTasks:
    """The tasks, and why there are no more: distinct reasons, one sentence without a full stop each."""

    tasks: tuple[SyntheticRequest, ...]
    reasons: tuple[str, ...] = ()


def make_long_tasks(
    catalogue: ProfiledCatalogue, requests: Sequence[SyntheticRequest], steps: Steps, count: int, *, seed: int
) -> LongTasks:
    """Make at most ``count`` tasks of five to twelve tools. Deterministic, given the answers of the models.

    :param requests: accepted requests; the paths of those of one task in one to five steps are joined.
    :raises ModelError: when a model is needed and unavailable.
    """
    parts = [one for one in requests if one.request_class in _PART_CLASSES]
    rng, uses = random.Random(f"{seed}\nlong tasks"), Counter[str]()
    systems = min(len({catalogue.group(tool.id) for tool in catalogue.tools}), 2)
    tasks: dict[str, SyntheticRequest] = {}
    rejected: Counter[str] = Counter()
    for _ in range(_ATTEMPTS * min(count, len(parts) * _MAX_USES // _MIN_PARTS)):
        if len(tasks) == count:
            break
        chosen = _chosen(parts, uses, catalogue, rng)
        path = _joined(chosen)
        groups = {catalogue.group(tool) for tool in path.tools}
        if len(chosen) < _MIN_PARTS or len(path.tools) < _MIN_TOOLS or len(groups) < systems or path.id in tasks:
            continue
        uses.update(part.id for part in chosen)
        one_seed = seed_of(seed, LONG_TASK, path.id)
        made = steps.writer.write(path, LONG_TASK, id=f"{LONG_TASK}-{path.id}", seed=one_seed)
        if isinstance(made, SyntheticRequest):
            made = read_back(made, steps, one_seed)
        if isinstance(made, RejectedRequest):
            rejected[made.reason] += 1
        else:
            tasks[path.id] = made
    if len(tasks) == count:
        return LongTasks(tasks=tuple(tasks.values()))
    shortage = (
        f"{len(parts)} of the requests can be parts of a task; no more of them go together without a tool in common, with "
        f"{_MIN_TOOLS} to {MAX_LONG_TOOLS} tools of {systems} systems at least; more of them (--per-class) may make more tasks"
    )
    return LongTasks(
        tasks=tuple(tasks.values()), reasons=(shortage, *(reason for reason, _ in rejected.most_common(3)))
    )


def _chosen(
    parts: Sequence[SyntheticRequest], uses: Counter[str], catalogue: ProfiledCatalogue, rng: random.Random
) -> list[SyntheticRequest]:
    """Two to four parts without a tool in common, the least used first, the second of another system than the first."""
    wanted = rng.randint(_MIN_PARTS, _MAX_PARTS)
    order = {part.id: rng.random() for part in parts}
    chosen: list[SyntheticRequest] = []
    taken: set[str] = set()
    for part in sorted(parts, key=lambda part: (uses[part.id], order[part.id])):
        tools = {tool for slot in part.path.slots for tool in slot}
        groups = {catalogue.group(tool) for tool in part.path.tools}
        same = len(chosen) == 1 and groups == {catalogue.group(tool) for tool in chosen[0].path.tools}
        fits = len(taken) + len(part.path.tools) <= MAX_LONG_TOOLS and taken.isdisjoint(tools)
        if uses[part.id] < _MAX_USES and fits and not (same and _has_others(parts, groups, catalogue)):
            chosen.append(part)
            taken |= tools
        if len(chosen) == wanted:
            break
    return chosen


def _has_others(parts: Sequence[SyntheticRequest], groups: set[str], catalogue: ProfiledCatalogue) -> bool:
    return any({catalogue.group(tool) for tool in part.path.tools} != groups for part in parts)


def _joined(parts: Sequence[SyntheticRequest]) -> ToolPath:
    """The tools of the parts in their order, with their edges and alternatives."""
    paths = [replace(part.path, alternatives=part.path.alternatives or ((),) * len(part.path.tools)) for part in parts]
    alternatives = tuple(others for path in paths for others in path.alternatives)
    return ToolPath(
        tools=tuple(tool for path in paths for tool in path.tools),
        edges=tuple(edge for path in paths for edge in path.edges),
        shape="long",
        alternatives=alternatives if any(alternatives) else (),
    )
