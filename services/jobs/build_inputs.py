"""What a snapshot depends on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from inference.encoder import Encoder
from ingest.extract.extractor import Extractor
from ingest.overlay.overlay_rules import Overlay
from ontology.ontology import Ontology

__all__ = ["BuildInputs"]


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildInputs:
    """Everything that a snapshot depends on, beside the code.

    :param addresses: files, folders, glob patterns, live addresses, ``NAME=ADDRESS`` and sources files.
    :param extractor: makes the triples.
    :param overlays: in the order in which they are applied.
    :param observed: file of values that were observed in use; see :func:`ingest.linking.observed_values.read_observed_values`.
    :param strict: fail when a document or record is rejected.
    :param findings: what is done with findings, one of :data:`ingest.trust.quarantine.POLICIES`.
    :param approvals: SHA-256 of the approvals of the store.
    :param tuned: id of the published snapshot, whose tuned weights may be kept; empty for the shipped ones.
    """

    addresses: Sequence[str]
    encoder: Encoder
    extractor: Extractor
    ontology: Ontology
    overlays: Sequence[Overlay] = ()
    observed: Path | None = None
    strict: bool = False
    findings: str = "report"
    approvals: str = ""
    tuned: str = ""
