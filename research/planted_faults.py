"""How many planted faults the validators find on any catalogue: ``python -m research.planted_faults STORE QUERIES``.

``QUERIES`` are labelled requests, as ``egotools datagen`` writes them (``queries.jsonl``), ``STORE`` is the store they were made
from. Each request is taken as right, and changed in one way at a time where it allows that: two steps change places, a tool is
replaced by its opposite, a value is left out. For each kind of fault is printed how many the check of that fault finds, and for
each check how many requests pass as they are. A request was let through by the rules of its day, so a lower rate is what
today's rules refuse more; whether they are right in that has to be read. The same seed plants the same faults.

``answered-condition`` plants no fault: its condition is on an output that the reading tool has. It belongs to the requests
that are right.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import typer

from datagen.extended_profiles import only_reads
from datagen.paths.rp_graph import build_rp_graph
from datagen.paths.rules_outputs import RulesOutputs
from datagen.profiled_catalogue import ProfiledCatalogue
from datagen.synthetic_request import DEPENDENT_CLASSES, SampleValue, SyntheticRequest
from datagen.tool_links import ToolLinks
from datagen.tool_path import ToolPath
from datagen.validation.rules_validator import rules_validators
from ingest.linking import GENERIC_NAMES, local_name, type_family
from ontology.names import words
from ontology.proportion import Proportion
from ontology.tool import Parameter, Tool
from research.validator_accuracy import Accuracy, Case, accuracy_of, table
from scripts.run_command import run_command

__all__ = ["FAULTS", "Material", "plant_faults", "read_queries"]

_ANSWERED = "answered-condition"
_OPPOSITES = (
    "enable/disable add/remove approve/deny approve/reject accept/reject attach/detach associate/disassociate start/stop "
    "archive/unarchive lock/unlock subscribe/unsubscribe open/close block/unblock activate/deactivate grant/revoke tag/untag "
    "register/deregister pin/unpin suspend/resume assign/unassign follow/unfollow invite/kick join/leave increase/decrease"
).split()
_ENDS = "from/to source/destination source/target start/end since/until sender/recipient after/before".split()
_LEADS = (
    "for of to in on at from until by with called named as under about saying described titled into via over".split()
)
_MAX_LEAD_WORDS = 4
_CONDITION = re.compile(r"(?P<cue>\b(?:[Ii]f|[Pp]rovided|[Aa]ssuming|[Ii]n case)\b)(?P<said>[^,.?!]*),")
_MISFITS: Mapping[str, Sequence[str]] = {
    "number": ("next Tuesday", "purple", "Anna Berg"),
    "date": ("500 EUR", "40 percent", "a.berg@oakfield.example"),
    "enum": ("purple", "next Tuesday", "500 EUR"),
    "flag": ("500 EUR", "next Tuesday"),
    "email": ("12 May", "500 EUR"),
    "id": ("3 March", "40 percent"),
}
_SCALARS = ("number", "integer", "time", "boolean", "string")


@dataclass(frozen=True, kw_only=True)
class Material:
    """What faults are made of: the catalogue and its R-P edges."""

    catalogue: ProfiledCatalogue
    rp: ToolLinks

    def required(self, tool: Tool) -> frozenset[str]:
        """The inputs without which a tool cannot be called."""
        return frozenset(
            one.name for one in tool.parameters if one.required and "." not in one.name and not one.default
        )

    def parameter(self, value: SampleValue) -> Parameter | None:
        """The input of a value."""
        tool = self.catalogue.tool(value.tool)
        return next((one for one in tool.parameters if one.name == value.parameter), None)

    def reads(self, tool_id: str) -> bool:
        """Whether a tool gets, lists or searches."""
        return only_reads(self.catalogue.profile(tool_id))


def swap_steps(request: SyntheticRequest, material: Material, draw: random.Random) -> SyntheticRequest | None:
    """Two tools change places, of which one gives what the other requires and nothing states."""
    stated = {(value.tool, value.parameter) for value in request.values}
    tools = list(request.path.tools)
    edges = [
        edge
        for edge in request.path.edges
        if edge.kind == "R-P"
        and edge.parameter in material.required(material.catalogue.tool(edge.target))
        and (edge.target, edge.parameter) not in stated
    ]
    if request.request_class not in DEPENDENT_CLASSES or not edges:
        return None
    edge = draw.choice(edges)
    one, other = tools.index(edge.source), tools.index(edge.target)
    tools[one], tools[other] = tools[other], tools[one]
    return _with_tools(request, tools)


def take_the_opposite(request: SyntheticRequest, material: Material, draw: random.Random) -> SyntheticRequest | None:
    """A tool is replaced by the one that does the opposite and requires no more: enable for disable."""
    found = [(tool, other) for tool in request.path.tools for other in _opposites(tool, material)]
    if not found:
        return None
    tool, other = draw.choice(found)
    inputs = {parameter.name for parameter in material.catalogue.tool(other).parameters}
    values = [
        replace(value, tool=other) if value.tool == tool else value
        for value in request.values
        if value.tool != tool or value.parameter in inputs
    ]
    edges = [
        replace(
            edge,
            source=other if edge.source == tool else edge.source,
            target=other if edge.target == tool else edge.target,
        )
        for edge in request.path.edges
    ]
    path = ToolPath(
        tools=tuple(other if one == tool else one for one in request.path.tools),
        edges=tuple(edges),
        shape=request.path.shape,
    )
    return replace(request, path=path, values=tuple(values))


def _opposites(tool_id: str, material: Material) -> Iterator[str]:
    tool = material.catalogue.tool(tool_id)
    said = words(local_name(tool))
    pairs = [pair.split("/") for pair in _OPPOSITES]
    turned = {one: other for pair in pairs for one, other in (pair, pair[::-1])}
    wanted = [[*said[:at], turned[word], *said[at + 1 :]] for at, word in enumerate(said) if word in turned]
    for other in material.catalogue.tools:
        if other.namespace == tool.namespace and words(local_name(other)) in wanted:
            if material.required(other) <= material.required(tool):
                yield other.id


def swap_ends(request: SyntheticRequest, material: Material, draw: random.Random) -> SyntheticRequest | None:
    """The values of two inputs change places, of which one is the opposite end of the other: from and to."""
    pairs = [pair.split("/") for pair in _ENDS]
    found = [
        (at, number)
        for at, one in enumerate(request.values)
        for number, other in enumerate(request.values)
        if one.tool == other.tool
        and any(
            words(one.parameter) == [end if word == begin else word for word in words(other.parameter)]
            and words(one.parameter) != words(other.parameter)
            for begin, end in pairs
        )
        and one.value != other.value
    ]
    if not found:
        return None
    at, number = draw.choice(found)
    values = list(request.values)
    values[at], values[number] = (
        replace(values[at], value=values[number].value),
        replace(values[number], value=values[at].value),
    )
    return replace(request, values=tuple(values))


def leave_out(request: SyntheticRequest, material: Material, draw: random.Random) -> SyntheticRequest | None:
    """A required value is left out of the text, with the words before it up to a preposition."""
    filled = {(edge.target, edge.parameter) for edge in request.path.edges if edge.kind == "R-P"}
    values = [
        value
        for value in request.values
        if value.parameter in material.required(material.catalogue.tool(value.tool))
        and (value.tool, value.parameter) not in filled
        and request.text.count(value.value) == 1
    ]
    draw.shuffle(values)
    for value in values:
        text = _without(request.text, value.value)
        if text:
            return replace(
                request, text=text, values=tuple(one for one in request.values if value.value not in one.value)
            )
    return None


def _without(text: str, value: str) -> str:
    """The text without a value and its preposition; empty where no preposition stands before it."""
    before, _, after = text.partition(value)
    said = before.split(" ")
    for back in range(2, min(_MAX_LEAD_WORDS, len(said)) + 1):
        if said[-back].lower() in _LEADS:
            return " ".join(f"{' '.join(said[:-back])} {after}".split()).replace(" ,", ",").replace(" .", ".")
        if said[-back][-1:] in ".,;:!?":
            return ""
    return ""


def ask_for_what_it_lacks(
    request: SyntheticRequest, material: Material, draw: random.Random
) -> SyntheticRequest | None:
    """The condition is on an output of another tool, which no tool of the path documents."""
    documents = _document_words(request, material)
    catalogue = material.catalogue
    alien = [
        output
        for tool in catalogue.tools
        if tool.namespace == catalogue.tool(request.path.tools[0]).namespace
        for output in tool.returns
        if _may_be_compared(output) and not set(_output_words(output)) & documents
    ]
    return _with_condition(request, material, alien, draw)


def ask_for_what_it_has(request: SyntheticRequest, material: Material, draw: random.Random) -> SyntheticRequest | None:
    """The condition is on an output of the tool that reads: no fault."""
    own = [output for output in material.catalogue.tool(request.path.tools[0]).returns if _may_be_compared(output)]
    return _with_condition(request, material, own, draw)


def _document_words(request: SyntheticRequest, material: Material) -> set[str]:
    said: set[str] = set()
    for tool in map(material.catalogue.tool, request.path.tools):
        texts = [tool.name, tool.title, tool.description]
        texts += [text for one in (*tool.parameters, *tool.returns) for text in (one.name, one.description)]
        said.update(word for text in texts for word in words(text))
    return said


def _may_be_compared(output: Parameter) -> bool:
    said = _output_words(output)
    return (
        1 <= len(said) <= 2
        and " ".join(said) not in GENERIC_NAMES
        and all(len(word) > 3 for word in said)
        and type_family(output.type) in _SCALARS
        and said[-1] not in ("token", "cursor", "next")
    )


def _output_words(output: Parameter) -> list[str]:
    return words(output.name.rsplit(".", 1)[-1])


def _with_condition(
    request: SyntheticRequest, material: Material, outputs: Sequence[Parameter], draw: random.Random
) -> SyntheticRequest | None:
    first = material.catalogue.tool(request.path.tools[0])
    found = _CONDITION.search(request.text)
    if request.request_class != "conditional-multi-step" or found is None or not outputs or not first.returns:
        return None
    if not material.reads(first.id):
        return None
    output = draw.choice(outputs)
    family = type_family(output.type)
    compared = {"number": "is over 500", "integer": "is over 500", "boolean": "is on", "time": "is before 1 May"}
    kept = dict.fromkeys(value.value for value in request.values if value.value in found["said"])
    thing = material.catalogue.profile(first.id).entity or "record"
    named = "".join(f" {value}" for value in kept)
    said = f"{found['cue']} the {' '.join(_output_words(output))} of the {thing}{named} {compared.get(family, 'is not empty')},"
    return replace(request, text=f"{request.text[: found.start()]}{said}{request.text[found.end() :]}")


def drop_resolver(request: SyntheticRequest, material: Material, draw: random.Random) -> SyntheticRequest | None:
    """The tool that finds something by its name is left out; the name is given for the identifier, or for nothing."""
    found = [
        (value, edge)
        for value in request.values
        for edge in request.path.edges
        if edge.kind == "R-P"
        and edge.source == value.tool
        and material.reads(edge.source)
        and not any(letter.isdigit() for letter in value.value)
        and edge.parameter in material.required(material.catalogue.tool(edge.target))
        and not (material.parameter(value) or Parameter(name="")).enum
    ]
    if not found:
        return None
    value, edge = draw.choice(found)
    values = [one for one in request.values if one.tool != edge.source]
    if draw.random() < 0.5:
        values.append(SampleValue(tool=edge.target, parameter=edge.parameter, value=value.value))
    left = _with_tools(request, [tool for tool in request.path.tools if tool != edge.source])
    return replace(left, values=tuple(values))


def add_unasked(request: SyntheticRequest, material: Material, draw: random.Random) -> SyntheticRequest | None:
    """A reading tool that requires nothing comes first; its words are not in the request."""
    said = set(words(request.text))
    catalogue = material.catalogue
    free = [
        tool.id
        for tool in catalogue.tools
        if material.reads(tool.id)
        and not material.required(tool)
        and tool.id not in {one for slot in request.path.slots for one in slot}
        and not set(words(catalogue.profile(tool.id).entity)) & said
        and not any(material.rp.between(tool.id, target) for target in request.path.tools)
    ]
    if not free or len(request.path.tools) >= 5:
        return None
    return _with_tools(request, [draw.choice(free), *request.path.tools])


def add_lookup(request: SyntheticRequest, material: Material, draw: random.Random) -> SyntheticRequest | None:
    """Before a tool that gets an identifier from the request comes one that finds this identifier."""
    found = [
        edge.source
        for value in request.values
        for edge in material.rp.into(value.tool)
        if edge.parameter == value.parameter
        and any(letter.isdigit() for letter in value.value)
        and material.reads(edge.source)
        and not material.required(material.catalogue.tool(edge.source))
        and edge.source not in request.path.tools
    ]
    if not found or len(request.path.tools) >= 5:
        return None
    return _with_tools(request, [draw.choice(sorted(set(found))), *request.path.tools])


def misfit(request: SyntheticRequest, material: Material, draw: random.Random) -> SyntheticRequest | None:
    """A value is replaced by one of another kind, in the text and in its label."""
    found = [
        (value, kind)
        for value in request.values
        if (kind := _value_kind(material.parameter(value), value.value)) and request.text.count(value.value) == 1
    ]
    if not found:
        return None
    value, kind = draw.choice(found)
    other = draw.choice(_MISFITS[kind])
    return replace(
        request,
        text=request.text.replace(value.value, other),
        values=tuple(replace(one, value=other) if one.value == value.value else one for one in request.values),
    )


def _value_kind(parameter: Parameter | None, value: str) -> str:
    if parameter is None:
        return ""
    family = type_family(parameter.type)
    if parameter.enum:
        return "enum"
    if family == "time" or parameter.format in ("date", "date-time"):
        return "date"
    if family in ("number", "integer") and any(letter.isdigit() for letter in value):
        return "id" if words(parameter.name)[-1:] == ["id"] else "number"
    if family == "boolean":
        return "flag"
    if "@" in value:
        return "email"
    return "id" if words(parameter.name)[-1:] == ["id"] and any(letter.isdigit() for letter in value) else ""


def _with_tools(request: SyntheticRequest, tools: Sequence[str]) -> SyntheticRequest:
    """The request with another path; its edges are those between its tools, its class is one of as many tools."""
    edges = tuple(edge for edge in request.path.edges if {edge.source, edge.target} <= set(tools))
    label = request.request_class
    if len(tools) == 1:
        label = "single-intent"
    elif label == "single-intent":
        label = "implicit-multi-step"
    shape = "single" if len(tools) == 1 else request.path.shape if request.path.shape != "single" else "chain"
    return replace(request, path=ToolPath(tools=tuple(tools), edges=edges, shape=shape), request_class=label)


Planter = Callable[[SyntheticRequest, Material, random.Random], SyntheticRequest | None]

FAULTS: Mapping[tuple[str, str], Planter] = {
    ("sequence", "wrong-order"): swap_steps,
    ("sequence", "wrong-direction"): take_the_opposite,
    ("sequence", "swapped-ends"): swap_ends,
    ("sequence", "unanswerable-condition"): ask_for_what_it_lacks,
    ("sequence", "missing-input"): leave_out,
    ("error", "missing-resolver"): drop_resolver,
    ("error", "superfluous-tool"): add_unasked,
    ("error", "superfluous-lookup"): add_lookup,
    ("error", "incompatible-value"): misfit,
}
"""(check, kind) → what plants such a fault."""


def plant_faults(requests: Iterable[SyntheticRequest], material: Material, seed: int) -> Iterator[Case]:
    """The requests as they are, those with another condition that is answered, and those with one fault each."""
    for request in requests:
        yield Case(request=request)
        answered = ask_for_what_it_has(request, material, random.Random(f"{seed}:{_ANSWERED}:{request.id}"))
        if answered is not None:
            yield Case(request=answered, kind=_ANSWERED)
        for (check, kind), plant in FAULTS.items():
            faulty = plant(request, material, random.Random(f"{seed}:{kind}:{request.id}"))
            if faulty is not None:
                yield Case(request=faulty, check=check, kind=kind)


def read_queries(path: Path) -> list[SyntheticRequest]:
    """The labelled requests of a file."""
    with path.open(encoding="utf-8") as lines:
        return [SyntheticRequest.from_json(json.loads(line)) for line in lines]


def kinds_table(found: Iterable[Accuracy]) -> str:
    """The faults found by kind as Markdown."""
    head = ["| check | kind | planted | found |", "|---|---|---:|---:|"]
    rows = [
        f"| {one.check} | {kind} | {share.of} | {_percent(share)} |"
        for one in found
        for kind, share in sorted(one.kinds.items())
    ]
    return "\n".join([*head, *rows])


def _percent(share: Proportion) -> str:
    return "none" if share.value is None else f"{100 * share.value:.1f} %"


def main(
    store: Annotated[Path, typer.Argument(help="store of the catalogue")],
    queries: Annotated[Path, typer.Argument(help="labelled requests of that catalogue")],
    seed: Annotated[int, typer.Option(help="of the draws")] = 1,
    show: Annotated[int, typer.Option(help="how many wrongly validated requests to print of each kind")] = 0,
) -> None:
    """Print the share of requests that pass, and the share of planted faults that are found, by kind."""
    from retrieval.snapshot.reader import open_snapshot

    catalogue = ProfiledCatalogue.of(open_snapshot(store))
    rp = build_rp_graph(catalogue, RulesOutputs(catalogue).find())
    cases = list(plant_faults(read_queries(queries), Material(catalogue=catalogue, rp=rp), seed))
    found = [accuracy_of(validator, cases) for validator in rules_validators(catalogue, rp)]
    print(table(found))
    print(f"\n{kinds_table(found)}")
    for one in found:
        for kind, missed in sorted(one.missed.items()):
            for case, reason in missed[:show]:
                print(f"\n{one.check}, {kind}: {case.request.text!r} {list(case.request.path.tools)}")
                print(f"  {[(value.parameter, value.value) for value in case.request.values]}: {reason}")


if __name__ == "__main__":
    run_command(main)
