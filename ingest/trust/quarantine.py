"""What a build does with findings: report them, leave tools out, or refuse; the operator's approvals; and the record in the store."""

from __future__ import annotations

import hashlib
import json
import logging
import os
from collections import ChainMap, Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final, cast

from pydantic import TypeAdapter, ValidationError

from ingest.tool_cache import ToolCache
from ingest.trust.examine import Finding, findings_of
from ontology.errors import CatalogError, InvalidArgumentError
from ontology.files import append, disk_errors, flush_to_disk, lock_within, write_file
from ontology.tool import Tool, without_dependencies

# The names of the files in a store: what was released, and the record of the last examination
APPROVALS, FINDINGS = "approvals.jsonl", "findings.json"
POLICIES: Final = ("report", "quarantine", "refuse")
_LOG = logging.getLogger(__name__)
_LOCK_S = 10.0
_LISTED, _NAMED = 1_000, 10  # findings in a report, tools in an error
_LEFT = 500  # tools that are no longer among the documents


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval:
    """One release of a tool, by the :func:`content_hash` of its document, at a time of UTC in ISO 8601."""

    tool: str
    sha256: str
    reason: str
    by: str
    at: str
    rules: tuple[str, ...] = ()  # names of the rules whose findings were known then


def content_hash(tool: Tool) -> str:
    """Return the SHA-256 of all of a tool's document, as hexadecimal text."""
    return hashlib.sha256(tool.canonical_json().encode("utf-8", "surrogatepass")).hexdigest()


def approve(store: Path, tools: Iterable[tuple[str, str, tuple[str, ...]]], *, reason: str, by: str) -> list[Approval]:
    """Release tools, durably: the lines are on the disk when this returns.

    :param tools: id, content hash, and names of the rules that found something.
    :raises StorageError: when they cannot be written; none counts then.
    """
    at = datetime.now(UTC).isoformat(timespec="seconds")
    made = [Approval(tool=id_, sha256=hash_, reason=reason, by=by, at=at, rules=rules) for id_, hash_, rules in tools]
    path = store / APPROVALS
    lines = "".join(json.dumps(asdict(each), sort_keys=True) + "\n" for each in made).encode()
    with disk_errors(path), open(path, "a+b") as file:
        lock_within(file.fileno(), _LOCK_S, path, remedy="End the process that holds it, and approve again")
        end = file.seek(0, os.SEEK_END)
        torn = end and os.pread(file.fileno(), 1, end - 1) != b"\n"  # a crash has cut off the last line
        append(file.fileno(), b"\n" * bool(torn) + lines, end)
        flush_to_disk(store)
    return made


def read_approvals(store: Path) -> list[Approval]:
    """Return the approvals of a store in the order in which they were made; a line that is none is left out, with a warning.

    :raises StorageError: when the file is there and cannot be read.
    """
    path = store / APPROVALS
    with disk_errors(path, remedy="Check its permissions"):
        lines = path.read_bytes().splitlines() if path.is_file() else []
    found = []
    for number, line in enumerate(lines, 1):
        try:
            row = json.loads(line)
            found.append(Approval(**{**row, "rules": tuple(row.get("rules", ()))}))
        except (ValueError, TypeError, AttributeError) as error:
            _LOG.warning("%s:%d: no approval: %s", path, number, type(error).__name__)
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingsReport:
    """The findings of a build."""

    policy: str = ""  # one of POLICIES; empty where nothing was examined
    tools: int = 0  # number of tools with findings; ``severe``: of those with severe ones
    severe: int = 0
    by_kind: dict[str, int] = field(default_factory=dict)  # kind → number of tools with such a finding
    quarantined: dict[str, str] = field(default_factory=dict)  # tool id → why its document is not in the snapshot
    # ids of those of them whose document as it was published last is in the snapshot instead
    kept: tuple[str, ...] = ()
    approved: tuple[str, ...] = ()  # ids of tools with severe findings that were released, as they are now
    findings: tuple[Finding, ...] = ()  # the first thousand


@dataclass(frozen=True, slots=True, kw_only=True)
class TrustRecord:
    """What a store remembers of the last examination."""

    policy: str = "report"  # that of the last build, one of POLICIES: changes of the catalogue are treated as it says
    findings: tuple[Finding, ...] = ()  # all of them
    hashes: dict[str, str] = field(default_factory=dict)  # tool id → content hash, of the tools with findings
    quarantined: tuple[str, ...] = ()  # ids of the tools whose documents were held back
    # documents as they were last published, rows of ``tools.jsonl``, so that a later build still compares with them: of
    # the last 500 tools that left the documents, the newest last, then of the tools that are held back
    baseline: tuple[dict[str, Any], ...] = ()

    def matching(self, pattern: str) -> list[str]:
        """Ids of the tools with findings that a pattern with ``*``, ``?`` and ``[…]`` names: the one of exactly this id, where there is it."""
        return [pattern] if pattern in self.hashes else [id_ for id_ in self.hashes if fnmatchcase(id_, pattern)]

    def releases(self, ids: Iterable[str]) -> list[tuple[str, str, tuple[str, ...]]]:
        """What :func:`approve` takes, of tools with findings; raise KeyError for others."""
        rules = {id_: dict.fromkeys(each.rule for each in self.findings if each.tool == id_) for id_ in ids}
        return [(id_, self.hashes[id_], tuple(found)) for id_, found in rules.items()]


@dataclass(frozen=True, slots=True, kw_only=True)
class Examined:
    """The outcome of an examination."""

    left_out: frozenset[str]  # ids of the tools that must not be in the snapshot
    # tool id → the document as it was published last, which is in the snapshot instead of the one that is held back
    kept: Mapping[str, Tool]
    refused: CatalogError | None  # why nothing may be built; None where it may
    report: FindingsReport
    record: TrustRecord


def examine(
    tools: Sequence[Tool],
    policy: str,
    *,
    previous: Mapping[str, Tool] | None = None,
    earlier: TrustRecord | None = None,
    approvals: Iterable[Approval] = (),
    keep: bool = True,
    cache: ToolCache | None = None,
) -> Examined:
    """Examine the tools of a catalogue and decide which are left out.

    Under ``quarantine`` a tool that is published keeps its published document where that has no severe finding itself.

    :param policy: one of :data:`POLICIES`.
    :param previous: the tools as they were published last, by id.
    :param earlier: what the store remembers of the last examination.
    :param keep: False where the published documents are not known to be whole: then they are compared with, and not kept.
    :param cache: as for :func:`findings_of`.
    :raises InvalidArgumentError: for an unknown policy.
    """
    if policy not in POLICIES:
        problem = f"there is no policy {policy!r}"
        raise InvalidArgumentError(problem, subject="--findings", remedy=f"Use {', '.join(POLICIES)}")
    published, baseline = previous or {}, {str(row["id"]): row for row in (earlier or TrustRecord()).baseline}
    # The published tools come first, and are not decoded before they are asked for.
    remembered = {id_: Tool.from_json(row) for id_, row in baseline.items()}
    before: Mapping[str, Tool] = ChainMap(cast("dict[str, Tool]", published), remembered)
    by_id = {tool.id: tool for tool in tools}
    findings = findings_of(tools, before, cache=cache)
    hashes = {id_: content_hash(by_id[id_]) for id_ in dict.fromkeys(each.tool for each in findings)}
    released = {(approval.tool, approval.sha256) for approval in approvals}
    severe: dict[str, Finding] = {}  # the first of each tool
    for each in findings:
        if each.is_severe:
            severe.setdefault(each.tool, each)
    approved = tuple(id_ for id_ in severe if (id_, hashes[id_]) in released)
    reasons = {id_: f"{one.kind} in {one.field}: {one.why}" for id_, one in severe.items() if id_ not in approved}
    kept: dict[str, Tool] = {}
    left_out: frozenset[str] = frozenset()
    if policy == "quarantine":
        # Of the published documents of tools that are held back, those that would not be held back themselves.
        old = {id_: published[id_] for id_ in reasons if keep and id_ in published}
        others = [tool for tool in tools if tool.id not in old]
        found = findings_of(list(old.values()), old, beside=others) if old else []
        bad = {each.tool for each in found if each.is_severe}
        kept = {id_: tool for id_, tool in old.items() if id_ not in bad or (id_, content_hash(tool)) in released}
        left_out = frozenset(reasons).difference(kept)
    refused = None
    if reasons and (policy == "refuse" or (policy == "quarantine" and len(left_out) == len(tools))):
        named = "; ".join(f"{id_}: {why}" for id_, why in list(reasons.items())[:_NAMED])
        problem = f"{len(reasons)} tool(s) have severe findings: {named}"
        remedy = "Correct their documents, or release them with `egotools admin findings approve`"
        refused = CatalogError(problem, subject=f"--findings {policy}", remedy=remedy)
    held_back = tuple(reasons) if policy != "report" else ()
    until = "; until then the document published before it stays in use"
    findings = [
        replace(each, remedy=each.remedy + until) if each.tool in kept and each.is_severe else each for each in findings
    ]
    gone = {id_: published[id_].to_json() for id_ in published if id_ not in by_id}
    left = [row for id_, row in baseline.items() if id_ not in by_id and id_ not in gone]
    held_rows = (before[id_].to_json() for id_ in held_back if id_ in before)
    return Examined(
        left_out=left_out,
        kept=kept,
        refused=refused,
        report=FindingsReport(
            policy=policy,
            tools=len(hashes),
            severe=len(severe),
            by_kind=dict(sorted(Counter(kind for _, kind in {(each.tool, each.kind) for each in findings}).items())),
            quarantined=reasons if policy == "quarantine" else {},
            kept=tuple(kept),
            approved=approved,
            findings=tuple(findings[:_LISTED]),
        ),
        record=TrustRecord(
            policy=policy,
            findings=tuple(findings),
            hashes=hashes,
            quarantined=held_back,
            baseline=(*[*left, *gone.values()][-_LEFT:], *held_rows),
        ),
    )


def admitted(tools: Iterable[Tool], examined: Examined) -> tuple[Tool, ...]:
    """The tools that may be in the snapshot, as they may be in it, without their dependencies on those that are left out."""
    stay = (examined.kept.get(tool.id, tool) for tool in tools if tool.id not in examined.left_out)
    return without_dependencies(stay, examined.left_out)


def write_record(store: Path, record: TrustRecord) -> None:
    """Write what an examination found; the file is removed where there is nothing to remember.

    :raises StorageError: when it cannot be written.
    """
    if record == TrustRecord():
        with disk_errors(store):
            (store / FINDINGS).unlink(missing_ok=True)
    else:
        write_file(store / FINDINGS, json.dumps(asdict(record), ensure_ascii=False, sort_keys=True) + "\n")


def read_record(store: Path) -> TrustRecord:
    """Return what the last examination of a store found; nothing where there was none.

    :raises InvalidArgumentError: when the file is damaged: without it a changed tool could pass for a new one.
    """
    path = store / FINDINGS
    if not path.is_file():
        return TrustRecord()
    try:
        return TypeAdapter(TrustRecord).validate_json(path.read_bytes())
    except (ValidationError, OSError, ValueError) as error:
        problem = f"it cannot be read ({type(error).__name__})"
        remedy = "Restore it from a backup, or remove it: then changes of quarantined tools are no longer compared"
        raise InvalidArgumentError(problem, subject=str(path), remedy=remedy) from error
