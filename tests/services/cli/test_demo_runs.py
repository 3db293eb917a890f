"""The planner's runs of the demo give the answers that the data has; they need no extra."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import httpx
import pytest

from datagen.personal import TruthTables
from datagen.personal.write_personal_data import TRUTH
from inference import DEFAULT_ENCODER
from services.cli.ask_demo import QUESTIONS, ask_company
from services.cli.demo_company import demo_company
from services.cli.demo_runs import company_run, personal_run
from services.cli.walk import Walked
from tests.built_stores import BuiltStore
from tests.conftest import ROOT

CATALOG = ROOT / "examples" / "enterprise" / "catalog"
TASKS = ROOT / "planners" / "graphseek" / "tasks" / "tool_graph.jsonl"


@pytest.fixture(autouse=True)
def _without_the_extra_web(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("starlette", "uvicorn"):
        monkeypatch.setitem(sys.modules, name, None)


def _ids(walked: Walked) -> set[str]:
    assert walked.execution is not None and walked.execution["missing"] == []
    return {each["id"] for each in walked.execution["answer"]}


@pytest.mark.slow
def test_the_personal_run_gives_the_folders_of_the_truth(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], store_of: BuiltStore
) -> None:
    store = store_of("python:planners.personal.personal_tools", DEFAULT_ENCODER)
    found = _ids(personal_run(tmp_path, store))
    truth = TruthTables.read(tmp_path / "home" / TRUTH)
    jane = {id for id, fields in truth.entities["Person"].items() if fields["name"] == "Jane Doe"}
    mails = {mail for mail, person in truth.pairs("Email", "from", "Person") if person in jane}
    files = {file for mail, file in truth.pairs("Email", "has_attachment", "File") if mail in mails}
    assert found == {folder for file, folder in truth.pairs("File", "parent", "Folder") if file in files} != set()
    printed = capsys.readouterr().out
    assert all(folder in printed for folder in found)


@pytest.fixture(scope="module")
def company_store(store_of: BuiltStore) -> Path:
    """A store of the shipped company's tools."""
    return store_of(str(CATALOG), DEFAULT_ENCODER)


@pytest.mark.slow
def test_the_questions_about_the_tool_graph_get_the_answers_that_are_known(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], company_store: Path
) -> None:
    ask_company(tmp_path, company_store)
    printed = capsys.readouterr().out
    known = {
        each["text"]: each["truth"]["parts"][0]
        for each in map(json.loads, TASKS.read_text(encoding="utf-8").splitlines())
    }
    answers = [line for line in printed.splitlines() if line.startswith("answer")]
    for question, answer in zip(QUESTIONS, answers, strict=True):
        assert question in printed
        assert answer.startswith(f"answer {len(known[question])} found: ")
        listed = set(answer.partition(": ")[2].rstrip(".").split("; "))
        assert len(listed & set(known[question])) >= min(len(known[question]), 10)
    assert printed.count("step 1") == 3 and "┃" in printed


@pytest.mark.slow
def test_the_run_over_the_company_gives_the_posted_invoices(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], company_store: Path
) -> None:
    assert _ids(company_run(tmp_path, CATALOG, company_store)) == {"5105600123", "5105600144"}  # company-01
    assert "finance/searchSupplierInvoices" in capsys.readouterr().out


def test_the_company_of_the_demo_answers_reads_over_http_and_refuses_all_else(tmp_path: Path) -> None:
    with demo_company(CATALOG, tmp_path) as systems, httpx.Client(trust_env=False) as client:
        assert len(systems) == 7
        found = client.get(f"{systems['procurement']}/suppliers", params={"q": "Acme Pumps GmbH"})
        (acme,) = found.json()["suppliers"]
        one = client.get(f"{systems['procurement']}/suppliers/{acme['supplierId']}")
        assert one.json()["legalName"] == "Acme Pumps GmbH"
        assert client.get(f"{systems['procurement']}/suppliers/%2e%2e").status_code == 404
        assert client.get(f"{systems['procurement']}/nothing").status_code == 404
        assert client.post(f"{systems['procurement']}/suppliers", json={}).status_code == 501
