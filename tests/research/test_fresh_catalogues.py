"""The fresh catalogues are fresh: nothing of them is in the list of real documents, and no request was ever generated from them to train on."""

from __future__ import annotations

import pytest

from examples.real.listed import read_list
from research.fresh_catalogues.__main__ import FOLDER, Fresh
from research.train.training_catalogues import GENERATED, HELD_OUT

LISTS = {name: read_list(FOLDER / f"{name.value}.yaml") for name in Fresh}


def test_no_document_is_known() -> None:
    known = {(archive.package, listed.name) for archive in read_list() for listed in archive.listed}
    known |= {(archive.package, one.path) for archive in read_list() for one in archive.documents}
    fresh = [
        (archive.package, key)
        for of in LISTS.values()
        for archive in of
        for one in archive.documents
        for key in (one.name, one.path)
    ]
    assert len(set(fresh)) == len(fresh)
    assert known.isdisjoint(fresh)


def test_no_document_was_trained_on_with_requests() -> None:
    trained = {address.partition(":")[2].split(".")[0] for address in (*GENERATED, *HELD_OUT)}
    names = {
        listed.name
        for name in (
            Fresh.AWS,
            Fresh.AWS2,
            Fresh.AWS3,
            Fresh.AWS4,
            Fresh.AWS5,
            Fresh.GOOGLE,
            Fresh.GOOGLE2,
            Fresh.GOOGLE3,
        )
        for archive in LISTS[name]
        for listed in archive.listed
    }
    assert names and trained.isdisjoint(names)


@pytest.mark.parametrize("name", list(Fresh))
def test_a_catalogue_has_as_many_tools_as_a_company_could_have(name: Fresh) -> None:
    assert 400 <= sum(listed.tools for archive in LISTS[name] for listed in archive.listed) <= 2500
    assert sum(len(archive.listed) for archive in LISTS[name]) >= 12
