"""Snapshots whose hashes fit but whose content cannot be meant: each is refused with its file, and nothing else happens."""

from __future__ import annotations

import json
import math
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from inference import HashingEncoder
from ontology.errors import EgotoolsError, SnapshotCorruptError, SnapshotError
from retrieval.engine import SnapshotEngine
from retrieval.index.vectors import write_vectors
from retrieval.query.request import Request
from retrieval.ranking.weights import weights_of
from retrieval.snapshot.publish import current_snapshot
from retrieval.snapshot.reader import open_snapshot
from retrieval.snapshot.verify import _check_index
from tests.retrieval.conftest import content_of, published
from tests.retrieval.snapshot.crafted import copied, rewrite_manifest

Change = Callable[[NDArray[Any]], NDArray[Any]]


def _filled(value: Any) -> Change:
    def change(array: NDArray[Any]) -> NDArray[Any]:
        return np.full_like(array, value)

    return change


def _one(value: Any) -> Change:
    def change(array: NDArray[Any]) -> NDArray[Any]:
        changed = array.copy()
        changed.reshape(-1)[array.size // 2] = value
        return changed

    return change


SHAPES: dict[str, Change] = {
    "shorter": lambda array: array[:-1],
    "longer": lambda array: np.concatenate((array, array[-1:])),
    "deeper": lambda array: array[None],
    "text": lambda array: array.astype("U10"),
    "wider type": lambda array: array.astype({"u": np.uint32, "i": np.int16, "f": np.float64}[array.dtype.kind]),
    "other byte order": lambda array: array.astype(array.dtype.newbyteorder(">")),
}
VALUES: list[tuple[str, Change]] = [
    *(
        (name, _one(value))
        for name in ("nodes.vectors", "names.vectors", "bm25.text.weights")
        for value in (math.nan, -math.inf)
    ),
    ("nodes.vectors", _filled(math.nan)),
    ("graph.confidences", _one(math.nan)),
    ("graph.confidences", _one(7.0)),
    *((f"{name}.offsets", _one(-(2**62))) for name in ("tools", "nodes", "node_keys", "edges", "filter_values")),
    *((f"{name}.offsets", lambda array: array[::-1]) for name in ("tools", "nodes", "node_keys", "edges")),
    *((f"graph.{name}", _filled(10**9)) for name in ("heads", "tails", "in_edges", "out_pointers", "in_pointers")),
    *((f"graph.{name}", _one(-1)) for name in ("heads", "tails", "in_edges", "out_pointers", "in_pointers")),
    ("graph.heads", lambda array: array[::-1]),
    ("graph.predicates", _one(255)),
    *((f"{name}.values", _filled(2**30)) for name in ("keys", "ngrams", "filters")),
    *((f"{name}.values", _one(-5)) for name in ("keys", "ngrams", "filters")),
    *((f"{name}.keys", lambda array: array[::-1]) for name in ("keys", "ngrams", "filters")),
    ("bm25.text.docs", _filled(-5 * 10**8)),
    ("bm25.names.docs", _one(6)),
    ("bm25.text.pointers", _one(10**9)),
    ("bm25.text.terms", _filled(1)),
]


def _with_array(store: Path, folder: Path, name: str, change: Change) -> Path:
    path = copied(store, folder) / f"{name}.npy"
    np.save(path, change(np.load(path)))
    rewrite_manifest(folder)
    return path


@pytest.mark.parametrize("shape", SHAPES)
def test_every_array_has_its_type_and_shape(tmp_path: Path, store: Path, shape: str) -> None:
    names = sorted(path.stem for path in current_snapshot(store).glob("*.npy"))
    assert len(names) > 30
    for name in names:
        if shape == "other byte order" and np.load(current_snapshot(store) / f"{name}.npy").itemsize == 1:
            continue
        path = _with_array(store, tmp_path / name, name, SHAPES[shape])
        # The other file of a pair may be the one that does not fit: terms and pointers, keys and values.
        with pytest.raises(SnapshotCorruptError) as refused:
            open_snapshot(path.parent)
        assert Path(refused.value.subject).name.split(".")[0] == name.split(".")[0]
        shutil.rmtree(path.parent)


@pytest.mark.parametrize(("name", "change"), VALUES, ids=[f"{name}-{at}" for at, (name, _) in enumerate(VALUES)])
def test_every_number_of_an_array_is_in_its_range(tmp_path: Path, store: Path, name: str, change: Change) -> None:
    path = _with_array(store, tmp_path / "copy", name, change)
    with pytest.raises(SnapshotCorruptError) as refused:
        open_snapshot(path.parent)
    assert refused.value.subject == str(path)


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An approximate index of 500 vectors of 8 numbers."""
    folder = tmp_path_factory.mktemp("index")
    vectors = np.random.default_rng(0).normal(size=(500, 8)).astype(np.float32)
    write_vectors(
        folder, "nodes", vectors / np.linalg.norm(vectors, axis=1, keepdims=True), tool_count=500, exact_limit=100
    )
    return folder / "nodes.tools.hnsw"


@pytest.mark.parametrize("value", [500, -2, 2**31 - 1])
def test_an_index_whose_neighbours_are_no_rows_is_refused(tmp_path: Path, index: Path, value: int) -> None:
    _check_index(index, 500, 8)
    faiss: Any = pytest.importorskip("faiss")
    read = faiss.read_index(str(index))
    neighbours = faiss.vector_to_array(read.hnsw.neighbors)
    raw = index.read_bytes()
    at = raw.index(neighbours.tobytes())
    neighbours[77] = value
    (tmp_path / "index").write_bytes(raw[:at] + neighbours.tobytes() + raw[at + neighbours.nbytes :])
    with pytest.raises(SnapshotCorruptError, match="neighbours"):
        _check_index(tmp_path / "index", 500, 8)


FILE = {"bytes": 1, "sha256": "0" * 64}


@pytest.mark.parametrize(
    "name",
    [
        "../CURRENT",
        "/etc/hostname",
        "..",
        "a/b",
        "a\\b",
        "",
        ".hidden",
        "manifest.json",
        "a\nb",
        "x" * 300,
        "manifest.x",
    ],
)
def test_a_manifest_lists_only_files_of_its_folder(tmp_path: Path, store: Path, name: str) -> None:
    folder = copied(store, tmp_path / "copy")
    rewrite_manifest(folder, lambda manifest: manifest["files"].update({name: FILE}))
    with pytest.raises(SnapshotCorruptError, match=r"cannot be read: 'files\."):
        open_snapshot(folder)


def test_a_file_that_is_not_listed_is_refused(tmp_path: Path, store: Path) -> None:
    folder = copied(store, tmp_path / "copy")
    (folder / "nodes.tools.hnsw").write_bytes(b"IHNs")
    with pytest.raises(SnapshotCorruptError, match="does not list") as refused:
        open_snapshot(folder)
    assert refused.value.subject.endswith("nodes.tools.hnsw")


def test_a_link_in_the_place_of_a_snapshot_is_refused(tmp_path: Path, ontology: Any) -> None:
    folder = published(tmp_path / "store", content_of((), ontology))
    folder.rename(tmp_path / "elsewhere")
    folder.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(SnapshotError, match="link"):
        open_snapshot(tmp_path / "store")


_STRANGE: tuple[Any, ...] = (
    *(None, True, 0, -1, 2**63, 10**400, 1.5, math.nan, math.inf, "", "x", "\ud800", "../x", "\x00", "é" * 300),
    *([], {}, [[]], {"": ""}, [None], {"name": 1}, "[" * 50, {"a": {"b": {"c": []}}}),
)


def _mutated(value: Any, random_: random.Random) -> Any:
    """The value with one part of it replaced, removed or added."""
    if isinstance(value, dict) and value and random_.random() < 0.9:
        key = random_.choice(sorted(value))
        act = random_.random()
        if act < 0.1:
            return {each: inner for each, inner in value.items() if each != key}
        if act < 0.2:
            return {**value, random_.choice(["", "x", "..", key + "\ud800"]): random_.choice(_STRANGE)}
        return {**value, key: _mutated(value[key], random_)}
    if isinstance(value, list) and value and random_.random() < 0.7:
        at = random_.randrange(len(value))
        return [*value[:at], _mutated(value[at], random_), *value[at + 1 :]]
    return random_.choice(_STRANGE)


def _id_of(manifest: Any) -> str:
    from retrieval.snapshot.manifest import content_id

    try:
        return content_id({key: value for key, value in manifest.items() if key != "snapshot_id"})
    except (AttributeError, ValueError):
        return "0" * 16


@pytest.mark.parametrize("seed", range(4))
def test_no_mutation_of_a_manifest_is_anything_but_a_typed_error(tmp_path: Path, store: Path, seed: int) -> None:
    """Each opens and answers, or is refused in words of a bounded length. 150 mutations for each seed."""
    random_ = random.Random(seed)
    folder = copied(store, tmp_path / "copy")
    path = folder / "manifest.json"
    original = json.loads(path.read_text(encoding="utf-8"))
    opened = refused = 0
    for _ in range(150):
        manifest = original
        for _ in range(random_.choice((1, 1, 2))):
            manifest = _mutated(manifest, random_)
        if isinstance(manifest, dict) and random_.random() < 0.9:
            manifest["snapshot_id"] = _id_of(manifest)
        text = json.dumps(manifest)
        if random_.random() < 0.05:
            text = text[: random_.randrange(len(text))]
        path.write_text(text, encoding="utf-8")
        try:
            snapshot = open_snapshot(folder)
            weights_of(snapshot)
            SnapshotEngine(snapshot, HashingEncoder()).retriever("default").retrieve(Request(query="give a spot award"))
        except EgotoolsError as error:
            refused += 1
            assert len(str(error)) < 2_000
        else:
            opened += 1
    assert refused > 100
    assert opened + refused == 150
