"""``egotools datagen``: what it writes, that the same comes again, that nothing made is lost, and what bad input gets."""

from __future__ import annotations

import json
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from eval.queries import read_queries
from inference import HashingEncoder
from services.jobs.build import build_snapshot
from tests.conftest import ROOT
from tests.harness.commands import FILE_LIMIT, KILLED_AMID_A_FILE, Run, started
from tests.harness.waiting import LIMIT_S

CATALOG = ROOT / "examples" / "enterprise" / "catalog"
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
