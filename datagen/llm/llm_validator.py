"""The ``llm`` request validators: class, sequence and error, each asked by itself.

The class is asked for without naming the label, so that the model cannot agree with it out of politeness.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from datagen.catalogue import Catalogue
from datagen.links import Links
from datagen.llm.chat_step import NAME, Asking, answer_schema, question, reader
from datagen.llm.class_prompts import KINDS
from datagen.llm.tool_prompt import purpose, steps
from datagen.llm.verdicts import Opinion, reasoned, verdict
from datagen.seams import RequestValidator
from datagen.synthetic_request import CLASSES, SyntheticRequest, Verdict
from datagen.tool_path import PathEdge, ToolPath
from inference.chat import ChatModel
from inference.result_cache import ResultCache
from inference.structured_chat import SchemaParser
from ontology.tool import Tool

__all__ = ["llm_validators"]

_MAX_TOKENS = 200
_PURPOSE_CHARS = 120
_REASON = {"type": "string"}
_FAULTS = {
    "none": "nothing is wrong",
    "repeated": "two of the steps do the same thing",
    "incomplete": "the message is unfinished, or leaves out what a step must be told and nothing else gives",
    "incompatible": "a value in the message cannot be what the step asks for",
    "internal-name": "the message says a name that only the software has (with underscores, run-together words, field names)",
    "unneeded-step": "a step is there that nobody who wrote this message needs",
}
_ANSWER = "Answer with one JSON object and nothing else:"
_KINDS_TOLD = "\n".join(f"- {name}: {kind.meaning}" for name, kind in KINDS.items())
_KINDS_SHOWN = "\n".join(
    f"Message: {kind.example}\n{json.dumps({'reason': kind.why, 'class': name})}" for name, kind in KINDS.items()
)
_FAULTS_TOLD = "\n".join(f"- {name}: {meaning}" for name, meaning in _FAULTS.items())
_REPAIR_TOLD = KINDS["implicit-multi-step"].steps
_CLASS_INSTRUCTIONS = f"""A message to a company's assistant is given, and the steps that the assistant takes to serve it. Say of which kind the message is.

{_KINDS_TOLD}

Go by how the message is put: is there a condition, is an order said, is a step left unsaid, is there a general question.

Examples, from a bicycle workshop:
{_KINDS_SHOWN}
{_ANSWER} {{"reason": one short sentence, "class": the kind}}"""
_SEQUENCE_INSTRUCTIONS = f"""A message to a company's assistant is given, and the steps that the assistant takes to serve it, in order. Decide whether these steps in this order do what the message wants.

Yes needs all of these:
- each step serves something that the message asks for, or is needed by a later step;
- what a step must be told stands in the message, comes from an earlier step, or is known anyway (who is asking, today's date);
- no step comes before one whose result it uses.

Examples, for these steps of a bicycle workshop:
{_REPAIR_TOLD}
Message: Put the bike that Mrs Amari brought in down for Friday morning.
{{"reason": "the repair is found by its customer, and its day is said", "fits": true}}
Message: Put the bike that Mrs Amari brought in down for some other day.
{{"reason": "step 2 is not told the new day", "fits": false}}
Message: How many brake cables do we have?
{{"reason": "the message asks for stock, which neither step looks up", "fits": false}}
{_ANSWER} {{"reason": one short sentence, "fits": true or false}}"""
_ERROR_INSTRUCTIONS = f"""A message to a company's assistant is given, and the steps that the assistant is meant to take. Say what is most wrong with the pair, if anything is.

{_FAULTS_TOLD}

Examples, for these steps of a bicycle workshop:
{_REPAIR_TOLD}
Message: Put the bike that Mrs Amari brought in down for Friday morning.
{{"reason": "both steps are needed and told what they need", "fault": "none"}}
Message: Put the bike that Mrs Amari brought in down for
{{"reason": "the message breaks off before the day", "fault": "incomplete"}}
Message: Schedule the repair of Mrs Amari with new_day Friday.
{{"reason": "new_day is a name of the software", "fault": "internal-name"}}
Message: Move repair 5512 to Friday.
{{"reason": "the repair's number is said, so nothing has to be found", "fault": "unneeded-step"}}
{_ANSWER} {{"reason": one short sentence, "fault": the word from the list}}"""


@dataclass(frozen=True, kw_only=True)
class _Check:
    """One of the three questions.

    :param told: the steps as the model is told them.
    :param opinion: what an answer says of a request of that class.
    """

    check: str
    instructions: str
    schema: dict[str, Any]
    told: Callable[[ToolPath, tuple[Tool, ...]], str]
    opinion: Callable[[dict[str, Any], str], Opinion]


def llm_validators(
    catalogue: Catalogue, rp: Links, model: ChatModel, cache: ResultCache | None = None
) -> tuple[RequestValidator, ...]:
    """The three checks by a chat model; each asks once a request.

    :param rp: R-P edges of the catalogue, for requests that carry none of their own.
    :param cache: where answers are kept; None keeps none.
    :raises MissingExtraError: when jsonschema is not installed.
    """
    asking = Asking(model, cache)
    return tuple(
        _LlmValidator(catalogue=catalogue, rp=rp, asking=asking, about=about, reader=reader(about.schema))
        for about in _CHECKS
    )


@dataclass(frozen=True, kw_only=True)
class _LlmValidator:
    catalogue: Catalogue
    rp: Links
    asking: Asking
    about: _Check
    reader: SchemaParser
    name: str = field(default=NAME, init=False)

    @property
    def check(self) -> str:
        """What is checked."""
        return self.about.check

    def validate(self, request: SyntheticRequest) -> Verdict:
        """The model's verdict; see :class:`datagen.seams.RequestValidator`."""
        path = _with_edges(request.path, self.rp)
        tools = tuple(map(self.catalogue.tool, path.tools))
        said = f"Message: {request.text}\n\n{self.about.told(path, tools)}"
        asked = question(self.about.instructions, said, self.about.schema, self.check, max_tokens=_MAX_TOKENS)
        read = reasoned(self.reader, lambda row: self.about.opinion(row, request.request_class))
        return verdict(self.asking, asked, read, self.check)


def _with_edges(path: ToolPath, rp: Links) -> ToolPath:
    """The path with the graph's edges along its order where it has none; a set keeps none, for its tools do not need each other."""
    if path.edges or path.shape in {"single", "set"}:
        return path
    edges: list[PathEdge] = []
    for at, target in enumerate(path.tools):
        into = [edge for source in path.tools[:at] for edge in rp.between(source, target)]
        filled: dict[str, PathEdge] = {}
        for edge in sorted(into, key=lambda edge: -edge.confidence):
            filled.setdefault(edge.parameter, edge)
        edges.extend(filled.values())
    return ToolPath(tools=path.tools, edges=tuple(edges), shape=path.shape)


def _briefly(_path: ToolPath, tools: tuple[Tool, ...]) -> str:
    return "\n".join(f"Step {at}. {purpose(tool, most_chars=_PURPOSE_CHARS)}" for at, tool in enumerate(tools, 1))


def _class_opinion(row: dict[str, Any], label: str) -> Opinion:
    return row["class"] == label, f"the model reads it as {row['class']}: {row['reason']}"


def _sequence_opinion(row: dict[str, Any], _label: str) -> Opinion:
    return row["fits"], row["reason"]


def _error_opinion(row: dict[str, Any], _label: str) -> Opinion:
    fault = row["fault"]
    return fault == "none", row["reason"] if fault == "none" else f"{fault}: {row['reason']}"


_CHECKS = (
    _Check(
        check="class",
        instructions=_CLASS_INSTRUCTIONS,
        schema=answer_schema(reason=_REASON, **{"class": {"type": "string", "enum": list(CLASSES)}}),
        told=_briefly,
        opinion=_class_opinion,
    ),
    _Check(
        check="sequence",
        instructions=_SEQUENCE_INSTRUCTIONS,
        schema=answer_schema(reason=_REASON, fits={"type": "boolean"}),
        told=steps,
        opinion=_sequence_opinion,
    ),
    _Check(
        check="error",
        instructions=_ERROR_INSTRUCTIONS,
        schema=answer_schema(reason=_REASON, fault={"type": "string", "enum": list(_FAULTS)}),
        told=steps,
        opinion=_error_opinion,
    ),
)
