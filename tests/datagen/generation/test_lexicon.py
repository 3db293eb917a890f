"""The shipped words: well-formed, and found for names that are not in them."""

from __future__ import annotations

import random

import pytest

from datagen.generation.action_verbs import action_verbs
from datagen.generation.grammar import gerund
from datagen.generation.lexicon import load_lexicon
from datagen.generation.sampler import KINDS, draw, number_like


def test_every_verb_phrase_has_one_object() -> None:
    for phrases in action_verbs().phrases.values():
        assert phrases
        for phrase in phrases:
            assert phrase.count("~") == 1
            assert gerund(phrase).split()[0].split("-")[-1].endswith("ing") or "-" in phrase


def test_the_words_of_one_company_are_said_in_its_catalogue_alone() -> None:
    lexicon = load_lexicon()
    own, other = lexicon.for_things(list(lexicon.nouns)), lexicon.for_things(["volume", "image", "firewall rule"] * 9)
    assert own == lexicon
    assert own.noun("volume").words[0] == "loudness"  # type: ignore[union-attr]
    assert other.noun("volume").words == ("volume",)  # type: ignore[union-attr]
    assert other.noun("user").person  # type: ignore[union-attr]
    assert own.field("plant") is not None
    assert other.field("plant") is None
    assert other.field("new due date") is not None


def test_every_field_has_phrases_for_a_value_of_a_known_kind() -> None:
    lexicon = load_lexicon()
    for field in lexicon.fields.values():
        assert field.kind in KINDS or field.kind in lexicon.pools or field.kind == "flag", field
        assert all(("{v}" in phrase) != (field.kind == "flag") for phrase in field.phrases), field


def test_every_noun_draws_its_names_from_somewhere() -> None:
    lexicon = load_lexicon()
    for noun in lexicon.nouns.values():
        assert noun.words
        assert not noun.pool or noun.pool in KINDS or noun.pool in lexicon.pools, noun


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_values_are_many_and_clean(kind: str) -> None:
    rng = random.Random(1)
    values = {draw(kind, rng, load_lexicon()) for _ in range(60)}
    assert all(value and value == value.strip() for value in values)
    assert len(values) > 1


def test_numbers_look_like_their_pattern() -> None:
    assert number_like("INC00###@", random.Random(3))[:5] == "INC00"
    assert not number_like("#####", random.Random(3)).startswith("0")


def test_compounds_and_strange_words() -> None:
    lexicon = load_lexicon()
    found = lexicon.noun("travel invoice")
    assert found is not None
    assert "travel bill" in found.words
    assert lexicon.noun("zzqx") is None
    assert lexicon.noun("счет") is None
    assert lexicon.noun("lighthouse") is not None


def test_an_input_called_like_a_thing_with_a_code_takes_its_code() -> None:
    lexicon = load_lexicon()
    coded = lexicon.for_things(list(lexicon.nouns), ["plant"])
    assert coded.field("plant") is None and coded.field("to plant") is None
    assert coded.field("warehouse") is not None
