"""Interchangeable tools: those of which each would do what a request asks for.

Two rules find them, and both are narrow: a tool that is left out costs nothing, one that is wrong makes a label wrong.

* The same action on the same object: verb of one meaning, same entity, names of the same words but for marks of a version
  or a method, the same required inputs, and outputs that do not contradict.
* Finders that find the same for the tools after them: each fills the same inputs of these tools, is about the same object,
  and requires at most words to search for.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from functools import cached_property

from datagen.catalogue import FINDING_ACTIONS, ProfiledCatalogue, only_reads, word_set
from datagen.requests import SampleValue, SyntheticRequest, ToolLinks, ToolPath
from ingest.linking import local_name
from ontology.names import noun_lemma, verb_lemma, words
from ontology.tool import Tool

# A tool with more doubles than this is in no request: the catalogue says too little to tell its tools apart. It guards
# against poor documents: none of 3,720 tools, of the shipped company and of other vendors, has more than 2, so 2 to 8
# do the same.
MAX_ALTERNATIVES = 8
_VERSION = re.compile(r"^v?\d+(?:\.\d+)*$")
_SAME = tuple(tuple(group.split("/")) for group in sorted(word_set("same_verbs")))
SAME_VERBS = {verb: group[0] for group in _SAME for verb in group}  # verb → the one that stands for all of its meaning
# Share of the outputs of the tool with fewer that the other has too. Of 12 vendors 23 pairs pass at 0.25, among them
# the projects of two systems, and 19 from 0.35 to 1.0. Of 18 documents of one vendor 22 pass up to 0.5, two of which
# make a secret or a version of it, and 20 from 0.65; at 1.0 one pair is lost.
_MIN_SHARED = 0.65

# (meaning of the verb, entity, words of the name, names of the required inputs); with no such verb, by the description
_Signature = tuple[str, str, frozenset[str], frozenset[str]]


class InterchangeableTools:
    """The interchangeable tools of one catalogue, found with its R-P edges ``rp``."""

    def __init__(self, catalogue: ProfiledCatalogue, rp: ToolLinks) -> None:
        self._catalogue = catalogue
        self._rp = rp

    def doubles(self, tool_id: str) -> tuple[str, ...]:
        """Return the tools that do the same as a tool to the same object, in the catalogue's order."""
        return self._doubles.get(tool_id, ())

    def is_ambiguous(self, tool_id: str) -> bool:
        """Whether a tool has so many doubles that no request could mean it."""
        return len(self.doubles(tool_id)) > MAX_ALTERNATIVES

    def with_alternatives(self, path: ToolPath) -> ToolPath:
        """Return the path with the alternatives of each tool; no alternative is a tool of the path."""
        found = tuple(
            tuple(sorted(other for other in self._would_do(tool, path) if other not in path.tools))[:MAX_ALTERNATIVES]
            for tool in path.tools
        )
        return replace(path, alternatives=found if any(found) else ())

    def narrowed(self, request: SyntheticRequest) -> SyntheticRequest:
        """Return the request with the alternatives that its words leave open. An alternative must take every value that
        the request states for the tool, and be of the same system where the request names the system."""
        path, said = request.path, frozenset(words(request.text))
        found = tuple(
            tuple(
                other
                for other in others
                if self._takes_all(tool, other, request.values) and not self._excluded(tool, other, said)
            )
            for tool, others in zip(path.tools, path.alternatives or ((),) * len(path.tools), strict=True)
        )
        return replace(request, path=replace(path, alternatives=found if any(found) else ()))

    def _would_do(self, tool: str, path: ToolPath) -> set[str]:
        fills = {(edge.target, edge.parameter) for edge in path.edges if edge.kind == "R-P" and edge.source == tool}
        doubles = {other for other in self.doubles(tool) if self._connects(tool, other, path)}
        return doubles | (self._finders(tool, fills) if fills else set())

    def _connects(self, tool: str, other: str, path: ToolPath) -> bool:
        """Whether another tool has the edges that a tool has in the path, to the same tools or to their doubles."""
        for edge in path.edges:
            if edge.kind != "R-P" or tool not in (edge.source, edge.target):
                continue
            near = edge.target if edge.source == tool else edge.source
            ends = {(other, one) if edge.source == tool else (one, other) for one in (near, *self.doubles(near))}
            if ends.isdisjoint(self._rp.pairs):
                return False
        return True

    def _finders(self, tool: str, fills: Collection[tuple[str, str]]) -> set[str]:
        """Other finders of the same object that fill the same inputs of the tools after it."""
        profiles = self._catalogue.extended_profiles
        own = profiles[tool]
        if own.action not in FINDING_ACTIONS or not own.entity or not self._needs_words_only(tool):
            return set()
        sources = [{edge.source for edge in self._rp.into(target) if edge.parameter == name} for target, name in fills]
        return {
            other
            for other in set.intersection(*sources) - {tool}
            if profiles[other].action in FINDING_ACTIONS
            and (profiles[other].entity, profiles[other].system) == (own.entity, own.system)
            and self._named(other) == self._named(tool)
            and self._needs_words_only(other)
        }

    def _named(self, tool: str) -> frozenset[str]:
        """Return the words of a tool's name but for verbs and marks: what it finds, with its kind."""
        named = map(noun_lemma, words(local_name(self._catalogue.tool(tool))))
        return frozenset(word for word in named if verb_lemma(word) not in SAME_VERBS) - word_set("marks")

    def _needs_words_only(self, tool: str) -> bool:
        """Whether a tool requires nothing but words and context parameters."""
        context = self._catalogue.profiles[tool].context
        required = [one for one in self._catalogue.tool(tool).parameters if one.required and one.name not in context]
        return all(set(map(noun_lemma, words(one.name))) <= word_set("queries") for one in required)

    def _takes_all(self, tool: str, other: str, values: Collection[SampleValue]) -> bool:
        """Whether another tool has an input for each value that the request states for a tool."""
        stated = {self._field(value.parameter) for value in values if value.tool == tool}
        takes = {self._field(parameter.name) for parameter in self._catalogue.tool(other).parameters}
        searches = self._catalogue.profiles[other].free_text > 0
        return stated <= takes or (
            searches and len(stated - takes) <= 1 and only_reads(self._catalogue.profiles[other])
        )

    def _excluded(self, tool: str, other: str, said: Collection[str]) -> bool:
        """Whether the request names the system of a tool, and another is of another system."""
        own, theirs = self._system_words(tool), self._system_words(other)
        return bool((own - theirs) & set(said))

    def _system_words(self, tool: str) -> frozenset[str]:
        return frozenset(words(self._catalogue.profiles[tool].system))

    def _field(self, name: str) -> str:
        return self._catalogue.names.canonical(name.rsplit(".", 1)[-1])

    @cached_property
    def _doubles(self) -> Mapping[str, tuple[str, ...]]:
        groups: dict[_Signature, list[str]] = defaultdict(list)
        for tool in self._catalogue.tools:
            groups[self._signature(tool)].append(tool.id)
        return {tool: tuple(self._others(tool, group)) for group in groups.values() if len(group) > 1 for tool in group}

    def _others(self, tool: str, group: Collection[str]) -> Iterator[str]:
        return (other for other in group if other != tool and self._outputs_agree(tool, other))

    def _signature(self, tool: Tool) -> _Signature:
        profile = self._catalogue.extended_profiles[tool.id]
        marks = word_set("marks")
        tokens = [word for word in words(local_name(tool)) if not _VERSION.match(word)]
        at = next((place for place, word in enumerate(tokens) if verb_lemma(word) in SAME_VERBS), len(tokens))
        verb = SAME_VERBS[verb_lemma(tokens[at])] if at < len(tokens) else ""
        named = frozenset(
            f"{lemma}s" if (lemma := noun_lemma(word)) != word else word for word in (*tokens[:at], *tokens[at + 1 :])
        )
        named -= marks
        required = frozenset(self._field(one.name) for one in tool.parameters if one.required and "." not in one.name)
        entity = " ".join(word for word in profile.entity.split() if not (_VERSION.match(word) or word in marks))
        if not verb or not entity or not named:
            return f"as described: {tool.description.strip()}", entity, named, required
        return f"{verb} {profile.action}", entity, named, required

    def _outputs_agree(self, tool: str, other: str) -> bool:
        one, two = (
            {self._field(output.name) for output in self._catalogue.tool(each).returns} for each in (tool, other)
        )
        return not one or not two or len(one & two) >= _MIN_SHARED * min(len(one), len(two))
