"""Data files: templates with weights and slots, and classes of words."""

from __future__ import annotations

import re

import pytest

from datagen.generation.data_files import fill, read_data, templates, word_classes

NAMES = {"first", "last", "city", "department", "company"}
SLOTS = {
    "style": NAMES | {"do", "doing", "need", "ask"},
    "explicit": {"do", "one", "two", "last"},
    "general_questions": {
        *(
            "one",
            "other",
            "ones",
            "others",
            "state",
            "a_one",
            "first",
            "second",
            "a_done",
            "done",
            "parts",
            "doing",
            "acronym",
        ),
    },
    "conditional": {
        *("condition", "do", "a_thing", "whose", "owner", "subject", "name", "tail", "things", "one", "number"),
    },
    "multi": {"sentence", "count", "list"},
    "knowledge": NAMES | {"topic", "sentence", "do", "doing", "need"},
    "realisation": {"thing", "things", "rest", "which", "what", "one", "a_one", "name", "whose", "label", "value"},
    "phrases": {"value", "degree", "label"},
    "coreference": {
        *("label", "word", "whose", "words", "order", "that_one", "one", "a_one", "many", "tail", "thing"),
    },
}


def test_every_section_of_templates_is_known() -> None:
    assert set(read_data("sentence_templates")) == set(SLOTS)


@pytest.mark.parametrize("section", SLOTS)
def test_templates_have_known_slots_only(section: str) -> None:
    for name, texts in templates(section).items():
        assert texts, name
        for text in texts:
            assert set(re.findall(r"\{(\w*)\}", text)) <= SLOTS[section], (name, text)
            assert not re.search(r"[{}]", re.sub(r"\{\w+\}", "", text)), (name, text)


def test_a_weight_repeats_a_template() -> None:
    orders = templates("style")["orders"]
    assert orders.count("{do}") == 22
    assert orders[22:24] == ("please {do}", "please {do}")


def test_words_are_sets_whether_they_are_a_text_or_a_list() -> None:
    words = word_classes("realisation")
    assert {"out", "up"} <= words["particles"]
    assert "that one" in words["pronouns"]
    assert all(isinstance(word, str) for section in ("grammar", "coreference") for word in word_classes(section))


def test_slots_of_other_names_are_left() -> None:
    assert fill("{do} for {first}", do="close it") == "close it for {first}"
