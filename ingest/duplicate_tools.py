"""Near-duplicate tools: two tools of one namespace that a reader of their documents can hardly tell apart.

They have the same name and inputs but for spelling and version, or almost the same text. Two texts must begin with the same title or
sentence, which names the object; a further word that only one of them has must not be a word of the tools' names. Tools of which one
has a further segment in its path, or reads where the other changes, are different ones. Found on the documents of Okta, Jira, Datadog,
DocuSign and VictorOps; the numbers are chosen, not tuned.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import ceil
from typing import NamedTuple

from ingest.extract.sentences import sentence_spans
from ontology.names import noun_lemma, words
from ontology.tool import Tool

__all__ = ["near_duplicates"]

_SIMILARITY = 0.9  # Jaccard index of the words of two texts
_FEWEST_WORDS = 5  # a shorter text says too little to be compared
_MOST_SHARED = 50  # texts compared by one word; keeps the time linear in the number of tools
_ARTICLES = frozenset("a an the of to in for".split())  # others (not, all, before) tell tools apart
_VERSION = re.compile(r"v\d+(?:(?:alpha|beta|preview)\d*)?|alpha|beta")  # a preview alone is another object
_EFFECTS = {
    "GET": "reads",
    "HEAD": "reads",
    "PUT": "changes",
    "PATCH": "changes",
    "DELETE": "deletes",
}  # POST may be any


class _Text(NamedTuple):
    """The tools of one text: the words of the text, the canonical words of all their names, and the id of the first."""

    content: frozenset[str]
    names: frozenset[str]
    tool: str


def near_duplicates(tools: Iterable[Tool]) -> tuple[tuple[str, ...], ...]:
    """Return the groups of near-duplicate tools, each sorted by id; the groups are sorted too. Time is linear in the tools."""
    by_namespace: defaultdict[str, list[Tool]] = defaultdict(list)
    for tool in tools:
        by_namespace[tool.namespace].append(tool)
    groups: list[tuple[str, ...]] = []
    for found in by_namespace.values():
        by_id = {tool.id: tool for tool in found}
        pairs = (*_same_calls(found), *_same_texts(found))
        groups += _joined((one, other) for one, other in pairs if not _calls_differ(by_id[one], by_id[other]))
    return tuple(sorted(groups))


def _calls_differ(one: Tool, other: Tool) -> bool:
    """Whether the calls tell two tools apart: by what they do, or by a further segment of the path."""
    effects = {_EFFECTS.get(str(tool.metadata.get("method", "")).upper(), "") for tool in (one, other)} - {""}
    short, long = sorted((_segments(one), _segments(other)), key=len)
    return len(effects) > 1 or (len(short) < len(long) and short[:1] == long[:1] and _is_part(short, long))


def _is_part(short: Sequence[str], long: Sequence[str]) -> bool:
    """Whether the segments of the one stand in the other, in their order."""
    rest = iter(long)
    return all(part in rest for part in short)


def _segments(tool: Tool) -> list[str]:
    """Return the segments of a path without versions, placeholders as ``{}``; empty without a path."""
    parts = re.sub(r"\{[^}]*\}", "{}", str(tool.metadata.get("path", ""))).lower().split("/")
    return [part for part in parts if part and not _VERSION.fullmatch(part)]


def _same_calls(tools: Sequence[Tool]) -> Iterator[tuple[str, str]]:
    """Yield pairs of tools whose names have the same words, in any order, and whose inputs have the same names."""
    first: dict[tuple[tuple[str, ...], frozenset[str]], str] = {}
    for tool in tools:
        inputs = frozenset(" ".join(words(parameter.name)) for parameter in tool.parameters)
        name = tuple(sorted(word for word in words(tool.name) if not _VERSION.fullmatch(word)))
        if name:
            yield first.setdefault((name, inputs), tool.id), tool.id


def _same_texts(tools: Sequence[Tool]) -> Iterator[tuple[str, str]]:
    """Yield pairs of tools whose texts begin alike and have almost the same words."""
    by_beginning: defaultdict[tuple[str, ...], list[Tool]] = defaultdict(list)
    for tool in tools:
        by_beginning[_beginning(tool)].append(tool)
    for found in by_beginning.values():
        yield from _similar_texts(found)


def _beginning(tool: Tool) -> tuple[str, ...]:
    """Return the words of the title, or of the first sentence, which name what the tool is about."""
    text = tool.description if tool.title == tool.name else tool.title
    end = next((end for _, end in sentence_spans(text)), 0)
    return tuple(filter(_tells, words(text[:end])))


def _similar_texts(tools: Sequence[Tool]) -> Iterator[tuple[str, str]]:
    texts: dict[frozenset[str], _Text] = {}
    for tool in tools:
        content = _content(tool)
        if len(content) >= _FEWEST_WORDS:
            names = frozenset(map(noun_lemma, words(tool.name)))
            known = texts.setdefault(content, _Text(content, names, tool.id))
            texts[content] = known._replace(names=known.names | names)
            yield known.tool, tool.id
    frequency = Counter(word for text in texts for word in text)
    shared: defaultdict[str, list[_Text]] = defaultdict(list)
    for text in sorted(texts.values(), key=lambda text: (len(text.content), text.tool)):
        for other in _candidates(text, shared, frequency).values():
            both = len(text.content & other.content)
            differ = text.content ^ other.content
            if both >= _SIMILARITY * (both + len(differ)) and (text.names | other.names).isdisjoint(
                map(noun_lemma, differ)
            ):
                yield other.tool, text.tool


def _candidates(
    text: _Text, shared: Mapping[str, list[_Text]], frequency: Mapping[str, int]
) -> dict[frozenset[str], _Text]:
    """Return the earlier texts that share one of the rarest words, and add the text for later ones.

    Texts with a Jaccard index of at least *s* share one of their ``n - ceil(s n) + 1`` rarest words (prefix filtering).
    """
    content = text.content
    rarest = sorted(content, key=lambda word: (frequency[word], word))
    found: dict[frozenset[str], _Text] = {}
    for word in rarest[: len(content) - ceil(_SIMILARITY * len(content)) + 1]:
        found.update((other.content, other) for other in shared[word])
        if len(shared[word]) < _MOST_SHARED:
            shared[word].append(text)
    return found


def _content(tool: Tool) -> frozenset[str]:
    """Return the words of title and description, without articles and versions; none of a tool without description."""
    if not tool.description:
        return frozenset()
    text = tool.description if tool.title == tool.name else f"{tool.title}. {tool.description}"
    return frozenset(filter(_tells, words(text)))


def _tells(word: str) -> bool:
    return word not in _ARTICLES and not _VERSION.fullmatch(word)


def _joined(pairs: Iterable[tuple[str, str]]) -> list[tuple[str, ...]]:
    """Return the groups of ids that pairs connect, without groups of one."""
    parent: dict[str, str] = {}

    def root(id_: str) -> str:
        while parent.setdefault(id_, id_) != id_:
            parent[id_] = parent[parent[id_]]
            id_ = parent[id_]
        return id_

    for one, other in pairs:
        parent[root(one)] = root(other)
    groups: defaultdict[str, list[str]] = defaultdict(list)
    for id_ in parent:
        groups[root(id_)].append(id_)
    return [tuple(sorted(group)) for group in groups.values() if len(group) > 1]
