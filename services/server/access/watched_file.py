"""Files that are read again when they change, and how they are read: bounded, and YAML without a key that stands twice."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Generic, TypeVar

import yaml

from ontology.errors import EgotoolsError, InvalidArgumentError
from ontology.files import YamlLoader
from ontology.redaction import redact
from services.server.calls import fields

_LOG = logging.getLogger("egotools.access")
_T = TypeVar("_T")
_MAX_BYTES = 1024 * 1024
_PATIENCE_S = 2.0  # for a slow disk; then the value before serves


class WatchedFiles(Generic[_T]):
    """A value that is read from files, and again when they change. A change that cannot be read is logged, and the
    value stays; at first it is an InvalidArgumentError."""

    def __init__(
        self,
        what: str,
        paths: Sequence[Path],
        read: Callable[[], _T],  # raises an EgotoolsError, OSError or ValueError where the files are not valid
        *,
        poll_s: float = 1.0,  # seconds between two looks at the files
        told: Callable[[str, str], None] = lambda file, outcome: None,  # the first file, and done or invalid
    ) -> None:
        self._what, self._paths, self._read, self._poll_s, self._told = what, paths, read, poll_s, told
        self._lock, self._looked, self._problem = threading.Lock(), time.monotonic(), ""
        self._stamps = [stamp(path) for path in paths]
        try:
            self._value = read()
        except EgotoolsError:
            raise
        except (OSError, ValueError) as error:
            problem = f"the {what} cannot be read: {error}"
            raise InvalidArgumentError(problem, subject=str(paths[0]), remedy="See docs/access.md") from error
        told(str(paths[0]), "done")

    @property
    def value(self) -> _T:
        """The value of the files as they are now, or were ``poll_s`` before. Reads files: not for an event loop."""
        if time.monotonic() - self._looked >= self._poll_s and self._lock.acquire(blocking=False):
            try:
                self._look()
            finally:
                self._lock.release()
        return self._value

    async def fresh(self) -> _T:
        """As :attr:`value`, on a thread. Where the disk does not answer it is the value before."""
        if time.monotonic() - self._looked >= self._poll_s and not self._lock.locked():
            looking = asyncio.get_running_loop().run_in_executor(None, lambda: self.value)
            await asyncio.wait({looking}, timeout=_PATIENCE_S)
        return self._value

    def _look(self) -> None:
        stamps, file = [stamp(path) for path in self._paths], str(self._paths[0])
        self._looked = time.monotonic()
        if stamps == self._stamps:
            return
        try:
            self._value, problem = self._read(), ""
            self._told(file, "done")
            _LOG.info(f"read the new {self._what}", extra=fields(file=file))
        except Exception as error:  # whatever is wrong with a file, the server goes on with what it has
            problem = redact(str(error))
            if problem != self._problem:
                said = fields(file=file, problem=problem)
                _LOG.error(f"the new {self._what} is not valid; the old one stays", extra=said)
                self._told(file, "invalid")
            if isinstance(error, OSError):  # it may pass: the files are read again at the next look
                stamps = self._stamps
        self._problem, self._stamps = problem, stamps


def stamp(path: Path) -> tuple[int, int, int]:
    """Return what changes with a file; zeros of one that is not there, or cannot be seen."""
    try:
        found = path.stat()  # of what a link names: orchestrators change secrets by changing a link
    except OSError:
        return 0, 0, 0
    return found.st_mtime_ns, found.st_size, found.st_ino


def read_limited(path: Path) -> bytes:
    """Return the content of a file of at most 1 MiB. Raises ValueError when it is larger, or is a pipe or a device,
    OSError when it cannot be read."""
    if path.exists() and not path.is_file():
        raise ValueError("it is no regular file")
    with path.open("rb") as file:
        content = file.read(_MAX_BYTES + 1)
    if len(content) > _MAX_BYTES:
        raise ValueError(f"it has more than {_MAX_BYTES:,} bytes")
    return content


def load_unique_keys(text: bytes | str) -> Any:
    """Return the content of a YAML text. Raises yaml.YAMLError for what is no YAML, a key that is no text or stands twice, and a merge
    key, which copies what it names and so may grow without end."""
    try:
        return yaml.load(text if isinstance(text, str) else text.decode("utf-8-sig"), Loader=_Loader)
    except (LookupError, AttributeError, ArithmeticError) as error:  # of a value that is not of its tag
        raise yaml.YAMLError(f"a value is not of its tag ({type(error).__name__})") from error


class _Loader(YamlLoader):
    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):  # whose text may be endless, with what its aliases stand for
                raise yaml.constructor.ConstructorError(None, None, "a key is not a text", key.start_mark)
            if key.tag == "tag:yaml.org,2002:merge":
                fault = "a merge key (<<) is not read here: write its keys out"
                raise yaml.constructor.ConstructorError(None, None, fault, key.start_mark)
            if key.value in seen:
                raise yaml.constructor.ConstructorError(None, None, f"{key.value!r} stands twice", key.start_mark)
            seen.add(key.value)
        found: dict[Any, Any] = super().construct_mapping(node, deep)
        return found
