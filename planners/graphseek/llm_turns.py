"""Turns by a chat model: one structured call a step, whose schema has the operators that are offered and nothing else.

A prompt has what stays the same (rules, schema) first, then the operators, the question, and the steps so far, within a number of tokens: the
oldest steps are left out first.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from inference.chat import ChatModel, Message
from inference.structured_chat import StructuredChat, StructuredRequest, UnusableAnswerError
from ontology.files import read_yaml
from ontology.json_values import canonical_text
from ontology.names import noun_lemma, words
from planners.calls.model_text import json_objects, prompt_tokens, without_thoughts
from planners.calls.untrusted import FenceMarks, cleaned
from planners.graphseek import turn as turns
from planners.graphseek.catalog import (
    NodeDescriptor,
    PropertyDescriptor,
    RelationshipDescriptor,
    SemanticCatalog,
    cleaned_text,
)
from planners.graphseek.operators.operator import Operator, OperatorFault, check_arguments, object_schema
from planners.graphseek.results import Result
from planners.graphseek.turn import Answer, Fault, Invocation, StepRecord, StepView, Turn
from planners.journal.step_log import metered, on_a_thread
from planners.stores.graph_schema import GraphSchema, NodeType, PropertyKey, RelationshipType

_PROMPT = str(read_yaml(Path(__file__).parent / "prompts" / "turn.yaml")["text"]).strip()
_ANSWER_TOKENS = 1_000  # four invocations with filters take about 500
_MOST_CALLS = 4  # of one turn: the paper's widest step has three at once (section 5.3.4)
_SHARED_CHARS = 80  # of a part that is written once, when it stands there twice: shorter ones cost more as references
_PROBLEM_CHARS = 300
_NOW = " If the results answer the question, give the answer now; else give calls that were not made before."
_REPAIR = "That cannot be used: {}. Answer with one JSON object of the form that was said, and nothing else."
# The failures of section 6.4 of the paper end here: wrong kinds of entities, swapped directions, chains cut short
_EMPTY = "If that is not the answer, check the type (find says which type a name is of), the values, the direction and the hops"
# A bound of thousands of characters makes grammars that servers refuse.
_TEXT: dict[str, Any] = {"type": "string", "minLength": 1}
_CALL: dict[str, Any] = {
    "type": "object",
    "properties": {"operator": {"type": "string"}, "arguments": {"type": "object"}},
    "required": ["operator", "arguments"],
}
# What is read of a turn. Names and arguments are checked when they are run: the faults there say more than a schema.
_TURN: dict[str, Any] = {
    "type": "object",
    "properties": {
        "calls": {"type": "array", "items": _CALL, "minItems": 1, "maxItems": _MOST_CALLS},
        "answer": _TEXT,
        "of": {"type": "array", "items": {"type": "string"}},
        "ask": _TEXT,
    },
}


class LlmTurns:
    """Asks one model; ``fence_key`` is of the marks around data, a new one where empty."""

    def __init__(self, model: ChatModel, *, fence_key: bytes = b"") -> None:
        self._model, self._marks = model, FenceMarks(fence_key)

    async def turn(self, view: StepView) -> Turn:
        """See :class:`TurnMaker`."""
        # What stays the same in all steps of a question is in the first message, so that a server reads it once.
        known = catalog_text(view.catalog, view.schema, view.question)
        system = f"{_PROMPT}\n\nSchema:\n{self._marks.fenced(known)}"
        messages = (Message(role="system", content=system), Message(role="user", content=self._user(view)))
        # A small model repeats one call until the end: when the last step only asked for what it has, it has to answer.
        outcomes = [each for record in view.records for each in record.outcomes]
        last = view.records[-1].outcomes if view.records else ()
        repeats = bool(last) and all(isinstance(each, Fault) and each.kind == "repeated" for each in last)
        must_answer = repeats and any(isinstance(each, Result) and each.size for each in outcomes)
        schema = _turn_schema(() if must_answer else view.operators, view.schema, view.results.handles)
        request = StructuredRequest(messages=messages, schema=schema, schema_name="turn", max_tokens=_ANSWER_TOKENS)
        with metered(self._model, "turn", partial(turns.ModelAsked, prompt="turn")) as model:
            chat = StructuredChat(model, kind="graphseek", repair_prompt=_REPAIR.format, cache=None)
            answer = await on_a_thread("graphseek-model", lambda: chat.call(request, "", _turn))
        if answer.failure is not None:
            raise answer.failure
        if answer.value is None:
            raise turns.UnusableTurnError(answer.problem, subject="turn", remedy="Another model may follow the form")
        return answer.value

    def _user(self, view: StepView) -> str:
        """What changes: the operators (a line each, with their arguments, optional ones with ``?``), the question, and the steps so far. Where
        these have too many tokens, the oldest are left out."""
        operators = ["Operators:"]
        for each in view.operators:
            given = each.parameters(view.schema, view.results.handles)
            required = given.get("required", ())
            arguments = ", ".join(name if name in required else f"{name}?" for name in given.get("properties", {}))
            operators.append(f"- {each.name}({arguments}): {each.description}")
        parts = [
            "\n".join(operators) if view.operators else "Operators:\n",
            f"Question: {view.question}",
            f"This is step {view.step} of at most {view.steps}.{_NOW if view.records else ''}",
        ]
        most_tokens = turns.MESSAGE_TOKENS - sum(map(prompt_tokens, parts))
        shown = [self._step(record) for record in view.records]
        sizes = [prompt_tokens(text) for text in shown]
        first = 0
        while first < len(shown) - 1 and sum(sizes[first:]) > most_tokens:
            first += 1
        left_out = [f"({first} earlier steps are left out.)"] if first else []
        trace = ["\n".join(["Steps so far:", *left_out, *shown[first:]])] if shown else []
        return "\n\n".join([*parts[:-1], *trace, parts[-1]])

    def _step(self, record: StepRecord) -> str:
        lines = [f"Step {record.number}"]
        for invocation, outcome in record.pairs:
            arguments = json.dumps(dict(invocation.arguments), ensure_ascii=False)
            lines.append(f"{invocation.operator} {arguments}")
            if not isinstance(outcome, Result):
                lines.append(f"failed ({outcome.kind}): {outcome.problem}. {outcome.hint}")
            elif outcome.size == 0:
                lines.append(f"gave {outcome.handle}, which is empty. {_EMPTY}")
            else:
                lines.append(f"gave {outcome.handle}:\n{self._marks.fenced(outcome.summary)}")
        if record.rejected is not None:
            lines += [f"The answer was handed back, {record.why}. It was:", self._marks.fenced(record.rejected.text)]
        elif record.why:
            lines.append(f"It could not be used: {record.why}")
        return "\n".join(lines)


def _turn(text: str) -> Turn:
    """Return the turn of an answer. A plain reply is an answer: it halts the run, once it is grounded. Broken JSON, or
    JSON outside the schema, raises UnusableAnswerError."""
    bare = without_thoughts(text)
    if bare.startswith("```") and bare.endswith("```") and "\n" in bare:
        bare = bare[bare.index("\n") : -3].strip()
    is_json = bool(bare) and bare[0] in '{["'
    try:
        given: Any = cleaned(json.loads(bare))
    except (ValueError, RecursionError) as error:
        meant = [each for each in json_objects(bare) if each.keys() & {"calls", "answer", "ask"}]
        if not meant and is_json:
            raise UnusableAnswerError(f"it is not one JSON object ({str(error)[:_PROBLEM_CHARS]})") from error
        given = cleaned(meant[-1]) if meant else None
    if not isinstance(given, Mapping) and not is_json:
        return Answer(text=bare)  # prose, also a number alone
    try:
        check_arguments(given, _TURN, called="it")
    except OperatorFault as fault:
        raise UnusableAnswerError(f"{fault.problem}: {fault.hint}"[:_PROBLEM_CHARS]) from fault
    if "calls" in given:  # an argument that is null is left out, as models mean it
        calls = ((each["operator"], each["arguments"].items()) for each in given["calls"])
        return tuple(
            Invocation(operator=name, arguments={key: value for key, value in arguments if value is not None})
            for name, arguments in calls
        )
    if "ask" in given:
        return Answer(text=given["ask"], kind="question")
    if "answer" not in given:
        raise UnusableAnswerError("it has neither calls nor an answer")
    return Answer(text=given["answer"], of=tuple(given.get("of", ())))


def _turn_schema(operators: Sequence[Operator], schema: GraphSchema, handles: Sequence[str]) -> dict[str, Any]:
    """The schema of a turn: calls of the operators, where there are some, an answer, or a question back. What stands in it several
    times is written once, under ``$defs``."""
    calls = [
        object_schema(["operator", "arguments"], operator={"const": name}, arguments=arguments)
        for name, arguments in ((each.name, each.parameters(schema, handles)) for each in operators)
    ]
    called = {"type": "array", "items": {"anyOf": calls}, "minItems": 1, "maxItems": _MOST_CALLS}
    of = {"type": "array", "items": {"type": "string"}, "maxItems": 8}
    answers = [object_schema(["answer"], answer=_TEXT, of=of), object_schema(["ask"], ask=_TEXT)]
    whole = {"anyOf": [*([object_schema(["calls"], calls=called)] if calls else []), *answers]}
    parts = Counter(canonical_text(part) for part in _schemas(whole))
    defined: dict[str, Any] = {}
    names: dict[str, str] = {}

    def shared(part: Any) -> Any:
        if isinstance(part, list):
            return [shared(each) for each in part]
        if not isinstance(part, dict):
            return part
        text = canonical_text(part)
        if parts[text] < 2 or len(text) <= _SHARED_CHARS:
            return {name: shared(each) for name, each in part.items()}
        if text not in names:
            name = names[text] = f"s{len(names)}"
            defined[name] = {inner: shared(each) for inner, each in part.items()}
        return {"$ref": f"#/$defs/{names[text]}"}

    return {**shared(whole), **({"$defs": defined} if defined else {})}


def _schemas(part: Any) -> Iterator[Mapping[str, Any]]:
    """Yield a schema and every schema in it; what maps names of properties to schemas is none."""
    if isinstance(part, dict) and (isinstance(part.get("type"), str | list) or "anyOf" in part):
        yield part
    for each in part.values() if isinstance(part, dict) else part if isinstance(part, list) else ():
        yield from _schemas(each)


# What a prompt says of a graph: its schema with the texts of a semantic catalog, never more than a number of tokens.

MOST_TOKENS = 2_000  # of the text: about what the paper gives the whole of its graph (section 3.2)
_MARGIN = 24  # tokens of headings, and of the line that says how many types are left out
_NAMES_SHARE = 8  # of the tokens, an eighth each are for bare names of types and of relationships
_MOST_NAMES = 40  # of types that are not described
_MOST_PROPERTIES = 40  # of a type: a wide table must not crowd out the others
_MOST_PLAIN = 5  # properties without a descriptor beside some with one; schemas of operators list all
_MOST_ENDS = 12
_NO_NODE, _NO_RELATIONSHIP, _NO_PROPERTY = NodeDescriptor(), RelationshipDescriptor(), PropertyDescriptor()


def catalog_text(
    catalog: SemanticCatalog,
    schema: GraphSchema,
    question: str = "",
    *,
    most_tokens: int = MOST_TOKENS,
    count: Callable[[str], int] = prompt_tokens,
) -> str:
    """Return the text for a question, in names of the schema. Where all does not fit, the types that the question names
    are described first, then the rest, as far as there is room; others stand with their properties, by name, or are
    only counted."""
    about = [cleaned_text(catalog.about)] if catalog.about else []
    left = most_tokens - _MARGIN - sum(map(count, about))
    asked = _singular(question)
    types: list[tuple[NodeType | RelationshipType, Sequence[str], str, str]] = []
    for node in schema.nodes:
        of = catalog.nodes.get(node.name, _NO_NODE)
        head = _described(cleaned_text(node.name) + _other_words(node.name, of.words), of.description)
        full = "\n".join((head, *_property_lines(node.properties, of.properties)))
        types.append((node, of.words, full, f"{cleaned_text(node.name)}({_listed(node.properties)})"))
    for each in schema.relationships:
        said = catalog.relationships.get(each.name, _NO_RELATIONSHIP)
        properties = f" {{{_listed(each.properties)}}}" if each.properties else ""
        lean = f"{cleaned_text(each.name)} {_between(each)}{properties}"
        back = f"; back: {', '.join(map(cleaned_text, said.backward))}" if said.backward else ""
        told = f" ({', '.join(map(cleaned_text, said.forward))}{back})" if said.forward or back else ""
        head = _described(f"{cleaned_text(each.name)} {_between(each)}{told}", said.description)
        full = "\n".join((head, *_property_lines(each.properties, said.properties)))
        types.append((each, (*said.forward, *said.backward), full, lean))
    if sum(count(full) for _, _, full, _ in types) > left:
        left -= 2 * (most_tokens // _NAMES_SHARE)
    named = [any(each.strip() and each in asked for each in map(_singular, (of.name, *said))) for of, said, *_ in types]
    chosen: dict[int, str] = {}
    for form in (3, 2):  # first all in few words, then as many as there is room for in full
        for at in sorted(range(len(types)), key=lambda at: not named[at]):
            cost = count(str(types[at][form])) - (count(chosen[at]) if at in chosen else 0)
            if cost <= left:
                chosen[at], left = str(types[at][form]), left - cost
    lines = about
    for heading, kind in (("Node types:", NodeType), ("Relationship types:", RelationshipType)):
        of_kind = [at for at, (owner, *_) in enumerate(types) if isinstance(owner, kind)]
        others = [cleaned_text(types[at][0].name) for at in of_kind if at not in chosen]
        lines += [heading] if of_kind else []
        lines += [chosen[at] for at in of_kind if at in chosen]
        lines += [f"Others: {_shortened(others, most_tokens // _NAMES_SHARE, count)}"] if others else []
    return "\n".join(lines)


def _shortened(names: Sequence[str], most_tokens: int, count: Callable[[str], int]) -> str:
    """As many names as there is room for, and how many more there are."""
    kept: list[str] = []
    for name in names[:_MOST_NAMES]:
        most_tokens -= count(f"{name},")
        if most_tokens < 0:
            break
        kept.append(name)
    more = [f"and {len(names) - len(kept):,} more"] if len(kept) < len(names) else []
    return ", ".join([*kept, *more])


def _between(each: RelationshipType) -> str:
    """Which types it connects: ``A|B -> C``. Which of several pairs there are is in the description."""
    ends = ({end.source for end in each.ends}, {end.target for end in each.ends})
    return " -> ".join("|".join(map(cleaned_text, sorted(names)[:_MOST_ENDS])) for names in ends)


def _property_lines(properties: Sequence[PropertyKey], known: Mapping[str, PropertyDescriptor]) -> list[str]:
    """A line for each property that the catalog says something of; the others stand together in one, or are many and only counted."""
    ordered = sorted(properties, key=lambda each: not known.get(each.name, _NO_PROPERTY).role)[:_MOST_PROPERTIES]
    chosen = [each for each in properties if each in ordered]
    told = {each.name: _property_line(each, known.get(each.name, _NO_PROPERTY)) for each in chosen}
    plain = [f"{cleaned_text(each.name)} {each.type}" for each in chosen if not told[each.name]]
    if any(told.values()) and len(plain) > _MOST_PLAIN:
        plain = []
    more = len(properties) - len(plain) - sum(map(bool, told.values()))
    rest = ", ".join([*plain, *([f"and {more} more"] if more else [])])
    return [*filter(None, told.values()), *([f"  {rest}"] if rest else [])]


def _property_line(each: PropertyKey, known: PropertyDescriptor) -> str:
    """What the catalog says of a property; empty where that is nothing."""
    said: dict[str, list[str]] = {}
    for phrase, value in known.values.items():
        if phrase.lower() != value.lower():
            said.setdefault(cleaned_text(value), []).append(cleaned_text(phrase))
    for phrase, group in known.groups.items():
        said.setdefault(" or ".join(map(cleaned_text, group)), []).append(cleaned_text(phrase))
    values = "; ".join(f"{'/'.join(phrases)} = {value}" for value, phrases in said.items())
    other = _other_words(each.name, known.words)
    told = list(filter(None, (cleaned_text(known.unit), known.role if known.role in ("key", "name") else "")))
    description = "; ".join(filter(None, (known.description, values)))
    if not description and not other and not told:
        return ""
    return _described(f"  {', '.join((f'{cleaned_text(each.name)} {each.type}', *told))}{other}", description)


def _described(head: str, description: str) -> str:
    return f"{head}: {cleaned_text(description)}" if description else head


def _other_words(name: str, said: Iterable[str]) -> str:
    """The words of a catalog that the name does not say itself."""
    found = [cleaned_text(word) for word in said if word not in (name, " ".join(words(name)))]
    return f" ({', '.join(found)})" if found else ""


def _listed(properties: Sequence[PropertyKey]) -> str:
    more = [f"and {len(properties) - _MOST_PROPERTIES} more"] if len(properties) > _MOST_PROPERTIES else []
    return ", ".join([*(f"{cleaned_text(each.name)} {each.type}" for each in properties[:_MOST_PROPERTIES]), *more])


@lru_cache(maxsize=1 << 14)
def _singular(text: str) -> str:
    """The words of a text in the singular, each between blanks."""
    return f" {' '.join(map(noun_lemma, words(text)))} "
