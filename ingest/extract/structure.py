"""Triples from the structure of a tool's document: inputs, outputs, metadata, declared dependencies. No sentence is parsed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from ingest.extract.sentences import DEPENDENT_NAMES, STOP_WORDS, action, vocabulary
from ontology.names import canonical_name, identified_entity, is_noun, noun_lemma, words
from ontology.ontology import Ontology
from ontology.tool import Parameter, Tool
from ontology.tool_graph import Provenance, Triple

__all__ = [
    "declared_metadata",
    "document_texts",
    "documented_name",
    "field_texts",
    "parameter_texts",
    "path_context",
    "path_objects",
    "structural_triples",
]


def field_texts(tool: Tool, field: str) -> list[str]:
    """Return the texts of a provenance field; an empty list when the tool has no such field.

    ``parameters.NAME`` and ``returns.NAME`` give the *descriptions* of that input or output, because a triple read from
    the name has no span. There are several texts when two inputs have the same name (one in the path, one in the body).
    """
    kind, _, rest = field.partition(".")
    if field == "name":
        return [tool.name]
    if field == "description":
        return [tool.description]
    if kind in ("parameters", "returns"):
        named = tool.parameters if kind == "parameters" else tool.returns
        return [parameter.description for parameter in named if parameter.name == rest]
    if kind == "depends_on" and tool.depends_on:
        return [" ".join(dependency.tool for dependency in tool.depends_on)]
    if kind == "metadata" and rest in tool.metadata:
        return [" ".join(metadata_texts(tool.metadata[rest]))]
    return []


def parameter_texts(tool: Tool) -> dict[str, list[str]]:
    """Map from the provenance field of each input and output to its :func:`field_texts`, in the order of the document.

    For whoever looks up many fields: one look-up of :func:`field_texts` reads all inputs.
    """
    texts: dict[str, list[str]] = {}
    for kind, named in (("parameters", tool.parameters), ("returns", tool.returns)):
        for parameter in named:
            texts.setdefault(f"{kind}.{parameter.name}", []).append(parameter.description)
    return texts


def document_texts(tool: Tool) -> Iterator[str]:
    """Yield every text of the document, in the order of its fields."""
    yield tool.id
    yield tool.name
    yield tool.description
    for parameter in (*tool.parameters, *tool.returns):
        yield parameter.name
        yield parameter.description
        yield from parameter.enum
    for dependency in tool.depends_on:
        yield from (dependency.tool, dependency.parameter, dependency.output, dependency.reason)
    yield from metadata_texts(dict(tool.metadata))


def metadata_texts(value: Any, depth: int = 4) -> list[str]:
    """Return the texts and numbers inside a JSON value as text, down to ``depth`` levels."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return [str(value)]
    if depth <= 0 or value is None or isinstance(value, bool):
        return []
    inner = value.values() if isinstance(value, Mapping) else value if isinstance(value, (list, tuple)) else ()
    return [text for item in inner for text in metadata_texts(item, depth - 1)]


_IDENTIFIER_NAMES = vocabulary("identifier_names")
_IN_PATH = _IDENTIFIER_NAMES | vocabulary("path_identifier_names")
_WEAK_TAILS = vocabulary("weak_identifier_tails")
_NAMING_TAILS = vocabulary("naming_tails")
_ATTRIBUTES = DEPENDENT_NAMES | vocabulary("attributes")
_ALSO_OBJECTS = vocabulary("attributes_and_objects")
_SHORT_OBJECTS = vocabulary("short_objects")
_ROLES = vocabulary("role_words")
_NOT_OBJECTS = vocabulary("not_objects")
_NOT_IDENTIFIED = vocabulary("not_identified")
_WRAPPERS = vocabulary("wrappers")
_NO_IDENTIFIER_TYPES = frozenset(("boolean", "bool", "object", "number", "float", "double"))
_ID_FORMATS = frozenset(("uuid", "guid"))
_PLACEHOLDER = re.compile(r"[{<:]([\w.$@-]+)[}>]?")
# "The ID of the movie", "unique identifier for an order".
_ID_OF = re.compile(
    r"\b(?:id|ids|identifier|identifiers|uuid|guid)s?\s+(?:number\s+)?(?:of|for)\s+(?P<of>[a-z][\w' -]{2,60})", re.I
)
# "Employee number", "The unique user ID", "Movie ID (required)".
_OF_ID = re.compile(
    r"^\W*(?:the\s+|an?\s+|this\s+|your\s+)?(?P<of>[a-z][\w' -]{1,40}?)(?:['’]s?)?\s+"
    r"(?P<tail>id|ids|identifier|identifiers|uuid|guid|number|code|key)\b",
    re.I,
)
_PATH_CONFIDENCE, _NAME_STRONG, _NAME_WEAK, _ID_OF_CONFIDENCE, _OF_ID_CONFIDENCE = 0.85, 0.95, 0.75, 0.8, 0.7
_DESCRIPTION_CHARS = 200


@dataclass(frozen=True, slots=True)
class Reference:
    """An object that a parameter identifies or refers to, with a confidence in [0, 1].

    :param entity: its canonical name.
    :param phrase: the kind of evidence (``path``, ``identifier of``), or empty for the parameter's name.
    :param start: first character of the evidence in the parameter's description; -1 for evidence in the name or path.
    """

    entity: str
    confidence: float
    phrase: str = ""
    start: int = -1
    end: int = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class PathContext:
    """The objects in a tool's path and name, for parameters whose name contains no object (``id``).

    :param collections: map from placeholder to the singular of the static segment before it.
    :param subject: the object of the last path segment that names one (the items of a list in the response), or empty.
    :param returned: the object that the response represents, so that a top-level ``id`` identifies it, or empty.
    """

    collections: Mapping[str, str]
    subject: str = ""
    returned: str = ""


def path_context(tool: Tool) -> PathContext:
    """Parse the path of an HTTP tool; without a path, the subject is the object in the tool's name."""
    path = tool.metadata.get("path")
    if not isinstance(path, str) or "/" not in path:
        subject = _subject_of_name(tool.name)
        return PathContext(collections={}, subject=subject, returned=subject)
    collections: dict[str, str] = {}
    previous, subject = "", ""
    for segment in path[:2_000].split("/"):
        placeholder = _PLACEHOLDER.fullmatch(segment)
        if placeholder is None:
            previous = _segment_object(segment)
            subject = previous or subject
        elif previous:
            collections.setdefault(placeholder[1], previous)
    # GET /movie/{movie_id}/keywords returns the movie's id; POST /users/{user_id}/playlists returns the playlist's id.
    ends_in_key = path.rstrip("/").endswith(("}", ">"))
    returns_subject = ends_in_key or "{" not in path or str(tool.metadata.get("method", "")).upper() == "POST"
    return PathContext(collections=collections, subject=subject, returned=subject if returns_subject else "")


def documented_name(parameter: Parameter, context: PathContext, *, output: bool = False) -> str:
    """Return the name of a parameter in the graph: the last segment of its dotted path, as documented.

    A generic last segment gets its object as prefix (``movie.id`` → ``movie id``). The object of ``{id}`` in a path is the segment
    before it; for an ``output``, the object of a top-level ``id`` is the object that the response represents.
    """
    segments = [segment.replace("[]", "").strip() for segment in parameter.name.split(".")]
    segments = [segment for segment in segments if segment] or [parameter.name]
    last = segments[-1]
    tokens = words(last)
    if not tokens or not all(word in DEPENDENT_NAMES for word in tokens) or len(tokens) > 2:
        return last
    for parent in reversed(segments[:-1]):
        owner = canonical_name(parent)
        if owner and owner not in _WRAPPERS and parent.lower() not in _WRAPPERS:
            return f"{owner} {last}"
    identifier = tokens[-1] in _IN_PATH
    if identifier and last in context.collections:
        return f"{context.collections[last]} {last}"
    if len(segments) > 1 and tokens[-1] in _IDENTIFIER_NAMES | {"name"} and context.subject:
        return f"{context.subject} {last}"
    if output and len(segments) == 1 and len(tokens) == 1 and tokens[0] in _IDENTIFIER_NAMES and context.returned:
        return f"{context.returned} {last}"
    return last


def identified_entities(
    parameter: Parameter, context: PathContext, name: str, abbreviations: Mapping[str, str]
) -> list[Reference]:
    """Return the objects that the parameter identifies, highest confidence first. ``name`` is from :func:`documented_name`."""
    if parameter.type.lower() in _NO_IDENTIFIER_TYPES:
        return []
    found = [
        *_by_name(name, abbreviations),
        *_by_path(parameter, context, abbreviations),
        *_by_description(parameter, name, abbreviations),
    ]
    best: dict[str, Reference] = {}
    for reference in found:
        if reference.entity not in best or reference.confidence > best[reference.entity].confidence:
            best[reference.entity] = reference
    return sorted(best.values(), key=lambda reference: (-reference.confidence, reference.entity))


def referenced_entity(parameter: Parameter, name: str, abbreviations: Mapping[str, str]) -> Reference | None:
    """Return the object that a parameter's name mentions but does not identify: supplier for ``supplier_name``, None for ``email``."""
    tokens = words(name)
    if parameter.type.lower() in ("boolean", "bool") or not tokens or tokens[0] in ("is", "has", "include", "exclude"):
        return None
    kept = list(tokens)
    while kept and noun_lemma(kept[-1]) in _NAMING_TAILS:
        kept.pop()
    entity = _object(kept, abbreviations)
    last = entity.rpartition(" ")[2]
    property_ = last in _ATTRIBUTES and not (last in _ALSO_OBJECTS and len(kept) < len(tokens))
    if not entity or property_ or (len(entity) <= 3 and entity not in _SHORT_OBJECTS):
        return None
    return Reference(entity, 0.7 if tokens[-1] in ("name", "names", "title") else 0.6)


def _by_name(name: str, abbreviations: Mapping[str, str]) -> list[Reference]:
    tokens = words(name)
    entity = _object(identified_entity(name, abbreviations).split(), {})
    if not entity:
        return []
    weak = tokens[-1] in _WEAK_TAILS
    if weak and entity.split()[-1] in _NOT_IDENTIFIED:
        return []
    return [Reference(entity, _NAME_WEAK if weak else _NAME_STRONG)]


def _by_path(parameter: Parameter, context: PathContext, abbreviations: Mapping[str, str]) -> list[Reference]:
    segment = context.collections.get(parameter.name, "")
    tokens = words(parameter.name)
    if not segment or not tokens:
        return []
    named = tokens[-1] in _IN_PATH or canonical_name(parameter.name, abbreviations) == segment
    return [Reference(segment, _PATH_CONFIDENCE, "path")] if named else []


def _by_description(parameter: Parameter, name: str, abbreviations: Mapping[str, str]) -> Iterator[Reference]:
    text = parameter.description[:_DESCRIPTION_CHARS]
    tokens = words(name)
    identifier = tokens and (tokens[-1] in _IDENTIFIER_NAMES or tokens[-1] in _WEAK_TAILS)
    has_id_format = parameter.format.lower() in _ID_FORMATS
    for pattern, base_confidence in ((_ID_OF, _ID_OF_CONFIDENCE), (_OF_ID, _OF_ID_CONFIDENCE)):
        match = pattern.search(text)
        if match is None:
            continue
        weak = match.groupdict().get("tail", "id").lower() in _WEAK_TAILS
        entity = _object(_until_stop(words(match["of"]), head=pattern is _OF_ID), abbreviations)
        if not entity or (weak and (not identifier or entity.split()[-1] in _NOT_IDENTIFIED)):
            continue
        if (
            not (identifier or has_id_format)
            and pattern is _OF_ID
            and match["tail"].lower() not in ("id", "ids", "identifier")
        ):
            continue
        bonus = 0.1 if has_id_format else 0.0 if identifier else -0.15
        yield Reference(entity, round(base_confidence + bonus, 2), "identifier of", match.start(), match.end())


def _until_stop(tokens: list[str], *, head: bool) -> list[str]:
    """Return the noun phrase at the start of ``tokens`` (after "ID of"); for ``head`` all tokens (before "ID")."""
    while tokens and tokens[0] in STOP_WORDS:
        tokens = tokens[1:]
    if head:
        return tokens if len(tokens) <= 3 else []
    kept: list[str] = []
    for token in tokens[:4]:
        if token in STOP_WORDS or (action(token) == token and kept and not is_noun(token)):
            break
        kept.append(token)
    return kept[:3]


def _object(tokens: list[str], abbreviations: Mapping[str, str]) -> str:
    """Return the canonical name of a business object, or empty when the words name none."""
    while tokens and tokens[0] in _ROLES:
        tokens = tokens[1:]
    entity = canonical_name(" ".join(tokens), abbreviations)
    kept = entity.split()
    if not kept or len(kept) > 4 or kept[-1] in _NOT_OBJECTS or not all(map(_plain, kept)):
        return ""
    non_ascii = len(kept) == 1 and len(kept[0]) > 2 and kept[0].isalpha() and not kept[0].isascii()
    return entity if non_ascii or is_noun(kept[-1]) else ""


def _plain(word: str) -> bool:
    return word.isalpha() and word not in STOP_WORDS and len(word) > 1


def path_objects(path: str) -> list[str]:
    """Return the canonical names of the objects in the static segments of a path, in order."""
    return [name for segment in path[:2_000].split("/") if (name := _segment_object(segment))]


@lru_cache(maxsize=1 << 14)
def _segment_object(segment: str) -> str:
    """Return the singular of a path segment that names objects (movie for ``movies``), or empty (``v1``, ``top_rated``)."""
    if "{" in segment or len(segment) > 60:
        return ""
    return _object(words(segment), {})


def _subject_of_name(name: str) -> str:
    tokens = words(name)
    if len(tokens) < 2 or not action(tokens[0]):
        return ""
    kept: list[str] = []
    for token in tokens[1:]:
        if token in STOP_WORDS:
            break
        kept.append(token)
    return _object(kept, {})


MAX_VALUES = 20  # allowed values read per parameter
_MAX_VALUES_PER_TOOL = 200
MAX_METADATA_VALUES = 20  # values read per metadata key
_MAX_VALUE_CHARS = 60  # a longer text is prose, not a name
_NOT_VALUES = vocabulary("not_values")


def structural_triples(tool: Tool, ontology: Ontology, extractor_name: str) -> list[Triple]:
    """Return the triples of inputs, outputs, allowed values, metadata and declared dependencies.

    Confidence is 1 for declared facts and below 1 for facts inferred from a name, a path or a description (``identifies``,
    ``refers_to``).

    :param extractor_name: versioned name of the extractor, for the provenance.
    """
    builder = _TripleBuilder(tool, ontology, extractor_name)
    return [*builder.parameters(), *builder.metadata(), *builder.dependencies()]


def declared_metadata(tool: Tool, ontology: Ontology) -> dict[str, frozenset[str]]:
    """Map from predicate to the canonical names of its tails in the metadata."""
    found: dict[str, set[str]] = {}
    for predicate, value, _ in _declared(tool, ontology):
        found.setdefault(predicate, set()).add(canonical_name(value, ontology.abbreviations))
    return {predicate: frozenset(names) for predicate, names in found.items()}


class _TripleBuilder:
    """Builds the triples of one tool; predicates that the ontology does not have are left out."""

    def __init__(self, tool: Tool, ontology: Ontology, extractor_name: str) -> None:
        self.tool = tool
        self.ontology = ontology
        self.extractor = extractor_name
        self.values_left = _MAX_VALUES_PER_TOOL

    def parameters(self) -> Iterator[Triple]:
        context = path_context(self.tool)
        for kind, predicate, listed in (
            ("parameters", "has_parameter", self.tool.parameters),
            ("returns", "returns", self.tool.returns),
        ):
            for parameter in listed:
                name = documented_name(parameter, context, output=kind == "returns")
                if not canonical_name(name):
                    continue
                field = f"{kind}.{parameter.name}"
                yield from self._triple(self.tool.id, "tool", predicate, name, "parameter", field)
                yield from self._values(parameter, name, field)
                yield from self._references(parameter, context, name, field)

    def _references(self, parameter: Parameter, context: PathContext, name: str, field: str) -> Iterator[Triple]:
        abbreviations = self.ontology.abbreviations
        references = identified_entities(parameter, context, name, abbreviations)
        for reference in references:
            yield from self._triple(
                name,
                "parameter",
                "identifies",
                reference.entity,
                "business_object",
                field if reference.phrase != "path" else "metadata.path",
                confidence=reference.confidence,
                phrase=reference.phrase,
                span=(reference.start, reference.end),
            )
        other = None if references else referenced_entity(parameter, name, abbreviations)
        if other is not None:
            yield from self._triple(
                name, "parameter", "refers_to", other.entity, "business_object", field, confidence=other.confidence
            )

    def _values(self, parameter: Parameter, name: str, field: str) -> Iterator[Triple]:
        count = 0
        for value in parameter.enum:
            if count >= MAX_VALUES or self.values_left <= 0:
                return
            if _is_name(value):
                count += 1
                self.values_left -= 1
                yield from self._triple(name, "parameter", "has_value", value, "value", field)

    def metadata(self) -> Iterator[Triple]:
        for predicate, value, field in _declared(self.tool, self.ontology):
            kind = self.ontology.predicates[predicate].range[0]
            yield from self._triple(self.tool.id, "tool", predicate, value, kind, field)

    def dependencies(self) -> Iterator[Triple]:
        for dependency in self.tool.depends_on:
            yield from self._triple(
                self.tool.id, "tool", "depends_on", dependency.tool, "tool", "depends_on", phrase=dependency.reason
            )

    def _triple(
        self,
        head: str,
        head_type: str,
        predicate: str,
        tail: str,
        tail_type: str,
        field: str,
        *,
        confidence: float = 1.0,
        phrase: str = "",
        span: tuple[int, int] = (-1, -1),
    ) -> Iterator[Triple]:
        if self.ontology.allows(head_type, predicate, tail_type):
            yield Triple(
                head=head,
                head_type=head_type,
                predicate=predicate,
                tail=tail,
                tail_type=tail_type,
                confidence=confidence,
                provenance=Provenance(self.tool.id, field, self.extractor, *span),
                phrase=phrase,
            )


def _declared(tool: Tool, ontology: Ontology) -> Iterator[tuple[str, str, str]]:
    """Yield ``(predicate, value, field)`` of the metadata; without a key for the system, the namespace is the system."""
    has_system = False
    for key in tool.metadata:
        predicate = ontology.metadata_predicates.get(key, "")
        if not predicate:
            continue
        for value in _names(tool.metadata[key])[:MAX_METADATA_VALUES]:
            # Some sources write the operation into the key of the system.
            if predicate == "has_system" and (value == tool.name or tool.name.endswith((f": {value}", f"/{value}"))):
                continue
            has_system = has_system or predicate == "has_system"
            yield predicate, value, f"metadata.{key}"
    if not has_system and "has_system" in ontology.predicates and _is_name(tool.namespace):
        yield "has_system", tool.namespace, "metadata.namespace"


def _names(value: Any) -> list[str]:
    """Return the names in a metadata value: a text or a list of texts."""
    listed = value if isinstance(value, (list, tuple)) else [value]
    return list(dict.fromkeys(text.strip() for one in listed for text in metadata_texts(one, 0) if _is_name(text)))


def _is_name(value: str) -> bool:
    """Whether a value is a name: not a number, a boolean, an address, an identifier or prose."""
    text = value.strip()
    name = canonical_name(text)
    if not name or len(text) > _MAX_VALUE_CHARS or name in _NOT_VALUES or "://" in text or "@" in text:
        return False
    letters = sum(character.isalpha() for character in text)
    # Hashes and serial ids are mostly digits; "2160p" and "gpt-4" are not.
    return letters > 0 and not (len(text) >= 16 and sum(c.isdigit() for c in text) > letters / 2) and not text.isdigit()
