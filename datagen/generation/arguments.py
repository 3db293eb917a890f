"""Arguments: the inputs of a tool as parts of a request; an amount and its currency are one argument."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from datagen.composed_names import has_composed_name, said_collections
from datagen.default_value import has_default
from datagen.generation.common_words import is_plain_word
from datagen.generation.data_files import read_data, word_classes
from datagen.generation.identifier_shape import is_place, shape_in_name, shape_of
from datagen.generation.lexicon import Field, Lexicon, Noun, load_lexicon
from datagen.generation.purpose import GenerationError
from datagen.patterns import load_patterns
from ingest.linking import ToolProfile, type_family
from ontology.names import is_word, noun_lemma, words
from ontology.tool import Parameter, Tool

__all__ = ["UNITS_OF_TIME", "Argument", "arguments_of", "canonical", "in_words", "kind_of_name"]

_WORDS = word_classes("arguments")
_FITTING = word_classes("fitting")
_TECHNICAL = frozenset(read_data("statements")["words"]["technical"].split())
_GENERIC = frozenset(read_data("statements")["words"]["generic"].split()) - {"item", "action", "option", "type"}
_QUOTED_VALUE = re.compile(r"`([a-z][a-z_ -]{1,20})`")
_ENUMERATION = re.compile(r"\b(?:either|one of|valid (?:types|values)|options are|allowed)\b", re.I)
_MAX_ARGUMENTS = 14
_MAX_DESCRIBED_CHOICES = 6
_MAX_CHOICE_CHARS, _MAX_CHOICE_WORDS = 24, 3
_MAX_CHOICES = 20
_MAX_LABEL_WORDS = 2
_MAX_WITHIN = 2
"""Things around a thing that are said with it: the release 12 of the pipeline orders-app in the location eu-west-1. Chosen in view of
the documents of the lists ``google`` and ``google2``."""
_PAGING = load_patterns("paths/words").words("paging")
_SHORT_UNITS = re.compile(r"\b(?:minutes?|hours?)\b", re.I)
_LONG_UNITS = re.compile(r"\b(?:days?|weeks?|months?|years?)\b", re.I)
_ENDS = ".,;:"  # the end of a sentence behind an example of a value, from which its pattern is taken
UNITS_OF_TIME = frozenset(("seconds", "minutes", "hours", "days", "weeks", "months", "years", "ms"))
_MOMENTS = ("date", "datetime", "time", "past")
"""Kinds of values that nobody says for a number, which is a time stamp or the start of a page."""
_MIN_CONFIDENCE = 0.5
_UNKNOWN = "?"
_COUNTS = ("count", "few")
_NAMED = frozenset(("name", "names", "title", "slug", "handle", "alias"))
_OBJECT_TYPES = ("object", "dict", "map", "structure", "any", "file", "binary")


class Whole(NamedTuple):
    """What a thing is in, by its composed name: its noun, and the kind of value or the pattern of numbers of what it is called.

    :param is_place: whether a thing is *in* it, not *of* it.
    """

    noun: Noun
    shape: str
    pattern: str
    is_place: bool


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
    :param pattern: the pattern of an identifier's numbers, or empty.
    :param relation: what stands before an identified thing by the name of its input (``created by``), or empty.
    :param shape: the kind of value of an identifier that is no number (``login``), or empty.
    :param composed: whether it takes a composed name (``projects/{project}/instances/{instance}``).
    :param within: what the thing is in, by the further parts of a composed name, the nearest first.
    :param or_name: whether its document has a word for the name of the thing, which it may take instead.
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
    shape: str = ""
    relation: str = ""
    or_name: bool = False
    composed: bool = False
    within: tuple[Whole, ...] = ()

    @property
    def kind(self) -> str:
        """The kind of its plain value, or empty."""
        return self.field.kind if self.field is not None else ""

    @property
    def sayable(self) -> bool:
        """Whether people type such a value; of an identifier that nobody types, only a reference can stand in a request."""
        return self.role != "id" or bool(self.pattern or self.shape)


def arguments_of(
    tool: Tool, profile: ToolProfile, thing: str, lexicon: Lexicon, *, makes: bool, is_named: bool = False
) -> tuple[Argument, ...]:
    """The arguments of a tool in the order of its inputs, without inputs that never stand in a request.

    :param thing: the canonical name of what the tool is about.
    :param makes: whether it makes the thing, so that a name of it is a new one.
    :param is_named: whether it changes one of several such things, which a required name tells where nothing else does.
    :raises GenerationError: when a value of a required input cannot be said.
    """
    entities = {
        value.parameter: value.key
        for value in profile.consumes
        if value.identifier and value.confidence >= _MIN_CONFIDENCE and value.key[0] not in ("session", "token")
    }
    required = {parameter.name: parameter.required for parameter in tool.parameters}
    found: list[Argument] = []
    taken = {*profile.context, *(parameter.name for parameter in tool.parameters if _has_parts(parameter, tool))}
    for parameter in tool.parameters:
        if parameter.name in taken:
            continue
        taken.add(parameter.name)
        needed = _is_required(parameter.name, required)
        if "." in parameter.name and not needed:
            continue
        key = _key_of(parameter, tool, thing, entities.get(parameter.name))
        if key is None and is_named and _is_only_name(parameter, tool, thing, profile):
            key = (thing, "name")
        if makes and key is not None and key[0] == thing and words(parameter.name)[-1:] in (["name"], ["title"]):
            argument: Argument | None = _new_name(parameter, lexicon, required=needed)
        else:
            stated = _is_ever_stated(parameter, tool, thing, lexicon)
            argument = _argument(parameter, key, lexicon, required=needed) if stated else None
        if argument is not None:
            argument = _fitting(argument, thing, lexicon, makes=makes)
        if argument is not None and argument.kind == "duration" and lexicon.is_general and not _is_short(parameter):
            argument = None
        if lexicon.is_general and "[]." in parameter.name:
            raise GenerationError("it needs a list of things with several parts")
        if argument is None:
            if needed and not _has_usual_value(parameter, lexicon):
                raise GenerationError(f"its required input {parameter.name} cannot be said")
            continue
        if argument.kind in ("money", "small", "pay"):
            currency = _currency_of(parameter, tool)
            taken.update(currency)
            argument = replace(argument, names=(parameter.name, *currency))
        found.append(argument)
    return tuple(found[:_MAX_ARGUMENTS])


def _is_ever_stated(parameter: Parameter, tool: Tool, thing: str, lexicon: Lexicon) -> bool:
    """Whether people state an input: not a place in a list of pages, the caller's own login, or a tag's key.

    A ``client_id`` beside a ``secret`` is the login of the caller, but of a tool about clients; the keys beside the values of tags
    name no thing. The account of the owner belongs to the connection. Found on documents of Plaid and Redshift, where two readers missed a filter for "client 2772" and "tag 107".
    """
    if not lexicon.is_general or "." in parameter.name:
        return True
    name = canonical(parameter.name)
    *front, last = name.split() or [""]
    names = {canonical(one.name) for one in tool.parameters if "." not in one.name}
    is_login = front[-1:] == ["client"] and last in _WORDS["keys"] and thing.split()[-1:] != ["client"]
    if is_login and any(other.split()[-1:] == ["secret"] for other in names):
        return False
    pairs = {"key": "value", "value": "key"}
    is_pair = bool(front) and last in pairs and " ".join((*front, pairs[last])) in names
    is_owner = not parameter.required and front[-2:] == ["owner", "account"]
    return not (name in _PAGING or is_pair or is_owner)


def _key_of(parameter: Parameter, tool: Tool, thing: str, key: tuple[str, str] | None) -> tuple[str, str] | None:
    """The key of an input: that of what the tool is about, else that of its profile.

    A bare ``id`` with more of the path behind it is that of the segment before it, as the profile has it: in
    ``/projects/{id}/labels`` that of a project. Found on the document of GitLab.
    """
    own, path = _own_key(parameter, thing), str(tool.metadata.get("path", ""))
    is_bare = canonical(parameter.name) in _WORDS["keys"]
    before, _, behind = path.partition(f"{{{parameter.name}}}")
    segment = words(before.rstrip("/").rpartition("/")[2])[-1:]
    is_other = key is not None and noun_lemma(key[0].split()[-1]) != noun_lemma(thing.split()[-1])
    if own and is_bare and behind.strip("/") and is_other and segment and noun_lemma(segment[0]) != thing.split()[-1]:
        return key
    named = canonical(parameter.name).rpartition(" ")[0]
    if own is None and key is not None and thing.startswith(f"{named} ") and named.startswith(f"{key[0]} "):
        return named, key[1]  # PayCodeId of the pay code tags identifies a pay code, not a pay
    return own or key


def _own_key(parameter: Parameter, thing: str) -> tuple[str, str] | None:
    """The key of what the tool is about: a bare ``id`` in its path, or its own name before: ``userName``, ``issuetypeId``."""
    *front, last = canonical(parameter.name).split() or [""]
    if last not in _WORDS["keys"] or "." in parameter.name:
        return None
    named = "".join(front) in (thing.replace(" ", ""), thing.split()[-1])
    bare = not front and parameter.location == "path" and last != "name"
    return (thing, "name" if last in ("name", "username") else "id") if bare or (front and named) else None


def _is_only_name(parameter: Parameter, tool: Tool, thing: str, profile: ToolProfile) -> bool:
    """Whether a required name alone tells which thing is meant, and is no new name of one that another required input tells.

    Such another one is a key of the thing, a second name of it (``newName``), or what stands in the path where the name does
    not. Found on documents of AppStream and GameLift, where two readers of ``UpdateStack(Name)`` took 12 new names for wrong.
    """
    if canonical(parameter.name) != "name" or "." in parameter.name or not parameter.required:
        return False
    keys = {value.parameter: value.key[0] for value in profile.consumes if value.identifier}
    others = [one for one in tool.parameters if one.required and "." not in one.name and one.name != parameter.name]
    return not any(
        _tells(one, thing, keys.get(one.name, "")) or (one.location == "path" != parameter.location)
        for one in others
        if one.name not in profile.context
    )


def _tells(parameter: Parameter, thing: str, identified: str) -> bool:
    """Whether an input tells which thing is meant.

    :param identified: what it identifies by its profile, or empty.
    """
    *front, last = canonical(parameter.name).split() or [""]
    if last not in _WORDS["keys"]:
        return False
    if not front or identified.split()[-1:] == thing.split()[-1:] or front[-1] == thing.split()[-1]:
        return True
    return last == "name" and not identified


def _fitting(argument: Argument, thing: str, lexicon: Lexicon, *, makes: bool) -> Argument | None:
    """An argument whose sample values fit its thing; None where no pool of values does.

    A queue is called ``billing-events``, a project ``Harbour retrofit``, and nobody knows what a membership is called.
    """
    field, head = argument.field, thing.split()[-1]
    if field is None or argument.choices:
        return argument
    noun = lexicon.noun(thing)
    if argument.role == "text":
        return argument if (noun is not None and noun.pool) or head in _FITTING["texts"] else None
    if not lexicon.is_general:
        unnamed = field.kind in ("name", "title") and not argument.required and not makes
        is_named = (noun is not None and bool(noun.pool or noun.person)) or head in _FITTING["titled"]
        return argument if is_named or not unnamed else None
    if field.kind in ("name", "title", "slug"):
        kind = kind_of_name(thing)
        return replace(argument, field=replace(field, kind=kind)) if kind else None
    wanted = {"message": "messages", "remark": "messages", "url": "links", "company": "parties"}
    needed = wanted.get(field.kind)
    return argument if needed is None or head in _FITTING[needed] else None


def _is_short(parameter: Parameter) -> bool:
    """Whether the name or the text of a duration says that it is counted in minutes or hours, and in no longer units.

    Found on a document of ElastiCache, where reservations last "years or seconds" and a text asked for 90 minutes.
    """
    text = f"{' '.join(words(parameter.name))} {parameter.description}"
    return _SHORT_UNITS.search(text) is not None and _LONG_UNITS.search(text) is None


def kind_of_name(thing: str) -> str:
    """The kind of value that names a thing, or empty."""
    noun, head = load_lexicon().noun(thing), thing.split()[-1]
    if head in _FITTING["of_people"] and not _FITTING["slugged"].isdisjoint(thing.split()[-2:-1]):
        return "slug"  # a group of instances is called as an instance is, and not as what people do
    if head in _FITTING["of_people"] and thing.removeprefix("user ") == head:  # a target group has no department
        return "department"
    if noun is not None and noun.pool in ("person", "company"):
        return noun.pool
    if noun is not None and noun.person:
        return "person"
    if head in _FITTING["troubles"]:
        return "trouble"
    if head == "domain":
        return "domain"
    return "title" if head in _FITTING["titled"] else "slug" if head in _FITTING["slugged"] else ""


def _new_name(parameter: Parameter, lexicon: Lexicon, *, required: bool) -> Argument:
    """The name of something new."""
    field = lexicon.fields["title" if words(parameter.name)[-1:] == ["title"] else "name"]
    kind = "slug" if parameter.pattern and " " not in parameter.pattern else "title"
    return Argument(
        names=(parameter.name,), required=required, role="value", label=field.label, field=replace(field, kind=kind)
    )


def _has_usual_value(parameter: Parameter, lexicon: Lexicon) -> bool:
    """Whether a call can be made without a word on the input."""
    skipped = parameter.location != "path" and lexicon.is_left_to_program(canonical(parameter.name))
    return has_default(parameter) or len(parameter.enum) == 1 or skipped


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


def _argument(
    parameter: Parameter, key: tuple[str, str] | None, lexicon: Lexicon, *, required: bool
) -> Argument | None:
    """The argument of an input; None where nobody says its value."""
    name = canonical(parameter.name)
    if not name or _WORDS["secrets"].intersection(name.split()) or (lexicon.is_skipped(name) and key is None):
        return None
    argument = Argument(
        names=(parameter.name,),
        required=required,
        role="id",
        many=type_family(parameter.type) == "array",
        label=_label(name, words(parameter.name)[-1:]),
    )
    if _is_count(parameter):
        field = lexicon.field(name)
        if field is None or field.kind not in _COUNTS:
            if not required:
                return None
            label = words(parameter.name)[-1]
            field = Field(kind="few", phrases=(f"for {{v}} {label}",), label=label)
        return replace(argument, role="value", field=field)
    key = key or _identified(parameter, name, lexicon)
    if key is not None and not parameter.enum:
        return _identifier(argument, parameter, key, lexicon)
    if parameter.type.lower().startswith(_OBJECT_TYPES) or (_TECHNICAL.intersection(name.split())):
        return None
    field = _place_field(parameter, name) or lexicon.field(name)
    return _plain(replace(argument, field=field, choices=_choices(parameter)), parameter, name)


def _is_count(parameter: Parameter) -> bool:
    """Whether an input is a number of things: ``persons`` that is an integer."""
    last = (words(parameter.name.rsplit(".", 1)[-1]) or [""])[-1]
    is_number = type_family(parameter.type) in ("integer", "number")
    return is_number and last not in _WORDS["keys"] and last != noun_lemma(last) and last not in UNITS_OF_TIME


def _identified(parameter: Parameter, name: str, lexicon: Lexicon) -> tuple[str, str] | None:
    """The thing with a number whose name an input has: ``plant``, ``to plant``."""
    noun = lexicon.nouns.get(_without_way(name))
    able = type_family(parameter.type) in ("string", "array", "integer") and lexicon.field(name) is None
    return (name, "id") if noun is not None and noun.number and able else None


def _without_way(name: str) -> str:
    """The name of an input without the preposition that tells a start from an end: two plants, not one."""
    return name.removeprefix("from ").removeprefix("to ")


def _identifier(argument: Argument, parameter: Parameter, key: tuple[str, str], lexicon: Lexicon) -> Argument | None:
    composed = lexicon.is_general and has_composed_name(parameter)
    if composed and (parts := _parts(parameter, lexicon)):
        first, *within = parts
        return replace(
            argument, noun=first.noun, shape=first.shape, pattern=first.pattern, composed=True, within=tuple(within),
            or_name=bool(first.shape),
        )  # fmt: skip
    relation, thing = _related(key[0])
    key = (thing, key[1])
    noun = lexicon.noun(_without_way(thing))
    if noun is not None and _without_way(thing) != thing:
        noun = replace(noun, key=thing)
    if (
        noun is None
        or not _WORDS["no_nouns"].isdisjoint(key[0].split())
        or (lexicon.is_general and key[0].split()[-1] in _GENERIC)
    ):
        return None
    unknown = "" if lexicon.is_general else _UNKNOWN
    shape, pattern = shape_of(parameter, key[1], person=noun.person, number=noun.number or unknown)
    if pattern == _UNKNOWN:  # the lexicon of a company has the numbers that its people type
        pattern = ""
    if lexicon.is_general and shape == "slug":
        kind = kind_of_name(key[0])
        shape = kind if kind in ("slug", "domain") else ""
    if lexicon.is_general and pattern and key[0].split()[-1] in _FITTING["unnumbered"]:
        pattern = ""
    if composed:  # the last part alone leaves open what it is in
        shape, pattern = "", ""
    pattern = pattern.rstrip(_ENDS)
    or_name = bool(shape) or not _NAMED.isdisjoint(words(f"{parameter.name} {parameter.description}"))
    return replace(argument, noun=noun, shape=shape, pattern=pattern, relation=relation, or_name=or_name)


def _parts(parameter: Parameter, lexicon: Lexicon) -> list[Whole]:
    """The parts of a composed name that a request states, the thing itself first; empty where people do not say one of them."""
    parts: list[Whole] = []
    for collection in said_collections(parameter):
        noun, tokens = lexicon.noun(collection), collection.split()
        if noun is None or not all(map(is_plain_word, tokens)) or tokens[-1] in _GENERIC:
            return []
        shape, pattern = shape_in_name(collection, kind_of_name(collection), person=noun.person)
        parts.append(Whole(noun, shape, pattern, is_place(collection)))
    return parts if len(parts) <= 1 + _MAX_WITHIN else []


def _related(name: str) -> tuple[str, str]:
    """The participle with its preposition, and the thing: of ``created by user``; without quantifiers: ``any file``."""
    tokens = name.split()
    while len(tokens) > 1 and tokens[0] in _WORDS["quantifiers"]:
        tokens = tokens[1:]
    if len(tokens) > 2 and tokens[0].endswith("ed") and tokens[1] in _WORDS["relating"]:
        return " ".join(tokens[:2]), " ".join(tokens[2:])
    return "", " ".join(tokens)


def _plain(argument: Argument, parameter: Parameter, name: str) -> Argument | None:
    """An argument that identifies nothing, with its role; None where its value cannot be stated."""
    last, family, field = name.split()[-1], type_family(parameter.type), argument.field
    if last in _WORDS["decisions"] and last in words(parameter.name)[-1:] and (argument.choices or family == "boolean"):
        return replace(argument, role="decision", choices=argument.choices or ("approve", "reject"))
    if parameter.enum:
        if len(argument.choices) < 2 or not argument.label:
            return None
        if not argument.required and last not in _WORDS["states"] | _WORDS["degrees"]:
            return None
        return replace(argument, role="state" if last in _WORDS["states"] else "choice")
    if family == "boolean":
        return replace(argument, role="value") if argument.kind == "flag" else None
    if argument.choices:
        return replace(argument, role="state" if last in _WORDS["states"] else "choice") if argument.label else None
    is_number = family in ("integer", "number") and not parameter.format.startswith("date")
    if is_number and field is not None and field.kind in _MOMENTS:
        return None
    if field is None or (family in ("integer", "number") and field.kind in _WORDS["worded_kinds"]):
        field = _field_by_format(parameter, argument.label)
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


def _field_by_format(parameter: Parameter, label: str) -> Field | None:
    """The field of an input that the lexicon does not have, by its format and its label; None where people say no such value."""
    kind = "date" if parameter.format in ("date", "date-time") or type_family(parameter.type) == "time" else ""
    kind = kind or {"email": "email", "uri": "url", "url": "url"}.get(parameter.format, "")
    if not label or not kind:
        return None
    return Field(kind=kind, phrases=(f"with {{v}} as the {label}", f"with the {label} {{v}}"), label=label)


def _label(name: str, last: Sequence[str]) -> str:
    """The name of an input in plain words, at most two; or empty. A unit keeps its plural (``downtime hours``).

    :param last: the last word of the input's own name.
    """
    tokens = [word for word in name.split() if word not in _WORDS["unlabelled"]]
    able = len(tokens) <= _MAX_LABEL_WORDS and all(map(is_plain_word, tokens)) and not _TECHNICAL.intersection(tokens)
    if tokens and set(last) & UNITS_OF_TIME:
        tokens[-1] = last[0]
    text = " ".join(tokens)
    return (f"{text}age" if text.endswith("percent") else text) if able else ""


def _choices(parameter: Parameter) -> tuple[str, ...]:
    """The allowed values: those of the schema, else those that a description lists: "either `artist` or `user`"."""
    values = list(parameter.enum)
    if not values and _ENUMERATION.search(parameter.description):
        values = _QUOTED_VALUE.findall(parameter.description)[:_MAX_DESCRIBED_CHOICES]
    if len(values) > _MAX_CHOICES:
        return ()
    return tuple(dict.fromkeys(one for value in values if _is_readable(one := in_words(value))))


def _is_readable(choice: str) -> bool:
    """Whether people say an allowed value: it has plain words only, or is a short number."""
    if choice.isdigit():
        return True
    if not _WORDS["no_choices"].isdisjoint(choice.lower().split()):
        return False
    parts = choice.split()
    short = 1 < len(choice) <= _MAX_CHOICE_CHARS and len(parts) <= _MAX_CHOICE_WORDS
    return short and (
        choice.isupper() or all(part.isalpha() and (len(part) < 3 or is_word(part.lower())) for part in parts)
    )


def _is_required(name: str, required: Mapping[str, bool]) -> bool:
    """Whether a value is required: of a nested input, whether all inputs above it are required too."""
    if not required[name]:
        return False
    while "." in name:
        name = name.rsplit(".", 1)[0]
        if not required.get(name.removesuffix("[]"), required.get(name, True)):
            return False
    return True


def _has_parts(parameter: Parameter, tool: Tool) -> bool:
    """Whether an input is an object whose parts are inputs too."""
    nested = (f"{parameter.name}.", f"{parameter.name}[].")
    return any(other.name.startswith(nested) for other in tool.parameters)


def _currency_of(parameter: Parameter, tool: Tool) -> tuple[str, ...]:
    """The input for the currency of an amount, if there is one."""
    above = parameter.name.rpartition(".")[0]
    beside = [other.name for other in tool.parameters if other.name.rpartition(".")[0] == above]
    return tuple(name for name in beside if canonical(name) == "currency")[:1]
