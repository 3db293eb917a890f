"""Run the ``llm`` twins of data generation on the shipped catalogue and say how good they were beside the rules.

    python -m research.datagen_llm --llm-url http://127.0.0.1:8000/v1 --llm-model NAME --paths 60 --out DIR

Four parts: outputs of tools whose documents are hidden, sequences, requests, and the validators on those requests and on a
sample of the instruments (which measure and never tune). DIR keeps the answers, so a run that stops goes on where it
was, and what each part cost over all runs; ``account.json`` and ``account.md`` are written anew after each part.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from datagen.catalogue import Catalogue
from datagen.links import Links
from datagen.llm import LlmGenerator, LlmOutputs, LlmSequence, llm_validators
from datagen.paths.path_sampler import find_paths
from datagen.paths.pp_graph import build_pp_graph
from datagen.paths.rp_graph import build_rp_graph
from datagen.paths.rules_outputs import RulesOutputs, available_parameters
from datagen.paths.rules_sequence import RulesSequence
from datagen.seams import RequestValidator, ToolOutputs
from datagen.synthetic_request import CLASSES, RejectedRequest, SyntheticRequest
from datagen.tool_path import PathEdge
from datagen.validation.rules_validator import rules_validators
from inference import OpenAIChat, load_encoder
from inference.result_cache import ResultCache
from ingest.sources import read_catalog
from ontology import load_ontology
from ontology.errors import ModelError
from ontology.files import write_file
from ontology.names import canonical_name, identified_entity
from research.llm_cost import Account, CountedChat, render
from research.validator_accuracy import CATALOG, INSTRUMENTS, accuracy_of, read_cases

T = TypeVar("T")
_ENCODER = "minilm-l6-int8.v1"
_BARE = frozenset(("id", "uuid", "number", "code", "key"))
_SHOWN = 12


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the arguments, run the parts, write the account."""
    chosen = _arguments(arguments)
    chosen.out.mkdir(parents=True, exist_ok=True)
    account = Account(chosen.out / "spent.json", minutes=chosen.minutes)
    chat = CountedChat(OpenAIChat(chosen.llm_model, base_url=chosen.llm_url, timeout_s=chosen.timeout_s), account)
    ontology = load_ontology()
    tools = tuple(sorted(read_catalog(chosen.catalog).tools, key=lambda tool: tool.id))
    catalogue = Catalogue(snapshot_id="", tools=tools, ontology=ontology)
    written = chosen.out / "account.json"
    results: dict[str, Any] = json.loads(written.read_text(encoding="utf-8")) if written.exists() else {}
    results.update(model=chat.name, tools=len(tools))
    with ResultCache(chosen.out / "cache.sqlite") as cache:
        run = _Run(catalogue, chat, cache, chosen)
        for part in ("outputs", "sequence", "requests", "validators", "instruments"):
            if part in chosen.parts:
                account.part = part
                results[part] = getattr(run, part)()
            results["spent"] = account.spent
            write_file(written, json.dumps(results, indent=1, ensure_ascii=False) + "\n")
            write_file(chosen.out / "account.md", render(results))


def _arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--llm-url", required=True, help="up to and including /v1")
    parser.add_argument("--llm-model", required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument(
        "--catalog", nargs="+", default=[str(CATALOG)], help="tool documents; the shipped ones by default"
    )
    parser.add_argument("--paths", type=int, default=60, help="requests to word, spread over the classes")
    parser.add_argument("--hidden", type=int, default=40, help="tools whose documented outputs are hidden")
    parser.add_argument("--edges", type=int, default=60, help="sequences to validate")
    parser.add_argument("--sample", type=int, default=40, help="good and bad requests of the instruments, each")
    parser.add_argument("--minutes", type=float, default=60.0, help="of the model's time, over all runs into DIR")
    parser.add_argument("--timeout-s", type=float, default=600.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--parts",
        nargs="+",
        default=["outputs", "sequence", "requests", "validators", "instruments"],
        help="only these",
    )
    return parser.parse_args(arguments)


class _Run:
    """The parts, each with what it needs of the others."""

    def __init__(self, catalogue: Catalogue, chat: CountedChat, cache: ResultCache, chosen: argparse.Namespace) -> None:
        self.catalogue, self.chat, self.cache, self.chosen = catalogue, chat, cache, chosen
        self.documented = RulesOutputs(catalogue).find()
        self.rp = build_rp_graph(catalogue, self.documented)
        self.worded: list[SyntheticRequest] = []

    def outputs(self) -> dict[str, Any]:
        """Outputs found of tools whose documents no longer say them, by rules and by the model."""
        truth = {tool.id: self._wanted(tool.id) for tool in self.catalogue.tools if tool.returns}
        hidden = set(spread([tool for tool, wanted in truth.items() if wanted], self.chosen.hidden))
        tools = tuple(replace(tool, returns=()) if tool.id in hidden else tool for tool in self.catalogue.tools)
        silent = Catalogue(snapshot_id="", tools=tools, ontology=self.catalogue.ontology)
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
        half = self.chosen.edges // 2
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
        each = max(1, self.chosen.paths // len(CLASSES))
        pp = build_pp_graph(self.catalogue, load_encoder(_ENCODER))
        rules = RulesSequence(self.catalogue, self.rp)
        wanted = {name: each for name in CLASSES}
        paths = find_paths(self.catalogue, self.rp, pp.links, rules, wanted=wanted, seed=self.chosen.seed)
        generator = LlmGenerator(self.catalogue, self.chat, self.cache)
        rejected: list[RejectedRequest] = []
        stopped = ""
        try:
            for name in CLASSES:
                for number, path in enumerate(paths.by_class[name][:each], 1):
                    made = generator.generate(path, name, seed=self.chosen.seed)
                    if isinstance(made, RejectedRequest):
                        rejected.append(made)
                    else:
                        self.worded.append(
                            SyntheticRequest(
                                id=f"{name}-{number:02}", text=made.text, request_class=name, path=path,
                                values=made.values, generator=generator.name,
                            )
                        )  # fmt: skip
        except ModelError as error:
            stopped = str(error)
        return {
            "asked": len(self.worded) + len(rejected),
            "worded": dict(Counter(one.request_class for one in self.worded)),
            "rejected by reason": reasons(rejected),
            "rejected by class": dict(Counter(one.request_class for one in rejected)),
            "requests": [one.to_json() for one in self.worded],
            "rejected": [one.to_json() for one in rejected],
            "stopped": stopped,
        }

    def validators(self) -> dict[str, Any]:
        """What the model says of its own requests, and what the rules say of them."""
        if not self.worded:
            self.requests()
        found: dict[str, Any] = {"requests": len(self.worded)}
        for validator in self._validators():
            found[f"{validator.name} {validator.check}"] = self._passed(validator, self.worded)
        return found

    def instruments(self) -> dict[str, Any]:
        """Balanced accuracy of the model's validators on a sample of the instruments, check by check."""
        cases = [case for case in read_cases(INSTRUMENTS) if all(t in self.catalogue for t in case.request.path.tools)]
        good = spread([case for case in cases if not case.check], self.chosen.sample)
        faulty = sum(bool(case.check) for case in cases)
        found: dict[str, Any] = {}
        for validator in llm_validators(self.catalogue, self.rp, self.chat, self.cache):
            planted = [case for case in cases if case.check == validator.check]
            sample = spread(planted, self.chosen.sample * len(planted) // max(1, faulty) + 1)
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
        listed = {self._key("", name) for name in available_parameters(self.catalogue)}
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


def _one_each(links: Links) -> list[PathEdge]:
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
    main()
