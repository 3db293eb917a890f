"""The outputs of a tool that a condition can test."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from datagen.generation.arguments import UNITS_OF_TIME, canonical, in_words
from datagen.generation.data_files import read_data, word_classes
from datagen.output_kinds import output_kind
from ontology.names import is_noun, words
from ontology.tool import Parameter, Tool

__all__ = ["ConditionOutput", "condition_outputs"]

_WORDS = word_classes("condition_outputs")
_LABELS: Mapping[str, str] = read_data("word_classes")["output_labels"]
_MAX_LABEL_WORDS = 4  # words


@dataclass(frozen=True, slots=True, kw_only=True)
class ConditionOutput:
    """An output that a condition can test.

    :param kind: ``money``, ``rate``, ``count``, ``date``, ``state`` or ``flag``.
    :param label: its everyday name.
    :param choices: the states that its document allows, in words; empty where any is allowed.
    """

    name: str
    kind: str
    label: str
    choices: tuple[str, ...] = ()


def condition_outputs(tool: Tool) -> tuple[ConditionOutput, ...]:
    """The outputs of a tool that a condition can test, one for each label; those inside of lists are left out."""
    found: dict[str, ConditionOutput] = {}
    listed = any("[]" in output.name.removeprefix("value[]").removeprefix("[]") for output in tool.returns)
    for output in tool.returns:
        path = output.name.removeprefix("value[].").removeprefix("[].")
        name = canonical(path)
        kind = _kind(output, path, name) if "[]" not in path and path.count(".") <= 1 else ""
        if kind and not (listed and name in _WORDS["counts"]):
            label = name.split()[-1] if kind == "flag" else _LABELS.get(name, _with_unit(name, output.name))
            said = (in_words(value) for value in output.enum) if kind == "state" else ()
            choices = tuple(choice for choice in said if choice)  # one of blanks or signs is in no word
            found.setdefault(label, ConditionOutput(name=output.name, kind=kind, label=label, choices=choices))
    return tuple(found.values())


def _with_unit(label: str, name: str) -> str:
    """The label of an output; a unit of time at its end keeps its plural: ``total hours``."""
    last = words(name)[-1:]
    return " ".join([*label.split()[:-1], *last]) if last and last[0] in UNITS_OF_TIME else label


def _kind(output: Parameter, path: str, name: str) -> str:
    """The kind of an output; empty where no condition can test it."""
    last = name.split()[-1] if name else ""
    if not name or (last in _WORDS["untestable"] and not output.enum and name not in _LABELS):
        return ""
    kind, readable = output_kind(output, last), _is_readable(_LABELS.get(name, name))
    if kind == "flag":
        return "flag" if last in _WORDS["flags"] else ""
    if kind == "time":
        return "date" if readable or last in ("until", "to") else ""
    if kind != "number" or not readable:
        return kind if kind == "state" else ""
    if last in _WORDS["stamps"]:
        return ""
    if path.endswith(".amount") or last in _WORDS["amounts"]:
        return "money"
    return "rate" if _WORDS["rates"].intersection(name.split()) else "count"


def _is_readable(label: str) -> bool:
    words = label.split()
    return len(words) <= _MAX_LABEL_WORDS and all(w.isalpha() and w.isascii() for w in words) and is_noun(words[-1])
