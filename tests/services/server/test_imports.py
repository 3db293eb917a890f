"""What the server loads before it has a snapshot: nothing that writes one, and no model that it may not need."""

from __future__ import annotations

import subprocess
import sys

from tests.conftest import ROOT

NOT_NEEDED = (
    "eval",
    "datagen",
    "ingest",
    "inference.cached_encoder",
    "inference.reranker",
    "inference.openai_client",
    "inference.result_cache",
    "inference.sentence_transformers",
    "inference.structured_chat",
    "retrieval.snapshot.writer",
    "services.cli",
    "services.jobs",
)


def test_the_server_loads_no_module_that_only_builds_or_other_models_need() -> None:
    code = f"import sys, services.server.server; print([name for name in {NOT_NEEDED!r} if name in sys.modules])"
    loaded = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert loaded.stdout.strip() == "[]"
