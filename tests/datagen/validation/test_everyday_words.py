"""Everyday words: a company's for its own catalogue, general English for any other."""

from __future__ import annotations

from datagen.profiled_catalogue import ProfiledCatalogue
from datagen.validation.synonyms import EverydayWords
from tests.datagen.catalogues import catalogue_of, tool


def test_another_catalogue_gets_no_words_of_the_company(enterprise: ProfiledCatalogue) -> None:
    other = EverydayWords.of(catalogue_of([tool("getWorkOrder", "work_order_id", "work_order_id")]))
    own = EverydayWords.of(enterprise)
    assert len(own.words("work order")) > len(other.words("work order")) >= 1
    assert own.announcing("work order") > other.announcing("work order") >= {"order", "wo"}


def test_people_are_people_in_every_catalogue() -> None:
    other = EverydayWords.of(catalogue_of([tool("getUser", "user_id", "user_id")]))
    assert other.is_person("user")
    assert not other.is_person("invoice")
