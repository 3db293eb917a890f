"""The queue of one class: which path is tried next, and how often it is tried."""

from __future__ import annotations

import hashlib
import json
from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass

from datagen.tool_path import ToolPath

__all__ = ["ATTEMPTS", "MOST_A_PATH", "Queue", "Unit"]

ATTEMPTS = 3
"""How many texts of a path may be rejected in a row before it is left."""
MOST_A_PATH = 3
"""How many requests of one class a path may get, where a class has too few paths."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """One attempt at one request.

    :param attempt: from 0, of this path in this class.
    :param seed: of the whole run.
    """

    path: ToolPath
    request_class: str
    attempt: int
    seed: int

    @property
    def id(self) -> str:
        """The id of the request that comes of it, unique in its run."""
        return f"{self.request_class}-{self.path.id}-{self.attempt}"

    @property
    def key(self) -> str:
        """16 hex digits over all that the outcome depends on, beside the configuration: the path with its edges too."""
        said = [self.request_class, self.attempt, self.seed, self.path.tools, self.path.shape]
        edges = [edge.to_json() for edge in self.path.edges]
        return hashlib.sha256(json.dumps([*said, edges], sort_keys=True).encode()).hexdigest()[:16]

    @property
    def generation_seed(self) -> int:
        """What the generator is seeded with, 32 bits: another path, class, attempt or seed of the run, another number."""
        said = f"{self.seed}\n{self.id}\n{' '.join(self.path.tools)}"
        return int.from_bytes(hashlib.sha256(said.encode()).digest()[:4], "big")


class Queue:
    """The paths of one class in the order they are tried.

    A rejected path is tried again before another takes its place, for the paths were chosen to cover the catalogue; and a
    path gets a second request only when all have had their turn.

    :param paths: in order of preference; of those with one gold set the first.
    :param wanted: how many requests are to be kept.
    """

    def __init__(self, request_class: str, paths: Sequence[ToolPath], *, wanted: int, seed: int) -> None:
        self.request_class = request_class
        self.wanted = wanted
        self.kept = 0
        distinct = {path.id: path for path in reversed(paths)}
        chosen = [path for path in paths if distinct[path.id] is path]
        self._fresh = deque(Unit(path=path, request_class=request_class, attempt=0, seed=seed) for path in chosen)
        self._retried: deque[Unit] = deque()
        self._again: deque[Unit] = deque()
        self._rejected_in_a_row: Counter[str] = Counter()
        self._kept_of: Counter[str] = Counter()

    def take(self, most: int) -> list[Unit]:
        """The next units, no more than are still needed and than ``most``; none when the class is full or exhausted."""
        taken: list[Unit] = []
        needed = min(self.wanted - self.kept, most)
        for waiting in (self._retried, self._fresh, self._again):
            while waiting and len(taken) < needed:
                taken.append(waiting.popleft())
        return taken

    def keep(self, unit: Unit) -> None:
        """Note that a request was kept."""
        self.kept += 1
        self._kept_of[unit.path.id] += 1
        self._rejected_in_a_row[unit.path.id] = 0
        if self._kept_of[unit.path.id] < MOST_A_PATH:
            self._again.append(_next(unit))

    def reject(self, unit: Unit) -> None:
        """Note that an attempt came to nothing."""
        self._rejected_in_a_row[unit.path.id] += 1
        if self._rejected_in_a_row[unit.path.id] < ATTEMPTS:
            self._retried.append(_next(unit))


def _next(unit: Unit) -> Unit:
    return Unit(path=unit.path, request_class=unit.request_class, attempt=unit.attempt + 1, seed=unit.seed)
