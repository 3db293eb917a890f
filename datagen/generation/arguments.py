"""Arguments: the inputs of a tool as parts of a request; an amount and its currency are one argument."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from datagen.generation.data_files import word_classes
from datagen.generation.lexicon import Field, Lexicon, Noun
from ingest.linking import CanonicalNames, ToolProfile, type_family
from ontology.names import noun_lemma, words
from ontology.tool import Parameter, Tool

__all__ = ["Argument", "arguments_of", "canonical", "in_words"]

_WORDS = word_classes("arguments")
_QUOTED_VALUE = re.compile(r"`([a-z][a-z_ -]{1,20})`")
_ENUMERATION = re.compile(r"\b(?:either|one of|valid (?:types|values)|options are|allowed)\b", re.I)
_MAX_ARGUMENTS = 14
_MAX_DESCRIBED_CHOICES = 6
_MAX_CHOICE_CHARS = 24
_MIN_CONFIDENCE = 0.5
_OBJECT_TYPES = ("object", "dict", "map", "structure")
_LONG_NUMBERS = ("###", "####", "#####", "@-###", "@#####", "@@-####", "@@-###")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Argument:
    """One value that a request can state for a tool.

    :param names: the inputs that the value fills, the most specific first.
    :param noun: the thing that an identifier identifies, or None for plain values.
    :param field: the phrases of a plain value, or None.
    :param choices: the values that its document allows, in words; empty where any value is allowed.
    :param role: ``id``, ``decision``, ``state``, ``choice``, ``text`` or ``value``.
    :param many: whether it takes a list.
    :param label: the name of the input in words (``due date``), or empty.
    :param pattern: the pattern of an identifier's numbers.
    """

    names: tuple[str, ...]
    required: bool
    role: str
    noun: Noun | None = None
    field: Field | None = None
    choices: tuple[str, ...] = ()
    many: bool = False
    label: str = ""
    pattern: str = ""

    @property
    def kind(self) -> str:
        """The kind of its plain value, or empty."""
        return self.field.kind if self.field is not None else ""


def arguments_of(tool: Tool, profile: ToolProfile, lexicon: Lexicon, names: CanonicalNames) -> tuple[Argument, ...]:
    """The arguments of a tool in the order of its inputs, without inputs that never stand in a request."""
    entities = {
        value.parameter: value.key[0]
        for value in profile.consumes
        if value.identifier and value.confidence >= _MIN_CONFIDENCE and value.key[0] not in ("session", "token")
    }
    required = {parameter.name: parameter.required for parameter in tool.parameters}
    found: list[Argument] = []
    taken = {parameter.name for parameter in tool.parameters if _is_structure(parameter, tool)}
    for parameter in tool.parameters:
        if parameter.name in taken:
            continue
        taken.add(parameter.name)
        needed = _is_required(parameter.name, required)
        if "." in parameter.name and "[]" in parameter.name and not needed:
            continue
        entity = _identified(parameter, entities.get(parameter.name, ""), lexicon, names)
        argument = _argument(parameter, entity, lexicon, required=needed)
        if argument is None:
            continue
        if argument.kind in ("money", "small", "pay"):
            currency = _currency_of(parameter, tool)
            taken.update(currency)
            argument = replace(argument, names=(parameter.name, *currency))
        found.append(argument)
    return tuple(found[:_MAX_ARGUMENTS])


def canonical(name: str) -> str:
    """The words of an input's last segment, nouns in the singular; of an amount the words of the segment before it."""
    segments = name.replace("[]", "").split(".")
    tokens = words(segments[-1])
    if len(segments) > 1 and tokens in (["amount"], ["value"], ["min"], ["max"]):
        tokens = words(segments[-2])
    return " ".join(noun_lemma(token) for token in tokens)


def in_words(value: str) -> str:
    """An allowed value in words: ``on_hold`` → ``on hold``; short codes in capitals stay."""
    return value if value.isupper() and len(value) <= 4 else " ".join(words(value))


def _number_pattern(noun: Noun | None, key: str) -> str:
    """The pattern of this thing's numbers: the lexicon's, else one that depends on the key alone."""
    if noun is not None and noun.number:
        return noun.number
    digest = hashlib.sha256(key.encode()).digest()
    letters = "".join(word[0] for word in key.split() if word)[:2].upper() or "N"
    return _LONG_NUMBERS[digest[0] % len(_LONG_NUMBERS)].replace("@@", letters).replace("@", letters)


def _identified(parameter: Parameter, entity: str, lexicon: Lexicon, names: CanonicalNames) -> str:
    """The entity that an input identifies: that of the linker, or a thing with a number whose name the input has."""
    last = parameter.name.replace("[]", "").rsplit(".", 1)[-1]
    if words(last)[-1:] == ["reference"] or parameter.enum:
        return ""
    if entity or type_family(parameter.type) not in ("string", "array", "integer"):
        return entity
    name = names.canonical(last).replace(" lots", " lot")
    noun = lexicon.nouns.get(name)
    return name if noun is not None and noun.number and lexicon.field(canonical(parameter.name)) is None else ""


def _argument(parameter: Parameter, entity: str, lexicon: Lexicon, *, required: bool) -> Argument | None:
    name = canonical(parameter.name)
    if not name or _WORDS["secrets"].intersection(name.split()) or (lexicon.is_skipped(name) and not entity):
        return None
    argument = Argument(
        names=(parameter.name,),
        required=required,
        role="id",
        many=type_family(parameter.type) == "array",
        label=_label(name),
    )
    noun = lexicon.noun(entity) if entity else None
    if noun is not None:
        return replace(argument, noun=noun, pattern=_number_pattern(noun, entity))
    field = _place_field(parameter, name) or lexicon.field(name)
    return _plain(replace(argument, field=field, choices=_choices(parameter)), parameter, name)


def _plain(argument: Argument, parameter: Parameter, name: str) -> Argument | None:
    """An argument that identifies nothing, with its role; None where its value cannot be stated."""
    last, family, field = name.split()[-1], type_family(parameter.type), argument.field
    if last in _WORDS["decisions"] and (argument.choices or family == "boolean"):
        return replace(argument, role="decision", choices=argument.choices or ("approve", "reject"))
    if argument.choices:
        return replace(argument, role="state" if last in _WORDS["states"] else "choice")
    if family == "boolean":
        return replace(argument, role="value") if argument.kind == "flag" else None
    if field is None or (family in ("integer", "number") and field.kind in _WORDS["worded_kinds"]):
        field = _field_by_type(parameter, name)
        return replace(argument, role="value", field=field) if field is not None else None
    return replace(argument, role="text" if field.kind in ("thing", "topic") else "value")


def _place_field(parameter: Parameter, name: str) -> Field | None:
    """The field of ``from`` and ``to`` where they are places, not dates and not currencies."""
    is_date = parameter.format in ("date", "date-time")
    if name not in ("from", "to") or is_date or type_family(parameter.type) != "string":
        return None
    description = parameter.description.lower()
    if "date" in description or "mail" in description:
        return None
    return Field(kind="city", phrases=(f"{name} {{v}}",), label="place")


def _field_by_type(parameter: Parameter, name: str) -> Field | None:
    """The field of an input that the lexicon does not have, by its type and its label; None where it has no label."""
    label, kind = _label(name), _kind_by_type(parameter, name)
    if not label or not kind:
        return None
    if kind == "date" and label.split()[-1] in _WORDS["moments"]:
        event = label.split()[0]
        return Field(kind=kind, phrases=("on {v}",), label=f"date it {event}" if event.endswith("ed") else "date")
    return Field(kind=kind, phrases=(f"with {{v}} as the {label}", f"with the {label} {{v}}"), label=label)


def _kind_by_type(parameter: Parameter, name: str) -> str:
    family = type_family(parameter.type)
    if parameter.format in ("date", "date-time") or family == "time" or "date" in name.split():
        return "date"
    if parameter.format in ("email", "uri", "url"):
        return "email" if parameter.format == "email" else "url"
    if family in ("integer", "number"):
        return "count"
    if family == "string":
        return "docnum" if name.split()[-1] in _WORDS["numbered"] else "title"
    return ""


def _label(name: str) -> str:
    tokens = [word for word in name.split() if word not in _WORDS["unlabelled"]]
    return " ".join(tokens) if len(tokens) <= 3 and all(word.isalpha() and word.isascii() for word in tokens) else ""


def _choices(parameter: Parameter) -> tuple[str, ...]:
    """The allowed values: those of the schema, else those that a description lists: "either `artist` or `user`"."""
    values = list(parameter.enum)
    if not values and _ENUMERATION.search(parameter.description):
        values = _QUOTED_VALUE.findall(parameter.description)[:_MAX_DESCRIBED_CHOICES]
    readable = (in_words(value) for value in values)
    return tuple(dict.fromkeys(one for one in readable if 1 < len(one) <= _MAX_CHOICE_CHARS or one.isdigit()))


def _is_required(name: str, required: Mapping[str, bool]) -> bool:
    """Whether a value is required: of a nested input, whether all inputs above it are required too."""
    if not required[name]:
        return False
    while "." in name:
        name = name.rsplit(".", 1)[0]
        if not required.get(name.removesuffix("[]"), required.get(name, True)):
            return False
    return True


def _is_structure(parameter: Parameter, tool: Tool) -> bool:
    nested = (f"{parameter.name}.", f"{parameter.name}[].")
    return parameter.type.lower().startswith(_OBJECT_TYPES) or any(
        other.name.startswith(nested) for other in tool.parameters
    )


def _currency_of(parameter: Parameter, tool: Tool) -> tuple[str, ...]:
    """The input for the currency of an amount, if there is one."""
    above = parameter.name.rpartition(".")[0]
    beside = [other.name for other in tool.parameters if other.name.rpartition(".")[0] == above]
    return tuple(name for name in beside if canonical(name) == "currency")[:1]
