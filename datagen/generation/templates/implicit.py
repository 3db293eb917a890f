"""Implicit multi-step: only the goal is said; what earlier steps look up describes what it is about."""

from __future__ import annotations

from datagen.generation.coreference import described_fills
from datagen.generation.realisation import want_of
from datagen.generation.style import finished, said
from datagen.generation.template_context import Scene, Unwordable

__all__ = ["word"]

_LONGEST = 48


def word(scene: Scene) -> str:
    """The goal.

    :raises Unwordable: when the steps do not depend on each other, lead to several goals, or make a sentence that nobody would type.
    """
    scene.need_dependence()
    goals = scene.goals
    if len(goals) != 1:
        raise Unwordable("its steps lead to several goals, and one sentence without 'and' can say one")
    speech = scene.speech
    fills = described_fills(goals[0].tool, scene.path, scene.readings, speech)
    text = finished(
        said(want_of(goals[0], fills, speech, spare=len(scene.steps) > 2), speech, plain=True), speech, plain=True
    )
    if len(text.split()) > _LONGEST:
        raise Unwordable("what the steps look up makes too long a description")
    return text
