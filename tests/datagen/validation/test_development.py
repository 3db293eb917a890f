"""The validators on the requests that they were made with: 128 good ones and 134 with a planted fault."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import pytest

from datagen.interfaces import RequestValidator
from datagen.profiled_catalogue import ProfiledCatalogue
from datagen.synthetic_request import CLASSES
from research.validator_accuracy import Case, accuracy_of, main, read_cases, table

FOLDER = Path(__file__).parent / "development"


@pytest.fixture(scope="module")
def cases() -> list[Case]:
    return read_cases(FOLDER)


def test_every_class_and_every_check_has_its_cases(cases: list[Case], enterprise: ProfiledCatalogue) -> None:
    good = Counter(case.request.request_class for case in cases if not case.check)
    bad = Counter(case.check for case in cases if case.check)
    assert set(good) == set(CLASSES)
    assert min(good.values()) >= 15
    assert set(bad) == {"class", "sequence", "error"}
    assert min(bad.values()) >= 25
    assert all(tool in enterprise for case in cases for tool in case.request.path.tools)


@pytest.mark.parametrize("check", ["class", "sequence", "error"])
def test_balanced_accuracy(check: str, cases: list[Case], validators: Mapping[str, RequestValidator]) -> None:
    found = accuracy_of(validators[check], cases)
    assert found.balanced is not None
    assert found.balanced >= 0.95, found.missed


def test_what_a_validator_misses_is_listed_by_kind(
    cases: list[Case], validators: Mapping[str, RequestValidator]
) -> None:
    told = [Case(request=cases[0].request, check="class", kind="none at all"), cases[0]]
    found = accuracy_of(validators["class"], told)
    assert (found.good.hits, found.bad.hits, found.balanced) == (1, 0, 0.5)
    assert [case.kind for case, _ in found.missed["none at all"]] == ["none at all"]
    assert "0.000 [0.000, 0.793] (0/1)" in table([found])


def test_the_script_prints_its_table(capsys: pytest.CaptureFixture[str]) -> None:
    main(FOLDER, quiet=True)
    said = capsys.readouterr().out
    assert said.count("rules.v1") == 3
    assert "requests in" in said
