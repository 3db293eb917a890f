"""A store with snapshots of one made-up catalogue, each an edition that its tools name in text, schema and graph."""

from __future__ import annotations

import itertools
import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from egotools.v1 import egotools_pb2 as pb
from inference import load_encoder
from ontology.files import write_file
from retrieval.snapshot.publish import SNAPSHOTS, publish_again, published_id
from services.jobs.build import build_snapshot

QUERY = "list the open orders of a customer"
_VERBS = ("list", "cancel", "create", "get", "update", "approve", "export", "archive", "assign", "merge")
_THINGS = (
    *("order", "customer", "invoice", "shipment", "contract", "supplier", "employee", "ticket", "budget", "asset"),
    *("project", "meeting", "report", "account", "payment", "refund", "route", "vehicle", "permit", "licence"),
)
_PLACES = ("", *(f"{kind} {number}" for kind in ("plant", "branch", "region", "warehouse") for number in range(20)))


@dataclass(frozen=True, slots=True)
class EditionStore:
    """A store, and the id of the snapshot of each edition: ``ids["alpha"]``."""

    path: Path
    ids: dict[str, str]

    def publish(self, edition: str) -> str:
        """Publish an edition as another process would, and return its id."""
        publish_again(self.path, self.ids[edition])
        return self.ids[edition]

    def name_current(self, edition: str) -> None:
        """Make ``CURRENT`` name an edition, with no check and no entry in the history: as by hand, or from a backup."""
        write_file(self.path / "CURRENT", f"{self.ids[edition]}\n")

    def copy(self, path: Path) -> EditionStore:
        """A copy of the store, for a test that changes it."""
        shutil.copytree(self.path, path)
        return EditionStore(path, self.ids)

    def damage(self, edition: str) -> Path:
        """Flip one byte of an edition; return the file."""
        file = self.path / SNAPSHOTS / self.ids[edition] / "nodes.vectors.npy"
        content = bytearray(file.read_bytes())
        content[-1] ^= 1
        file.write_bytes(content)
        return file


def build_editions(path: Path, *editions: str, tools: int = 8, encoder: str = "hashing.v1") -> EditionStore:
    """Build a snapshot of each edition in a store; the first one is published.

    :param tools: number of tools, 1 to 16,200.
    """
    ids, model = {}, load_encoder(encoder)
    for edition in editions:
        document = path.with_name(f"{path.name}-{edition}.json")
        document.parent.mkdir(parents=True, exist_ok=True)
        document.write_text(json.dumps(list(_functions(edition, tools))), encoding="utf-8")
        build_snapshot([f"shop={document}"], path, encoder=model, keep=0)
        ids[edition] = published_id(path)
    publish_again(path, ids[editions[0]])
    return EditionStore(path, ids)


def _functions(edition: str, count: int) -> Iterator[dict[str, Any]]:
    for place, thing, verb in itertools.islice(itertools.product(_PLACES, _THINGS, _VERBS), count):
        yield {
            "name": "_".join(f"{verb} {thing} {place}".split()),
            "description": f"{verb.title()} each open {thing} of a customer {place}. Edition {edition}.",
            "parameters": {
                "type": "object",
                "properties": {f"{edition}_number": {"type": "string", "description": f"the {thing} in {edition}"}},
                "required": [f"{edition}_number"],
            },
        }


def editions_in(message: Any, store: EditionStore) -> set[str]:
    """The editions of which a reply has a text, a schema, a node or an id; one where it is of one snapshot."""
    text = str(message)
    return {edition for edition, id_ in store.ids.items() if id_ in text or edition in text}


def whole_request() -> pb.RetrieveRequest:
    """A request whose reply has tools, texts, schemas and reasons."""
    return pb.RetrieveRequest(query=QUERY, k=5, explain=True, schema_format=pb.SCHEMA_FORMAT_OPENAI)
