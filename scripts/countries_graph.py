"""Make the graph of countries: ``python -m scripts.countries_graph FOLDER [--package FOLDER]``.

It needs the package ``pycountry`` (LGPL) and the npm package ``world-countries`` (ODbL): give the folder of the unpacked package, else
``npm pack`` fetches it. Nothing of either is part of this project. The folder is opened as ``csv:FOLDER``.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from ontology.errors import EgotoolsError, StorageError
from scripts.graphseek.countries_tables import country_tables
from scripts.graphseek.csv_folder import write_csv_folder

__all__ = ["main"]

_PACKAGE = "world-countries@5.1.0"
"""The version that the shipped truths were read from."""
_FETCH_S = 120.0


def main(arguments: list[str] | None = None) -> int:
    """Write the CSV files; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("folder", type=Path, help="where the CSV files go")
    parser.add_argument("--package", type=Path, help="folder of the unpacked npm package world-countries")
    options = parser.parse_args(arguments)
    try:
        with tempfile.TemporaryDirectory() as scratch:
            tables = country_tables(options.package or _fetched(Path(scratch)))
        write_csv_folder(tables, options.folder)
    except (EgotoolsError, ImportError) as error:
        print(error, file=sys.stderr)
        return 1
    for table in tables:
        print(f"{table.count:6} {' '.join((table.type, *table.ends))}")
    return 0


def _fetched(scratch: Path) -> Path:
    try:
        subprocess.run(["npm", "pack", _PACKAGE], cwd=scratch, check=True, capture_output=True, timeout=_FETCH_S)
        with tarfile.open(next(scratch.glob("*.tgz"))) as archive:
            archive.extractall(scratch, filter="data")
    except (OSError, subprocess.SubprocessError, StopIteration, tarfile.TarError) as error:
        raise StorageError(
            "npm does not fetch the package",
            subject=_PACKAGE,
            remedy="Unpack it yourself and name its folder with --package",
        ) from error
    return scratch / "package"


if __name__ == "__main__":
    sys.exit(main())
