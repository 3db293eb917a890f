"""Run the LLM backends of data generation on the shipped catalogue and compare them with the rules.

    python -m research.datagen_llm --llm-url http://127.0.0.1:8000/v1 --llm-model NAME --paths 60 --out DIR

Four parts: outputs of tools whose documents are hidden, sequences, requests, and the validators on those requests and on a
sample of the instruments (which measure and never tune). DIR keeps the answers, so a run that stops goes on where it
was, and what each part cost over all runs; ``report.json`` and ``report.md`` are written again after each part.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from datagen.interfaces import RequestValidator, ToolOutputs
from datagen.llm import LlmGenerator, LlmOutputs, LlmSequence, llm_validators
from datagen.paths.path_sampler import find_paths
from datagen.paths.pp_graph import build_pp_graph
from datagen.paths.rp_graph import build_rp_graph
from datagen.paths.rules_outputs import RulesOutputs
from datagen.paths.rules_sequence import RulesSequence
from datagen.profiled_catalogue import ProfiledCatalogue
from datagen.synthetic_request import CLASSES, RejectedRequest, SyntheticRequest
from datagen.tool_links import ToolLinks
from datagen.tool_path import PathEdge
from datagen.validation.rules_validator import rules_validators
from inference import OpenAIChat, load_encoder
from inference.result_cache import ResultCache
from ingest.sources import read_catalog
from ontology import load_ontology
from ontology.errors import ModelError
from ontology.files import write_file
from ontology.names import canonical_name, identified_entity
from research.llm_cost import CostLedger, CountedChat, render
from research.validator_accuracy import CATALOG, INSTRUMENTS, accuracy_of, read_cases
from scripts.run_command import run_command

T = TypeVar("T")
_ENCODER = "egotools-minilm-int8.v1"
_BARE = frozenset(("id", "uuid", "number", "code", "key"))
_SHOWN = 12
PARTS = ("outputs", "sequence", "requests", "validators", "instruments")


@dataclass(frozen=True, kw_only=True)
class StudyPlan:
    """How much of each part is run.

    :param paths: requests to generate, spread over the classes.
    :param hidden: tools whose documented outputs are hidden.
    :param edges: sequences to validate.
    :param sample: good and bad requests of the instruments, each.
    """

    paths: int = 60
    hidden: int = 40
    edges: int = 60
    sample: int = 40
    seed: int = 0


def main(
    llm_url: Annotated[str, typer.Option(help="up to and including /v1")],
    llm_model: Annotated[str, typer.Option()],
    out: Annotated[Path, typer.Option()],
    catalog: Annotated[list[str] | None, typer.Option(help="tool documents; the shipped ones by default")] = None,
    paths: Annotated[int, typer.Option(help="requests to generate, spread over the classes")] = 60,
    hidden: Annotated[int, typer.Option(help="tools whose documented outputs are hidden")] = 40,
    edges: Annotated[int, typer.Option(help="sequences to validate")] = 60,
    sample: Annotated[int, typer.Option(help="good and bad requests of the instruments, each")] = 40,
    minutes: Annotated[float, typer.Option(help="of the model's time, over all runs into OUT")] = 60.0,
    timeout_s: float = 600.0,
    seed: int = 0,
    parts: Annotated[str, typer.Option(help="only these, comma-separated")] = ",".join(PARTS),
) -> None:
    """Run the parts, write the report."""
    out.mkdir(parents=True, exist_ok=True)
    ledger = CostLedger(out / "spent.json", minutes=minutes)
    chat = CountedChat(OpenAIChat(llm_model, base_url=llm_url, timeout_s=timeout_s), ledger)
    tools = tuple(sorted(read_catalog(catalog or [str(CATALOG)]).tools, key=lambda tool: tool.id))
    catalogue = ProfiledCatalogue(snapshot_id="", tools=tools, ontology=load_ontology())
    written = out / "report.json"
    results: dict[str, Any] = json.loads(written.read_text(encoding="utf-8")) if written.exists() else {}
    results.update(model=chat.name, tools=len(tools))
    plan = StudyPlan(paths=paths, hidden=hidden, edges=edges, sample=sample, seed=seed)
    with ResultCache(out / "cache.sqlite") as cache:
        run = _Run(catalogue, chat, cache, plan)
        for part in PARTS:
            if part in parts.split(","):
                ledger.part = part
                results[part] = getattr(run, part)()
            results["spent"] = ledger.spent
            write_file(written, json.dumps(results, indent=1, ensure_ascii=False) + "\n")
            write_file(out / "report.md", render(results))


class _Run:
    """The parts, each with what it needs of the others."""

    def __init__(self, catalogue: ProfiledCatalogue, chat: CountedChat, cache: ResultCache, plan: StudyPlan) -> None:
        self.catalogue, self.chat, self.cache, self.plan = catalogue, chat, cache, plan
        self.documented = RulesOutputs(catalogue).find()
        self.rp = build_rp_graph(catalogue, self.documented)
        self.generated: list[SyntheticRequest] = []

    def outputs(self) -> dict[str, Any]:
        """Outputs found of tools whose documents no longer say them, by rules and by the model."""
        truth = {tool.id: self._wanted(tool.id) for tool in self.catalogue.tools if tool.returns}
        hidden = set(spread([tool for tool, wanted in truth.items() if wanted], self.plan.hidden))
        tools = tuple(replace(tool, returns=()) if tool.id in hidden else tool for tool in self.catalogue.tools)
        silent = ProfiledCatalogue(snapshot_id="", tools=tools, ontology=self.catalogue.ontology)
        by_rules = RulesOutputs(silent).find()
        # Every other tool that documents nothing would be asked about too; only the hidden ones can be measured.
        others = {tool.id for tool in silent.tools if not tool.returns and tool.id not in hidden}
        asked = replace(silent, tools=tuple(tool for tool in silent.tools if tool.id not in others))
        try:
            by_model = LlmOutputs(asked, self.chat, self.cache, concurrency=1).find()
        except ModelError as error:
            return {"stopped": str(error)}
        return {
            "hidden": len(hidden),
            "rules.v1": self._scored(by_rules, hidden),
            "llm.v1": self._scored(by_model, hidden),
            "rejected": reasons(one for one in by_model.rejected if one.subject[0] in hidden),
            "examples": [self._shown(tool, by_rules, by_model) for tool in spread(sorted(hidden), _SHOWN)],
        }

    def sequence(self) -> dict[str, Any]:
        """Verdicts on edges, half of them edges that the rules let pass."""
        rules, model = RulesSequence(self.catalogue, self.rp), LlmSequence(self.catalogue, self.chat, self.cache)
        validated = [(edge, rules.validate(edge)) for edge in _one_each(self.rp)]
        half = self.plan.edges // 2
        chosen = [
            pair
            for passed in (True, False)
            for pair in spread([(edge, verdict) for edge, verdict in validated if verdict.passed is passed], half)
        ]
        table: Counter[str] = Counter()
        rows = []
        stopped = ""
        for edge, by_rules in chosen:
            try:
                by_model = model.validate(edge)
            except ModelError as error:
                stopped = str(error)
                break
            table[f"rules {_said(by_rules.passed)}, model {_said(by_model.passed)}"] += 1
            what = f"{edge.source} → {edge.target} ({edge.output} → {edge.parameter})"
            rows.append([what, _said(by_rules.passed), by_rules.reason, _said(by_model.passed), by_model.reason])
        agreed = sum(row[1] == row[3] for row in rows)
        return {
            "edges": len(rows),
            "agreed": agreed,
            "table": dict(sorted(table.items())),
            "examples": spread(rows, _SHOWN),
            "stopped": stopped,
        }

    def requests(self) -> dict[str, Any]:
        """Requests over paths of each class."""
        each = max(1, self.plan.paths // len(CLASSES))
        pp = build_pp_graph(self.catalogue, load_encoder(_ENCODER))
        rules = RulesSequence(self.catalogue, self.rp)
        wanted = {name: each for name in CLASSES}
        paths = find_paths(self.catalogue, self.rp, pp.links, rules, wanted=wanted, seed=self.plan.seed)
        generator = LlmGenerator(self.catalogue, self.chat, self.cache)
        rejected: list[RejectedRequest] = []
        stopped = ""
        try:
            for name in CLASSES:
                for number, path in enumerate(paths.by_class[name][:each], 1):
                    made = generator.generate(path, name, seed=self.plan.seed)
                    if isinstance(made, RejectedRequest):
                        rejected.append(made)
                    else:
                        self.generated.append(
                            SyntheticRequest(
                                id=f"{name}-{number:02}", text=made.text, request_class=name, path=path,
                                values=made.values, generator=generator.name,
                            )
                        )  # fmt: skip
        except ModelError as error:
            stopped = str(error)
        return {
            "asked": len(self.generated) + len(rejected),
            "generated": dict(Counter(one.request_class for one in self.generated)),
            "rejected by reason": reasons(rejected),
            "rejected by class": dict(Counter(one.request_class for one in rejected)),
            "requests": [one.to_json() for one in self.generated],
            "rejected": [asdict(one) for one in rejected],
            "stopped": stopped,
        }

    def validators(self) -> dict[str, Any]:
        """What the model says of its own requests, and what the rules say of them."""
        if not self.generated:
            self.requests()
        found: dict[str, Any] = {"requests": len(self.generated)}
        for validator in self._validators():
            found[f"{validator.name} {validator.check}"] = self._passed(validator, self.generated)
        return found

    def instruments(self) -> dict[str, Any]:
        """Balanced accuracy of the model's validators on a sample of the instruments, check by check."""
        cases = [case for case in read_cases(INSTRUMENTS) if all(t in self.catalogue for t in case.request.path.tools)]
        good = spread([case for case in cases if not case.check], self.plan.sample)
        faulty = sum(bool(case.check) for case in cases)
        found: dict[str, Any] = {}
        for validator in llm_validators(self.catalogue, self.rp, self.chat, self.cache):
            planted = [case for case in cases if case.check == validator.check]
            sample = spread(planted, self.plan.sample * len(planted) // max(1, faulty) + 1)
            try:
                accuracy = accuracy_of(validator, [*good, *sample])
            except ModelError as error:
                found[validator.check] = {"stopped": str(error)}
                continue
            found[validator.check] = {
                "good that pass": f"{accuracy.good.hits} of {accuracy.good.of}",
                "bad that fail": f"{accuracy.bad.hits} of {accuracy.bad.of}",
                "balanced accuracy": accuracy.balanced and round(accuracy.balanced, 3),
            }
        return found

    def _validators(self) -> list[RequestValidator]:
        return [
            *rules_validators(self.catalogue, self.rp),
            *llm_validators(self.catalogue, self.rp, self.chat, self.cache),
        ]

    def _passed(self, validator: RequestValidator, requests: Iterable[SyntheticRequest]) -> dict[str, Any]:
        verdicts = []
        stopped = ""
        try:
            for request in requests:
                verdicts.append(validator.validate(request))
        except ModelError as error:
            stopped = str(error)
        unusable = sum("no usable verdict" in verdict.reason for verdict in verdicts)
        passed = sum(verdict.passed for verdict in verdicts)
        return {"validated": len(verdicts), "passed": passed, "unusable": unusable, "stopped": stopped}

    def _wanted(self, tool_id: str) -> set[str]:
        """The documented outputs that can be picked from the list: inputs of other tools, and not the tool's own."""
        listed = {self._key("", name) for name in self.catalogue.parameter_index.parameters}
        listed -= {self._key(tool_id, one.name) for one in self.catalogue.tool(tool_id).parameters}
        outputs = self.documented.by_tool.get(tool_id, ())
        return {key for one in outputs if one.documented and (key := self._key(tool_id, one.name)) in listed}

    def _key(self, tool_id: str, name: str) -> str:
        """One name for what is one thing: ``items[].id`` of an order and ``orderNumber`` are its identifier."""
        last = name.rsplit(".", 1)[-1]
        abbreviations = self.catalogue.ontology.abbreviations
        if entity := identified_entity(last, abbreviations):
            return f"{entity} id"
        key = canonical_name(last, abbreviations)
        return f"{self.catalogue.profile(tool_id).entity} id" if key in _BARE and tool_id else key

    def _scored(self, found: ToolOutputs, hidden: set[str]) -> dict[str, Any]:
        named = right = wanted = met = 0
        for tool in sorted(hidden):
            keys = {self._key(tool, one.name) for one in found.by_tool.get(tool, ())}
            every = {self._key(tool, one.name) for one in self.catalogue.tool(tool).returns}
            expected = self._wanted(tool)
            named, right = named + len(keys), right + len(keys & every)
            wanted, met = wanted + len(expected), met + len(keys & expected)
        return {
            "named": named, "right": right, "precision": _share(right, named),
            "wanted": wanted, "met": met, "recall": _share(met, wanted),
        }  # fmt: skip

    def _shown(self, tool: str, by_rules: ToolOutputs, by_model: ToolOutputs) -> list[str]:
        documented = ", ".join(one.name for one in self.documented.by_tool[tool] if one.documented)
        rules = ", ".join(one.name for one in by_rules.by_tool.get(tool, ())) or "none"
        model = "; ".join(f"{one.name} {one.confidence:.2f}: {one.reason}" for one in by_model.by_tool.get(tool, ()))
        return [tool, documented, rules, model or "none"]


def spread(items: Sequence[T], count: int) -> list[T]:
    """At most so many, spread over the sequence."""
    return [items[number * len(items) // count] for number in range(count)] if len(items) > count else list(items)


def reasons(rejected: Iterable[RejectedRequest]) -> dict[str, int]:
    """How often each reason, without what it was about."""
    return dict(Counter(re.split(r" \(|:? '", one.reason)[0] for one in rejected).most_common())


def _one_each(links: ToolLinks) -> list[PathEdge]:
    """The surest edge between each two tools."""
    best: dict[tuple[str, str], PathEdge] = {}
    for edge in links:
        known = best.get((edge.source, edge.target))
        if known is None or edge.confidence > known.confidence:
            best[edge.source, edge.target] = edge
    return [best[pair] for pair in sorted(best)]


def _share(part: int, whole: int) -> float:
    return round(part / whole, 3) if whole else 0.0


def _said(passed: bool) -> str:
    return "yes" if passed else "no"


if __name__ == "__main__":
    run_command(main)
