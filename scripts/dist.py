"""The wheel, the source archive and the wheel of the client in ``dist/``, the same bytes from the same commit: ``make dist``.

Both are built from a copy of the tracked files with fixed modes; the source archive is then written again with the time of the commit,
because setuptools gives its members the time of the build. ``--check`` builds twice and compares.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from benchmarks.command import ROOT, run_command
from ontology.errors import StorageError

WHEEL_BYTES = 110_000_000
_PROJECT_FILES = ("pyproject.toml", "setup.py", "MANIFEST.in", "README.md", "LICENSE", "NOTICE")
_SHIPPED_EXAMPLES = (
    "examples/company/",
    "examples/enterprise/catalog/",
    "examples/enterprise/needs.jsonl",
    "examples/enterprise/requests.jsonl",
)
_CLIENT = "clients/python"
_LEFT_OUT = tuple("tests benchmarks scripts docs deploy examples requirements proto clients".split())


def main(
    out: Annotated[Path, typer.Option(help="Folder of the files; what it holds of an earlier build is removed.")] = ROOT
    / "dist",
    check: Annotated[bool, typer.Option("--check", help="Build twice, and fail if a byte differs.")] = False,
) -> None:
    """Build, and print size and SHA-256 of the files."""
    shutil.rmtree(out, ignore_errors=True)
    built = build(out)
    if check:
        with tempfile.TemporaryDirectory(prefix="egotools-dist-") as folder:
            if (again := build(Path(folder))) != built:
                raise StorageError("two builds of one tree differ", subject=f"{built} and {again}")
    for name, digest in built.items():
        size = (out / name).stat().st_size
        print(f"{digest}  {name}  {size / 1e6:.1f} MB")
        if size > WHEEL_BYTES:
            raise StorageError(f"it is larger than {WHEEL_BYTES / 1e6:.0f} MB", subject=name)


def build(out: Path) -> dict[str, str]:
    """Build wheels and source archive of the tracked files into a folder; returns name → SHA-256."""
    epoch = int(_git("log", "-1", "--format=%ct"))
    with tempfile.TemporaryDirectory(prefix="egotools-dist-") as folder:
        source = Path(folder) / "source"
        _copy_tracked(source)
        command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(out.absolute())]
        environ = {**os.environ, "SOURCE_DATE_EPOCH": str(epoch)}
        for built in ([str(source)], ["--wheel", str(source / _CLIENT)]):
            done = subprocess.run([*command, *built], env=environ, capture_output=True, text=True, check=False)
            if done.returncode:
                raise StorageError(f"the build failed: {done.stderr[-2_000:]}", subject="python -m build")
    for archive in out.glob("*.tar.gz"):
        _normalise(archive, epoch)
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(out.iterdir())}


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True).stdout


def _copy_tracked(target: Path) -> None:
    """Copy the tracked files of the product."""
    for name in filter(_is_of_the_product, _git("ls-files", "-z").split("\0")):
        copy = target / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, copy)
    for path in target.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)


def _is_of_the_product(name: str) -> bool:
    top, inner, _ = name.partition("/")
    if not inner:
        return name in _PROJECT_FILES
    return name.startswith((*_SHIPPED_EXAMPLES, f"{_CLIENT}/")) or (top not in _LEFT_OUT and not top.startswith("."))


def _normalise(archive: Path, epoch: int) -> None:
    """Write a source archive again with sorted members of one time and no owner."""
    plain = io.BytesIO()
    with tarfile.open(archive) as old, tarfile.open(fileobj=plain, mode="w", format=tarfile.PAX_FORMAT) as new:
        for member in sorted(old.getmembers(), key=lambda each: each.name):
            member.mtime, member.uid, member.gid, member.uname, member.gname, member.pax_headers = (
                epoch,
                0,
                0,
                "",
                "",
                {},
            )
            member.mode = 0o755 if member.isdir() else 0o644
            new.addfile(member, old.extractfile(member) if member.isfile() else None)
    with archive.open("wb") as file, gzip.GzipFile("", "wb", fileobj=file, mtime=epoch) as packed:
        packed.write(plain.getvalue())


if __name__ == "__main__":
    run_command(main)
