"""The requests that nothing serves which the confidence models are fitted to."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from pathlib import Path

from research.confidence.confidence_evidence import Case
from research.enterprise_benchmark import read_rows
from scripts.bench_sets import ROOT

__all__ = ["CATALOGUES", "background_lines", "foreign", "written"]

CATALOGUES: Mapping[str, str] = {
    "restbench": "workbench gtc tau2_service enterprise real taskbench apibank toolsandbox tooltalk",
    "gtc": "restbench tau2_service enterprise taskbench toolsandbox apibank toollens",
    "tau2_service": "restbench gtc taskbench real workbench toolsandbox toollens enterprise",
    "workbench": "restbench gtc tau2_service taskbench toollens",
    "tooltalk": "restbench gtc tau2_service enterprise real taskbench",
    "toolsandbox": "restbench gtc tau2_service enterprise real",
    "apibank": "gtc tau2_service enterprise real restbench",
    "enterprise": "restbench gtc tau2_service taskbench toolsandbox toollens",
    "real": "restbench taskbench tau2_service toolsandbox toollens",
    "taskbench": "gtc enterprise real tau2_service restbench",
    "metatool": "gtc tau2_service enterprise real",
    "toollens": "gtc enterprise real tau2_service",
    "ultratool": "gtc real",
    "bfcl": "gtc real",
}
"""The catalogues that are fitted to (Seal-Tools is not: the background tools are means of its tools), and those whose requests are of other domains: hardly any is served by accident. By the
descriptions of the sets; no request was read for it.
"""
_FOREIGN = 100


def background_lines(name: str) -> tuple[str, ...]:
    """The texts of ``talk`` or ``tasks``."""
    lines = (Path(__file__).parent / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    return tuple(line for line in lines if line and not line.startswith("#"))


def foreign(case: Case, cases: Sequence[Case], *, seed: int = 0) -> list[str]:
    """Requests of catalogues of other domains, about as many of each."""
    rng = random.Random(seed)
    others = [other for other in cases if other.name in CATALOGUES[case.name].split()]
    each = -(-_FOREIGN // max(1, len(others)))
    return [text for other in others for text, _ in rng.sample(other.queries, min(each, len(other.queries)))]


def written(name: str, split: str) -> list[str]:
    """The requests of a half that were written for a catalogue, or the ``talk``; none where there is no such file."""
    file = ROOT / "examples" / "unserved" / (f"{name}.jsonl" if name == "talk" else f"{name}_tasks.jsonl")
    return [row["query"] for row in read_rows(file) if row["split"] == split] if file.exists() else []
