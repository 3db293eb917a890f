"""The shipped catalogue as data generation sees it, and its judges, made once."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from datagen.catalogue import Catalogue
from datagen.paths.rp_graph import build_rp_graph
from datagen.paths.rules_outputs import RulesOutputs
from datagen.seams import RequestJudge
from datagen.synthetic_request import SyntheticRequest, Verdict
from datagen.validation.rules_validator import rules_judges
from research.validator_accuracy import CATALOG, load_shipped

Judged = Callable[[str, str, str, str], Verdict]
"""(check, class, tools in one line, text) → the verdict."""


@pytest.fixture(scope="session")
def enterprise() -> Catalogue:
    return load_shipped(CATALOG)


@pytest.fixture(scope="session")
def judges(enterprise: Catalogue) -> Mapping[str, RequestJudge]:
    rp = build_rp_graph(enterprise, RulesOutputs(enterprise).find())
    return {judge.check: judge for judge in rules_judges(enterprise, rp)}


@pytest.fixture(scope="session")
def judged(judges: Mapping[str, RequestJudge]) -> Judged:
    def judge(check: str, label: str, tools: str, text: str) -> Verdict:
        row = {"id": "1", "query": text, "class": label, "tools": tools.split()}
        return judges[check].judge(SyntheticRequest.from_json(row))

    return judge
