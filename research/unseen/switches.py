"""Switches: a part of a module, and what stands in its place while a rule is off.

Rules are switched off from outside, so that the product has no options that only a study uses.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Any

__all__ = ["Switch", "constant", "nothing", "off", "switched"]


@dataclass(frozen=True, slots=True)
class Switch:
    """A part of a module.

    :param target: ``package.module:name``; where a function is imported by name, the module that calls it.
    :param off: what stands in its place, from what is there.
    """

    target: str
    off: Callable[[Any], Any]

    def place(self) -> tuple[Any, str]:
        """Return the module and the name.

        :raises AttributeError: when the module has no such name: the table is out of date.
        """
        module, _, name = self.target.partition(":")
        found = import_module(module)
        getattr(found, name)
        return found, name


def constant(value: Any) -> Callable[[Any], Any]:
    """Return an ``off`` that is this value."""
    return lambda _: value


def off(answer: Any) -> Callable[[Any], Any]:
    """Return an ``off`` for a function: one that returns this answer, whatever it is asked."""
    return lambda _: lambda *_args, **_named: answer


def nothing(_: Any) -> Callable[..., Iterator[Any]]:
    """The ``off`` of a function that yields: one that yields nothing."""
    return lambda *_args, **_named: iter(())


@contextmanager
def switched(switches: Iterable[Switch]) -> Iterator[None]:
    """Switch parts off while the context is open. Not thread-safe: modules are of the whole process."""
    places = [(*switch.place(), switch) for switch in switches]
    before = [(module, name, getattr(module, name)) for module, name, _ in places]
    try:
        for module, name, switch in places:
            setattr(module, name, switch.off(getattr(module, name)))
        _forget(places)
        yield
    finally:
        for module, name, value in reversed(before):
            setattr(module, name, value)
        _forget(places)


def _forget(places: Iterable[tuple[Any, str, Switch]]) -> None:
    """Clear what functions of these modules remember: it may depend on what was switched."""
    for name in {module.__name__ for module, _, _ in places}:
        for value in list(vars(sys.modules[name]).values()):
            if hasattr(value, "cache_clear"):
                value.cache_clear()
