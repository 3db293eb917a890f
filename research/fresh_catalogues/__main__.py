"""Fetch a fresh catalogue into a folder: ``python -m research.fresh_catalogues NAME OUT``; NAME is a file of this folder.

``OUT/documents`` gets the documents. The archives are kept in ``OUT/archives``. Nothing of them is stored in the repository. Nobody reads
these documents to write a rule: they measure.
"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path

from examples.real.fetch import fetch
from scripts.run_command import run_command

FOLDER = Path(__file__).resolve().parent


class Fresh(StrEnum):
    """The names of the catalogues."""

    AWS = "aws"
    AWS2 = "aws2"
    AWS3 = "aws3"
    AWS4 = "aws4"
    AWS5 = "aws5"
    GOOGLE = "google"
    GOOGLE2 = "google2"
    GOOGLE3 = "google3"
    VENDORS = "vendors"
    VENDORS2 = "vendors2"
    VENDORS3 = "vendors3"
    VENDORS4 = "vendors4"


def main(name: Fresh, out: Path) -> None:
    """Fetch what is missing."""
    documents = fetch(out, source=FOLDER / f"{name.value}.yaml", progress=lambda line: print(line, flush=True))
    print(f"The documents are in {documents}")


if __name__ == "__main__":
    run_command(main)
