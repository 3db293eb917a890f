"""The documents of the shipped company: files of this package in a wheel, those of ``examples/enterprise`` in a checkout."""

from __future__ import annotations

from pathlib import Path

__all__ = ["ENTERPRISE", "SHIPPED_CATALOG", "SHIPPED_NEEDS", "SHIPPED_REQUESTS"]

_PACKAGED = Path(__file__).resolve().parent / "enterprise"
_CHECKOUT = Path(__file__).resolve().parents[2] / "examples" / "enterprise"

ENTERPRISE = _PACKAGED if _PACKAGED.is_dir() else _CHECKOUT
SHIPPED_CATALOG = ENTERPRISE / "catalog"
SHIPPED_NEEDS = ENTERPRISE / "needs.jsonl"
SHIPPED_REQUESTS = ENTERPRISE / "requests.jsonl"
