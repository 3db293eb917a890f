"""Unanswerable requests: an action that no tool does on its objects, tasks of domains that the catalogue lacks, and small talk.

They are made by rules from lists of English, whoever writes the other requests: that nothing serves a request is shown by the documents,
and a wrong hint in them makes fewer requests, never a wrong label.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from datagen.catalogue import ProfiledCatalogue
from datagen.requests import SyntheticRequest
from inference.minilm import WEIGHTS
from ontology.files import read_yaml
from ontology.names import identified_entity, is_noun, is_word, noun_lemma, stop_words, verb_lemma, words
from ontology.tool import Tool

_ROUNDS = 3  # times that a sentence is filled anew; all sentences once, before any is used again
_MAX_WORDS = 2  # of an object's name
_MIN_TOOLS = 2  # about an object: nobody speaks much of the others
_READ_CHARS = 4_000
_MIN_CHARS = 3  # of an ASCII word: shorter ones are words of many languages, or parts of words
# Found on 35 documents in eight other languages, made for this, and on 15 open sets of English ones, those of real programs (4,621 tools)
# and the shipped company (312). The plain share of all of the first is below 0.35. Of the others with enough words six are: they are in
# Vietnamese, Spanish, Japanese and French. At most 1.3 % of a set are below 0.4.
_FOREIGN = 0.35
_FOREIGN_WORDS = 4
_DOUBTFUL = 0.4
_MAX_DOUBTFUL = 0.2
_FUNCTION_WORDS = stop_words("index")
# Texts with their reasons, in random order; and what is left out, one sentence each
_Found = tuple[Sequence[tuple[str, str]], Sequence[str]]


@dataclass(frozen=True, kw_only=True)
class UnanswerableRequest:
    """One request that no tool serves."""

    id: str
    text: str
    kind: str  # ``missing-action``, ``other-domain`` or ``chit-chat``
    reason: str  # one sentence without a full stop

    def to_json(self) -> dict[str, Any]:
        """Return a row of labelled requests without tools."""
        row = {"id": self.id, "query": self.text, "tools": [], "class": "none"}
        return {**row, "kind": self.kind, "reason": self.reason, "generator": "rules.v1"}


@dataclass(frozen=True, kw_only=True)
class UnanswerableRequests:
    """The requests, and why there are no more."""

    requests: tuple[UnanswerableRequest, ...]
    left_out: tuple[str, ...]  # distinct reasons, one sentence each
    absent: tuple[str, ...] = ()  # the kinds for which nothing was found, one sentence each


class _Kind(NamedTuple):
    name: str
    found: Sequence[tuple[str, str]]
    left_out: Sequence[str]


def make_unanswerable(
    catalogue: ProfiledCatalogue, requests: Sequence[SyntheticRequest], count: int, *, seed: int
) -> UnanswerableRequests:
    """Make at most ``count`` requests, of each kind the same number where there are enough. Deterministic.

    There are none where the documents are not in plain English: nobody could say then that no tool serves a request.

    :param requests: requests that were made from the catalogue: the words for its objects are taken from them.
    """
    known, rng = _DocumentWords(catalogue), random.Random(f"{seed}\nunanswerable")
    if known.unread:
        return UnanswerableRequests(requests=(), left_out=(known.unread,))
    kinds = [
        _Kind("missing-action", *_missing_actions(catalogue, known, requests, rng)),
        _Kind("other-domain", *_other_domains(known, rng)),
        _Kind("chit-chat", *_small_talk(known, rng)),
    ]
    numbers: Counter[str] = Counter()
    made: dict[str, UnanswerableRequest] = {}
    for kind, text, reason in _in_turn(kinds):
        if len(made) == count:
            break
        if text not in made:
            numbers[kind] += 1
            made[text] = UnanswerableRequest(id=f"none-{kind}-{numbers[kind]:04}", text=text, kind=kind, reason=reason)
    left_out = dict.fromkeys(reason for kind in kinds for reason in kind.left_out)
    absent = tuple(f"no request is of the kind {kind.name}{_why(kind.left_out)}" for kind in kinds if not kind.found)
    return UnanswerableRequests(requests=tuple(made.values()), left_out=tuple(left_out), absent=absent)


def _why(left_out: Sequence[str]) -> str:
    more = f"; {len(left_out) - 1} more" if len(left_out) > 1 else ""
    return f" ({left_out[0]}{more})" if left_out else ""


def _in_turn(kinds: Sequence[_Kind]) -> Iterator[tuple[str, str, str]]:
    """One request of each kind after the other, until all are used up."""
    waiting: Mapping[str, Iterator[tuple[str, str]]] = {kind.name: iter(kind.found) for kind in kinds}
    while waiting:
        taken = {name: next(found, None) for name, found in waiting.items()}
        yield from ((name, *one) for name, one in taken.items() if one is not None)
        waiting = {name: waiting[name] for name, one in taken.items() if one is not None}


def _data() -> Mapping[str, Any]:
    data: Mapping[str, Any] = read_yaml(Path(__file__).parent / "unanswerable.yaml")
    return data


def _filled(text: str, rng: random.Random, **more: str) -> str:
    fillers = {name: rng.choice(values) for name, values in _data()["fillers"].items()}
    return text.format_map({**fillers, **more})


def _missing_actions(
    catalogue: ProfiledCatalogue, known: _DocumentWords, requests: Sequence[SyntheticRequest], rng: random.Random
) -> _Found:
    """What no tool does with an object of the catalogue. An action counts as missing for an object when no tool that
    mentions the object has a word of the action in its document, no tool of the same system has one in its name, and no
    tool for objects of any kind has one."""
    generic: Sequence[str] = _data()["generic"]
    things = _things(catalogue, requests, generic)
    found: list[tuple[str, str]] = []
    left_out: list[str] = []
    for action, entry in _data()["actions"].items():
        serving = {tool for tool, said in known.documents.items() if not said.isdisjoint(entry["words"])}
        named = {tool for tool in serving if not known.names[tool].isdisjoint(entry["words"])}
        if for_all := sorted(
            tool for tool in named if _lemmas(words(catalogue.profile(tool).entity)) <= _lemmas(generic)
        ):
            left_out.append(f"the action {action!r} is left out: {for_all[0]} may do it with anything")
            continue
        groups = {catalogue.group(tool) for tool in named}
        for thing, tools in things.items():
            head = words(thing)[-1]
            mentioned = any(head in known.documents[tool] for tool in serving)
            if head in entry["things"] and not mentioned and groups.isdisjoint(map(catalogue.group, tools)):
                reason = f"no tool that knows the {thing} has a word for the action {action!r}"
                texts = (_filled(text, rng, thing=thing, things=_plural(thing)) for text in entry["requests"])
                found += [(text, reason) for text in texts]
    rng.shuffle(found)
    return _spread(found), left_out


def _things(
    catalogue: ProfiledCatalogue, requests: Sequence[SyntheticRequest], generic: Collection[str]
) -> dict[str, set[str]]:
    """The objects that the requests name as their tools do, each with its tools; those with identifiers."""
    inputs = (parameter.name for tool in catalogue.tools for parameter in tool.parameters)
    identified = {identified_entity(name.rsplit(".", 1)[-1], catalogue.ontology.abbreviations) for name in inputs}
    about = Counter(catalogue.profile(tool.id).entity for tool in catalogue.tools)
    things: dict[str, set[str]] = {}
    for request in requests:
        said = _lemmas(words(request.text))
        for tool in request.path.tools:
            entity = catalogue.profile(tool).entity
            parts = words(entity)
            known = bool(parts) and entity in identified and entity not in generic and about[entity] >= _MIN_TOOLS
            if known and len(parts) <= _MAX_WORDS and said.issuperset(parts) and is_noun(parts[-1]):
                things.setdefault(entity, set()).add(tool)
    return {thing: things[thing] for thing in sorted(things)}


def _plural(thing: str) -> str:
    if thing.endswith(("s", "x", "z", "ch", "sh")):
        return f"{thing}es"
    return f"{thing[:-1]}ies" if thing.endswith("y") and thing[-2:-1] not in "aeiou" else f"{thing}s"


def _spread(found: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """The requests, those beyond the first few with the same reason last."""
    count: Counter[str] = Counter()
    ranked: list[tuple[int, tuple[str, str]]] = []
    for one in found:
        ranked.append((count[one[1]], one))
        count[one[1]] += 1
    return [one for _, one in sorted(ranked, key=lambda pair: pair[0])]


def _other_domains(known: _DocumentWords, rng: random.Random) -> _Found:
    """Tasks of everyday domains without a sign in the documents."""
    web = known.sign(_data()["web_signs"])
    found: list[list[tuple[str, str]]] = [[] for _ in range(_ROUNDS)]
    left_out: list[str] = []
    for domain in _data()["domains"]:
        sign = known.sign(domain["signs"]) or (web if domain.get("web") else "")
        if hint := repr(sign) if sign else known.hinted(domain["hints"]):
            left_out.append(f"the domain {domain['name']!r} is left out: the documents mention {hint}")
            continue
        reason = f"no document mentions anything of the domain {domain['name']!r}"
        for text in domain["requests"]:
            for made in found:
                made.append((_filled(text, rng), reason))
    for made in found:
        rng.shuffle(made)
    return [one for made in found for one in made], left_out


def _small_talk(known: _DocumentWords, rng: random.Random) -> _Found:
    """Messages that ask for nothing; none where a tool may hold a conversation, and none of which a document has a sign."""
    if serving := known.signed(_data()["chat"]):
        return [], [f"small talk is left out: {serving.tool} may answer it, its document mentions {serving.sign!r}"]
    found: list[tuple[str, str]] = []
    left_out: Counter[str] = Counter()
    for message in _data()["messages"]:
        if sign := known.sign(message.get("signs", ())):
            left_out[sign] += 1
        else:
            found.append((message["text"], "it asks for no task"))
    rng.shuffle(found)
    return found, [
        f"of the small talk {count} {'messages are' if count > 1 else 'message is'} left out: the documents mention {sign!r}"
        for sign, count in left_out.items()
    ]


def _lemmas(tokens: Iterable[str]) -> frozenset[str]:
    found = set(tokens)
    return frozenset({*found, *map(noun_lemma, found), *map(verb_lemma, found)})


def _nouns(tokens: Iterable[str]) -> frozenset[str]:
    found = set(tokens)
    return frozenset({*found, *map(noun_lemma, found)})


def _said(tool: Tool) -> list[str]:
    """The words of a description, or else of the name."""
    return _spelled(tool.description[:_READ_CHARS]) or _spelled(tool.name)


def _spelled(text: str) -> list[str]:
    return [word for word in words(text) if word.isalpha() and (len(word) >= _MIN_CHARS or not word.isascii())]


def _plain_share(said: Sequence[str]) -> float:
    """The share of plain English in words, by letters: some scripts put no space between words."""
    plain = sum(len(word) for word in said if word in _FUNCTION_WORDS or _is_plain_word(word))
    return plain / (sum(map(len, said)) or 1)


def _is_foreign(said: Sequence[str], share: float) -> bool:
    return share < _FOREIGN and (len(said) >= _FOREIGN_WORDS or not all(map(str.isascii, said)))


class _Signed(NamedTuple):
    """A tool whose document has a sign."""

    sign: str
    tool: str


class _DocumentWords:
    """The words of each tool's name and of its whole document: description, inputs, their values, outputs, metadata."""

    def __init__(self, catalogue: ProfiledCatalogue) -> None:
        self._catalogue = catalogue
        # Map from tool to the lemmas of its name
        self.names = {tool.id: _lemmas(words(_name(tool))) for tool in catalogue.tools}
        # Map from tool to the lemmas of its document
        self.documents = {tool.id: _lemmas(_words(tool)) for tool in catalogue.tools}

    @cached_property
    def unread(self) -> str:
        """Why the words of the documents do not tell what the tools are for, one sentence; empty where they do. The
        signs and words that documents are searched for are English. A document in another language, or of names that
        are no words, has none of them whatever its tool does."""
        said = {tool.id: _said(tool) for tool in self._catalogue.tools}
        shares = {tool: _plain_share(each) for tool, each in said.items()}
        foreign = next((tool for tool, share in shares.items() if _is_foreign(said[tool], share)), "")
        if foreign:
            return f"requests that no tool serves are left out: the document of {foreign} is not in plain English"
        doubtful = sum(share < _DOUBTFUL for share in shares.values())
        if doubtful > _MAX_DOUBTFUL * len(shares):
            return (
                f"requests that no tool serves are left out: the documents of {doubtful:,} of {len(shares):,} tools have few "
                "words of plain English"
            )
        return ""

    def hinted(self, hints: Iterable[str]) -> str:
        """Two hints in the document of one tool, with the tool; or empty."""
        wanted = frozenset(hints)
        for tool, document in self._nouns.items():
            if len(said := sorted(wanted & document)) > 1:
                return f"{said[0]!r} and {said[1]!r} in {tool}"
        return ""

    @cached_property
    def _nouns(self) -> Mapping[str, frozenset[str]]:
        return {tool.id: _nouns(_words(tool)) for tool in self._catalogue.tools}

    def sign(self, signs: Iterable[str]) -> str:
        """The first sign that a document has, or empty; see :meth:`signed`."""
        found = self.signed(signs)
        return found.sign if found else ""

    def signed(self, signs: Iterable[str]) -> _Signed | None:
        """The first sign that a document has, with the first tool that has it; None for none. A sign is compared as a
        noun; one of several words must stand in one document, one word after the other."""
        return next((_Signed(sign, tool) for sign in signs if (tool := self._first(sign)) is not None), None)

    def _first(self, sign: str) -> str | None:
        if " " not in sign:
            having = (tool for tool, nouns in self._nouns.items() if sign in nouns) if sign in self._all else iter(())
            return next(having, None)
        sought = _as_nouns(words(sign))
        return next((tool for tool, text in self._texts.items() if sought in text), None)

    @cached_property
    def _all(self) -> frozenset[str]:
        return frozenset[str]().union(*self._nouns.values())

    @cached_property
    def _texts(self) -> Mapping[str, str]:
        return {tool.id: _as_nouns(_words(tool)) for tool in self._catalogue.tools}


def _as_nouns(tokens: Sequence[str]) -> str:
    """The words as nouns in the singular, with a blank around each."""
    return f" {' '.join(map(noun_lemma, tokens))} "


def _name(tool: Tool) -> str:
    return f"{tool.id} {tool.name} {tool.title}"


def _words(tool: Tool) -> list[str]:
    """The words of a whole document, field by field: of one text only the beginning is split into words."""
    parts = [tool.id, tool.name, tool.title, tool.description, *map(str, tool.metadata.values())]
    for parameter in (*tool.parameters, *tool.returns):
        parts += [parameter.name, parameter.description, *parameter.enum]
    return [word for part in parts for word in words(part)]


@lru_cache(maxsize=50_000)
def _is_plain_word(word: str) -> bool:
    """Whether a lower-case word is plain English, by the vocabulary of the shipped encoder, which was made from an
    encyclopedia and novels. A word is plain if a dictionary has it and it is one token or two (``in|voice``), or if it
    is two plain tokens together (``work|flow``)."""
    if len(word) < _MIN_CHARS or not word.isalpha() or not word.isascii():
        return False
    vocabulary = _vocabulary()
    for form in (word, noun_lemma(word), verb_lemma(word)) if is_word(word) else ():
        cuts = range(2, len(form))
        if form in vocabulary or any(form[:at] in vocabulary and f"##{form[at:]}" in vocabulary for at in cuts):
            return True
    stem = noun_lemma(word)
    halves = ((stem[:at], stem[at:]) for at in range(_MIN_CHARS, len(stem) - _MIN_CHARS + 1))
    return any(all(half in vocabulary and is_word(half) for half in pair) for pair in halves)


@cache
def _vocabulary() -> frozenset[str]:
    content = json.loads((WEIGHTS / "tokenizer.json").read_text(encoding="utf-8"))
    return frozenset(content["model"]["vocab"])
