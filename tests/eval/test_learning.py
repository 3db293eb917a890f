"""What is learned of sessions: what support is asked for, and that a lying reporter moves little."""

import copy
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from eval.learning import (
    Session,
    bounded_sessions,
    encode_sessions,
    known_sessions,
    learn,
    make_past_requests,
)
from inference import HashingEncoder
from retrieval.graph_retriever import GraphRetriever
from retrieval.index.bm25 import terms
from retrieval.learned import PastRequests
from retrieval.query.request import Request
from retrieval.snapshot.reader import Snapshot, open_snapshot
from tests.eval.planted_sessions import START, TASKS, build_store, gold, rows, sessions, text, tool_id

DAY = 86_400
KNOWN = frozenset(map(tool_id, range(60)))


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    return open_snapshot(build_store(tmp_path_factory.mktemp("learning")))


def session(number: int, *, reporter: str = "", days: float = 0.0, tools: tuple[str, ...] = ("a", "b")) -> Session:
    return Session(tools=tools, time=START + days * DAY, reporter=reporter, query=f"find it {number}")


def made(snapshot: Snapshot, past: Sequence[Session], *, min_reporters: int = 2) -> PastRequests:
    kept = bounded_sessions(known_sessions(past, KNOWN), min_reporters)
    vectors_PD = encode_sessions(kept, snapshot, HashingEncoder())
    return make_past_requests(kept, vectors_PD, snapshot, min_reporters=min_reporters)


def retriever(snapshot: Snapshot, learned: PastRequests | None) -> GraphRetriever:
    view = copy.copy(snapshot)
    view.learned = learned
    return GraphRetriever(view, HashingEncoder())


def answers(snapshot: Snapshot, learned: PastRequests | None, asked: Sequence[str]) -> list[tuple[str, ...]]:
    chosen = retriever(snapshot, learned)
    return [tuple(tool.id for tool in chosen.retrieve(Request(query=one, k=5)).tools) for one in asked]


# -- influence -----------------------------------------------------------------------------------------------------------


def test_a_reporter_counts_as_often_as_others_do_and_with_its_newest() -> None:
    honest = [session(number, reporter=f"h{number % 10}") for number in range(300)]
    spam = [session(1_000 + number, reporter="spammer", days=1 + number * 1e-4) for number in range(10_000)]
    kept = bounded_sessions([*honest, *spam], 2)
    of_spammer = [each for each in kept if each.reporter == "spammer"]
    assert len(of_spammer) == 30
    assert of_spammer[-1].query == "find it 10999"
    assert len(kept) == 330
    assert len(bounded_sessions([*honest, *spam], 1)) == 10_300, "every reporter is trusted"


# -- support -------------------------------------------------------------------------------------------------------------


def test_one_reporter_alone_brings_no_tool_into_an_answer(snapshot: Snapshot) -> None:
    asked = rows(1)[0]["query"]
    target = tool_id(59)
    lies = [Session(tools=(target,), time=START, reporter="liar", query=asked) for number in range(50)]
    alone, with_another = (made(snapshot, past) for past in (lies, [*lies, replace(lies[0], reporter="another")]))
    assert answers(snapshot, alone, [asked]) == answers(snapshot, None, [asked])
    assert answers(snapshot, with_another, [asked])[0][0] == target


def test_a_spammer_with_10_000_reports_moves_at_most_one_place_of_a_hundred(
    snapshot: Snapshot, subtests: pytest.Subtests
) -> None:
    random = np.random.default_rng(7)
    honest = sessions(1_000)
    asked = [text(number % TASKS, random) for number in range(60)]
    before = answers(snapshot, made(snapshot, honest), asked)
    assert before != answers(snapshot, None, asked)
    for kind in ("one tool", "random tools", "the same requests"):
        spam = [
            Session(
                tools=(tool_id(int(random.integers(60))),) if kind == "random tools" else (tool_id(59),),
                time=START + 6 * number,
                reporter="spammer",
                query=asked[number % 60] if kind == "the same requests" else text(number % TASKS, random),
            )
            for number in range(10_000)
        ]
        after = answers(snapshot, made(snapshot, [*honest, *spam]), asked)
        with subtests.test(kind):
            moved = sum(len(set(new) - set(old)) for new, old in zip(after, before, strict=True))
            assert moved <= 0.01 * 5 * len(asked)


# -- the decision --------------------------------------------------------------------------------------------------------


def test_what_helps_is_learned_and_the_same_again(snapshot: Snapshot) -> None:
    past = known_sessions(sessions(400), KNOWN)
    once, again = (learn(past, snapshot, HashingEncoder(), k=5) for _ in range(2))
    assert once.learned is not None
    assert once.after > once.before + 0.3
    assert once.p_value < 0.01
    assert (once.after, once.gained, once.lost) == (again.after, again.gained, again.lost)
    random = np.random.default_rng(99)
    asked = [(task, text(task, random)) for task in range(TASKS)]
    found = answers(snapshot, once.learned, [one for _, one in asked])
    complete = [set(gold(task)) <= set(tools) for (task, _), tools in zip(asked, found, strict=True)]
    assert np.mean(complete) > 0.8


def test_too_few_sessions_decide_nothing(snapshot: Snapshot) -> None:
    learning = learn(sessions(90), snapshot, HashingEncoder(), k=5)
    assert learning.learned is None
    assert "20 are needed" in learning.reason


# -- files ---------------------------------------------------------------------------------------------------------------


def test_tools_that_are_hidden_or_gone_have_no_votes(snapshot: Snapshot) -> None:
    past = [session(number, reporter=f"r{number}", tools=(tool_id(0), tool_id(1))) for number in range(12)]
    learned = made(snapshot, past)
    used = sorted({int(tool) for tool in learned.tools})
    kept, hidden = used[0], used[1]
    visible = np.ones(snapshot.tool_count, dtype=bool)
    visible[hidden] = False
    seen = learned.renumbered(np.where(visible, np.arange(snapshot.tool_count), -1))
    terms_of_past = Counter(terms(past[0].query))
    votes = learned.votes(None, terms_of_past)
    assert set(votes) == {kept, hidden}
    assert seen.votes(None, terms_of_past) == {kept: votes[kept]}
    assert hidden not in set(seen.tools)

    moved = np.arange(snapshot.tool_count)[::-1].copy()  # what a catalogue with other tools numbers otherwise
    renumbered = learned.renumbered(moved).votes(None, terms_of_past)
    assert renumbered == {int(moved[tool]): vote for tool, vote in votes.items()}

    nothing = learned.renumbered(np.full(snapshot.tool_count, -1))
    assert not nothing.votes(None, terms_of_past)
