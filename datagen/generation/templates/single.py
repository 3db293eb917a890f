"""Single-intent: one want, no steps, no conditions."""

from __future__ import annotations

from datagen.generation.realisation import want_of
from datagen.generation.style import finished, said
from datagen.generation.template_context import Scene, Unwordable

__all__ = ["word"]


def word(scene: Scene) -> str:
    """One want.

    :raises Unwordable: when the path has several tools.
    """
    if len(scene.path.tools) > 1:
        raise Unwordable("one want is served by one tool, and the path has several")
    return finished(said(want_of(scene.steps[0], {}, scene.speech), scene.speech), scene.speech)
