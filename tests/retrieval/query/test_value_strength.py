"""How much a value says: less the more tools it fits, nothing where its shape fits words, and of many entities none."""

from __future__ import annotations

from pathlib import Path

import pytest

from ontology import Ontology, Parameter, Tool
from retrieval.query.typed_values import find_values
from retrieval.query.value_tools import support_by_values
from retrieval.snapshot.reader import Snapshot, open_snapshot
from tests.retrieval.conftest import content_of, published


def snapshot_of(folder: Path, ontology: Ontology, examples: dict[str, str]) -> Snapshot:
    """A tool for each input, with its example."""
    tools = [
        Tool(
            id=f"crm/t{number}",
            name=f"t{number}",
            description="Does it.",
            parameters=(Parameter(name=name, required=True, example=example),),
        )
        for number, (name, example) in enumerate(examples.items())
    ]
    published(folder, content_of(tools, ontology))
    return open_snapshot(folder)


def strongest(snapshot: Snapshot, text: str) -> float:
    return max(support_by_values(snapshot, find_values(text, snapshot.value_shapes)).values(), default=0.0)


def test_a_shape_of_many_tools_says_less_than_one_of_a_single_tool(tmp_path: Path, ontology: Ontology) -> None:
    common = {f"case_{number}_id": "C-21066" for number in range(8)}
    snapshot = snapshot_of(tmp_path, ontology, {**common, "shipment_id": "SH-90455"})
    assert strongest(snapshot, "that is SH-90400") > strongest(snapshot, "that is C-21000") > 0


def test_a_prefix_of_too_many_entities_says_nothing(tmp_path: Path, ontology: Ontology) -> None:
    few = snapshot_of(tmp_path / "few", ontology, {"customer_id": "", "invoice_id": ""})
    assert strongest(few, "that is C-21066") > 0
    names = "case contract carrier candidate card claim class clinic cloud club coach code colour comment company contact container cost count country"
    many = snapshot_of(
        tmp_path / "many", ontology, {f"{name}_id": "" for name in [*names.split(), "course", "crew", "customer"]}
    )
    assert strongest(many, "that is C-21066") == pytest.approx(0)
