"""Read an overlay file (``overlay.yaml``). All faults of a file are reported at once, each with its line and its remedy."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypeAlias

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, PlainValidator, ValidationError
from pydantic_core import ErrorDetails, PydanticCustomError

from ingest.sources.yaml_nodes import compose_file
from ontology.errors import OverlayFileError
from ontology.names import canonical_name, words
from ontology.ontology import Fault
from ontology.redaction import redact_document_text

MAX_BOOST = 1.0
"""Largest boost, in standard deviations of the scores; chosen, not tuned: a boost may decide between tools that are close."""
_MAX_ALIAS_WORDS = 3  # requests are matched with names of up to three words
_MAX_DEPTH, _MAX_VALUES = 20, 200_000  # of a file, with what its anchors stand for written out
_SNIFFED_BYTES = 2**20


class Located(str):
    """A text of the file; ``origin`` is its place, ``overlay.yaml:12``."""

    origin: str = ""


def _fault(problem: str, remedy: str = "") -> PydanticCustomError:
    """A fault of a value; ``{}`` in the problem stands for what the value is."""
    return PydanticCustomError("fault", "fault", {"problem": problem, "remedy": remedy})


def _text(value: Any) -> Located:
    """A text that will be shown and kept: a secret in it is a fault."""
    if not isinstance(value, Located):
        raise _fault("{} must be a text")
    if not value:
        raise _fault("{} is empty", "write a text, or leave the key out")
    if redact_document_text(value) != value:
        raise _fault("{} looks like a secret", "leave it out: it is shown and kept")
    return value


def _alias(value: Any) -> Located:
    if not 1 <= len(words(_text(value))) <= _MAX_ALIAS_WORDS:
        raise _fault(f"the alias {str(value)!r} does not have 1 to 3 words", "requests match names of up to 3")
    return _text(value)


def _flag(value: Any) -> bool:
    if str(value).lower() not in ("true", "false"):
        raise _fault("{} must be true or false")
    return str(value).lower() == "true"


def _boost(value: Any) -> float:
    try:
        boost = float(_text(value))
    except ValueError:
        boost = MAX_BOOST + 1
    if not -MAX_BOOST <= boost <= MAX_BOOST:
        raise _fault(f"{{}} must be a number from {-MAX_BOOST:g} to {MAX_BOOST:g}", "write boost: 0.5")
    return boost


def _refuse_requests(value: Any) -> Any:  # of earlier versions
    remedy = "write the words that people use into append_description, which is ranked by"
    raise _fault("a tool has requests, which were shown and not ranked by", remedy)


def _tool_alone(value: Any) -> Any:
    return {"tool": value} if isinstance(value, Located) else value


_Text: TypeAlias = Annotated[Located, PlainValidator(_text)]
_Flag: TypeAlias = Annotated[bool, PlainValidator(_flag)]
_NOTHING = Located()


class _Rules(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _Texts(_Rules):
    description: _Text = _NOTHING
    append_description: _Text = _NOTHING


class ParameterRule(_Texts):
    """New texts of an input or output; empty ones change nothing, ``append_description`` stands after the description."""

    example: _Text = _NOTHING


class Requirement(_Rules):
    """Another tool that must be called first.

    :param tool: its id, or its name in the same namespace.
    :param parameter: the input that it fills, or empty.
    :param output: its output that fills it, or empty.
    :param required: False where the tool can also be called without it.
    """

    tool: _Text
    parameter: _Text = _NOTHING
    output: _Text = _NOTHING
    required: _Flag = True


class Precondition(_Rules):
    """A state that another tool brings about."""

    tool: _Text
    state: _Text


class ToolRule(_Texts):
    """What is said of the tools that a pattern matches: ids and names of tools, and ids without the namespace. None: nothing is said.

    :param boost: standard deviations of the scores that are added to a candidate's score, in [-1, 1].
    :param parameters: input → its new texts; likewise ``returns``.
    """

    hidden: _Flag | None = None
    deprecated: _Flag | None = None
    boost: Annotated[float | None, PlainValidator(_boost)] = None
    title: _Text = _NOTHING
    parameters: dict[_Text, ParameterRule] = {}
    returns: dict[_Text, ParameterRule] = {}
    depends_on: tuple[Annotated[Requirement, BeforeValidator(_tool_alone)], ...] = ()
    preconditions: tuple[Precondition, ...] = ()
    requests: Annotated[None, BeforeValidator(_refuse_requests)] = None


class NamespaceRules(_Rules):
    """What is said of the namespaces that a pattern matches.

    :param synonyms: name → the name that replaces it.
    :param context_parameters: inputs that name the surroundings of a call.
    :param not_context_parameters: inputs that do not, whatever their frequency says.
    :param tools: pattern, as :mod:`fnmatch` reads it → rule.
    """

    synonyms: dict[_Text, _Text] = {}
    context_parameters: tuple[_Text, ...] = ()
    not_context_parameters: tuple[_Text, ...] = ()
    tools: dict[_Text, ToolRule] = {}


class _File(_Rules):
    systems: dict[_Text, tuple[Annotated[Located, PlainValidator(_alias)], ...]] = {}
    namespaces: dict[_Text, NamespaceRules] = {}


class Overlay(_File):
    """The content of one overlay file: aliases of systems, and rules by a pattern of namespaces.

    :param name: of the file, without its folder.
    :param sha256: of its bytes, hexadecimal.
    """

    name: str = ""
    sha256: str = ""


_OF_CONTAINERS: dict[object, type[_Rules]] = {
    "namespaces": NamespaceRules,
    "tools": ToolRule,
    "parameters": ParameterRule,
    "returns": ParameterRule,
    "depends_on": Requirement,
    "preconditions": Precondition,
}


class CheckedOverlay(NamedTuple):
    """An overlay without faults, or None and the faults, sorted by line."""

    overlay: Overlay | None
    faults: list[Fault]


def is_overlay_file(path: Path) -> bool:
    """Whether a file is YAML with the top-level key ``namespaces`` or ``systems``; False for what is no regular file."""
    if path.suffix.lower() not in {".yaml", ".yml"} or not path.is_file():
        return False
    try:
        with path.open("rb") as handle:
            text = handle.read(_SNIFFED_BYTES)
    except OSError:
        return False
    return re.search(rb"^(?:\xef\xbb\xbf)?[\"']?(?:namespaces|systems)[\"']?\s*:", text, re.MULTILINE) is not None


def load_overlays(paths: Sequence[Path]) -> tuple[Overlay, ...]:
    """Read overlay files, in this order.

    :raises OverlayFileError: when a file has faults; the problem lists each with its line.
    """
    overlays = []
    for path in paths:
        overlay, faults = check_overlay(path)
        if overlay is None:
            listed = "; ".join(map(str, faults))
            raise OverlayFileError(f"{len(faults)} fault(s): {listed}", subject=str(path), remedy="Correct these lines")
        overlays.append(overlay)
    return tuple(overlays)


def check_overlay(path: Path) -> CheckedOverlay:
    """Read an overlay file, and report all its faults."""
    root = compose_file(path)
    if isinstance(root, Fault):
        return CheckedOverlay(None, [root])
    reader = _Reader(path.name)
    try:
        values = reader.plain(root, ())
        reader.faults += _faults_between(values)
        overlay = Overlay.model_validate(values)
    except ValidationError as error:
        reader.faults += map(reader.fault_of, error.errors())
    except OverflowError as error:
        reader.faults = [Fault(1, str(error), "write what its anchors stand for out")]
    if reader.faults:  # none shows a secret that the file has
        shown = {Fault(one.line, redact_document_text(one.problem), one.remedy) for one in reader.faults}
        return CheckedOverlay(None, sorted(shown))
    named = {"name": path.name, "sha256": hashlib.sha256(path.read_bytes()).hexdigest()}
    return CheckedOverlay(overlay.model_copy(update=named), [])


class _Reader:
    """Makes plain values of YAML nodes; the texts know their lines."""

    def __init__(self, file: str) -> None:
        self.faults: list[Fault] = []
        self._file = file
        self._lines: dict[tuple[object, ...], int] = {}
        self._left = _MAX_VALUES

    def plain(self, node: yaml.Node, place: tuple[object, ...]) -> Any:
        """Return the value of a node; all scalars are texts.

        :raises OverflowError: when the file is too large or too deep with its anchors written out.
        """
        self._left -= 1
        if self._left < 0 or len(place) > _MAX_DEPTH:
            raise OverflowError("the file is too large or too deep with its anchors written out")
        self._lines.setdefault(place, node.start_mark.line + 1)
        if isinstance(node, yaml.SequenceNode):
            return [self.plain(item, (*place, number)) for number, item in enumerate(node.value)]
        if isinstance(node, yaml.ScalarNode):
            return self._located("" if node.tag == "tag:yaml.org,2002:null" else node.value, node)
        values: dict[Located, Any] = {}
        for key, value in node.value:
            name = self._located(key.value if isinstance(key, yaml.ScalarNode) else "<<", key)
            if name == "<<" or name in values:
                problem = f"has the key {str(name)!r} twice" if name in values else f"has an unknown key {str(name)!r}"
                remedy = "keep one of them" if name in values else "write its entries out"
                self.faults.append(Fault(key.start_mark.line + 1, f"{_what(place)} {problem}", remedy))
            else:
                self._lines[*place, name] = key.start_mark.line + 1
                values[name] = self.plain(value, (*place, name))
        return values

    def _located(self, text: object, node: yaml.Node) -> Located:
        located = Located(str(text).strip())
        located.origin = f"{self._file}:{node.start_mark.line + 1}"
        return located

    def fault_of(self, error: ErrorDetails) -> Fault:
        """Return an error of pydantic in the words of the file."""
        loc = tuple(step for step in error["loc"] if step != "[key]")
        line = next(self._lines[loc[:end]] for end in range(len(loc), -1, -1) if loc[:end] in self._lines)
        what, key, container = _what(loc), loc[-1] if loc else "", loc[-3] if len(loc) > 2 else ""
        match error["type"]:
            case "fault":
                problem = error["ctx"]["problem"]
                return Fault(line, problem.replace("{}", what), error["ctx"]["remedy"])
            case "extra_forbidden":
                known = _OF_CONTAINERS.get(container, _File).model_fields.keys() - {"requests"}
                return Fault(
                    line, f"{_what(loc[:-1])} has an unknown key {key!r}", f"known: {', '.join(sorted(known))}"
                )
            case "missing":
                return Fault(line, f"{_what(loc[:-1])} has no {key}", f"add `{key}: …`")
            case "tuple_type":
                return Fault(line, f"{what} must be a list", "write [one, two]")
            case _:
                return Fault(line, f"{what} must be a mapping", "write `key: value`")


def _what(loc: tuple[object, ...]) -> str:
    if not loc:
        return "the file"
    if isinstance(loc[-1], int):
        return f"an item of {loc[-2]}"
    return (
        f"{loc[-2]}.{loc[-1]}" if len(loc) > 1 and loc[-2] in (*_OF_CONTAINERS, "systems", "synonyms") else str(loc[-1])
    )


def _faults_between(values: Any) -> Iterator[Fault]:
    """Yield the faults of synonyms and context parameters that are seen only beside the others of their namespace."""

    def part(value: Any, key: str, of: type) -> Any:
        found = value.get(key) if isinstance(value, dict) else None
        return found if isinstance(found, of) else of()

    def fault(text: Located, problem: str, remedy: str) -> Fault:
        return Fault(int(text.origin.rpartition(":")[2]), problem, remedy)

    for rules in part(values, "namespaces", dict).values():
        synonyms = [
            (old, new) for old, new in part(rules, "synonyms", dict).items() if isinstance(new, Located) and new
        ]
        replaced = {canonical_name(old) for old, _ in synonyms}
        for old, new in synonyms:
            names = canonical_name(old), canonical_name(new)
            if not all(names):
                yield fault(new, "a synonym has a name without letters", "write NAME: NAME")
            elif names[0] == names[1]:
                yield fault(new, f"{str(old)!r} and {str(new)!r} are one name already", "leave it out")
            elif names[1] in replaced:
                problem, remedy = f"{str(new)!r} is itself replaced by another name", "write the last name of the chain"
                yield fault(new, problem, remedy)
        context = part(rules, "context_parameters", list)
        for one in part(rules, "not_context_parameters", list):
            if one in context and isinstance(one, Located):
                yield fault(one, f"{str(one)!r} is also in context_parameters", "keep it in one")
