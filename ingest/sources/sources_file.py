"""The sources file (``sources.yaml``): the sources of a catalogue, with references instead of secrets.

All faults of a file are reported at once, each with its line and its remedy, and never with a value.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlsplit

import yaml

from ingest.sources.access import Access, Value, without_references
from ingest.sources.yaml_nodes import YamlNodes, compose_file
from ontology.errors import SourcesFileError
from ontology.ontology import Fault
from ontology.redaction import command_words, names_secret, redact, redact_document_text, secrets_in


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceEntry:
    """One source of a sources file, or an address of the command line with a name.

    :param name: unique in a build.
    :param location: address, path or pattern; references in it are not replaced.
    :param namespace: the first part of the ids of its tools.
    :param access: environment variables, headers and references in the location.
    :param include: patterns of names or ids, as :mod:`fnmatch` reads them; a tool must match one. Empty: all tools.
    :param exclude: patterns of names or ids; a tool must match none.
    :param include_tags: likewise for the tags of a tool.
    :param exclude_tags: likewise.
    :param refresh_s: seconds after which it should be read again; None where nothing is said. A sync that watches acts on it.
    :param aliases: other names of the system.
    """

    name: str
    location: str
    namespace: str
    access: Access = field(default_factory=Access)
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    include_tags: tuple[str, ...] = ()
    exclude_tags: tuple[str, ...] = ()
    owner: str = ""
    refresh_s: int | None = None
    description: str = ""
    aliases: tuple[str, ...] = ()

    @property
    def metadata(self) -> dict[str, str]:
        """What each of its tools has in its metadata: the name of the source, and its owner where there is one."""
        return {"source": self.name, **({"owner": self.owner} if self.owner else {})}


_SCHEME_WORDS = re.compile(r"\b(?:Bearer|Basic|Digest|Token|ApiKey)\b", re.IGNORECASE)
_RANDOM = re.compile(r"[A-Za-z0-9_-]{20,}")


def malformed_reference(text: str) -> bool:
    """Whether a text has ``${`` that is no reference."""
    return "${" in without_references(text)


def is_literal_secret(name: str, text: str) -> bool:
    """Whether a value is written out although it seems to be secret: by its name, or by its own shape."""
    rest = without_references(text)
    if not rest.strip():
        return False
    if names_secret(name) and re.search(r"\w", _SCHEME_WORDS.sub("", rest)):
        return True
    return redact(rest) != rest or redact_document_text(rest) != rest or any(map(_seems_random, _RANDOM.findall(rest)))


def location_holds_secret(location: str) -> bool:
    """Whether an address or a command has a secret that is written out."""
    if "://" in location:
        try:
            parts = urlsplit(without_references(location))
        except ValueError:
            return True
        user, colon, password = parts.netloc.rpartition("@")[0].partition(":")
        if (password if colon else user) or parts.fragment:
            return True
        return any(is_literal_secret(key, value) for key, value in parse_qsl(parts.query)) or any(
            is_literal_secret("", part) for part in parts.path.split("/")
        )
    if location.startswith("mcp:"):
        hidden = (without_references(secret) for secret in secrets_in(location))
        words = command_words(location)
        return any(secret.strip() for secret in hidden) or any(is_literal_secret("", word) for word in words[1:])
    return False


def _seems_random(text: str) -> bool:
    """Whether a text of at least 20 characters mixes cases and digits as keys do, and words do not."""
    kinds = sum(bool(re.search(pattern, text)) for pattern in ("[a-z]", "[A-Z]", "[0-9]"))
    return kinds == 3 and len(re.findall(r"[0-9]", text)) >= 3


_TOP_KEY, _OVERLAYS = "sources", "overlays"
_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,99}", re.ASCII)
_REFRESH = re.compile(r"([1-9][0-9]{0,6})\s*(s|m|h|d)")
_SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}
_LISTS = ("include", "exclude", "include_tags", "exclude_tags", "aliases")
_KEYS = frozenset(("name", "location", "env", "headers", "namespace", "refresh", "owner", "description", *_LISTS))
_HTTP = ("http://", "https://", "mcp+http://", "mcp+https://")
_PROCESS = ("mcp:", "python:")
_OTHER_PREFIXES = ("aws:", "google-discovery:")
_REFERENCE = "write ${VARIABLE}, or {file: PATH}"
_MAX_BYTES = 2**20


class CheckedSources(NamedTuple):
    """The sources of a file without faults, or none and the faults, sorted by line."""

    sources: tuple[SourceEntry, ...]
    faults: list[Fault]


def is_sources_file(path: Path) -> bool:
    """Whether a file is YAML with the top-level key ``sources``; False for what is no regular file."""
    if path.suffix.lower() not in {".yaml", ".yml"} or not path.is_file():
        return False
    try:
        with path.open("rb") as handle:
            text = handle.read(_MAX_BYTES)
    except OSError:
        return False
    return re.search(rb"^(?:\xef\xbb\xbf)?[\"']?sources[\"']?\s*:", text, re.MULTILINE) is not None


def load_sources(path: Path) -> tuple[SourceEntry, ...]:
    """Read a sources file.

    :raises SourcesFileError: when it has faults; the problem lists each with its line.
    """
    sources, faults = check_sources(path)
    if faults:
        listed = "; ".join(map(str, faults))
        raise SourcesFileError(f"{len(faults)} fault(s): {listed}", subject=str(path), remedy="Correct these lines")
    return sources


def check_sources(path: Path) -> CheckedSources:
    """Read a sources file, and report all its faults."""
    return _checked(path)[0]


def overlays_of(path: Path) -> tuple[Path, ...]:
    """Return the overlay files that a sources file names; none where the file has faults."""
    return _checked(path)[1]


def _checked(path: Path) -> tuple[CheckedSources, tuple[Path, ...]]:
    root = compose_file(path)
    if isinstance(root, Fault):
        return CheckedSources((), [root]), ()
    reader = _Reader(path.parent)
    sources = reader.sources(root)
    if reader.faults:
        return CheckedSources((), sorted(reader.faults)), ()
    return CheckedSources(sources, []), reader.overlays


class _Reader(YamlNodes):
    """Reader of the sources of one file; relative paths are those of its folder."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._folder = folder
        self.overlays: tuple[Path, ...] = ()

    def sources(self, root: yaml.Node) -> tuple[SourceEntry, ...]:
        """Return the sources; those with faults too."""
        top = self.mapping(root, "the file", frozenset((_TOP_KEY, _OVERLAYS)))
        self.overlays = tuple(self._folder / text for text in self.texts(top.get(_OVERLAYS), _OVERLAYS))
        if _TOP_KEY not in top:
            return ()
        nodes = list(self.items(top[_TOP_KEY], "sources"))
        if not nodes and not self.faults:
            self.fault(top[_TOP_KEY], "there are no sources", "add `- name: …` and `location: …`")
        entries = [self._entry(node) for node in nodes]
        for key in ("name", "namespace"):
            seen: set[str] = set()
            for entry, node in zip(entries, nodes, strict=True):
                value = getattr(entry, key)
                if value and value in seen:
                    self.fault(node, f"two sources have the {key} {value!r}", f"give each a {key} of its own")
                seen.add(value)
        return tuple(entries)

    def _entry(self, node: yaml.Node) -> SourceEntry:
        values = self.mapping(node, "a source", _KEYS)
        for key in ("name", "location"):
            if key not in values and isinstance(node, yaml.MappingNode):
                self.fault(node, f"a source has no {key}", f"add `{key}: …`")
        name = self._name(values.get("name"), "name")
        location = self._location(values.get("location"), name)
        include, exclude, include_tags, exclude_tags, aliases = (self.texts(values.get(key), key) for key in _LISTS)
        return SourceEntry(
            name=name,
            location=location,
            namespace=self._name(values.get("namespace"), "namespace") or name,
            access=Access(
                env=self._values(values.get("env"), "env", location, _PROCESS),
                headers=self._values(values.get("headers"), "headers", location, _HTTP),
                target=Value(location) if "${" in location else None,
            ),
            refresh_s=self._refresh(values.get("refresh")),
            owner=self._public(values.get("owner"), "owner"),
            description=self._public(values.get("description"), "description"),
            include=include,
            exclude=exclude,
            include_tags=include_tags,
            exclude_tags=exclude_tags,
            aliases=aliases,
        )

    def _name(self, node: Any, key: str) -> str:
        text = self.text(node, key)
        if text and not _NAME.fullmatch(text):
            self.fault(node, f"the {key} has other characters than letters, digits, `_`, `.` and `-`", "correct it")
            return ""
        return text

    def _public(self, node: Any, key: str) -> str:
        text = self.text(node, key)
        if is_literal_secret("", text):
            self.fault(node, f"the {key} looks like a secret", "leave it out: it is shown and kept")
            return ""
        return text

    def _location(self, node: Any, name: str) -> str:
        if isinstance(node, yaml.MappingNode):
            words = self.texts(self.mapping(node, "location", frozenset(("mcp",))).get("mcp"), "mcp")
            if not words:
                self.fault(node, "the location names no command", "write {mcp: [COMMAND, ARGUMENT]}")
                return ""
            location = f"mcp:{shlex.join(words)}"
        else:
            location = self.text(node, "location")
            if location.startswith("mcp:"):
                self.fault(node, "a command must be a list", "write `location: {mcp: [COMMAND, ARGUMENT]}`")
                return ""
        if not location:
            return ""
        if malformed_reference(location):
            self.fault(node, "the location has a malformed reference", "write ${VARIABLE}")
        if location_holds_secret(location):
            self.fault(node, "the location holds a secret", "write ${VARIABLE} in its place, or use env or headers")
            return ""
        if location.startswith((*_HTTP, *_PROCESS, *_OTHER_PREFIXES)):
            return location
        if "${" in location:
            self.fault(node, "a path has no references", "write the path out")
        return str(self._folder / location)

    def _values(self, node: Any, key: str, location: str, prefixes: tuple[str, ...]) -> dict[str, Value]:
        if node is None:
            return {}
        if location and not location.startswith(prefixes):
            self.fault(node, f"{key} has no use at this location", f"it is for {', '.join(prefixes)}")
        found: dict[str, Value] = {}
        for name, value in self.mapping(node, key).items():
            if isinstance(value, yaml.MappingNode):
                path = self.text(self.mapping(value, f"{key}.{name}", frozenset(("file",))).get("file"), "file")
                found[name] = Value(file=self._folder / path)
                continue
            text = self.text(value, f"{key}.{name}")
            if malformed_reference(text):
                self.fault(value, f"{key}.{name} has a malformed reference", _REFERENCE)
            if is_literal_secret(name, text):
                self.fault(value, f"{key}.{name} looks like a secret", _REFERENCE)
            found[name] = Value(text)
        return found

    def _refresh(self, node: Any) -> int | None:
        text = self.text(node, "refresh")
        found = _REFRESH.fullmatch(text)
        if text and not found:
            self.fault(node, "refresh is no duration", "write 30m, 6h or 1d")
        return int(found[1]) * _SECONDS[found[2]] if found else None
