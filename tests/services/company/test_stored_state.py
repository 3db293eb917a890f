"""Nothing is made up: every write changes a record, and without records no read has anything to show."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.harness.company import RunningCompany, running
from tests.services.company.declared_answers import declared
from tests.services.company.made_arguments import made_arguments

READS = sorted(each for each, operation in declared().items() if operation.method == "GET")
WRITES = sorted(set(declared()) - set(READS))

# Where the arguments that a schema gives would change nothing: values that do.
CHANGING: Mapping[str, Mapping[str, Any]] = {
    "sales/sendQuote": {"quoteId": "Q-20321"},
    "sales/updateOpportunity": {"stage": "lost"},
    "warehouse/openCycleCount": {"plant": "LP02", "materialIds": ["SP-10432"]},
}

# Where made-up words would find nothing: some that do.
FINDING: Mapping[str, Mapping[str, Any]] = {
    "finance/listTaxCodes": {"country": "GB"},
    "hr/searchHandbook": {"question": "parental leave"},
    "procurement/searchCatalogItems": {"query": "seal"},
    "sales/searchProducts": {"text": "pump"},
    "travel/listCardTransactions": {"employeeId": "E10490"},
    "travel/searchTravelPolicy": {"question": "hotels"},
    "warehouse/searchMaterials": {"text": "seal"},
}

# Offers and forecasts are computed: without records of fares there are still offers, without opportunities a forecast of nothing.
COMPUTED = {"travel/searchFlights", "travel/searchHotels", "sales/getSalesForecast"}


def records(folder: Path) -> set[tuple[Any, ...]]:
    with closing(sqlite3.connect(folder / "company.sqlite")) as database:
        return set(database.execute("SELECT kind, id, fields FROM records"))


@pytest.mark.slow
def test_every_write_changes_a_record(tmp_path: Path) -> None:
    assert (len(READS), len(WRITES)) == (95, 70)
    with running(tmp_path) as company:
        for tool_id in WRITES:
            before = records(tmp_path)
            arguments = made_arguments(company, tool_id, everything=tool_id not in CHANGING)
            company.ask(tool_id, **{**arguments, **CHANGING.get(tool_id, {})})
            assert records(tmp_path) != before, tool_id


def test_without_records_a_read_has_nothing_to_show(tmp_path: Path) -> None:
    with running(tmp_path) as company:
        asked = {
            tool_id: {**made_arguments(company, tool_id, everything=False), **FINDING.get(tool_id, {})}
            for tool_id in READS
        }
        assert [tool_id for tool_id, arguments in asked.items() if not shown(company, tool_id, arguments)] == []
        with closing(sqlite3.connect(tmp_path / "company.sqlite")) as database, database:
            database.execute("DELETE FROM records")
        still = {tool_id for tool_id, arguments in asked.items() if shown(company, tool_id, arguments)}
        assert still <= COMPUTED


def shown(company: RunningCompany, tool_id: str, arguments: Mapping[str, Any]) -> bool:
    """Whether an answer has anything in it."""
    status, body = company.call(tool_id, arguments)
    values = body.values() if isinstance(body, dict) else [body]
    return status < 400 and any(values)
