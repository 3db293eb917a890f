"""The short form of query graphs: every gold graph can be written in it, and its schema admits nothing that the domain lacks."""

from __future__ import annotations

import json
from datetime import date

import pytest
from jsonschema import Draft202012Validator

from planners.dfs.domain import read_domain
from planners.dfs.graph_match import same_graph
from planners.dfs.parsing.written_graph import WrittenGraph, written_schema
from planners.dfs.request_set import request_set

TODAY = date(2026, 2, 15)
NAMES = ["personal", "enterprise"]


@pytest.mark.parametrize("name", NAMES)
def test_every_gold_graph_is_admitted_and_read_back(name: str) -> None:
    domain = read_domain(name)
    for each in (each for each in request_set(name) if each.split == "dev"):
        text = WrittenGraph.of(each.graph).text()
        Draft202012Validator(written_schema(domain, each.request, TODAY)).validate(json.loads(text))
        assert same_graph(WrittenGraph.model_validate_json(text).graph(domain), each.graph), each.id
