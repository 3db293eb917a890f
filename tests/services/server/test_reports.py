"""``ReportOutcome`` through the shipped clients: what is kept of a report, what is refused, and that a repeated one counts once."""

import asyncio
from pathlib import Path

import pytest

from egotools import AsyncClient, InvalidRequestError, OverloadedError, PreconditionError
from eval.learning import Outcome
from services.outcomes import OUTCOMES, read_outcomes
from tests.harness.engines import serving, small_settings

QUERY = "find the customer Zebulon and list orders"
USED = ["crm/find_customer", "erp/list_orders"]


def kept(folder: Path) -> list[Outcome]:
    return read_outcomes(folder / OUTCOMES)[0]


async def test_a_report_is_on_the_disk_when_it_is_acknowledged_and_counts_once_at_any_replica(tmp_path: Path) -> None:
    async with serving(outcomes={"": tmp_path / OUTCOMES}) as one, serving(outcomes={"": tmp_path / OUTCOMES}) as other:
        async with AsyncClient(one.address) as client, AsyncClient(other.address) as elsewhere:
            answer = await client.retrieve(QUERY)
            await client.report_outcome(answer.request_id, USED, succeeded=True, query=QUERY)
            (outcome,) = kept(tmp_path)
            reports = [each.report_outcome(answer.request_id, USED) for each in (client, elsewhere) * 5]
            await asyncio.gather(*reports)
    assert kept(tmp_path) == [outcome]
    assert (outcome.used, outcome.succeeded) == (tuple(USED), True)
    assert outcome.terms == ("customer", "find", "list", "order"), "only words that the documents have too"
    written = (tmp_path / OUTCOMES).read_bytes()
    assert b"Zebulon" not in written and b"127.0.0.1" not in written, "the reporter is a pseudonym"


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"request_id": "x" * 65}, "request_id"),
        ({"used": ["crm/find_customer"] * 101}, "used"),
        ({"used": [""]}, "used"),
        ({"query": "x" * 20_001}, "query"),
    ],
)
async def test_a_report_that_is_wrong_is_refused_by_name(tmp_path: Path, change: dict[str, object], field: str) -> None:
    async with serving(outcomes={"": tmp_path / OUTCOMES}) as server, AsyncClient(server.address) as client:
        answer = await client.retrieve(QUERY)
        report = {"request_id": answer.request_id, "used": USED, "query": QUERY, **change}
        with pytest.raises(InvalidRequestError) as refused:
            await client.report_outcome(**report)  # type: ignore[arg-type]
        assert refused.value.subject == field
    assert kept(tmp_path) == []


async def test_who_reports_too_often_is_told_to_wait(tmp_path: Path) -> None:
    settings, outcomes = small_settings(reports_per_minute=3), {"": tmp_path / OUTCOMES}
    async with serving(settings=settings, outcomes=outcomes) as server, AsyncClient(server.address) as client:
        answers = [await client.retrieve(QUERY) for _ in range(4)]
        for answer in answers[:3]:
            await client.report_outcome(answer.request_id, USED)
        with pytest.raises(OverloadedError, match="3 outcomes in a minute"):
            await client.report_outcome(answers[3].request_id, USED)
    assert len(kept(tmp_path)) == 3


async def test_without_a_place_for_outcomes_requests_have_no_id_and_reports_are_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    async with serving(outcomes={"": tmp_path / "file" / OUTCOMES}) as server, AsyncClient(server.address) as client:
        answer = await client.retrieve(QUERY)
        assert answer.tools and answer.request_id == ""
        with pytest.raises(PreconditionError, match="keeps no outcomes"):
            await client.report_outcome("A" * 59, USED)
