"""Files: digests, YAML data, appended files, and atomic writes. Disk errors become StorageError."""

from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import os
import re
import stat
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

import yaml

from ontology.errors import InvalidArgumentError, StorageError

_DIGITS = 12
_NOT_SOURCE = (".pyc", ".onnx")  # compiled code, and model weights: the configurations hold the digests of the weights


def config_hash(config: Mapping[str, Any]) -> str:
    """Return the first 12 hex digits of the SHA-256 of a configuration's canonical JSON."""
    text = json.dumps(config, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]


@cache
def code_digest(*packages: str) -> str:
    """Return the SHA-256 (64 hex digits) of the source and data files of these packages."""
    digest = hashlib.sha256()
    for package in packages:
        for name, content in sorted(_sources(files(package), f"{package}/")):
            digest.update(f"{name}\n{len(content)}\n".encode())
            digest.update(content)
    return digest.hexdigest()


def _sources(folder: Traversable, prefix: str) -> Iterator[tuple[str, bytes]]:
    for entry in folder.iterdir():
        if entry.is_dir() and entry.name != "__pycache__":
            yield from _sources(entry, f"{prefix}{entry.name}/")
        elif entry.is_file() and not entry.name.endswith(_NOT_SOURCE):
            yield f"{prefix}{entry.name}", entry.read_bytes()


NESTED_TOO_DEEPLY = "it is nested too deeply"
_MAX_YAML_DEPTH, _MAX_DIGITS = 400, 300  # chosen, not tuned: far above documents, far below what overflows the C stack
_OWN_TAGS = re.compile(r"(?<![^\r\n\x85\u2028\u2029\ufeff])%TAG")
_Yaml: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class YamlLoader(_Yaml):  # type: ignore[misc]  # which of both is known at run time
    """The loader of plain data: libyaml's where PyYAML has it, ten times as fast. What would end the process is no YAML: deep
    nesting, for which libyaml overflows the C stack, prefixes of tags, which it repeats at each node, and numbers of many parts."""

    depth = 0

    def __init__(self, text: str) -> None:
        if "%TAG" in text and _OWN_TAGS.search(text):
            raise yaml.YAMLError("a prefix of tags (%TAG) is not read")
        super().__init__(text)

    def descend_resolver(self, _current: Any, _index: Any) -> None:
        """Called at each node, before its content is read."""
        self.depth += 1
        if self.depth > _MAX_YAML_DEPTH:
            raise yaml.YAMLError(NESTED_TOO_DEEPLY)

    def ascend_resolver(self) -> None:
        """Called behind the content of each node."""
        self.depth -= 1


def _number(loader: YamlLoader, node: yaml.ScalarNode) -> Any:
    if ":" in node.value or len(node.value) > _MAX_DIGITS:  # of base 60, whose parts take time without end
        raise yaml.constructor.ConstructorError(None, None, "this is no number", node.start_mark)
    return _Yaml.yaml_constructors[node.tag](loader, node)


for _kind in ("int", "float"):
    YamlLoader.add_constructor(f"tag:yaml.org,2002:{_kind}", _number)


@cache
def read_yaml(file: Path) -> Any:
    """The content of a file, read once; callers must not change it."""
    return yaml.load(file.read_text(encoding="utf-8"), Loader=YamlLoader)


_LOCK_POLL_S = 0.02


def write_file(path: Path, content: str | bytes) -> Path:
    """Write a file atomically and create its parent folders. A reader sees the old content or the new, never a part.

    Text is written as UTF-8. A lone surrogate, which a model's answer may contain, is written as an escape sequence.

    :raises StorageError: when the file cannot be written.
    """
    with disk_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as temporary:
            temporary.write_bytes(content.encode("utf-8", "backslashreplace") if isinstance(content, str) else content)
    return path


def write_rows(path: Path, rows: Iterable[Mapping[str, Any]]) -> Path:
    """Write a JSON Lines file atomically, one object a line; see :func:`write_file`. Memory holds one row at a time.

    :raises StorageError: when the file cannot be written.
    """
    with disk_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as temporary, open(temporary, "wb") as file:
            for row in rows:  # a lone surrogate becomes an escape sequence
                file.write((json.dumps(row, ensure_ascii=False) + "\n").encode("utf-8", "backslashreplace"))
    return path


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary path in the same folder; it replaces ``path`` when the block ends without an error.

    :raises OSError: when the disk fails; it names ``path``, which is then unchanged.
    """
    if not path.name:  # "/", "." or nothing
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        yield temporary
        flush_to_disk(temporary)
        temporary.replace(path)
    except OSError as error:
        if str(error.filename) == str(temporary):  # a name that no caller gave
            error.filename, error.filename2 = str(path), None
        raise
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def flush_to_disk(path: Path) -> None:
    """Wait until the content of a file, or the entries of a folder, are on the disk (fsync); raise OSError on failure."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def lock_within(descriptor: int, wait_s: float, path: Path, *, remedy: str) -> None:
    """Lock an open file, and wait for those who hold it, but not for ever: whoever may read a file can lock it.

    :param wait_s: seconds; 0: one attempt.
    :param path: of the file, the subject of the error.
    :raises StorageError: when another holds it still, with this remedy.
    """
    stop = time.monotonic() + wait_s
    while True:
        try:
            return fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= stop:
                raise StorageError("another process holds its lock", subject=str(path), remedy=remedy) from None
            time.sleep(_LOCK_POLL_S)


@contextmanager
def only_writer(folder: Path) -> Iterator[None]:
    """Lock a folder of results for one process: two would mix their rows. StorageError where another has the lock."""
    with disk_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        lock = open(folder / ".lock", "w", encoding="utf-8")
    with lock:
        lock_within(lock.fileno(), 0, folder, remedy="Wait until it has ended, or choose another folder")
        yield


@contextmanager
def disk_errors(
    path: Path,
    *,
    remedy: str = "Check permissions and free space, and run the command again",
    network_errors: bool = False,
    done: str = "written",
) -> Iterator[None]:
    """Raise StorageError for an error of the operating system in this block.

    :param path: the subject of the error where the operating system names no file.
    :param network_errors: whether the block also talks to servers, so that a timeout or a closed connection is raised
        as it is; without it, they are errors of a disk on the network.
    :param done: what the block does with the file: it is *written*, or *read*.
    """
    try:
        yield
    except OSError as error:
        if network_errors and isinstance(error, ConnectionError | TimeoutError):
            raise
        raise StorageError(
            f"cannot be {done}: {error.strerror or error}", subject=str(error.filename or path), remedy=remedy
        ) from error


def read_bounded(path: Path, most: int = 64 * 2**20) -> bytes:
    """Return the content of a file, or of a pipe until its writer closes it.

    :param most: bytes.
    :raises OSError: when it cannot be read, is larger, or is a device, which may have no end.
    """
    with path.open("rb") as file:
        kind = os.fstat(file.fileno()).st_mode
        if not (stat.S_ISREG(kind) or stat.S_ISFIFO(kind) or stat.S_ISSOCK(kind) or file.isatty()):
            raise OSError(errno.EINVAL, "it is a device, not a file", str(path))
        content = file.read(most + 1)
    if len(content) > most:
        raise OSError(errno.EFBIG, f"it has more than {most:,} bytes", str(path))
    return content


def open_regular(path: Path, name: str) -> int:
    """Open a regular file to be read, and return its descriptor; a link is not followed, and a pipe does not make us wait.

    :param name: of the file, for errors.
    :raises InvalidArgumentError: when it is none.
    """
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise InvalidArgumentError(
            f"the file cannot be read ({error.strerror})", subject=name, remedy="Give a regular file, not a link"
        ) from error
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise InvalidArgumentError(
            "this is no regular file", subject=name, remedy="Give a file, not a folder, a device or a pipe"
        )
    return fd


def append(descriptor: int, data: bytes, end: int, *, fsync: Callable[[int], None] | None = None) -> int:
    """Write data at the end of an open file and wait until it is on the disk; return the new end.

    :param end: size of the file in bytes, as its writer knows it.
    :param fsync: waits until a file is on the disk; None for that of the system.
    :raises OSError: when the disk fails; what was written is then taken back, as far as the disk allows.
    """
    at, rest = end, memoryview(data)
    try:
        while rest:
            written = os.pwrite(descriptor, rest, at)
            at, rest = at + written, rest[written:]
        (fsync or os.fsync)(descriptor)
    except OSError:
        with suppress(OSError):
            os.ftruncate(descriptor, end)
            os.fsync(descriptor)
        raise
    return at


def is_named(descriptor: int, path: Path) -> bool:
    """Whether an open file still has this name: nobody has removed or replaced it."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.lstat())
    except FileNotFoundError:
        return False
