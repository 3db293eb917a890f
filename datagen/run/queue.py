"""The queue of paths of one class, with limits for attempts and requests."""

from __future__ import annotations

import hashlib
import json
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import islice

from datagen.tool_path import ToolPath

__all__ = ["MAX_REJECTIONS", "MAX_REQUESTS", "Attempt", "PathQueue"]

MAX_REJECTIONS = 3
"""Maximum number of consecutive rejected attempts for a path."""
MAX_REQUESTS = 3
"""Maximum number of requests of one class for a path, where a class has too few paths."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One attempt at one request.

    :param number: number of the attempt for this path in this class, from 0.
    :param seed: seed of the whole run.
    """

    path: ToolPath
    request_class: str
    number: int
    seed: int

    @property
    def id(self) -> str:
        """The id of its request, unique in the run."""
        return f"{self.request_class}-{self.path.id}-{self.number}"

    @property
    def key(self) -> str:
        """16 hex digits of the hash of everything that the outcome depends on, in addition to the configuration."""
        parts = [self.request_class, self.number, self.seed, self.path.tools, self.path.shape]
        edges = [asdict(edge) for edge in self.path.edges]
        return hashlib.sha256(json.dumps([*parts, edges], sort_keys=True).encode()).hexdigest()[:16]

    @property
    def generation_seed(self) -> int:
        """The seed of the generator, 32 bits; it depends on path, class, number and the seed of the run."""
        text = f"{self.seed}\n{self.id}\n{' '.join(self.path.tools)}"
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big")


class PathQueue:
    """The paths of one class in the order of their attempts.

    A rejected path is tried again before the next path, because the paths were chosen to cover the catalogue. A path gets
    a second request only after all paths were tried.

    :param paths: in order of preference; of paths with the same gold set only the first is used.
    :param wanted: number of wanted requests.
    """

    def __init__(self, request_class: str, paths: Sequence[ToolPath], *, wanted: int, seed: int) -> None:
        self.request_class = request_class
        self.wanted = wanted
        self.kept = 0
        self._fresh = self._first_attempts(paths, seed)
        self._retried: deque[Attempt] = deque()
        self._repeated: deque[Attempt] = deque()
        self._rejections_in_a_row: Counter[str] = Counter()
        self._requests: Counter[str] = Counter()

    def take(self, max_count: int) -> list[Attempt]:
        """Return the next attempts, at most ``max_count`` and the number still wanted; none if full or exhausted."""
        taken: list[Attempt] = []
        needed = min(self.wanted - self.kept, max_count)
        for waiting in (_popped(self._retried), self._fresh, _popped(self._repeated)):
            taken.extend(islice(waiting, max(needed - len(taken), 0)))
        return taken

    def keep(self, attempt: Attempt) -> None:
        """Record that the request of an attempt was accepted."""
        path_id = attempt.path.id
        self.kept += 1
        self._requests[path_id] += 1
        self._rejections_in_a_row.pop(path_id, None)
        if self._requests[path_id] < MAX_REQUESTS:
            self._repeated.append(replace(attempt, number=attempt.number + 1))

    def reject(self, attempt: Attempt, *, final: bool = False) -> None:
        """Record that an attempt was rejected.

        :param final: the path is not tried again.
        """
        self._rejections_in_a_row[attempt.path.id] += 1
        if not final and self._rejections_in_a_row[attempt.path.id] < MAX_REJECTIONS:
            self._retried.append(replace(attempt, number=attempt.number + 1))

    def _first_attempts(self, paths: Sequence[ToolPath], seed: int) -> Iterator[Attempt]:
        seen: set[str] = set()
        for path in paths:
            if path.id not in seen:
                seen.add(path.id)
                yield Attempt(path=path, request_class=self.request_class, number=0, seed=seed)


def _popped(waiting: deque[Attempt]) -> Iterator[Attempt]:
    while waiting:
        yield waiting.popleft()
