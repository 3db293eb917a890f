"""The subject of a tool: its kind of action and its entity, parsed from its path and name."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from ingest.word_lists import word_groups, word_list
from ontology.names import expand, is_verb, noun_lemma, verb_lemma, words
from ontology.ontology import Ontology
from ontology.tool import Tool

__all__ = [
    "CanonicalNames",
    "PathStep",
    "Subject",
    "action_of",
    "canonical_names",
    "local_name",
    "path_steps",
    "subject_of",
    "systems_of",
]

_ACTIONS = word_groups("linking", "actions")
_ACTION_OF = {verb: action for action, verbs in _ACTIONS.items() for verb in verbs}
_METHODS = {"get": "get", "post": "create", "put": "update", "patch": "update", "delete": "delete"}
_LEADING = word_list("linking", "leading")
_FILLERS = word_list("linking", "fillers")
_NOT_OBJECTS = _FILLERS | word_list("linking", "not_objects")
_PREPOSITIONS = word_list("linking", "prepositions")
_PATH_NOISE = re.compile(r"^(?:api|apis|rest|odata|v\d+(?:\.\d+)?(?:(?:alpha|beta|p)\d*)*|me|search|watch)$")
_PLACEHOLDER = re.compile(r"^(?:\{(?P<brace>[^}]*)\}|:(?P<colon>\w+)|<(?P<angle>[^>]*)>|\((?P<paren>\w*)\))$")
_KEYED = re.compile(r"^(?P<collection>[\w.]+)\((?P<keys>[^()]*\{[^()]*)\)$")  # OData: groups({id})
_SET_PREFIX = re.compile(r"^[A-Z]_(?=[A-Z])")  # A_BusinessPartner, as SAP's services name their entity sets
_KEY = re.compile(r"\{([^{}]+)\}")
_METHOD = re.compile(r"(?<=[\w}]):(?P<verb>[A-Za-z]\w*)$")  # a method of a resource: /v1/{name}:seek
_MAX_DISTINCT = 0.5
_MAX_CACHED = 500_000


class CanonicalNames:
    """Cached canonical names with one list of abbreviations; a catalogue repeats its names very often."""

    def __init__(self, abbreviations: Mapping[str, str]) -> None:
        self._abbreviations = dict(abbreviations)
        self._canonical: dict[str, str] = {}

    def canonical(self, text: str) -> str:
        """Return the same as ``ontology.names.canonical_name``, cached."""
        known = self._canonical.get(text)
        if known is None:
            if len(self._canonical) >= _MAX_CACHED:
                self._canonical.clear()
            known = self.join(words(text))
            self._canonical[text] = known
        return known

    def join(self, tokens: list[str]) -> str:
        """Return the canonical name of lower-case words."""
        return " ".join(noun_lemma(token) for token in expand(tokens, self._abbreviations))


def canonical_names(ontology: Ontology) -> CanonicalNames:
    """Return the cached canonical names for an ontology's abbreviations."""
    return _names(ontology.digest, tuple(sorted(ontology.abbreviations.items())))


@lru_cache(maxsize=4)
def _names(digest: str, abbreviations: tuple[tuple[str, str], ...]) -> CanonicalNames:
    return CanonicalNames(dict(abbreviations))


@dataclass(frozen=True, slots=True, kw_only=True)
class PathStep:
    """One segment of an HTTP path: a collection, or a placeholder with the collection before it.

    :param verb: whether it is no collection but a verb after a placeholder: ``/suppliers/{supplierId}/block``.
    """

    text: str
    placeholder: bool
    collection: str = ""
    verb: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """The subject of a tool.

    :param action: ``search``, ``list``, ``get``, ``create``, ``update``, ``delete`` or ``act``.
    :param entity: canonical name of its most likely entity, or empty.
    :param entities: canonical names of all entities in its path or name, the most likely first.
    """

    action: str
    entity: str
    entities: tuple[str, ...] = ()


def path_steps(tool: Tool, names: CanonicalNames) -> tuple[PathStep, ...]:
    """Return the segments of the tool's HTTP path without versions and API prefixes; empty without a path."""
    path = tool.metadata.get("path")
    # Operations of AWS have exact names, and paths in which words run together (/2013-04-01/hostedzone).
    if not isinstance(path, str) or "/" not in path or tool.metadata.get("format") == "aws.v1":
        return ()
    steps: list[PathStep] = []
    collection = ""
    for segment in path.split("?", 1)[0].strip("/").split("/"):
        segment = _METHOD.sub("", segment.partition(".json")[0])
        keyed = _KEYED.match(segment)
        if match := _PLACEHOLDER.match(segment):
            inner = next((group for group in match.groups() if group), "").lstrip("+")
            steps.append(PathStep(text=inner, placeholder=True, collection=collection))
        elif segment and not _PATH_NOISE.match(segment.lower()):
            verb = bool(steps) and steps[-1].placeholder and _is_action(segment, tool)
            text = names.canonical(_SET_PREFIX.sub("", keyed["collection"] if keyed else segment))
            collection = collection if verb else text
            steps.append(PathStep(text=text, placeholder=False, verb=verb))
            keys = _KEY.findall(keyed["keys"]) if keyed else []
            # Of a key with several parts only the last is the collection's own.
            steps.extend(PathStep(text=key, placeholder=True, collection=collection) for key in keys)
    return tuple(steps)


def _is_action(segment: str, tool: Tool) -> bool:
    """Whether the last word of a path is what is done (``resize``); found on Compute Engine and examples/enterprise/catalog."""
    if str(tool.metadata.get("method", "")).lower() not in ("post", "put") or segment.lower().endswith("s"):
        return False
    path = str(tool.metadata.get("path")).rstrip("/")
    return path.endswith(f"/{segment}") and is_verb(words(segment)[0] if words(segment) else segment)


def subject_of(tool: Tool, ontology: Ontology) -> Subject:
    """Return the subject of a tool, from its path and name."""
    names = canonical_names(ontology)
    steps = path_steps(tool, names)
    action, objects = _from_name(local_name(tool), names)
    method = _METHODS.get(str(tool.metadata.get("method", "")).lower(), "")
    if steps or isinstance(tool.metadata.get("path"), str):
        does = (
            action == "act"
            and method == "create"
            and is_verb((words(re.split(r"[./]", local_name(tool))[-1]) or [""])[0])
        )
        action = "act" if does else _path_action(str(tool.metadata.get("path")), steps, action, method)
    elif action == "act" and method:
        action = method
    collections = [step.text for step in reversed(steps) if not step.placeholder and not step.verb]
    entities = tuple(dict.fromkeys(entity for entity in (*collections, *objects) if entity))
    return Subject(action=action, entity=entities[0] if entities else "", entities=entities)


def systems_of(tools: Sequence[Tool], ontology: Ontology) -> list[str]:
    """Return the system of each tool, in order: ``namespace|application``, with the application from the metadata.

    Of the metadata keys for the application, the one whose values several tools share is preferred. A key with a different value
    for nearly every tool is the name of the tool.
    """
    keys = [key for key, predicate in ontology.metadata_predicates.items() if predicate == "has_system"]
    values: dict[str, Counter[str]] = {key: Counter() for key in keys}
    for tool in tools:
        for key in keys:
            if value := _text_of(tool, key):
                values[key][value] += 1
    distinct = {key: len(counts) / counts.total() for key, counts in values.items() if counts}
    ranked = sorted(distinct, key=lambda key: (max(distinct[key], _MAX_DISTINCT), keys.index(key)))
    return [
        f"{tool.namespace}|{next((value for key in ranked if (value := _text_of(tool, key))), '')}" for tool in tools
    ]


def _text_of(tool: Tool, key: str) -> str:
    value = tool.metadata.get(key)
    return value if isinstance(value, str) else ""


def _path_action(path: str, steps: tuple[PathStep, ...], named: str, method: str) -> str:
    tokens = set(words(path))
    if tokens & _ACTIONS["search"]:
        return "search"
    if method in ("", "get"):
        if named in ("search", "list"):
            return named
        return "get" if not steps or steps[-1].placeholder else "list"
    # A POST that reads has the verb of its action in its name, and the path of a remote procedure says nothing.
    return named if method == "create" and (named != "act" or not steps) else method


def local_name(tool: Tool) -> str:
    """Return the tool's name without its server or source: ``list issues`` for ``github: list issues``."""
    name = tool.name.rsplit("__", 1)[-1]
    _, colon, tail = name.rpartition(": ")
    return tail if colon and tail.strip() else name


@lru_cache(maxsize=100_000)
def action_of(word: str) -> str:
    """Return the kind of action of a lower-case verb (``list``, ``create``, …), or empty for another word."""
    return _ACTION_OF.get(word) or _ACTION_OF.get(verb_lemma(word), "")


def _from_name(name: str, names: CanonicalNames) -> tuple[str, list[str]]:
    segments = [found for segment in re.split(r"[./]", name) if (found := words(segment))] or [[]]
    tokens = segments[-1]
    parent = segments[-2] if len(segments) > 1 else []
    index = next((i for i, token in enumerate(tokens) if action_of(token)), None)
    if index is None:
        # An unknown verb ("follow artists"), or no verb.
        return "act", [*_objects(tokens, names), *_objects(tokens[1:], names), *_objects(parent, names)]
    after = _objects(tokens[index + 1 :], names)
    objects = after or _objects(tokens[:index], names)
    return _many(action_of(tokens[index]), tokens[index + 1 :]), objects + _objects(parent, names)


def _many(action: str, objects: Sequence[str]) -> str:
    """Return ``list`` for a *get* of many (``get orders``); found on examples/enterprise/catalog and an MCP server of examples/real."""
    cut = next((i for i, token in enumerate(objects) if token in _PREPOSITIONS), len(objects))
    last = objects[cut - 1] if cut else ""
    plural = last.endswith("s") and noun_lemma(last) != last and last not in _FILLERS
    return "list" if action == "get" and plural else action


def _objects(tokens: list[str], names: CanonicalNames) -> list[str]:
    """Return names for the object of a phrase, the longest first: order status, order, status for ``order status by id``."""
    while tokens and (tokens[0] in _LEADING or (tokens[0] in _FILLERS and len(tokens) > 1)):
        tokens = tokens[1:]
    cut = next((i for i, token in enumerate(tokens) if token in _PREPOSITIONS), len(tokens))
    tokens = tokens[:cut]
    while len(tokens) > 1 and tokens[-1] in _FILLERS:
        tokens = tokens[:-1]
    found = [tokens, tokens[:-1], tokens[-1:]] if len(tokens) > 1 else [tokens]
    return [names.join(words_) for words_ in found if words_ and not _NOT_OBJECTS.issuperset(words_)]
