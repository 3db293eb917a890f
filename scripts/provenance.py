"""With what published figures were measured: commit, date and encoder. The pages that show the figures print it."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from datetime import UTC, datetime

from scripts.bench_sets import ROOT

__all__ = ["Provenance", "current", "told_encoder"]

_TRAINED_ON = {"egotools-minilm-int8.v1": "tuned with tools of metatool and sealtools, two of the nine sets"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """With what some figures were measured.

    :param commit: the commit whose code was measured, or that published the figures; ``-dirty`` where files were changed.
    :param date: ``2026-11-22``.
    :param encoder: its versioned name; empty where it does not matter.
    """

    commit: str
    date: str
    encoder: str = ""

    def __str__(self) -> str:
        encoder = f", encoder {told_encoder(self.encoder)}" if self.encoder else ""
        return f"commit `{self.commit}`, {self.date}{encoder}"


def told_encoder(name: str) -> str:
    """Return the name of an encoder and, where it was trained on tools of measured sets, on which."""
    trained = _TRAINED_ON.get(name)
    return f"`{name}`, {trained}" if trained else f"`{name}`"


def current(encoder: str = "") -> Provenance:
    """Return that of a measurement made now in this checkout.

    :raises CalledProcessError: outside a checkout.
    """
    command = ["git", "describe", "--always", "--dirty", "--abbrev=8", "--exclude=*"]
    commit = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
    return Provenance(commit=commit, date=f"{datetime.now(UTC):%Y-%m-%d}", encoder=encoder)
