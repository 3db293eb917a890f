"""How many of the shipped requests the rules read as their gold graph: the rules were written in view of ``dev`` alone."""

import pytest

from benchmarks.planners.accuracy import measure, sampled, table
from planners.query import load_parser

PARSER = load_parser("rules.v1")
FLOORS = {
    ("personal", "dev"): 0.95,
    ("personal", "test"): 0.85,
    ("enterprise", "dev"): 0.95,
    ("enterprise", "test"): 0.85,
}


@pytest.mark.slow
@pytest.mark.parametrize(("domain", "split"), FLOORS)
def test_the_rules_read_no_fewer_than_before(domain: str, split: str) -> None:
    requests = sampled(domain, split)
    outcomes = list(measure(PARSER, requests))
    wrong = [gold.id for gold, each in zip(requests, outcomes, strict=True) if not each.is_right(gold)]
    assert len(outcomes) > 45
    assert 1 - len(wrong) / len(outcomes) >= FLOORS[domain, split], wrong
    assert table(requests, outcomes)[-1].startswith(f"all: {len(outcomes) - len(wrong)} of {len(outcomes)}")
