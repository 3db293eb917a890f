"""The Document: one file or live address to read tools from; its content is read once and cached, as bytes, text or JSON and YAML.

YAML is parsed as OpenAPI requires (the JSON schema of YAML 1.2): ``no`` and ``2026-01-01`` are text, and keys are text. The limit of
values, :data:`MAX_NODES`, is checked before memory is used: on the JSON text, on the nodes of YAML, with aliases expanded.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import re
from collections import Counter
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import IO, Any, ClassVar, NamedTuple, cast
from zlib import error as ZlibError

import yaml

from ingest.sources.fetch import fetch
from ingest.sources.sources_file import UNNAMED, SourceEntry
from ontology.errors import DocumentError
from ontology.files import NESTED_TOO_DEEPLY, YamlLoader
from ontology.redaction import redacted_address, secrets_in

#: Maximum size of a document after unpacking, in bytes.
MAX_BYTES = 512 * 2**20

_HEAD_BYTES = 4096
_UTF8_MARK = b"\xef\xbb\xbf"


class Document:
    """One file, or one live address, to read tools from.

    :param address: as the user gave it; the attribute is without secrets, as it may be shown: a path,
        ``python:module:name``, ``aws:SERVICE``, ``mcp:COMMAND …``, ``mcp+http(s)://…``, ``http(s)://…``.
    :param path: the file, or None for a live address.
    :param namespace: the first part of the ids of its tools.
    :param root: references to files outside this folder are rejected; the user's folder, else the file's own folder.
    :param source: the named source that it belongs to, or None.
    """

    def __init__(
        self,
        address: str,
        *,
        path: Path | None = None,
        namespace: str = "",
        root: Path | None = None,
        source: SourceEntry | None = None,
    ) -> None:
        #: As it was given; it may contain credentials and must not be shown.
        self.target = address
        self.address = address if path is not None else redacted_address(address)
        self.path = path
        self.root = root if root is not None or path is None else path.parent
        self.namespace = namespace
        self.source = source
        #: Other files that the document refers to (``$ref``), as it names them, and their states when they were read or refused.
        self.references: dict[Path, FileState] = {}

    def __repr__(self) -> str:
        return f"Document({self.address!r})"

    @property
    def is_url(self) -> bool:
        """Whether the content is fetched from an ``http(s)://`` address."""
        return self.path is None and self.target.startswith(("http://", "https://"))

    @property
    def has_content(self) -> bool:
        """Whether it has content: a file or a URL has, a live server or a Python module has not."""
        return self.path is not None or self.is_url

    @property
    def access(self) -> SourceEntry:
        """How it is reached: environment variables, headers and references, resolved at the moment of use."""
        return self.source or UNNAMED

    def secrets(self) -> tuple[str, ...]:
        """Return the values that are known to be secret: those of its address, and the referenced ones."""
        return (*secrets_in(self.target), *self.access.secrets()) if self.path is None else ()

    @property
    def suffix(self) -> str:
        """The file's ending in lower case without ``.gz`` (``.json``), or empty."""
        if not self.has_content:
            return ""
        name = self.path.name if self.path is not None else self.address.rsplit("/", 1)[-1]
        return Path(name.lower().removesuffix(".gz")).suffix

    @cached_property
    def content(self) -> bytes:
        """The bytes, unpacked when gzipped.

        :raises DocumentError: when the file is missing, unreadable, larger than :data:`MAX_BYTES`, or a damaged gzip.
        """
        if self.is_url:
            url, headers = self.access.expand(self.target), self.access.resolved_headers()
            return fetch(url, headers=headers, shown=self.address)
        with self._opened() as file:
            content = file.read(MAX_BYTES + 1)
        if len(content) > MAX_BYTES:
            problem = f"the file is larger than {MAX_BYTES} bytes"
            raise DocumentError(problem, subject=self.address, remedy="Split it", reason="too-large")
        return content

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """Yield ``(number, line)``, numbers from 1; a byte order mark is removed. Raises as :attr:`content`."""
        yield from enumerate(self.content.removeprefix(_UTF8_MARK).splitlines(), 1)

    @cached_property
    def text(self) -> str:
        """The content as UTF-8 text; a byte order mark is removed.

        :raises DocumentError: when it is empty or not UTF-8, with the offset of the first invalid byte.
        """
        try:
            text = self.content.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            line = self.content.count(b"\n", 0, error.start) + 1
            subject, problem = f"{self.address}:{line}", f"the file is not UTF-8 (byte {error.start})"
            raise DocumentError(problem, subject=subject, remedy="Save it as UTF-8", reason="not-utf8") from error
        if not text.strip():
            raise DocumentError("the file is empty", subject=self.address, reason="empty")
        return text

    @cached_property
    def head(self) -> str:
        """The first 4 KiB as text, to detect the format; invalid bytes are replaced, an unreadable file raises DocumentError."""
        if "content" in self.__dict__ or self.path is None:
            raw = self.content[:_HEAD_BYTES]
        else:
            with self._opened() as file:
                raw = file.read(_HEAD_BYTES)
        return raw.decode("utf-8-sig", errors="replace")

    @property
    def data(self) -> Any:
        """The parsed content: JSON when the text begins with ``{`` or ``[`` and the ending is not YAML's, else YAML.

        :raises DocumentError: with the line of the fault.
        """
        if isinstance(self._parsed, DocumentError):
            raise self._parsed
        return self._parsed

    @property
    def data_or_none(self) -> Any:
        """As :attr:`data`, but None where it cannot be parsed; used to detect the format."""
        return None if isinstance(self._parsed, DocumentError) else self._parsed

    @cached_property
    def _parsed(self) -> Any:
        """The data, or the error: a damaged document is parsed only once."""
        try:
            if self.suffix in {".yaml", ".yml"} or self.text.lstrip()[:1] not in "{[":
                return parse_yaml(self.text, subject=self.address)
            return parse_json(self.text, subject=self.address, whole=True)
        except DocumentError as error:
            return error

    def release(self) -> None:
        """Remove the content from memory; the next use reads it again."""
        for cached in ("content", "text", "head", "_parsed"):
            self.__dict__.pop(cached, None)

    @contextmanager
    def _opened(self) -> Iterator[IO[bytes]]:
        """The file, unpacked when gzipped."""
        if self.path is None:
            raise DocumentError("a live address has no file content", subject=self.address)
        try:
            with self.path.open("rb") as file:
                is_packed = file.read(2) == b"\x1f\x8b"
                file.seek(0)
                yield cast(IO[bytes], gzip.GzipFile(fileobj=file)) if is_packed else file
        except (OSError, EOFError, ZlibError) as error:
            fault = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            problem, remedy = f"the file cannot be read: {fault}", "Check the path and its permissions"
            raise DocumentError(problem, subject=self.address, remedy=remedy) from error


OUTSIDE = "outside"  # the kind of a path whose content must not be read


class FileState(NamedTuple):
    """Where a path leads and what is there: what was made from a file is valid as long as its state is the same."""

    target: str  # the path without symbolic links: the references of the file start from its folder
    kind: str  # ``file``, ``missing``, ``other`` (a folder, a pipe), ``unreadable`` or ``outside``
    digest: str = ""  # SHA-256 of a file's content, hexadecimal; else empty


def file_state(path: Path, *, content: bool = True) -> FileState:
    """Return the state of a path.

    :param content: False for a path outside the folder of the user: nothing but its target is looked at.
    """
    target = os.path.realpath(path)
    if not content:
        return FileState(target, OUTSIDE)
    try:
        if not path.is_file():  # a pipe or a device could be read without end
            return FileState(target, "other" if path.exists() else "missing")
        with open(path, "rb") as file:
            return FileState(target, "file", hashlib.file_digest(file, "sha256").hexdigest())
    except OSError:
        return FileState(target, "unreadable")


def is_unchanged(path: Path, state: FileState) -> bool:
    """Whether a path is still in this state."""
    return file_state(path, content=state.kind != OUTSIDE) == state


#: Maximum number of values of a document. A value in memory takes some 200 bytes, however short its text is: 1 GB at most. Chosen,
#: not tuned; the largest of 600 discovery documents and EC2's model has 0.17 million.
MAX_NODES = 5_000_000

_JSON_TEXT = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_METHODS = frozenset({"get", "put", "post", "delete", "patch", "head", "options"})


def parse_json(text: str | bytes, *, subject: str, line: int = 1, whole: bool = False) -> Any:
    """Parse JSON; ``NaN`` and the infinities, which Python programs write for empty cells, become null. ``line`` is the
    number of the text's first line in the document. In a ``whole`` document a repeated path or method is an error,
    because it hides operations. The DocumentError has the line of the fault; more than :data:`MAX_NODES` values are
    one."""
    location = f"{subject}:{line}"
    if len(text) > MAX_NODES:  # a value has a character at least
        raw = text.encode("utf-8", "replace") if isinstance(text, str) else text
        if _values(raw) > MAX_NODES and _values(_JSON_TEXT.sub(b"", raw)) > MAX_NODES:
            problem = f"it has more than {MAX_NODES:,} values"
            raise DocumentError(problem, subject=location, remedy="Split the document", reason="too-large")
    try:
        return json.loads(text, parse_constant=lambda _: None, object_pairs_hook=_object if whole else None)
    except json.JSONDecodeError as error:
        location = f"{subject}:{line + error.lineno - 1}"
        problem = f"invalid JSON: {error.msg} (column {error.colno})"
        raise DocumentError(problem, subject=location, remedy="Correct the JSON", reason="invalid-json") from error
    except UnicodeDecodeError as error:
        problem = f"not UTF-8 (byte {error.start})"
        raise DocumentError(problem, subject=location, remedy="Save it as UTF-8", reason="not-utf8") from error
    except (RecursionError, ValueError) as error:  # also a repeated key, or an integer with too many digits for Python
        fault = NESTED_TOO_DEEPLY if isinstance(error, RecursionError) else str(error)
        raise DocumentError(f"invalid JSON: {fault}", subject=location, reason="invalid-json") from error


def _values(raw: bytes) -> int:
    """The number of values of a JSON text: commas and opening brackets, also those inside texts where it has these."""
    return raw.count(b",") + raw.count(b"{") + raw.count(b"[")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    mapping = dict(pairs)
    if len(mapping) < len(pairs) and (repeated := _repeated([name for name, _ in pairs])):
        raise ValueError(f"the key {repeated!r} is repeated in one object")
    return mapping


def _repeated(keys: list[str]) -> str:
    """The first path or method that is there more than once; empty for none."""
    counts = Counter(keys)
    return next((key for key, n in counts.items() if n > 1 and (key.startswith("/") or key in _METHODS)), "")


def parse_yaml(text: str, *, subject: str) -> Any:
    """Parse one YAML document. The DocumentError has the line of the fault; aliases that contain themselves or expand
    beyond the limit are one."""
    loader = None
    try:
        loader = _Loader(text)
        root = loader.get_single_node()
        if root is not None and "&" in text:
            _expanded_size(root, {})
        return None if root is None else loader.construct_document(root)
    except (yaml.YAMLError, RecursionError, ValueError, LookupError, AttributeError, ArithmeticError) as error:
        fault = NESTED_TOO_DEEPLY if isinstance(error, RecursionError) else " ".join(str(error).split())
        if isinstance(error, yaml.MarkedYAMLError):
            fault, mark = str(error.problem), error.problem_mark or error.context_mark
            subject = f"{subject}:{mark.line + 1}" if mark else subject
        remedy = "Use $ref instead of aliases" if fault.startswith(("an alias", "its aliases")) else "Correct the YAML"
        problem = f"invalid YAML: {fault}"
        raise DocumentError(problem, subject=subject, remedy=remedy, reason="invalid-yaml") from error
    finally:
        if loader is not None:
            loader.dispose()


def _expanded_size(node: yaml.Node, sizes: dict[int, int]) -> int:
    """Return the number of values below a node with every alias and merge key expanded: a merge copies a node, a walk visits every copy."""
    key = id(node)
    if key not in sizes:
        sizes[key] = 0  # while it is open
        inner = node.value if isinstance(node, yaml.SequenceNode) else ()
        if isinstance(node, yaml.MappingNode):
            inner = [value for _, value in node.value]
        sizes[key] = 1 + sum(_expanded_size(each, sizes) for each in inner)
        if sizes[key] > MAX_NODES:
            raise _constructor_error(f"its aliases expand to more than {MAX_NODES:,} values", node)
    if not sizes[key]:
        raise _constructor_error("an alias contains itself", node)
    return sizes[key]


def _constructor_error(problem: str, node: yaml.Node) -> yaml.constructor.ConstructorError:
    return yaml.constructor.ConstructorError(None, None, problem, node.start_mark)


class _Loader(YamlLoader):
    """A loader that counts the nodes, and refuses what a document must not have."""

    nodes = 0
    yaml_implicit_resolvers: ClassVar[dict[str, Any]] = {}

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        # before merge keys are expanded, because those may be overridden
        if repeated := _repeated([key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode)]):
            first = next(key for key, _ in node.value if key.value == repeated)
            raise _constructor_error(f"the key {repeated!r} is repeated in one mapping", first)
        self.flatten_mapping(node)
        mapping: dict[Hashable, Any] = {}
        for key_node, value_node in node.value:
            if not isinstance(key_node, yaml.ScalarNode):
                raise _constructor_error("a key must be text, not a list or a mapping", key_node)
            mapping[key_node.value] = self.construct_object(value_node, deep=deep)
        return mapping

    def descend_resolver(self, current: Any, index: Any) -> None:
        self.nodes += 1
        if self.nodes > MAX_NODES:
            raise yaml.YAMLError(f"it has more than {MAX_NODES:,} values")
        super().descend_resolver(current, index)


_NUMBER = list("-+0123456789")
_FLOAT = r"[0-9][0-9]*\.[0-9]*(?:[eE][-+]?[0-9]+)?|\.[0-9]+(?:[eE][-+]?[0-9]+)?|[0-9]+[eE][-+]?[0-9]+"
for _name, _pattern, _first in (
    ("null", r"^(?:~|null|Null|NULL|)$", ["~", "n", "N", ""]),
    ("bool", r"^(?:true|True|TRUE|false|False|FALSE)$", list("tTfF")),
    ("int", r"^[-+]?(?:0|[1-9][0-9]{0,300})$", _NUMBER),
    ("float", rf"^[-+]?(?:{_FLOAT})$", [*_NUMBER, "."]),
    ("merge", r"^<<$", ["<"]),
):
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_name}", re.compile(_pattern), _first)
