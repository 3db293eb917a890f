"""A chat model that always answers well, by a script: what a perfect model makes of the planner's machinery.

It sees prompts and nothing else; its plan of a task names calls and computations, and no answer (:mod:`scripts.kgot.oracle_key`). What a
store, a prompt or a query lost, it lacks.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from random import Random
from threading import Lock
from typing import Any

from inference.chat import GREEDY, Completion, Message, Sample
from ontology.errors import ModelError
from planners.kgot.tools.tool_set import NAMESPACE
from scripts.kgot.account_tasks import AccountTask
from scripts.kgot.answer_facts import facts_of
from scripts.kgot.oracle_fixes import corrected, with_labels_of_graph
from scripts.kgot.oracle_key import Call, OraclePlan, oracle_plan
from scripts.kgot.oracle_prompt import graph_rows, prompt_parts, shown_tools, tool_texts
from scripts.kgot.oracle_writes import answer_query, written

__all__ = ["NEEDS", "OracleModel"]

NEEDS = {
    "procurement/searchSuppliers": "search suppliers by name",
    "finance/searchSupplierInvoices": "search the invoices of a supplier by status",
    "procurement/searchPurchaseContracts": "search purchase contracts by supplier",
    "sales/searchCustomers": "find customers by name",
    "sales/getCustomer": "get a customer with its account owner",
    "sales/searchSalesOrders": "search sales orders by customer and status",
    "hr/getManager": "get the manager of an employee",
    "hr/getEmployee": "get an employee's record by the employee id",
    "hr/getDepartment": "get a department by its id",
    "hr/searchDepartments": "find departments by name",
    "hr/searchEmployees": "search employees of a department",
    "travel/listTrips": "list business trips by employee or destination",
    "inspect_file": "read the content of a file",
    "extract_zip": "unpack a zip archive",
    "run_python": "run Python code",
    "ask_llm": "ask a language model about general knowledge",
}
"""What the oracle says is missing where it wants a call of a tool."""
_LISTED_CHARS = 400  # of the arguments of a call in a prompt
_DOUBTS = 0.25  # share of votes that want an answer computed a second time before it is given
_COMPUTE = """import json, re
rows = json.loads({rows!r})
def of(label, **wanted):
    return [each for each in rows if each["label"] == label and all(each.get(name) == value for name, value in wanted.items())]
def text():
    return "\\n".join(each["text"] for each in of("Text"))
def name(person):
    return person.get("name") or f"{{person['firstName']}} {{person['lastName']}}"
{code}
print(json.dumps({{"answer": str(answer)}}))
"""


class OracleModel:
    """Implements :class:`inference.chat.ChatModel`.

    :param tasks: that it can be asked about.
    :ivar wanted: of each answer that defines calls: what was missing, and the tools that it wanted.
    """

    name = "oracle.v1"

    def __init__(self, tasks: Sequence[AccountTask]) -> None:
        self._plans = {_words(task.question): oracle_plan(task) for task in tasks}
        self.lock = Lock()
        self.wanted: list[tuple[str, tuple[str, ...]]] = []

    def complete(
        self,
        messages: Sequence[Message],
        *,
        schema: Mapping[str, Any] | None = None,
        schema_name: str = "answer",
        max_tokens: int | None = None,
        sample: Sample = GREEDY,
    ) -> Completion:
        """Answer a prompt of a run, or the question of the tool that asks a model."""
        if schema_name == "next_step":
            answer = _text(_next_step(self, messages, sample))
        elif schema_name in _STEPS:
            answer = _text(_STEPS[schema_name](self, messages))
        else:
            answer = _told(messages)
        tokens = sum(len(message.content.split()) for message in messages)
        return Completion(text=answer, prompt_tokens=tokens, completion_tokens=len(answer.split()))

    def plan(self, parts: Mapping[str, str]) -> OraclePlan:
        """Return the plan of the task that a prompt is about.

        :raises ModelError: when it is none of the known ones.
        """
        plan = self._plans.get(_words(parts["initial_problem"]))
        if plan is None:
            raise ModelError("the task is not known to the oracle", subject=self.name, remedy="Give it the task")
        return plan


def _words(text: str) -> str:
    return " ".join(text.split())


def _text(answer: Any) -> str:
    return json.dumps(answer, ensure_ascii=False)


def _next_step(model: OracleModel, messages: Sequence[Message], sample: Sample) -> dict[str, str]:
    """Vote. One of several votes follows from its seed where several are right: in which order things are missing, and whether an answer
    that was computed once is computed again before it is given.
    """
    parts = prompt_parts(messages)
    rows = graph_rows(parts["existing_data"])
    missing = _missing(model, parts, rows)
    if sample.temperature:
        random = Random(f"{sample.seed} {parts['initial_problem']}")
        random.shuffle(missing)
        if not missing and _computed(model, parts, rows) == 1 and random.random() < _DOUBTS:
            missing = [NEEDS["run_python"]]
    if missing:
        return {"query_type": "INSERT", "content": f"{'; '.join(missing)}."}
    direct = "content is the answer itself" in messages[0].content
    content = _answer_of(rows) if direct else answer_query(_language(messages))
    return {"query_type": "RETRIEVE", "content": content}


def _missing(model: OracleModel, parts: Mapping[str, str], rows: Sequence[Mapping[str, Any]]) -> list[str]:
    wanted = _wanted(model, parts, rows)
    if wanted:
        return list(dict.fromkeys(NEEDS[call.tool] for call in wanted))
    return [] if _answer_of(rows) else [NEEDS["run_python"]]


def _wanted(model: OracleModel, parts: Mapping[str, str], rows: Sequence[Mapping[str, Any]]) -> list[Call]:
    """Return the calls for facts that were not made."""
    made = parts.get("tool_calls_made", "")
    found = {_call_text(call.tool, call.arguments): call for call in model.plan(parts).calls(rows)}
    return [call for text, call in found.items() if not _was_made(text, made)]


def _call_text(tool: str, arguments: Mapping[str, Any]) -> str:
    """Return a call as the list of calls in a prompt begins with it."""
    shown = json.dumps(arguments, ensure_ascii=False)
    return f"{tool} {shown[:_LISTED_CHARS]}"


def _was_made(text: str, made: str) -> bool:
    """Whether a call was made. Code that a fault of its text spoiled is run again, as it was meant."""
    lines = [line.removeprefix("- ").removeprefix(f"{NAMESPACE}/") for line in made.splitlines()]
    is_code = text.startswith("run_python ")
    return any(line.startswith(text) and (not is_code or line.endswith(": answered")) for line in lines)


def _answer_of(rows: Sequence[Mapping[str, Any]]) -> str:
    return next((str(each["value"]) for each in rows if each["label"] == "Answer"), "")


def _language(messages: Sequence[Message]) -> str:
    found = re.search(r"(?:query|text) in (Cypher|SPARQL|Python)", messages[0].content)
    return found[1] if found else "Cypher"


def _merge_reasons(model: OracleModel, messages: Sequence[Message]) -> dict[str, str]:
    reasons = prompt_parts(messages)["reasons"]
    named = [need for need in NEEDS.values() if need in reasons]
    return {"missing": f"{'; '.join(named)}." if named else reasons}


def _tool_calls(model: OracleModel, messages: Sequence[Message]) -> dict[str, Any]:
    parts = prompt_parts(messages)
    rows, shown = graph_rows(parts.get("existing_data", "")), shown_tools(parts.get("tools", ""))
    wanted = _wanted(model, parts, rows) or [_computation(model, parts, rows)]
    named = {id_.removeprefix(f"{NAMESPACE}/"): id_ for id_ in shown}
    calls = [{"tool": named[call.tool], "arguments": dict(call.arguments)} for call in wanted if call.tool in named]
    with model.lock:
        model.wanted.append((parts["missing_information"], tuple(dict.fromkeys(call.tool for call in wanted))))
    return {"calls": calls}


def _computation(model: OracleModel, parts: Mapping[str, str], rows: Sequence[Mapping[str, Any]]) -> Call:
    """Return the computation; after one that failed or was not written down, another text, because no call is made twice."""
    code = _COMPUTE.format(rows=json.dumps(rows), code=model.plan(parts).code)
    return Call("run_python", {"code": f"{code}# attempt {_computed(model, parts, rows) + 1}\n"})


def _computed(model: OracleModel, parts: Mapping[str, str], rows: Sequence[Mapping[str, Any]]) -> int:
    """Return how many computations were made, beside the calls of Python that give facts."""
    planned = {_call_text(*call) for call in model.plan(parts).calls(rows) if call.tool == "run_python"}
    return sum("run_python {" in line for line in parts.get("tool_calls_made", "").splitlines()) - len(planned)


def _write_graph(model: OracleModel, messages: Sequence[Message]) -> dict[str, Any]:
    facts = [fact for each in tool_texts(prompt_parts(messages)["new_information"]) for fact in facts_of(each)]
    return written(facts)


def _query(model: OracleModel, messages: Sequence[Message]) -> dict[str, str]:
    return {"query": answer_query(_language(messages))}


def _rewritten(model: OracleModel, messages: Sequence[Message]) -> dict[str, str]:
    """Correct the labels of a query that gave nothing; where the graph has them, write another query."""
    parts = prompt_parts(messages)
    labels = list(dict.fromkeys(each["label"] for each in graph_rows(parts["existing_data"])))
    query = with_labels_of_graph(parts["wrong_query"], labels)
    return _query(model, messages) if query == parts["wrong_query"] else {"query": query}


def _direct(model: OracleModel, messages: Sequence[Message]) -> dict[str, Any]:
    answer = _answer_of(graph_rows(prompt_parts(messages)["existing_data"]))
    return {"found": bool(answer), "answer": answer}


def _no_maths(model: OracleModel, messages: Sequence[Message]) -> dict[str, bool]:
    return {"needed": False}


def _final(model: OracleModel, messages: Sequence[Message]) -> dict[str, str]:
    partial = prompt_parts(messages).get("partial_answer", "")
    try:
        rows = json.loads(partial)
    except ValueError:
        return {"answer": partial.strip()}
    values = (
        [value for row in rows for value in (row.values() if isinstance(row, dict) else row)]
        if isinstance(rows, list)
        else [rows]
    )
    return {"answer": str(values[0]) if values else ""}


def _fixed(model: OracleModel, messages: Sequence[Message]) -> dict[str, str]:
    parts = prompt_parts(messages)
    return {"query": corrected(parts["wrong_text"], parts["fault"])}


def _told(messages: Sequence[Message]) -> str:
    """Answer a question about an element as the tool that asks a model gets it."""
    asked = " ".join(message.content for message in messages).lower()
    name = next((each["name"] for each in _element_facts() if re.search(rf"\bbeside {each['name']}\b", asked)), "")
    me = next((each for each in _element_facts() if each["name"] == name), None)
    if me is None:
        return "I do not know."
    beside = [
        each
        for each in _element_facts()
        if abs(each["number"] - me["number"]) <= 1
        or (each["group"] == me["group"] and abs(each["period"] - me["period"]) <= 1)
    ]
    return json.dumps({"Elements": beside})


_ELEMENTS = """hydrogen helium lithium beryllium boron carbon nitrogen oxygen fluorine neon sodium magnesium aluminum silicon phosphorus sulfur
chlorine argon potassium calcium scandium titanium vanadium chromium manganese iron cobalt nickel copper zinc gallium germanium arsenic selenium
bromine krypton rubidium strontium yttrium zirconium niobium molybdenum technetium ruthenium rhodium palladium silver cadmium indium tin antimony
tellurium iodine xenon cesium barium lanthanum cerium praseodymium neodymium promethium samarium europium gadolinium terbium dysprosium holmium
erbium thulium ytterbium lutetium hafnium tantalum tungsten rhenium osmium iridium platinum gold mercury thallium lead bismuth polonium astatine
radon francium radium actinium thorium protactinium uranium neptunium plutonium americium curium berkelium californium einsteinium fermium
mendelevium nobelium lawrencium rutherfordium dubnium seaborgium bohrium hassium meitnerium darmstadtium roentgenium copernicium nihonium flerovium
moscovium livermorium tennessine oganesson""".split()
_LAST_OF_PERIOD = (2, 10, 18, 36, 54, 86, 118)  # the noble gases


def _element_facts() -> list[dict[str, Any]]:
    """Return one row for each element; the group of the 28 elements of the f-block is 0."""
    return [_element(number, name) for number, name in enumerate(_ELEMENTS, 1)]


def _element(number: int, name: str) -> dict[str, Any]:
    period = next(place for place, last in enumerate(_LAST_OF_PERIOD, 1) if number <= last)
    first = ([0, *_LAST_OF_PERIOD])[period - 1] + 1
    place, behind = number - first + 1, _LAST_OF_PERIOD[period - 1] - number
    group = place if place <= 2 else 18 - behind
    if period == 1:
        group = 1 if number == 1 else 18
    elif group < 3:
        group = place if place <= 2 else 0
    return {"name": name, "number": number, "period": period, "group": group}


_STEPS: Mapping[str, Callable[[OracleModel, Sequence[Message]], Any]] = {
    "merge_reasons": _merge_reasons,
    "tool_calls": _tool_calls,
    "write_graph": _write_graph,
    "write_query": _query,
    "rewrite_query": _rewritten,
    "forced_query": _query,
    "direct_answer": _direct,
    "forced_answer": _direct,
    "maths_needed": _no_maths,
    "final_answer": _final,
    "fix_query": _fixed,
}
