"""The semantic frame of a tool: what a user wants from it, as an action, a thing and arguments."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from datagen.generation.action_verbs import action_verbs
from datagen.generation.arguments import Argument, arguments_of
from datagen.generation.condition_outputs import ConditionOutput, condition_outputs
from datagen.generation.data_files import read_data, word_classes
from datagen.generation.lexicon import Lexicon, Noun
from datagen.generation.needed_filters import needed_filters
from datagen.generation.purpose import GenerationError, Purpose, purpose_of
from datagen.generation.statement import EXISTENCE, Link, sentences_of
from datagen.named_outputs import outputs_beside_names
from datagen.profiled_catalogue import ProfiledCatalogue
from ingest.linking import ToolProfile, local_name
from ontology.names import noun_lemma, words
from ontology.tool import Tool

__all__ = ["GenerationError", "ToolFrame", "is_change", "is_same", "is_value", "parse_tool", "with_argument_nouns"]

_WORDS = word_classes("tool_frame")
_REASONS = read_data("statements")["reasons"]
_MAX_KEYS = 3  # identifiers that one request states for a tool
_WHETHER = re.compile(r"^\W*\w+\b[^.]{0,40}\b(?:if|whether)\b", re.I)
"""A sentence whose verb asks for a yes or a no."""
_INTO = frozenset(("into", "onto"))
_OF_SEVERAL = frozenset(("create", "list", "search", "delete"))
_UNCHANGED = frozenset(("reason", "remark", "flag", "problem"))
"""Kinds of values that go with a change and are none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolFrame:
    """What a user wants from a tool.

    :param kind: ``get``, ``list``, ``search``, ``create``, ``update`` or ``act``.
    :param verb: in its base form.
    :param phrases: verb phrases with ``~`` for the object.
    :param noun: the thing that the tool is about.
    :param identity: the argument that identifies the thing.
    :param owner: the argument that identifies what the thing belongs to.
    :param preposition: what stands before the owner; empty where the noun of the owner tells.
    :param decision: the argument that is a decision between values.
    :param own: whether the thing belongs to the user.
    :param namespace: the system of its tool, as the catalogue has it.
    :param system: the name of the system, where the request must say it; or empty.
    :param is_general: whether it is worded without the words of one company.
    :param outputs: the outputs that a condition can test.
    :param one_of: the arguments of a list of which a call needs one, although none is marked as required.
    :param beside_names: the identifiers that a list gives beside the name of each thing.
    :param document_words: the words of the tool's documents, which a request should not repeat.
    """

    tool: str
    kind: str
    verb: str
    phrases: tuple[str, ...]
    noun: Noun
    arguments: tuple[Argument, ...] = ()
    identity: Argument | None = None
    owner: Argument | None = None
    preposition: str = ""
    decision: Argument | None = None
    own: bool = False
    namespace: str = ""
    system: str = ""
    is_general: bool = False
    outputs: tuple[ConditionOutput, ...] = ()
    one_of: tuple[Argument, ...] = ()
    beside_names: frozenset[str] = frozenset()
    document_words: frozenset[str] = frozenset()

    @property
    def reads(self) -> bool:
        """Whether it changes nothing."""
        return self.kind in ("get", "list", "search")

    @property
    def changes_value(self) -> bool:
        """Whether it changes a value of the thing, which a request must say; else the verb says what happens to the thing."""
        decides = self.decision is not None and action_verbs().kinds.get(self.verb) in ("update", "set")
        return self.kind == "update" or decides

    @property
    def asks_existence(self) -> bool:
        """Whether it only tells whether the thing exists."""
        return self.phrases == action_verbs().phrases["exist"]

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


def parse_tool(catalogue: ProfiledCatalogue, tool_id: str, lexicon: Lexicon, system: str = "") -> ToolFrame:
    """The frame of a tool.

    :param system: the name of its system, where requests must say it.
    :raises GenerationError: when nobody would say plainly what it does; its text is the reason.
    """
    tool, profile = catalogue.tool(tool_id), catalogue.profile(tool_id)
    purpose = purpose_of(tool, lexicon.plain_words)
    changes = purpose.kind in ("update", "set") and purpose.verb != "put"  # which makes the thing where there is none
    is_named = changes and not purpose.said.own and _is_one_of_several(catalogue, tool)
    arguments = arguments_of(tool, profile, purpose.name, lexicon, makes=_makes(purpose), is_named=is_named)
    noun = _noun_of(purpose, lexicon)
    identity = _identity(noun, arguments, purpose)
    if identity is not None and lexicon.is_general:  # by the name of the document: contact person, not person
        named = replace(identity, noun=noun)
        arguments = tuple(named if one is identity else one for one in arguments)
        identity = named
    if identity is not None and _is_of_another(purpose, identity):
        raise GenerationError(_REASONS["no_one"])
    if identity is None and _needs_identity(purpose, profile):
        raise GenerationError(_REASONS["no_one"])
    owner = _owner(arguments, identity, purpose)
    if purpose.verb == "put" and any(link.preposition in _INTO for link in purpose.said.links):
        raise GenerationError(
            _REASONS["other_verb"]
        )  # puts the invoice into the next run: it changes nothing of the invoice
    if owner is None and _is_taken_out(purpose, tool):
        raise GenerationError(_REASONS["no_source"])
    if lexicon.is_general and purpose.said.attribute != EXISTENCE and _asks_whether(purpose, tool):
        raise GenerationError(_REASONS["yes_or_no"])
    frame = ToolFrame(
        tool=tool_id,
        kind=_kind(purpose, identity),
        verb=purpose.verb,
        phrases=_phrases(purpose, identity),
        noun=noun,
        arguments=arguments,
        identity=identity,
        owner=owner,
        preposition=_preposition(owner, identity, purpose),
        decision=next((one for one in arguments if one.role == "decision"), None),
        own=purpose.said.own or _is_own(tool, arguments),
        namespace=tool.namespace,
        system=system,
        is_general=lexicon.is_general,
        outputs=condition_outputs(tool),
        beside_names=outputs_beside_names(tool, noun.key) if lexicon.is_general else frozenset(),
        document_words=_document_words(tool),
    )
    if frame.many and frame.is_general:
        frame = replace(frame, one_of=needed_filters(tool, arguments))
    return _checked(frame, several=purpose.said.many)


def with_argument_nouns(frame: ToolFrame, noun_of: Callable[[Noun | None], Noun | None]) -> ToolFrame:
    """The frame with other nouns of its arguments."""
    changed = {one: replace(one, noun=noun_of(one.noun)) for one in frame.arguments}
    return replace(
        frame,
        arguments=tuple(changed.values()),
        identity=changed.get(frame.identity, frame.identity) if frame.identity is not None else None,
        owner=changed.get(frame.owner, frame.owner) if frame.owner is not None else None,
        decision=changed.get(frame.decision, frame.decision) if frame.decision is not None else None,
        one_of=tuple(changed[one] for one in frame.one_of if one in changed),
    )


def _is_one_of_several(catalogue: ProfiledCatalogue, tool: Tool) -> bool:
    """Whether the system makes, lists or deletes such things, so that a tool that changes one must be told which."""
    entity = catalogue.profile(tool.id).entity
    profiles = (catalogue.profile(one.id) for one in catalogue.tools if one.namespace == tool.namespace)
    return bool(entity) and any(one.entity == entity and one.action in _OF_SEVERAL for one in profiles)


def _makes(purpose: Purpose) -> bool:
    """Whether a tool makes its thing, and does not put one that is there into another."""
    return purpose.kind == "create" and not any(link.preposition in ("to", "into") for link in purpose.said.links)


def _noun_of(purpose: Purpose, lexicon: Lexicon) -> Noun:
    """The noun of the thing: that of the lexicon, else the words of the document."""
    noun = lexicon.noun(purpose.name)
    said = " ".join(purpose.said.thing)
    if noun is None:
        return Noun(key=purpose.name, words=(said,))
    return noun if said.islower() else replace(noun, words=(said,))


def _kind(purpose: Purpose, identity: Argument | None) -> str:
    if purpose.kind in ("get", "list") and purpose.said.many and identity is None:
        return "list"
    kind = {"check": "get", "set": "update", "list": "get"}.get(purpose.kind, purpose.kind)
    if kind == "create" and identity is not None:
        return "act"
    return kind if kind in ("get", "search", "create", "update") else "act"


def _phrases(purpose: Purpose, identity: Argument | None) -> tuple[str, ...]:
    verbs, said = action_verbs(), purpose.said
    kind = {"check": "get", "set": "update"}.get(purpose.kind, purpose.kind)
    if purpose.kind == "check" and said.attribute == EXISTENCE and identity is not None:
        return verbs.phrases["exist"]
    prepositions = {link.preposition for link in said.links}
    if kind == "create" and identity is not None:
        return verbs.phrases["add to"]
    if kind == "delete" and "from" in prepositions:
        return verbs.phrases["remove from"]
    if kind in ("get", "list") and said.many and identity is None:
        kind = "list"
    return verbs.phrases[kind]


def _is_taken_out(purpose: Purpose, tool: Tool) -> bool:
    """Whether a tool takes its thing out of another one that its name has: a server out of a placement group.

    Without that other thing the text would delete the thing itself, found on the documents of Hetzner and SendGrid.
    """
    named = set(map(noun_lemma, words(local_name(tool))))
    links = (link for link in purpose.said.links if link.preposition == "from")
    taken = any(not named.isdisjoint(noun_lemma(word.lower()) for word in link.thing) for link in links)
    return purpose.kind == "delete" and taken


def _asks_whether(purpose: Purpose, tool: Tool) -> bool:
    """Whether a tool answers yes or no and shows no thing: "Check if one or more episodes is already saved".

    Found on the document of Spotify.
    """
    texts = [tool.title, *sentences_of(tool.description)][:3]
    return purpose.kind == "check" and any(map(_WHETHER.search, texts))


def _is_of_another(purpose: Purpose, identity: Argument) -> bool:
    """Whether an identifier is of the thing that several things are of: *related videos of a video*.

    Found on the document of Vimeo, where two readers could not tell the video from those related to it.
    """
    owners = [noun_lemma(link.thing[-1].lower()) for link in purpose.said.links if len(link.thing) == 1]
    is_kind = identity.noun is not None and len(purpose.said.thing) > 1
    return purpose.said.many and is_kind and purpose.said.thing[-1].lower() in owners


def _needs_identity(purpose: Purpose, profile: ToolProfile) -> bool:
    """Whether a tool that works on one thing takes the identifier of that thing, whether or not its document marks it as required.

    Found on the document of Slack, where the group that an update changes is an input that need not be given.
    """
    if purpose.kind in ("create", "search", "list") or purpose.said.many or not profile.entity:
        return False
    return any(value.identifier and not value.context and value.key[0] == profile.entity for value in profile.consumes)


def _identity(noun: Noun, arguments: Sequence[Argument], purpose: Purpose) -> Argument | None:
    """The argument that identifies the thing itself; of something new there is none, unless it is put into another."""
    if purpose.kind == "search" or (purpose.kind in ("get", "list") and purpose.said.many):
        found = [one for one in arguments if one.required and one.noun is not None and one.noun.key == noun.key]
        return found[0] if found and purpose.kind == "get" else None
    found = [one for one in arguments if one.noun is not None and is_same(noun.key, one.noun.key)]
    exact = [one for one in found if one.noun is not None and one.noun.key == noun.key]
    required = [one for one in exact if one.required] or [one for one in found if one.required]
    if not required and not purpose.kind == "create":  # the number of a billing document is that of a customer invoice
        required = [
            one
            for one in arguments
            if one.required and not one.composed and one.noun is not None and _has_same_word(noun, one.noun)
        ]
    keys = [one for one in arguments if one.role == "id" and one.required]
    is_one = len(keys) == 1 and not keys[0].composed  # else its own last part says what it is of
    if not required and is_one and keys[0].noun is not None:  # auth server, authorization server
        required = keys if keys[0].noun.key.split()[-1] == noun.key.split()[-1] else []
    if purpose.kind == "create":
        into = not _makes(purpose)
        others = [one for one in arguments if one.role == "id" and one.required and one not in required]
        return required[0] if required and into and others else None
    able = required or found
    return able[0] if able else None


def _has_same_word(noun: Noun, other: Noun) -> bool:
    """Whether people call two things by one word, so that none of them is said to be of the other."""
    return not {word.split()[-1] for word in noun.words}.isdisjoint(word.split()[-1] for word in other.words)


def is_same(key: str, other: str) -> bool:
    """Whether two canonical names are of one thing: managed policy and policy, an order and its purchase order."""
    return key == other or key.endswith(f" {other}") or other.endswith(f" {key}")


def _owner(arguments: Sequence[Argument], identity: Argument | None, purpose: Purpose) -> Argument | None:
    """The argument that identifies what the thing belongs to: the one that the document names, else the first required one."""
    able = [one for one in arguments if one.role == "id" and one is not identity and one.noun is not None]
    linked = [one for one in able if _link_of(one, purpose) is not None]
    needed = [one for one in able if one.required]
    if identity is None and purpose.kind not in ("get", "list", "search", "create", "check"):
        needed = [one for one in needed if one not in linked] or needed
    found = [one for one in linked if one.required] or needed
    if not found and purpose.verb in action_verbs().pairs:
        found = linked
    return found[0] if found else None


def _link_of(argument: Argument, purpose: Purpose) -> Link | None:
    """The phrase of the document that names the thing of an argument, or None."""
    if argument.noun is None:
        return None
    key = argument.noun.key
    return next((link for link in purpose.said.links if is_same(" ".join(link.thing).lower(), key)), None)


def _preposition(owner: Argument | None, identity: Argument | None, purpose: Purpose) -> str:
    if owner is None:
        return ""
    if owner.relation:
        return owner.relation
    link = _link_of(owner, purpose)
    if purpose.kind == "delete" and identity is not None:  # what belongs to a thing is removed from it
        return "from"
    if link is None and purpose.kind == "create" and identity is not None:  # what exists already is added to it
        return "to"
    if link is None:
        return action_verbs().pairs.get(purpose.verb, "")
    relation = link.relation if link.relation in _WORDS["said_relations"] else ""
    return f"{relation} {link.preposition}".strip()


def _is_own(tool: Tool, arguments: Sequence[Argument]) -> bool:
    """Whether the thing belongs to the user: the tool's name has ``my``, and no argument is a person."""
    named = words(f"{tool.name} {tool.title} {tool.metadata.get('path', '')}")
    persons = any(one.noun is not None and one.noun.person for one in arguments)
    return not persons and not {"me", "my", "own"}.isdisjoint(named)


def _document_words(tool: Tool) -> frozenset[str]:
    texts = (tool.name, tool.title, tool.description)
    return frozenset(noun_lemma(word) for text in texts for word in words(text) if len(word) > 2)


def _checked(frame: ToolFrame, *, several: bool) -> ToolFrame:
    """The frame, of which people can say what is done, to what, and what changes.

    :raises GenerationError: when they cannot.
    """
    needed = [one for one in frame.arguments if one.role == "id" and one.required]
    things = [one.noun.key for one in needed if one.noun is not None]
    doubled = any(one == other or one.endswith(f" {other}") for at, one in enumerate(things) for other in things[:at])
    doubled = doubled or any(other.endswith(f" {one}") for at, one in enumerate(things) for other in things[:at])
    if len(needed) > _MAX_KEYS or (frame.is_general and doubled):
        raise GenerationError(_REASONS["no_keys"])
    if frame.kind == "update" and frame.decision is None and not any(map(is_change, frame.arguments)):
        raise GenerationError(_REASONS["no_change"])
    if frame.kind == "update" and sum(one.required and is_value(one) for one in frame.arguments) > 1:
        raise GenerationError(_REASONS["two_changes"])
    if frame.kind == "create" and frame.owner is None and not any(_is_optional_of_new(one) for one in frame.arguments):
        raise GenerationError(_REASONS["no_value"])
    if frame.kind == "act" and frame.identity is None and frame.owner is None and not frame.arguments and not frame.own:
        raise GenerationError(_REASONS["no_object"])
    if frame.kind == "act" and frame.identity is None and several:
        raise GenerationError(_REASONS["several_things"])
    pair = action_verbs().pairs.get(frame.verb, "")
    if pair and frame.identity is not None and frame.owner is None:
        raise GenerationError(_REASONS["no_pair"])
    if pair and frame.is_general and frame.identity is None and not any(map(is_value, frame.arguments)):
        raise GenerationError(_REASONS["no_pair"])
    return replace(frame, kind="act") if frame.decision is not None and frame.kind == "update" else frame


def _is_optional_of_new(argument: Argument) -> bool:
    return argument.required or argument.role != "id"


def is_change(argument: Argument) -> bool:
    """Whether an argument can be what an update changes."""
    return is_value(argument) and bool(argument.label)


def is_value(argument: Argument) -> bool:
    """Whether an argument is a new value, and no reason or remark that goes with one."""
    return argument.role in ("value", "state", "choice", "text") and argument.kind not in _UNCHANGED
