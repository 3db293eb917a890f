"""What is learned of sessions: what support is asked for, and that a lying reporter moves little."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from eval.learning import Outcome, learn, past_requests, sessions_of
from inference import HashingEncoder
from retrieval.graph_retriever import GraphRetriever
from retrieval.index.bm25 import terms
from retrieval.learned import PastRequests
from retrieval.query.request import Request
from retrieval.snapshot.reader import Snapshot, open_snapshot
from tests.eval.planted_sessions import START, TASKS, build_store, sessions, text, tool_id


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    return open_snapshot(build_store(tmp_path_factory.mktemp("learning")))


def made(snapshot: Snapshot, past: Sequence[Outcome]) -> PastRequests:
    return past_requests(sessions_of(past, snapshot), snapshot, HashingEncoder(), min_reporters=2)


def answers(snapshot: Snapshot, learned: PastRequests | None, asked: Sequence[str]) -> list[tuple[str, ...]]:
    view = snapshot.without(())
    view.learned = learned
    chosen = GraphRetriever(view, HashingEncoder())
    return [tuple(tool.id for tool in chosen.retrieve(Request(query=one, k=5)).tools) for one in asked]


def lies(asked: str, *, reporter: str, count: int = 50) -> list[Outcome]:
    lie = Outcome(key="", time=START, used=(tool_id(59),), reporter=reporter, query=asked)
    return [replace(lie, key=f"{reporter}{at}") for at in range(count)]


def test_one_reporter_alone_brings_no_tool_into_an_answer_and_two_do(snapshot: Snapshot) -> None:
    asked = sessions(1)[0].query
    alone = lies(asked, reporter="liar")
    confirmed = [*alone, *lies(asked, reporter="another", count=1)]
    assert answers(snapshot, made(snapshot, alone), [asked]) == answers(snapshot, None, [asked])
    assert answers(snapshot, made(snapshot, confirmed), [asked])[0][0] == tool_id(59)


@pytest.mark.parametrize("kind", ["one tool", "random tools", "one request"])
def test_a_spammer_with_10_000_reports_moves_at_most_one_place_of_a_hundred(snapshot: Snapshot, kind: str) -> None:
    random = np.random.default_rng(7)
    honest = sessions(1_000)
    asked = [text(number % TASKS, random) for number in range(60)]
    spam = [
        replace(
            each,
            time=START + 6.0 * number,
            used=(tool_id(int(random.integers(60))),) if kind == "random tools" else each.used,
            query=asked[0] if kind == "one request" else text(number % TASKS, random),
        )
        for number, each in enumerate(lies("", reporter="spammer", count=10_000))
    ]
    before, after = (answers(snapshot, made(snapshot, past), asked) for past in (honest, [*honest, *spam]))
    assert before != answers(snapshot, None, asked)
    assert sum(len(set(new) - set(old)) for new, old in zip(after, before, strict=True)) <= 0.01 * 5 * len(asked)
    assert len(sessions_of([*honest, *spam], snapshot)) == 1_020


def test_what_helps_is_learned_the_same_again_and_too_few_sessions_decide_nothing(snapshot: Snapshot) -> None:
    (learned, once), (_, again) = (learn(sessions(400), snapshot, HashingEncoder(), k=5) for _ in range(2))
    assert learned is not None and once == again
    assert once["held_out"]["after"] > once["held_out"]["before"] + 0.3 and once["held_out"]["p_value"] < 0.01
    learned, few = learn(sessions(90), snapshot, HashingEncoder(), k=5)
    assert learned is None and "20 are needed" in few["reason"]


def test_tools_that_are_hidden_or_gone_have_no_votes(snapshot: Snapshot) -> None:
    used = (tool_id(0), tool_id(1))
    learned = made(snapshot, [replace(each, used=used, query="find it") for each in sessions(12)])
    asked = dict.fromkeys(terms("find it"), 1.0)
    kept, hidden = map(snapshot.tool_number, used)
    visible = np.arange(snapshot.tool_count)
    visible[hidden] = -1
    votes = learned.votes(None, asked)
    assert set(votes) == {kept, hidden}
    assert learned.renumbered(visible).votes(None, asked) == {kept: votes[kept]}
    moved = np.arange(snapshot.tool_count)[::-1].copy()  # what a catalogue with other tools numbers otherwise
    assert learned.renumbered(moved).votes(None, asked) == {int(moved[tool]): vote for tool, vote in votes.items()}
    assert not learned.renumbered(np.full(snapshot.tool_count, -1)).votes(None, asked)
