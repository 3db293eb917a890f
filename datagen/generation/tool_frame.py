"""The Reading of a tool: what somebody wants who needs it, as a verb, a thing, and arguments; the words of its documents aside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from datagen.catalogue import Catalogue
from datagen.generation.arguments import Argument, arguments_of
from datagen.generation.condition_outputs import Output, outputs_of
from datagen.generation.lexicon import Lexicon, Noun
from ingest.linking import canonical_names, local_name, path_steps
from ontology.names import noun_lemma, words
from ontology.ontology import Ontology
from ontology.tool import Tool

__all__ = ["Reading", "read_tool"]

_LISTS = frozenset("list query browse enumerate discover".split())
_SEARCHES = frozenset("search find lookup match explore suggest recommend".split())
_CREATES = frozenset("create add new make insert post register put".split())
_UPDATES = frozenset("update change edit modify set patch adjust correct".split())
_FILLERS = frozenset(
    "detail details info information data record records list all result results header headers by the a an of item_ batch "
    "current currently specified given specific single multiple many api response service_ get json".split()
)
_MINE = frozenset("user users me my own current currents".split())
_PREPOSITIONS = frozenset("by for from with in on to using via at into per as within between of without based".split())
_READINGS = frozenset(
    "report overview summary list status balance forecast statistics history lookup finder detail details info search".split()
)
"""Nouns of a name without a verb that say that something is read."""
_METHODS = frozenset("get post put patch delete".split())
_ANYTHING = Noun(key="anything", say=("thing", "entry", "hit"), plurals=("things", "hits", "entries"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What a tool is wanted for.

    :param kind: ``get``, ``list``, ``search``, ``create``, ``update`` or ``act``.
    :param verb: in its base form, or empty where the kind says enough.
    :param noun: the thing it is about.
    :param identity: the argument that says which one.
    :param owner: the argument that says whose it is.
    :param decision: the argument that says yes or no.
    :param mine: whether it is about the person who asks.
    :param quality: which ones, as people say it after the noun; or none.
    :param heard: the words of the tool's documents, which a request had better not repeat.
    """

    tool: str
    kind: str
    verb: str
    noun: Noun
    arguments: tuple[Argument, ...] = ()
    identity: Argument | None = None
    owner: Argument | None = None
    decision: Argument | None = None
    mine: bool = False
    quality: tuple[str, ...] = ()
    tail: str = ""
    outputs: tuple[Output, ...] = ()
    heard: frozenset[str] = field(default_factory=frozenset)

    @property
    def reads(self) -> bool:
        """Whether it changes nothing."""
        return self.kind in ("get", "list", "search")

    @property
    def many(self) -> bool:
        """Whether it gives several."""
        return self.kind in ("list", "search")

    def argument(self, parameter: str) -> Argument | None:
        """The argument that an input belongs to."""
        return next((one for one in self.arguments if parameter in one.names), None)


def read_tool(catalogue: Catalogue, tool_id: str, lexicon: Lexicon) -> Reading | str:
    """The reading of a tool, or why people have no words for it."""
    tool, profile = catalogue.tool(tool_id), catalogue.profile(tool_id)
    if not _is_latin(tool):
        return "its documents are not in English"
    verb, candidates, before, tail = _parse(tool, lexicon, catalogue.ontology)
    arguments = arguments_of(tool, profile, lexicon, canonical_names(catalogue.ontology))
    names = [
        *_shorter(candidates, arguments, lexicon),
        profile.entity,
        *(one.noun.key for one in arguments if one.noun is not None and one.required),
    ]
    noun, quality = _noun_of(names, lexicon)
    if noun is None and profile.action == "search":
        noun = _ANYTHING
    if noun is None:
        return "no word of its name is a noun that people use"
    kind = _kind(verb, profile.action, before, lexicon)
    if kind == "act" and not verb:
        if not _READINGS.intersection(words(f"{tool.name} {tool.title}")):
            return "its name is a thing, and says nothing of what is done"
        kind = "get"
    identity = _identity(noun, arguments, kind, verb)
    if kind == "create" and identity is not None and identity.required and verb not in _CREATES:
        kind = "act"
    if kind == "create":
        identity = None
    if kind in ("update", "act") and identity is None:
        needed = [one for one in arguments if one.role == "id" and one.required]
        identity = (
            needed[0] if len(needed) == 1 and needed[0].noun is not None and _part_of(noun, needed[0].noun) else None
        )
    decision = next((one for one in arguments if one.role == "decision"), None)
    if decision is not None and kind == "update":
        kind = "act"
    owner = _owner(arguments, identity)
    path_quality = _path_quality(tool, catalogue.ontology, lexicon)
    return Reading(
        tool=tool_id,
        kind="get" if kind == "list" and identity is not None and identity.required else kind,
        verb=verb,
        noun=noun,
        arguments=arguments,
        identity=identity,
        owner=owner,
        decision=decision,
        mine=_is_mine(tool, arguments),
        quality=path_quality or quality,
        tail=tail,
        outputs=outputs_of(tool, lexicon),
        heard=frozenset(
            noun_lemma(word)
            for text in (tool.name, tool.title, tool.description)
            for word in words(text)
            if len(word) > 2
        ),
    )


def _shorter(candidates: Sequence[str], arguments: Sequence[Argument], lexicon: Lexicon) -> list[str]:
    """A candidate that ends in what an input identifies is about what stands before: ``remove tracks playlist``."""
    ends = {one.noun.key for one in arguments if one.noun is not None and one.required}
    found: list[str] = []
    for name in (name.replace(" lots", " lot") for name in candidates):
        front, _, last = name.rpartition(" ")
        found.extend([front, name] if last in ends and front in lexicon.nouns and name not in lexicon.nouns else [name])
    return found


def _is_latin(tool: Tool) -> bool:
    letters = [sign for sign in f"{tool.name} {tool.title} {tool.description[:300]}" if sign.isalpha()]
    return sum(sign.isascii() for sign in letters) > 0.8 * len(letters) if letters else False


def _parse(tool: Tool, lexicon: Lexicon, ontology: Ontology) -> tuple[str, list[str], list[str], str]:
    """The verb of a tool's name, names for its object, the words of the object, and a tail (``for signature``)."""
    steps = path_steps(tool, canonical_names(ontology))
    tokens = [word for segment in local_name(tool).split(".")[-1:] for word in words(segment)]
    if steps and tokens and tokens[0] in _METHODS and _is_path(tokens[1:], tool):
        collections = [step.text for step in steps if not step.placeholder and step.text not in _LISTS]
        if any(step.placeholder for step in steps):
            collections = collections[-1:]
        return _method_verb(tokens[0]), _of_path(collections, lexicon), tokens[-1:], ""
    at = _verb_place(tokens, lexicon)
    verb = lexicon.verb(tokens[at]) if at is not None else ""
    rest = tokens[:at] if at else tokens[at + 1 :] if at is not None else tokens
    if not rest and "." in tool.name:
        rest = words(tool.name.split(".")[-2])
    cut = next((i for i, token in enumerate(rest) if token in _PREPOSITIONS), len(rest))
    here, after = _content(rest[:cut]), _content(rest[cut + 1 :])
    tail = f"for {after[0]}" if here == [] and after and rest[cut] == "for" and len(after) == 1 else ""
    if not here and not tail:
        here, after = after, []
    names = canonical_names(ontology)
    whole = [names.join(rest)] if cut < len(rest) else []
    title = _content([word for word in words(tool.title) if word != verb and not lexicon.verb(word)])
    return verb, [*whole, *(names.join(phrase) for phrase in (here, title, after) if phrase)], rest[:cut], tail


def _is_path(tokens: Sequence[str], tool: Tool) -> bool:
    """Whether a name is its path over again: ``GET_movie-movie_id-credits``."""
    return set(tokens) == {word for word in words(str(tool.metadata.get("path", ""))) if not word.isdigit()}


def _verb_place(tokens: Sequence[str], lexicon: Lexicon) -> int | None:
    """Where the verb stands: in front; at the end only where the word is no thing too (``project cost report``)."""
    if tokens and lexicon.verb(tokens[0]):
        return 0
    last = len(tokens) - 1
    return last if tokens and lexicon.verb(tokens[last]) and tokens[last] not in lexicon.nouns else None


def _content(tokens: Sequence[str]) -> list[str]:
    kept = [token for token in tokens if token not in _FILLERS and not token.isdigit()]
    kept = [token for token in kept if token not in _MINE] or kept
    cut = next((i for i, token in enumerate(kept) if i and token in _PREPOSITIONS), len(kept))
    return kept[:cut]


def _method_verb(method: str) -> str:
    return {"get": "", "post": "create", "put": "update", "patch": "update"}.get(method, method)


def _of_path(collections: list[str], lexicon: Lexicon) -> list[str]:
    """Names for what a path is about; ``/person/x/movie_credits``: movie credit."""
    telling = [name for name in collections if name not in lexicon.qualities]
    return [name for name in (" ".join(telling[-2:]), *reversed(telling)) if name]


def _noun_of(candidates: Sequence[str], lexicon: Lexicon) -> tuple[Noun | None, tuple[str, ...]]:
    """The first candidate that has words; a quality at its front is taken off: ``upcoming movie``."""
    for exact in (True, False):
        for name in candidates:
            quality: tuple[str, ...] = ()
            for known, phrases in lexicon.qualities.items():
                if name.startswith(f"{known} ") and name not in lexicon.nouns:
                    name, quality = name.removeprefix(f"{known} "), phrases
                    break
            found = lexicon.nouns.get(name) if exact else lexicon.noun(name)
            if found is not None:
                return found, quality
    return None, ()


def _path_quality(tool: Tool, ontology: Ontology, lexicon: Lexicon) -> tuple[str, ...]:
    steps = [step.text for step in path_steps(tool, canonical_names(ontology)) if not step.placeholder]
    return next((lexicon.qualities[step] for step in reversed(steps) if step in lexicon.qualities), ())


def _kind(verb: str, action: str, said: Sequence[str], lexicon: Lexicon) -> str:
    if verb in _SEARCHES:
        return "search"
    if verb in _LISTS:
        return "list"
    if not verb and action in ("get", "list", "search"):
        return action
    if verb in lexicon.reads:
        several = bool(said) and noun_lemma(said[-1]) != said[-1]
        return "list" if several and action != "search" else "get"
    if verb in _UPDATES:
        return "update"
    if verb in _CREATES or verb in lexicon.starts or (not verb and action == "create"):
        return "create"
    return "act"


def _part_of(noun: Noun, other: Noun) -> bool:
    """Whether the two speak of the same thing: purchase order and order, a request and its header; a document may be anything."""
    return (
        noun.key == other.key
        or other.key.endswith("document")
        or noun.key.endswith(f" {other.key}")
        or (other.key.endswith(f" {noun.key}") and " for " not in other.key)
        or noun.key.startswith(f"{other.key} header")
    )


def _identity(noun: Noun, arguments: Sequence[Argument], kind: str, verb: str) -> Argument | None:
    found = [one for one in arguments if one.noun is not None and _part_of(noun, one.noun)]
    required = [one for one in found if one.required]
    if kind == "search" or (kind == "list" and verb in _LISTS):
        return None
    if kind == "list":
        return required[0] if required and len(required) == sum(one.required for one in arguments) else None
    able = required if kind == "create" else required or found
    return able[0] if able else None


def _owner(arguments: Sequence[Argument], identity: Argument | None) -> Argument | None:
    others = [one for one in arguments if one.role == "id" and one is not identity]
    return next((one for one in others if one.required), None)


def _is_mine(tool: Tool, arguments: Sequence[Argument]) -> bool:
    persons = any(one.noun is not None and one.noun.person for one in arguments)
    said: Mapping[str, None] = dict.fromkeys(words(f"{tool.name} {tool.title} {tool.metadata.get('path', '')}"))
    return not persons and any(word in said for word in ("me", "my", "own"))
