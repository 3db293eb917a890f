"""The folder of results of a run: its files, its figures, and the report."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined

from datagen.requests import RejectedRequest, SyntheticRequest
from datagen.run import RunResult
from datagen.writing import TemplateWriter
from ontology.files import write_file, write_rows
from ontology.reporting import escape_line, escape_markdown

_EXAMPLES = 10  # requests of each class in the report
_MAX_REASONS = 12  # of a stage
_MAX_TOOLS = 40  # that no request needs
_LONG_ID = 4  # characters: a shorter id may be a part of any word
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"|“[^”]*”|‘[^’]*’|\d+(?:\.\d+)?")
_BLANK_LINES = re.compile(r"\n{3,}")
_NO_GROUP = "(none named)"
_AFTER_PATHS = ("generate", "validate", "diversity")  # the stages after a path was found


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassFigures:
    """The numbers of wanted requests, of paths found and of requests made, for one class."""

    wanted: int
    paths: int
    made: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupCoverage:
    """One line of business: its tools, how many of them a request needs, and how many requests need one of them."""

    name: str
    tools: int
    used: int
    requests: int


@dataclass(frozen=True, kw_only=True)
class Coverage:
    """What of a catalogue the requests need."""

    tools: int
    tools_used: int
    groups: tuple[GroupCoverage, ...]
    outputs_documented: int
    outputs_inferred: int
    rp_edges: int
    rp_pairs: int  # number of pairs of tools with an R-P edge; ``rp_pairs_used`` of them are in the path of a request
    rp_pairs_used: int
    never_used: Mapping[str, str]  # map from the id of an unused tool to the reason, in the catalogue's order


@dataclass(frozen=True, kw_only=True)
class RunFigures:
    """All figures; their JSON form is ``report.json``."""

    snapshot_id: str
    seed: int
    by: Mapping[str, str]  # who wrote, who read back, and the encoder that compared texts
    smoke_test: bool  # whether the texts are of templates, which nobody types: they test a catalogue, not retrieval
    stopped: str  # the error that ended the run early, or empty
    classes: Mapping[str, ClassFigures]
    gold_set_sizes: Mapping[str, Mapping[str, int]]  # number of requests by class and number of tools
    shapes: Mapping[str, Mapping[str, int]]  # number of requests by class and shape of the path
    coverage: Coverage
    rejected: Mapping[str, Mapping[str, int]]  # number of rejections by stage and reason, most frequent first
    examples: Mapping[str, tuple[str, ...]]  # map from class to ids of requests, drawn at random

    @property
    def made(self) -> int:
        """Number of requests made."""
        return sum(each.made for each in self.classes.values())

    @property
    def wanted(self) -> int:
        """Number of requests wanted."""
        return sum(each.wanted for each in self.classes.values())


def write_result(folder: Path, made: RunResult) -> RunFigures:
    """Write all results, each file atomically, over those of an earlier run, and return the figures of the report.

    The report is written last: when it exists, the files that it names exist too.

    :raises StorageError: when a file cannot be written.
    """
    figures = figures_of(made)
    outputs = (output for found in made.outputs.by_tool.values() for output in found)
    write_rows(folder / "tools.jsonl", (tool.to_json() for tool in made.catalogue.tools))
    write_rows(folder / "outputs.jsonl", map(asdict, outputs))
    write_rows(folder / "edges.jsonl", map(asdict, made.rp))
    write_rows(folder / "rejected.jsonl", map(asdict, made.rejected))
    write_rows(folder / "queries.jsonl", (request.to_json() for request in made.requests))
    write_file(folder / "report.json", json.dumps(asdict(figures), ensure_ascii=False, indent=1) + "\n")
    write_file(folder / "report.md", _markdown(figures, {one.id: one.text for one in made.requests}))
    return figures


def figures_of(made: RunResult) -> RunFigures:
    """Compute the figures of a run."""
    by_class: dict[str, list[SyntheticRequest]] = {name: [] for name in made.wanted}
    for request in made.requests:
        by_class[request.request_class].append(request)
    return RunFigures(
        snapshot_id=made.catalogue.snapshot_id,
        seed=made.seed,
        by=made.names,
        smoke_test=made.names["writer"] == TemplateWriter.name,
        stopped=str(made.stopped or ""),
        classes={
            name: ClassFigures(
                wanted=made.wanted[name], paths=len(made.paths.by_class.get(name, ())), made=len(requests)
            )
            for name, requests in by_class.items()
        },
        gold_set_sizes={
            name: _counted(str(len(one.path.tools)) for one in found) for name, found in by_class.items() if found
        },
        shapes={name: _counted(one.path.shape for one in found) for name, found in by_class.items() if found},
        coverage=_coverage(made),
        rejected=_rejected(made.rejected),
        examples={name: _drawn(found, made.seed) for name, found in by_class.items()},
    )


def _counted(values: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(values).items()))


def _drawn(requests: Sequence[SyntheticRequest], seed: int) -> tuple[str, ...]:
    ranked = sorted((hashlib.sha256(f"{seed}\n{one.id}".encode()).hexdigest(), one.id) for one in requests)
    return tuple(id for _, id in ranked[:_EXAMPLES])


def _coverage(made: RunResult) -> Coverage:
    groups = {tool.id: made.catalogue.group(tool.id) or _NO_GROUP for tool in made.catalogue.tools}
    used = {tool for request in made.requests for tool in request.path.tools}
    pairs = {pair for request in made.requests for pair in request.path.rp_pairs}
    needed = Counter(group for request in made.requests for group in {groups[tool] for tool in request.path.tools})
    sizes, of_used = Counter(groups.values()), Counter(groups[tool] for tool in used)
    on_paths = {tool for paths in made.paths.by_class.values() for path in paths for tool in path.tools}
    reasons: dict[str, Counter[tuple[bool, str, str]]] = defaultdict(Counter)
    for one in made.rejected:
        for tool in one.subject:
            if (one.stage in _AFTER_PATHS) is (tool in on_paths):
                reasons[tool][len(one.subject) > 1, one.stage, one.reason] += 1
    outputs = [output.documented for found in made.outputs.by_tool.values() for output in found]
    return Coverage(
        tools=len(groups),
        tools_used=len(used),
        groups=tuple(
            GroupCoverage(name=name, tools=sizes[name], used=of_used[name], requests=needed[name])
            for name in sorted(sizes, key=lambda name: (-sizes[name], name))
        ),
        outputs_documented=sum(outputs),
        outputs_inferred=len(outputs) - sum(outputs),
        rp_edges=len(made.rp),
        rp_pairs=len(made.rp.pairs),
        rp_pairs_used=len(made.rp.pairs & pairs),
        never_used={tool: _why(reasons[tool], tool in on_paths) for tool in groups if tool not in used},
    )


def _why(reasons: Counter[tuple[bool, str, str]], on_path: bool) -> str:
    """The most frequent reason; reasons for the tool alone precede reasons for a path of several tools."""
    if not reasons:
        return "it stands in paths that were not needed" if on_path else "no path leads over it"
    of_path, stage, text = min(reasons, key=lambda one: (one[0], -reasons[one], one))
    return f"{stage}: {text}{' (of a path over it)' if of_path else ''}"


def _rejected(rejected: Iterable[RejectedRequest]) -> dict[str, dict[str, int]]:
    """Count rejections by stage and reason; reasons that differ only in names and numbers count as one."""
    counts: dict[str, Counter[str]] = {}
    for one in rejected:
        reason = one.reason
        for tool in sorted(one.subject, key=len, reverse=True):
            reason = reason.replace(tool, "…") if len(tool) >= _LONG_ID else reason
        counts.setdefault(one.stage, Counter())[_QUOTED.sub("…", reason)] += 1
    return {
        stage: dict(sorted(reasons.items(), key=lambda item: (-item[1], item[0]))) for stage, reasons in counts.items()
    }


def _markdown(figures: RunFigures, texts: Mapping[str, str]) -> str:
    # The page is Markdown: texts are escaped by the filters, not as HTML.
    environment = Environment(
        loader=PackageLoader("datagen", ""),
        autoescape=False,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    environment.filters.update(plain=escape_markdown, line=escape_line, number="{:,}".format, percent="{:.1%}".format)
    page = environment.get_template("report.md.jinja").render(
        figures=figures, texts=texts, max_reasons=_MAX_REASONS, max_tools=_MAX_TOOLS
    )
    return _BLANK_LINES.sub("\n\n", page).strip() + "\n"
