import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from inference.result_cache import ResultCache


def test_what_was_put_is_got_by_kind_and_key_also_after_reopening(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "cache.sqlite"
    with ResultCache(path) as cache:
        cache.put_many("vector", {"a": b"\x00\x01", "b": b""})
        cache.put("extraction", "a", b"{}")
    with ResultCache(path) as cache:
        assert cache.get("vector", "a") == b"\x00\x01"
        assert cache.get("vector", "b") == b""
        assert cache.get("extraction", "a") == b"{}"
        assert cache.get("extraction", "b") is None
    assert [file.name for file in path.parent.iterdir()] == ["cache.sqlite"]


@pytest.mark.parametrize("content", [b"this is no database at all " * 50, b"SQLite format 3\x00" + b"\xff" * 5_000])
def test_a_damaged_file_is_not_used_with_a_warning(
    content: bytes, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "cache.sqlite"
    path.write_bytes(content)
    with ResultCache(path) as cache:
        cache.put("kind", "key", b"value")
        assert cache.get("kind", "key") == b"value"
    assert path.read_bytes() == content and "Delete it" in caplog.text


def test_a_value_that_was_altered_reads_as_absent(tmp_path: Path) -> None:
    path = tmp_path / "cache.sqlite"
    with ResultCache(path) as cache:
        cache.put_many("kind", {"bent": b"value", "cut": b"value", "good": b"value"})
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE entries SET value = X'00000000FF' WHERE key = 'bent'")
        connection.execute("UPDATE entries SET value = 'x' WHERE key = 'cut'")
    connection.close()
    with ResultCache(path) as cache:
        assert cache.get_many("kind", ["bent", "cut", "good"]) == {"good": b"value"}


def test_a_value_of_another_form_is_made_again() -> None:
    with ResultCache() as cache:
        cache.put_many("kind", {"a": b"1", "b": b"no number"})
        found = cache.each("kind", ["a", "b", "c"], lambda keys: [7] * len(keys), encode=lambda _: None, decode=int)
        assert list(found) == [(1, True), (7, False), (7, False)]


def test_a_file_that_another_process_holds_is_waited_for_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    path, connect, waits = tmp_path / "cache.sqlite", sqlite3.connect, list[str]()

    def impatient(place: str, **options: Any) -> sqlite3.Connection:
        waits.append(place)
        connection: sqlite3.Connection = connect(place, **options | {"timeout": 0})
        return connection

    monkeypatch.setattr(sqlite3, "connect", impatient)
    with ResultCache(path) as cache:
        cache.put("kind", "key", b"value")
        other = connect(path, isolation_level=None)
        other.execute("BEGIN EXCLUSIVE")
        assert [cache.get("kind", "key") for _ in range(3)] == [None] * 3
        cache.put("kind", "key", b"new")
        assert cache.get("kind", "key") == b"new"
        other.close()
    assert waits == [str(path), ":memory:"] and caplog.text.count("is locked") == 1


def connections_with(monkeypatch: pytest.MonkeyPatch, change: Callable[[sqlite3.Connection], object]) -> None:
    connect = sqlite3.connect

    def changed(*arguments: Any, **options: Any) -> sqlite3.Connection:
        connection: sqlite3.Connection = connect(*arguments, **options)
        change(connection)
        return connection

    monkeypatch.setattr(sqlite3, "connect", changed)


def test_a_value_that_is_too_large_is_not_kept_and_the_others_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    connections_with(monkeypatch, lambda connection: connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 10_000))
    with ResultCache(tmp_path / "cache.sqlite") as cache:
        cache.put("kind", "small", b"kept")
        cache.put("kind", "large", bytes(20_000))
        cache.put("kind", "later", b"kept")
        assert cache.get_many("kind", ["small", "large", "later"]) == {"small": b"kept", "later": b"kept"}
    assert [each.name for each in tmp_path.iterdir()] == ["cache.sqlite"] and "does not keep" in caplog.text


def test_a_disk_that_takes_no_more_turns_writing_off_and_reading_goes_on(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ResultCache(tmp_path / "cache.sqlite") as cache:
        cache.put("kind", "key", b"value")
    # SQLite's own limit on the file gives the same error as a full disk.
    connections_with(monkeypatch, lambda connection: connection.execute("PRAGMA max_page_count = 4"))
    with ResultCache(tmp_path / "cache.sqlite") as cache:
        cache.put_many("kind", {"a": b"small", "b": bytes(1_000_000)})
        cache.put("kind", "c", b"small")
        assert cache.get_many("kind", ["key", "a", "b", "c"]) == {"key": b"value"}
    assert caplog.text.count("is no longer written") == 1
    assert "full" in caplog.text


def test_a_place_that_cannot_be_written_costs_only_the_cache(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").write_text("in the way", encoding="utf-8")
    for path in (tmp_path / "file" / "cache.sqlite", tmp_path):
        with ResultCache(path) as cache:
            cache.put("kind", "key", b"value")
            assert cache.get("kind", "key") == b"value"
    assert caplog.text.count("cannot be used") == 2


def test_a_killed_process_leaves_whole_calls_only(tmp_path: Path) -> None:
    path = tmp_path / "cache.sqlite"
    script = (
        "import os, sys; from pathlib import Path; from inference.result_cache import ResultCache\n"
        "cache = ResultCache(Path(sys.argv[1])); cache.put_many('kind', {'a': b'1', 'b': b'2'})\n"
        "cache._connection.execute(\"INSERT INTO entries VALUES ('kind', 'c', X'00')\")\n"
        "os._exit(9)\n"
    )
    done = subprocess.run([sys.executable, "-c", script, str(path)], check=False, cwd=Path(__file__).parents[2])
    assert done.returncode == 9
    with ResultCache(path) as cache:
        assert cache.get_many("kind", ["a", "b", "c"]) == {"a": b"1", "b": b"2"}


def test_a_page_that_is_damaged_while_open_is_noticed_and_survived(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "cache.sqlite"
    with ResultCache(path) as cache:
        cache.put_many("kind", {f"key{n:04}": bytes(500) for n in range(2_000)})
    content = bytearray(path.read_bytes())
    content[8_192:-4_096] = b"\xee" * (len(content) - 12_288)
    path.write_bytes(content)
    with ResultCache(path) as cache:
        cache.get_many("kind", [f"key{n:04}" for n in range(2_000)])
        cache.put("kind", "new", b"value")
        assert cache.get("kind", "new") == b"value"
    assert "Delete it" in caplog.text
