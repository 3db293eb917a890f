"""Serving a snapshot: the engine over the published snapshot, behind the gRPC server."""

from __future__ import annotations

from pathlib import Path

from retrieval.snapshot_engine import open_engine
from services.models import open_reranker
from services.server import run
from services.settings import ServerSettings

__all__ = ["serve_snapshot"]


def serve_snapshot(store: Path, settings: ServerSettings, *, reranker: str) -> None:
    """Serve until SIGTERM or SIGINT.

    :raises EgotoolsError: when the snapshot or a model cannot be used.
    """
    run(lambda: open_engine(store, reranker=open_reranker(reranker)), settings)
