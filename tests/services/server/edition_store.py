"""A store with small snapshots of one catalogue, each an edition whose tools name it in text, schema and graph."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from egotools.v1 import egotools_pb2 as pb
from inference import HashingEncoder
from retrieval.snapshot.publish import SNAPSHOTS, publish_again, published_id
from services.jobs.build import build_snapshot

QUERY = "list the open orders of a customer"
_OBJECTS = ("order", "customer", "invoice", "shipment")


@dataclass(frozen=True, slots=True)
class EditionStore:
    """A store, and the id of the snapshot of each edition: ``ids["alpha"]``."""

    path: Path
    ids: dict[str, str]

    def publish(self, edition: str) -> str:
        """Publish an edition as another process would, and return its id."""
        publish_again(self.path, self.ids[edition])
        return self.ids[edition]

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


def build_editions(path: Path, *editions: str, count: int = 1) -> EditionStore:
    """Build a snapshot of each edition in a store; the first one is published.

    :param count: number of tools for each kind of object and verb.
    """
    ids = {}
    for edition in editions:
        document = path.with_name(f"{path.name}-{edition}.json")
        document.parent.mkdir(parents=True, exist_ok=True)
        document.write_text(json.dumps(_functions(edition, count)), encoding="utf-8")
        build_snapshot([f"shop={document}"], path, encoder=HashingEncoder())
        ids[edition] = published_id(path)
    publish_again(path, ids[editions[0]])
    return EditionStore(path, ids)


def _functions(edition: str, count: int) -> list[dict[str, Any]]:
    return [
        {
            "name": f"{verb}_{thing}{number or ''}",
            "description": f"{verb.title()} each open {thing} of a customer. Edition {edition}.",
            "parameters": {
                "type": "object",
                "properties": {f"{edition}_number": {"type": "string", "description": f"the {thing} in {edition}"}},
                "required": [f"{edition}_number"],
            },
        }
        for thing in _OBJECTS
        for verb in ("list", "cancel")
        for number in range(count)
    ]


def editions_in(message: Any, store: EditionStore) -> set[str]:
    """The editions of which a reply has a text, a schema, a node or an id; one where it is of one snapshot."""
    text = str(message)
    return {edition for edition, id_ in store.ids.items() if id_ in text or edition in text}


def whole_request() -> pb.RetrieveRequest:
    """A request whose reply has tools, texts, schemas and reasons."""
    return pb.RetrieveRequest(query=QUERY, k=5, explain=True, schema_format=pb.SCHEMA_FORMAT_OPENAI)
