"""The paper's seven requests and that of its introduction, in words, over generated data: tools found over gRPC, answers equal to the truth."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from benchmarks.personal.write_personal_data import TODAY
from benchmarks.planners.accuracy import same_graph
from benchmarks.planners.execution import Mailbox, ids_of, opened_mailbox, true_answer
from planners.query import load_parser
from planners.query.query_graph import request_set

REQUESTS = [each for each in request_set("personal") if each.paper]


@pytest.fixture
async def mailbox(tmp_path: Path) -> AsyncIterator[Mailbox]:
    async with opened_mailbox(tmp_path, messages=400, seed=11) as opened:
        yield opened


@pytest.mark.slow
async def test_eight_of_eight_are_answered_in_words_as_the_truth_is(mailbox: Mailbox) -> None:
    assert len(REQUESTS) == 8
    parser = load_parser("rules.v1")
    for gold in REQUESTS:
        graph = parser.parse(gold.request, mailbox.domain, TODAY).graph
        assert same_graph(graph, gold.graph), gold.request
        found = await mailbox.execute(graph)
        wanted = true_answer(gold.graph, mailbox.truth, TODAY)
        assert wanted, f"nothing is planted for it: {gold.request}"
        assert sorted(ids_of(found)) == sorted(wanted), gold.request
        assert found.exact and not found.missing
