"""The semantic frame of a tool: what a user wants from it, as a verb, a thing and arguments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from datagen.generation.arguments import Argument, arguments_of
from datagen.generation.condition_outputs import ConditionOutput, condition_outputs
from datagen.generation.data_files import word_classes
from datagen.generation.lexicon import Lexicon, Noun
from datagen.generation.tool_name import ParsedName, parse_name, path_collections
from datagen.profiled_catalogue import ProfiledCatalogue
from ingest.linking import canonical_names
from ontology.names import noun_lemma, words
from ontology.tool import Tool

__all__ = ["GenerationError", "ToolFrame", "parse_tool"]

_WORDS = word_classes("tool_frame")
_ANYTHING = Noun(key="anything", words=("thing", "entry", "hit"), plurals=("things", "hits", "entries"))
_MAX_DESCRIPTION_CHARS = 300
_MIN_LATIN = 0.8  # of the letters of a document in English


class GenerationError(Exception):
    """No text can be generated for a tool or a path; its text is the reason, without a full stop."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolFrame:
    """What a user wants from a tool.

    :param kind: ``get``, ``list``, ``search``, ``create``, ``update`` or ``act``.
    :param verb: in its base form, or empty where the kind is enough.
    :param noun: the thing that the tool is about.
    :param identity: the argument that identifies the thing.
    :param owner: the argument that identifies what the thing belongs to.
    :param decision: the argument that is a decision between values.
    :param own: whether the thing belongs to the user.
    :param qualifiers: phrases that select some of the things; they stand after the noun.
    :param tail: a purpose after the object, or empty.
    :param outputs: the outputs that a condition can test.
    :param document_words: the words of the tool's documents, which a request should not repeat.
    """

    tool: str
    kind: str
    verb: str
    noun: Noun
    arguments: tuple[Argument, ...] = ()
    identity: Argument | None = None
    owner: Argument | None = None
    decision: Argument | None = None
    own: bool = False
    qualifiers: tuple[str, ...] = ()
    tail: str = ""
    outputs: tuple[ConditionOutput, ...] = ()
    document_words: frozenset[str] = frozenset()

    @property
    def reads(self) -> bool:
        """Whether it changes nothing."""
        return self.kind in ("get", "list", "search")

    @property
    def many(self) -> bool:
        """Whether it returns several things."""
        return self.kind in ("list", "search")

    @property
    def owner_noun(self) -> Noun | None:
        """The thing that owns the thing."""
        return self.owner.noun if self.owner is not None else None

    def argument(self, parameter: str) -> Argument | None:
        """The argument that an input belongs to."""
        return next((one for one in self.arguments if parameter in one.names), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Roles:
    """The kind of a tool, and the arguments with a role of their own."""

    kind: str
    identity: Argument | None
    decision: Argument | None


def parse_tool(catalogue: ProfiledCatalogue, tool_id: str, lexicon: Lexicon) -> ToolFrame:
    """The frame of a tool.

    :raises GenerationError: when there are no everyday words for it.
    """
    tool, profile = catalogue.tool(tool_id), catalogue.profile(tool_id)
    if not _is_latin(tool):
        raise GenerationError("its documents are not in English")
    name = parse_name(tool, lexicon, catalogue.ontology)
    arguments = arguments_of(tool, profile, lexicon, canonical_names(catalogue.ontology))
    required = [one.noun.key for one in arguments if one.noun is not None and one.required]
    candidates = [*_objects(name.objects, frozenset(required), lexicon), profile.entity, *required]
    noun, qualifiers = _noun_of(candidates, lexicon)
    if noun is None and profile.action != "search":
        raise GenerationError("no word of its name is a noun that people use")
    noun = noun or _ANYTHING
    kind = _kind(name, profile.action, lexicon)
    if kind == "act" and not name.verb:
        if not _WORDS["read_nouns"].intersection(words(f"{tool.name} {tool.title}")):
            raise GenerationError("its name is a thing, and names no action")
        kind = "get"
    roles = _roles(noun, arguments, kind, name.verb)
    by_path = [lexicon.qualifiers.get(step, ()) for step in reversed(path_collections(tool, catalogue.ontology))]
    texts = (tool.name, tool.title, tool.description)
    return ToolFrame(
        tool=tool_id,
        kind=roles.kind,
        verb=name.verb,
        noun=noun,
        arguments=arguments,
        identity=roles.identity,
        owner=_owner(arguments, roles.identity),
        decision=roles.decision,
        own=_is_own(tool, arguments),
        qualifiers=next(filter(None, by_path), qualifiers),
        tail=name.tail,
        outputs=condition_outputs(tool),
        document_words=frozenset(noun_lemma(word) for text in texts for word in words(text) if len(word) > 2),
    )


def _is_latin(tool: Tool) -> bool:
    text = f"{tool.name} {tool.title} {tool.description[:_MAX_DESCRIPTION_CHARS]}"
    letters = [sign for sign in text if sign.isalpha()]
    return bool(letters) and sum(sign.isascii() for sign in letters) > _MIN_LATIN * len(letters)


def _objects(candidates: Sequence[str], required: frozenset[str], lexicon: Lexicon) -> list[str]:
    """The candidates; one that ends in the entity of an input is about the words before: ``remove tracks playlist``."""
    found: list[str] = []
    for name in (name.replace(" lots", " lot") for name in candidates):
        front, _, last = name.rpartition(" ")
        if last in required and front in lexicon.nouns and name not in lexicon.nouns:
            found.append(front)
        found.append(name)
    return found


def _noun_of(candidates: Sequence[str], lexicon: Lexicon) -> tuple[Noun | None, tuple[str, ...]]:
    """The first candidate that the lexicon has, and the phrases of a qualifier before it: ``upcoming movie``."""
    split = [_split_qualifier(name, lexicon) for name in candidates]
    for look_up in (lexicon.nouns.get, lexicon.noun):
        for name, qualifiers in split:
            if (noun := look_up(name)) is not None:
                return noun, qualifiers
    return None, ()


def _split_qualifier(name: str, lexicon: Lexicon) -> tuple[str, tuple[str, ...]]:
    if name not in lexicon.nouns:
        for known, phrases in lexicon.qualifiers.items():
            if name.startswith(f"{known} "):
                return name.removeprefix(f"{known} "), phrases
    return name, ()


def _kind(name: ParsedName, action: str, lexicon: Lexicon) -> str:
    verb = name.verb
    if verb in _WORDS["search_verbs"]:
        return "search"
    if verb in _WORDS["list_verbs"]:
        return "list"
    if not verb and action in ("get", "list", "search"):
        return action
    if verb in lexicon.read_verbs:
        plural = bool(name.object_words) and noun_lemma(name.object_words[-1]) != name.object_words[-1]
        return "list" if plural and action != "search" else "get"
    if verb in _WORDS["update_verbs"]:
        return "update"
    if verb in _WORDS["create_verbs"] or verb in lexicon.start_verbs or (not verb and action == "create"):
        return "create"
    return "act"


def _roles(noun: Noun, arguments: Sequence[Argument], kind: str, verb: str) -> _Roles:
    identity = _identity(noun, arguments, kind, verb)
    if kind == "create":
        if identity is not None and identity.required and verb not in _WORDS["create_verbs"]:
            kind = "act"
        else:
            identity = None
    if kind in ("update", "act") and identity is None:
        needed = [one for one in arguments if one.role == "id" and one.required]
        if len(needed) == 1 and needed[0].noun is not None and _is_part(noun, needed[0].noun):
            identity = needed[0]
    decision = next((one for one in arguments if one.role == "decision"), None)
    if decision is not None and kind == "update":
        kind = "act"
    if kind == "list" and identity is not None and identity.required:
        kind = "get"
    return _Roles(kind=kind, identity=identity, decision=decision)


def _identity(noun: Noun, arguments: Sequence[Argument], kind: str, verb: str) -> Argument | None:
    found = [one for one in arguments if one.noun is not None and _is_part(noun, one.noun)]
    required = [one for one in found if one.required]
    if kind == "search" or (kind == "list" and verb in _WORDS["list_verbs"]):
        return None
    if kind == "list":
        return required[0] if required and len(required) == sum(one.required for one in arguments) else None
    able = required if kind == "create" else required or found
    return able[0] if able else None


def _is_part(noun: Noun, other: Noun) -> bool:
    """Whether two nouns name the same thing: purchase order and order, a request and its header, any document."""
    return (
        noun.key == other.key
        or other.key.endswith("document")
        or noun.key.endswith(f" {other.key}")
        or (other.key.endswith(f" {noun.key}") and " for " not in other.key)
        or noun.key.startswith(f"{other.key} header")
    )


def _owner(arguments: Sequence[Argument], identity: Argument | None) -> Argument | None:
    return next((one for one in arguments if one.role == "id" and one is not identity and one.required), None)


def _is_own(tool: Tool, arguments: Sequence[Argument]) -> bool:
    """Whether the thing belongs to the user: the tool's name has ``my``, and no argument is a person."""
    named = words(f"{tool.name} {tool.title} {tool.metadata.get('path', '')}")
    persons = any(one.noun is not None and one.noun.person for one in arguments)
    return not persons and not {"me", "my", "own"}.isdisjoint(named)
