"""``egotools datagen``: what it writes, that the same comes again, that nothing made is lost, and what bad input gets."""

from __future__ import annotations

import json
import signal
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from datagen.synthetic_request import CLASSES, SyntheticRequest
from eval.queries import read_queries
from inference import HashingEncoder
from ontology.tool import Tool
from retrieval.snapshot.reader import open_snapshot
from services.jobs.build import build_snapshot
from tests.conftest import ROOT
from tests.harness.commands import FILE_LIMIT, FULL, KILLED_AMID_A_FILE, Run, started
from tests.harness.waiting import LIMIT_S

CATALOG = ROOT / "examples" / "enterprise" / "catalog"
FILES = ("tools", "queries", "rejected", "edges", "outputs")
PICTURES = ("classes.png", "gold_sets.png", "shapes.png", "nearest.png")
PER_CLASS = 4


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def published(folder: Path, tools: Sequence[Mapping[str, Any]]) -> Path:
    """A store of these tools."""
    document = folder / "tools.jsonl"
    document.write_text("".join(json.dumps(tool) + "\n" for tool in tools), encoding="utf-8")
    build_snapshot([str(document)], folder / "store", encoder=HashingEncoder(), workers=1)
    return folder / "store"


def results(folder: Path) -> dict[str, bytes]:
    """Every file that a run leaves, by its place in the folder."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != ".lock"
    }


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("datagen") / "store"
    documents = [str(CATALOG / "projects.csv"), str(CATALOG / "support.jsonl")]
    build_snapshot(documents, folder, encoder=HashingEncoder(), workers=1)
    return folder


@pytest.fixture(scope="module")
def made(store: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run of the command."""
    folder = tmp_path_factory.mktemp("made")
    process = started("datagen", store, "--out", folder, "--per-class", PER_CLASS, PYTHONHASHSEED="1")
    out, err = process.communicate(timeout=LIMIT_S)
    assert process.returncode == 0, err
    assert str(folder / "report.md") in out.replace("\n", "")
    return folder


@pytest.mark.slow
def test_requests_of_six_classes_are_made_with_all_that_is_known_of_them(made: Path) -> None:
    queries = rows(made / "queries.jsonl")
    tools = {row["id"] for row in rows(made / "tools.jsonl")}
    counts = Counter(row["class"] for row in queries)
    assert set(counts) == set(CLASSES) and max(counts.values()) <= PER_CLASS
    assert len({row["id"] for row in queries}) == len({row["query"] for row in queries}) == len(queries)
    for row in queries:
        assert set(row["tools"]) <= tools and 1 <= len(row["tools"]) <= 5
        assert (len(row["tools"]) == 1) is (row["class"] == "single-intent") or row["class"] == "ir-multi-intent"
        assert {edge["source"] for edge in row["edges"]} | {edge["target"] for edge in row["edges"]} <= set(
            row["tools"]
        )
        assert all(value["value"] in row["query"] and value["tool"] in row["tools"] for value in row["values"])
        assert row["generator"] == "rules.v2"
        assert {verdict["check"] for verdict in row["verdicts"]} >= {"class", "sequence", "error"}
        assert all(verdict["passed"] and verdict["reason"] for verdict in row["verdicts"])
        assert SyntheticRequest.from_json(row).to_json() == row


def test_the_tools_are_those_of_the_snapshot_and_the_rejected_have_reasons(made: Path, store: Path) -> None:
    tools = [Tool.from_json(row) for row in rows(made / "tools.jsonl")]
    assert len(tools) == open_snapshot(store).tool_count
    known = {tool.id for tool in tools}
    for row in rows(made / "rejected.jsonl"):
        assert row["stage"] in ("outputs", "path", "sequence", "generate", "validate", "diversity")
        assert row["reason"] and set(row["subject"]) <= known
    for row in rows(made / "edges.jsonl"):
        assert row["kind"] == "R-P" and {row["source"], row["target"]} <= known and 0 <= row["confidence"] <= 1
    for row in rows(made / "outputs.jsonl"):
        assert row["tool"] in known and 0.5 <= row["confidence"] <= 1 and row["reason"]


def test_the_report_has_every_figure_and_its_pictures(made: Path) -> None:
    page = (made / "report.md").read_text(encoding="utf-8")
    figures = json.loads((made / "report.json").read_text(encoding="utf-8"))
    queries = {row["id"]: row["query"] for row in rows(made / "queries.jsonl")}
    for name in PICTURES:
        assert f"({name})" in page
        assert (made / name).read_bytes().startswith(b"\x89PNG")
    assert "Attention" not in page.replace("requests could be made", "") or figures["classes"]
    for words in (
        "rules.v1",
        figures["snapshot_id"],
        "distinct-2",
        "stand in the gold tools' documents",
        "Drawn at random",
    ):
        assert words in page
    assert set(figures["examples"]) == set(CLASSES)
    assert all(one in queries for ids in figures["examples"].values() for one in ids)
    assert sum(row["made"] for row in figures["classes"].values()) == len(queries)
    coverage = figures["coverage"]
    assert coverage["tools_used"] + len(coverage["never_used"]) == coverage["tools"]
    assert all(coverage["never_used"].values()), "no tool is left out without a reason"


def test_eval_runs_on_the_output_unchanged(run: Run, made: Path, store: Path, tmp_path: Path) -> None:
    asked = ("eval", store, "--queries", made / "queries.jsonl", "--out", tmp_path, "--systems", "semantic")
    code, out, err = run(*asked, "--no-footprint")
    assert code == 0, err
    assert f"{len(read_queries([made / 'queries.jsonl']).queries)} requests" in out


@pytest.mark.slow
def test_the_same_arguments_give_the_same_bytes_and_another_seed_others(
    run: Run, made: Path, store: Path, tmp_path: Path
) -> None:
    process = started("datagen", store, "--out", tmp_path / "again", "--per-class", PER_CLASS, PYTHONHASHSEED="4711")
    _, err = process.communicate(timeout=LIMIT_S)
    assert process.returncode == 0, err
    assert results(tmp_path / "again") == results(made)
    assert run("datagen", store, "--out", tmp_path / "other", "--per-class", PER_CLASS, "--seed", 1)[0] == 0
    texts = [{row["query"] for row in rows(folder / "queries.jsonl")} for folder in (made, tmp_path / "other")]
    assert len(texts[0] & texts[1]) < len(texts[0]) / 2


@pytest.mark.slow
def test_a_process_that_is_killed_goes_on_as_if_it_had_not_been(run: Run, store: Path, tmp_path: Path) -> None:
    asked = ("datagen", store, "--per-class", 10, "--out")
    process = started(*asked, tmp_path / "killed", before=KILLED_AMID_A_FILE)
    process.communicate(timeout=LIMIT_S)
    assert process.returncode == -signal.SIGXFSZ
    assert not (tmp_path / "killed" / "queries.jsonl").exists()
    (journal,) = tmp_path.glob("killed/journal/*.jsonl")
    whole_lines = journal.read_bytes().count(b"\n")
    assert whole_lines > 3 and journal.stat().st_size == FILE_LIMIT, "it ended amid a line"
    assert run(*asked, tmp_path / "killed")[0] == 0
    assert journal.read_bytes().count(b"\n") > whole_lines
    assert run(*asked, tmp_path / "whole")[0] == 0
    assert results(tmp_path / "killed") == results(tmp_path / "whole")


def test_more_requests_go_on_with_those_that_are_there(run: Run, store: Path, tmp_path: Path) -> None:
    texts = []
    for per_class in (2, 5):
        assert run("datagen", store, "--out", tmp_path / "out", "--per-class", per_class)[0] == 0
        texts.append({row["query"] for row in rows(tmp_path / "out" / "queries.jsonl")})
    assert len(texts[0]) < len(texts[1])
    assert len(list(tmp_path.glob("out/journal/*.jsonl"))) == 1


def test_a_mix_says_how_many_of_each(run: Run, store: Path, tmp_path: Path) -> None:
    mix = tmp_path / "mix.yaml"
    mix.write_text("single-intent: 5\nmulti-intent: 2\n", encoding="utf-8")
    code, out, _ = run("datagen", store, "--out", tmp_path / "out", "--mix", mix, "--json")
    assert code == 0
    counts = Counter(row["class"] for row in rows(tmp_path / "out" / "queries.jsonl"))
    assert counts == {"single-intent": 5, "multi-intent": 2}
    assert json.loads(out)["classes"]["single-intent"]["made"] == 5


@pytest.mark.parametrize(
    ("options", "code", "told"),
    [
        (["--per-class", 0], 2, "--per-class"),
        (["--per-class", -3], 2, "--per-class"),
        (["--generator", "magic"], 2, "rules or llm"),
        (["--generator", "llm"], 2, "--llm-url"),
        (["--mix", "absent.yaml"], 2, "single-intent"),
        (["--ontology", "absent.yaml"], 5, "absent.yaml"),
    ],
)
def test_options_that_cannot_be_served_are_rejected_before_anything_is_written(
    run: Run, store: Path, tmp_path: Path, options: list[object], code: int, told: str
) -> None:
    said = run("datagen", store, "--out", tmp_path / "out", *options)
    assert said[0] == code and told in said[2]
    assert not list(tmp_path.glob("out/*.jsonl"))


def test_a_folder_that_cannot_be_written_is_a_typed_error(run: Run, store: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    code, _, err = run("datagen", store, "--out", tmp_path / "file" / "out")
    assert code == 2 and "file" in err


def test_a_store_that_is_not_there_is_a_typed_error(run: Run, tmp_path: Path) -> None:
    assert run("datagen", tmp_path / "absent", "--out", tmp_path / "out")[0] == 7


@pytest.mark.slow
def test_a_disk_that_fills_up_keeps_what_was_made(run: Run, store: Path, tmp_path: Path) -> None:
    process = started("datagen", store, "--out", tmp_path / "full", "--per-class", 10, before=FULL)
    _, err = process.communicate(timeout=LIMIT_S)
    assert process.returncode == 8, err
    assert "cannot be written" in err and "Traceback" not in err
    assert not (tmp_path / "full" / "report.md").exists()
    (journal,) = tmp_path.glob("full/journal/*.jsonl")
    assert journal.read_bytes().count(b"\n") > 3
    for name in ("full", "whole"):
        assert run("datagen", store, "--out", tmp_path / name, "--per-class", 10)[0] == 0
    assert results(tmp_path / "full") == results(tmp_path / "whole")


def test_without_matplotlib_the_report_says_so(store: Path, tmp_path: Path) -> None:
    absent = "import sys; sys.modules['matplotlib'] = None"
    (tmp_path / "classes.png").write_bytes(b"of an earlier run")
    process = started("datagen", store, "--out", tmp_path, "--per-class", 2, before=absent)
    _, err = process.communicate(timeout=LIMIT_S)
    assert process.returncode == 0, err
    page = (tmp_path / "report.md").read_text(encoding="utf-8")
    assert "requirements/eval.txt" in page and ".png" not in page
    assert not list(tmp_path.glob("*.png"))


def tool(name: str, description: str, inputs: Sequence[str] = (), outputs: Sequence[str] = ()) -> dict[str, Any]:
    row: dict[str, Any] = {"id": name, "name": name, "description": description}
    row["parameters"] = [{"name": each, "type": "string", "description": "", "required": True} for each in inputs]
    row["returns"] = [{"name": each, "type": "string"} for each in outputs]
    return row


GIVEN = (
    tool("find_customers", "Find customers by name.", ["name"], ["customer_id"]),
    tool("list_invoices", "List the invoices of a customer.", ["customer_id"], ["invoice_id"]),
    tool("pay_invoice", "Pay an invoice.", ["invoice_id", "date"], ["payment_id"]),
    tool("refund_payment", "Refund a payment.", ["payment_id"], ["refund_id"]),
    tool("get_weather", "Weather of a city.", ["city"], ["temperature"]),
    tool("book_room", "Book a meeting room.", ["room", "date"], ["booking_id"]),
    tool("cancel_booking", "Cancel a booking.", ["booking_id"], []),
)
THIN: dict[str, Sequence[Mapping[str, Any]]] = {
    "without outputs": [{**row, "returns": []} for row in GIVEN],
    "without parameters": [{**row, "parameters": []} for row in GIVEN],
    "without either": [{**row, "parameters": [], "returns": []} for row in GIVEN],
    "one tool": GIVEN[:1],
    "all alike": [tool(f"get_order_{n}", "Get an order.", ["order_id"], ["order_id"]) for n in range(8)],
    "not English": [
        tool("kunde_suchen", "Sucht Kunden anhand ihres Namens.", ["name"], ["kundennummer"]),
        tool("rechnung_bezahlen", "Bezahlt eine Rechnung des Kunden.", ["kundennummer"], ["beleg"]),
        tool("查询天气", "查询一个城市的天气。", ["城市"], ["温度"]),
    ],
    "without words": [tool("x1", ""), tool("x2", ""), tool("_", "")],
}


@pytest.mark.parametrize("kind", THIN)
def test_a_thin_catalogue_ends_in_fewer_requests_with_reasons(run: Run, tmp_path: Path, kind: str) -> None:
    store = published(tmp_path, THIN[kind])
    code, out, err = run("datagen", store, "--out", tmp_path / "out", "--per-class", 3)
    made = rows(tmp_path / "out" / "queries.jsonl")
    figures = json.loads((tmp_path / "out" / "report.json").read_text(encoding="utf-8"))
    page = (tmp_path / "out" / "report.md").read_text(encoding="utf-8")
    assert code == (0 if made else 4), err
    assert ("no request could be generated" in err) is (not made)
    counts = Counter(row["class"] for row in made)
    assert {name: row["made"] for name, row in figures["classes"].items()} == {name: counts[name] for name in CLASSES}
    if len(made) < 3 * len(CLASSES):
        assert "could be made" in page
        assert "fewer requests than wanted" in out or not made
        assert rows(tmp_path / "out" / "rejected.jsonl") or figures["coverage"]["never_used"] or kind == "one tool"


def test_an_ontology_with_fewer_predicates_works_and_one_without_the_needed_is_rejected(
    run: Run, tmp_path: Path
) -> None:
    store = published(tmp_path, GIVEN)
    shipped = (ROOT / "ontology" / "default.yaml").read_text(encoding="utf-8")
    faulty = tmp_path / "faulty.yaml"
    faulty.write_text("name: none\nversion: 1\nentity_types: {}\npredicates: {}\n", encoding="utf-8")
    fewer = tmp_path / "fewer.yaml"
    fewer.write_text(shipped.replace("has_line_of_business", "has_area"), encoding="utf-8")
    asked = ("datagen", store, "--out", tmp_path / "out", "--per-class", 2)
    assert run(*asked, "--ontology", faulty)[0] == 5
    assert run(*asked, "--ontology", fewer)[0] == 0
    assert rows(tmp_path / "out" / "queries.jsonl")
