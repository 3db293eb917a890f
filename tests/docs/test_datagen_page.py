"""The page on data generation says of the validators what the instruments say."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from datagen.interfaces import RequestValidator
from datagen.paths.rp_graph import build_rp_graph
from datagen.paths.rules_outputs import RulesOutputs
from datagen.synthetic_request import CLASSES
from datagen.validation.rules_validator import rules_validators
from research.validator_accuracy import CATALOG, INSTRUMENTS, accuracy_of, load_shipped, read_cases
from tests.conftest import ROOT

PAGE = (ROOT / "docs" / "datagen.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def validators() -> Sequence[RequestValidator]:
    catalogue = load_shipped(CATALOG)
    return rules_validators(catalogue, build_rp_graph(catalogue, RulesOutputs(catalogue).find()))


@pytest.mark.parametrize(
    ("folder", "suffix"),
    [(INSTRUMENTS, ""), (INSTRUMENTS / "second", ", a second set"), (INSTRUMENTS / "third", ", a third set")],
)
def test_the_accuracy_of_the_checks_is_what_the_page_says(
    validators: Sequence[RequestValidator], folder: Path, suffix: str
) -> None:
    cases = read_cases(folder)
    for validator in validators:
        if "second" in suffix and validator.check != "sequence":
            continue  # the second set was written for it alone
        found = accuracy_of(validator, cases)
        row = re.search(rf"^\| {validator.check}{suffix} \| (\d.*) \|$", PAGE, re.MULTILINE)
        assert row is not None
        good, bad, balanced = re.findall(r"[\d.]+ % of \d+|\d\.\d+", row[1])
        assert good == f"{100 * found.good.hits / found.good.of:.1f} % of {found.good.of}"
        assert bad == f"{100 * found.bad.hits / found.bad.of:.1f} % of {found.bad.of}"
        assert float(balanced) == pytest.approx(
            (found.good.hits / found.good.of + found.bad.hits / found.bad.of) / 2, abs=6e-4
        )


def test_the_page_names_the_six_classes() -> None:
    assert re.findall(r"^\| `([a-z-]+)` \|", PAGE, re.MULTILINE) == list(CLASSES)
