"""Reports: hand-computed tables, and pages that no text can break out of."""

import json
import re
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any

from eval.measured_set import Answer, MeasuredSet, read_measured, write_measured
from eval.queries import LabelledQuery, QuerySet
from eval.report import per_query_rows, write_report
from eval.summary import Summary, summarise, summary_to_json
from ontology.reporting import escape_markdown
from tests.eval.planted import GRAPH as QUALITY
from tests.eval.planted import query_set, run_of, with_unanswerable

# flat finds everything, late; graph finds what it finds at once, and has no answer to q4.
GOLD = {"q1": ["a"], "q2": ["b"], "q3": ["a", "b"], "q4": ["a", "b", "c", "d"]}
FLAT = {
    "q1": ["a", "x"],
    "q2": ["x", "y", "z", "w", "b"],
    "q3": ["a", "x", "y", "z", "w", "v", "b"],
    "q4": list("abcd"),
}
GRAPH = {"q1": ["x", "a"], "q2": ["b"], "q3": ["a", "b"]}


def planted(name: str = "hr", **facts: Any) -> MeasuredSet:
    queries = query_set(GOLD, name, ["single", "single", "multi", "multi"])
    timed = {
        query_id: Answer(query_id=query_id, tools=tuple(tools), ms={"total": 10.0 * at, "rank": 1.0})
        for at, (query_id, tools) in enumerate(GRAPH.items(), start=1)
    }
    failed = Answer(query_id="q4", tools=(), error="ModelError: gone.")
    runs = (
        run_of(queries, FLAT, "flat", config_hash="f" * 12, config={"preset": "flat", "encoder": "e.v1"}),
        run_of(
            queries,
            {**timed, "q4": failed},
            "graph",
            config_hash="a" * 12,
            config={"preset": "graph", "encoder": "e.v1", "weights": "0" * 64},
        ),
    )
    return replace(MeasuredSet(queries=queries, runs=runs, tools=40, snapshot_id="s1"), **facts)


def summary_of(*sets: MeasuredSet) -> Summary:
    return summarise(sets, baseline="flat", resamples=200)


def page_of(folder: Path, *sets: MeasuredSet) -> str:
    write_report(folder, summary_of(*sets), sets)
    return (folder / "report.md").read_text(encoding="utf-8")


def rows_of(page: str, heading: str) -> list[str]:
    """The rows of the first table below a heading."""
    lines = page.partition(f"### {heading}\n\n")[2].splitlines()
    return lines[: lines.index("")]


def test_the_tables_have_what_was_counted_by_hand(tmp_path: Path) -> None:
    page = page_of(tmp_path, planted())
    assert rows_of(page, "CompleteRecall, hr") == [
        "| system | multi (2) @3 / @5 / @10 | single (2) @3 / @5 / @10 | micro-average (4) @3 / @5 / @10 |",
        "| --- | ---: | ---: | ---: |",
        r"| \|gold\| > k | 50.0 / 0.0 / 0.0 | 0.0 / 0.0 / 0.0 | 25.0 / 0.0 / 0.0 |",
        "| flat | 0.0 / **50.0** / **100.0** | 50.0 / **100.0** / **100.0** | 25.0 / **75.0** / **100.0** |",
        "| graph | **50.0** / **50.0** / 50.0 | **100.0** / **100.0** / **100.0** | **75.0** / **75.0** / 75.0 |",
    ]
    assert rows_of(page, "Latency, hr") == [
        "| system | answered | unanswered | fallbacks | rank p50 / p95 | total p50 / p95 |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
        "| flat | 4 | 0 | 0 | – | – |",
        "| graph | 3 | 1 | 0 | 1 / 1 | 20 / 29 |",
    ]


def abstaining(gold: dict[str, list[str]]) -> MeasuredSet:
    """Flat never abstains; graph does on n1, by n2 without a tool, falsely on q1, and has no answer to n3."""
    queries = with_unanswerable(query_set(gold, "hr"), {"n1": "chit-chat", "n2": "other-domain", "n3": "chit-chat"})
    answers = {
        "q1": Answer(query_id="q1", tools=("a",), abstained=True),
        "q2": Answer(query_id="q2", tools=("b",)),
        "n1": Answer(query_id="n1", tools=("a",), abstained=True),
        "n2": Answer(query_id="n2", tools=()),
        "n3": Answer(query_id="n3", tools=(), error="ModelError: gone."),
    }
    asked = [query.id for query in queries.asked]
    runs = (
        run_of(queries, {query_id: ["x"] for query_id in asked}, "flat"),
        run_of(queries, {query_id: answers[query_id] for query_id in asked}, "graph"),
    )
    return MeasuredSet(queries=queries, runs=runs, tools=40, snapshot_id="s1")


def test_abstention_is_right_on_unanswerable_requests_and_false_on_others(tmp_path: Path) -> None:
    page = page_of(tmp_path, abstaining({"q1": ["a"], "q2": ["b"]}))
    header, _, *rows = rows_of(page, "Abstention, hr")
    assert header == (
        "| system | unanswerable (3) | chit-chat (2) | other-domain (1) | answerable: false (2) | CompleteRecall@10 |"
    )
    assert rows == [
        "| flat | 0.0 [0.0, 0.0] | 0.0 [0.0, 0.0] | 0.0 [0.0, 0.0] | 0.0 [0.0, 0.0] | 0.0 |",
        "| graph | 66.7 [0.0, 100.0] | 50.0 [0.0, 100.0] | 100.0 [100.0, 100.0] | 50.0 [0.0, 100.0] | 100.0 |",
    ]
    assert "graph on hr left 1 request without an answer" in page
    written = [json.loads(line) for line in (tmp_path / "per_query.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [row["systems"]["graph"]["abstains"] for row in written] == [True, False, True, True, False]
    assert [row["systems"]["graph"]["complete_at"] for row in written] == [1, 1, None, None, None]


def test_a_measured_set_keeps_its_alternatives_and_plain_gold_sets_stay_as_they_were(tmp_path: Path) -> None:
    queries = query_set({"q1": [["a", "b"], "c"], "q2": ["a", "c"]})
    run = run_of(queries, {"q1": ["b", "c"]})
    other, missing = replace(run, system="grpc:[::1]:5/a"), {"q1": ("t9",)}
    measured = MeasuredSet(
        queries=queries, runs=(run, other), tools=9, snapshot_id=run.snapshot_id, missing_gold=missing
    )
    write_measured(tmp_path, measured)
    assert read_measured(tmp_path) == measured
    written = json.loads((tmp_path / "set.json").read_text(encoding="utf-8"))["queries"]["queries"]
    assert [query["tools"] for query in written] == [[["a", "b"], "c"], ["a", "c"]]
    first, _ = per_query_rows([measured])
    assert first["gold"] == [["a", "b"], "c"]
    assert first["systems"]["a"] == {"ranks": {"a": None, "b": 1, "c": 2}, "complete_at": 2}


def test_intervals_and_differences_say_what_the_summary_says(tmp_path: Path) -> None:
    page, summary = page_of(tmp_path, planted()), summary_of(planted())
    figure = summary.figure(("set", "hr", "hr"), "graph", "CompleteRecall@3")
    assert figure is not None and figure.difference == 0.5
    assert figure.difference_low is not None and figure.difference_high is not None
    cell = rows_of(page, "All measures, hr")[4].split(" | ")[1]
    assert cell == f"**75.0** [{100 * figure.low:.1f}, {100 * figure.high:.1f}]"
    row = rows_of(page, "Differences to flat, hr")[2].split(" | ")
    within = f"[{100 * figure.difference_low:+.1f}, {100 * figure.difference_high:+.1f}]"
    shown = "**+50.0**" if figure.difference_low > 0 else "+50.0"
    assert row[0] == "| graph" and row[1].startswith(f"{shown} {within}, p 0.".replace("+0.0,", "0.0,"))


def test_files_written(tmp_path: Path) -> None:
    measured = planted(missing_gold={"q1": ("a",)}, graph=QUALITY)
    summary = summary_of(measured)
    files = write_report(tmp_path / "out", summary, [measured], title="Planted")
    assert sorted(path.name for path in files) == sorted(path.name for path in (tmp_path / "out").iterdir())
    assert {path.name for path in files} == {
        *("report.md", "report.html", "failures.md", "failures.html", "summary.json", "per_query.jsonl")
    }
    written = json.loads((tmp_path / "out/summary.json").read_text(encoding="utf-8"))
    assert written == json.loads(json.dumps(summary_to_json(summary)))
    lines = (tmp_path / "out/per_query.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line) for line in lines] == list(per_query_rows([measured]))
    page = (tmp_path / "out/report.md").read_text(encoding="utf-8")
    before_figures = page[: page.index("## What was measured")]
    assert "> **Attention**: hr: 1 of 4 requests need 1 tool that the catalogue does not have" in before_figures
    assert "> **Attention**: graph on hr left 1 request without an answer; each scores 0." in before_figures
    assert "2 systems, 4 requests, cutoffs 3, 5, 10, 20, 30" in page
    assert "(200 resamples, seed 0); differences are to flat, paired" in page
    assert "| q1 | a |" in page
    assert "Common to all configurations: encoder e.v1." in page
    assert "| graph | preset graph; weights 000000000000 | 30 |" in page
    assert "### The tool graph, hr" in page and "| edges | supplies | 3 |" in page
    assert "No failure was analysed." in (tmp_path / "out/failures.md").read_text(encoding="utf-8")
    again = write_report(tmp_path / "again", summary, [measured], title="Planted")
    assert [path.read_bytes() for path in files] == [path.read_bytes() for path in again]


def test_runs_that_died_and_answers_longer_than_the_catalogue_are_said_on_top(tmp_path: Path) -> None:
    measured = planted(tools=20)
    dead = replace(measured.runs[1], failure="ModelError: gone.")
    measured = replace(measured, runs=(measured.runs[0], dead))
    write_report(tmp_path, summary_of(measured), [measured])
    top = (tmp_path / "report.md").read_text(encoding="utf-8").partition("## ")[0]
    assert "graph on hr stopped before its end (ModelError: gone.); requests without an answer score 0." in top
    assert "answers of flat could hold 30 tools, the catalogue has 20." in top


# --- pages that no text can break out of


HOSTILE = '<script>alert("x")</script><img src=x onerror=y> | ](http://evil) `*_&lt;'


def hostile_set() -> MeasuredSet:
    queries = QuerySet(
        name=f"set {HOSTILE}",
        queries=(
            LabelledQuery(id=HOSTILE, text=HOSTILE, slots=((f"tool {HOSTILE}",),), request_class=f"$class$ {HOSTILE}"),
        ),
        sha256="0" * 64,
    )
    run = run_of(queries, {HOSTILE: ["x"]}, f"system {HOSTILE}", config={HOSTILE: HOSTILE}, config_hash=HOSTILE)
    return MeasuredSet(queries=queries, runs=(run,), tools=30, snapshot_id="s1", missing_gold={HOSTILE: (HOSTILE,)})


def test_html_shows_hostile_texts_and_asks_nobody(tmp_path: Path) -> None:
    measured = hostile_set()
    summary = summarise([measured], baseline=measured.runs[0].system, resamples=50)
    write_report(tmp_path, summary, [measured], title=HOSTILE)
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert not {"script", "img", "a", "link", "iframe", "form"} & {*re.findall(r"<(\w+)", text)}
    assert not re.findall(r"<[^>]*\b(?:src|href|action|data|on\w+)=", text)
    assert "url(" not in text and "@import" not in text
    assert unescape(text).count(HOSTILE) > 10
    assert "@media print" in text and "prefers-color-scheme: dark" in text


def test_markdown_shows_hostile_texts() -> None:
    assert escape_markdown(HOSTILE) == (
        r'\<script>alert("x")\</script>\<img src=x onerror=y> \| \](http://evil) \`\*\_\&lt;'
    )
    assert escape_markdown("get_employee 1 < 2 & 3 [20.0, 35.0]") == "get_employee 1 < 2 & 3 [20.0, 35.0]"
    assert escape_markdown("_a_ __b__ a\nb\r\n c") == r"\_a\_ \_\_b\_\_ a b c"
