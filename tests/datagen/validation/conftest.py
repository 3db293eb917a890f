"""The shipped catalogue as data generation sees it, and its validators, made once."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from datagen.interfaces import RequestValidator
from datagen.paths.rp_graph import build_rp_graph
from datagen.paths.rules_outputs import RulesOutputs
from datagen.profiled_catalogue import ProfiledCatalogue
from datagen.synthetic_request import SyntheticRequest, Verdict
from datagen.validation.rules_validator import rules_validators
from research.validator_accuracy import CATALOG, load_shipped

Validated = Callable[[str, str, str, str], Verdict]
"""(check, class, tools in one line, text) → the verdict."""


@pytest.fixture(scope="session")
def enterprise() -> ProfiledCatalogue:
    return load_shipped(CATALOG)


@pytest.fixture(scope="session")
def validators(enterprise: ProfiledCatalogue) -> Mapping[str, RequestValidator]:
    rp = build_rp_graph(enterprise, RulesOutputs(enterprise).find())
    return {validator.check: validator for validator in rules_validators(enterprise, rp)}


@pytest.fixture(scope="session")
def validated(validators: Mapping[str, RequestValidator]) -> Validated:
    def validator(check: str, label: str, tools: str, text: str) -> Verdict:
        row = {"id": "1", "query": text, "class": label, "tools": tools.split()}
        return validators[check].validate(SyntheticRequest.from_json(row))

    return validator
