"""Coverage: how much of a catalogue its requests speak of, and why not of the rest."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from datagen.catalogue import Catalogue
from datagen.links import Links
from datagen.synthetic_request import RejectedRequest, SyntheticRequest
from datagen.tool_path import ToolPath

__all__ = ["Coverage", "GroupCoverage", "measure_coverage"]

_NO_GROUP = "(none named)"
_SURPLUS = "it stands in paths that were not needed"
_NO_PATH = "no path leads over it"
_OF_WORDING = ("generate", "validate", "diversity")  # stages that a tool gets to on a path

_Reason = tuple[str, bool, str]  # stage, whether it is about one tool alone, what was said


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupCoverage:
    """One line of business.

    :param requests: that need at least one of its tools.
    """

    name: str
    tools: int
    used: int
    requests: int


@dataclass(frozen=True, kw_only=True)
class Coverage:
    """What the requests speak of.

    :param edges: pairs of tools that an R-P edge joins, and of these how many a request walks.
    :param never_used: tool id → why no request needs it, in the catalogue's order.
    """

    tools: int
    groups: tuple[GroupCoverage, ...]
    edges: tuple[int, int]
    never_used: dict[str, str]

    def to_json(self) -> dict[str, Any]:
        """The JSON form."""
        return {
            "tools": self.tools,
            "tools_used": self.tools - len(self.never_used),
            "groups": [asdict(group) for group in self.groups],
            "rp_pairs": self.edges[0],
            "rp_pairs_walked": self.edges[1],
            "never_used": dict(self.never_used),
        }


def measure_coverage(
    catalogue: Catalogue,
    rp: Links,
    requests: Sequence[SyntheticRequest],
    *,
    paths: Iterable[ToolPath],
    rejected: Sequence[RejectedRequest],
) -> Coverage:
    """The coverage of a catalogue by its requests.

    :param paths: all that were found, used or not.
    :param rejected: what did not become a request; a tool that none needs is explained by them.
    """
    used = {tool for request in requests for tool in request.path.tools}
    pairs = {(edge.source, edge.target) for edge in rp}
    walked = {(edge.source, edge.target) for request in requests for edge in request.path.edges if edge.kind == "R-P"}
    on_paths = {tool for path in paths for tool in path.tools}
    reasons = _reasons(rejected)
    never = {
        tool.id: _why(on_paths=tool.id in on_paths, reasons=reasons[tool.id])
        for tool in catalogue.tools
        if tool.id not in used
    }
    return Coverage(
        tools=len(catalogue.tools),
        groups=_groups(catalogue, used, requests),
        edges=(len(pairs), len(pairs & walked)),
        never_used=never,
    )


def _groups(catalogue: Catalogue, used: set[str], requests: Sequence[SyntheticRequest]) -> tuple[GroupCoverage, ...]:
    groups = {tool.id: catalogue.group(tool.id) or _NO_GROUP for tool in catalogue.tools}
    tools = Counter(groups.values())
    used_tools = Counter(groups[tool] for tool in used if tool in groups)
    asked = Counter(
        group for request in requests for group in {groups[tool] for tool in request.path.tools if tool in groups}
    )
    return tuple(
        GroupCoverage(name=name, tools=tools[name], used=used_tools[name], requests=asked[name])
        for name in sorted(tools, key=lambda name: (-tools[name], name))
    )


def _reasons(rejected: Sequence[RejectedRequest]) -> dict[str, Counter[_Reason]]:
    """Tool id → why it, or a path over it, was rejected → how often."""
    reasons: dict[str, Counter[_Reason]] = defaultdict(Counter)
    for rejection in rejected:
        for tool in rejection.subject:
            reasons[tool][rejection.stage, len(rejection.subject) == 1, rejection.reason] += 1
    return reasons


def _why(*, on_paths: bool, reasons: Counter[_Reason]) -> str:
    """The reason given most often, those about the tool alone before those about a path of several."""
    counted = {reason: count for reason, count in reasons.items() if (reason[0] in _OF_WORDING) is on_paths}
    if not counted:
        return _SURPLUS if on_paths else _NO_PATH
    stage, alone, reason = min(counted, key=lambda each: (not each[1], -counted[each], each))
    return f"{stage}: {reason}" if alone else f"{stage}: {reason} (of a path over it)"
