"""What parameters are called and what they stand for.

Identifiers are first-class: a tool that needs a person's id waits for one that finds persons by name. So the name a
parameter goes by in the graph must say of *what* it is the id, and what it identifies is read from every kind of
evidence a document gives: its name, its place in a path, its description, the schema's format.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from ingest.extract.word_lists import (
    ATTRIBUTES,
    NO_OBJECTS,
    NOT_IDENTIFIERS,
    QUALIFIERS,
    ROLE_WORDS,
    STOP_WORDS,
    WRAPPERS,
    action,
)
from ontology.names import canonical_name, identified_entity, is_noun, noun_lemma, words
from ontology.tool import Parameter, Tool

__all__ = ["Meaning", "documented_name", "identified", "path_things", "place", "referred"]

_BARE_IDENTIFIERS = frozenset("id ids identifier uuid guid slug".split())
_WEAK_TAILS = frozenset("key keys code codes number no num nr ref reference iban slug".split())
_BARE_IN_PATH = _BARE_IDENTIFIERS | frozenset("name key code number no num ref username login handle".split())
# What stands before them is spoken of by its name, state or record: `supplier_name`, `order_status`, `recipient_list`.
_DENOTING_TAILS = frozenset(
    "name title description detail info information list object record status state filter type".split()
)
# Alone they are how to sort or what to say; with a name or a status they are things.
_ALSO_OBJECTS = frozenset("order message item comment note action".split())
_SHORT_THINGS = frozenset("tv vm pod app job car bus bug tax fee bill".split())
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


@dataclass(frozen=True, slots=True, kw_only=True)
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
    """What a tool's path and name say about its bare parameters.

    :param before: placeholder → singular of the static segment before it.
    :param subject: the object that lists in the tool's answer hold, or empty: the last thing-like segment of its path.
    :param own: the object that the answer itself is, whose id a bare ``id`` at its top must be, or empty.
    """

    before: Mapping[str, str]
    subject: str = ""
    own: str = ""


def place(tool: Tool) -> Place:
    """Read the path of an HTTP tool; without one, the placeholders are unknown and the subject is the name's object."""
    path = tool.metadata.get("path")
    if not isinstance(path, str) or "/" not in path:
        subject = _subject_of_name(tool.name)
        return Place(before={}, subject=subject, own=subject)
    before: dict[str, str] = {}
    previous, subject = "", ""
    for segment in path[:2_000].split("/"):
        placeholder = _PLACEHOLDER.fullmatch(segment)
        if placeholder is None:
            previous = _thing(segment)
            subject = previous or subject
        elif previous:
            before.setdefault(placeholder[1], previous)
    # GET /movie/{movie_id}/keywords answers with the movie's id; POST /users/{user_id}/playlists with the playlist's.
    ends_in_key = path.rstrip("/").endswith(("}", ">"))
    own = ends_in_key or "{" not in path or str(tool.metadata.get("method", "")).upper() == "POST"
    return Place(before=before, subject=subject, own=subject if own else "")


def documented_name(parameter: Parameter, where: Place, *, output: bool = False) -> str:
    """The name that a parameter goes by in the graph.

    The last segment of its dotted path as documented; a last segment that means nothing alone takes the object it belongs to
    (``movie.id`` → ``movie id``), which for a path's bare ``{id}`` is the segment before it.

    :param output: whether it is an output: the answer's own ``id`` is then that of the object answered with.
    """
    segments = [segment.replace("[]", "").strip() for segment in parameter.name.split(".")]
    segments = [segment for segment in segments if segment] or [parameter.name]
    last = segments[-1]
    bare = words(last)
    if not bare or not all(word in QUALIFIERS for word in bare) or len(bare) > 2:
        return last
    for parent in reversed(segments[:-1]):
        owner = canonical_name(parent)
        if owner and owner not in WRAPPERS and parent.lower() not in WRAPPERS:
            return f"{owner} {last}"
    identifier = bare[-1] in _BARE_IN_PATH
    if identifier and last in where.before:
        return f"{where.before[last]} {last}"
    if len(segments) > 1 and bare[-1] in _BARE_IDENTIFIERS | {"name"} and where.subject:
        return f"{where.subject} {last}"
    if output and len(segments) == 1 and len(bare) == 1 and bare[0] in _BARE_IDENTIFIERS and where.own:
        return f"{where.own} {last}"
    return last


def identified(parameter: Parameter, where: Place, name: str, abbreviations: Mapping[str, str]) -> list[Meaning]:
    """The business objects whose identifier the parameter is, the surest first, each once.

    :param name: what the parameter goes by, from :func:`documented_name`.
    """
    if parameter.type.lower() in ("boolean", "bool", "object", "number", "float", "double"):
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
    """The entity that a parameter's name speaks of without identifying it: ``supplier_name`` → supplier, ``email`` → none."""
    tokens = words(name)
    if parameter.type.lower() in ("boolean", "bool") or not tokens or tokens[0] in ("is", "has", "include", "exclude"):
        return None
    said = list(tokens)
    while said and noun_lemma(said[-1]) in _DENOTING_TAILS:
        said.pop()
    entity = _object(said, abbreviations)
    last = entity.rpartition(" ")[2]
    property_ = last in ATTRIBUTES and not (last in _ALSO_OBJECTS and len(said) < len(tokens))
    if not entity or property_ or (len(entity) <= 3 and entity not in _SHORT_THINGS):
        return None
    return Meaning(entity=entity, confidence=0.7 if tokens[-1] in ("name", "names", "title") else 0.6)


def _by_name(name: str, abbreviations: Mapping[str, str]) -> list[Meaning]:
    tokens = words(name)
    entity = _object(identified_entity(name, abbreviations).split(), {})
    if not entity:
        return []
    weak = tokens[-1] in _WEAK_TAILS
    if weak and entity.split()[-1] in NOT_IDENTIFIERS:
        return []
    return [Meaning(entity=entity, confidence=_NAME_WEAK if weak else _NAME_STRONG)]


def _by_path(parameter: Parameter, where: Place, abbreviations: Mapping[str, str]) -> list[Meaning]:
    segment = where.before.get(parameter.name, "")
    tokens = words(parameter.name)
    if not segment or not tokens:
        return []
    named = tokens[-1] in _BARE_IN_PATH or canonical_name(parameter.name, abbreviations) == segment
    return [Meaning(entity=segment, confidence=_PATH_SHARE, phrase="path")] if named else []


def _by_description(parameter: Parameter, name: str, abbreviations: Mapping[str, str]) -> list[Meaning]:
    text = parameter.description[:_DESCRIPTION_CHARS]
    tokens = words(name)
    identifier = tokens and (tokens[-1] in _BARE_IDENTIFIERS or tokens[-1] in _WEAK_TAILS)
    hard = parameter.format.lower() in _HARD_FORMATS
    found: list[Meaning] = []
    for pattern, sure in ((_ID_OF, _SAID_OF), (_OF_ID, _SAID_HEAD)):
        match = pattern.search(text)
        if match is None:
            continue
        weak = match.groupdict().get("tail", "id").lower() in _WEAK_TAILS
        spoken = _object(_until_stop(words(match["of"]), head=pattern is _OF_ID), abbreviations)
        if not spoken or (weak and (not identifier or spoken.split()[-1] in NOT_IDENTIFIERS)):
            continue
        if not (identifier or hard) and pattern is _OF_ID and match["tail"].lower() not in ("id", "ids", "identifier"):
            continue
        confidence = sure + 0.1 if hard else sure if identifier else sure - 0.15
        found.append(
            Meaning(
                entity=spoken,
                confidence=round(confidence, 2),
                phrase="identifier of",
                start=match.start(),
                end=match.end(),
            )
        )
    return found


def _until_stop(tokens: list[str], *, head: bool) -> list[str]:
    """The noun phrase at the front of ``tokens`` (after ID of …) or, for ``head``, all of them."""
    while tokens and tokens[0] in STOP_WORDS:
        tokens = tokens[1:]
    if head:
        return tokens if len(tokens) <= 3 else []
    said: list[str] = []
    for token in tokens[:4]:
        if token in STOP_WORDS or (action(token) == token and said and not is_noun(token)):
            break
        said.append(token)
    return said[:3]


def _object(tokens: list[str], abbreviations: Mapping[str, str]) -> str:
    """The canonical name of a thing of the business, or empty when the words name none."""
    while tokens and tokens[0] in ROLE_WORDS:
        tokens = tokens[1:]
    entity = canonical_name(" ".join(tokens), abbreviations)
    said = entity.split()
    if not said or len(said) > 4 or said[-1] in NO_OBJECTS or not all(map(_plain, said)):
        return ""
    return (
        entity
        if is_noun(said[-1]) or (len(said) == 1 and len(said[0]) > 2 and said[0].isalpha() and not said[0].isascii())
        else ""
    )


def _plain(word: str) -> bool:
    return word.isalpha() and word not in STOP_WORDS and len(word) > 1


def path_things(path: str) -> list[str]:
    """The things that the static segments of a path name, canonical, in order."""
    return [thing for segment in path[:2_000].split("/") if (thing := _thing(segment))]


@lru_cache(maxsize=1 << 14)
def _thing(segment: str) -> str:
    """The singular of a path segment that names things, or empty: ``movies`` → movie, ``v1`` and ``top_rated`` → empty."""
    if "{" in segment or len(segment) > 60:
        return ""
    return _object(words(segment), {})


def _subject_of_name(name: str) -> str:
    tokens = words(name)
    if len(tokens) < 2 or not action(tokens[0]):
        return ""
    said: list[str] = []
    for token in tokens[1:]:
        if token in STOP_WORDS:
            break
        said.append(token)
    return _object(said, {})
