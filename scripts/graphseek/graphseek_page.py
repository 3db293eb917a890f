"""The tables of ``docs/graphseek.md``, made of ``docs/graphseek.json`` and of nothing else."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any, TypeAlias

from scripts.account.account_tables import markdown_table, paired_difference, ratio_table, share
from scripts.bench_sets import ROOT
from scripts.document_blocks import replace_block
from scripts.graphseek.asked_systems import SYSTEMS

__all__ = ["FIGURES", "PAGE", "page_blocks", "write_page"]

PAGE = ROOT / "docs" / "graphseek.md"
FIGURES = ROOT / "docs" / "graphseek.json"
_Row: TypeAlias = Mapping[str, Any]
_SYSTEMS = {
    "basic": "operators by lookup",
    "no descriptors": "operators by lookup, no descriptors",
    "all bound": "all operators bound",
    "direct": "Cypher directly, schema",
    "direct with catalog": "Cypher directly, catalog",
}
_GRAPHS = {"ev": "EV graph", "countries": "countries", "tool_graph": "tool graph"}
_WORDINGS = {
    "asked": "as the tests phrase them",
    "paraphrase": "first paraphrases, after the rules were extended on them",
    "second paraphrase": "second paraphrases, after some of them led to changes of the rules",
    "asked, drafted catalog": "as the tests phrase them, catalog drafted by rules",
    "paraphrase, drafted catalog": "first paraphrases, catalog drafted by rules",
}
_RIGHT_OR_REFUSED = ("right by the paper's rule", "right by ours", "refused or asked back")
_NO_FIGURES = "Not measured yet."


def write_page(figures: Path = FIGURES, page: Path = PAGE) -> None:
    """Write every block of the page anew."""
    kept = json.loads(figures.read_text(encoding="utf-8")) if figures.exists() else {}
    for name, text in page_blocks(kept).items():
        replace_block(page, name, text)


def page_blocks(figures: Mapping[str, Any]) -> dict[str, str]:
    """Return the blocks by name."""
    makers: Mapping[str, tuple[str, Callable[[Any], str]]] = {
        "first-run": ("first_run", _first_run),
        "rules": ("rules", _rules),
        "random": ("random", _random),
        "constant-context": ("tokens", _constant),
        "constant-questions": ("tokens", _constant_questions),
        "lookup": ("tokens", _lookup),
        "real": ("real", _real),
        "real-families": ("real", _families),
        "speed": ("speed", ratio_table),
    }
    return {name: make(figures[of]) if figures.get(of) else _NO_FIGURES for name, (of, make) in makers.items()}


def _share(rows: Sequence[_Row], rule: str) -> str:
    return share(sum(bool(each[rule]) for each in rows), len(rows))


def _mean(rows: Sequence[_Row], key: str, digits: int = 0) -> str:
    return f"{fmean(each[key] for each in rows):,.{digits}f}" if rows else "–"


def _rules(rows: Sequence[_Row]) -> str:
    lines = []
    for graph, label in _GRAPHS.items():
        for wording, said in _WORDINGS.items():
            of = [each for each in rows if each["graph"] == graph and each["wording"] == wording]
            if of:
                lines.append((f"{label}, {said}", *_right_or_refused(of), _mean(of, "seconds", 2)))
    return markdown_table(("questions", *_RIGHT_OR_REFUSED, "seconds, mean"), lines)


def _right_or_refused(rows: Sequence[_Row]) -> tuple[str, str, str]:
    refused = sum(each["outcome"].startswith(("unreadable", "asked back")) for each in rows)
    return _share(rows, "paper"), _share(rows, "whole"), f"{refused} of {len(rows)}"


def _first_run(section: Mapping[str, Any]) -> str:
    rows = section["rows"]
    lines = []
    for graph, label in (*_GRAPHS.items(), ("", "all")):
        of = [each for each in rows if graph in ("", each["graph"])]
        lines.append((label, *_right_or_refused(of)))
    said = f"Second paraphrases, at commit {section['commit']}."
    table = markdown_table(("questions", *_RIGHT_OR_REFUSED), lines)
    return f"{said}\n\n{table}"


def _random(rows: Sequence[_Row]) -> str:
    """Without intervals: the draws of one question are no sample of questions."""
    total = {
        "question": "all",
        **{key: sum(each[key] for each in rows) for key in ("drawn", "is_none", "paper", "whole")},
    }
    lines = [
        (each["question"], *(f"{each[key]} of {each['drawn']}" for key in ("is_none", "paper", "whole")))
        for each in (*rows, total)
    ]
    head = ("EV graph, random parameters", "there is none", "right by the paper's rule", "right by ours")
    return markdown_table(head, lines)


def _constant(section: Mapping[str, Any]) -> str:
    """By the tokens of messages: a schema counts only where a server puts it into the prompt."""
    sizes = section["sizes"]
    if "1" not in sizes:
        return _NO_FIGURES
    one = sizes["1"]
    lines = []
    for size, each in sizes.items():
        pairs = [(each["by_question"][question], own) for question, own in one["by_question"].items()]
        apart = [tokens / own - 1 for tokens, own in pairs]
        lines.append(
            (
                f"{size} ×",
                each["prompts"],
                f"{each['messages']:,}",
                _percent(each["messages"] / one["messages"] - 1),
                f"{_percent(min(apart))} to {_percent(max(apart))}",
                f"{sum(_is_off(*pair) for pair in pairs)} of {len(pairs)}",
                f"{each['schemas']:,}",
            )
        )
    head = (
        "EV graph",
        "calls",
        "tokens of messages",
        "against 1 ×",
        "by question",
        "questions off by more than 1 %",
        "tokens of schemas",
    )
    verdict = "**missed**" if any(_is_off(each["messages"], one["messages"]) for each in sizes.values()) else "met"
    said = f"The bar, 1 % of the tokens of messages over all questions, is {verdict}."
    return f"{markdown_table(head, lines)}\n\n{said}"


def _constant_questions(section: Mapping[str, Any]) -> str:
    sizes = section["sizes"]
    if "1" not in sizes:
        return _NO_FIGURES
    lines = []
    for question, own in sizes["1"]["by_question"].items():
        found = [each["by_question"][question] for each in sizes.values()]
        lines.append((question, *(f"{tokens:,} ({_percent(tokens / own - 1)})" for tokens in found)))
    return markdown_table(("question", *(f"{size} ×" for size in sizes)), lines)


def _is_off(tokens: int, own: int) -> bool:
    """Whether it is more than 1 %."""
    return 100 * abs(tokens - own) > own


def _percent(value: float) -> str:
    return f"{100 * value:+.2f} %"


def _lookup(section: Mapping[str, Any]) -> str:
    ways = section["ways"]
    lines = [
        (
            label,
            f"{ways[way]['messages'] / ways[way]['prompts']:,.0f}",
            f"{ways[way]['schemas'] / ways[way]['prompts']:,.0f}",
            f"{ways[way]['offered']} of {ways[way]['looked_up']}",
            f"{ways[way]['solved']} of {ways[way]['questions']}",
        )
        for way, label in (("all bound", f"all {section['operators']} bound"), ("basic", "by lookup, at most 10"))
        if way in ways
    ]
    head = (
        "operators",
        "tokens of messages a call",
        "tokens of the schema a call",
        "of invocations outside the core: offered in their step",
        "answered",
    )
    return markdown_table(head, lines)


def _whole(rows: Sequence[_Row]) -> list[_Row]:
    """Return the rows of the systems, only of questions that all of them were asked."""
    kept = [each for each in rows if each["system"] in SYSTEMS]
    counts = Counter((each["run"], each["question"]) for each in kept)
    return [each for each in kept if counts[(each["run"], each["question"])] == len(SYSTEMS)]


def _real(rows: Sequence[_Row]) -> str:
    whole = _whole(rows)
    if not whole:
        return _NO_FIGURES
    runs = 1 + max(each["run"] for each in whole)
    head = (
        "system",
        "right by the paper's rule",
        "right by ours",
        *(("ours, mean of all runs",) if runs > 1 else ()),
        "ours against operators by lookup",
        "calls",
        "prompt tokens",
        "completion tokens",
        "seconds",
    )
    basic = _by_question(each for each in whole if each["system"] == "basic")
    lines = []
    for system, label in _SYSTEMS.items():
        of = [each for each in whole if each["system"] == system]
        first = [each for each in of if each["run"] == 0]
        mean = (f"{100 * fmean(bool(each['whole']) for each in of):.0f} %",) if runs > 1 else ()
        used = [_mean(of, "asked", 1), *(_mean(of, key) for key in ("prompt_tokens", "completion_tokens", "seconds"))]
        against = "" if system == "basic" else paired_difference(_by_question(of), basic, "graphseek")
        lines.append((label, _share(first, "paper"), _share(first, "whole"), *mean, against, *used))
    asked = len({each["question"] for each in whole})
    said = f"{asked} questions; run 1 of {runs} is greedy, the others are drawn. Shares with their 95 % intervals are of run 1; means a question."
    return f"{said}\n\n{markdown_table(head, lines)}"


def _by_question(rows: Iterable[_Row]) -> dict[str, float]:
    found: dict[str, list[bool]] = {}
    for each in rows:
        found.setdefault(each["question"], []).append(bool(each["whole"]))
    return {question: fmean(values) for question, values in found.items()}


def _families(rows: Sequence[_Row]) -> str:
    whole = _whole(rows)
    if not whole:
        return _NO_FIGURES
    lines = []
    for graph, family in dict.fromkeys((each["graph"], each["family"]) for each in whole):
        of = [each for each in whole if (each["graph"], each["family"]) == (graph, family)]
        cells = []
        for system in _SYSTEMS:
            mine = [each for each in of if each["system"] == system]
            right = sum(bool(each["whole"]) for each in mine)
            tokens = fmean(each["prompt_tokens"] + each["completion_tokens"] for each in mine)
            cells.append(f"{right} of {len(mine)}; {_mean(mine, 'asked', 1)}; {tokens:,.0f}; {_mean(mine, 'seconds')}")
        lines.append((f"{_GRAPHS[graph]}: {family}", *cells))
    said = "Right by our rule, of all runs; then calls, tokens and seconds a question."
    return f"{said}\n\n{markdown_table(('family', *_SYSTEMS.values()), lines)}"
