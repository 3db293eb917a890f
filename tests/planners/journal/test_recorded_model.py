"""Model calls, code and graphs in a journal: answered once, replayed without anybody, in any order, from several threads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from inference.budget import Budget
from inference.chat import ChatModel, Completion, Message, Sample
from inference.scripted import ScriptedChat
from ontology.errors import BudgetExceededError, InvalidArgumentError, ModelError, StatementError, StorageError
from planners.calls.sandbox import Sandbox, SandboxResult
from planners.journal.account import account_of
from planners.journal.journal_index import JournalIndex
from planners.journal.recorded_graph import RecordedGraph, empty_graph
from planners.journal.recorded_model import RecordedModel
from planners.journal.recorded_sandbox import RecordedSandbox
from planners.journal.run_journal import Kept, open_run_journal, read_run_journal
from planners.stores.property_graph import (
    GraphNode,
    GraphState,
    InsertNode,
    Language,
    Operation,
    QueryLimits,
    QueryRows,
    Statement,
    Value,
)


def ask(model: ChatModel, text: str, seed: int = 0) -> str:
    return model.complete([Message("user", text)], sample=Sample(seed=seed, temperature=0.7)).text


class Counting:
    """A model whose answers tell how many it gave before."""

    name = "counting"

    def __init__(self, price: float = 0.0) -> None:
        self.asked = 0
        self.budget = Budget(usd_per_1k_prompt=price)

    def complete(self, messages: Sequence[Message], **options: object) -> Completion:
        self.asked += 1
        return Completion(
            text=f"answer {self.asked}", prompt_tokens=500, completion_tokens=2, truncated=self.asked == 2
        )


@pytest.fixture(params=["memory", "file"])
def kept(request: pytest.FixtureRequest) -> Kept:
    found: Kept = request.param
    return found


class TestModel:
    def test_a_run_that_goes_on_asks_only_what_was_not_answered(self, tmp_path: Path, kept: Kept) -> None:
        model = Counting()
        questions = [("a", 0), ("b", 0), ("a", 1), ("a", 0)]
        with open_run_journal(tmp_path / "run", kept=kept) as journal:
            first = [ask(RecordedModel(model, journal), "a"), ask(RecordedModel(model, journal), "b")]
        assert first == ["answer 1", "answer 2"]
        with open_run_journal(tmp_path / "run", kept=kept) as journal:
            recorded = RecordedModel(model, journal)
            assert [ask(recorded, *each) for each in questions] == ["answer 1", "answer 2", "answer 3", "answer 4"]
            assert (model.asked, recorded.answered) == (4, 2)
        replayed = RecordedModel(None, read_run_journal(tmp_path / "run", kept=kept), name="counting")
        assert [ask(replayed, *each) for each in reversed(questions)] == [
            "answer 1",
            "answer 3",
            "answer 2",
            "answer 4",
        ]
        assert replayed.name == "counting"
        with pytest.raises(InvalidArgumentError, match="no answer of the model"):
            ask(replayed, "a")

    def test_whether_an_answer_was_cut_off_and_its_tokens_are_replayed(self, tmp_path: Path) -> None:
        with open_run_journal(tmp_path / "run") as journal:
            recorded = RecordedModel(Counting(), journal)
            first = [recorded.complete([Message("user", "q")]) for _ in range(2)]
        replayed = RecordedModel(None, read_run_journal(tmp_path / "run"))
        assert [replayed.complete([Message("user", "q")]) for _ in range(2)] == first
        assert [each.truncated for each in first] == [False, True]

    def test_two_roles_that_ask_the_same_have_their_own_answers(self, tmp_path: Path) -> None:
        with open_run_journal(tmp_path / "run") as journal:
            index = JournalIndex(journal)
            model = Counting()
            both = [RecordedModel(model, journal, role=role, index=index) for role in ("graph", "tool")]
            assert [ask(each, "q") for each in both] == ["answer 1", "answer 2"]
        replayed = read_run_journal(tmp_path / "run")
        assert [ask(RecordedModel(None, replayed, role=role), "q") for role in ("tool", "graph")] == [
            "answer 2",
            "answer 1",
        ]

    def test_a_failure_fails_again_and_a_budget_that_is_used_up_does_not(self, tmp_path: Path) -> None:
        script = [ModelError("it is down", subject="here", remedy="Start it"), BudgetExceededError("too much")]
        with open_run_journal(tmp_path / "run") as journal:
            recorded = RecordedModel(ScriptedChat(script), journal)
            for kind in (ModelError, BudgetExceededError):
                with pytest.raises(kind):
                    ask(recorded, f"for {kind.__name__}")
        with open_run_journal(tmp_path / "run") as journal:
            recorded = RecordedModel(ScriptedChat(["now"]), journal)
            with pytest.raises(ModelError, match="it is down") as caught:
                ask(recorded, "for ModelError")
            assert (caught.value.subject, caught.value.remedy) == ("here", "Start it")
            assert ask(recorded, "for BudgetExceededError") == "now"

    def test_votes_of_several_threads_are_the_same_afterwards(self, tmp_path: Path) -> None:
        def answer(messages: Sequence[Message]) -> str:
            return f"to {messages[-1].content}"

        questions = [(f"q{n % 7}", n % 3) for n in range(63)]
        with open_run_journal(tmp_path / "run", sync="batch", kept="file") as journal, ThreadPoolExecutor(8) as threads:
            recorded = RecordedModel(ScriptedChat(answer), journal)
            first = list(threads.map(lambda each: ask(recorded, *each), questions))
        journal = read_run_journal(tmp_path / "run")
        assert len({(each.data["key"], each.data["nth"]) for each in journal.records}) == 63
        replayed = RecordedModel(None, journal)
        assert [ask(replayed, *each) for each in questions] == first

    def test_the_account_has_tokens_money_and_time_of_each_step(self, tmp_path: Path) -> None:
        with open_run_journal(tmp_path / "run") as journal:
            recorded = RecordedModel(Counting(price=0.5), journal)
            for step in ("vote", "vote", "write"):
                recorded.complete([Message("user", "q")], schema_name=step)
            failing = RecordedModel(ScriptedChat([ModelError("down")]), journal, role="tool")
            with pytest.raises(ModelError):
                failing.complete([Message("user", "q")], schema_name="write")
        account = account_of(read_run_journal(tmp_path / "run").records)
        assert (account.model.calls, account.model.failed, account.prompt_tokens) == (4, 1, 1_500)
        assert account.model.usd == pytest.approx(0.75)
        assert {
            step: (use.calls, use.prompt_tokens, use.completion_tokens) for step, use in account.by_step.items()
        } == {
            "vote": (2, 1_000, 4),
            "write": (2, 500, 2),
        }


class Printing(Sandbox):
    """Prints how often it ran."""

    def __init__(self) -> None:
        super().__init__()
        self.ran = 0

    async def run(self, code: str, *, stdin: bytes = b"", files: Mapping[str, Path] | None = None) -> SandboxResult:
        self.ran += 1
        return SandboxResult(ended="ok", stdout=f"{code} {stdin.decode()} {self.ran}", stderr="")


async def test_code_is_run_once(tmp_path: Path) -> None:
    sandbox = Printing()
    with open_run_journal(tmp_path / "run") as journal:
        first = await RecordedSandbox(sandbox, journal).run("print(1)", stdin=b"x")
    with open_run_journal(tmp_path / "run") as journal:
        recorded = RecordedSandbox(sandbox, journal)
        assert await recorded.run("print(1)", stdin=b"x") == first
        assert (await recorded.run("print(1)", stdin=b"y")).stdout == "print(1) y 2"
        assert sandbox.ran == 2
    replayed = RecordedSandbox(None, read_run_journal(tmp_path / "run"))
    await replayed.check()
    assert await replayed.run("print(1)", stdin=b"x") == first
    with pytest.raises(InvalidArgumentError, match="what this code printed"):
        await replayed.run("print(2)")


class Listed:
    """A graph of nodes only, that counts what it is asked."""

    language: Language = "cypher"

    def __init__(self) -> None:
        self.nodes: list[InsertNode] = []
        self.asked = 0

    async def apply(self, operations: Sequence[Operation]) -> None:
        if any(isinstance(each, Statement) for each in operations):
            raise StatementError("it is not allowed", subject="LOAD")
        self.nodes += [each for each in operations if isinstance(each, InsertNode)]
        if any(not isinstance(each, InsertNode) for each in operations):
            self.nodes.clear()

    async def query(
        self, text: str, parameters: Mapping[str, Value] | None = None, limits: QueryLimits | None = None
    ) -> QueryRows:
        self.asked += 1
        if text == "down":
            raise StorageError("it is down")
        return QueryRows(columns=("n",), rows=((len(self.nodes),), ([1, {"a": None}],)))

    async def state(self) -> GraphState:
        nodes = (
            GraphNode(id=f"n{n}", label=each.label, properties=each.properties) for n, each in enumerate(self.nodes)
        )
        return GraphState(nodes=tuple(nodes))


async def graph_run(graph: RecordedGraph) -> list[object]:
    await graph.apply([InsertNode(label="A", properties={"name": "x", "tags": ("p", "q")})])
    told: list[object] = [await graph.state(), await graph.query("count")]
    for text in ("LOAD", "down"):
        try:
            await (graph.apply([Statement(text=text)]) if text == "LOAD" else graph.query(text))
        except (StatementError, StorageError) as error:
            told.append((type(error), str(error)))
    return told


async def test_a_graph_is_replayed_without_an_engine_and_built_anew_to_go_on(tmp_path: Path) -> None:
    graph = Listed()
    with open_run_journal(tmp_path / "run") as journal:
        first = await graph_run(RecordedGraph(graph, journal))
    assert len(first) == 4 and graph.asked == 2
    assert await graph_run(RecordedGraph(None, read_run_journal(tmp_path / "run"))) == first
    again = Listed()
    with open_run_journal(tmp_path / "run") as journal:
        recorded = RecordedGraph(again, journal)
        assert await graph_run(recorded) == first
        assert (again.asked, len(again.nodes)) == (0, 1)
        await recorded.apply([InsertNode(label="B")])
        assert len((await recorded.state()).nodes) == 2
    await empty_graph(again)
    assert again.nodes == []
    with pytest.raises(InvalidArgumentError, match="no answer of the graph to this query"):
        await RecordedGraph(None, read_run_journal(tmp_path / "run")).query("other")


def test_records_are_read_from_the_file(tmp_path: Path) -> None:
    with open_run_journal(tmp_path / "run", kept="file") as journal:
        for n in range(5):
            journal.append("note", value=n)
        records = journal.records
        assert [each.data["value"] for each in records] == [*range(5)] == [each.data["value"] for each in records[:]]
        assert (len(records), records[-1].data["value"], records[1].n) == (5, 4, 1)
        with pytest.raises(IndexError):
            records[5]
        assert [journal.at(place) for place, _ in journal.placed()] == list(records)
