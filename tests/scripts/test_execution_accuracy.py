"""Graphs that a measurement kept are executed with the names of the request that is asked."""

from __future__ import annotations

from pathlib import Path

import pytest

from ontology.errors import ModelError
from planners.dfs.query_graph import QueryGraph
from planners.dfs.request_set import GoldRequest
from scripts.execution_accuracy import as_kept
from scripts.parser_accuracy import ParsedGold
from tests.planners.dfs.personal_tables import graph_of


def _gold(id_: str, name: str) -> GoldRequest:
    return GoldRequest(id=id_, split="dev", paper=False, hops=1, request=f"Mails of {name}", graph=_graph(name))


def _graph(name: str, kind: str = "e from p") -> QueryGraph:
    return graph_of("e", "all", f"{kind}; e.subject contains Mails; p.name = {name}")


def test_names_are_replaced_in_the_graph_that_was_kept_and_a_refusal_is_an_error(tmp_path: Path) -> None:
    made = [
        ParsedGold(id="personal-1", graph=_graph("Jane Doe", "e to p"), seconds=1.0),
        ParsedGold(id="personal-2", graph=None, seconds=1.0, said="it cannot say"),
    ]
    kept = tmp_path / "kept.jsonl"
    kept.write_text("".join(f"{each.model_dump_json(by_alias=True)}\n" for each in made))
    graphs = as_kept(kept)
    assert graphs(_gold("personal-1", "Ann Reed"), _gold("personal-1", "Jane Doe")) == _graph("Ann Reed", "e to p")
    with pytest.raises(ModelError, match="it cannot say"):
        graphs(_gold("personal-2", "Ann Reed"), _gold("personal-2", "Jane Doe"))
