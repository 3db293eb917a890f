"""Errors come back from a journal with their class and their words."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ontology.errors import EgotoolsError, MissingExtraError
from planners.journal.recorded_faults import fault_json, raise_fault


def _classes(of: type[EgotoolsError]) -> Iterator[type[EgotoolsError]]:
    for each in of.__subclasses__():
        if each.__module__ == "ontology.errors":
            yield each
        yield from _classes(each)


@pytest.mark.parametrize("kind", [EgotoolsError, *_classes(EgotoolsError)], ids=lambda kind: kind.__name__)
def test_each_class_comes_back(kind: type[EgotoolsError]) -> None:
    given = {"error": kind.__name__, "problem": "it is gone", "subject": "a graph", "remedy": "Look again"}
    with pytest.raises(kind) as raised:
        raise_fault(given)
    assert type(raised.value) is kind
    assert str(raised.value) == "a graph: it is gone. Look again."


def test_an_error_with_a_constructor_of_its_own_is_kept_whole() -> None:
    error = MissingExtraError("graphs as RDF", extra="rdf")
    with pytest.raises(MissingExtraError) as raised:
        raise_fault(fault_json(error))
    assert str(raised.value) == str(error)


def test_a_name_that_is_no_error_is_the_base_class() -> None:
    with pytest.raises(EgotoolsError):
        raise_fault({"error": "Path", "problem": "p", "subject": "s", "remedy": "r"})
