"""Archives of packages: downloaded by pip or npm, checked by their SHA-256, and read member by member."""

from __future__ import annotations

import gzip
import hashlib
import io
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO

from examples.real.listed import Archive
from ontology.errors import DocumentError, NotFoundError, StorageError

#: The largest member that is read, unpacked.
MAX_MEMBER_BYTES = 64 * 1024 * 1024

_REMEDY = "Compare the list of documents with the archive"

Run = Callable[[Sequence[str], Path], None]
"""Runs a command in a folder; raises :class:`NotFoundError` where it fails."""


def run(command: Sequence[str], folder: Path) -> None:
    """Run a command quietly.

    :raises NotFoundError: when it cannot be started, fails, or takes more than ten minutes; with its last line.
    """
    subject = " ".join(command[:4])
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=600)
    except FileNotFoundError as error:
        raise NotFoundError("there is no such command", subject=command[0], remedy="Install it") from error
    except subprocess.TimeoutExpired as error:
        raise NotFoundError("it took more than ten minutes", subject=subject, remedy="Run fetch again") from error
    if done.returncode != 0:
        lines = [line.strip() for line in (done.stderr + done.stdout).splitlines() if line.strip()]
        said = lines[-1][:300] if lines else f"exit code {done.returncode}"
        raise NotFoundError(f"the command failed: {said}", subject=subject, remedy="Check the connection, run it again")


def obtain(archive: Archive, folder: Path, runner: Run = run) -> Path:
    """The archive's file in ``folder``, downloaded if it is not there yet or is not the right one.

    :raises NotFoundError: when it cannot be downloaded.
    :raises DocumentError: when it is not the archive that the list names.
    :raises StorageError: when it cannot be written.
    """
    kept = folder / f"{archive.title}{'.whl' if archive.form == 'wheel' else '.tar.gz'}"
    if kept.is_file() and _sha256(kept) == archive.sha256:
        return kept
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder, prefix=".download-") as aside:
            runner(_download(archive), Path(aside))
            files = [path for path in Path(aside).iterdir() if path.is_file()]
            if len(files) != 1:
                raise NotFoundError(f"{len(files)} files came instead of one", subject=archive.title)
            found = _sha256(files[0])
            if found != archive.sha256:
                raise DocumentError(
                    f"its SHA-256 is {found}, not {archive.sha256}",
                    subject=archive.title,
                    remedy="Do not use it: the registry gave another archive than the one that was listed",
                )
            shutil.move(files[0], kept)
    except OSError as error:
        raise StorageError(str(error), subject=str(folder), remedy="Free space, or name another folder") from error
    return kept


def members(file: Path, paths: Sequence[str]) -> dict[str, bytes]:
    """The content of some members of a wheel or a tar archive, by path; one that ends in ``.gz`` is unpacked.

    Nothing is written to the disk, so no path of the archive can leave it.

    :raises DocumentError: when the archive cannot be read, has no such plain file, or the file is too large.
    """
    read = _of_wheel if file.suffix == ".whl" else _of_tar
    try:
        return {path: _unpacked(content, file, path) for path, content in read(file, paths)}
    except (OSError, EOFError, zlib.error, zipfile.BadZipFile, tarfile.TarError) as error:
        raise DocumentError(f"it cannot be read ({error})", subject=file.name, remedy=_REMEDY) from error


def _download(archive: Archive) -> list[str]:
    if archive.registry == "npm":
        return ["npm", "pack", "--ignore-scripts", "--silent", f"{archive.package}@{archive.version}"]
    form = "--only-binary" if archive.form == "wheel" else "--no-binary"
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--disable-pip-version-check"]
    return [*pip, form, archive.package, f"{archive.package}=={archive.version}"]


def _of_wheel(file: Path, paths: Sequence[str]) -> Iterator[tuple[str, bytes]]:
    with zipfile.ZipFile(file) as archive:
        for path in paths:
            if path not in archive.NameToInfo:
                raise _no_plain_file(file, path)
            with archive.open(path) as stream:
                yield path, _limited(stream, file, path)


def _of_tar(file: Path, paths: Sequence[str]) -> Iterator[tuple[str, bytes]]:
    with tarfile.open(file) as archive:
        inside = {member.name: member for member in archive.getmembers() if member.isfile()}
        for path in paths:
            if path not in inside:
                raise _no_plain_file(file, path)
        for path in sorted(paths, key=lambda path: inside[path].offset):  # forwards: going back would unpack all again
            stream = archive.extractfile(inside[path])
            if stream is None:
                raise _no_plain_file(file, path)
            with stream:
                yield path, _limited(stream, file, path)


def _unpacked(content: bytes, file: Path, path: str) -> bytes:
    if not path.endswith(".gz"):
        return content
    with gzip.GzipFile(fileobj=io.BytesIO(content)) as stream:
        return _limited(stream, file, path)


def _limited(stream: IO[bytes] | gzip.GzipFile, file: Path, path: str) -> bytes:
    content = stream.read(MAX_MEMBER_BYTES + 1)
    if len(content) > MAX_MEMBER_BYTES:
        raise DocumentError(f"{path} has more than {MAX_MEMBER_BYTES:,} bytes", subject=file.name, remedy=_REMEDY)
    return content


def _no_plain_file(file: Path, path: str) -> DocumentError:
    return DocumentError(f"it has no plain file {path}", subject=file.name, remedy=_REMEDY)


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
