"""A run over a catalogue: the same bytes again, nothing asked twice, and what its folder says."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from datagen.catalogue import ProfiledCatalogue
from datagen.report import write_result
from datagen.requests import CLASSES
from datagen.run import MAX_COSINE, NearDuplicates, RunResult, Steps, make_requests
from datagen.writing import BlindReader, ModelWriter, TemplateWriter
from inference import HashingEncoder
from inference.chat import ChatModel
from inference.result_cache import ResultCache
from ingest.sources import read_catalog
from ontology.errors import BudgetExceededError
from ontology.reporting import no_progress
from tests.conftest import ROOT
from tests.datagen.author import Author
from tests.datagen.catalogues import catalogue_of
from tests.harness.hash_seeds import said_by
from tests.inference.scripted_chat import ScriptedChat

RECORDED = Path(__file__).with_name("recorded.jsonl")
EACH = 3


@pytest.fixture(scope="module")
def shipped() -> ProfiledCatalogue:
    folder = ROOT / "examples" / "enterprise" / "catalog"
    return catalogue_of(read_catalog([str(folder / "projects.csv"), str(folder / "support.jsonl")]).tools)


def by_model(
    catalogue: ProfiledCatalogue, chat: ChatModel, cache: ResultCache | None = None, threads: int = 1
) -> Steps:
    return Steps(
        writer=ModelWriter(catalogue, chat, cache),
        reader=BlindReader(catalogue, chat, cache),
        encoder=HashingEncoder(),
        concurrency=threads,
    )


def made(catalogue: ProfiledCatalogue, steps: Steps, each: int = EACH) -> RunResult:
    return make_requests(catalogue, steps, dict.fromkeys(CLASSES, each), seed=0, progress=no_progress)


@pytest.fixture(scope="module")
def run(shipped: ProfiledCatalogue) -> RunResult:
    return made(shipped, by_model(shipped, ScriptedChat(Author())))


def test_what_reads_back_is_kept_with_verdicts_and_needs(run: RunResult, shipped: ProfiledCatalogue) -> None:
    assert len(run.requests) == EACH * len(CLASSES) and run.stopped is None
    for request in run.requests:
        assert {one.check: one.passed for one in request.verdicts} == {"class": True, "sequence": True, "error": True}
        assert len(request.needs) == len(request.path.tools) and request.generator == "llm.v2"
        assert all(value.value in request.text and value.typed for value in request.values)
    assert made(shipped, by_model(shipped, ScriptedChat(Author()), threads=4)) == run


def test_what_does_not_read_back_is_rejected_with_the_reason(shipped: ProfiledCatalogue) -> None:
    author = Author()

    def forgetful(messages: Any) -> str:
        answer = json.loads(author(messages))
        if "calls" in answer:
            answer["calls"] = answer["calls"][:1]
        return json.dumps(answer)

    found = made(shipped, by_model(shipped, ScriptedChat(forgetful)))
    assert {request.request_class for request in found.requests} <= {"single-intent", "ir-multi-intent"}
    rejected = [one for one in found.rejected if one.stage == "validate"]
    assert rejected and all("a reader does not call" in one.reason and one.text for one in rejected)


def test_writers_give_the_same_bytes_under_any_hash_seed() -> None:
    """Templates, and a recorded model."""
    (said,) = said_by(f"EACH = {EACH}\n{_SEEDED}")
    rows = [json.loads(line) for line in said.splitlines()]
    assert [row["generator"] for row in rows].count("template.v1") == EACH * len(CLASSES)
    rows = rows[EACH * len(CLASSES) :]
    assert [row["class"] for row in rows] == [name for name in CLASSES if name != "explicit-multi-step"]
    assert all(row["generator"] == "llm.v2" and len(row["needs"]) == len(row["tools"]) for row in rows)


_SEEDED = """
import json
from datagen.models import RecordedChat
from datagen.run import Steps, make_requests
from datagen.requests import CLASSES
from datagen.writing import BlindReader, ModelWriter, TemplateWriter
from inference import HashingEncoder
from ingest.sources import read_catalog
from ontology.reporting import no_progress
from tests.datagen.catalogues import catalogue_of
from tests.datagen.test_run import RECORDED
folder = "examples/enterprise/catalog"
found = catalogue_of(read_catalog([f"{folder}/projects.csv", f"{folder}/support.jsonl"]).tools)
chat = RecordedChat(RECORDED)
templates = Steps(writer=TemplateWriter(found), reader=None, encoder=HashingEncoder())
model = Steps(writer=ModelWriter(found, chat), reader=BlindReader(found, chat), encoder=HashingEncoder())
for steps, each in ((templates, EACH), (model, 1)):
    made = make_requests(found, steps, dict.fromkeys(CLASSES, each), seed=0, progress=no_progress)
    for request in made.requests:
        print(json.dumps(request.to_json()))
"""


def test_the_folder_has_the_rows_and_a_report_that_tells_who_wrote(
    run: RunResult, shipped: ProfiledCatalogue, tmp_path: Path
) -> None:
    figures = write_result(tmp_path / "model", run)
    rows = (tmp_path / "model" / "queries.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(row) for row in rows] == [request.to_json() for request in run.requests]
    assert (
        figures.coverage.tools_used + len(figures.coverage.never_used) == figures.coverage.tools == len(shipped.tools)
    )
    assert all(figures.coverage.never_used.values())
    assert sum(each.made for each in figures.classes.values()) == len(run.requests)
    page = (tmp_path / "model" / "report.md").read_text(encoding="utf-8")
    assert "llm.v2" in page and "Smoke test" not in page and run.requests[0].text[:20] in page
    templates = Steps(writer=TemplateWriter(shipped), reader=None, encoder=HashingEncoder())
    stopped = replace(made(shipped, templates, each=1), stopped=BudgetExceededError("no more", subject="m"))
    write_result(tmp_path / "templates", stopped)
    page = (tmp_path / "templates" / "report.md").read_text(encoding="utf-8")
    assert "Smoke test" in page and "stopped: " in page and "nobody" in page


def test_a_text_that_says_nearly_the_same_is_told() -> None:
    encoder = HashingEncoder()
    known = NearDuplicates(encoder)
    texts = [
        "Pay the invoice of Ada",
        "pay the invoice of ada!",
        "Pay the invoice of Ada today",
        "Book a room in Leeds",
    ]
    vectors = encoder.encode(texts)
    told = [known.add(f"r{at}", text, vector) for at, (text, vector) in enumerate(zip(texts, vectors, strict=True))]
    assert told[0] == told[3] == "" and told[1] == "it says the same as r0"
    near = float(vectors[0] @ vectors[2]) > MAX_COSINE
    assert bool(told[2]) is near
