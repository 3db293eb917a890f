"""The catalogues that training looks at: which they are, which are held out, and how they are read."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from ingest.sources.aws.source import AwsSource
from ingest.sources.document import Document
from ingest.sources.google import GoogleDiscoverySource
from ontology.errors import DocumentError
from ontology.tool import Tool
from research.train.jsonl import read_rows

__all__ = ["GENERATED", "HELD_OUT", "documented", "generate", "read_catalogue", "read_tools"]

GENERATED = (
    "aws:sqs",
    "aws:dynamodb",
    "aws:lambda",
    "aws:s3",
    "aws:organizations",
    "aws:cloudwatch",
    "aws:connectcases",
    "aws:support",
    "aws:workdocs",
    "aws:iam",
    "aws:servicecatalog",
    "aws:codecommit",
    "aws:chime",
    "aws:sns",
    "aws:route53domains",
    "aws:invoicing",
    "aws:personalize",
    "aws:rds",
    "google-discovery:gmail.v1",
    "google-discovery:calendar.v3",
    "google-discovery:youtube.v3",
    "google-discovery:people.v1",
    "google-discovery:tasks.v1",
    "google-discovery:drive.v3",
    "google-discovery:sheets.v4",
    "google-discovery:content.v2.1",
    "google-discovery:chat.v1",
    "google-discovery:keep.v1",
)
"""Requests are generated from these, and trained on."""

HELD_OUT = ("aws:workmail", "aws:budgets", "google-discovery:classroom.v1", "google-discovery:books.v1")
"""Requests are generated from these too, and never trained on: they tell how the model does on a catalogue it never saw."""

_KIN_OF_HELD_OUT = {"aws:workmailmessageflow", "google-discovery:billingbudgets", "google-discovery:libraryagent"}
_FEWEST_TOOLS = 6


def read_tools(path: Path) -> list[Tool]:
    """The tools of a ``tools.jsonl``."""
    return [Tool.from_json(row) for row in read_rows(path)]


def read_catalogue(address: str) -> list[Tool]:
    """The tools behind a live address, sorted by id; none where it cannot be read."""
    source = AwsSource() if address.startswith("aws:") else GoogleDiscoverySource()
    try:
        tools = [one for one in source.read(Document(address)) if isinstance(one, Tool)]
    except DocumentError:
        return []
    return sorted(tools, key=lambda tool: tool.id)


def documented() -> Iterable[tuple[str, list[Tool]]]:
    """Every AWS service and every Google API but the held-out ones and their kin, where it has enough tools."""
    from botocore.loaders import Loader
    from googleapiclient import discovery_cache

    folder = Path(discovery_cache.__file__).parent / "documents"
    services = [f"aws:{name}" for name in sorted(Loader().list_available_services("service-2"))]
    names = sorted({path.name.split(".")[0] for path in folder.glob("*.json")} - {"index"})
    hidden = {address.rpartition(".v")[0] or address for address in HELD_OUT} | _KIN_OF_HELD_OUT
    for address in [*services, *(f"google-discovery:{name}" for name in names)]:
        if address in hidden:
            continue
        tools = read_catalogue(address)
        if len(tools) >= _FEWEST_TOOLS:
            yield address, tools


def generate(address: str, folder: Path, per_class: int) -> Path:
    """The folder with labelled requests of a catalogue, made by the product's own commands where it is not there yet.

    :raises subprocess.CalledProcessError: when a command fails.
    """
    name = address.replace(":", "_")
    made = folder / "requests" / name
    if not (made / "queries.jsonl").exists():
        egotools = [str(Path(sys.executable).parent / "egotools")]
        store = str(folder / "stores" / name)
        build = ["build", address, "--out", store, "--encoder", "hashing.v1", "--workers", "1"]
        subprocess.run([*egotools, *build], check=True, stdout=subprocess.DEVNULL)
        words = ["datagen", store, "--out", str(made), "--per-class", str(per_class)]
        subprocess.run([*egotools, *words], check=True, stdout=subprocess.DEVNULL)
    return made
