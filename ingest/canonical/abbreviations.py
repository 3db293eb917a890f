"""Abbreviations and their meanings, from the ontology's list and from "Purchase Order (PO)" in the documents."""

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

# "Purchase Order (PO)", "bill of materials (BOMs)"; and the other way about, "PO (purchase order)".
_LONG_SHORT = re.compile(r"((?:[^\W\d_][\w'’/-]*[ \t]+){1,8})\(\s*([A-Z][A-Z0-9&]{1,5})s?\s*\)")
_SHORT_LONG = re.compile(r"\b([A-Z][A-Z0-9&]{1,5})s?[ \t]*\(\s*((?:[^\W\d_][\w'’/-]*[ \t]*){2,8})\)")
_LOWER_WORD = re.compile(r"(?<![\w.`'\"_<{])[a-z][a-z0-9]{1,5}(?![\w`'\"=:>}])")
_SMALL = word_list("canonical", "abbreviation_small_words")
_MAX_CHARS = 20_000


@dataclass(frozen=True, kw_only=True)
class Abbreviations:
    """Abbreviations with their meanings, and where these hold.

    :param everywhere: lower-case abbreviation → meaning, in the whole catalogue.
    :param in_tool: tool id → abbreviations that mean something of their own in its document.
    :param declared_by: abbreviation → id of the first tool whose document declares the meaning used everywhere.
    :param warnings: conflicts between documents, one sentence each.
    """

    everywhere: Mapping[str, str]
    in_tool: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    declared_by: Mapping[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    def of(self, tool_id: str) -> Mapping[str, str]:
        """The meanings in one tool's document."""
        return self.in_tool.get(tool_id, self.everywhere)

    def source(self, abbreviation: str, tool_id: str) -> str:
        """The source of a meaning, one clause."""
        own = self.in_tool.get(tool_id)
        if own is not None and own.get(abbreviation) != self.everywhere.get(abbreviation):
            return f"declared in the document of {tool_id}"
        declared = self.declared_by.get(abbreviation)
        return f"declared in the document of {declared}" if declared else "the ontology's list"


def read_abbreviations(tools: Sequence[Tool], ontology: Ontology) -> Abbreviations:
    """Collect the abbreviations that documents declare beside the ontology's list.

    A meaning holds in the document that declares it. It holds everywhere when no other document and no entry of the ontology
    declares another, and when the short form is not also an ordinary word in the catalogue's descriptions.
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
            warnings.append(_conflict(short, found, "it is a word of its own too, so it holds in those documents only"))
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
    return {tool_id: {**everywhere, **mine} for tool_id, mine in own.items()}


def _conflict(short: str, found: Mapping[str, list[str]], outcome: str) -> str:
    said = "; ".join(f"{meaning!r} in {by[0]}" for meaning, by in sorted(found.items()))
    return f"the abbreviation {short!r} is declared as {said}: {outcome}"


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
    """The words of ``text`` whose initials are ``short`` (small words may lend theirs or not), canonical, or empty."""
    initials = [letter for letter in short.lower() if letter.isalnum()]
    spoken = words(text)
    if len(initials) < 2 or not spoken or spoken[-1] in _SMALL:
        return ""
    starts = range(len(spoken) - 1, -1, -1) if at_end else (0,)
    for start in starts:
        if spoken[start] not in _SMALL and _spells(spoken[start:], initials):
            return canonical_name(" ".join(spoken[start:]))
    return ""


def _spells(spoken: Sequence[str], initials: Sequence[str]) -> bool:
    if not spoken:
        return not initials
    if initials and spoken[0][0] == initials[0] and _spells(spoken[1:], initials[1:]):
        return True
    return spoken[0] in _SMALL and _spells(spoken[1:], initials)


def _lower_words(tools: Sequence[Tool], wanted: set[str]) -> set[str]:
    """Those of ``wanted`` that stand in lower case in some description: ordinary words, whatever else they shorten."""
    seen: set[str] = set()
    if wanted:
        for tool in tools:
            for text in _texts(tool):
                seen.update(word for word in _LOWER_WORD.findall(text[:_MAX_CHARS]) if word in wanted)
    return seen
