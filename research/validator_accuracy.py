"""How far the validators of labelled requests can be believed: ``python -m research.validator_accuracy [FOLDER]``.

``FOLDER`` holds ``good.jsonl``, requests that are right, and ``bad.jsonl``, requests with one planted fault each
(``fault.check``, ``fault.kind``). For each check are printed the share of good requests that pass, the share of the bad ones
of that check that fail, and the mean of both, with 95 % Wilson intervals; then the requests that were validated wrongly, by kind.
``--store`` also writes the counts of each check and kind to ``figures.json`` of the folder: a table of the documentation is held to
that file, so that no test scores a set that only measures. The tools are those of ``--catalog``. With ``--llm-url`` and ``--llm-model`` the validators are a chat model's.
"""

from __future__ import annotations

import json
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import typer

from datagen.interfaces import RequestValidator
from datagen.paths.rp_graph import build_rp_graph
from datagen.paths.rules_outputs import RulesOutputs
from datagen.profiled_catalogue import ProfiledCatalogue
from datagen.synthetic_request import SyntheticRequest
from datagen.validation.rules_validator import rules_validators
from ingest.sources import read_catalog
from ontology.ontology_file import load_ontology
from ontology.proportion import Proportion
from scripts.run_command import run_command

ROOT = Path(__file__).resolve().parent.parent
INSTRUMENTS = ROOT / "tests" / "datagen" / "instruments"
_NONE = Proportion(0, 0)
CATALOG = ROOT / "examples" / "enterprise" / "catalog"


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A request of which it is known whether it is right.

    :param check: the check that must fail it, empty for a good one.
    :param kind: which fault was planted.
    """

    request: SyntheticRequest
    check: str = ""
    kind: str = ""


@dataclass(slots=True, kw_only=True)
class Accuracy:
    """What one validator made of all cases.

    :param missed: kind of fault (``good`` for none) → the cases that were validated wrongly, each with the reason given.
    """

    check: str
    name: str
    good: Proportion = _NONE
    bad: Proportion = _NONE
    kinds: dict[str, Proportion] = field(default_factory=dict)
    missed: dict[str, list[tuple[Case, str]]] = field(default_factory=lambda: defaultdict(list))

    @property
    def balanced(self) -> float | None:
        """The mean of both shares in [0, 1]; None where good or bad cases are missing."""
        passed, failed = self.good.value, self.bad.value
        return None if passed is None or failed is None else (passed + failed) / 2


def read_cases(folder: Path) -> list[Case]:
    """The cases of a folder, good ones first."""
    return [*_cases(folder / "good.jsonl"), *_cases(folder / "bad.jsonl")]


def _cases(path: Path) -> Iterator[Case]:
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            row: Mapping[str, Any] = json.loads(line)
            fault = row.get("fault") or {}
            yield Case(
                request=SyntheticRequest.from_json(row), check=fault.get("check", ""), kind=fault.get("kind", "")
            )


def accuracy_of(validator: RequestValidator, cases: Iterable[Case]) -> Accuracy:
    """What a validator makes of the good cases and of those with a fault of its check."""
    found = Accuracy(check=validator.check, name=validator.name)
    for case in cases:
        if case.check not in ("", validator.check):
            continue
        verdict = validator.validate(case.request)
        right = verdict.passed == (not case.check)
        if case.check:
            found.bad = _counted(found.bad, right)
            found.kinds[case.kind] = _counted(found.kinds.get(case.kind, _NONE), right)
        else:
            found.good = _counted(found.good, right)
        if not right:
            found.missed[case.kind or "good"].append((case, verdict.reason))
    return found


def _counted(share: Proportion, hit: bool) -> Proportion:
    return Proportion(share.hits + hit, share.of + 1)


def load_shipped(catalog: Path) -> ProfiledCatalogue:
    """The tools of a folder of documents, as a catalogue that no snapshot stands behind."""
    tools = sorted(read_catalog([str(catalog)]).tools, key=lambda tool: tool.id)
    return ProfiledCatalogue(snapshot_id="", tools=tuple(tools), ontology=load_ontology())


def figures(found: Iterable[Accuracy]) -> dict[str, dict[str, Any]]:
    """Check -> the hits and the number of good and of bad cases, and of each kind of fault."""
    return {
        one.check: {
            "good": [one.good.hits, one.good.of],
            "bad": [one.bad.hits, one.bad.of],
            "kinds": {kind: [share.hits, share.of] for kind, share in sorted(one.kinds.items())},
        }
        for one in found
    }


def table(found: Iterable[Accuracy]) -> str:
    """The shares of all validators as Markdown."""
    rows = [
        f"| {one.check} | {one.name} | {_share(one.good)} | {_share(one.bad)} | "
        f"{'' if one.balanced is None else format(one.balanced, '.3f')} |"
        for one in found
    ]
    head = ["| check | validator | good that pass | bad that fail | balanced accuracy |", "|---|---|---|---|---|"]
    return "\n".join([*head, *rows])


def _share(share: Proportion) -> str:
    if share.value is None:
        return "none"
    return f"{share.value:.3f} [{share.low:.3f}, {share.high:.3f}] ({share.hits}/{share.of})"


def main(
    folder: Annotated[Path, typer.Argument(help="with good.jsonl and bad.jsonl")] = INSTRUMENTS,
    catalog: Annotated[Path, typer.Option(help="the documents of the tools")] = CATALOG,
    llm_url: Annotated[str, typer.Option(help="up to and including /v1: let a chat model validate")] = "",
    llm_model: str = "",
    quiet: Annotated[bool, typer.Option("--quiet", help="only the table, not what was validated wrongly")] = False,
    store: Annotated[bool, typer.Option("--store", help="write the counts to figures.json of the folder")] = False,
) -> None:
    """Print the table, and the wrongly validated requests by kind."""
    catalogue = load_shipped(catalog)
    cases = read_cases(folder)
    validators = _validators(catalogue, llm_url, llm_model)
    start = time.perf_counter()
    found = [accuracy_of(validator, cases) for validator in validators]
    seconds = time.perf_counter() - start
    print(table(found))
    print(f"\n{len(cases)} requests in {seconds:.2f} s")
    if store:
        (folder / "figures.json").write_text(json.dumps(figures(found), indent=1) + "\n", encoding="utf-8")
    if not quiet:
        print("\n".join(_wrong(found)))


def _validators(catalogue: ProfiledCatalogue, url: str, model: str) -> tuple[RequestValidator, ...]:
    rp = build_rp_graph(catalogue, RulesOutputs(catalogue).find())
    if not url:
        return rules_validators(catalogue, rp)
    from datagen.llm import llm_validators
    from inference import OpenAIChat

    return llm_validators(catalogue, rp, OpenAIChat(model, base_url=url))


def _wrong(found: Iterable[Accuracy]) -> Iterator[str]:
    for one in found:
        shares = {**one.kinds, "good": one.good}
        for kind, missed in sorted(one.missed.items()):
            yield f"\n{one.check}, {kind}: {len(missed)} of {shares[kind].of} validated wrongly"
            for case, reason in missed:
                yield f"  {case.request.request_class}: {case.request.text!r} {list(case.request.path.tools)}: {reason}"


if __name__ == "__main__":
    run_command(main)
