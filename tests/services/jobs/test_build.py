"""The report of a build."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from inference import HashingEncoder
from ingest.extract.extractor import Extraction
from ingest.extract.rules_extractor import RulesExtractor
from ontology import Tool, load_ontology
from services.jobs.build import build_snapshot


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
