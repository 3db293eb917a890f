"""Validation as a whole: every validator is asked, no text breaks one, and the same request gets the same verdicts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from datagen.interfaces import RequestValidator
from datagen.synthetic_request import CLASSES, SyntheticRequest, Verdict
from datagen.tool_links import ToolLinks
from datagen.tool_path import ToolPath
from datagen.validation.rules_validator import rules_validators, validate
from ontology.errors import ModelError, NotFoundError
from ontology.tool import Parameter, Tool
from tests.datagen.catalogues import catalogue_of, tool
from tests.harness.hash_seeds import said_by
from tests.harness.waiting import bounded_work

FOLDER = Path(__file__).parent / "development"
PATHS = (
    ("finance/getBudget",),
    ("hr/searchEmployees", "hr/getLeaveBalance"),
    ("hr/getMyProfile", "itsm/unlock_account"),
)
WORDS = st.text() | st.lists(
    st.sampled_from(
        "if then and unless 4711 Jan cancel {x} what's 30 February EUR 5k the ? . , ( \" should only BK-7712 once of".split()
    ),
    max_size=30,
).map(" ".join)


def request(text: str, label: str = "single-intent", tools: tuple[str, ...] = PATHS[0]) -> SyntheticRequest:
    return SyntheticRequest(id="1", text=text, request_class=label, path=ToolPath(tools=tools))


def test_all_validators_are_asked_and_old_verdicts_go(validators: Mapping[str, RequestValidator]) -> None:
    once = validate(request("what's left on 4711 {x}"), tuple(validators.values()))
    assert [verdict.check for verdict in once.verdicts] == ["class", "sequence", "error"]
    assert [verdict.passed for verdict in once.verdicts] == [True, True, False]
    assert {verdict.by for verdict in once.verdicts} == {"rules.v1"}
    assert validate(once, tuple(validators.values())) == once


@dataclass(frozen=True)
class DeadValidator:
    name: str = "llm.v1"
    check: str = "class"

    def validate(self, request: SyntheticRequest) -> Verdict:
        raise ModelError("the model is dead", subject=request.id)


def test_a_dead_model_is_no_verdict(validators: Mapping[str, RequestValidator]) -> None:
    with pytest.raises(ModelError):
        validate(request("what's left on 4711"), (validators["class"], DeadValidator()))


@settings(max_examples=150)
@given(text=WORDS, label=st.sampled_from((*CLASSES, "")), tools=st.sampled_from(PATHS))
def test_no_text_breaks_a_validator(
    validators: Mapping[str, RequestValidator], text: str, label: str, tools: tuple[str, ...]
) -> None:
    for verdict in validate(request(text, label, tools), tuple(validators.values())).verdicts:
        assert verdict.reason
        assert not verdict.reason.endswith(".")


def test_long_text_is_validated_with_bounded_work(validators: Mapping[str, RequestValidator]) -> None:
    for text in ("a " * 50_000, "if " * 20_000, "1" * 100_000, "(" * 50_000, "and then, " * 10_000, "x_" * 30_000):
        with bounded_work():
            validate(request(text), tuple(validators.values()))


def test_a_tool_that_the_catalogue_lacks_is_an_error(validators: Mapping[str, RequestValidator]) -> None:
    with pytest.raises(NotFoundError):
        validators["sequence"].validate(request("what's left on 4711", tools=("finance/none",)))


def test_any_catalogue_can_be_validated() -> None:
    catalogue = catalogue_of(
        (
            tool("find_artist", "name", "artist_id"),
            tool("list_albums", "artist_id", "albums"),
            Tool(id="bare", name="bare"),
            Tool(id="schön", name="schön", parameters=(Parameter(name="größe", type="number", required=True),)),
        )
    )
    validators = rules_validators(catalogue, ToolLinks())
    found = validate(
        request("Which albums has Mira Sol made?", "implicit-multi-step", ("shop/find_artist", "shop/list_albums")),
        validators,
    )
    assert [verdict.passed for verdict in found.verdicts] == [True, True, True]
    for tools in (("bare",), ("schön",), ("bare", "schön"), ()):
        assert len(validate(request("do it for me", tools=tools), validators).verdicts) == 3


def test_verdicts_do_not_depend_on_the_hash_seed() -> None:
    code = (
        "import json; from pathlib import Path; from research.validator_accuracy import *; from datagen.validation.rules_validator import *\n"
        "c = load_shipped(CATALOG); validators = rules_validators(c, build_rp_graph(c, RulesOutputs(c).find()))\n"
        f"cases = read_cases(Path({str(FOLDER)!r}))\n"
        "print(json.dumps([validate(case.request, validators).to_json()['verdicts'] for case in cases]))"
    )
    (said,) = said_by(code)
    assert said.strip()
