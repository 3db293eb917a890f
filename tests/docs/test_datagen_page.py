"""The page on data generation says of the validators what the instruments say."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from datagen.paths.rp_graph import build_rp_graph
from datagen.paths.rules_outputs import RulesOutputs
from datagen.validation.rules_validator import rules_validators
from ontology.proportion import Proportion
from research.validator_accuracy import CATALOG, INSTRUMENTS, accuracy_of, figures, load_shipped, read_cases
from tests.conftest import ROOT

PAGE = (ROOT / "docs" / "datagen.md").read_text(encoding="utf-8")


STORED = {"": INSTRUMENTS} | {f", a {name} set": INSTRUMENTS / name for name in ("second", "third", "fourth", "fifth")}


def _stored(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "figures.json").read_text(encoding="utf-8"))
    return found


@pytest.mark.parametrize("suffix", STORED)
def test_the_accuracy_of_the_checks_is_what_was_stored(suffix: str) -> None:
    for check, one in _stored(STORED[suffix]).items():
        if not one["bad"][1]:
            continue  # The second set was written for the sequence check alone.
        row = re.search(rf"^\| {check}{suffix} \| (\d.*) \|$", PAGE, re.MULTILINE)
        assert row is not None
        good, bad = Proportion(*one["good"]), Proportion(*one["bad"])
        assert row[1] == f"{_share(good)} | {_share(bad)} | {(good.hits / good.of + bad.hits / bad.of) / 2:.3f}"


def _share(share: Proportion) -> str:
    assert share.low is not None and share.high is not None
    shown = f"{100 * share.hits / share.of:.1f} % of {share.of}"
    return f"{shown} [{100 * share.low:.0f}, {100 * share.high:.0f}]"


def test_the_rules_are_as_good_on_the_first_set_as_was_stored() -> None:
    """Only of the set that rules may be made with: a test that scores the later ones would guide whoever changes a rule."""
    catalogue = load_shipped(CATALOG)
    validators = rules_validators(catalogue, build_rp_graph(catalogue, RulesOutputs(catalogue).find()))
    cases = read_cases(INSTRUMENTS)
    found = figures(accuracy_of(validator, cases) for validator in validators)
    assert {
        (check, kind): found[check][kind]
        for check, stored in _stored(INSTRUMENTS).items()
        for kind in ("good", "bad")
        if found[check][kind][0] < stored[kind][0] or found[check][kind][1] != stored[kind][1]
    } == {}
