"""Files of YAML that people write, read into models: all faults of a file at once, each with its line and its remedy."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Generic, NamedTuple, TypeAlias, TypeVar, Union, get_args, get_origin

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, PlainValidator, ValidationError
from pydantic_core import ErrorDetails, PydanticCustomError

from ontology.errors import EgotoolsError
from ontology.files import YamlLoader

_MAX_BYTES = 2**20
_MAX_DEPTH, _MAX_VALUES = 20, 200_000  # of a file, with what its anchors stand for written out
_Place: TypeAlias = tuple[object, ...]
_Model = TypeVar("_Model")
_Rows = TypeVar("_Rows", bound="Rows")


@dataclass(frozen=True, slots=True, order=True)
class Fault:
    """One fault of a file; ``line`` counts from 1."""

    line: int
    problem: str
    remedy: str = ""

    def __str__(self) -> str:
        return f"line {self.line}: {self.problem}" + (f" ({self.remedy})" if self.remedy else "")


class Located(str):
    """A text of a file, with its ``line`` from 1, its ``origin`` (``overlay.yaml:12``), and the ``key`` whose value it is, or empty."""

    line: int = 0
    origin: str = ""
    key: str = ""


def value_fault(problem: str, remedy: str = "") -> PydanticCustomError:
    """The fault of a value, which validators of a model raise; ``{}`` in the problem stands for what the value is."""
    return PydanticCustomError("fault", "fault", {"problem": problem, "remedy": remedy})


def gone(remedy: str, problem: str = "{} is gone") -> BeforeValidator:
    """Of a key that a model no longer has: the fault that says what takes its place."""

    def refuse(_: Any) -> Any:
        raise value_fault(problem, remedy)

    return BeforeValidator(refuse)


def text(value: Any) -> Located:
    """Validate a text that is not empty."""
    if not isinstance(value, Located):
        raise value_fault("{} must be a text")
    if not value:
        raise value_fault("{} is empty", "write a text, or leave the key out")
    return value


Text: TypeAlias = Annotated[Located, PlainValidator(text)]
"""A text that is not empty, with its place."""


class Rows(BaseModel):
    """The base of models of files: a key that the model does not have is a fault."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Checked(NamedTuple, Generic[_Model]):
    """What a file without faults says, or None and the faults, sorted by line."""

    model: _Model | None
    faults: list[Fault]


def read_model(
    path: Path,
    model: type[_Rows],
    *,
    between: Callable[[Any], Iterable[Fault]] = lambda values: (),
) -> Checked[_Rows]:
    """Read a file of at most 1 MiB into a model. All its scalars are :class:`Located` texts; ``null`` is an empty one.

    :param between: yields what is wrong between values, which are dicts, lists and texts of any form.
    """
    root = compose_file(path)
    if isinstance(root, Fault):
        return Checked(None, [root])
    reader = _Reader(path.name, model)
    try:
        values = reader.plain(root, ())
        reader.faults += between(values)
        made = model.model_validate(values)
    except ValidationError as error:
        reader.faults += map(reader.fault_of, error.errors(include_url=False))
    except OverflowError as error:
        reader.faults = [Fault(1, str(error), "write what its anchors stand for out")]
    return Checked(None, sorted(reader.faults)) if reader.faults else Checked(made, [])


def accepted(model: _Model | None, faults: Sequence[Fault], error: type[EgotoolsError], path: Path) -> _Model:
    """Return what a file says; raise the error where it has faults, whose problem lists each with its line."""
    if model is None or faults:
        problem = f"{len(faults)} fault(s): {'; '.join(map(str, faults))}"
        raise error(problem, subject=str(path), remedy="Correct these lines")
    return model


def has_top_key(path: Path, *keys: str) -> bool:
    """Whether a file is YAML with one of these keys at the top of its first MiB; False for what is no regular file."""
    if path.suffix.lower() not in {".yaml", ".yml"} or not path.is_file():
        return False
    try:
        with path.open("rb") as handle:
            start = handle.read(_MAX_BYTES)
    except OSError:
        return False
    named = rf"^(?:\xef\xbb\xbf)?[\"']?(?:{'|'.join(keys)})[\"']?\s*:".encode()
    return re.search(named, start, re.MULTILINE) is not None


def compose_file(path: Path) -> yaml.Node | Fault:
    """Return the root node of a YAML file of at most 1 MiB, or its fault. Nothing is expanded or constructed."""
    try:
        if not path.is_file():  # a pipe could be read without end
            return Fault(1, "there is no such file")
        if path.stat().st_size > _MAX_BYTES:
            return Fault(1, f"the file is larger than {_MAX_BYTES} bytes")
        reader = YamlLoader(path.read_text(encoding="utf-8-sig"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        return Fault(1, f"the file cannot be read: {type(error).__name__}", "Save it as UTF-8")
    try:
        root: yaml.Node | None = reader.get_single_node()
    except yaml.MarkedYAMLError as error:
        return Fault(error.problem_mark.line + 1 if error.problem_mark else 1, f"invalid YAML: {error.problem}")
    except yaml.YAMLError as error:
        return Fault(1, f"invalid YAML: {error}")
    finally:
        reader.dispose()
    return root if root is not None else Fault(1, "the file is empty")


class _Reader:
    """Makes plain values of YAML nodes, and faults of errors of their model."""

    def __init__(self, file: str, model: type[Rows]) -> None:
        self.faults: list[Fault] = []
        self._file, self._model = file, model
        self._lines: dict[_Place, int] = {}
        self._left = _MAX_VALUES

    def plain(self, node: yaml.Node, place: _Place) -> Any:
        """Return the value of a node; OverflowError for a file that is too large or too deep without its anchors."""
        self._left -= 1
        if self._left < 0 or len(place) > _MAX_DEPTH:
            raise OverflowError("the file is too large or too deep with its anchors written out")
        self._lines.setdefault(place, node.start_mark.line + 1)
        if isinstance(node, yaml.SequenceNode):
            return [self.plain(item, (*place, number)) for number, item in enumerate(node.value)]
        if isinstance(node, yaml.ScalarNode):
            value = "" if node.tag == "tag:yaml.org,2002:null" else node.value
            return self._located(value, node, place[-1] if place else "")
        values: dict[Located, Any] = {}
        for key, value in node.value:
            name = self._located(key.value if isinstance(key, yaml.ScalarNode) else "<<", key)
            if name == "<<" or name in values:
                problem = f"has the key {str(name)!r} twice" if name in values else f"has an unknown key {str(name)!r}"
                remedy = "keep one of them" if name in values else "write its entries out"
                self.faults.append(Fault(name.line, f"{_what(place)} {problem}", remedy))
            else:
                self._lines[*place, name] = name.line
                values[name] = self.plain(value, (*place, name))
        return values

    def _located(self, value: str, node: yaml.Node, key: object = "") -> Located:
        located = Located(value.strip())
        located.line = node.start_mark.line + 1
        located.origin = f"{self._file}:{located.line}"
        located.key = key if isinstance(key, str) else ""
        return located

    def fault_of(self, error: ErrorDetails) -> Fault:
        """Return an error of pydantic in the words of the file."""
        loc = tuple(step for step in error["loc"] if step != "[key]")
        line = next(self._lines[loc[:end]] for end in range(len(loc), -1, -1) if loc[:end] in self._lines)
        what, around, key = _what(loc), _what(loc[:-1]), loc[-1] if loc else ""
        match error["type"]:
            case "fault":
                return Fault(line, error["ctx"]["problem"].replace("{}", what), error["ctx"]["remedy"])
            case "extra_forbidden":
                known = ", ".join(sorted(_fields(self._model, loc[:-1])))
                return Fault(line, f"{around} has an unknown key {key!r}", f"known: {known}")
            case "missing" | "too_short":
                return Fault(line, f"{around} has no {key}", f"add `{key}: …`")
            case "tuple_type":
                return Fault(line, f"{what} must be a list", "write [one, two]")
            case "dict_type" | "model_type":
                return Fault(line, f"{what} must be a mapping", "write `key: value`")
            case _:
                return Fault(line, f"{what}: {error['msg']}")


def _what(loc: _Place) -> str:
    """What stands at a place, as faults name it: ``tools.list_bugs``."""
    if not loc:
        return "the file"
    if isinstance(loc[-1], int):
        return f"an item of {loc[-2]}"
    return ".".join(str(step) for step in loc[-2:] if not isinstance(step, int))


def _fields(kind: Any, loc: _Place) -> Iterable[str]:
    """The keys that a mapping at a place of a model may have."""
    for step in loc:
        kind = _plain_type(kind)
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            kind = kind.model_fields[str(step)].annotation
        else:
            kind = get_args(kind)[1 if get_origin(kind) in (dict, Mapping) else 0]
    fields = _plain_type(kind).model_fields.items()
    return (name for name, field in fields if field.annotation is not type(None))  # without those that are gone


def _plain_type(kind: Any) -> Any:
    """A type without ``Annotated`` and ``None``."""
    while get_origin(kind) in (Annotated, Union, UnionType):
        kind = next(each for each in get_args(kind) if each is not type(None))
    return kind
