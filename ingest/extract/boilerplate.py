"""Boilerplate: sentences that stand in many documents of a namespace and say nothing of any one tool.

"Tokens need the repo scope to use this endpoint" makes tokens an object of every tool. So such sentences are cut before extraction: blanks
take their place, because provenance counts characters of the document. The document itself stays as it is, and so do the texts that are
embedded and indexed: without boilerplate they complete fewer requests of restbench (2 of 113 at 3 tools) and gtc (3 of 150), none more.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from textwrap import shorten
from typing import NamedTuple

from ingest.extract.sentences import MIN_SENTENCE_CHARS, sentence_spans
from ontology.tool import Parameter, Tool

__all__ = ["Boilerplate", "BoilerplateSentence", "find_boilerplate"]

_SHARE = 0.05
_SHOWN_CHARS = 300
_MIN_TOOLS = 10
"""Tools of one object (list, get, create, update, delete, some also for many at once) share sentences that are true of that object.
Chosen above the size of such a family, not tuned.
"""
# Sentences that differ in such words only count as one: scopes, paths, numbers. Found on GitHub's description of its API, where the scope
# varies (`admin:org`); words with `_` are left apart, because `sales_order` may be what the sentence is about. Either form is only looked
# for where a word or a part of it begins, and without backtracking: the work is linear in one word of 100,000 letters too.
_LITERAL = re.compile(r"(?<!\S)[^\s\d]*+\d\S*|(?<![^\s:/])[^\s:/]*+[:/]\w\S*")


class _Span(NamedTuple):
    """A sentence at ``[start, end)``, and the key that equal sentences share."""

    start: int
    end: int
    key: str


class BoilerplateSentence(NamedTuple):
    """A sentence that was cut from the documents of a namespace.

    :param text: as the first document has it; others may have other scopes, paths or numbers in it.
    :param tools: number of tools whose documents have it.
    """

    namespace: str
    text: str
    tools: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Boilerplate:
    """The boilerplate of a catalogue.

    :param sentences: the most frequent first.
    :param keys: map from namespace to the keys of its boilerplate.
    """

    sentences: tuple[BoilerplateSentence, ...] = ()
    keys: Mapping[str, frozenset[str]]

    def cut(self, tool: Tool) -> Tool:
        """Return the tool with blanks in place of boilerplate; the same tool where it has none."""
        keys = self.keys.get(tool.namespace)
        if not keys:
            return tool
        description = _blanked(tool.description, keys)
        parameters = tuple(_cut(parameter, keys) for parameter in tool.parameters)
        if description == tool.description and parameters == tool.parameters:
            return tool
        return replace(tool, description=description, parameters=parameters)


def find_boilerplate(tools: Sequence[Tool]) -> Boilerplate:
    """Find the sentences of descriptions, of tools and of inputs, that more than 5 % of a namespace's tools have, and at least ten."""
    sizes = Counter(tool.namespace for tool in tools)
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    texts: dict[tuple[str, str], str] = {}
    for tool in tools:
        namespace = tool.namespace
        if sizes[namespace] >= _MIN_TOOLS:
            found = {span.key: text[span.start : span.end] for text in _texts(tool) for span in _spans(text)}
            counts[namespace].update(found.keys())
            for key, text in found.items():
                texts.setdefault((namespace, key), text)
    sentences = [
        BoilerplateSentence(namespace, shorten(texts[namespace, key], _SHOWN_CHARS, placeholder=" …"), count)
        for namespace, of_key in counts.items()
        for key, count in of_key.items()
        if _is_boilerplate(count, sizes[namespace])
    ]
    return Boilerplate(
        sentences=tuple(sorted(sentences, key=lambda one: (-one.tools, one.namespace, one.text))),
        keys={
            namespace: frozenset(key for key, count in of_key.items() if _is_boilerplate(count, sizes[namespace]))
            for namespace, of_key in counts.items()
        },
    )


def _is_boilerplate(count: int, tools: int) -> bool:
    return count >= _MIN_TOOLS and count > _SHARE * tools


def _texts(tool: Tool) -> Iterator[str]:
    yield tool.description
    for parameter in tool.parameters:
        yield parameter.description


@lru_cache(maxsize=1 << 14)
def _spans(text: str) -> tuple[_Span, ...]:
    """Return the sentences of a text, without labels; cached, because descriptions of inputs repeat."""
    return tuple(
        _Span(start, end, " ".join(_LITERAL.sub("…", text[start:end]).casefold().split()))
        for start, end in sentence_spans(text)
        if end - start >= MIN_SENTENCE_CHARS
    )


def _cut(parameter: Parameter, keys: frozenset[str]) -> Parameter:
    description = _blanked(parameter.description, keys)
    return parameter if description == parameter.description else replace(parameter, description=description)


def _blanked(text: str, keys: frozenset[str]) -> str:
    for span in _spans(text):
        if span.key in keys:
            text = text[: span.start] + " " * (span.end - span.start) + text[span.end :]
    return text
