"""Coverage: how much of a catalogue its requests need, and why not the rest."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from datagen.catalogue import Catalogue
from datagen.links import Links
from datagen.synthetic_request import RejectedRequest, SyntheticRequest
from datagen.tool_path import ToolPath

__all__ = ["Coverage", "GroupCoverage", "measure_coverage"]

_NO_GROUP = "(none named)"
_SURPLUS = "it stands in paths that were not needed"
_NO_PATH = "no path leads over it"
_AFTER_PATHS = ("generate", "validate", "diversity")  # stages that a tool gets to on a path


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupCoverage:
    """One line of business.

    :param used: tools that a request needs.
    :param requests: that need at least one of its tools.
    """

    name: str
    tools: int
    used: int
    requests: int


@dataclass(frozen=True, kw_only=True)
class Coverage:
    """What the requests need.

    :param rp_pairs: pairs of tools that an R-P edge connects; ``rp_pairs_used`` of them stand in the path of a request.
    :param never_used: tool id → why no request needs it, in the catalogue's order.
    """

    tools: int
    tools_used: int
    groups: tuple[GroupCoverage, ...]
    rp_pairs: int
    rp_pairs_used: int
    never_used: Mapping[str, str]


def measure_coverage(
    catalogue: Catalogue,
    rp: Links,
    requests: Sequence[SyntheticRequest],
    *,
    paths: Iterable[ToolPath],
    rejected: Iterable[RejectedRequest],
) -> Coverage:
    """The coverage of a catalogue by its requests.

    :param paths: all that were found, used or not.
    :param rejected: what did not become a request; they explain a tool that no request needs.
    """
    used = {tool for request in requests for tool in request.path.tools}
    used_pairs = frozenset[tuple[str, str]]().union(*(request.path.rp_pairs for request in requests))
    on_paths = {tool for path in paths for tool in path.tools}
    reasons = _reasons(rejected)
    never_used = {
        tool.id: _why(on_path=tool.id in on_paths, reasons=reasons[tool.id])
        for tool in catalogue.tools
        if tool.id not in used
    }
    return Coverage(
        tools=len(catalogue.tools),
        tools_used=len(catalogue.tools) - len(never_used),
        groups=_groups(catalogue, used, requests),
        rp_pairs=len(rp.pairs),
        rp_pairs_used=len(rp.pairs & used_pairs),
        never_used=never_used,
    )


def _groups(catalogue: Catalogue, used: set[str], requests: Sequence[SyntheticRequest]) -> tuple[GroupCoverage, ...]:
    groups = {tool.id: catalogue.group(tool.id) or _NO_GROUP for tool in catalogue.tools}
    tools = Counter(groups.values())
    used_tools = Counter(group for tool, group in groups.items() if tool in used)
    needed = Counter(
        group for request in requests for group in {groups[tool] for tool in request.path.tools if tool in groups}
    )
    return tuple(
        GroupCoverage(name=name, tools=tools[name], used=used_tools[name], requests=needed[name])
        for name in sorted(tools, key=lambda name: (-tools[name], name))
    )


class _Reason(NamedTuple):
    """Why a tool, or a path that has it, was rejected.

    :param of_path: whether it is about a path of several tools.
    """

    stage: str
    of_path: bool
    text: str


def _reasons(rejected: Iterable[RejectedRequest]) -> Mapping[str, Counter[_Reason]]:
    """Tool id → reason → how often."""
    reasons: dict[str, Counter[_Reason]] = defaultdict(Counter)
    for one in rejected:
        for tool in one.subject:
            reasons[tool][_Reason(one.stage, len(one.subject) > 1, one.reason)] += 1
    return reasons


def _why(*, on_path: bool, reasons: Counter[_Reason]) -> str:
    """The reason given most often, those about the tool alone before those about a path of several."""
    counted = {reason: count for reason, count in reasons.items() if (reason.stage in _AFTER_PATHS) is on_path}
    if not counted:
        return _SURPLUS if on_path else _NO_PATH
    reason = min(counted, key=lambda one: (one.of_path, -counted[one], one.stage, one.text))
    return f"{reason.stage}: {reason.text}{' (of a path over it)' if reason.of_path else ''}"
