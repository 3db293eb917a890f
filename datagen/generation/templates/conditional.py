"""Conditional multi-step: a condition on what an earlier step gives, and what is to happen under it."""

from __future__ import annotations

from datagen.generation.conditions import condition_of
from datagen.generation.coreference import anaphor, described_fills
from datagen.generation.grammar import joined
from datagen.generation.realisation import want_of
from datagen.generation.sampler import Filler
from datagen.generation.style import finished
from datagen.generation.template_context import Scene, Unwordable
from datagen.generation.tool_frame import Reading

__all__ = ["word"]

_FRONT = (
    *("if {c}, {do}",) * 8, *("if {c} {do}",) * 3, "in case {c}, {do}", "provided {c}, {do}", "provided that {c}, {do}", "as long as {c}, {do}",
    "if {c}, please {do}", "if {c}, could you {do}?", "assuming {c}, {do}", "if {c}, I need you to {do}", "if {c}, can you {do}?", "if {c}, just {do}", "if {c} then {do}",
    "can you check whether {c}, and if so {do}?",
)  # fmt: skip
_ELSE = (
    " Otherwise leave it.",
    " If not, never mind.",
    " Otherwise just tell me.",
    " Otherwise don't bother.",
    " If not, leave things as they are.",
)


def word(scene: Scene) -> str:
    """The condition and what hangs on it.

    :raises Unwordable: when the steps do not depend on each other or no step before the goal gives anything to test.
    """
    scene.need_dependence()
    speech = scene.speech
    goals = scene.goals
    tested = _tested(scene)
    fills = described_fills(tested.tool, scene.path, scene.readings, speech, deep=1)
    one = tested.many and not _takes_several(goals, tested, scene)
    condition = condition_of(tested, fills, speech, one=one)
    if not condition:
        raise Unwordable("no step before the last gives anything that a condition could be put on")
    orders: list[str] = []
    for goal in goals:
        given = dict(described_fills(goal.tool, scene.path, scene.readings, speech, skip=tested.tool, deep=1))
        given.update(_pointing(goal, tested, scene, near=not orders, only=one))
        orders.append(want_of(goal, given, speech, spare=len(scene.steps) > 2 or speech.chance(0.8)).do)
    text = speech.rng.choice(_FRONT).format(c=condition, do=joined(orders))
    if speech.chance(0.18) and not text.endswith("?"):
        text = f"{text}.{speech.rng.choice(_ELSE)}"
    return finished(text, speech)


def _tested(scene: Scene) -> Reading:
    """The step that the condition is on: the last that feeds a goal, one that tells a value rather than one that does something."""
    goals = {goal.tool for goal in scene.goals}
    feeding = {edge.source for edge in scene.path.edges if edge.kind == "R-P" and edge.target in goals}
    able = [step for step in scene.steps if step.tool in feeding and step.reads]
    if not able:
        raise Unwordable("no step before the last gives anything that a condition could be put on")
    return able[-1]


def _takes_several(goals: tuple[Reading, ...], tested: Reading, scene: Scene) -> bool:
    """Whether a goal takes all that the tested step gives."""
    arguments = ((goal.argument(edge.parameter), edge) for goal in goals for edge in scene.into(goal.tool))
    return any(argument is not None and argument.many for argument, edge in arguments if edge.source == tested.tool)


def _pointing(goal: Reading, tested: Reading, scene: Scene, *, near: bool, only: bool) -> dict[str, Filler]:
    found: dict[str, Filler] = {}
    for edge in scene.into(goal.tool):
        argument = goal.argument(edge.parameter)
        if edge.source == tested.tool and argument is not None:
            found[edge.parameter] = anaphor(argument, tested, scene.speech, near=near and not found, only=only)
    return found
