"""Arguments: the inputs of a tool as things people say, grouped (an amount with its currency is said as one)."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from datagen.generation.lexicon import Field, Lexicon, Noun
from ingest.linking import CanonicalNames, ToolProfile, type_family
from ontology.names import noun_lemma, words
from ontology.tool import Parameter, Tool

__all__ = ["Argument", "arguments_of", "canonical", "in_words", "number_pattern"]

_DECISIONS = frozenset("decision action approve approved outcome verdict usage".split())
_STATES = frozenset("status state answer".split())
_WORDY = frozenset("job title thing topic message name person company remark city tag code kind".split())
_NUMBERED = frozenset("id key code number arn handle document item element group".split())
_QUOTED = re.compile(r"`([a-z][a-z_ -]{1,20})`")
_SECRETS = frozenset("session token password secret".split())
_CURRENCY = frozenset(("currency",))
_MOMENTS = frozenset("at on time".split())
_MAX_ARGUMENTS = 14
_OBJECTS = ("object", "dict", "map", "structure")
_LONG_NUMBERS = ("###", "####", "#####", "@-###", "@#####", "@@-####", "@@-###")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Argument:
    """One thing to be said for a tool.

    :param names: the inputs that one phrase fills, the most telling first.
    :param noun: what an identifier identifies, or None for plain values.
    :param field: how a plain value is said, or None.
    :param choices: the values that its document allows, in words; empty where any goes.
    :param role: ``id``, ``decision``, ``state``, ``choice``, ``text`` or ``value``.
    :param label: what people call the input itself (``due date``), or empty.
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


def arguments_of(tool: Tool, profile: ToolProfile, lexicon: Lexicon, names: CanonicalNames) -> tuple[Argument, ...]:
    """The arguments of a tool in the order of its inputs; what no one would say is left out."""
    ids = {
        need.parameter: need.key[0]
        for need in profile.consumes
        if need.identifier and need.confidence >= 0.5 and need.key[0] not in ("session", "token")
    }
    structures = {parameter.name for parameter in tool.parameters if _is_structure(parameter, tool)}
    found: list[Argument] = []
    taken: set[str] = set()
    for parameter in tool.parameters:
        if parameter.name in taken or parameter.name in structures:
            continue
        taken.add(parameter.name)
        required = _required(parameter, tool)
        if "." in parameter.name and "[]" in parameter.name and not required:
            continue
        entity = _identified(parameter, ids.get(parameter.name, ""), lexicon, names)
        argument = _argument(parameter, entity, lexicon, required)
        if argument is None:
            continue
        if argument.field is not None and argument.field.kind in ("money", "small", "pay"):
            partner = _currency_of(parameter, tool)
            taken.update(partner)
            argument = _renamed(argument, (parameter.name, *partner))
        found.append(argument)
    return tuple(found[:_MAX_ARGUMENTS])


def canonical(name: str) -> str:
    """The words of an input's last segment, nouns in the singular; an amount's are those of what it is the amount of."""
    segments = name.replace("[]", "").split(".")
    tokens = words(segments[-1])
    if len(segments) > 1 and tokens in (["amount"], ["value"], ["min"], ["max"]):
        tokens = words(segments[-2])
    return " ".join(noun_lemma(token) for token in tokens)


def in_words(value: str) -> str:
    """An allowed value as people write it: ``on_hold`` → ``on hold``; codes in capitals stay."""
    if value.isupper() and len(value) <= 4:
        return value
    return " ".join(words(value))


def number_pattern(noun: Noun | None, key: str) -> str:
    """How a number of this thing looks: the lexicon's, else one that is always the same for the same thing."""
    if noun is not None and noun.number:
        return noun.number
    digest = hashlib.sha256(key.encode()).digest()
    letters = "".join(word[0] for word in key.split() if word)[:2].upper() or "N"
    return _LONG_NUMBERS[digest[0] % len(_LONG_NUMBERS)].replace("@@", letters).replace("@", letters)


def _identified(parameter: Parameter, entity: str, lexicon: Lexicon, names: CanonicalNames) -> str:
    """What an input identifies: what the linker found, or a thing with a number that it is called as."""
    last = parameter.name.replace("[]", "").rsplit(".", 1)[-1]
    tokens = words(last)
    if tokens[-1:] == ["reference"] or parameter.enum:
        return ""
    if entity or type_family(parameter.type) not in ("string", "array", "integer"):
        return entity
    called = names.canonical(last).replace(" lots", " lot")
    noun = lexicon.nouns.get(called)
    return called if noun is not None and noun.number and lexicon.field(canonical(parameter.name)) is None else ""


def _argument(parameter: Parameter, entity: str, lexicon: Lexicon, required: bool) -> Argument | None:
    name = canonical(parameter.name)
    if not name or _SECRETS.intersection(name.split()) or (lexicon.is_unsaid(name) and not entity):
        return None
    many = type_family(parameter.type) == "array"
    noun = lexicon.noun(entity) if entity else None
    if noun is not None:
        return Argument(
            names=(parameter.name,),
            required=required,
            role="id",
            noun=noun,
            many=many,
            label=_label(name),
            pattern=number_pattern(noun, entity),
        )
    choices = _choices(parameter)
    last = name.split()[-1]
    field = _ends(parameter, name) or lexicon.field(name)
    if last in _DECISIONS and (choices or type_family(parameter.type) == "boolean"):
        role, choices = "decision", choices or ("approve", "reject")
    elif last in _STATES and choices:
        role = "state"
    elif choices:
        role = "choice"
    elif type_family(parameter.type) == "boolean":
        role = "value"
        if field is None or field.kind != "flag":
            return None
    elif field is None or (type_family(parameter.type) in ("integer", "number") and field.kind in _WORDY):
        field = _by_type(parameter, name)
        role = "value"
        if field is None:
            return None
    else:
        role = "text" if field.kind in ("thing", "topic") else "value"
    return Argument(
        names=(parameter.name,),
        required=required,
        role=role,
        field=field,
        choices=choices,
        many=many,
        label=_label(name),
    )


def _ends(parameter: Parameter, name: str) -> Field | None:
    """``from`` and ``to`` that are no dates: places, unless the tool says currencies."""
    if (
        name not in ("from", "to")
        or parameter.format in ("date", "date-time")
        or type_family(parameter.type) != "string"
    ):
        return None
    said = parameter.description.lower()
    if "date" in said or "mail" in said:
        return None
    return Field(kind="city", say=(f"{name} {{v}}",), noun="place")


def _by_type(parameter: Parameter, name: str) -> Field | None:
    """An input whose name the lexicon does not know is said by its name, where that is words."""
    spoken = _label(name)
    if not spoken:
        return None
    family = type_family(parameter.type)
    if parameter.format in ("date", "date-time") or family == "time" or "date" in name.split():
        kind = "date"
    elif parameter.format == "email":
        kind = "email"
    elif parameter.format in ("uri", "url"):
        kind = "url"
    elif family in ("integer", "number"):
        kind = "count"
    elif family == "string":
        kind = "docnum" if name.split()[-1] in _NUMBERED else "title"
    else:
        return None
    if kind == "date" and spoken.split()[-1] in _MOMENTS:
        return Field(
            kind=kind,
            say=("on {v}",),
            noun=f"date it {spoken.split()[0]}" if spoken.split()[0].endswith("ed") else "date",
        )
    return Field(kind=kind, say=(f"with {{v}} as the {spoken}", f"with the {spoken} {{v}}"), noun=spoken)


def _label(name: str) -> str:
    tokens = [word for word in name.split() if word not in ("id", "new", "uuid", "arn", "iso")]
    return (
        " ".join(tokens)
        if tokens and len(tokens) <= 3 and all(word.isalpha() and word.isascii() for word in tokens)
        else ""
    )


def _choices(parameter: Parameter) -> tuple[str, ...]:
    said = (in_words(value) for value in parameter.enum or _described_choices(parameter))
    return tuple(dict.fromkeys(value for value in said if 1 < len(value) <= 24 or value.isdigit()))


def _described_choices(parameter: Parameter) -> tuple[str, ...]:
    """Values that a description quotes where it says that they are all: "either `artist` or `user`"."""
    if not re.search(
        r"\b(?:either|one of|valid (?:types|values)|options are|allowed)\b", parameter.description, re.IGNORECASE
    ):
        return ()
    return tuple(_QUOTED.findall(parameter.description)[:6])


def _required(parameter: Parameter, tool: Tool) -> bool:
    """Whether it must be said: of a nested input, whether all above it must."""
    required = {other.name: other.required for other in tool.parameters}
    name = parameter.name
    if not required[name]:
        return False
    while "." in name:
        name = name.rsplit(".", 1)[0]
        if not required.get(name.removesuffix("[]"), required.get(name, True)):
            return False
    return True


def _is_structure(parameter: Parameter, tool: Tool) -> bool:
    return any(
        other.name.startswith((f"{parameter.name}.", f"{parameter.name}[].")) for other in tool.parameters
    ) or parameter.type.lower().startswith(_OBJECTS)


def _currency_of(parameter: Parameter, tool: Tool) -> tuple[str, ...]:
    above, _, _ = parameter.name.rpartition(".")
    return tuple(
        other.name
        for other in tool.parameters
        if other.name.rpartition(".")[0] == above and canonical(other.name) in _CURRENCY
    )[:1]


def _renamed(argument: Argument, names: Iterable[str]) -> Argument:
    return replace(argument, names=tuple(names))
