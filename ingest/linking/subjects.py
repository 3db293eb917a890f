"""What a tool does to which thing, as its path and its name say it; and the system and the vendor that it belongs to."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from ingest.word_lists import word_groups, word_list
from ontology.names import expand, is_verb, noun_lemma, verb_lemma, words
from ontology.ontology import Ontology
from ontology.tool import Parameter, Tool

_ACTIONS = word_groups("linking", "actions")
_ACTION_OF = {verb: action for action, verbs in _ACTIONS.items() for verb in verbs}
_METHODS = {"get": "get", "post": "create", "put": "update", "patch": "update", "delete": "delete"}
_LEADING = word_list("linking", "leading")
_FILLERS = word_list("linking", "fillers")
_NOT_OBJECTS = _FILLERS | word_list("linking", "not_objects")
_PREPOSITIONS = word_list("linking", "prepositions")
_PATH_NOISE = re.compile(r"^(?:api|apis|rest|odata|v\d+(?:\.\d+)?(?:(?:alpha|beta|p)\d*)*|me|search|watch)$")
_PLACEHOLDER = re.compile(r"^(?:\{([^}]*)\}|:(\w+)|<([^>]*)>|\((\w*)\))$")
_KEYED = re.compile(r"^(?P<collection>[\w.]+)\((?P<keys>[^()]*\{[^()]*)\)$")  # OData: groups({id})
_SET_PREFIX = re.compile(r"^[A-Z]_(?=[A-Z])")  # A_BusinessPartner, as SAP's services name their entity sets
_METHOD = re.compile(r"(?<=[\w}]):[A-Za-z]\w*$")  # a method of a resource: /v1/{name}:seek
_VERSION = re.compile(r"^/?(?:(?:api|apis|rest|odata|v?\d[\w.]*)/)+")
_KEYS = re.compile(r"\(([^()]*\{[^()]*)\)")
_ANY_PLACEHOLDER = re.compile(r"\{[^{}]*\}|\[\^/\]\+|(?<=/):\w+|<[^<>/]+>")
_MAX_DISTINCT = 0.5


class CanonicalNames:
    """Canonical names with one list of abbreviations; cached, as a catalogue repeats its names very often."""

    def __init__(self, abbreviations: Mapping[str, str]) -> None:
        self._abbreviations = dict(abbreviations)
        # The same as ``ontology.names.canonical_name``, of any text
        self.canonical = lru_cache(maxsize=500_000)(lambda text: self.join(words(text)))

    def join(self, tokens: Sequence[str]) -> str:
        """Return the canonical name of lower-case words."""
        return " ".join(noun_lemma(token) for token in expand(list(tokens), self._abbreviations))


def canonical_names(ontology: Ontology) -> CanonicalNames:
    """Return the cached canonical names for an ontology's abbreviations."""
    return _names(tuple(sorted(ontology.abbreviations.items())))


_names = lru_cache(maxsize=4)(lambda abbreviations: CanonicalNames(dict(abbreviations)))


@dataclass(frozen=True, slots=True)
class PathStep:
    """One segment of an HTTP path: the name of a placeholder with the collection that it is an item of, or a name."""

    text: str
    placeholder: bool = False
    collection: str = ""
    verb: bool = False  # whether it is a verb after a placeholder: ``/suppliers/{supplierId}/block``


@dataclass(frozen=True, slots=True)
class Subject:
    """What a tool does."""

    action: str  # ``search``, ``list``, ``get``, ``create``, ``update``, ``delete`` or ``act``
    entities: tuple[str, ...] = ()  # canonical names of the entities in its path and name, the most likely first

    @property
    def entity(self) -> str:
        """The most likely entity, or empty."""
        return self.entities[0] if self.entities else ""


def _path(tool: Tool) -> str:
    """The path of a tool, or empty. Operations of AWS have exact names, and paths in which words run together."""
    path = tool.metadata.get("path")
    return path if isinstance(path, str) and tool.metadata.get("format") != "aws.v1" else ""


def path_steps(tool: Tool, names: CanonicalNames) -> tuple[PathStep, ...]:
    """Return the segments of the tool's HTTP path without versions and API prefixes; empty without a path."""
    path = _path(tool)
    steps: list[PathStep] = []
    collection = ""
    for segment in path.split("?", 1)[0].strip("/").split("/") if "/" in path else ():
        segment = _METHOD.sub("", segment.partition(".json")[0])
        keyed = _KEYED.match(segment)
        if match := _PLACEHOLDER.match(segment):
            name = next(filter(None, match.groups()), "").lstrip("+")
            steps.append(PathStep(name, placeholder=True, collection=collection))
        elif segment and not _PATH_NOISE.match(segment.lower()):
            verb = bool(steps) and steps[-1].placeholder and _is_action(segment, tool)
            text = names.canonical(_SET_PREFIX.sub("", keyed["collection"] if keyed else segment))
            collection = collection if verb else text
            steps.append(PathStep(text, verb=verb))
            # Of a key with several parts only the last is the collection's own.
            for key in re.findall(r"\{([^{}]+)\}", keyed["keys"]) if keyed else ():
                steps.append(PathStep(key, placeholder=True, collection=collection))
    return tuple(steps)


def _is_action(segment: str, tool: Tool) -> bool:
    """Whether the last word of a path is what is done (``resize``); found on Compute Engine and examples/enterprise/catalog."""
    if str(tool.metadata.get("method", "")).lower() not in ("post", "put") or segment.lower().endswith("s"):
        return False
    path = str(tool.metadata.get("path")).rstrip("/")
    return path.endswith(f"/{segment}") and is_verb(words(segment)[0] if words(segment) else segment)


def normal_path(tool: Tool) -> str:
    """Return the path of a tool without version and names of placeholders; empty without one."""
    path = _path(tool)
    return _normal(path) if path.strip("/") else ""


def collection_path(tool: Tool, parameter: Parameter) -> str:
    """Return the normal path of the collection that an input is an item of, by pattern or path; empty where there is none."""
    if "/" in parameter.pattern:
        collection, _, last = _normal(parameter.pattern.strip("^$")).rpartition("/")
        return collection if last == "{}" else ""
    path, name = _path(tool), parameter.name
    if parameter.location != "path" or not path:
        return ""
    part = path.find(f"{name}={{")  # of an OData key
    if part > 0 and (key := path.rfind("(", 0, part)) > 0:
        return _normal(path[:key])
    forms = (f"{{{name}}}", f"{{+{name}}}", f":{name}", f"<{name}>")
    start = min((at for at in map(path.find, forms) if at >= 0), default=-1)
    return _normal(path[:start].rstrip("(/")) if start > 0 else ""


@lru_cache(maxsize=50_000)
def _normal(path: str) -> str:
    path = _METHOD.sub("", _VERSION.sub("", path.split("?", 1)[0]))
    return _ANY_PLACEHOLDER.sub("{}", _KEYS.sub("/{}", path)).strip("/").removesuffix(".json").lower()


def subject_of(tool: Tool, steps: Sequence[PathStep], names: CanonicalNames) -> Subject:
    """Return what a tool does, from its path, whose steps these are, and its name."""
    name = local_name(tool)
    action, objects = _from_name(name, names)
    method = _METHODS.get(str(tool.metadata.get("method", "")).lower(), "")
    path = tool.metadata.get("path")
    if not isinstance(path, str):
        action = method if action == "act" and method else action
    elif action == "act" and method == "create" and is_verb((words(re.split(r"[./]", name)[-1]) or [""])[0]):
        pass
    elif not _ACTIONS["search"].isdisjoint(words(path)):
        action = "search"
    elif method in ("", "get"):
        if action not in ("search", "list"):
            action = "get" if not steps or steps[-1].placeholder else "list"
    # A POST that reads has the verb of its action in its name, and the path of a remote procedure says nothing.
    elif method != "create" or (action == "act" and steps):
        action = method
    collections = [step.text for step in reversed(steps) if not step.placeholder and not step.verb]
    return Subject(action, tuple(dict.fromkeys(entity for entity in (*collections, *objects) if entity)))


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
    """Return the action and the entities in a name; an unknown verb (``follow artists``) is an ``act``."""
    segments = [found for segment in re.split(r"[./]", name) if (found := words(segment))] or [[]]
    tokens = segments[-1]
    parent = _objects(segments[-2], names) if len(segments) > 1 else []
    index = next((i for i, token in enumerate(tokens) if action_of(token)), None)
    if index is None:
        return "act", [*_objects(tokens, names), *_objects(tokens[1:], names), *parent]
    action, after = action_of(tokens[index]), tokens[index + 1 :]
    last = (_phrase(after) or [""])[-1]
    if action == "get" and last.endswith("s") and noun_lemma(last) != last and last not in _FILLERS:
        action = "list"  # of a plural; found on examples/enterprise/catalog and on an MCP server
    return action, (_objects(after, names) or _objects(tokens[:index], names)) + parent


def _phrase(tokens: list[str]) -> list[str]:
    return tokens[: next((i for i, token in enumerate(tokens) if token in _PREPOSITIONS), len(tokens))]


def _objects(tokens: list[str], names: CanonicalNames) -> list[str]:
    """Return names for the object of a phrase, the longest first: order status, order, status for ``order status by id``."""
    while tokens and (tokens[0] in _LEADING or (tokens[0] in _FILLERS and len(tokens) > 1)):
        tokens = tokens[1:]
    tokens = _phrase(tokens)
    while len(tokens) > 1 and tokens[-1] in _FILLERS:
        tokens = tokens[:-1]
    found = [tokens, tokens[:-1], tokens[-1:]] if len(tokens) > 1 else [tokens]
    return [names.join(each) for each in found if each and not _NOT_OBJECTS.issuperset(each)]


def systems_of(tools: Sequence[Tool], ontology: Ontology) -> list[str]:
    """Return the system of each tool, in order: ``namespace|application``, with the application from the metadata. Of
    the keys for it, one whose values several tools share is preferred: others are names of the tools."""
    keys = [key for key, predicate in ontology.metadata_predicates.items() if predicate == "has_system"]
    texts = [{key: text for key in keys if isinstance(text := tool.metadata.get(key), str) and text} for tool in tools]
    values = {key: Counter(found[key] for found in texts if key in found) for key in keys}
    distinct = {key: len(counts) / counts.total() for key, counts in values.items() if counts}
    ranked = sorted(distinct, key=lambda key: (max(distinct[key], _MAX_DISTINCT), keys.index(key)))
    applications = (next((found[key] for key in ranked if key in found), "") for found in texts)
    return [f"{tool.namespace}|{application}" for tool, application in zip(tools, applications, strict=True)]


def vendors_of(tools: Sequence[Tool]) -> list[str]:
    """Return the vendor of each tool: its namespace where that is unknown, empty for all in a catalogue of one vendor."""
    known: dict[str, str] = {}
    for tool in tools:
        if not known.get(tool.namespace):
            labels = map(registered_label, tool.call.servers) if tool.call is not None else ()
            is_aws = tool.call is not None and tool.call.protocol == "aws"
            known[tool.namespace] = "aws" if is_aws else next(filter(None, labels), "")
    if len(set(filter(None, known.values()))) <= 1:
        return [""] * len(tools)
    return [known[tool.namespace] or f"namespace {tool.namespace}" for tool in tools]


# Hosts.

_HOST = re.compile(r"^(?:[a-z][a-z0-9+.-]*://)?(?:[^/@]*@)?(?P<host>[a-z0-9.-]+)", re.IGNORECASE)
_IP_ADDRESS = re.compile(r"[\d.]+")
# Below these, labels are registered by others: chosen, not tuned. Of hosts below the last ones the label tells nothing.
_SECOND_LEVEL = frozenset("ac co com edu gov net org".split())
_HOSTING = (
    ".appspot.com .azurewebsites.net .azure-api.net .cloudfunctions.net .fly.dev .github.io .herokuapp.com .netlify.app "
    ".onrender.com .pages.dev .run.app .vercel.app .workers.dev"
).split()
_UNKNOWN = (".amazonaws.com", ".example.com", ".example.org", ".localhost", ".local", ".internal")


def registered_label(address: str) -> str:
    """Return the registered label of an address's host, lower-case, without hyphens; empty where it tells no owner."""
    match = _HOST.match(address)
    host = match["host"].lower().strip(".") if match else ""
    if "." not in host or _IP_ADDRESS.fullmatch(host) or f".{host}".endswith(_UNKNOWN):
        return ""
    suffix = next((one for one in _HOSTING if f".{host}".endswith(one)), "")
    labels = f".{host}".removesuffix(suffix).strip(".").split(".") if suffix else host.split(".")[:-1]
    while not suffix and len(labels) > 1 and labels[-1] in _SECOND_LEVEL:
        labels.pop()
    return labels[-1].replace("-", "")
