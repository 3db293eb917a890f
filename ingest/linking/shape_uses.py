"""Which parameters have values of which shape: the rows of a snapshot's index of shapes."""

from __future__ import annotations

import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from typing import NamedTuple

from ingest.linking.identifiers import GENERIC_NAMES, IdentifierReader, kinds_of, read_description
from ontology.ontology import Ontology
from ontology.tool import Parameter, Tool
from ontology.value_shape import (
    KIND_SHAPES,
    ShapeUse,
    ValueShape,
    facts_of,
    is_specific,
    kind_of_value,
    matches,
    shape_of,
    shape_of_pattern,
    widened,
)


class ShownShape(NamedTuple):
    """A specific shape of a parameter's values; ``source`` and ``is_widened`` as in :class:`ontology.value_shape.ShapeUse`."""

    shape: ValueShape
    source: str
    is_widened: bool = False


_MAX_ENUM = 50  # a longer list holds values of another system: countries, media types
_MAX_CHARS = 1_000
_MAX_SHOWN = 4
_OWN = ("pattern", "example", "enum")  # sources that are not compared with the values that a document shows
_NUMBERS = frozenset(("integer", "int", "int32", "int64", "long", "number", "float", "double"))
_NO_VALUES = frozenset(("boolean", "bool", "object"))
_NAMED_KINDS = ("arn", "email", "phone", "url", "uuid")
# The words before an example in English descriptions. Chosen from general English, not from a catalogue.
_LEAD = re.compile(
    r"(?:\be\.\s?g\.?|\beg\b|\bfor example|\bfor instance|\bexamples?(?: value)?|\bsuch as|\blike|\bi\.e\.|\bformat(?:ted)?(?: is| as)?)"
    r"[\s:,=]{1,4}(?P<values>[^\n;]{3,120})",
    re.IGNORECASE,
)
# Not the second part of a number that is written with spaces, nor the rest of a long value.
_VALUE = re.compile(r"(?<!\w)(?<!\d )[\"'`(“‘]{0,2}([A-Za-z0-9+/#][^\s,;()\"'`”’<>]{2,63})")
_COUNTS = {word: count for count, word in enumerate("one two three four five six seven eight nine ten".split(), 1)}
_FOLLOWED = re.compile(
    r"[\"'`]?\b(?P<prefix>[A-Z]{1,6}-?)[\"'`]? (?:followed by|and|plus|with|then) (?:exactly )?"
    rf"(?P<count>\d{{1,2}}|{'|'.join(_COUNTS)})[ -]digits?\b"
)
# The names of standards and of their parts: "Format: RFC-3339" shows no value. Chosen from standards bodies, not from a catalogue.
_STANDARD = re.compile(
    r"(?:RFC|ISO|IEC|ISO/IEC|IEEE|ITU(?:-T)?|ANSI|ECMA|FIPS|NIST|BCP|UTF|UCS|SHA|MD|GS1|CP|EIA|STD)[-_/ ]?\d[\w.:/-]{0,20}"
    r"|[A-Z]\.\d{2,4}|(?:windows|latin|base|iso)-?\d[\d-]{0,8}",
    re.IGNORECASE,
)
_NAME = re.compile(r"^[A-Za-z_]{1,30}=")
_PLACEHOLDER = re.compile(r"#{3,}")


@lru_cache(maxsize=50_000)
def shown_shapes(parameter: Parameter) -> tuple[ShownShape, ...]:
    """The specific shapes of a parameter's values, those stated first; none where an example shown has none of them."""
    found: dict[ValueShape, ShownShape] = {}
    for shown in _shapes(parameter):
        if is_specific(shown.shape) and (shown.source in _OWN or _is_possible(shown.shape, parameter)):
            found.setdefault(shown.shape, shown)
    if not found:
        kinds = kinds_of(parameter)
        named = (KIND_SHAPES[kind] for kind in _NAMED_KINDS if kind in kinds)
        found = {shape: ShownShape(shape, "kind") for shape in named if _is_possible(shape, parameter)}
    examples = _parts(parameter.example)
    if examples and not any(matches(shape.pattern, value.strip()) for value in examples for shape in found):
        return ()
    return tuple(found.values())


def read_for_links(tool: Tool) -> str:
    """Return the SHA-256 (hex) of all of a tool that its links and the shapes of its values depend on: other words in a
    description, of which nothing else is read, change neither."""
    bare = replace(tool, description="", parameters=(), returns=(), input_schema=None, output_schema=None)
    digest = hashlib.sha256(bare.canonical_json().encode("utf-8", "surrogatepass"))
    for fields in (tool.parameters, tool.returns):
        digest.update(b"".join((b"\n", *map(_read_for_links, fields))))
    return digest.hexdigest()


@lru_cache(maxsize=1 << 16)  # the tools of a document repeat the fields of its objects
def _read_for_links(parameter: Parameter) -> bytes:
    read = replace(parameter, description=""), read_description(parameter.description), shown_shapes(parameter)
    return hashlib.sha256(repr(read).encode("utf-8", "surrogatepass")).digest()


def _is_possible(shape: ValueShape, parameter: Parameter) -> bool:
    """Whether the type of a parameter, its example, its default and its allowed values agree with a shape."""
    type_ = parameter.type.lower()
    if type_ in _NO_VALUES or (type_ in _NUMBERS and not facts_of(shape).digits_only):
        return False
    known = (*_parts(parameter.example), *_parts(parameter.default), *parameter.enum)
    return all(matches(shape.pattern, value.strip()) for value in known)


def _shapes(parameter: Parameter) -> Iterator[ShownShape]:
    stated = shape_of_pattern(parameter.pattern) if parameter.pattern else None
    if stated is not None:
        yield ShownShape(stated, "pattern")
    elif followed := _FOLLOWED.search(parameter.description[:_MAX_CHARS]):
        count = int(_COUNTS.get(followed["count"], 0) or followed["count"])
        stated = ValueShape(re.escape(followed["prefix"]) + rf"\d{{{count}}}")
        yield ShownShape(stated, "description")
    for value in parameter.enum if len(parameter.enum) <= _MAX_ENUM else ():
        # a value with the digits of a code that is no number
        if shape_of(value) is not None and not kind_of_value(value) and not value.isdigit():
            yield ShownShape(ValueShape(re.escape(value)), "enum")
    for value, source in _values(parameter):
        shape = None if _STANDARD.fullmatch(value) else shape_of(value)
        # What the document states is more exact than what an example of it lets guess.
        if shape is None or (stated is not None and matches(stated.pattern, value)):
            continue
        yield ShownShape(shape, source)
        if any_word := widened(value):
            yield ShownShape(any_word, source, True)


def _values(parameter: Parameter) -> Iterator[tuple[str, str]]:
    for source, text in (("example", parameter.example), ("default", parameter.default)):
        yield from ((value, source) for value in _parts(text))
    for match in _LEAD.finditer(parameter.description[:_MAX_CHARS]):
        for shown in _VALUE.findall(match["values"])[:_MAX_SHOWN]:
            value = _NAME.sub("", shown.rstrip(".:!?…"))
            # A link in a description is no value, and an input that takes a link has the shape of its kind.
            if kind_of_value(value) != "url":
                yield _PLACEHOLDER.sub(lambda run: "0" * len(run[0]), value), "description"


def _parts(text: str) -> list[str]:
    """Return the value of an example, or the values of a list of them as JSON."""
    if text[:1] not in ("[", "{"):
        return [text] if text else []
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return []
    return [str(one) for one in value if isinstance(one, (str, int))][:_MAX_SHOWN] if isinstance(value, list) else []


def shape_uses(tools: Iterable[Tool], ontology: Ontology) -> list[ShapeUse]:
    """Return the parameters whose values have a specific shape, sorted. Where a document shows an identifier once,
    other inputs of the same identifier in its namespace have the same shape, unless what the document says of them
    contradicts it."""
    found: list[ShapeUse] = []
    shown_of: defaultdict[tuple[str, str, str], dict[ShownShape, None]] = defaultdict(dict)
    silent: list[tuple[tuple[str, str, str], Parameter, partial[ShapeUse]]] = []
    for tool in tools:
        reader = IdentifierReader(tool, ontology)
        for parameter, output in (*((one, False) for one in tool.parameters), *((one, True) for one in tool.returns)):
            shapes: Sequence[ShownShape] = shown_shapes(parameter)
            if output and not shapes:
                continue
            known = reader.identifier(parameter)
            if known is None:  # then a number without given digits is no shape: it is a time, a size or a position
                facts = [facts_of(one.shape) for one in shapes]
                shapes = [one for one, fact in zip(shapes, facts, strict=True) if fact.prefix or not fact.digits_only]
            name = reader.names.canonical(parameter.name.replace("[]", "").rsplit(".", 1)[-1])
            entity = name if known is None else known.entity
            use = partial(ShapeUse, tool=tool.id, parameter=parameter.name, entity=entity, output=output)
            found += (use(shape=one.shape, source=one.source, is_widened=one.is_widened) for one in shapes)
            if known is not None and known.entity not in GENERIC_NAMES:
                field = tool.namespace, known.entity, known.field
                stated = [shown for shown in shapes if shown.source != "kind"]
                shown_of[field].update(dict.fromkeys(stated))
                if not output and not stated:
                    silent.append((field, parameter, use))
    for field, parameter, use in silent:
        possible = (one for one in shown_of[field] if _is_possible(one.shape, parameter))
        found += (use(shape=one.shape, source="entity", is_widened=one.is_widened) for one in possible)
    return sorted(set(found), key=lambda use: (use.shape.pattern, use.tool, use.parameter, use.output, use.source))
