"""A file that is read again when it changes. A change that cannot be read is logged, and the value before it stays.

The files are looked at and read on a thread: a slow disk must not hold the event loop, and with it every call.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from typing import Any, Generic, TypeAlias, TypeVar

import yaml

from ontology.errors import EgotoolsError, InvalidArgumentError
from ontology.files import SAFE_LOADER
from ontology.redaction import redact
from services.server.logs import fields

__all__ = ["WatchedFiles", "load_unique_keys", "read_limited"]


def load_unique_keys(text: bytes | str) -> Any:
    """Return the content of a YAML text.

    :raises yaml.YAMLError: for what is no YAML, and for a key that stands twice.
    """
    return yaml.load(text, Loader=_Loader)


def _construct_mapping(loader: Any, node: Any, deep: bool = False) -> dict[Any, Any]:
    seen: set[str] = set()
    for key, _ in node.value:
        if str(key.value) in seen:
            raise yaml.constructor.ConstructorError(None, None, f"{key.value!r} stands twice", key.start_mark)
        seen.add(str(key.value))
    found: dict[Any, Any] = SAFE_LOADER.construct_mapping(loader, node, deep)
    return found


_Loader: Any = type("_Loader", (SAFE_LOADER,), {"construct_mapping": _construct_mapping})


_LOG = logging.getLogger("egotools.access")
_T = TypeVar("_T")
_State: TypeAlias = tuple[tuple[int, int, int] | None, ...]
_MAX_BYTES = 1024 * 1024
_PATIENCE_S = 0.25


class WatchedFiles(Generic[_T]):
    """A value that is read from one or more files. Thread-safe.

    :param what: the files in words, for the log: ``access policy``.
    :param read: makes the value; raises an EgotoolsError, OSError or ValueError where the files are not valid.
    :param poll_s: seconds between two looks at the files.
    :param told: called with the first file and ``done``, or ``invalid``, each time that they are read.
    :raises InvalidArgumentError: when the files cannot be read at first.
    """

    def __init__(
        self,
        what: str,
        paths: Sequence[Path],
        read: Callable[[], _T],
        *,
        poll_s: float = 1.0,
        told: Callable[[str, str], None] = lambda file, outcome: None,
    ) -> None:
        self._what = what
        self._paths = tuple(paths)
        self._read = read
        self._poll_s = poll_s
        self._told = told
        self._lock = threading.Lock()
        self._running: Future[None] | None = None
        self._problem = ""
        self._state = self._seen()
        self._looked = time.monotonic()
        try:
            self._value = read()
        except EgotoolsError:
            raise
        except (OSError, ValueError) as error:
            raise InvalidArgumentError(
                f"the {what} cannot be read: {error}", subject=str(paths[0]), remedy="See docs/access.md"
            ) from error
        told(str(paths[0]), "done")

    @property
    def value(self) -> _T:
        """The last valid value. Begins a look at the files, for later calls, and does not wait for it."""
        self._look()
        return self._value

    async def fresh(self) -> _T:
        """As :attr:`value`, after the look if that takes less than 0.25 s. Calls that come meanwhile get the value before."""
        looked = self._look()
        if looked is not None:
            await asyncio.wait({asyncio.wrap_future(looked)}, timeout=_PATIENCE_S)
        return self._value

    def awaited(self) -> _T:
        """As :attr:`value`, after the look, also one that goes on already, if that takes less than 0.25 s. For threads."""
        looked = self._look() or self._running
        if looked is not None:
            with suppress(TimeoutError):
                looked.result(timeout=_PATIENCE_S)
        return self._value

    def _look(self) -> Future[None] | None:
        """Look whether the files changed, at most once in ``poll_s`` seconds, and never twice at a time."""
        with self._lock:
            if self._running is not None or time.monotonic() - self._looked < self._poll_s:
                return None
            looked: Future[None] = Future()
            self._running = looked
            self._looked = time.monotonic()
        # No thread of a pool: the process could not end while the disk does not answer.
        thread = threading.Thread(target=self._refresh, args=(looked,), name="watched-files", daemon=True)
        try:
            thread.start()
        except RuntimeError as error:  # the system has no thread left: the next call looks again
            _LOG.error(f"the {self._what} cannot be looked at; the old one stays", extra=fields(problem=str(error)))
            self._running = None
            return None
        return looked

    def _refresh(self, looked: Future[None]) -> None:
        try:
            state = self._seen()
            if state != self._state and self._read_again():
                self._state = state
        finally:
            self._running = None
            looked.set_result(None)

    def _read_again(self) -> bool:
        """Read the files; return whether that is done, also for good reason in vain: a fault of the disk may pass."""
        file = str(self._paths[0])
        try:
            self._value = self._read()
        except Exception as error:  # whatever is wrong with a file, the server goes on with what it has
            problem, may_pass = redact(str(error)), isinstance(error, OSError)
            if not may_pass or problem != self._problem:  # what may pass is read again at each look, and said once
                self._problem = problem
                _LOG.error(
                    f"the new {self._what} is not valid; the old one stays", extra=fields(file=file, problem=problem)
                )
                self._told(file, "invalid")
            return not may_pass
        self._problem = ""
        self._told(file, "done")
        _LOG.info(f"read the new {self._what}", extra=fields(file=file))
        return True

    def _seen(self) -> _State:
        return tuple(map(_stamp, self._paths))


def _stamp(path: Path) -> tuple[int, int, int] | None:
    try:
        found = path.stat()  # of what a link names: orchestrators change secrets by changing a link
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def read_limited(path: Path, most: int = _MAX_BYTES) -> bytes:
    """Return the content of a file.

    :param most: bytes.
    :raises ValueError: when it is larger; OSError when it cannot be read.
    """
    with path.open("rb") as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise ValueError(f"it has more than {most:,} bytes")
    return content
