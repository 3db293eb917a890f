"""The report of a batch of tasks: how many answers are right, what each step cost, which tools were called (appendix D of the paper).

The categories are those of the paper's figure 15, which it does not define. Here: *correct* and *wrong* are answers that a query of the
graph gave; *forced* ones were given at the limit of steps; a *close call* is no right answer, but near it; *other error* is no answer.

An answer is the expected one by the rules of a benchmark of short answers: numbers by value, lists by their members, other texts without
case, accents, articles, marks and spaces. A currency or a unit beside a number says nothing where the expected answer has none. A word
beside a number is a unit only where it is one of a short list or stands in the question; what makes another number of it, as in
``3 million``, is none.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from ontology.files import write_file
from ontology.json_values import canonical_text
from ontology.reporting import Proportion
from planners.journal.run_journal import ModelUse, ToolUse
from planners.kgot.batch import BatchTask, TaskResult

__all__ = ["CATEGORIES", "answer_matches", "batch_report", "write_report"]

CATEGORIES = ("correct", "correct forced", "close call", "wrong forced", "wrong", "other error", "not checked")
"""In the order of reports; ``not checked`` is an answer of a task whose right answer is not known."""
_FORCED = ("forced query", "forced answer")
_CELL_CHARS = 300  # of a cell

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
    if wanted := _quantity(expected, _UNITS | {"percent"} | asked):
        found = _quantity(given, wanted[1] or _UNITS | asked)
        return found is not None and math.isclose(found[0], wanted[0], rel_tol=_REL, abs_tol=_REL)
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
    if wanted := _quantity(expected, _UNITS | {"percent"}):
        numbers = map(_value, _NUMBER.findall(unicodedata.normalize("NFKC", given)))
        return any(abs(each - wanted[0]) <= _CLOSE * abs(wanted[0]) for each in numbers)
    if f" {_plain(expected)} " in f" {_plain(given)} ":
        return bool(_plain(expected))
    items, found = _items(expected), _items(given)
    right = sum(any(answer_matches(each, item) for each in found) for item in items)
    return len(items) > 1 and 2 * right > max(len(items), len(found))


def _items(text: str) -> list[str]:
    return [item for item in _SEPARATORS.split(text.strip().rstrip(".")) if item.strip()]


def _quantity(text: str, known: frozenset[str]) -> tuple[float, frozenset[str]] | None:
    """Return the number that a text is, and the name of its unit or currency where it has a known one; None for other texts."""
    plain = unicodedata.normalize("NFKC", text).strip().rstrip(".")
    found = _NUMBER.search(plain)
    if found is None:
        return None
    before, after = plain[: found.start()].strip(), plain[found.end() :].strip()
    units = frozenset(_unit(each) for each in (before, after) if each)  # a currency may be written twice
    if len(units) > 1 or not units <= known or (before and not units <= _CURRENCIES):
        return None
    return _value(found[0]), units


def _value(number: str) -> float:
    return float(number.replace(",", ""))


def _unit(word: str) -> str:
    """Return the name of a unit: one for its sign, its word and its plural."""
    name = word.casefold()
    name = name.removesuffix("s") if len(name) > 2 else name
    return _SAME_UNITS.get(name, name)


def _plain(text: str) -> str:
    apart = unicodedata.normalize("NFKD", text).casefold()
    letters = "".join(each if each.isalnum() else " " for each in apart if not unicodedata.combining(each))
    return " ".join(word for word in letters.split() if word not in ("a", "an", "the"))


def _category(task: BatchTask, result: TaskResult) -> str:
    if not result.answer:
        return "other error"
    if not task.answer:
        return "not checked"
    forced = " forced" if result.outcome in _FORCED else ""
    if answer_matches(result.answer, task.answer, in_order=task.in_order, question=task.question):
        return f"correct{forced}"
    return "close call" if _is_close(result.answer, task.answer) else f"wrong{forced}"


def batch_report(tasks: Sequence[BatchTask], results: Sequence[TaskResult]) -> dict[str, Any]:
    """Return the report of results as JSON values, in the order of their tasks. A task without a result counts as an error.

    Its keys: ``tasks``, ``categories`` and ``by_level`` (counts), ``total`` and ``by_step`` (what models took), ``by_tool`` (calls),
    ``tools_of_tasks`` (how many tasks called a tool), ``rows``.
    """
    known = {result.id: result for result in results}
    given = [known.get(task.id, TaskResult(id=task.id, error="it was not run")) for task in tasks]
    rows = [
        {
            "id": task.id,
            "level": task.level,
            "category": _category(task, result),
            "expected": task.answer,
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
    """Write ``report.json`` and ``report.md``.

    :raises StorageError: when they cannot be written.
    """
    texts = {"report.json": canonical_text(report) + "\n", "report.md": _markdown(report)}
    return tuple(write_file(folder / name, text) for name, text in texts.items())


def _markdown(report: Mapping[str, Any]) -> str:
    right = report["categories"]["correct"] + report["categories"]["correct forced"]
    share = Proportion(right, report["tasks"])
    interval = f"95 % interval {share.low or 0:.0%} to {share.high or 0:.0%}"
    levels = {**report["by_level"], "all": report["categories"]}
    parts = {
        "Categories": [{"level": level, **counts} for level, counts in levels.items()],
        "Cost by step": [{"step": name, **use} for name, use in {**report["by_step"], "all": report["total"]}.items()],
        "Tools": [{"tool": name, **use, **report["tools_of_tasks"][name]} for name, use in report["by_tool"].items()],
        "Tasks": [
            {
                **{name: row[name] for name in ("id", "level", "category", "expected")},
                "answer": row["answer"] or row["missing"] or row["error"],
            }
            for row in report["rows"]
        ],
    }
    lines = [
        f"# {report['tasks']} tasks: {right} right, {interval}",
        "",
        "Level 0: not known. Money: by the given prices.",
    ]
    for title, rows in parts.items():
        table = [list(rows[0]), ["---"] * len(rows[0]), *(row.values() for row in rows)] if rows else []
        lines += ["", f"## {title}", "", *("| " + " | ".join(map(_cell, line)) + " |" for line in table)]
    return "\n".join(lines) + "\n"


def _cell(value: object) -> str:
    if isinstance(value, int | float):
        return f"{value:,}" if isinstance(value, int) else f"{value:,.4f}"
    text = " ".join(str(value).split())
    cut = text if len(text) <= _CELL_CHARS else f"{text[:_CELL_CHARS]}…"
    return cut.replace("|", "\\|").replace("<", "&lt;")
