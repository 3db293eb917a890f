"""Coverage: the share of a catalogue that the requests need, and the reasons for unused tools."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from datagen.profiled_catalogue import ProfiledCatalogue
from datagen.synthetic_request import RejectedRequest, SyntheticRequest
from datagen.tool_links import ToolLinks
from datagen.tool_path import ToolPath

__all__ = ["Coverage", "GroupCoverage", "measure_coverage"]

_NO_GROUP = "(none named)"
_SURPLUS = "it stands in paths that were not needed"
_NO_PATH = "no path leads over it"
_AFTER_PATHS = ("generate", "validate", "diversity")  # the stages after a path was found


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupCoverage:
    """One line of business.

    :param used: number of tools that a request needs.
    :param requests: number of requests that need at least one of its tools.
    """

    name: str
    tools: int
    used: int
    requests: int


@dataclass(frozen=True, kw_only=True)
class Coverage:
    """The coverage of a catalogue.

    :param rp_pairs: number of pairs of tools with an R-P edge; ``rp_pairs_used`` of them are in the path of a request.
    :param never_used: map from the id of an unused tool to the reason, in the catalogue's order.
    """

    tools: int
    tools_used: int
    groups: tuple[GroupCoverage, ...]
    rp_pairs: int
    rp_pairs_used: int
    never_used: Mapping[str, str]


def measure_coverage(
    catalogue: ProfiledCatalogue,
    rp: ToolLinks,
    requests: Iterable[SyntheticRequest],
    *,
    paths: Iterable[ToolPath],
    rejected: Iterable[RejectedRequest],
) -> Coverage:
    """Measure the coverage of a catalogue by its requests.

    :param paths: all paths that were found, used or not.
    :param rejected: the rejections, which explain unused tools.
    """
    groups = {tool.id: catalogue.group(tool.id) or _NO_GROUP for tool in catalogue.tools}
    used: set[str] = set()
    used_pairs: set[tuple[str, str]] = set()
    needed: Counter[str] = Counter()
    for request in requests:
        used.update(request.path.tools)
        used_pairs |= request.path.rp_pairs
        needed.update({groups[tool] for tool in request.path.tools if tool in groups})
    on_paths = {tool for path in paths for tool in path.tools}
    reasons = _reasons(rejected, groups.keys() - used)
    never_used = {
        tool.id: _why(on_path=tool.id in on_paths, reasons=reasons[tool.id])
        for tool in catalogue.tools
        if tool.id not in used
    }
    return Coverage(
        tools=len(catalogue.tools),
        tools_used=len(catalogue.tools) - len(never_used),
        groups=_groups(groups, used, needed),
        rp_pairs=len(rp.pairs),
        rp_pairs_used=len(rp.pairs & used_pairs),
        never_used=never_used,
    )


def _groups(groups: Mapping[str, str], used: set[str], needed: Counter[str]) -> tuple[GroupCoverage, ...]:
    tools = Counter(groups.values())
    used_tools = Counter(group for tool, group in groups.items() if tool in used)
    return tuple(
        GroupCoverage(name=name, tools=tools[name], used=used_tools[name], requests=needed[name])
        for name in sorted(tools, key=lambda name: (-tools[name], name))
    )


class _Reason(NamedTuple):
    """The reason why a tool, or a path with it, was rejected.

    :param of_path: whether a path of several tools was rejected.
    """

    stage: str
    of_path: bool
    text: str


def _reasons(rejected: Iterable[RejectedRequest], tools: Collection[str]) -> Mapping[str, Counter[_Reason]]:
    """Return the count of each reason why one of these tools was rejected, by tool id."""
    reasons: dict[str, Counter[_Reason]] = defaultdict(Counter)
    for one in rejected:
        for tool in one.subject:
            if tool not in tools:
                continue
            reasons[tool][_Reason(one.stage, len(one.subject) > 1, one.reason)] += 1
    return reasons


def _why(*, on_path: bool, reasons: Counter[_Reason]) -> str:
    """Return the most frequent reason; reasons for the tool alone precede reasons for a path of several tools."""
    counted = {reason: count for reason, count in reasons.items() if (reason.stage in _AFTER_PATHS) is on_path}
    if not counted:
        return _SURPLUS if on_path else _NO_PATH
    reason = min(counted, key=lambda one: (one.of_path, -counted[one], one.stage, one.text))
    return f"{reason.stage}: {reason.text}{' (of a path over it)' if reason.of_path else ''}"
