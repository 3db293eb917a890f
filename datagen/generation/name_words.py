"""Words of the names of tools: which of them a request leaves out, and which other tool it then fits as well.

A document may leave out what the name says: ``getCertificateAuthority`` "gets the details" of a cluster, and
``DeleteInstanceSnapshot`` "deletes a snapshot". Two readers of 100 requests over 18 documents of Google meant another tool in
ten of 15 wrong labels for this; one of 14 documents of AWS, where a snapshot may be of an instance, a disk or a database.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from datagen.extended_profiles import FINDING_ACTIONS
from datagen.generation.action_verbs import READS, action_verbs
from datagen.generation.data_files import read_data, synonyms
from datagen.generation.lexicon import Noun
from datagen.generation.tool_frame import ToolFrame
from datagen.patterns import load_patterns
from datagen.profiled_catalogue import ProfiledCatalogue
from ingest.linking import ToolProfile, local_name
from ontology.names import is_noun, noun_lemma, words
from ontology.tool import Tool

__all__ = ["NameWords"]

_DATA = {name: frozenset(row.split()) for name, row in read_data("statements")["words"].items()}
_PATTERNS = load_patterns("paths/words")
_JOINING = _PATTERNS.words("joining")
_SKIPPED = (
    _PATTERNS.words("marks")
    | _PATTERNS.words("identifying")
    | _JOINING
    | _DATA["prepositions"]
    | _DATA["determiners"]
    | _DATA["lists"]
)
"""Words of a name that say nothing of what a tool is about."""
_NUMBERED = re.compile(r"[a-z]{0,3}\d+[a-z]?")
"""A version, or one more of the same name: ``v2``, ``alt1``."""
_MIN_JOINED = 4  # letters of a word that is looked for within another: issue in ``issuetype``
_OWNED = frozenset(("my", "me", "own", "user"))
"""Words of a name for the asker, whom a request for something of their own does not name by an identifier."""
_NAMED_KINDS = frozenset(("get", "list", "search", "create", "update", "set", "delete"))
"""Kinds of verbs that stand in the middle of a name; other verbs there are mostly nouns: ``repoPushMirror``."""

_Lemmas = frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Name:
    """The name of a tool.

    :param words: all its words but verbs, marks and those of its system, in the singular.
    :param inner: the words with those of its system where they are not the whole name of it: of VPC Lattice a VPC association.
    :param again: the words that stand once more beside those of a thing that it takes: a service network's service association.
    :param thing: of these, the ones before a preposition.
    :param told: all its words, and those of what its document says that it is about.
    :param needed: last words of the things whose identifiers the tool requires; ``taken``: of those that it takes.
    :param last: the words of the last part of its name without its verb, as they stand there.
    """

    namespace: str
    words: _Lemmas
    inner: _Lemmas
    again: _Lemmas
    thing: _Lemmas
    told: _Lemmas
    needed: _Lemmas
    taken: _Lemmas
    last: tuple[str, ...]


class NameWords:
    """The words of the names of one catalogue's tools.

    :param frame_of: the frame of a tool, or None where it has none.
    """

    def __init__(self, catalogue: ProfiledCatalogue, frame_of: Callable[[str], ToolFrame | None]) -> None:
        self._catalogue = catalogue
        self._frame_of = frame_of

    def fitting(self, frame: ToolFrame) -> str:
        """Another tool that the words of a frame fit at least as well as its own tool, or empty.

        The other has each word for the thing. The frame leaves out words of the name of its own tool that the other does not
        have, and no more of that of the other. The other takes the same identifiers, requires none that is not said, and is of
        the system that the frame names. The name of that system says nothing that tells two of its tools apart, and a word of
        the owner tells nothing where the name has it once more. Found on the document of VPC Lattice, whose service networks
        have associations with services and with VPCs.
        """
        mine, said, within = self._names[frame.tool], _said_by(frame), _said_by(replace(frame, system=""))
        missing = _missing_words(mine.words, said)
        inner, again = _missing_words(mine.inner, within), _missing_words(mine.again, _said_by(_of_itself(frame)))
        others = (
            other for head in _heads(frame.noun) for other in self._alike[_kind(frame.verb, many=frame.many), head]
        )
        for other in others if missing or inner or again else ():
            theirs = self._names[other]
            own = missing - theirs.words
            if theirs.namespace == mine.namespace:
                own = inner - theirs.inner | again - theirs.again
            is_able = mine.needed <= theirs.taken and theirs.needed <= said - _OWNED | mine.needed
            is_able = (
                is_able and (not frame.system or theirs.namespace == mine.namespace) and self._is_told(frame, other)
            )
            if own and is_able and len(_missing_words(theirs.thing - mine.words, said)) <= len(own):
                return other
        return ""

    def longer(self, frame: ToolFrame) -> Iterator[str]:
        """Yield names for the thing of a frame with more words of its tool's name, the shortest first."""
        last, head = self._names[frame.tool].last, noun_lemma(frame.noun.key.split()[-1])
        for end in range(len(last), 0, -1):
            if last[end - 1] == head:
                yield from (
                    name
                    for at in range(end - 2, -1, -1)
                    if (name := " ".join(last[at:end])).endswith(f" {frame.noun.key}")
                )
                return

    def _is_told(self, frame: ToolFrame, other: str) -> bool:
        """Whether another tool has each word that a frame says of its thing."""
        theirs = self._names[other].told
        return any(not _missing_words(_lemmas(words(word)), theirs) for word in frame.noun.words)

    @cached_property
    def _names(self) -> Mapping[str, _Name]:
        profiles = self._catalogue.profiles
        return {tool.id: _name_of(tool, profiles[tool.id], self._frame_of(tool.id)) for tool in self._catalogue.tools}

    @cached_property
    def _alike(self) -> Mapping[tuple[str, str], list[str]]:
        """(Kind of action, last word of what it is about) → the tools."""
        found: dict[tuple[str, str], list[str]] = defaultdict(list)
        for tool in self._catalogue.tools:
            for key in self._keys(tool):
                found[key].append(tool.id)
        return found

    def _keys(self, tool: Tool) -> Iterator[tuple[str, str]]:
        frame, profile = self._frame_of(tool.id), self._catalogue.profiles[tool.id]
        if frame is not None:
            yield from ((_kind(frame.verb, many=frame.many), head) for head in _heads(frame.noun))
        elif profile.entity:
            named = (verb for word in words(local_name(tool)) if (verb := action_verbs().base(word)))
            yield _kind(next(named, profile.action), many=profile.action in FINDING_ACTIONS), profile.entity.split()[-1]


def _kind(verb: str, *, many: bool) -> str:
    """What a verb does to a thing, or to several; reading is one kind, and so is changing a value."""
    kind = action_verbs().kinds.get(verb, verb)
    if kind in READS:
        return "list" if many else "get"
    return "update" if kind == "set" else kind


def _heads(noun: Noun) -> list[str]:
    return sorted({noun_lemma(word.split()[-1].lower()) for word in (noun.key, *noun.words)})


def _name_of(tool: Tool, profile: ToolProfile, frame: ToolFrame | None) -> _Name:
    segments = [words(segment) for segment in local_name(tool).replace("/", ".").split(".")]
    system = tuple(words(tool.namespace))
    named = [_without_verb(segment) for segment in segments]
    kept = [[word for word in segment if word not in system] for segment in named]
    last = kept[-1]
    cut = next((at for at, word in enumerate(last) if at and word in _JOINING), len(last))
    keys = [value for value in profile.consumes if value.identifier and value.key[0]]
    own_words = _lemmas(word for segment in kept for word in segment)
    thing = words(" ".join((profile.entity, *(frame.noun.words if frame is not None else ()))))
    return _Name(
        namespace=tool.namespace,
        words=own_words,
        inner=_lemmas(word for segment in named for word in _without_run(segment, system)),
        again=frozenset().union(*(_again(named[-1], one.key[0].split()) for one in keys)),
        thing=_lemmas(word for segment in (*kept[:-1], last[:cut]) for word in segment),
        told=own_words | _lemmas(thing),
        needed=frozenset(noun_lemma(one.key[0].split()[-1]) for one in keys if one.required and not one.context),
        taken=frozenset(noun_lemma(one.key[0].split()[-1]) for one in keys),
        last=tuple(noun_lemma(word) for word in last[:cut]),
    )


def _without_verb(tokens: list[str]) -> list[str]:
    """The words of a part of a name without its verb, which stands first or last, and without words that are verbs only.

    Where none stands there, it is the first one behind the actor: of ``userGetHook`` on a document of Gitea "user hook" is left.
    """
    verbs = action_verbs()
    if tokens and verbs.base(tokens[0]):
        tokens = tokens[1:]
    elif tokens and verbs.base(tokens[-1]) == tokens[-1]:
        tokens = tokens[:-1]
    else:
        at = next((at for at, word in enumerate(tokens) if verbs.kinds.get(word) in _NAMED_KINDS), len(tokens))
        tokens = [*tokens[:at], *tokens[at + 1 :]]
    return [word for word in tokens if is_noun(noun_lemma(word)) or not verbs.base(word)]


def _without_run(tokens: Sequence[str], run: Sequence[str]) -> list[str]:
    """The words without those of a run of words, where they stand in this order; all of them where they do not."""
    size = len(run)
    at = next((at for at in range(len(tokens)) if size and tuple(tokens[at : at + size]) == tuple(run)), None)
    return [*tokens] if at is None else [*tokens[:at], *tokens[at + size :]]


def _again(tokens: Sequence[str], thing: Sequence[str]) -> _Lemmas:
    """The words of a thing that a name has once more beside the whole name of it."""
    lemmas = [noun_lemma(word) for word in tokens]
    left = _without_run(lemmas, thing)
    return _lemmas(word for word in thing if word in left) if len(left) < len(lemmas) else frozenset()


def _of_itself(frame: ToolFrame) -> ToolFrame:
    """The frame with what it says of its thing alone: no system, and no other thing that it takes."""
    return replace(frame, system="", owner=None, arguments=tuple(one for one in frame.arguments if one.role != "id"))


def _lemmas(found: Iterable[str]) -> _Lemmas:
    return frozenset(noun_lemma(word) for word in found if word not in _SKIPPED and not _NUMBERED.fullmatch(word))


def _said_by(frame: ToolFrame) -> _Lemmas:
    """The words that each request for a tool says, with other words for the same, as nouns."""
    needed = [one for one in frame.arguments if one.required or one in (frame.identity, frame.owner)]
    nouns = [frame.noun, *(one.noun for one in needed if one.noun is not None)]
    texts = [text for noun in nouns for text in (noun.key, *noun.words)]
    texts += [*(one.label for one in needed), frame.verb, frame.system]
    said = {noun_lemma(word) for text in texts for word in words(text)}
    return frozenset(said | (_OWNED if frame.own else set()))


def _missing_words(named: _Lemmas, said: _Lemmas) -> _Lemmas:
    """The words of a name that are not said, neither by a synonym nor as a part of another word."""
    return frozenset(word for word in named if not (word in said or synonyms(word) & said or _is_joined(word, said)))


def _is_joined(word: str, said: _Lemmas) -> bool:
    return any(min(len(word), len(other)) >= _MIN_JOINED and (word in other or other in word) for other in said)
