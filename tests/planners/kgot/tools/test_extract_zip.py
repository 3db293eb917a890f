"""Unpacking: files become files of the task; every archive that is not what it should be is refused as a whole."""

from __future__ import annotations

import io
import stat
import struct
import zipfile
from pathlib import Path
from typing import Any

import pytest

from ontology.errors import DocumentError, EgotoolsError, TooLargeError
from planners.kgot.tools.extract_zip import Archives, ZipLimits
from planners.kgot.tools.task_files import TaskFiles
from tests.planners.kgot.tools.task_documents import zip_bytes, zipped

SMALL = ZipLimits(files=5, file_bytes=1_000, total_bytes=3_000, run_bytes=4_000)


def extractor(tmp_path: Path, *paths: Path, limits: ZipLimits | None = None) -> tuple[Archives, TaskFiles]:
    folder = tmp_path / "unpacked"
    folder.mkdir(exist_ok=True)
    files = TaskFiles(paths, folder)
    return Archives(files, limits or ZipLimits()), files


def special(name: str, content: bytes = b"x", **fields: Any) -> bytes:
    """An archive with one member whose entry has other fields."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        member = zipfile.ZipInfo(name)
        for field, value in fields.items():
            setattr(member, field, value)
        archive.writestr(member, content)
    return buffer.getvalue()


def encrypted() -> bytes:
    """An archive whose entries say that they are encrypted, as those of zip programs do."""
    raw = bytearray(zip_bytes({"a.txt": b"x"}))
    for magic, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        start = raw.index(magic) + at
        raw[start : start + 2] = struct.pack("<H", 1)
    return bytes(raw)


def renamed(old: bytes, new: bytes) -> bytes:
    return zip_bytes({old.decode(): b"x"}).replace(old, new)


@pytest.mark.parametrize(
    "raw, said",
    [
        pytest.param(special("../up.txt"), "leads out", id="parent folder"),
        pytest.param(special("a/../../up.txt"), "leads out", id="parent folder inside"),
        pytest.param(renamed(b"aa/up.txt", b"..\\up.txt"), "leads out", id="parent folder of Windows"),
        pytest.param(special("/etc/passwd"), "absolute", id="absolute"),
        pytest.param(special("C:/x.txt"), "absolute", id="drive"),
        pytest.param(special("\\\\host\\x.txt"), "absolute", id="share"),
        pytest.param(renamed(b"abcd.txt", b"a\0cd.txt"), "no name", id="zero byte"),
        pytest.param(special("a\nb.txt"), "no name", id="two lines"),
        pytest.param(special("l", b"/etc/passwd", external_attr=(stat.S_IFLNK | 0o777) << 16), "link", id="link"),
        pytest.param(special("p", external_attr=(stat.S_IFIFO | 0o777) << 16), "ordinary", id="pipe"),
        pytest.param(special("d", external_attr=(stat.S_IFCHR | 0o777) << 16), "ordinary", id="device"),
        pytest.param(special("b", compress_type=zipfile.ZIP_LZMA), "compressed", id="another compression"),
        pytest.param(encrypted(), "encrypted", id="encrypted"),
        pytest.param(zip_bytes({"A.txt": b"1", "a.TXT": b"2"}), "twice", id="equal but for case"),
        pytest.param(b"PK\x03\x04 and no more", "no zip archive", id="no archive"),
        pytest.param(zip_bytes({"a.txt": b"x" * 500})[:-10], "no zip archive", id="cut"),
        pytest.param(zip_bytes({"word/document.xml": b"<x/>"}), "inspect_file", id="document"),
        pytest.param(b"", "no zip archive", id="empty"),
    ],
)
async def test_is_refused_as_a_whole(tmp_path: Path, raw: bytes, said: str) -> None:
    (tmp_path / "a.zip").write_bytes(raw)
    tool, files = extractor(tmp_path, tmp_path / "a.zip")
    with pytest.raises(DocumentError) as caught:
        await tool.unpack("a.zip")
    assert said in str(caught.value)
    assert files.names == ("a.zip",)
    assert list((tmp_path / "unpacked").iterdir()) == []


# Bombs.


@pytest.mark.parametrize(
    ("raw", "limits", "said"),
    [
        (zip_bytes({f"{n}.txt": b"x" for n in range(6)}), SMALL, "6 members"),
        (zip_bytes({"a.txt": b"x" * 1_001}), SMALL, "1,001"),
        (zip_bytes({f"{n}.txt": bytes(range(250)) * 4 for n in range(4)}), SMALL, "4,000 bytes"),
        (zip_bytes({"a.txt": b"\0" * 4 * 2**20}), ZipLimits(), "times its size"),
        (b"PK\x03\x04" + b"PK\x01\x02" * 20_001, ZipLimits(), "more than 20,000 entries"),
    ],
    ids=["count", "one file", "all files", "ratio", "entries"],
)
async def test_a_bomb_is_not_unpacked(tmp_path: Path, raw: bytes, limits: ZipLimits, said: str) -> None:
    (tmp_path / "a.zip").write_bytes(raw)
    tool, files = extractor(tmp_path, tmp_path / "a.zip", limits=limits)
    with pytest.raises(TooLargeError, match=said):
        await tool.unpack("a.zip")
    assert files.names == ("a.zip",)


def lying() -> bytes:
    """An archive with a member of 50 MiB that says it has ten bytes."""
    raw = bytearray(zip_bytes({"a.txt": b"\0" * 50 * 2**20}))
    for magic, at in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        start = raw.index(magic) + at
        raw[start : start + 4] = struct.pack("<I", 10)
    return bytes(raw)


def overlapping() -> bytes:
    """An archive whose entries of the directory all point to one member."""
    raw = zip_bytes({"0.txt": b"x" * 2_000})
    start, end = raw.index(b"PK\x01\x02"), raw.index(b"PK\x05\x06")
    entries = b"".join(raw[start:end].replace(b"0.txt", b"%c.txt" % (65 + n)) for n in range(20))
    tail = bytearray(raw[end:])
    tail[8:12] = struct.pack("<HH", 20, 20)
    tail[12:16] = struct.pack("<I", len(entries))
    return raw[:start] + entries + tail


@pytest.mark.parametrize("raw", [lying(), overlapping()], ids=["lying", "overlapping"])
async def test_an_archive_that_lies_is_not_unpacked(tmp_path: Path, raw: bytes) -> None:
    (tmp_path / "a.zip").write_bytes(raw)
    tool, files = extractor(tmp_path, tmp_path / "a.zip")
    with pytest.raises(EgotoolsError):
        await tool.unpack("a.zip")
    assert files.names == ("a.zip",)


async def test_archives_in_archives_end_somewhere_and_all_of_a_run_are_counted(tmp_path: Path) -> None:
    raw = zip_bytes({"end.txt": b"x"})
    for depth in (3, 2, 1):
        raw = zip_bytes({f"{depth}.zip": raw})
    (tmp_path / "0.zip").write_bytes(raw)
    tool, _ = extractor(tmp_path, tmp_path / "0.zip")
    assert [row["name"] for row in await tool.unpack("0.zip")] == ["1.zip"]
    assert [row["name"] for row in await tool.unpack("1.zip")] == ["2.zip"]
    with pytest.raises(TooLargeError, match="deep"):
        await tool.unpack("2.zip")
    paths = [zipped(tmp_path / f"{n}-.zip", {f"{n}-{m}.txt": b"x" * 800 for m in range(3)}) for n in range(2)]
    tool, _ = extractor(tmp_path, *paths, limits=SMALL)
    await tool.unpack("0-.zip")
    with pytest.raises(TooLargeError, match="of this run"):
        await tool.unpack("1-.zip")
