"""The report of a build."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from inference import HashingEncoder
from ingest.build_report import read_build_report
from ingest.extract.extractor import Extraction
from ingest.extract.rules_extractor import RulesExtractor
from ontology import Tool, load_ontology
from services.jobs.build import build_snapshot

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
