"""Writers of requests: a chat model that writes and another call that reads back blind; and templates, where there is no model.

Both get a path, its slots with typed values, and a class. Answers of a model are cached by the content of the question, so the same
run with the same cache gives the same requests, and a stopped run asks nothing twice.
"""

from __future__ import annotations

import json
import math
import random
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol, TypeVar

from datagen.catalogue import ProfiledCatalogue
from datagen.checks import Written, fault_of, said_alike
from datagen.models import NOT_RECORDED
from datagen.requests import DEPENDENT_CLASSES, RejectedRequest, SampleValue, SyntheticRequest, ToolPath, Verdict
from datagen.slots import Slot, slots_of
from inference.chat import ChatModel, Message
from inference.result_cache import ResultCache
from inference.structured_chat import (
    FailureBudget,
    SchemaParser,
    StructuredChat,
    StructuredRequest,
    UnusableAnswerError,
)
from ingest.linking import action_of
from ontology.files import read_yaml
from ontology.names import verb_lemma, words
from ontology.tool import Parameter, Tool
from retrieval.index.bm25 import terms

T = TypeVar("T")

_FOLDER = Path(__file__).parent
_CACHE_KIND, _UNUSABLE_KIND = "datagen.v2", "datagen.v2.unusable"
_VERSION = "2"
_MAX_TOKENS = 2_000
_PURPOSE_CHARS, _ABOUT_CHARS = 300, 80
_MAX_INPUTS, _MAX_OUTPUTS, _MAX_ENUM = 10, 12, 8
_CANDIDATES = 12
"""Tools that a reader sees, at least; those of the path are among them."""
_SAME_THING, _SAME_ACTION = 0.5, 0.25
"""What a shared thing and a shared action add to the cosine of two tools' words."""
_RIVALS = 3
"""Similar tools that a writer is told of for each step."""
_TEXT: dict[str, Any] = {"type": "string"}


class Writer(Protocol):
    """Writes the text of a request."""

    @property
    def name(self) -> str:
        """Versioned name, which each row records."""

    def write(self, path: ToolPath, request_class: str, *, id: str, seed: int) -> SyntheticRequest | RejectedRequest:
        """Return a request of a class over a path, in which every slot and value stands; or a rejection with the reason.

        :raises BudgetExceededError: when the budget is used up; earlier answers are in the cache.
        :raises ModelError: when three calls in a row failed.
        """


class _Chat:
    """One kind of structured call: its prompt, its schema and its failure budget."""

    def __init__(self, model: ChatModel, cache: ResultCache | None, prompt: str, schema: Mapping[str, Any]) -> None:
        prompts: Mapping[str, Any] = read_yaml(_FOLDER / "prompts.yaml")
        classes = "\n".join(f"- {name}: {' '.join(meaning.split())}" for name, meaning in prompts["classes"].items())
        self.instructions = prompts[prompt].replace("{classes}", classes)
        self._model, self._prompt, self._schema, self._cache = model, prompt, schema, cache
        self._chat = StructuredChat(model, kind=_CACHE_KIND, repair_prompt=_repair, cache=cache)
        self._parser = SchemaParser(schema)
        self._failures = FailureBudget()

    def ask(self, question: Mapping[str, Any], judge: Callable[[dict[str, Any]], T]) -> tuple[T | None, str]:
        """Return what ``judge`` makes of the answer, or why there is none. Where it raises UnusableAnswerError, for an
        answer that cannot be used, the model gets the reason and one more attempt."""
        messages = (
            Message(role="system", content=self.instructions),
            Message(role="user", content=json.dumps(question, ensure_ascii=False)),
        )
        request = StructuredRequest(
            messages=messages, schema=self._schema, schema_name=self._prompt, max_tokens=_MAX_TOKENS
        )
        key = request.key(self._model.name, _VERSION)
        known = self._cache.get(_UNUSABLE_KIND, key) if self._cache else None
        if known is not None:
            return None, known.decode()

        def parse(text: str) -> T:
            if text.startswith(NOT_RECORDED):
                raise UnusableAnswerError(text)
            return judge(self._parser.parse(text))

        answer = self._chat.call(request, key, parse)
        self._failures.record(answer.failure)
        if (
            self._cache and answer.problem and answer.failure is None
        ):  # else the same run again could have other requests
            self._cache.put(_UNUSABLE_KIND, key, answer.problem.encode("utf-8", "backslashreplace"))
        return answer.value, answer.problem


def _repair(problem: str) -> str:
    return f"This answer cannot be used: {problem[:400]}. Answer again with one complete JSON object as described, and nothing else."


def _object(**fields: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}


def _list_of(items: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}


_WRITTEN = _object(
    refusal=_TEXT,
    text=_TEXT,
    said=_list_of(_object(step={"type": "integer"}, input=_TEXT, words=_TEXT, value=_TEXT)),
    names=_list_of(_TEXT),
    needs=_list_of(_TEXT),
)
_CALL = _object(tool=_TEXT, values=_list_of(_object(input=_TEXT, words=_TEXT)), uses=_list_of(_TEXT))
_READ = _object(calls=_list_of(_CALL), kind=_TEXT, missing=_TEXT, typed={"type": "boolean"}, reason=_TEXT)


class SimilarTools:
    """The tools of a catalogue that are about one thing, do the same, or have many words in common; rare words count more."""

    def __init__(self, catalogue: ProfiledCatalogue) -> None:
        self._catalogue = catalogue
        self._near: dict[str, list[str]] = {}

    def near(self, tool: str) -> list[str]:
        """Return the tools that are most similar to one, at most 12, the most similar first."""
        if tool not in self._near:
            own = self._catalogue.extended_profiles[tool]
            scores: dict[str, float] = defaultdict(float)
            for term in sorted(self._terms[tool]):
                for other in self._having[term]:
                    scores[other] += self._weight(term) ** 2
            for other in scores:
                profile = self._catalogue.extended_profiles[other]
                scores[other] /= self._lengths[tool] * self._lengths[other]
                scores[other] += _SAME_THING * (own.entity == profile.entity != "")
                scores[other] += _SAME_ACTION * (own.action == profile.action)
            best = sorted((other for other in scores if other != tool), key=lambda one: (-round(scores[one], 9), one))
            self._near[tool] = best[:_CANDIDATES]
        return self._near[tool]

    def candidates(self, path: ToolPath, *, seed: int) -> list[str]:
        """Return the tools of a path, their alternatives, and similar ones, in random order."""
        own = [tool for slot in path.slots for tool in slot]
        most = max(_CANDIDATES - len(own), 2 * len(path.tools))
        others: list[str] = []
        for rank in range(_CANDIDATES):
            for tool in path.tools:
                near = self.near(tool)
                if rank < len(near) and near[rank] not in (*own, *others) and len(others) < most:
                    others.append(near[rank])
        left = [tool for tool in self._terms if tool not in (*own, *others)] if len(others) < most else []
        others += random.Random(f"{seed}").sample(left, min(most - len(others), len(left)))
        found = sorted((*own, *others))
        random.Random(f"{seed}\n{path.id}").shuffle(found)
        return found

    def _weight(self, term: str) -> float:
        return math.log(1 + len(self._terms) / len(self._having[term]))

    @cached_property
    def _lengths(self) -> dict[str, float]:
        return {
            tool: math.sqrt(sum(self._weight(term) ** 2 for term in sorted(told))) or 1.0
            for tool, told in self._terms.items()
        }

    @cached_property
    def _terms(self) -> dict[str, frozenset[str]]:
        return {
            tool.id: frozenset(
                terms(f"{' '.join(words(tool.name))} {tool.title} {_cut(tool.description, _PURPOSE_CHARS)}")
            )
            for tool in self._catalogue.tools
        }

    @cached_property
    def _having(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = defaultdict(list)
        for tool, told in self._terms.items():
            for term in told:
                found[term].append(tool)
        return found


class ModelWriter:
    """Writes with a chat model: it gets path, slots, values and class, and its text is checked by construction.

    :param cache: of answers; None for no cache.
    :raises MissingExtraError: when jsonschema is not installed.
    """

    name = "llm.v2"

    def __init__(self, catalogue: ProfiledCatalogue, model: ChatModel, cache: ResultCache | None = None) -> None:
        self._catalogue = catalogue
        self._chat = _Chat(model, cache, "writer", _WRITTEN)
        self._similar = SimilarTools(catalogue)

    def write(self, path: ToolPath, request_class: str, *, id: str, seed: int) -> SyntheticRequest | RejectedRequest:
        """Return a request, or a rejection; see :class:`Writer`. A refusal of the model is final."""
        rng = random.Random(seed)
        slots = slots_of(path, self._catalogue, rng)

        def judge(answer: Mapping[str, Any]) -> Written | str:
            if answer["refusal"].strip():
                return " ".join(answer["refusal"].split()).rstrip(".")
            written = _written(answer, path)
            if fault := fault_of(written, path, slots, self._catalogue):
                raise UnusableAnswerError(fault)
            if len(written.needs) != len(path.tools):
                raise UnusableAnswerError("each step needs a need")
            return written

        made, problem = self._chat.ask(self._question(path, request_class, slots, rng), judge)
        if isinstance(made, Written):
            return _request(made, path, request_class, id, self.name)
        refused = f"the writer refuses: {made}" if made else problem.rstrip(".")
        return RejectedRequest(
            stage="generate", subject=path.tools, reason=refused, request_class=request_class, final=bool(made)
        )

    def _question(
        self, path: ToolPath, request_class: str, slots: Sequence[Slot], rng: random.Random
    ) -> dict[str, Any]:
        styles = read_yaml(_FOLDER / "prompts.yaml")["styles"]
        pools = read_yaml(_FOLDER / "templates.yaml")["values"]
        person = f"{rng.choice(pools['first'])} {rng.choice(pools['last'])}"
        named = {"people": [person], "things": [rng.choice(pools["company"]), rng.choice(pools["city"])]}
        steps = [self._step(number, path, slots) for number in range(len(path.tools))]
        return {"kind": request_class, "today": "2026-11-30", "style": rng.choice(styles), **named, "steps": steps}

    def _step(self, number: int, path: ToolPath, slots: Sequence[Slot]) -> dict[str, Any]:
        tool = self._catalogue.tool(path.tools[number])
        own = [slot for slot in slots if slot.tool == tool.id]
        meant = {other for slot in path.slots for other in slot}
        near = [other for other in self._similar.near(tool.id) if other not in meant]
        parts: dict[str, Any] = {
            "state": [_input(slot) for slot in own if slot.required],
            "may": [_input(slot) for slot in own if not slot.required and slot.parameter in _inputs_of(tool)],
            "comes": [
                {"input": edge.parameter, "from_step": path.tools.index(edge.source) + 1, "what": edge.output}
                for edge in path.into(tool.id)
            ],
            "gives": [one.name for one in tool.returns[:_MAX_OUTPUTS]],
            "not": [self._named(other) for other in near[:_RIVALS]],
        }
        return {"step": number + 1, **self._named(tool.id), **{name: part for name, part in parts.items() if part}}

    def _named(self, tool_id: str) -> dict[str, str]:
        return {"system": self._catalogue.group(tool_id), "does": purpose(self._catalogue.tool(tool_id))}


def _inputs_of(tool: Tool) -> list[Parameter]:
    """The inputs that a reader sees; of others a writer may state none, for nobody could read them back."""
    return sorted(tool.parameters, key=lambda one: not one.required)[:_MAX_INPUTS]


def _input(slot: Slot) -> dict[str, Any]:
    row = _parameter(slot.parameter)
    row.pop("required", None)
    return {**row, "type": slot.kind, **({"say": slot.value} if slot.given else {})}


def _parameter(parameter: Parameter) -> dict[str, Any]:
    row: dict[str, Any] = {"input": parameter.name, "type": parameter.format or parameter.type}
    if about := _cut(parameter.description, _ABOUT_CHARS):
        row["about"] = about
    if parameter.enum:
        row["one_of"] = list(parameter.enum[:_MAX_ENUM])
    if parameter.bounds:
        row["bounds"] = dict(parameter.bounds)
    if parameter.required:
        row["required"] = True
    return row


def purpose(tool: Tool) -> str:
    """Return title and description of a tool on one line, at most about 300 characters."""
    title, description = " ".join(words(tool.title)) or tool.title, _cut(tool.description, _PURPOSE_CHARS)
    told = " ".join(words(description)).startswith(title)
    return description if told else f"{title}: {description}" if description else title


def _cut(text: str, most: int) -> str:
    return " ".join(text[: 4 * most].split())[:most]


def _written(answer: Mapping[str, Any], path: ToolPath) -> Written:
    values = []
    for row in answer["said"]:
        if not 1 <= row["step"] <= len(path.tools):
            raise UnusableAnswerError(f"there is no step {row['step']}")
        tool = path.tools[row["step"] - 1]
        values.append(SampleValue(tool=tool, parameter=row["input"], value=row["words"], typed=row["value"]))
    return Written(
        text=answer["text"].strip(),
        values=tuple(values),
        names=tuple(answer["names"]),
        needs=tuple(need.strip() for need in answer["needs"]),
    )


def _request(made: Written, path: ToolPath, request_class: str, id: str, by: str) -> SyntheticRequest:
    return SyntheticRequest(
        id=id,
        text=made.text,
        request_class=request_class,
        path=path,
        values=made.values,
        names=made.names,
        needs=made.needs,
        generator=by,
    )


class BlindReader:
    """Reads a request back: a model sees the text and tools in random order, and says which serve it with which values.

    :param cache: of answers; None for no cache.
    """

    name = "llm.v2"

    def __init__(self, catalogue: ProfiledCatalogue, model: ChatModel, cache: ResultCache | None = None) -> None:
        self._catalogue = catalogue
        self._chat = _Chat(model, cache, "reader", _READ)
        self._similar = SimilarTools(catalogue)

    def read(self, request: SyntheticRequest, *, seed: int) -> tuple[Verdict, ...] | str:
        """Return the verdicts ``sequence`` (tools and what they take from each other), ``error`` (values) and ``class``.

        A text is returned where there is no usable answer: why.

        :raises BudgetExceededError: when the budget is used up.
        :raises ModelError: when three calls in a row failed.
        """
        shown = self._similar.candidates(request.path, seed=seed)
        names = {f"T{number}": tool for number, tool in enumerate(shown, 1)}
        tools = [self.shown(name, tool) for name, tool in names.items()]

        def judge(answer: Mapping[str, Any]) -> Mapping[str, Any]:
            for call in answer["calls"]:
                if unknown := next((one for one in (call["tool"], *call["uses"]) if one not in names), ""):
                    raise UnusableAnswerError(f"there is no operation {unknown!r}")
            return answer

        answer, problem = self._chat.ask({"message": request.text, "tools": tools}, judge)
        if answer is None:
            return f"it was not read back: {problem}".rstrip(".")
        calls: dict[str, dict[str, Any]] = {}
        for call in answer["calls"]:
            one = calls.setdefault(names[call["tool"]], {"values": [], "uses": set()})
            one["values"] += call["values"]
            one["uses"].update(names[used] for used in call["uses"])
        faults = {
            "sequence": _other_tools(request, calls, answer["missing"]) or _other_flow(request, calls),
            "error": _other_values(request, calls) or ("" if answer["typed"] else "nobody would type it"),
            "class": "" if answer["kind"] == request.request_class else f"it reads as {answer['kind']}",
        }
        return tuple(
            Verdict(check=check, passed=not fault, reason=fault or "it reads back as it was meant", by=self.name)
            for check, fault in faults.items()
        )

    def shown(self, name: str, tool_id: str) -> dict[str, Any]:
        """Return what a reader sees of a tool, under a name that tells nothing."""
        tool = self._catalogue.tool(tool_id)
        row: dict[str, Any] = {
            "tool": name,
            "system": self._catalogue.group(tool_id),
            "does": purpose(tool),
            "inputs": [_parameter(one) for one in _inputs_of(tool)],
        }
        return {**row, "gives": [one.name for one in tool.returns[:_MAX_OUTPUTS]]}


def _other_tools(request: SyntheticRequest, calls: Mapping[str, Any], missing: str) -> str:
    for slot in request.path.slots:
        called = [tool for tool in slot if tool in calls]
        if not called:
            return f"a reader does not call {slot[0]}"
        if len(called) > 1:
            return f"a reader calls {called[0]} and {called[1]}, of which one would do"
    meant = {tool for slot in request.path.slots for tool in slot}
    if other := next((tool for tool in calls if tool not in meant), ""):
        return f"a reader also calls {other}"
    return f"a reader misses something: {missing.strip().rstrip('.')}" if missing.strip() else ""


def _other_flow(request: SyntheticRequest, calls: Mapping[str, Any]) -> str:
    if request.request_class not in DEPENDENT_CLASSES:
        return ""
    slot_of = {tool: slot for slot in request.path.slots for tool in slot}
    for source, target in sorted(request.path.rp_pairs):
        called = next(tool for tool in slot_of[target] if tool in calls)
        if calls[called]["uses"].isdisjoint(slot_of[source]):
            return f"a reader does not take anything of {source} for {target}"
    return ""


def _other_values(request: SyntheticRequest, calls: Mapping[str, Any]) -> str:
    for slot in request.path.slots:
        called = next((tool for tool in slot if tool in calls), "")
        if not called:
            continue
        read = [(value["input"], value["words"]) for value in calls[called]["values"]]
        stated = [value for value in request.values if value.tool == slot[0]]
        for value in stated:
            same_input = called == slot[0]
            if not any(
                said_alike(said, value.value) and (name == value.parameter or not same_input) for name, said in read
            ):
                return f"a reader does not take {value.value!r} as {value.parameter} of {slot[0]}"
        known = (*(value.value for value in stated), *request.names)
        for name, said in read:
            if not any(said_alike(said, one) for one in known):
                return f"a reader takes {said!r} as {name} of {called}, for which no value is recorded"
    return ""


class TemplateWriter:
    """Writes by sentence templates, without a model: to smoke-test a catalogue. Nobody types so, and there are no needs."""

    name = "template.v1"

    def __init__(self, catalogue: ProfiledCatalogue) -> None:
        self._catalogue = catalogue
        self._templates: Mapping[str, Any] = read_yaml(_FOLDER / "templates.yaml")

    def write(self, path: ToolPath, request_class: str, *, id: str, seed: int) -> SyntheticRequest | RejectedRequest:
        """Return a request, or a rejection; see :class:`Writer`."""
        rng = random.Random(seed)
        slots = slots_of(path, self._catalogue, rng)
        stated = [slot for slot in slots if slot.value]
        tasks = [
            _task(self._catalogue.tool(tool), [slot for slot in stated if slot.tool == tool]) for tool in path.tools
        ]
        goal = _task(self._catalogue.tool(path.tools[-1]), stated)
        joiner = self._templates["joiners"].get(request_class, self._templates["joiners"][""])
        template = rng.choice(self._templates["requests"][request_class])
        rest = joiner.join(tasks[1:] or tasks)
        text = template.format(
            task=joiner.join(tasks) if request_class == "ir-multi-intent" else tasks[0],
            rest=rest,
            goal=goal,
            question=rng.choice(self._templates["questions"]),
        )
        said = " ".join(text.split())
        made = Written(
            text=said[:1].upper() + said[1:],
            values=tuple(
                SampleValue(tool=slot.tool, parameter=slot.parameter.name, value=slot.value) for slot in stated
            ),
        )
        if fault := fault_of(made, path, [slot for slot in slots if slot.kind != "boolean"], self._catalogue):
            return RejectedRequest(
                stage="generate", subject=path.tools, reason=fault, request_class=request_class, text=made.text
            )
        return _request(made, path, request_class, id, self.name)


def _task(tool: Tool, slots: Sequence[Slot]) -> str:
    """What a tool does as an order: the first sentence of its document where that begins with a verb, else its name; with the values."""
    sentence = tool.description.split("\n")[0].split(". ")[0].strip().rstrip(".")
    said = words(sentence)
    if not (said and action_of(verb_lemma(said[0])) and len(said) <= 12):
        said = words(tool.title) or [tool.name]
    said[0] = verb_lemma(said[0])
    values = [f"{' '.join(words(slot.parameter.name.rsplit('.', 1)[-1]))} {slot.value}" for slot in slots]
    return f"{' '.join(said)} with {', '.join(values)}" if values else " ".join(said)
