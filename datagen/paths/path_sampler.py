"""Paths: the tools that one request needs, for each class of requests, so that groups, tools and edges are covered evenly."""

from __future__ import annotations

import hashlib
import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from datagen.catalogue import Catalogue
from datagen.links import Links
from datagen.paths.edge_filter import Follows
from datagen.paths.extended_profiles import wide_profiles
from datagen.paths.knowledge_tools import answers_general_questions
from datagen.paths.path_builder import Builder, Rules
from datagen.paths.path_coverage import Reach, measure_reach
from datagen.paths.usage import Anchors, Usage, ranked
from datagen.seams import SequenceValidator
from datagen.synthetic_request import CLASSES, RejectedRequest
from datagen.tool_path import ToolPath
from ingest.linking import ToolProfile
from ontology.errors import InvalidArgumentError
from ontology.progress import Progress

__all__ = ["FoundPaths", "Progress", "find_paths"]


_LENGTHS = {2: 0.40, 3: 0.35, 4: 0.15, 5: 0.10}
_WITH_QUESTION = "ir-multi-intent"
_FORKED = 3  # tools of a join or fan
_ATTEMPTS = 3
_SET_LENGTHS = {2: 0.55, 3: 0.30, 4: 0.15}
_GENERAL = 0.6  # of the paths for questions of knowledge: how many have a tool that answers the question
_LONE = 0.5  # of what is done beside the question: how much is done by one tool, though a chain led to it
_RULES: Mapping[str, tuple[Rules, ...]] = {
    "explicit-multi-step": (Rules(shapes=("chain", "chain", "chain", "join", "fan")),),
    "implicit-multi-step": (Rules(reads_first=True, shapes=("chain", "chain", "chain", "chain", "join")),),
    # Something is done under a condition; where a catalogue only reads, something is read.
    "conditional-multi-step": (
        Rules(reads_first=True, writes_last=True, shapes=("chain", "chain", "chain", "join", "fan")),
        Rules(reads_first=True, shapes=("chain",)),
    ),
}
_WHY_NONE = {
    "single-intent": "every tool has a path of its own",
    "multi-intent": "no other tool is independent of it",
    "ir-multi-intent": "no further action or chain goes with a question",
}
_NO_STEP = "no step that leads to it or from it passes, or every such path is there already"


@dataclass(frozen=True, kw_only=True)
class FoundPaths:
    """The paths of each class.

    :param by_class: in the order found; no two of a class have the same tools.
    :param rejected: steps that do not follow (stage ``sequence``), classes of which there are fewer paths than wanted and
        tools that no path has (stage ``path``).
    """

    by_class: Mapping[str, tuple[ToolPath, ...]]
    rejected: tuple[RejectedRequest, ...]
    coverage: Reach


def find_paths(
    catalogue: Catalogue,
    rp: Links,
    pp: Links,
    validator: SequenceValidator,
    *,
    wanted: Mapping[str, int],
    seed: int = 0,
    progress: Progress = lambda stage, done, total: None,
) -> FoundPaths:
    """Find paths for each class, the least used tools first. Equal arguments, equal paths.

    Edges are validated when a path wants to walk them.

    :param wanted: class → how many paths; where the catalogue has fewer, fewer are found and a rejection says why.
    :param progress: called with (``paths``, done, total).
    :raises InvalidArgumentError: for a class that is none of the six.
    :raises ModelError: when the validator needs a model and it is dead.
    """
    unknown = sorted(set(wanted) - set(CLASSES))
    if unknown:
        raise InvalidArgumentError(
            "there is no such class of requests", subject=", ".join(unknown), remedy=f"Classes are {', '.join(CLASSES)}"
        )
    finder = _Finder(catalogue, rp, pp, validator, seed)
    total, done = sum(wanted.values()), 0
    found: dict[str, tuple[ToolPath, ...]] = {}
    rejected: list[RejectedRequest] = []
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
            rejected.append(_too_few(name, len(paths), count, finder.why[name]))
    unused = finder.unused(found)
    rejected.extend(RejectedRequest(stage="path", subject=(tool,), reason=reason) for tool, reason in unused.items())
    return FoundPaths(
        by_class=found,
        rejected=(*finder.follows.rejected, *rejected),
        coverage=measure_reach(catalogue, len(finder.follows), found, unused),
    )


class _Finder:
    """Finds the paths of one catalogue, class after class, over one account of what was used."""

    def __init__(self, catalogue: Catalogue, rp: Links, pp: Links, validator: SequenceValidator, seed: int) -> None:
        self._catalogue = catalogue
        self._profiles: Mapping[str, ToolProfile] = wide_profiles(catalogue)
        self._pp = pp
        self._seed = seed
        self._usage = Usage(catalogue)
        self._tools = [tool.id for tool in catalogue.tools]
        self._general = [
            tool.id for tool in catalogue.tools if answers_general_questions(tool, self._profiles[tool.id])
        ]
        self.follows = Follows(catalogue, rp, validator)
        self.why: dict[str, Counter[str]] = {name: Counter() for name in CLASSES}
        self._failed: dict[str, str] = {}

    def paths(self, name: str, count: int) -> Iterator[ToolPath]:
        """Up to so many paths of a class."""
        rng = random.Random(int.from_bytes(hashlib.sha256(f"{self._seed}\n{name}".encode()).digest()[:8], "big"))
        rank = ranked(self._tools, rng)
        builder = Builder(self._profiles, self.follows, self._pp, self._usage, rank=rank, rng=rng)
        seen: set[frozenset[str]] = set()
        for make in self._makers(name, builder, rng):
            for path in self._around(name, make, count - len(seen), rank, seen):
                self._usage.take(path)
                yield path

    def unused(self, found: Mapping[str, tuple[ToolPath, ...]]) -> dict[str, str]:
        """The tools that no path has, with the reason."""
        made = sum(map(len, found.values()))
        surplus = f"the {made:,} paths were found without it"
        return {
            tool: f"{surplus}; {self._failed[tool]}" if tool in self._failed else surplus
            for tool in self._tools
            if not self._usage.tools[tool]
        }

    def _around(
        self,
        name: str,
        make: Callable[[str, Counter[int]], ToolPath | None],
        count: int,
        rank: Mapping[str, int],
        seen: set[frozenset[str]],
    ) -> Iterator[ToolPath]:
        """Paths around the least used tools, as long as there are any that make a new one."""
        general = frozenset(self._general if name == _WITH_QUESTION else ())
        own = [tool for tool in self._tools if tool not in general] or self._tools
        anchors = Anchors(own, self._usage, rank)
        lengths: Counter[int] = Counter()
        while count > 0 and (anchor := anchors.next()) is not None:
            path = next(self._new(make, anchor, lengths, seen), None)
            if path is None:
                self.why[name][_WHY_NONE.get(name, _NO_STEP)] += 1
                self._failed.setdefault(anchor, f"{name}: {_WHY_NONE.get(name, _NO_STEP)}")
                continue
            seen.add(frozenset(path.tools))
            lengths[len(path.tools)] += 1
            count -= 1
            yield path
            anchors.again(anchor)

    def _new(
        self,
        make: Callable[[str, Counter[int]], ToolPath | None],
        anchor: str,
        lengths: Counter[int],
        seen: set[frozenset[str]],
    ) -> Iterator[ToolPath]:
        for _ in range(_ATTEMPTS):
            path = make(anchor, lengths)
            if path is not None and frozenset(path.tools) not in seen:
                yield path

    def _makers(
        self, name: str, builder: Builder, rng: random.Random
    ) -> Iterator[Callable[[str, Counter[int]], ToolPath | None]]:
        """How a path of the class is made around a tool; each way is taken until it makes no more."""
        if name == "single-intent":
            yield lambda anchor, lengths: ToolPath(tools=(anchor,))
        elif name == "multi-intent":
            yield lambda anchor, lengths: builder.independent([anchor], _due(lengths, _SET_LENGTHS))
        elif name == _WITH_QUESTION:
            yield lambda anchor, lengths: self._with_question(anchor, builder, rng)
        else:
            for rules in _RULES[name]:
                yield lambda anchor, lengths, rules=rules: _dependent(anchor, lengths, rules, builder, rng)  # type: ignore[misc]

    def _with_question(self, anchor: str, builder: Builder, rng: random.Random) -> ToolPath:
        """A question and something personal: with a tool that answers the question, mostly, where there is one."""
        alone = not builder.reads(anchor) and rng.random() < _LONE
        own = (None if alone else builder.chain(anchor, 2, Rules(reads_first=True))) or ToolPath(tools=(anchor,))
        if rng.random() >= _GENERAL:
            return own
        general = sorted(self._general, key=lambda tool: self._usage.tools[tool])
        answering = next((tool for tool in general if builder.are_apart(tool, own.tools)), None)
        if answering is None:
            return own
        return ToolPath(tools=(answering, *own.tools), edges=own.edges, shape="set")


def _dependent(
    anchor: str, lengths: Counter[int], rules: Rules, builder: Builder, rng: random.Random
) -> ToolPath | None:
    length = _due(lengths, _LENGTHS)
    shape = rng.choice(rules.shapes) if length >= _FORKED else "chain"
    if shape == "join":
        return builder.join(anchor, rules) or builder.chain(anchor, length, rules)
    if shape == "fan":
        return builder.fan(anchor, rules) or builder.chain(anchor, length, rules)
    return builder.chain(anchor, length, rules)


def _due(lengths: Counter[int], shares: Mapping[int, float]) -> int:
    """The length that is furthest behind its share; what is made is shorter where steps lead no further."""
    total = sum(lengths.values()) + 1
    return max(shares, key=lambda length: (shares[length] * total - lengths[length], length))


def _too_few(name: str, found: int, wanted: int, why: Mapping[str, int]) -> RejectedRequest:
    reasons = "; ".join(f"{reason} ({count:,} tools)" for reason, count in why.items())
    return RejectedRequest(
        stage="path",
        subject=(),
        request_class=name,
        reason=f"{found:,} paths are there where {wanted:,} were wanted: {reasons or 'the catalogue has no tools'}",
    )
