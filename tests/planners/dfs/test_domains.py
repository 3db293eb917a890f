"""The shipped domains: what their files promise."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from ontology.errors import InvalidArgumentError
from planners.dfs.domain import Domain, EntityType, Lookup, read_domain
from tests.conftest import ROOT
from tests.harness.waiting import bounded_work

CATALOGUE = " ".join(
    path.read_text(encoding="utf-8") for path in sorted((ROOT / "examples" / "enterprise" / "catalog").iterdir())
)


def _lookups(domain: Domain) -> Iterator[Lookup]:
    yield from (entity.lookup for entity in domain.types.values() if entity.lookup)
    for edge in domain.edges:
        yield from (*edge.forward.values(), *edge.backward.values())


def test_the_personal_domain_is_that_of_the_paper() -> None:
    domain = read_domain("personal")
    assert (len(domain.types), len(domain.edges), len(domain.signatures())) == (9, 11, 14)
    assert sum(len(entity.fields) for entity in domain.types.values()) == 12
    assert domain.types["Date"].fields["value"].operators == ("=", "<", ">")
    assert domain.types["Event"].fields["name"].operators == ("=", "contains")


def test_the_enterprise_domain_asks_only_for_what_the_catalogue_has() -> None:
    known = set(re.findall(r"\w+", CATALOGUE))
    lookups = list(_lookups(read_domain("enterprise")))
    named = {
        word
        for each in lookups
        for text in (each.takes, each.gives, *each.fields.values())
        for word in re.findall(r"\w+", text)
    }
    assert len(lookups) > 30
    assert named - known == set()


@pytest.mark.parametrize("name", ["personal", "enterprise"])
def test_every_phrase_of_an_edge_has_an_end_or_a_verb(name: str) -> None:
    for edge in read_domain(name).edges:
        assert len(set(edge.words)) == len(edge.words), edge.name
        for phrase in edge.words:
            assert re.fullmatch(r"(\{(source|target)\}('s)? )?([a-z]+ ?)*(\{(source|target)\})?", phrase), phrase
            assert "{source}" in phrase or "{target}" in phrase, phrase


def test_several_entities_have_a_name() -> None:
    personal, enterprise = read_domain("personal").types, read_domain("enterprise").types
    assert [personal[name].several(name) for name in ("Person", "File", "Folder", "Email")] == [
        "people",
        "files",
        "folders",
        "emails",
    ]
    assert [enterprise[name].several(name) for name in ("Supplier", "Order", "Trip")] == [
        "suppliers",
        "sales orders",
        "trips",
    ]
    made = [EntityType(variable="x", words=words).several("Party") for words in (("to meet", "day"), ("box",), ())]
    assert made == ["days", "boxes", "Parties"]


@pytest.mark.parametrize(
    "text",
    [
        "a0: &a0 [x, x]\n" + "".join(f"a{at}: &a{at} [{', '.join([f'*a{at - 1}'] * 9)}]\n" for at in range(1, 10)),
        "a0: &a0 [x, x]\n" + "".join(f"a{at}: &a{at} [*a{at - 1}, *a{at - 1}]\n" for at in range(1, 15)),
        "name: 2024-13-45",
        "name: !!int foo",
        "[" * 5_000,
        "types: " + "[" * 500_000,
    ],
    ids=["bomb", "small bomb", "date", "number", "depth", "great depth"],
)
def test_a_hostile_file_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "domain.yaml"
    path.write_text(text, encoding="utf-8")
    with bounded_work(), pytest.raises(InvalidArgumentError) as refused:
        read_domain(path)
    assert len(str(refused.value)) < 500


@pytest.mark.parametrize("kind", ["device", "pipe", "large", "folder", "long", "nul"])
def test_a_name_that_is_no_file_of_a_domain_is_refused_at_once(tmp_path: Path, kind: str) -> None:
    """The name may be that of a journal of somebody else."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "large").write_text("#" * 2**21, encoding="utf-8")
    names = {"device": "/dev/zero", "folder": str(tmp_path), "long": "a" * 300, "nul": "a\0b"}
    with pytest.raises(InvalidArgumentError):
        read_domain(names.get(kind, str(tmp_path / kind)))
