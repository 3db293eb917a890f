"""Names of parameters in the graph, and the objects that parameters identify.

A tool that needs a person's id depends on a tool that finds persons by name. So the name of an id in the graph contains its object.
The evidence for the object is the parameter's name, its position in the path, its description and the format of its schema.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from ingest.extract.vocabulary import DEPENDENT_NAMES, STOP_WORDS, action, vocabulary
from ontology.names import canonical_name, identified_entity, is_noun, noun_lemma, words
from ontology.tool import Parameter, Tool

__all__ = ["Reference", "documented_name", "identified_entities", "path_context", "path_objects", "referenced_entity"]

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
