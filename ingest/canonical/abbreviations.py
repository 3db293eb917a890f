"""Abbreviations and their expansions, from the ontology and from declarations like "Purchase Order (PO)" in the documents."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ingest.word_lists import word_list
from ontology.names import canonical_name, words
from ontology.ontology import Ontology
from ontology.tool import Tool

__all__ = ["Abbreviations", "read_abbreviations"]

# "Purchase Order (PO)", "bill of materials (BOMs)"; and in reverse order "PO (purchase order)".
_LONG_SHORT = re.compile(r"((?:[^\W\d_][\w'’/-]*[ \t]+){1,8})\(\s*([A-Z][A-Z0-9&]{1,5})s?\s*\)")
_SHORT_LONG = re.compile(r"\b([A-Z][A-Z0-9&]{1,5})s?[ \t]*\(\s*((?:[^\W\d_][\w'’/-]*[ \t]*){2,8})\)")
_LOWER_WORD = re.compile(r"(?<![\w.`'\"_<{])[a-z][a-z0-9]{1,5}(?![\w`'\"=:>}])")
_SMALL = word_list("canonical", "abbreviation_small_words")
_MAX_CHARS = 20_000


@dataclass(frozen=True, kw_only=True)
class Abbreviations:
    """Abbreviations with their expansions, and the scope of each.

    :param everywhere: map from lower-case abbreviation to its expansion in the whole catalogue.
    :param in_tool: map from tool id to all expansions in its document, for documents that differ from ``everywhere``.
    :param declared_by: map from abbreviation to the id of the first tool that declares the expansion used everywhere.
    :param warnings: conflicts between documents, one sentence each.
    """

    everywhere: Mapping[str, str]
    in_tool: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    declared_by: Mapping[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    def of(self, tool_id: str) -> Mapping[str, str]:
        """Return the expansions in one tool's document."""
        return self.in_tool.get(tool_id, self.everywhere)

    def source(self, abbreviation: str, tool_id: str) -> str:
        """Return the source of an expansion, one clause."""
        own = self.in_tool.get(tool_id)
        if own is not None and own.get(abbreviation) != self.everywhere.get(abbreviation):
            return f"declared in the document of {tool_id}"
        declared = self.declared_by.get(abbreviation)
        return f"declared in the document of {declared}" if declared else "the ontology's list"


def read_abbreviations(tools: Sequence[Tool], ontology: Ontology) -> Abbreviations:
    """Collect the abbreviations that documents declare, and those of the ontology.

    An expansion is used in the document that declares it. It is used everywhere when no other document and no entry of the
    ontology has another one, and when the abbreviation is no ordinary word in the catalogue's descriptions.
    """
    meanings: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for tool in tools:
        for short, meaning in sorted(set(_declared(tool))):
            meanings[short][meaning].append(tool.id)
    everywhere = dict(ontology.abbreviations)
    declared_by: dict[str, str] = {}
    warnings: list[str] = []
    prose = _lower_words(tools, {short for short in meanings if short not in everywhere})
    for short, found in sorted(meanings.items()):
        listed = everywhere.get(short)
        if listed is not None and set(found) != {canonical_name(listed)}:
            warnings.append(_conflict(short, found, f"the ontology's list says {listed!r} and holds elsewhere"))
        elif len(found) > 1:
            warnings.append(_conflict(short, found, "it holds in those documents only"))
        elif listed is None and short in prose:
            warnings.append(_conflict(short, found, "it is also an ordinary word, so it holds in those documents only"))
        elif listed is None:
            ((everywhere[short], by),) = found.items()
            declared_by[short] = by[0]
    in_tool = _local(meanings, everywhere)
    return Abbreviations(everywhere=everywhere, in_tool=in_tool, declared_by=declared_by, warnings=tuple(warnings))


def _local(meanings: Mapping[str, Mapping[str, list[str]]], everywhere: Mapping[str, str]) -> dict[str, dict[str, str]]:
    own: dict[str, dict[str, str]] = defaultdict(dict)
    for short, found in sorted(meanings.items()):
        for meaning, tool_ids in sorted(found.items()):
            for tool_id in tool_ids:
                if canonical_name(everywhere.get(short, "")) != meaning:
                    own[tool_id].setdefault(short, meaning)
    return {tool_id: {**everywhere, **local} for tool_id, local in own.items()}


def _conflict(short: str, found: Mapping[str, list[str]], outcome: str) -> str:
    declarations = "; ".join(f"{meaning!r} in {by[0]}" for meaning, by in sorted(found.items()))
    return f"the abbreviation {short!r} is declared as {declarations}: {outcome}"


def _declared(tool: Tool) -> Iterator[tuple[str, str]]:
    for text in _texts(tool):
        if "(" not in text:
            continue
        for match in _LONG_SHORT.finditer(text[:_MAX_CHARS]):
            if meaning := _meaning(match[2], match[1], at_end=True):
                yield match[2].lower(), meaning
        for match in _SHORT_LONG.finditer(text[:_MAX_CHARS]):
            if meaning := _meaning(match[1], match[2], at_end=False):
                yield match[1].lower(), meaning


def _texts(tool: Tool) -> Iterable[str]:
    yield tool.description
    yield from (parameter.description for parameter in (*tool.parameters, *tool.returns))


def _meaning(short: str, text: str, *, at_end: bool) -> str:
    """Return the canonical name of the words whose initials are ``short`` (initials of small words are optional), or empty."""
    initials = [letter for letter in short.lower() if letter.isalnum()]
    tokens = words(text)
    if len(initials) < 2 or not tokens or tokens[-1] in _SMALL:
        return ""
    starts = range(len(tokens) - 1, -1, -1) if at_end else (0,)
    for start in starts:
        if tokens[start] not in _SMALL and _has_initials(tokens[start:], initials):
            return canonical_name(" ".join(tokens[start:]))
    return ""


def _has_initials(tokens: Sequence[str], initials: Sequence[str]) -> bool:
    if not tokens:
        return not initials
    if initials and tokens[0][0] == initials[0] and _has_initials(tokens[1:], initials[1:]):
        return True
    return tokens[0] in _SMALL and _has_initials(tokens[1:], initials)


def _lower_words(tools: Sequence[Tool], wanted: set[str]) -> set[str]:
    """Return the words of ``wanted`` that appear in lower case in some description: these are also ordinary words."""
    seen: set[str] = set()
    if wanted:
        for tool in tools:
            for text in _texts(tool):
                seen.update(word for word in _LOWER_WORD.findall(text[:_MAX_CHARS]) if word in wanted)
    return seen
