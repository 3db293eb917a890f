"""Sample tool paths for each class; groups, tools and edges are covered evenly."""

from __future__ import annotations

import hashlib
import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

from datagen.interfaces import SequenceValidator
from datagen.paths.edge_filter import EdgeFilter
from datagen.paths.interchangeable import InterchangeableTools
from datagen.paths.knowledge_tools import answers_general_questions
from datagen.paths.path_builder import PathBuilder, StepRules
from datagen.paths.path_needs import PathNeeds, find_unsayable
from datagen.paths.rp_graph import MIN_CONFIDENCE
from datagen.paths.state_check import state_check
from datagen.paths.usage import Anchors, Usage, shuffled_ranks
from datagen.profiled_catalogue import ProfiledCatalogue
from datagen.synthetic_request import CLASSES, RejectedRequest
from datagen.tool_links import ToolLinks
from datagen.tool_path import ToolPath
from ontology.errors import InvalidArgumentError
from ontology.progress import Progress

__all__ = ["FoundPaths", "find_paths"]

_LENGTHS = {2: 0.40, 3: 0.35, 4: 0.15, 5: 0.10}
"""Map from the number of dependent tools in a path to the share of the paths."""
_SET_LENGTHS = {2: 0.55, 3: 0.30, 4: 0.15}
"""The same for independent tools."""
_GENERAL_QUESTION = "ir-multi-intent"
_FORKED = 3  # number of tools of a join, and fewest of a fan
_ATTEMPTS = 3  # maximum number of attempts for a path around one tool
_SHARE_ANSWERED = 0.5  # share of the paths with a tool for the answer, where the documents have a question too
_SHARE_ALONE = 0.5  # share of the actions next to a general question without a chain before them
_SHARE_CHECKED = 0.5  # share of conditions on the state of the thing that is changed, where there is such a pair of tools; chosen, not measured
_RULES: Mapping[str, tuple[StepRules, ...]] = {
    "explicit-multi-step": (StepRules(shapes=("chain", "chain", "chain", "join", "fan")),),
    "implicit-multi-step": (StepRules(reads_first=True, shapes=("chain", "chain", "chain", "chain", "join")),),
    # An action under a condition; in a read-only catalogue, a read under a condition.
    "conditional-multi-step": (
        StepRules(reads_first=True, writes_last=True, shapes=("chain", "chain", "chain", "join", "fan")),
        StepRules(reads_first=True, shapes=("chain",)),
    ),
}
_WHY_NONE = {
    "single-intent": "every tool has a path of its own",
    "multi-intent": "no other tool of its system, its group or its object is independent of it",
    "ir-multi-intent": "no further action or chain goes with a question",
}
_NO_STEP = "no step that leads to it or from it passes, or every such path is there already"

_Lengths = Counter[int]
"""Map from the number of tools in a path to the number of paths."""
_MakePath = Callable[[str, _Lengths], ToolPath | None]
"""Makes a path around a tool, given the lengths of the paths of its class so far."""


@dataclass(frozen=True, kw_only=True)
class FoundPaths:
    """The paths of each class.

    :param by_class: in the order found; the paths of a class have distinct sets of tools.
    :param rejected: steps that the validator rejected (stage ``sequence``), paths with a needless tool or an open input,
        classes with fewer paths than wanted, and tools without a path (stage ``path``).
    """

    by_class: Mapping[str, tuple[ToolPath, ...]]
    rejected: tuple[RejectedRequest, ...]


def find_paths(
    catalogue: ProfiledCatalogue,
    rp: ToolLinks,
    pp: ToolLinks,
    validator: SequenceValidator,
    *,
    wanted: Mapping[str, int],
    no_words: Callable[[str], str] = lambda tool: "",
    no_part: Callable[[str, str], str] = lambda tool, request_class: "",
    seed: int = 0,
    progress: Progress = lambda stage, done, total: None,
) -> FoundPaths:
    """Find paths for each class, the least used tools first. Deterministic.

    An edge is validated only when a path needs it, and only an edge that is probably true makes a path.

    :param wanted: map from class to the wanted number of paths; a rejection has the reason where fewer are found.
    :param no_words: the reason why no request can name a tool, or empty; such a tool is in no path.
    :param no_part: the reason why a tool is no request of its own beside others in a class, or empty.
    :param progress: called with (``paths``, done, total).
    :raises InvalidArgumentError: for a class that is none of the six.
    :raises ModelError: when the validator needs a model and that is unavailable.
    """
    unknown = sorted(set(wanted) - set(CLASSES))
    if unknown:
        raise InvalidArgumentError(
            "there is no such class of requests", subject=", ".join(unknown), remedy=f"Classes are {', '.join(CLASSES)}"
        )
    finder = _Finder(catalogue, rp, pp, validator, no_words, no_part, seed)
    total, done = sum(wanted.values()), 0
    found: dict[str, tuple[ToolPath, ...]] = {}
    too_few: list[RejectedRequest] = []
    for name in CLASSES:
        if not (count := wanted.get(name, 0)):
            continue
        paths = []
        for path in finder.paths(name, count):
            paths.append(path)
            done += 1
            progress("paths", done, total)
        found[name] = tuple(paths)
        if len(paths) < count:
            too_few.append(_too_few(name, len(paths), count, finder.why_none[name]))
    rejected = (*finder.steps.rejected, *finder.rejected, *too_few, *finder.unused_tools(done))
    return FoundPaths(by_class=found, rejected=tuple(dict.fromkeys(rejected)))


class _Finder:
    """Finds the paths of one catalogue, class after class, with common usage counts.

    :ivar why_none: for each class, the reasons why tools have no path, with the number of tools.
    :ivar rejected: the paths with a needless tool or an open input.
    """

    def __init__(
        self,
        catalogue: ProfiledCatalogue,
        rp: ToolLinks,
        pp: ToolLinks,
        validator: SequenceValidator,
        no_words: Callable[[str], str],
        no_part: Callable[[str, str], str],
        seed: int,
    ) -> None:
        self._no_part = no_part
        self._catalogue = catalogue
        self._profiles = catalogue.extended_profiles
        self._seed = seed
        self._usage = Usage(catalogue)
        self.alternatives = InterchangeableTools(catalogue, rp)
        self._all = [tool.id for tool in catalogue.tools]
        self._failed = {tool: why for tool in self._all if (why := self._why_unmeant(tool, no_words))}
        self._tools = [tool for tool in self._all if tool not in self._failed]
        self._pp = self._between_able(pp)
        self._answering = [
            tool for tool in self._tools if answers_general_questions(catalogue.tool(tool), self._profiles[tool])
        ]
        self._needs = PathNeeds(catalogue)
        self.rejected: list[RejectedRequest] = []
        able = self._between_able(rp)
        self.steps = EdgeFilter(catalogue, able, validator, MIN_CONFIDENCE, self._needs.fault_of_edge)
        self.why_none: dict[str, Counter[str]] = {name: Counter() for name in CLASSES}

    def paths(self, name: str, count: int) -> Iterator[ToolPath]:
        """Yield up to ``count`` paths of a class."""
        rng = random.Random(int.from_bytes(hashlib.sha256(f"{self._seed}\n{name}".encode()).digest()[:8], "big"))
        rank = shuffled_ranks(self._tools, rng)
        check = partial(state_check, self._catalogue)
        builder = PathBuilder(self._profiles, self.steps, self._pp, self._usage, rank=rank, rng=rng, check=check)
        seen: set[frozenset[str]] = set()
        for make in self._ways(name, builder, rng):
            for path in self._around_anchors(name, make, count - len(seen), rank, seen):
                self._usage.add(path)
                yield self.alternatives.with_alternatives(path)

    def unused_tools(self, paths: int) -> Iterator[RejectedRequest]:
        """Yield a rejection for each tool that is in no path, with the reason."""
        for tool in self._all:
            if not self._usage.tools[tool]:
                why = f"; {self._failed[tool]}" if tool in self._failed else ""
                reason = f"the {paths:,} paths were found without it{why}"
                yield RejectedRequest(stage="path", subject=(tool,), reason=reason)

    def _why_unmeant(self, tool: str, no_words: Callable[[str], str]) -> str:
        if self.alternatives.is_ambiguous(tool):
            return f"{len(self.alternatives.doubles(tool)):,} other tools do the same, so no request could mean it"
        why = no_words(tool)
        if not why and (name := find_unsayable(self._catalogue.tool(tool), self._profiles[tool].context)):
            why = f"its required input {name} has only optional parts"
        return f"it cannot be put into words: {why}" if why else ""

    def _between_able(self, links: ToolLinks) -> ToolLinks:
        failed = self._failed
        return ToolLinks(tuple(edge for edge in links if edge.source not in failed and edge.target not in failed))

    def _around_anchors(
        self, name: str, make: _MakePath, count: int, rank: Mapping[str, int], seen: set[frozenset[str]]
    ) -> Iterator[ToolPath]:
        """Yield paths around the least used tools, as long as new paths are found."""
        answering = frozenset(self._answering if name == _GENERAL_QUESTION else ())
        own = [tool for tool in self._tools if tool not in answering] or self._tools
        if name == "multi-intent":
            own = [tool for tool in own if not self._no_part(tool, name)]
        anchors = Anchors(own, self._usage, rank)
        lengths = _Lengths()
        while count > 0 and (anchor := anchors.next()) is not None:
            made = (self._needed(make(anchor, lengths), name) for _ in range(_ATTEMPTS))
            path = next((one for one in made if one is not None and frozenset(one.tools) not in seen), None)
            if path is None:
                why = _WHY_NONE.get(name, _NO_STEP)
                self.why_none[name][why] += 1
                self._failed.setdefault(anchor, f"{name}: {why}")
                continue
            seen.add(frozenset(path.tools))
            lengths[len(path.tools)] += 1
            count -= 1
            yield path
            anchors.put_back(anchor)

    def _needed(self, path: ToolPath | None, name: str) -> ToolPath | None:
        """Return the path if each of its tools is needed and no input stays open; else None."""
        if path is None or any(not set(path.tools).isdisjoint(self.alternatives.doubles(tool)) for tool in path.tools):
            return None
        if fault := self._needs.find_fault(path, name):
            rejected = RejectedRequest(stage="path", subject=path.tools, reason=fault, request_class=name)
            self.rejected.append(rejected)
            return None
        return path

    def _ways(self, name: str, builder: PathBuilder, rng: random.Random) -> Iterator[_MakePath]:
        """Yield the functions that make a path of the class around a tool; each is used until it makes no new path."""
        if name == "single-intent":
            yield lambda anchor, lengths: ToolPath(tools=(anchor,))
        elif name == "multi-intent":
            for near in (True, False):
                yield partial(self._independent, near=near, builder=builder)
        elif name == _GENERAL_QUESTION:
            yield lambda anchor, lengths: self._beside_question(anchor, builder, rng)
        else:
            make = _conditional if name == "conditional-multi-step" else _dependent
            for rules in _RULES[name]:
                yield partial(make, rules=rules, builder=builder, rng=rng)

    def _independent(self, anchor: str, lengths: _Lengths, *, near: bool, builder: PathBuilder) -> ToolPath | None:
        """Return tools that are independent of each other, each of them a request of its own."""
        return builder.independent(
            [anchor],
            _due_length(lengths, _SET_LENGTHS),
            near=near,
            is_able=lambda tool: not self._no_part(tool, "multi-intent"),
        )

    def _beside_question(self, anchor: str, builder: PathBuilder, rng: random.Random) -> ToolPath | None:
        """Return a personal action; without a question of its own, and in some cases beside one, with a tool that answers questions."""
        alone = not builder.reads(anchor) and rng.random() < _SHARE_ALONE
        own = (None if alone else builder.chain(anchor, 2, StepRules(reads_first=True))) or ToolPath(tools=(anchor,))
        has_question = not self._no_part(own.tools[-1], _GENERAL_QUESTION)
        if has_question and rng.random() >= _SHARE_ANSWERED:
            return own
        by_use = sorted(self._answering, key=lambda tool: self._usage.tools[tool])
        systems = {
            self._profiles[tool].system for tool in own.tools
        }  # of another system nobody asks in the same message
        near = (tool for tool in by_use if self._profiles[tool].system in systems)
        answering = next((tool for tool in near if builder.is_independent(tool, own.tools)), None)
        if answering is None:
            return own if has_question else None
        return ToolPath(tools=(answering, *own.tools), edges=own.edges, shape="set")


def _dependent(
    anchor: str, lengths: _Lengths, *, rules: StepRules, builder: PathBuilder, rng: random.Random
) -> ToolPath | None:
    length = _due_length(lengths, _LENGTHS)
    shape = rng.choice(rules.shapes) if length >= _FORKED else "chain"
    if length > _FORKED and not rules.reads_first:
        shape = "fan"  # a chain of so many steps has no text that anybody follows
    forked: ToolPath | None = None
    if shape == "join":
        forked = builder.join(anchor, rules)
    elif shape == "fan":
        forked = builder.fan(anchor, rules, _FORKED if rules.reads_first else length)
    return forked or builder.chain(anchor, length, rules)


def _conditional(
    anchor: str, lengths: _Lengths, *, rules: StepRules, builder: PathBuilder, rng: random.Random
) -> ToolPath | None:
    """Return a check of a thing and a change of it, or a chain; by turns."""
    checked = builder.checked(anchor) if rng.random() < _SHARE_CHECKED else None
    return checked or _dependent(anchor, lengths, rules=rules, builder=builder, rng=rng)


def _due_length(lengths: _Lengths, shares: Mapping[int, float]) -> int:
    """Return the length that is furthest below its share."""
    total = lengths.total() + 1
    return max(shares, key=lambda length: (shares[length] * total - lengths[length], length))


def _too_few(name: str, found: int, wanted: int, why: Mapping[str, int]) -> RejectedRequest:
    reasons = "; ".join(f"{reason} ({count:,} tools)" for reason, count in why.items())
    return RejectedRequest(
        stage="path",
        subject=(),
        request_class=name,
        reason=f"{found:,} paths are there where {wanted:,} were wanted: {reasons or 'its tools make no more'}",
    )
