"""The documents of the shipped company, beside this package: ``examples/enterprise`` of a checkout and of an installed wheel."""

from __future__ import annotations

from pathlib import Path

ENTERPRISE = Path(__file__).resolve().parents[1] / "enterprise"
SHIPPED_CATALOG = ENTERPRISE / "catalog"
SHIPPED_NEEDS = ENTERPRISE / "needs.jsonl"
SHIPPED_REQUESTS = ENTERPRISE / "requests.jsonl"
