"""Triples from the structure of a tool's document: inputs, outputs, metadata, declared dependencies. No sentence is parsed."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import dropwhile, islice
from typing import Any, NamedTuple

from ingest.extract.extractor import Evidence
from ingest.extract.sentences import STOP_WORDS, action, vocabulary
from ontology.names import canonical_name, identified_entity, is_noun, noun_lemma, words
from ontology.ontology import Ontology
from ontology.tool import Parameter, Tool
from ontology.tool_graph import Triple


def field_texts(tool: Tool) -> dict[str, list[str]]:
    """Map from provenance field to its texts, in the order of the document. ``parameters.NAME`` and ``returns.NAME``
    give the *descriptions* of that input or output, because a triple read from the name has no span. There are several
    texts when two inputs have the same name (one in the path, one in the body)."""
    texts = {"description": [tool.description], "name": [tool.name]}
    texts |= {f"metadata.{key}": [" ".join(_texts_in(value))] for key, value in tool.metadata.items()}
    if tool.depends_on:
        texts["depends_on"] = [" ".join(dependency.tool for dependency in tool.depends_on)]
    for kind, named in (("parameters", tool.parameters), ("returns", tool.returns)):
        for parameter in named:
            texts.setdefault(f"{kind}.{parameter.name}", []).append(parameter.description)
    return texts


def document_texts(tool: Tool) -> Iterator[str]:
    """Yield every text of the document, in the order of its fields."""
    yield from (tool.id, tool.name, tool.description)
    for parameter in (*tool.parameters, *tool.returns):
        yield from (parameter.name, parameter.description, *parameter.enum)
    for dependency in tool.depends_on:
        yield from (dependency.tool, dependency.parameter, dependency.output, dependency.reason)
    yield from _texts_in(dict(tool.metadata))


def _texts_in(value: Any, depth: int = 4) -> list[str]:
    """Return the texts and numbers inside a JSON value as text, down to ``depth`` levels."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return [str(value)]
    if depth <= 0:
        return []
    inner = value.values() if isinstance(value, Mapping) else value if isinstance(value, (list, tuple)) else ()
    return [text for item in inner for text in _texts_in(item, depth - 1)]


def structural_triples(tool: Tool, ontology: Ontology, extractor_name: str) -> list[Triple]:
    """Return the triples of inputs, outputs, allowed values, metadata and declared dependencies, as far as the ontology allows them.

    Confidence is 1 for declared facts and below 1 for facts inferred from a name, a path or a description (``identifies``,
    ``refers_to``).

    :param extractor_name: versioned name of the extractor, for the provenance.
    """
    head, context, values_left = (tool.id, "tool"), path_context(tool), _MAX_VALUES_PER_TOOL
    evidence = partial(Evidence, tool.id, extractor_name)
    found: list[Triple] = []
    kinds = (("parameters", "has_parameter", tool.parameters), ("returns", "returns", tool.returns))
    for kind, predicate, parameter in ((kind, has, one) for kind, has, listed in kinds for one in listed):
        name = documented_name(parameter, context, output=kind == "returns")
        if not canonical_name(name):
            continue
        node, source = (name, "parameter"), evidence(f"{kind}.{parameter.name}")
        found.append(source.triple(head, predicate, node))
        for value in islice(filter(_is_name, parameter.enum), min(_MAX_VALUES, values_left)):
            values_left -= 1
            found.append(source.triple(node, "has_value", (value, "value")))
        for one in _references(parameter, context, name, ontology.abbreviations):
            at = evidence("metadata.path") if one.phrase == _PATH else source
            entity = one.entity, "business_object"
            found.append(at.triple(node, one.predicate, entity, one.confidence, one.span, one.phrase))
    for predicate, value, field in _declared(tool, ontology):
        tail = value, ontology.predicates[predicate].range[0]
        found.append(evidence(field).triple(head, predicate, tail))
    for needed in tool.depends_on:
        tail = needed.tool, "tool"
        found.append(evidence("depends_on").triple(head, "depends_on", tail, phrase=needed.reason))
    return [triple for triple in found if ontology.allows(triple.head_type, triple.predicate, triple.tail_type)]


_MAX_VALUES, _MAX_VALUES_PER_TOOL = 20, 200  # allowed values read per parameter and per tool


_IDENTIFIER_NAMES = vocabulary("identifier_names")
_IN_PATH = _IDENTIFIER_NAMES | vocabulary("path_identifier_names")
_WEAK_TAILS = vocabulary("weak_identifier_tails")
_IDENTIFYING_TAILS = _IDENTIFIER_NAMES | _WEAK_TAILS
_NAMING_TAILS = vocabulary("naming_tails")
_DEPENDENT_NAMES = vocabulary("dependent_names")
_ATTRIBUTES = _DEPENDENT_NAMES | vocabulary("attributes")
_ALSO_OBJECTS = vocabulary("attributes_and_objects")
_SHORT_OBJECTS = vocabulary("short_objects")
_ROLES = vocabulary("role_words")
_NOT_OBJECTS = vocabulary("not_objects")
_NOT_IDENTIFIED = vocabulary("not_identified")
_WRAPPERS = vocabulary("wrappers")
_FLAGS = frozenset(("is", "has", "include", "exclude"))  # first words of the names of switches
_NO_IDENTIFIER_TYPES = frozenset(("boolean", "bool", "object", "number", "float", "double"))
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
_PATH = "path"
_DESCRIPTION_CHARS, _PATH_CHARS = 200, 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class PathContext:
    """The objects in a tool's path and name, for parameters whose name contains no object (``id``); texts may be empty."""

    collections: Mapping[str, str]  # map from placeholder to the singular of the static segment before it
    subject: str = ""  # the object of the last path segment that names one (the items of a list in the response)
    returned: str = ""  # the object that the response represents, so that a top-level ``id`` identifies it


def path_context(tool: Tool) -> PathContext:
    """Parse the path of an HTTP tool; without a path, the subject is the object in the tool's name."""
    path = tool.metadata.get("path")
    if not isinstance(path, str) or "/" not in path:
        first, *rest = words(tool.name) or [""]
        stop = next((at for at, token in enumerate(rest) if token in STOP_WORDS), len(rest))
        subject = _object(rest[:stop], {}) if action(first) else ""
        return PathContext(collections={}, subject=subject, returned=subject)
    collections: dict[str, str] = {}
    previous, subject = "", ""
    for segment in path[:_PATH_CHARS].split("/"):
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


def path_objects(path: str) -> list[str]:
    """Return the canonical names of the objects in the static segments of a path, in order."""
    return [name for segment in path[:_PATH_CHARS].split("/") if (name := _segment_object(segment))]


@lru_cache(maxsize=1 << 14)
def _segment_object(segment: str) -> str:
    """Return the singular of a path segment that names objects (movie for ``movies``), or empty (``v1``, ``top_rated``)."""
    return "" if "{" in segment or len(segment) > 60 else _object(words(segment), {})


def documented_name(parameter: Parameter, context: PathContext, *, output: bool = False) -> str:
    """Return the name of a parameter in the graph: the last segment of its dotted path, as documented. A generic last
    segment gets its object as prefix (``movie.id`` → ``movie id``). The object of ``{id}`` in a path is the segment
    before it; for an ``output``, the object of a top-level ``id`` is the object that the response represents."""
    segments = [segment.replace("[]", "").strip() for segment in parameter.name.split(".")]
    *parents, last = [segment for segment in segments if segment] or [parameter.name]
    tokens = words(last)
    if not tokens or len(tokens) > 2 or not all(word in _DEPENDENT_NAMES for word in tokens):
        return last
    for parent in reversed(parents):
        owner = canonical_name(parent)
        if owner and owner not in _WRAPPERS and parent.lower() not in _WRAPPERS:
            return f"{owner} {last}"
    tail, owner = tokens[-1], ""
    if tail in _IN_PATH and last in context.collections:
        owner = context.collections[last]
    elif parents:
        owner = context.subject if tail in _IDENTIFIER_NAMES or tail == "name" else ""
    elif output and tokens == [tail] and tail in _IDENTIFIER_NAMES:
        owner = context.returned
    return f"{owner} {last}" if owner else last


class _Reference(NamedTuple):
    """An object that a parameter identifies or refers to; ``phrase`` is the kind of evidence, empty for its name."""

    entity: str
    confidence: float
    phrase: str = ""
    span: tuple[int, int] = (-1, -1)
    predicate: str = "identifies"


def _references(
    parameter: Parameter, context: PathContext, name: str, abbreviations: Mapping[str, str]
) -> list[_Reference]:
    """Return the objects that the parameter identifies, highest confidence first; where there is none, the one that its name mentions."""
    best: dict[str, _Reference] = {}
    if parameter.type.lower() not in _NO_IDENTIFIER_TYPES:
        for found in _identified(parameter, context, name, abbreviations):
            if found.entity not in best or found.confidence > best[found.entity].confidence:
                best[found.entity] = found
    if best:
        return sorted(best.values(), key=lambda found: (-found.confidence, found.entity))
    return list(_mentioned(parameter, name, abbreviations))


def _identified(
    parameter: Parameter, context: PathContext, name: str, abbreviations: Mapping[str, str]
) -> Iterator[_Reference]:
    tokens, own = words(name), words(parameter.name)
    tail = tokens[-1] if tokens else ""
    entity = _object(identified_entity(name, abbreviations).split(), {})
    if entity and not (tail in _WEAK_TAILS and entity.split()[-1] in _NOT_IDENTIFIED):
        yield _Reference(entity, 0.75 if tail in _WEAK_TAILS else 0.95)
    segment = context.collections.get(parameter.name, "")
    if segment and own and (own[-1] in _IN_PATH or canonical_name(parameter.name, abbreviations) == segment):
        yield _Reference(segment, 0.85, _PATH)
    is_identifier, has_id_format = tail in _IDENTIFYING_TAILS, parameter.format.lower() in ("uuid", "guid")
    bonus = 0.1 if has_id_format else 0.0 if is_identifier else -0.15
    text = parameter.description[:_DESCRIPTION_CHARS]
    if match := _ID_OF.search(text):
        kept: list[str] = []  # the noun phrase after "ID of"
        for token in [*dropwhile(STOP_WORDS.__contains__, words(match["of"]))][:3]:
            if token in STOP_WORDS or (action(token) == token and kept and not is_noun(token)):
                break
            kept.append(token)
        if entity := _object(kept, abbreviations):
            yield _Reference(entity, round(0.8 + bonus, 2), "identifier of", match.span())
    if match := _OF_ID.search(text):
        said, tokens = match["tail"].lower(), [*dropwhile(STOP_WORDS.__contains__, words(match["of"]))]
        entity = _object(tokens, abbreviations) if len(tokens) <= 3 else ""
        weak = said in _WEAK_TAILS and (not is_identifier or (entity and entity.split()[-1] in _NOT_IDENTIFIED))
        if entity and not weak and (is_identifier or has_id_format or said in ("id", "ids", "identifier")):
            yield _Reference(entity, round(0.7 + bonus, 2), "identifier of", match.span())


def _mentioned(parameter: Parameter, name: str, abbreviations: Mapping[str, str]) -> Iterator[_Reference]:
    """Yield the object that a name mentions but does not identify: supplier for ``supplier_name``, none for ``email``."""
    tokens = words(name)
    if parameter.type.lower() in ("boolean", "bool") or not tokens or tokens[0] in _FLAGS:
        return
    kept = list(tokens)
    while kept and noun_lemma(kept[-1]) in _NAMING_TAILS:
        kept.pop()
    entity = _object(kept, abbreviations)
    last = entity.rpartition(" ")[2]
    is_property = last in _ATTRIBUTES and not (last in _ALSO_OBJECTS and len(kept) < len(tokens))
    if entity and not is_property and (len(entity) > 3 or entity in _SHORT_OBJECTS):
        yield _Reference(entity, 0.7 if tokens[-1] in ("name", "names", "title") else 0.6, predicate="refers_to")


def _object(tokens: list[str], abbreviations: Mapping[str, str]) -> str:
    """Return the canonical name of a business object, or empty when the words name none."""
    while tokens and tokens[0] in _ROLES:
        tokens = tokens[1:]
    entity = canonical_name(" ".join(tokens), abbreviations)
    kept = entity.split()
    plain = all(word.isalpha() and word not in STOP_WORDS and len(word) > 1 for word in kept)
    if not kept or len(kept) > 4 or kept[-1] in _NOT_OBJECTS or not plain:
        return ""
    is_foreign = len(kept) == 1 and len(entity) > 2 and not entity.isascii()
    return entity if is_foreign or is_noun(kept[-1]) else ""


_MAX_METADATA_VALUES = 20  # values read per metadata key
_MAX_VALUE_CHARS = 60  # a longer text is prose, not a name
_NOT_VALUES = vocabulary("not_values")


def declared_metadata(tool: Tool, ontology: Ontology) -> dict[str, set[str]]:
    """Map from predicate to the canonical names of its tails in the metadata."""
    found: dict[str, set[str]] = defaultdict(set)
    for predicate, value, _ in _declared(tool, ontology):
        found[predicate].add(canonical_name(value, ontology.abbreviations))
    return found


def _declared(tool: Tool, ontology: Ontology) -> Iterator[tuple[str, str, str]]:
    """Yield ``(predicate, value, field)`` of the metadata; without a key for the system, the namespace is the system."""
    has_system = False
    for key, value in tool.metadata.items():
        predicate = ontology.metadata_predicates.get(key, "")
        listed = (value if isinstance(value, (list, tuple)) else [value]) if predicate else ()
        names = dict.fromkeys(text.strip() for one in listed for text in _texts_in(one, 0) if _is_name(text))
        for name in islice(names, _MAX_METADATA_VALUES):
            # Some sources write the operation into the key of the system.
            if predicate == "has_system" and (name == tool.name or tool.name.endswith((f": {name}", f"/{name}"))):
                continue
            has_system = has_system or predicate == "has_system"
            yield predicate, name, f"metadata.{key}"
    if not has_system and "has_system" in ontology.predicates and _is_name(tool.namespace):
        yield "has_system", tool.namespace, "metadata.namespace"


def _is_name(value: str) -> bool:
    """Whether a value is a name: not a number, a boolean, an address, an identifier or prose."""
    text = value.strip()
    name = canonical_name(text)
    if not name or len(text) > _MAX_VALUE_CHARS or name in _NOT_VALUES or "://" in text or "@" in text:
        return False
    letters = sum(character.isalpha() for character in text)
    # Hashes and serial ids are mostly digits; "2160p" and "gpt-4" are not.
    return letters > 0 and not (len(text) >= 16 and sum(c.isdigit() for c in text) > letters / 2)
