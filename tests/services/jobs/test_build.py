"""The report of a build."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from egotools import UsageLines
from inference import HashingEncoder
from ingest.build_report import read_build_report
from ingest.extract.extractor import Extraction
from ingest.extract.rules_extractor import RulesExtractor
from ontology import InvalidArgumentError, Tool, load_ontology
from ontology.progress import no_progress
from retrieval.snapshot.reader import open_snapshot
from services.jobs.build import build, build_snapshot
from services.jobs.plans import BuildPlan, ChatEndpoint
from tests.harness.chat import Reply, chat_server


def _table(folder: Path) -> Path:
    table = folder / "tools.jsonl"
    row = {"name": "get_supplier", "description": "Gets the supplier. Use it when you know the id."}
    table.write_text(json.dumps(row) + "\n", encoding="utf-8")
    return table


@pytest.mark.parametrize("usage", ["rules", "none"])
def test_usage_lines_are_stored_apart_from_the_words_of_the_document(tmp_path: Path, usage: str) -> None:
    table = _table(tmp_path)
    plan = BuildPlan(addresses=(str(table),), store=tmp_path / "store", encoder="hashing.v1", usage=usage, workers=1)
    report = build(plan, no_progress)
    snapshot = open_snapshot(plan.store)
    lines = snapshot.usage(0)
    if usage == "none":
        assert lines == UsageLines()
        assert (snapshot.manifest.usage, report.usage.maker, report.usage.tools) == (None, "", 0)
        assert not list(snapshot.folder.glob("usage*"))
    else:
        assert [line.text for line in lines.when_to_use] == ["Use it when you know the id."]
        assert len(lines.requests) >= 4
        assert (snapshot.manifest.usage, report.usage.maker) == ("rules.v1", "rules.v1")
        assert (report.usage.tools, report.usage.without_when_to_use) == (1, 0)
    request = "show me the supplier"  # a line by rules, but no word of the document is "show"
    assert request in {line.text for line in lines.requests} or usage == "none"
    assert not snapshot.fields["whole"].scores(["show"]).any()
    assert "show" not in (snapshot.folder / "tools.jsonl").read_text(encoding="utf-8")


def test_usage_lines_by_a_model_count_in_the_report(tmp_path: Path) -> None:
    answer = {"when_to_use": [], "limitations": [], "requests": ["who is the supplier?", "fetch it from Salesforce"]}
    store = tmp_path / "store"
    with chat_server(lambda *_: Reply(text=json.dumps(answer))) as server:
        plan = BuildPlan(
            addresses=(str(_table(tmp_path)),),
            store=store,
            encoder="hashing.v1",
            usage="llm",
            workers=1,
            endpoint=ChatEndpoint(base_url=server.base_url, model="test"),
        )
        report = build(plan, no_progress)
        assert build(plan, no_progress).snapshot_id == report.snapshot_id
        assert server.hits == 1
    assert (report.usage.by_model, report.usage.dropped_by_reason) == (1, {"unknown-name": 1})
    origins = [line.origin for line in open_snapshot(store).usage(0).requests]
    assert origins == ["model", "rule", "rule", "rule"]


def test_an_unknown_kind_of_usage_lines_is_refused_with_the_known_ones(tmp_path: Path) -> None:
    plan = BuildPlan(addresses=(str(_table(tmp_path)),), store=tmp_path / "store", usage="magic")
    with pytest.raises(InvalidArgumentError) as refused:
        build(plan, no_progress)
    assert (refused.value.subject, refused.value.remedy) == ("--usage", "Use rules or llm or none")


_THINGS = "invoice order parcel refund voucher address card basket review return ticket contract".split()


class _FaultyExtractor(RulesExtractor):
    """The rules' triples, and each again with a confidence that no triple can have."""

    def extract(self, tools: Sequence[Tool]) -> Iterator[Extraction]:
        for extraction in super().extract(tools):
            faulty = (replace(triple, confidence=2.0) for triple in extraction.triples)
            yield replace(extraction, triples=(*extraction.triples, *faulty))


def test_the_report_counts_rejected_triples_by_predicate_and_reason(tmp_path: Path) -> None:
    table = tmp_path / "tools.jsonl"
    parameters = [{"name": "supplier_id", "type": "string", "required": True}]
    tool = {"name": "get_supplier", "description": "Gets the supplier.", "parameters": parameters}
    table.write_text(json.dumps(tool) + "\n", encoding="utf-8")
    extractor = _FaultyExtractor(load_ontology())
    report = build_snapshot([str(table)], tmp_path / "store", encoder=HashingEncoder(), extractor=extractor)
    triples = report.to_json()["triples"]
    counted = triples["rejected_by_predicate_and_reason"]
    assert counted == sorted(counted)
    assert {reason for _, reason, _ in counted} == {"confidence-range"}
    assert len(counted) > 1
    assert {predicate: count for predicate, _, count in counted} == triples["kept"]
    assert triples["rejected_by_reason"] == {"confidence-range": sum(triples["kept"].values())}


def test_the_report_names_boilerplate_and_hubs(tmp_path: Path) -> None:
    said = "Callers of legacy accounts need a signed agreement with the provider."
    rows = [{"name": f"get_{thing}", "description": f"Gets the {thing} of a customer. {said}"} for thing in _THINGS]
    table = tmp_path / "shop.jsonl"
    table.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    report = build_snapshot([str(table)], tmp_path / "store", encoder=HashingEncoder())
    assert report.boilerplate.sentences == 1
    assert report.boilerplate.examples == (("shop", said, 12),)
    assert report.hubs[0] == ("shop", "customer", 12, 1.0)
    assert "agreement" not in {hub.entity for hub in report.hubs}
    kept = read_build_report(tmp_path / "store", report.snapshot_id)
    assert kept is not None and (kept.boilerplate, kept.hubs) == (report.boilerplate, report.hubs)
