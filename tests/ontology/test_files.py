import errno
from pathlib import Path

import pytest

from ontology.errors import StorageError
from ontology.files import disk_errors, only_writer, read_bounded, replacing, write_file


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
