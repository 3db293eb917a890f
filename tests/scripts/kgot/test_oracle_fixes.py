"""What the oracle makes of refused texts: the engine's own words lead it back to the text as it was, and without them it changes nothing."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator, Mapping, Sequence

import pytest

from inference.chat import GREEDY, Sample
from ontology.errors import StatementError
from planners.calling.fence_marks import FenceMarks
from planners.graphs.open_graph import open_graph
from planners.graphs.property_graph import PropertyGraph, Statement
from planners.kgot.kgot_settings import KgotSettings
from planners.kgot.prompts.kgot_prompt import prompt_messages
from scripts.kgot.account_tasks import AccountTask, account_tasks
from scripts.kgot.oracle_fixes import with_labels_of_graph
from scripts.kgot.oracle_model import NEEDS, OracleModel
from scripts.kgot.oracle_writes import Fact, answer_query, written

_TASKS = {task.id: task for task in account_tasks()}
_FACTS = (Fact("run_python", "Answer", {"value": "a b"}), Fact("inspect_file", "Row", {"name": 'O\'Neil \\ "x" y'}))
_LANGUAGES = {"ladybug": "Cypher", "rdf": "SPARQL"}
_GRAPH = 'Nodes by label:\nAnswer:\n  n1 {"value": "9"}\nTool:\n  n2 {"name": "run_python"}\nRelationships: none.'
_COMPUTED = '- run_python {"code": "print(9)"}: answered'


def _asked(step: str, task: AccountTask, sample: Sample = GREEDY, **inputs: str) -> Mapping[str, str]:
    """Return the oracle's answer to a prompt as a run gives it."""
    given = {"initial_problem": task.question, "existing_data": _GRAPH, "tool_calls_made": "", "fruitless_queries": ""}
    form, marks = KgotSettings().prompt_format, FenceMarks(b"key")
    messages = prompt_messages(step, {**given, **inputs}, form=form, marks=marks, language="cypher")
    answer: Mapping[str, str] = json.loads(
        OracleModel([task]).complete(messages, schema={}, schema_name=step, sample=sample).text
    )
    return answer


def _spoiled(text: str) -> Iterator[str]:
    """Yield the text with a backslash too much at each place where a fault puts one, and without each closing bracket that it may lose."""
    for found in re.finditer(r"'| ", text):
        yield f"{text[: found.start()]}\\{text[found.start() :]}"
    for found in re.finditer(r"[\]}]", text):
        yield text[: found.start()] + text[found.end() :]


async def _fault(graph: PropertyGraph, text: str, *, is_query: bool) -> str:
    try:
        await (graph.query(text) if is_query else graph.apply([Statement(text=text)]))
    except StatementError as error:
        return error.problem
    return ""


@pytest.mark.parametrize("store", _LANGUAGES)
def test_a_refused_text_is_corrected_by_what_the_engine_says(store: str) -> None:
    async def corrections() -> Sequence[tuple[str, str]]:
        found = []
        async with open_graph(store) as graph:
            texts = written(_FACTS, "cypher" if store == "ladybug" else "sparql")["statements"]
            for at, text in enumerate([*texts, answer_query(_LANGUAGES[store])]):
                for spoiled in _spoiled(text):
                    fault = await _fault(graph, spoiled, is_query=at == len(texts))
                    if fault:
                        fixed = _asked("fix_query", _TASKS["task-11"], wrong_text=spoiled, fault=fault)["query"]
                        found.append((" ".join(fixed.split()), " ".join(text.split())))
        return found

    found = asyncio.run(corrections())
    assert len(found) > 30
    assert [fixed for fixed, text in found if fixed != text] == []


@pytest.mark.parametrize("fault", ["the table Anser does not exist", "a bracket ) closes none"])
def test_what_the_engine_does_not_say_stays(fault: str) -> None:
    wrong = r"MATCH (a:Anser) RETURN\ a.value"
    assert _asked("fix_query", _TASKS["task-11"], wrong_text=wrong, fault=fault)["query"] == wrong


@pytest.mark.parametrize(("store", "language"), [*_LANGUAGES.items(), ("memory", "Python")])
def test_a_label_that_the_graph_lacks_becomes_the_nearest_one_that_it_has(store: str, language: str) -> None:
    query = answer_query(language)
    for wrong in ("Anser", "Answers", "answer"):
        assert with_labels_of_graph(query.replace("Answer", wrong), ["Tool", "Answer"]) == query
    assert with_labels_of_graph(query, ["Tool", "Price"]) == query


def test_a_query_that_gave_nothing_takes_its_labels_from_the_prompt() -> None:
    wrong = "MATCH (a:Anser) RETURN a.value"
    graph = _GRAPH.replace("Answer", "Anserine")
    assert _asked("rewrite_query", _TASKS["task-11"], wrong_query=wrong)["query"] == wrong.replace("Anser", "Answer")
    assert "(a:Anserine)" in _asked("rewrite_query", _TASKS["task-11"], wrong_query=wrong, existing_data=graph)["query"]


def _votes(task: AccountTask, **inputs: str) -> set[tuple[str, str]]:
    drawn = [Sample(seed=seed, temperature=0.7) for seed in range(1_000, 1_030)]
    found = [_asked("next_step", task, sample, **inputs) for sample in drawn]
    assert found == [_asked("next_step", task, sample, **inputs) for sample in drawn]
    return {(each["query_type"], each["content"]) for each in found}


def test_votes_differ_by_seed_where_an_answer_was_computed_once() -> None:
    task = _TASKS["task-21"]
    retrieve, again = ("RETRIEVE", answer_query("Cypher")), ("INSERT", f"{NEEDS['run_python']}.")
    assert _votes(task, tool_calls_made=_COMPUTED) == {retrieve, again}
    assert _votes(task, tool_calls_made=f"{_COMPUTED}\n{_COMPUTED}") == {retrieve}
    assert _asked("next_step", task, tool_calls_made=_COMPUTED)["query_type"] == "RETRIEVE"


def test_votes_differ_by_seed_in_the_order_of_what_is_missing_and_merge_to_one_text() -> None:
    graph = (
        'Nodes by label:\nGetManager:\n  n1 {"departmentId": "D-1"}\n'
        'Trips:\n  n2 {"employeeId": "E-1"}\n  n3 {"employeeId": "E-2"}\nRelationships: none.'
    )
    task = _TASKS["task-08"]
    made = '- travel/listTrips {"destination": "Rome"}: answered\n- hr/getManager {"employeeId": "E-1"}: answered'
    votes = _votes(task, existing_data=graph, tool_calls_made=made)
    assert len(votes) == 2 and {kind for kind, _ in votes} == {"INSERT"}
    texts = sorted(content for _, content in votes)
    merged = [
        _asked("merge_reasons", task, reasons="\n".join(f"- {text}" for text in order))
        for order in (texts, texts[::-1])
    ]
    assert merged[0] == merged[1] and merged[0]["missing"] in texts
