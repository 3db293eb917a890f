"""The report of a batch of tasks: how many answers are right, what each step cost, which tools were chosen (appendix D of the paper).

The categories are those of the paper's figure 15, which it does not define. Here: *correct* and *wrong* are answers that a query of the
graph gave; *forced* ones were given at the limit of steps; a *close call* is no right answer, but near it; *other error* is no answer.

An answer is the expected one by the rules of a benchmark of short answers: numbers by value, lists by their members, other texts by their
letters and digits. A currency or a unit beside a number says nothing where the expected answer has none, nor do case, articles, marks and
spaces in a text. A word beside a number is a unit only where it is one of a short list, or stands in the question. What makes another
number of it, as in ``3 million``, is none.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from ontology.errors import MissingExtraError
from ontology.files import write_file
from ontology.json_object import canonical_text
from ontology.pictures import COLOURS, axis_label, blank_figure, default_style, hide_frame, to_png
from ontology.proportion import Proportion
from planners.journal.account import ModelUse, ToolUse
from planners.kgot.batch import BatchTask, ShownTool, TaskResult

__all__ = ["CATEGORIES", "answer_matches", "batch_report", "write_report"]

CATEGORIES = ("correct", "correct forced", "close call", "wrong forced", "wrong", "other error", "not checked")
"""In the order of reports; ``not checked`` is an answer of a task whose right answer is not known."""
_FORCED = ("forced query", "forced answer")
_CELL_CHARS = 300  # of a cell: a reason is cut, its last sentence, which says what to do, is kept
_MOST_BARS = 20  # of a plot: those with the most
_BAR_CHARS = 40  # of the name of a bar

_NUMBER = re.compile(r"[-+]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:e[-+]?\d+)?|[-+]?\.\d+", re.IGNORECASE)
_SEPARATORS = re.compile(r"\s*[;\n]\s*|,\s+|,(?=\D)|\s+and\s+(?=\S+$)")
_SAME_UNITS = {
    **dict.fromkeys(("$", "us", "us$", "dollar"), "usd"),
    **dict.fromkeys(("€", "euro"), "eur"),
    **dict.fromkeys(("£", "pound"), "gbp"),
    **dict.fromkeys(("¥", "yen"), "jpy"),
    **dict.fromkeys(("%", "percentage"), "percent"),
    "franc": "chf",
}
_CURRENCIES = frozenset({"usd", "eur", "gbp", "jpy", "chf"})
_UNITS = _CURRENCIES | frozenset("km cm mm kg g l °c °f piece pc item".split())
"""Units that an answer may add: those of the shipped tasks (euros, kilometres, pieces), and symbols whose full word a question has instead."""
_MULTIPLIERS = frozenset(
    "k m mn bn b tn hundred thousand million billion trillion dozen score half halve quarter third double twice pair couple".split()
)
"""What makes another number of one; ``m`` is a million as often as a metre. Words of English, collected before any answer was seen."""
_CLOSE = 0.01  # share of the expected number: what a wrong rounding or a missed small row makes
_REL = 1e-9  # of two numbers that are one: more than what a conversion to decimal text loses


def answer_matches(given: str, expected: str, *, in_order: bool = False, question: str = "") -> bool:
    """Return whether an answer is the expected one.

    :param expected: a number, a list with commas or semicolons, or another text.
    :param in_order: whether the order of a list counts.
    :param question: its words may stand beside a number, as in ``9 invoices``.
    """
    asked = frozenset(map(_unit, re.findall(r"%|[^\W\d_]+", question))) - _MULTIPLIERS
    wanted = _quantity(expected, _UNITS | {"percent"} | asked)
    if wanted is not None:
        found = _quantity(given, wanted.units or _UNITS | asked)
        return found is not None and math.isclose(found.value, wanted.value, rel_tol=_REL, abs_tol=_REL)
    if _plain(given) == _plain(expected):
        return True
    items, left = _items(expected), _items(given)
    if len(items) < 2 or len(items) != len(left):
        return False
    is_item = partial(answer_matches, question=question)
    if in_order:
        return all(map(is_item, left, items))
    for item in items:  # each member has one of its own among the others
        match = next((each for each in left if is_item(each, item)), None)
        if match is None:
            return False
        left.remove(match)
    return True


def _is_close(given: str, expected: str) -> bool:
    """Return whether an answer that is not the expected one has it among other words, a number within 1 % of it, or more than half of a list."""
    wanted = _quantity(expected, _UNITS | {"percent"})
    if wanted is not None:
        numbers = _NUMBER.findall(unicodedata.normalize("NFKC", given))
        return any(abs(_value(each) - wanted.value) <= _CLOSE * abs(wanted.value) for each in numbers)
    if f" {_plain(expected)} " in f" {_plain(given)} ":
        return bool(_plain(expected))
    items, found_items = _items(expected), _items(given)
    right = sum(any(answer_matches(found, item) for found in found_items) for item in items)
    return len(items) > 1 and 2 * right > max(len(items), len(found_items))


def _items(text: str) -> list[str]:
    return [item for item in _SEPARATORS.split(text.strip().rstrip(".")) if item.strip()]


class _Quantity(NamedTuple):
    """A number, and what its unit is called: one name, none, or two of one currency written twice that are one."""

    value: float
    units: frozenset[str]


def _quantity(text: str, known: frozenset[str]) -> _Quantity | None:
    """Return the number that a text is, with a known unit or a currency at most; None for other texts."""
    plain = unicodedata.normalize("NFKC", text).strip().rstrip(".")
    found = _NUMBER.search(plain)
    if found is None:
        return None
    before, after = plain[: found.start()].strip(), plain[found.end() :].strip()
    units = frozenset(_unit(each) for each in (before, after) if each)
    if len(units) > 1 or not units <= known or (before and not units <= _CURRENCIES):
        return None
    return _Quantity(_value(found[0]), units)


def _value(number: str) -> float:
    return float(number.replace(",", ""))


def _unit(word: str) -> str:
    """Return the name of a unit: one for its sign, its word and its plural."""
    name = word.casefold()
    name = name.removesuffix("s") if len(name) > 2 else name
    return _SAME_UNITS.get(name, name)


def _plain(text: str) -> str:
    """Return the words of a text: lower case, without accents, marks and articles."""
    apart = unicodedata.normalize("NFKD", text).casefold()
    letters = "".join(each if each.isalnum() else " " for each in apart if not unicodedata.combining(each))
    return " ".join(word for word in letters.split() if word not in ("a", "an", "the"))


def _category(task: BatchTask, result: TaskResult) -> str:
    if not result.answer:
        return "other error"
    if not task.expected:
        return "not checked"
    forced = " forced" if result.outcome in _FORCED else ""
    if answer_matches(result.answer, task.expected, in_order=task.in_order, question=task.task.question):
        return f"correct{forced}"
    return "close call" if _is_close(result.answer, task.expected) else f"wrong{forced}"


def batch_report(tasks: Sequence[BatchTask], results: Sequence[TaskResult]) -> dict[str, Any]:
    """Return the report of results as JSON values, in the order of their tasks. A task without a result counts as an error.

    Its keys: ``tasks``, ``categories`` and ``by_level`` (counts), ``total`` and ``by_step`` (what models took), ``by_tool`` (calls),
    ``searches``, ``choice`` (how often a tool was found, and called after that), ``tools_of_tasks``, ``rows``.
    """
    known = {result.id: result for result in results}
    given = [known.get(task.id, TaskResult(id=task.id, error="it was not run")) for task in tasks]
    rows = [
        {
            "id": task.id,
            "level": task.level,
            "category": _category(task, result),
            "expected": task.expected,
            **{name: getattr(result, name) for name in ("answer", "outcome", "missing", "error", "seconds")},
            "model": asdict(result.model),
        }
        for task, result in zip(tasks, given, strict=True)
    ]

    def counts(level: int | None = None) -> dict[str, int]:
        found = [row["category"] for row in rows if level is None or row["level"] == level]
        return {name: found.count(name) for name in CATEGORIES}

    used: dict[str, dict[str, int]] = {}
    for row, result in zip(rows, given, strict=True):
        for tool in result.by_tool:
            both = used.setdefault(tool, {"tasks": 0, "correct": 0})
            both["tasks"] += 1
            both["correct"] += str(row["category"]).startswith("correct")
    return {
        "tasks": len(rows),
        "categories": counts(),
        "by_level": {str(level): counts(level) for level in sorted({task.level for task in tasks})},
        "total": _sums(ModelUse, ({"": result.model} for result in given)).get("", asdict(ModelUse())),
        "by_step": _sums(ModelUse, (result.by_step for result in given)),
        "by_tool": _sums(ToolUse, (result.by_tool for result in given)),
        "searches": sum(result.searches for result in given),
        "choice": _sums(ShownTool, (result.choice for result in given)),
        "tools_of_tasks": dict(sorted(used.items())),
        "rows": rows,
    }


def _sums(kind: Callable[[], Any], parts: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return the sums of all numbers by name."""
    sums: dict[str, dict[str, Any]] = {}
    for name, use in (item for part in parts for item in part.items()):
        total = sums.setdefault(name, asdict(kind()))
        for number, value in asdict(use).items():
            total[number] += value
    return dict(sorted(sums.items()))


def write_report(report: Mapping[str, Any], folder: Path) -> tuple[Path, ...]:
    """Write ``report.json``, ``report.md`` and, with the extra ``eval``, the plots beside them.

    :raises StorageError: when they cannot be written.
    """
    written = [write_file(folder / "report.json", canonical_text(report) + "\n")]
    note, plots = "", dict[str, bytes]()
    try:
        plots = _plots(report)
    except MissingExtraError as error:
        note = f"\nThe plots are left out: {error}\n"
    written += [write_file(folder / name, png) for name, png in plots.items()]
    text = _markdown(report) + "".join(f"\n![{name}]({name})\n" for name in plots) + note
    return (*written, write_file(folder / "report.md", text))


def _markdown(report: Mapping[str, Any]) -> str:
    right = report["categories"]["correct"] + report["categories"]["correct forced"]
    share = Proportion(right, report["tasks"])
    levels = {**report["by_level"], "all": report["categories"]}
    steps = {**report["by_step"], "all": report["total"]}
    interval = f"95 % interval {share.low or 0:.0%} to {share.high or 0:.0%}"
    return "\n".join(
        [
            f"# {report['tasks']} tasks: {right} right\n",
            f"Right: {right} of {report['tasks']}, {interval}. Money is by the prices that were given.\n",
            *_table(
                ("level", *CATEGORIES),
                ([_level(level), *(str(counts[name]) for name in CATEGORIES)] for level, counts in levels.items()),
            ),
            "\n## Cost by step\n",
            *_table(
                ("step", "calls", "prompt tokens", "completion tokens", "USD", "seconds"),
                (
                    [
                        name,
                        *(f"{use[each]:,}" for each in ("calls", "prompt_tokens", "completion_tokens")),
                        f"{use['usd']:.4f}",
                        f"{use['seconds']:.1f}",
                    ]
                    for name, use in steps.items()
                ),
            ),
            f"\n## Tools\n\n{report['searches']} searches. A tool's rank is its mean rank in the searches after which it was called.\n",
            *_table(
                ("tool", "shown", "chosen", "rank", "calls", "failed", "tasks", "of them right"),
                (_tool_row(report, name) for name in report["by_tool"]),
            ),
            "\n## Tasks\n",
            *_table(
                ("task", "level", "category", "expected", "answer"),
                (
                    [
                        *(row["id"], _level(row["level"]), row["category"], row["expected"]),
                        row["answer"] or row["missing"] or row["error"],
                    ]
                    for row in report["rows"]
                ),
            ),
            "",
        ]
    )


def _level(level: int | str) -> str:
    return "–" if level in (0, "0") else str(level)


def _tool_row(report: Mapping[str, Any], name: str) -> list[str]:
    shown = report["choice"].get(name, asdict(ShownTool()))
    use, tasks = report["by_tool"][name], report["tools_of_tasks"][name]
    rank = f"{shown['ranks'] / shown['called']:.1f}" if shown["called"] else "–"
    calls = f"{use['calls']:,}", f"{use['failed']:,}"
    return [name, str(shown["shown"]), str(shown["called"]), rank, *calls, str(tasks["tasks"]), str(tasks["correct"])]


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    lines = [columns, ["---"] * len(columns), *rows]
    return ["| " + " | ".join(_cell(text) for text in line) + " |" for line in lines]


def _cell(text: str) -> str:
    one = " ".join(text.split())
    if len(one) > _CELL_CHARS:
        reason, _, remedy = one.rpartition(". ")
        left = _CELL_CHARS - len(remedy) - 2
        one = f"{reason[:left]}… {remedy}" if reason and left > 0 else f"{one[:_CELL_CHARS]}…"
    return one.replace("|", "\\|").replace("<", "&lt;")


def _plots(report: Mapping[str, Any]) -> dict[str, bytes]:
    """Return plots as PNG by the names of their files, as the figures of the paper's appendix D.5.

    :raises MissingExtraError: when matplotlib is not installed.
    """
    levels = {f"level {level}" if level != "0" else "no level": counts for level, counts in report["by_level"].items()}
    given = [name for name in CATEGORIES if report["categories"][name]]
    steps = report["by_step"].items()
    tools = {
        name: {"answered right": use["correct"], "not": use["tasks"] - use["correct"]}
        for name, use in report["tools_of_tasks"].items()
    }
    categories = {level: {name: counts[name] for name in given} for level, counts in levels.items()}
    tokens = {name: {"": use["prompt_tokens"] + use["completion_tokens"]} for name, use in steps}
    seconds = {name: {"": use["seconds"]} for name, use in steps}
    with default_style():
        drawn = {
            "categories.png": (categories, f"Answers of {report['tasks']} tasks by level and category"),
            "tokens-by-step.png": (tokens, "tokens of models by step"),
            "seconds-by-step.png": (seconds, "seconds of models by step"),
            "tools.png": (tools, "Tasks by tool that they called, and how many of them were answered right"),
        }
        return {file: _bars(bars, title) for file, (bars, title) in drawn.items() if bars}


def _bars(bars: Mapping[str, Mapping[str, float]], title: str) -> bytes:
    """Draw a bar for each name, of its parts by their names."""
    most = sorted(bars, key=lambda name: (-sum(bars[name].values()), name))[:_MOST_BARS]
    labels = [axis_label(name, _BAR_CHARS) for name in most]
    figure = blank_figure(8.0, 1.2 + 0.32 * len(most))
    axes = figure.add_subplot()
    hide_frame(axes)
    axes.invert_yaxis()
    ends = [0.0] * len(most)
    for at, part in enumerate(next(iter(bars.values()))):
        widths = [bars[name][part] for name in most]
        axes.barh(labels, widths, left=ends, label=part, color=COLOURS[at % len(COLOURS)])
        ends = [end + width for end, width in zip(ends, widths, strict=True)]
        if part:
            axes.legend(frameon=False)
    axes.set_xlabel(title)
    return to_png(figure, title)
