"""Files: written whole or not at all, appended, read within bounds; locks, digests, and the errors of a disk."""

import errno
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from ontology.errors import StorageError
from ontology.files import (
    append,
    code_digest,
    config_hash,
    disk_errors,
    is_named,
    only_writer,
    read_bounded,
    replacing,
    write_file,
)


def test_a_file_is_written_whole_with_its_folders(tmp_path: Path) -> None:
    file = write_file(tmp_path / "a" / "b" / "text", "old")
    assert write_file(file, "né \ud800") == file
    assert file.read_bytes() == b"n\xc3\xa9 \\ud800"
    assert [entry.name for entry in file.parent.iterdir()] == ["text"]


def test_a_write_that_fails_leaves_the_old_content_and_nothing_else(tmp_path: Path) -> None:
    file = write_file(tmp_path / "text", b"old")
    with pytest.raises(RuntimeError), replacing(file) as temporary:
        temporary.write_text("new", encoding="utf-8")
        raise RuntimeError
    assert file.read_bytes() == b"old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["text"]


def test_a_bounded_read_ends(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"0123456789")
    assert read_bounded(tmp_path / "file", 10) == b"0123456789"
    for path in (tmp_path / "file", Path("/dev/zero"), tmp_path, tmp_path / "none"):
        with pytest.raises(OSError, match=r"more than 9 bytes|device|directory"):
            read_bounded(path, 9)


def test_an_error_of_the_disk_names_the_file_and_the_remedy(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StorageError, match="File exists") as caught:
        write_file(tmp_path / "file" / "text", "new")
    assert caught.value.subject.startswith(str(tmp_path / "file"))
    with pytest.raises(StorageError) as caught, disk_errors(tmp_path, remedy="Buy a disk"):
        raise OSError(28, "No space left on device")
    assert str(caught.value) == f"{tmp_path}: cannot be written: No space left on device. Buy a disk."


def test_an_error_of_the_network_is_one_of_the_disk_unless_the_block_talks_to_servers(tmp_path: Path) -> None:
    for error in (OSError(errno.ETIMEDOUT, "Connection timed out"), ConnectionResetError()):
        with pytest.raises(StorageError, match="cannot be written"), disk_errors(tmp_path):
            raise error
        with pytest.raises(type(error)), disk_errors(tmp_path, network_errors=True):
            raise error


def test_an_error_of_the_disk_names_the_path_that_was_given(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    with pytest.raises(StorageError) as caught:
        write_file(folder, "new")
    assert caught.value.subject == str(folder)
    missing = tmp_path / "missing" / "text"
    with pytest.raises(StorageError) as caught, disk_errors(missing), replacing(missing) as aside:
        aside.write_text("new", encoding="utf-8")
    assert caught.value.subject == str(missing)
    long_name = tmp_path / ("x" * 255)  # the longest name: none fits that is longer by a process id
    with pytest.raises(StorageError) as caught:
        write_file(long_name, "new")
    assert caught.value.subject == str(long_name)


def test_two_writers_of_one_folder_are_one_too_many(tmp_path: Path) -> None:
    with only_writer(tmp_path), pytest.raises(StorageError, match="another process"), only_writer(tmp_path):
        raise AssertionError("it must not be held twice")
    with only_writer(tmp_path):
        pass


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "log").write_bytes(b"one\n")
    return tmp_path / "log"


@pytest.fixture
def file(path: Path) -> Iterator[int]:
    descriptor = os.open(path, os.O_RDWR)
    yield descriptor
    os.close(descriptor)


@pytest.mark.parametrize("call", ["pwrite", "fsync"])
def test_a_disk_that_fails_keeps_nothing_of_it(
    path: Path, file: int, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    written = [2, 0]  # a part, then nothing
    pwrite = os.pwrite

    def full(descriptor: int, data: bytes = b"", at: int = 0) -> int:
        if call == "pwrite" and (count := written.pop(0)):
            return pwrite(descriptor, data[:count], at)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, call, full)
        with pytest.raises(OSError, match="No space left"):
            append(file, b"two\n", 4)
    assert path.read_bytes() == b"one\n"
    assert append(file, b"two\n", 4) == 8


def test_a_file_that_is_removed_or_replaced_is_told_from_the_open_one(path: Path, file: int) -> None:
    assert is_named(file, path)
    path.rename(path.with_name("aside"))
    assert not is_named(file, path)
    path.symlink_to("aside")
    assert not is_named(file, path)


def test_a_configuration_has_one_hash_whatever_the_order_of_its_keys() -> None:
    assert config_hash({"a": 1, "b": "ü"}) == config_hash({"b": "ü", "a": 1})
    assert config_hash({"a": 1}) != config_hash({"a": 2})
    assert len(config_hash({})) == 12


def test_the_digest_of_the_code_follows_its_sources_and_data_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "digested_package"
    (package / "__pycache__").mkdir(parents=True)
    (package / "__init__.py").write_text("", encoding="utf-8")
    (package / "data.yaml").write_text("a: 1", encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    first = _fresh("digested_package")
    (package / "__pycache__" / "__init__.pyc").write_bytes(b"x")
    (package / "weights.onnx").write_bytes(b"x")
    assert _fresh("digested_package") == first
    (package / "data.yaml").write_text("a: 2", encoding="utf-8")
    assert _fresh("digested_package") != first
    assert code_digest("ontology") != code_digest("ontology", "inference")


def _fresh(package: str) -> str:
    code_digest.cache_clear()
    return code_digest(package)
