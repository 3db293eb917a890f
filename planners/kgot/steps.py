"""The steps of a run by two chat models, one of the graph and one of the tools (section 4 of the paper). None changes the graph or calls a tool.

A prompt comes from its file in ``prompts/``. What is not of the user stands in a fence. The first message has no data of the task, so a server
that keeps the beginning of a prompt reads it once. An answer has a schema; one that does not keep it is asked for again with its fault. JSON
is taken from anywhere in an answer, also where its escapes are wrong (appendix B.3.1 of the paper).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any, TypeVar, cast

from jinja2 import Environment, StrictUndefined

from inference.chat import GREEDY, ChatModel, Message, Sample
from inference.structured_chat import SchemaParser, StructuredChat, StructuredRequest, UnusableAnswerError
from ontology.errors import ModelError
from ontology.files import read_yaml
from ontology.json_values import canonical_text
from planners.calls.model_text import is_no_answer, json_objects, without_thoughts
from planners.calls.tool_finder import FoundTools
from planners.calls.untrusted import FenceMarks
from planners.journal.step_log import metered, on_a_thread
from planners.kgot import kgot_task as events
from planners.kgot.kgot_task import Executor, Insert, KgotSettings, MadeCall, Retrieve, TaskView, Vote, WantedCall
from planners.stores.property_graph import Language, MergeEdge, MergeNode, NodeRef, Operation, Value

T = TypeVar("T")

_PROMPTS = Path(__file__).parent / "prompts"
_OF_THE_USER = frozenset({"initial_problem"})
_VOTE_TEMPERATURE = 0.7  # of answers where there are several
_SEEDS = 1_000  # more than votes of a decision, so that each iteration draws anew
_TEXT = {"type": "string"}
_NAME = {"type": "string", "minLength": 1}
_OBJECT = {"type": "object"}


def _closed(**properties: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of an object with exactly these members."""
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


_END = _closed(label=_NAME, key=_OBJECT)
_NODE = _closed(label=_NAME, key=_OBJECT, properties=_OBJECT)
_EDGE = _closed(type=_NAME, properties=_OBJECT, **{"from": _END, "to": _END})
_VOTE = _closed(query_type={"type": "string", "enum": ["RETRIEVE", "INSERT"]}, content=_TEXT)
_MISSING = _closed(missing=_TEXT)
_CALLS = _closed(calls={"type": "array", "items": _closed(tool=_TEXT, arguments=_OBJECT)})
_WRITES = _closed(nodes={"type": "array", "items": _NODE}, edges={"type": "array", "items": _EDGE})
_QUERY = _closed(query=_TEXT)
_FOUND = _closed(found={"type": "boolean"}, answer=_TEXT)
_NEEDED = _closed(needed={"type": "boolean"})
_CODE = _closed(code=_TEXT)
_ANSWER = _closed(answer=_TEXT)

_ARGUMENTS_CHARS = 400  # of one call in the list of those that were made
_REASKS = 3  # of an unusable answer, with its fault (appendix B.3.1 of the paper)
_ERROR_CHARS = 300
_QUERY_CHARS = 1_000
_MOST_CALLS = 60  # the last ones: 7 iterations of 8 calls are fewer
_NAMED = 8
_DESCRIPTION_CHARS = 1_024  # as many as the paper's tools have (appendix B.4.1)


class UnusableStepError(ModelError):
    """A model answers, but not in a form that can be used: its endpoint is there."""


class LlmSteps:
    """Asks the models what a run does next, in threads of their own, so that votes wait for the model together.
    ``graph_model`` decides, writes and asks the graph in its language, computes, and gives the final answer; open it
    with the retries of :data:`planners.kgot.kgot_task.MODEL_RETRIES`. ``tool_model`` defines the calls of tools;
    ``fence_key`` is that of :func:`planners.kgot.kgot_controller.solve_task`. Each step raises ModelError when its
    model is unavailable, UnusableStepError when no answer has the form that was asked for, BudgetExceededError when the
    budget is used up, and MissingExtraError without the extra ``llm``."""

    def __init__(
        self,
        graph_model: ChatModel,
        tool_model: ChatModel,
        *,
        settings: KgotSettings,
        language: Language,
        fence_key: bytes = b"",
    ) -> None:
        self._models: dict[Executor, ChatModel] = {"graph": graph_model, "tool": tool_model}
        self._marks, self._settings, self._language = FenceMarks(fence_key), settings, language

    async def _ask(
        self,
        name: str,
        inputs: Mapping[str, str],
        schema: Mapping[str, Any],
        read: Callable[[Any], T],
        language: str = "cypher",
        options: Mapping[str, bool] | None = None,
        sample: Sample = GREEDY,
        executor: Executor = "graph",
    ) -> T:
        """Return the answer to a prompt; ``read`` makes it of JSON values inside the schema, and raises UnusableAnswerError where they say
        nothing."""
        marks = self._marks
        request = StructuredRequest(
            messages=prompt_messages(name, inputs, marks=marks, language=language, options=options),
            schema=schema,
            schema_name=name,
            max_tokens=self._settings.max_answer_tokens,
            sample=sample,
        )
        parser, made = _parser(canonical_text(schema)), partial(events.ModelAsked, step=name, executor=executor)

        def repair(fault: str) -> str:
            return f"{_system('fix_json', 'cypher', ())}\n{_sections([('fault', marks.fenced(fault))])}"

        with metered(self._models[executor], name, made) as model:
            chat = StructuredChat(
                model, kind="kgot", repair_prompt=repair, cache=None, attempts=1 + _REASKS, whole_only=True
            )
            answer = await on_a_thread(
                f"kgot-{executor}", lambda: chat.call(request, "", lambda text: _first_read(parser, read, text))
            )
        if answer.failure is not None:
            raise answer.failure
        if answer.problem:
            remedy = "Another model may follow the form of the answer"
            raise UnusableStepError(answer.problem, subject=name, remedy=remedy)
        return cast("T", answer.value)

    def _drawn(self, iteration: int, nth: int, times: int) -> Sample:
        """Return the sample of one of several answers to one question; a single one is the most probable answer."""
        return GREEDY if times == 1 else Sample(seed=iteration * _SEEDS + nth, temperature=_VOTE_TEMPERATURE)

    async def vote(self, view: TaskView, nth: int) -> Vote:
        """Return the nth vote whether the graph answers the task: equal questions with another number are sampled anew."""

        def read(value: Any) -> Vote:
            content = _filled("content", value)
            return Retrieve(query=content) if value["query_type"] == "RETRIEVE" else Insert(reason=content)

        language = {"direct": "direct", "script": "python"}.get(self._settings.retrieve, self._language)
        sample = self._drawn(view.iteration, nth, self._settings.num_next_steps_decision)
        return await self._ask(
            "next_step", _inputs(view), _VOTE, read, language, {"files": bool(view.task.files)}, sample
        )

    async def judge(self, view: TaskView, votes: Sequence[Vote]) -> Vote:
        """Return the best of several votes."""
        said = [f"RETRIEVE: {each.query}" if isinstance(each, Retrieve) else f"INSERT: {each.reason}" for each in votes]
        inputs = _inputs(view, proposals="\n".join(f"{at}. {line}" for at, line in enumerate(said, 1)))
        schema = _closed(best={"type": "integer", "minimum": 1, "maximum": len(votes)})
        return await self._ask("judge", inputs, schema, lambda value: votes[value["best"] - 1])

    async def missing(self, view: TaskView, reasons: Sequence[str]) -> str:
        """Return the reasons as one text. One reason stands for itself, and no model is asked."""
        if len(reasons) == 1:
            return reasons[0]
        inputs = {"reasons": "\n".join(f"- {reason}" for reason in reasons)}
        return await self._ask("merge_reasons", inputs, _MISSING, lambda value: _filled("missing", value))

    async def calls(self, view: TaskView, missing: str, found: FoundTools) -> tuple[WantedCall, ...]:
        """Return calls of the tools that were found, or none."""
        ids = [each.tool.id for each in found.tools]
        named = {each.tool.name: each.tool.id for each in found.tools} | dict(zip(ids, ids, strict=True))

        def read(value: Any) -> tuple[WantedCall, ...]:
            asked = ((named.get(call["tool"], call["tool"]), call["arguments"]) for call in value["calls"])
            wanted = tuple(WantedCall(tool_id=id_, arguments=arguments) for id_, arguments in asked)
            if wanted and not any(call.tool_id in ids for call in wanted):
                problem = f"there is no tool {wanted[0].tool_id[:100]!r}; the tools are {', '.join(ids[:_NAMED])}"
                raise UnusableAnswerError(problem)
            return wanted

        shown = (
            {"tool": tool.id, "description": tool.description[:_DESCRIPTION_CHARS], "arguments": tool.input_schema}
            for tool in (each.tool for each in found.tools)
        )
        tools = "\n".join(json.dumps(each, ensure_ascii=False, separators=(",", ":")) for each in shown)
        inputs = _inputs(view, missing_information=missing, tools=tools)
        return await self._ask("tool_calls", inputs, _CALLS, read, executor="tool")

    async def write(self, view: TaskView, missing: str, answers: Sequence[MadeCall]) -> tuple[Operation, ...]:
        """Return what is to be written of the answers of tools, nodes and edges."""
        new = "\n\n".join(answer.text for answer in answers)
        inputs = _inputs(view, missing_information=missing, new_information=new)
        return await self._ask("write_graph", inputs, _WRITES, read_operations, "operations")

    async def fix_write(self, operation: Operation, fault: str) -> Operation:
        """Return a corrected write."""
        nodes, edges = [], []
        if isinstance(operation, MergeNode):
            nodes.append({**_shown(operation.node), "properties": dict(operation.properties)})
        elif isinstance(operation, MergeEdge):
            ends = {"from": _shown(operation.source), "to": _shown(operation.target)}
            edges.append({"type": operation.type, **ends, "properties": dict(operation.properties)})
        written = json.dumps({"nodes": nodes, "edges": edges}, ensure_ascii=False)

        def read(value: Any) -> Operation:
            try:
                found = read_operations(next(json_objects(value["query"])))
            except (StopIteration, KeyError, TypeError, AttributeError) as error:
                why = f"query is no JSON object with nodes and edges ({str(error)[:100]})"
                raise UnusableAnswerError(why) from error
            if len(found) != 1:
                raise UnusableAnswerError(f"query has {len(found)} nodes and edges instead of one")
            return found[0]

        inputs = {"wrong_text": written, "fault": fault}
        return await self._ask("fix_query", inputs, _QUERY, read, "operations", {"writes": True})

    async def query(self, view: TaskView, wrong: str, *, language: Language, forced: bool) -> str:
        """Return a query in Python for a script, else in the language of the graph. ``wrong`` is one that gave nothing,
        or empty; ``forced`` says that the limit of iterations is reached, and asks for the best that can be had."""
        name = "forced_query" if forced else "rewrite_query" if wrong else "write_query"
        return await self._ask(
            name, _inputs(view, wrong_query=wrong), _QUERY, lambda value: _filled("query", value), language
        )

    async def fix_query(self, query: str, fault: str, *, language: Language) -> str:
        """Return a corrected query or script."""
        inputs = {"wrong_text": query, "fault": fault}
        return await self._ask("fix_query", inputs, _QUERY, lambda value: _filled("query", value), language)

    async def direct(self, view: TaskView, *, forced: bool) -> str:
        """Return the answer, read off the whole graph without a query; empty where it does not stand in it."""
        name = "forced_answer" if forced else "direct_answer"
        return await self._ask(name, _inputs(view), _FOUND, lambda value: _said(value) if value["found"] else "")

    async def maths(self, view: TaskView, partial: str) -> str:
        """Return Python that computes what is left to compute and prints it; empty where nothing is."""
        inputs = _inputs(view, partial_answer=partial)
        if not await self._ask("maths_needed", inputs, _NEEDED, lambda value: bool(value["needed"])):
            return ""
        return await self._ask("maths_code", inputs, _CODE, lambda value: _filled("code", value))

    async def fix_code(self, code: str, fault: str) -> str:
        """Return corrected Python."""
        return await self._ask(
            "fix_code", {"wrong_code": code, "fault": fault}, _CODE, lambda value: _filled("code", value)
        )

    async def final(self, view: TaskView, partial: str, nth: int) -> str:
        """Return the nth answer in the form that the task asks for; empty where the partial answer, what a query gave, does not answer it."""
        sample = self._drawn(view.iteration, nth, self._settings.max_final_solution_parsing)
        inputs = _inputs(view, partial_answer=partial)
        return await self._ask("final_answer", inputs, _ANSWER, _said, sample=sample)


@cache
def _parser(schema: str) -> SchemaParser:
    return SchemaParser(json.loads(schema))


def _first_read(parser: SchemaParser, read: Callable[[Any], T], text: str) -> T:
    """Read the answer as it stands; else the last object in it that can be read, since a model thinks before it
    answers. The UnusableAnswerError has the fault of the last object, or of the text where none stands in it."""
    try:
        return read(parser.parse(text))
    except UnusableAnswerError as error:
        fault = error
    for nth, value in enumerate(reversed(list(json_objects(without_thoughts(text))))):
        try:
            return read(parser.parse(json.dumps(value)))
        except UnusableAnswerError as error:
            fault = fault if nth else error
    raise fault


@cache
def _prompt(name: str) -> Mapping[str, Any]:
    """Return the texts of a prompt: ``task``, ``instructions``, ``inputs`` (names of what stands in the second message, in order), ``answer``
    (its form), Jinja2 templates; and perhaps ``examples``, each with what is given and answers by language.
    """
    loaded: Mapping[str, Any] = read_yaml(_PROMPTS / f"{name}.yaml")
    return loaded


def prompt_messages(
    name: str,
    inputs: Mapping[str, str],
    *,
    marks: FenceMarks,
    language: str = "cypher",
    options: Mapping[str, bool] | None = None,
) -> tuple[Message, ...]:
    """Return the two messages of a prompt. Inputs that the prompt does not name, and empty ones, are left out; the
    language is that of queries, ``operations`` for writes, ``direct`` where there is no query; ``options`` are switches
    of the prompt's text."""
    parts = [(key, inputs[key]) for key in _prompt(name)["inputs"] if inputs.get(key)]
    shown = [(key, text if key in _OF_THE_USER else marks.fenced(text)) for key, text in parts]
    return (
        Message(role="system", content=_system(name, language, tuple(sorted((options or {}).items())))),
        Message(role="user", content=_sections(shown)),
    )


@cache
def _system(name: str, language: str, options: tuple[tuple[str, bool], ...]) -> str:
    prompt, common = _prompt(name), _prompt("common")
    values = {
        "language": common["languages"].get(language, {"name": "", "query": "", "write": ""}),
        "graph_rule": common["graph_rule"],
        "direct": language == "direct",
        "writes": False,
        "files": False,
        **dict(options),
    }
    environment = Environment(undefined=StrictUndefined, autoescape=False)  # a prompt is no HTML

    def rendered(template: str) -> str:
        return environment.from_string(template).render(**values).strip()

    rules = filter(None, map(rendered, (*prompt["instructions"], common["data_rule"])))
    numbered = "\n".join(f"{at}. {rule}" for at, rule in enumerate(rules, 1))
    examples = []
    for example in prompt.get("examples", ()):
        answer = example["answers"].get(language, example["answers"].get("any"))
        if answer is not None:
            examples.append(("example", _sections([*example["given"].items(), ("answer", answer)]).strip()))
    sections = [("task", rendered(prompt["task"])), ("instructions", numbered)]
    sections += [("examples", _sections(examples))] if examples else []
    return _sections([*sections, ("form_of_the_answer", rendered(prompt["answer"]))])


def _sections(parts: Sequence[tuple[str, str]]) -> str:
    return "\n".join(f"<{name}>\n{text}\n</{name}>" for name, text in parts)


def _inputs(view: TaskView, **more: str) -> dict[str, str]:
    """Return the inputs that any prompt may have; a prompt takes those that it names."""
    return {
        "initial_problem": view.task.question.strip(),
        "files": "\n".join(f"- {path.name}" for path in view.task.files),
        "existing_data": view.graph_text,
        "tool_calls_made": _calls_text(view.calls),
        "fruitless_queries": "\n".join(f"- {query[:_QUERY_CHARS]}" for query in view.fruitless),
        **more,
    }


def _calls_text(calls: Sequence[MadeCall]) -> str:
    """Return calls, one a line: what was asked, and how it ended. What they answered stands in the graph."""
    left_out = max(0, len(calls) - _MOST_CALLS)
    lines = [f"({left_out} calls before)"] if left_out else []
    for call in calls[left_out:]:
        arguments = json.dumps(dict(call.arguments), ensure_ascii=False, default=str)
        arguments = arguments if len(arguments) <= _ARGUMENTS_CHARS else f"{arguments[:_ARGUMENTS_CHARS]}…"
        ended = "answered"
        if not call.ok:
            said = call.body if isinstance(call.body, str) else json.dumps(call.body, ensure_ascii=False, default=str)
            ended = f"{call.status}, {json.dumps(said[:_ERROR_CHARS], ensure_ascii=False)}"
        lines.append(f"- {call.tool_id} {arguments}: {ended}")
    return "\n".join(lines)


def _filled(name: str, value: Mapping[str, Any]) -> str:
    text: str = value[name].strip()
    if not text:
        raise UnusableAnswerError(f"{name} is empty")
    return text


def _said(value: Any) -> str:
    """Return an answer; empty where it says that there is none, or is nothing but thoughts."""
    said = without_thoughts(value["answer"]).strip()
    return "" if is_no_answer(said) else said


def read_operations(value: Mapping[str, Any]) -> tuple[Operation, ...]:
    """Return the writes of an object with nodes and edges, nodes first. What has the same key is written once. A node
    without a key, or a value that is no text, number, true, false or list of these, raises UnusableAnswerError."""
    nodes = [
        MergeNode(node=_ref(each, "a node"), properties=_properties(each["properties"])) for each in value["nodes"]
    ]
    edges = [
        MergeEdge(
            type=each["type"],
            source=_ref(each["from"], "from"),
            target=_ref(each["to"], "to"),
            properties=_properties(each["properties"]),
        )
        for each in value["edges"]
    ]
    return (*nodes, *edges)


def _ref(value: Mapping[str, Any], what: str) -> NodeRef:
    key = _properties(value["key"])
    if not key:
        raise UnusableAnswerError(f"{what} ({value['label'][:40]}) has no key")
    return NodeRef(label=value["label"], key=key)


def _properties(value: Mapping[str, Any]) -> dict[str, Value]:
    """Return the properties that have a value: null and an empty list are none."""
    found: dict[str, Value] = {}
    for name, each in value.items():
        members = each if isinstance(each, list) else [each]
        if each is not None and not all(isinstance(member, bool | int | float | str) for member in members):
            raise UnusableAnswerError(f"the value of {name[:40]} is no text, number, true, false or list of these")
        if isinstance(each, list) and each:
            found[name] = tuple(each) if len({type(member) for member in each}) == 1 else tuple(map(str, each))
        elif not isinstance(each, list) and each is not None:
            found[name] = each
    return found


def _shown(node: NodeRef) -> dict[str, Any]:
    return {"label": node.label, "key": dict(node.key)}
