"""``egotools eval``: what it measures, what it refuses, and that nothing answered is ever lost."""

from pathlib import Path

from eval.measured_set import read_measured
from tests.eval.planted import written
from tests.harness.commands import Run

ASKED: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("single", "open cases of a customer", ("support/search_cases",)),
    ("single", "who is on the team of the project", ("projects/list_team_members",)),
    ("single", "order a spare part", ("support/order_spare_part",)),
    ("multi", "log my time and submit the sheet", ("projects/log_time", "projects/submit_timesheet")),
    ("multi", "send a technician to a pump under warranty", ("support/check_warranty", "support/find_technicians")),
    ("multi", "move the milestone of the Oslo project", ("projects/find_projects", "projects/move_milestone")),
    ("hopeless", "close the case", ("projects/staff_project", "support/get_satisfaction", "projects/create_project")),
    ("hopeless", "what does the project cost", ("support/reply_to_case",)),
)


def test_a_report_is_written_and_the_figures_shown(run: Run, store: Path, tmp_path: Path) -> None:
    rows = [{"id": f"{n}", "query": text, "tools": tools, "class": kind} for n, (kind, text, tools) in enumerate(ASKED)]
    few = written(tmp_path / "few.jsonl", *rows)
    code, out, err = run("eval", store, "--queries", few, "--out", tmp_path, "--systems", "semantic,rrf,default")
    assert code == 0, err
    assert "error" not in err.lower()  # stages of more than a second are named there
    measured = read_measured(tmp_path)
    assert measured.snapshot_id in out and "8 requests" in out
    for words in ("CompleteRecall", "@3", "@5", "@10", "semantic", "default", str(tmp_path / "report.html")):
        assert words in out
    for name in ("report.md", "report.html", "summary.json", "per_query.jsonl", "failures.md"):
        assert (tmp_path / name).stat().st_size > 0
    assert [found.system for found in measured.runs] == ["semantic", "rrf", "default"]
    assert all(len(found.answers) == 8 and not found.failure for found in measured.runs)
    assert measured.graph is not None
    assert measured.graph.snapshot_id == measured.snapshot_id
    page = (tmp_path / "report.md").read_text(encoding="utf-8")
    assert all(found.config_hash in page for found in measured.runs) and measured.snapshot_id in page
