"""Failures: what is missing and why, on a catalogue small enough to know the answers."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from eval.failures import CAUSES, Failure, analyse_failures, failed_requests
from eval.measured_set import Answer, MeasuredSet
from eval.queries import LabelledQuery, QuerySet, gold_slots
from eval.report import write_report
from eval.summary import summarise
from inference import HashingEncoder
from ontology import load_ontology
from ontology.errors import InvalidArgumentError, NotFoundError
from retrieval.presets import make_presets
from retrieval.query.request import Request
from retrieval.snapshot.reader import Snapshot, open_snapshot
from tests.eval.planted import run_of
from tests.retrieval.conftest import TOOLS, content_of, published

ENCODER = HashingEncoder()
AWARD = "hr/give_spot_award"
GET, SEARCH = "hr/get_employee", "hr/search_employees"
SUPPLIERS, ORDER = "procurement/search_suppliers", "procurement/create_purchase_order"


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    store = tmp_path_factory.mktemp("store")
    published(store, content_of(TOOLS, load_ontology()))
    return open_snapshot(store)


def request(
    tools: Sequence[str | Sequence[str]], text: str = "Give Anna a spot award", id_: str = "q", class_: str = ""
) -> LabelledQuery:
    return LabelledQuery(id=id_, text=text, slots=gold_slots(tools), request_class=class_)


def measured(snapshot: Snapshot, system: str, *queries: LabelledQuery, k: int = 7) -> MeasuredSet:
    """The set with what the preset really answers."""
    preset = make_presets(snapshot, ENCODER)[system]
    asked = QuerySet(name="hr", queries=queries, sha256="0" * 64)
    answers = {
        query.id: [tool.id for tool in preset.retrieve(Request(query=query.text, k=k)).tools] for query in queries
    }
    run = run_of(asked, answers, system, snapshot_id=snapshot.id, k=k)
    return MeasuredSet(queries=asked, runs=(run,), tools=snapshot.tool_count, snapshot_id=snapshot.id)


def only(snapshot: Snapshot, system: str, query: LabelledQuery, *, k: int) -> Failure:
    [failure] = analyse_failures(snapshot, ENCODER, measured(snapshot, system, query), system, k=k, limit=10)
    return failure


def test_a_candidate_linked_to_a_found_tool_but_not_lifted(snapshot: Snapshot) -> None:
    failure = only(snapshot, "paper", request([AWARD, SEARCH]), k=2)
    assert failure.cause == "linked by an edge but not boosted"
    assert (failure.found, failure.wrong, failure.last) == ((AWARD,), (ORDER,), ORDER)
    [missing] = failure.missing
    assert (missing.tool_id, missing.rank, missing.candidate) == (SEARCH, 4, True)
    assert [(edge.head, edge.predicate, edge.tail) for edge in missing.edges] == [
        (f"tool:{AWARD}", "resolved_by", f"tool:{SEARCH}"),
        (f"tool:{SEARCH}", "supplies", f"tool:{AWARD}"),
    ]
    # The features that its rank was made from, beside those of the last tool that was let in.
    assert missing.features.keys() == failure.last_features.keys()
    assert failure.last_features["bm25_text"] >= missing.features["bm25_text"] >= 0
    assert ("ngram", "award") in {(entry.kind, entry.text) for entry in failure.entries}
    assert [entry.kind for entry in failure.entries].count("semantic") == 10


def test_a_candidate_that_is_ranked_too_low(snapshot: Snapshot) -> None:
    items = "procurement/query_purchase_order_items"
    failure = only(snapshot, "semantic", request([ORDER, items], "Order paper from the supplier Acme"), k=2)
    [missing] = failure.missing
    assert failure.cause == "a candidate, ranked too low"
    assert (missing.rank, missing.edges) == (3, ())


def test_gold_that_the_catalogue_does_not_have(snapshot: Snapshot) -> None:
    failure = only(snapshot, "paper", request([AWARD, "gone/<b>tool</b>"]), k=2)
    [missing] = failure.missing
    assert failure.cause == missing.cause == "gold missing from the catalogue"
    assert (missing.rank, missing.features, missing.edges) == (None, {}, ())


def test_complete_requests_are_no_failures_and_each_class_has_its_share(snapshot: Snapshot) -> None:
    queries = [request([SEARCH], id_=f"many-{number}", class_="many") for number in range(6)]
    queries += [request([SUPPLIERS], id_="rare", class_="rare"), request([AWARD], id_="fine", class_="fine")]
    asked = measured(snapshot, "paper", *queries)
    assert "fine" not in [query.id for query in failed_requests(asked.runs[0], asked.queries, 1)]
    some = [one.query.id for one in analyse_failures(snapshot, ENCODER, asked, "paper", k=1, limit=3)]
    assert len(some) == 3
    assert "rare" in some
    assert some == [one.query.id for one in analyse_failures(snapshot, ENCODER, asked, "paper", k=1, limit=3)]
    assert len(analyse_failures(snapshot, ENCODER, asked, "paper", k=1, limit=100)) == 7


def test_what_cannot_be_looked_into_is_refused(snapshot: Snapshot) -> None:
    asked = measured(snapshot, "paper", request([AWARD]))
    with pytest.raises(NotFoundError, match="There are: paper"):
        analyse_failures(snapshot, ENCODER, asked, "default", k=3, limit=1)
    with pytest.raises(InvalidArgumentError, match="measured on the snapshot"):
        analyse_failures(snapshot, ENCODER, replace(asked, snapshot_id="other"), "paper", k=3, limit=1)
    for k, limit in ((0, 1), (1, 0)):
        with pytest.raises(InvalidArgumentError, match="at least 1"):
            analyse_failures(snapshot, ENCODER, asked, "paper", k=k, limit=limit)


def test_the_page_of_failures(snapshot: Snapshot, tmp_path: Path) -> None:
    asked = measured(snapshot, "paper", request([AWARD, SEARCH], class_="multi"), request([AWARD], id_="fine"))
    failures = analyse_failures(snapshot, ENCODER, asked, "paper", k=2, limit=5)
    write_report(tmp_path, summarise([asked], baseline="paper", cutoffs=(2,), resamples=50), [asked], failures=failures)
    page = (tmp_path / "failures.md").read_text(encoding="utf-8")
    row = next(line for line in page.splitlines() if line.startswith("| hr | paper |"))
    assert row == "| hr | paper | 2 | 1 of 2 | 1 | 1 | 1 |"
    assert "> Give Anna a spot award" in page
    assert f"- wrong tools among them: {ORDER}" in page
    assert f"linked: tool:{AWARD} resolved_by tool:{SEARCH} (0." in page
    assert snapshot.id in page
    assert "business_object:award (“award”)" in page
    assert all(cause in CAUSES for cause in {failure.cause for failure in failures})


def test_of_a_system_that_cannot_run_again_the_answers_are_looked_at(snapshot: Snapshot) -> None:
    asked = measured(snapshot, "paper", request([GET], "One employee with manager"))
    run = replace(asked.runs[0], system="another", answers={"q": Answer(query_id="q", tools=(SUPPLIERS, AWARD))})
    [failure] = analyse_failures(snapshot, ENCODER, replace(asked, runs=(run,)), "another", k=2, limit=1)
    assert failure.cause == "not among the first k"
    assert (failure.missing[0].candidate, failure.entries) == (None, ())
