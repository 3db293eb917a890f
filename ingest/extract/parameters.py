"""Names of parameters in the graph, and the objects that parameters identify.

A tool that needs a person's id depends on one that finds persons by name. So the name of a parameter in the graph says *whose* id
it is, and what it identifies is read from all the evidence of a document: its name, its place in a path, its description, the
format of its schema.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from ingest.extract.vocabulary import DEPENDENT_NAMES, STOP_WORDS, action, vocabulary
from ontology.names import canonical_name, identified_entity, is_noun, noun_lemma, words
from ontology.tool import Parameter, Tool

__all__ = ["Meaning", "documented_name", "identified", "path_objects", "place", "referred"]

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
_HARD_FORMATS = frozenset(("uuid", "guid"))
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
_PATH_SHARE, _NAME_STRONG, _NAME_WEAK, _SAID_OF, _SAID_HEAD = 0.85, 0.95, 0.75, 0.8, 0.7
_DESCRIPTION_CHARS = 200


@dataclass(frozen=True, slots=True)
class Meaning:
    """An object that a parameter identifies or refers to.

    :param entity: its name, canonical.
    :param phrase: the words of the evidence, or empty where it is the parameter's name.
    :param start: first character of the evidence in the parameter's description, or -1 where it lies in the name or path.
    """

    entity: str
    confidence: float
    phrase: str = ""
    start: int = -1
    end: int = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """The objects that a tool's path and name give to parameters without a name of their own.

    :param before: placeholder → singular of the static segment before it.
    :param subject: the object in the lists of the tool's answer, or empty: the last segment of its path that names an object.
    :param own: the object that the answer itself is, so that an ``id`` at its top identifies it, or empty.
    """

    before: Mapping[str, str]
    subject: str = ""
    own: str = ""


def place(tool: Tool) -> Place:
    """Read the path of an HTTP tool; without one, the subject is the object in the tool's name."""
    path = tool.metadata.get("path")
    if not isinstance(path, str) or "/" not in path:
        subject = _subject_of_name(tool.name)
        return Place(before={}, subject=subject, own=subject)
    before: dict[str, str] = {}
    previous, subject = "", ""
    for segment in path[:2_000].split("/"):
        placeholder = _PLACEHOLDER.fullmatch(segment)
        if placeholder is None:
            previous = _segment_object(segment)
            subject = previous or subject
        elif previous:
            before.setdefault(placeholder[1], previous)
    # GET /movie/{movie_id}/keywords answers with the movie's id; POST /users/{user_id}/playlists with the playlist's.
    ends_in_key = path.rstrip("/").endswith(("}", ">"))
    own = ends_in_key or "{" not in path or str(tool.metadata.get("method", "")).upper() == "POST"
    return Place(before=before, subject=subject, own=subject if own else "")


def documented_name(parameter: Parameter, where: Place, *, output: bool = False) -> str:
    """The name of a parameter in the graph.

    The last segment of its dotted path as documented. A last segment that means nothing alone gets the object it belongs to
    (``movie.id`` → ``movie id``); for ``{id}`` in a path that is the segment before it.

    :param output: whether it is an output: an ``id`` at the top of the answer is then that of the object returned.
    """
    segments = [segment.replace("[]", "").strip() for segment in parameter.name.split(".")]
    segments = [segment for segment in segments if segment] or [parameter.name]
    last = segments[-1]
    bare = words(last)
    if not bare or not all(word in DEPENDENT_NAMES for word in bare) or len(bare) > 2:
        return last
    for parent in reversed(segments[:-1]):
        owner = canonical_name(parent)
        if owner and owner not in _WRAPPERS and parent.lower() not in _WRAPPERS:
            return f"{owner} {last}"
    identifier = bare[-1] in _IN_PATH
    if identifier and last in where.before:
        return f"{where.before[last]} {last}"
    if len(segments) > 1 and bare[-1] in _IDENTIFIER_NAMES | {"name"} and where.subject:
        return f"{where.subject} {last}"
    if output and len(segments) == 1 and len(bare) == 1 and bare[0] in _IDENTIFIER_NAMES and where.own:
        return f"{where.own} {last}"
    return last


def identified(parameter: Parameter, where: Place, name: str, abbreviations: Mapping[str, str]) -> list[Meaning]:
    """The business objects whose identifier the parameter is, the most confident first, each once.

    :param name: its name in the graph, from :func:`documented_name`.
    """
    if parameter.type.lower() in _NO_IDENTIFIER_TYPES:
        return []
    found = [
        *_by_name(name, abbreviations),
        *_by_path(parameter, where, abbreviations),
        *_by_description(parameter, name, abbreviations),
    ]
    best: dict[str, Meaning] = {}
    for meaning in found:
        if meaning.entity not in best or meaning.confidence > best[meaning.entity].confidence:
            best[meaning.entity] = meaning
    return sorted(best.values(), key=lambda meaning: (-meaning.confidence, meaning.entity))


def referred(parameter: Parameter, name: str, abbreviations: Mapping[str, str]) -> Meaning | None:
    """The entity that a parameter's name refers to without identifying it: ``supplier_name`` → supplier, ``email`` → none."""
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
    return Meaning(entity, 0.7 if tokens[-1] in ("name", "names", "title") else 0.6)


def _by_name(name: str, abbreviations: Mapping[str, str]) -> list[Meaning]:
    tokens = words(name)
    entity = _object(identified_entity(name, abbreviations).split(), {})
    if not entity:
        return []
    weak = tokens[-1] in _WEAK_TAILS
    if weak and entity.split()[-1] in _NOT_IDENTIFIED:
        return []
    return [Meaning(entity, _NAME_WEAK if weak else _NAME_STRONG)]


def _by_path(parameter: Parameter, where: Place, abbreviations: Mapping[str, str]) -> list[Meaning]:
    segment = where.before.get(parameter.name, "")
    tokens = words(parameter.name)
    if not segment or not tokens:
        return []
    named = tokens[-1] in _IN_PATH or canonical_name(parameter.name, abbreviations) == segment
    return [Meaning(segment, _PATH_SHARE, "path")] if named else []


def _by_description(parameter: Parameter, name: str, abbreviations: Mapping[str, str]) -> Iterator[Meaning]:
    text = parameter.description[:_DESCRIPTION_CHARS]
    tokens = words(name)
    identifier = tokens and (tokens[-1] in _IDENTIFIER_NAMES or tokens[-1] in _WEAK_TAILS)
    hard = parameter.format.lower() in _HARD_FORMATS
    for pattern, sure in ((_ID_OF, _SAID_OF), (_OF_ID, _SAID_HEAD)):
        match = pattern.search(text)
        if match is None:
            continue
        weak = match.groupdict().get("tail", "id").lower() in _WEAK_TAILS
        entity = _object(_until_stop(words(match["of"]), head=pattern is _OF_ID), abbreviations)
        if not entity or (weak and (not identifier or entity.split()[-1] in _NOT_IDENTIFIED)):
            continue
        if not (identifier or hard) and pattern is _OF_ID and match["tail"].lower() not in ("id", "ids", "identifier"):
            continue
        confidence = sure + 0.1 if hard else sure if identifier else sure - 0.15
        yield Meaning(entity, round(confidence, 2), "identifier of", match.start(), match.end())


def _until_stop(tokens: list[str], *, head: bool) -> list[str]:
    """The noun phrase at the front of ``tokens`` (after ID of …) or, for ``head``, all of them."""
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
    """The canonical name of a business object, or empty when the words name none."""
    while tokens and tokens[0] in _ROLES:
        tokens = tokens[1:]
    entity = canonical_name(" ".join(tokens), abbreviations)
    kept = entity.split()
    if not kept or len(kept) > 4 or kept[-1] in _NOT_OBJECTS or not all(map(_plain, kept)):
        return ""
    foreign = len(kept) == 1 and len(kept[0]) > 2 and kept[0].isalpha() and not kept[0].isascii()
    return entity if foreign or is_noun(kept[-1]) else ""


def _plain(word: str) -> bool:
    return word.isalpha() and word not in STOP_WORDS and len(word) > 1


def path_objects(path: str) -> list[str]:
    """Canonical names of the objects that the static segments of a path name, in order."""
    return [name for segment in path[:2_000].split("/") if (name := _segment_object(segment))]


@lru_cache(maxsize=1 << 14)
def _segment_object(segment: str) -> str:
    """The singular of a path segment that names objects, or empty: ``movies`` → movie, ``v1`` and ``top_rated`` → empty."""
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
