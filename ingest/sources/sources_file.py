"""The sources of a catalogue, how each is reached, and the file that lists them (``sources.yaml``), with references instead of secrets.

A reference is ``${VARIABLE}`` in a text, or a file. Its value is read at the moment of use, and kept nowhere. All faults of a file are
reported at once, each with its line and its remedy, and never with a value.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeAlias
from urllib.parse import parse_qsl, urlsplit

from pydantic import Field, PlainValidator

from ontology.errors import DocumentError, SourcesFileError
from ontology.redaction import command_words, names_secret, redact, redact_document_text, secrets_in
from ontology.yaml_file import (
    Checked,
    Fault,
    Located,
    Rows,
    Text,
    accepted,
    gone,
    has_top_key,
    read_model,
    text,
    value_fault,
)

_REFERENCE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_MAX_FILE_BYTES = 2**16


@dataclass(frozen=True, slots=True)
class Value:
    """A text with references to environment variables, or a file that holds the value."""

    text: str = ""  # the text; empty for a file
    file: Path | None = None  # a file whose content, without blanks at its ends, is the value

    def resolve(self) -> str:
        """Return the value. An error, where a variable is not set or the file cannot be read, never has it."""
        if self.file is not None:
            return _content(self.file)
        for name in _REFERENCE.findall(self.text):
            if name not in os.environ:
                raise _no_value(f"the environment variable {name} is not set", f"Set {name}")
        return _REFERENCE.sub(lambda found: os.environ[found[1]], self.text)

    def secrets(self) -> Iterator[str]:
        """Yield the referenced values as they are now; those that cannot be read are left out."""
        if self.file is not None:
            with suppress(DocumentError):
                yield _content(self.file)
        yield from (os.environ[name] for name in _REFERENCE.findall(self.text) if name in os.environ)


def _content(file: Path) -> str:
    try:
        if not file.is_file():  # a pipe or a device could be read without end
            raise _no_value(f"there is no file {file.name!r} with a value", "Create it, or correct the path")
        with file.open("rb") as handle:
            content = handle.read(_MAX_FILE_BYTES + 1)
        if len(content) > _MAX_FILE_BYTES:
            raise _no_value(f"the file {file.name!r} is larger than {_MAX_FILE_BYTES} bytes")
        return content.decode("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise _no_value(f"the file {file.name!r} with a value cannot be read ({type(error).__name__})") from None


def _no_value(problem: str, remedy: str = "") -> DocumentError:
    return DocumentError(problem, remedy=remedy, reason="no-value")


_SCHEME_WORDS = re.compile(r"\b(?:Bearer|Basic|Digest|Token|ApiKey)\b", re.IGNORECASE)
_RANDOM = re.compile(r"[A-Za-z0-9_-]{20,}")


def _without_references(text: str) -> str:
    return _REFERENCE.sub("", text)


def is_literal_secret(name: str, text: str) -> bool:
    """Whether a value is written out although it seems to be secret: by its name, or by its own shape."""
    rest = _without_references(text)
    if not rest.strip():
        return False
    if names_secret(name) and re.search(r"\w", _SCHEME_WORDS.sub("", rest)):
        return True
    if redact(rest) != rest or redact_document_text(rest) != rest:
        return True
    # A long word that mixes cases and digits as keys do, and words do not.
    kinds = ("[a-z]", "[A-Z]", "[0-9].*[0-9].*[0-9]")
    return any(all(re.search(kind, word) for kind in kinds) for word in _RANDOM.findall(rest))


def location_holds_secret(location: str) -> bool:
    """Whether an address or a command has a secret that is written out."""
    if "://" in location:
        try:
            parts = urlsplit(_without_references(location))
        except ValueError:
            return True
        user, colon, password = parts.netloc.rpartition("@")[0].partition(":")
        if (password if colon else user) or parts.fragment:
            return True
        named = (*parse_qsl(parts.query), *(("", part) for part in parts.path.split("/")))
        return any(is_literal_secret(key, value) for key, value in named)
    if location.startswith("mcp:"):
        hidden = any(_without_references(secret).strip() for secret in secrets_in(location))
        return hidden or any(is_literal_secret("", word) for word in command_words(location)[1:])
    return False


_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,99}", re.ASCII)
_HTTP = ("http://", "https://", "mcp+http://", "mcp+https://")
_PROCESS = ("mcp:", "python:")
_OTHER_PREFIXES = ("aws:",)
_HOW_TO_REFER = "write ${VARIABLE}, or {file: PATH}"


def _name(value: Any) -> str:
    if not _NAME.fullmatch(text(value)):
        raise value_fault("the {} has other characters than letters, digits, `_`, `.` and `-`", "correct it")
    return str(value)


def _public(value: Any) -> str:
    if is_literal_secret("", text(value)):
        raise value_fault("the {} looks like a secret", "leave it out: it is shown and kept")
    return str(value)


def _location(value: Any) -> str:
    if isinstance(value, dict):
        words = value.get("mcp")
        if not words or len(value) > 1 or not isinstance(words, list):
            raise value_fault("the location names no command", "write {mcp: [COMMAND, ARGUMENT]}")
        location = f"mcp:{shlex.join(map(text, words))}"
    elif text(value).startswith("mcp:"):
        raise value_fault("a command must be a list", "write `location: {mcp: [COMMAND, ARGUMENT]}`")
    else:
        location = str(value)
    if "${" in _without_references(location):
        raise value_fault("the location has a malformed reference", "write ${VARIABLE}")
    if location_holds_secret(location):
        raise value_fault("the location holds a secret", "write ${VARIABLE} in its place, or use env or headers")
    if "${" in location and not location.startswith((*_HTTP, *_PROCESS, *_OTHER_PREFIXES)):
        raise value_fault("a path has no references", "write the path out")
    return location


def _value(value: Any) -> Value:
    if isinstance(value, dict):
        if value.keys() != {"file"}:
            raise value_fault("{} must be a text or have the key `file` alone", _HOW_TO_REFER)
        return Value(file=Path(text(value["file"])))
    if "${" in _without_references(text(value)):
        raise value_fault("{} has a malformed reference", _HOW_TO_REFER)
    if is_literal_secret(value.key, value):
        raise value_fault("{} looks like a secret", _HOW_TO_REFER)
    return Value(str(value))


_Name: TypeAlias = Annotated[str, PlainValidator(_name)]
_Public: TypeAlias = Annotated[str, PlainValidator(_public)]
_Values: TypeAlias = dict[str, Annotated[Value, PlainValidator(_value)]]


class SourceEntry(Rows):
    """One source of a sources file, or an address of the command line with a name."""

    name: _Name  # unique in a build
    location: Annotated[str, PlainValidator(_location)]  # address, path or pattern; references in it are not replaced
    namespace: _Name = ""  # the first part of the ids of its tools
    env: _Values = Field(default_factory=dict)  # variables of the process of an MCP server or Python module
    headers: _Values = Field(default_factory=dict)  # of HTTP requests; for the host of the address alone
    # Patterns of names, ids or tags, as :mod:`fnmatch` reads them: a tool must match one of the first, where there are any, and none
    # of the second.
    include: tuple[Text, ...] = ()
    exclude: tuple[Text, ...] = ()
    owner: _Public = ""
    description: _Public = ""
    aliases: tuple[Text, ...] = ()  # other names of the system
    refresh: Annotated[None, gone("leave it out: the timer that runs egotools sync says when")] = None
    include_tags: Annotated[None, gone("write its patterns into include, which match tags too")] = None
    exclude_tags: Annotated[None, gone("write its patterns into exclude, which match tags too")] = None
    _target: Value | None = None  # the location, where it has references: those of the command line are not replaced

    @property
    def metadata(self) -> dict[str, str]:
        """What each of its tools has in its metadata: the name of the source, and its owner where there is one."""
        return {"source": self.name, **({"owner": self.owner} if self.owner else {})}

    def placed(self, folder: Path) -> SourceEntry:
        """The source with its relative paths in the folder of its file, and with its name as namespace where it states none."""
        is_address = self.location.startswith((*_HTTP, *_PROCESS, *_OTHER_PREFIXES))
        env, headers = (
            {str(name): Value(each.text, each.file and folder / each.file) for name, each in values.items()}
            for values in (self.env, self.headers)
        )
        location = self.location if is_address else str(folder / self.location)
        texts = {key: tuple(map(str, getattr(self, key))) for key in ("include", "exclude", "aliases")}
        stated = {
            "namespace": self.namespace or self.name,
            "location": location,
            "env": env,
            "headers": headers,
            **texts,
        }
        placed = self.model_copy(update=stated)
        placed._target = Value(self.location) if "${" in self.location else None
        return placed

    def resolved_env(self) -> dict[str, str]:
        """Return the environment variables with their values; raises as :meth:`Value.resolve`."""
        return {name: value.resolve() for name, value in self.env.items()}

    def resolved_headers(self) -> dict[str, str]:
        """Return the headers with their values; raises as :meth:`Value.resolve`, and for a line break in a value."""
        headers = {name: value.resolve() for name, value in self.headers.items()}
        for name, value in headers.items():
            if not value.isprintable() or not value.isascii():
                raise _no_value(f"the value of the header {name} has characters that a header cannot have")
        return headers

    def expand(self, text: str) -> str:
        """Return a part of the address with its references replaced; unchanged where the address has none."""
        return text if self._target is None else Value(text).resolve()

    def secrets(self) -> tuple[str, ...]:
        """Return all referenced values, so that they can be found in other texts."""
        values = [*self.env.values(), *self.headers.values(), *([self._target] if self._target else [])]
        found = dict.fromkeys(secret for value in values for secret in value.secrets())
        return tuple(secret for secret in found if len(secret) >= 6)  # a shorter one is part of too many words


#: What an address without a name is reached by: nothing beside it.
UNNAMED = SourceEntry.model_construct(name="", location="")


class _File(Rows):
    sources: tuple[SourceEntry, ...] = ()
    overlays: tuple[Text, ...] = ()


def is_sources_file(path: Path) -> bool:
    """Whether a file is YAML with the top-level key ``sources``; False for what is no regular file."""
    return has_top_key(path, "sources")


def load_sources(path: Path) -> tuple[SourceEntry, ...]:
    """Read a sources file; the problem of a SourcesFileError lists each fault with its line."""
    return accepted(*check_sources(path), SourcesFileError, path)


def check_sources(path: Path) -> Checked[tuple[SourceEntry, ...]]:
    """Read a sources file, and report all its faults."""
    file, faults = read_model(path, _File, between=_faults_between)
    return Checked(tuple(row.placed(path.parent) for row in file.sources) if file else None, faults)


def overlays_of(addresses: Sequence[str]) -> list[Path]:
    """Return the overlay files that the sources files among some addresses name; none of a file with faults."""
    paths = sorted(path for path in set(map(Path, addresses)) if is_sources_file(path))
    read = ((path, read_model(path, _File, between=_faults_between).model) for path in paths)
    return [path.parent / name for path, file in read if file is not None for name in file.overlays]


def _faults_between(values: Any) -> Iterator[Fault]:
    """Yield names that two sources have, and settings that have no use where a source is."""
    rows = values.get("sources") if isinstance(values, dict) else None
    if isinstance(rows, list | str) and not rows:
        line = next(key.line for key in values if key == "sources")
        yield Fault(line, "there are no sources", "add `- name: …` and `location: …`")
    named = [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
    for key, default in (("name", "name"), ("namespace", "name")):
        seen: set[str] = set()
        for row in named:
            value = row.get(key, row.get(default))
            if isinstance(value, Located) and value in seen:
                line, problem = min(each.line for each in row), f"two sources have the {key} {str(value)!r}"
                yield Fault(line, problem, f"give each a {key} of its own")
            seen.add(str(value))
    for row in named:
        location = "mcp:" if isinstance(row.get("location"), dict) else row.get("location")
        for key, prefixes in (("env", _PROCESS), ("headers", _HTTP)):
            for each in row if isinstance(location, str) and not location.startswith(prefixes) else ():
                if each == key:
                    yield Fault(each.line, f"{key} has no use at this location", f"it is for {', '.join(prefixes)}")
