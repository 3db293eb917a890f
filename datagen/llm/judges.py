"""The ``llm`` request judges: class, sequence and error, each asked by itself.

The class is asked for without naming the label, so that the model cannot agree with it out of politeness; what else can
be wrong is asked one by one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from datagen.catalogue import Catalogue
from datagen.links import Links
from datagen.llm.asking import NAME, Asking, answer_schema, question, reader
from datagen.llm.classes import KINDS
from datagen.llm.telling import purpose, spoken, steps
from datagen.llm.verdicts import Opinion, reasoned, verdict
from datagen.path import PathEdge, ToolPath
from datagen.request import CLASSES, SyntheticRequest, Verdict
from datagen.seams import RequestJudge
from inference.chat import ChatModel
from ingest.asking import SchemaReader
from ingest.cache import Cache
from ontology.tool import Tool

__all__ = ["llm_judges"]

_MAX_TOKENS = 200
_PURPOSE_CHARS = 120
_REASON = {"type": "string"}
_BOOLEAN = {"type": "boolean"}
_ANSWER = "Answer with one JSON object and nothing else:"
_KINDS_TOLD = "\n".join(f"- {name}: {kind.meaning}" for name, kind in KINDS.items())
_KINDS_SHOWN = "\n".join(
    f"Message: {kind.example}\n{json.dumps({'reason': kind.why, 'class': name})}" for name, kind in KINDS.items()
)
_CLASS_INSTRUCTIONS = f"""A message to a company's assistant is given, and the steps that the assistant takes to serve it. Say of which kind the message is.

{_KINDS_TOLD}

Go by how the message is put: is there a condition, is an order said, is a step left unsaid, is there a general question.

Examples, from a bicycle workshop:
{_KINDS_SHOWN}
{_ANSWER} {{"reason": one short sentence, "class": the kind}}"""

_SEQUENCE = {
    "all_steps_asked_for": "does every step do something that the message asks for, or find what a later step needs?",
    "everything_told": (
        "does what the steps must be told stand in the message, come from an earlier step, or go without saying "
        "(who is asking, today's date)? Optional inputs need not be said."
    ),
    "right_order": "does no step come before one whose result it uses?",
}
_ERROR = {
    "complete": "is the message a whole sentence or request, not broken off, with nothing left blank?",
    "values_possible": "could each value in the message be what its step asks for: a date where a date is asked for?",
    "plain_words": "is the message free of names that only software has (with underscores, run-together words)?",
    "all_steps_needed": "is there no step twice, and none that the message could do without?",
}
_SERVICE = KINDS["ir-multi-intent"].steps
_REPAIR = KINDS["implicit-multi-step"].steps
_Shown = tuple[str, str, str, frozenset[str]]
_GOOD: tuple[_Shown, ...] = (
    (
        "Could you book me in for a brake check on Saturday?",
        _SERVICE,
        "service and day of a booking are said",
        frozenset(),
    ),
    (
        "Put the bike that Mrs Amari brought in down for Friday morning.",
        _REPAIR,
        "it asks for a new day for a repair, which step 1 finds by its customer",
        frozenset(),
    ),
    (
        "if Mr Osei's repair waits for parts, move it to next Tuesday",
        _REPAIR,
        "it asks for a move that depends on what step 1 finds",
        frozenset(),
    ),
)
_WRONG_SEQUENCE: tuple[_Shown, ...] = (
    (
        "How many brake cables do we have?",
        _REPAIR,
        "it asks for stock, which neither step looks up",
        frozenset(("all_steps_asked_for",)),
    ),
    (
        "Put the bike that Mrs Amari brought in down for some other day.",
        _REPAIR,
        "step 2 is not told which day",
        frozenset(("everything_told",)),
    ),
)
_WRONG_ERROR: tuple[_Shown, ...] = (
    (
        "Could you book me in for a brake check on Mrs Amari?",
        _SERVICE,
        "Mrs Amari is no day",
        frozenset(("values_possible",)),
    ),
    (
        "move repair 5512 to Friday, new_day please",
        _REPAIR,
        "new_day is a name of the software, and a repair whose number is said need not be found",
        frozenset(("plain_words", "all_steps_needed")),
    ),
)


def _instructions(questions: Mapping[str, str], wrong: Sequence[_Shown]) -> str:
    """Separate questions, each with a yes where all is well; examples of both, in turn."""
    told = "\n".join(f"- {name}: {meaning}" for name, meaning in questions.items())
    shown = [_GOOD[0], wrong[0], _GOOD[1], wrong[1], _GOOD[2]]
    examples = "\n".join(
        f"Message: {message}\n\n{steps}\n"
        f"{json.dumps({'reason': why, **{name: name not in faults for name in questions}})}\n"
        for message, steps, why, faults in shown
    )
    return f"""A message to a company's assistant is given, and the steps that the assistant takes to serve it, in order. Answer these questions.

{told}

Most messages are fine in all of them. People use other words than the steps do.

Examples, from a bicycle workshop:
{examples}
{_ANSWER} the reason in one short sentence, then true or false for each question."""


@dataclass(frozen=True, kw_only=True)
class _Check:
    """One of the three checks.

    :param told: the steps as the model is told them.
    :param opinion: what an answer says of a request of that class.
    """

    check: str
    instructions: str
    schema: dict[str, Any]
    told: Callable[[ToolPath, tuple[Tool, ...]], str]
    opinion: Callable[[dict[str, Any], str], Opinion]


def llm_judges(
    catalogue: Catalogue, rp: Links, model: ChatModel, cache: Cache | None = None
) -> tuple[RequestJudge, ...]:
    """The three checks by a chat model; each asks once a request.

    :param rp: R-P edges of the catalogue, for requests that carry none of their own.
    :param cache: where answers are kept; None keeps none.
    :raises MissingExtraError: when jsonschema is not installed.
    """
    asking = Asking(model, cache)
    return tuple(
        _LlmJudge(catalogue=catalogue, rp=rp, asking=asking, about=about, reader=reader(about.schema))
        for about in _CHECKS
    )


@dataclass(frozen=True, kw_only=True)
class _LlmJudge:
    catalogue: Catalogue
    rp: Links
    asking: Asking
    about: _Check
    reader: SchemaReader
    name: str = field(default=NAME, init=False)

    @property
    def check(self) -> str:
        """What is checked."""
        return self.about.check

    def judge(self, request: SyntheticRequest) -> Verdict:
        """The model's verdict; see :class:`datagen.seams.RequestJudge`."""
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


def _answered(questions: Mapping[str, str]) -> Callable[[dict[str, Any], str], Opinion]:
    """Passed when each question is answered with yes; else the reason begins with the first that is not."""

    def opinion(row: dict[str, Any], _label: str) -> Opinion:
        fault = next((name for name in questions if not row[name]), "")
        return not fault, f"not {spoken(fault)}: {row['reason']}" if fault else row["reason"]

    return opinion


def _of_questions(check: str, questions: Mapping[str, str], wrong: Sequence[_Shown]) -> _Check:
    return _Check(
        check=check,
        instructions=_instructions(questions, wrong),
        schema=answer_schema(reason=_REASON, **dict.fromkeys(questions, _BOOLEAN)),
        told=steps,
        opinion=_answered(questions),
    )


_CHECKS = (
    _Check(
        check="class",
        instructions=_CLASS_INSTRUCTIONS,
        schema=answer_schema(reason=_REASON, **{"class": {"type": "string", "enum": list(CLASSES)}}),
        told=_briefly,
        opinion=_class_opinion,
    ),
    _of_questions("sequence", _SEQUENCE, _WRONG_SEQUENCE),
    _of_questions("error", _ERROR, _WRONG_ERROR),
)
