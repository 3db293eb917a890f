"""The lock of a store: whoever may write beside it can neither empty another file nor hold a publication for ever."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

import pytest

from ontology import Ontology
from ontology.errors import EgotoolsError
from tests.retrieval.conftest import TOOLS, content_of, published


def test_a_link_in_the_place_of_the_lock_is_refused_and_its_target_kept(tmp_path: Path, ontology: Ontology) -> None:
    store, victim = tmp_path / "store", tmp_path / "victim"
    store.mkdir()
    victim.write_text("precious", encoding="utf-8")
    (store / ".lock").symlink_to(victim)
    with pytest.raises(EgotoolsError):
        published(store, content_of(TOOLS[:1], ontology))
    assert victim.read_text(encoding="utf-8") == "precious"


def test_a_pipe_in_the_place_of_the_lock_is_refused(tmp_path: Path, ontology: Ontology) -> None:
    os.mkfifo(tmp_path / ".lock")
    with pytest.raises(EgotoolsError, match="lock"):
        published(tmp_path, content_of(TOOLS[:1], ontology))


def test_a_lock_that_stays_is_an_error_that_names_it(
    tmp_path: Path, ontology: Ontology, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("retrieval.snapshot.publish_lock._LOCK_TIMEOUT_S", 0.1)
    with open(tmp_path / ".lock", "w", encoding="utf-8") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(EgotoolsError, match="holds its lock"):
            published(tmp_path, content_of(TOOLS[:1], ontology))
    published(tmp_path, content_of(TOOLS[:1], ontology))
