"""What the shipped tasks' answers are, by SQL over the generator's rows and over the company's records; nothing of the planner is used."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

from benchmarks.kgot_tasks.task_rows import task_rows

__all__ = ["true_answers"]

_COMPANY = {
    1: """SELECT i.fields->>'invoiceId' FROM records i JOIN records s ON s.kind='supplierId' AND s.id=i.fields->>'supplierId'
          WHERE i.kind='invoiceId' AND s.fields->>'legalName'='Acme Pumps GmbH' AND i.fields->>'status'='posted' ORDER BY 1""",
    2: """SELECT count(*) FROM records o JOIN records c ON c.kind='customerId' AND c.id=o.fields->>'customerId'
          WHERE o.kind='salesOrderId' AND c.fields->>'name'='Brightwater Ltd' AND o.fields->>'status'='open'""",
    3: """SELECT e.fields->>'name' FROM records c JOIN records e ON e.kind='employeeId' AND e.id=c.fields->'accountOwner'->>'employeeId'
          WHERE c.kind='customerId' AND c.fields->>'name'='Brightwater Ltd'""",
    4: """SELECT m.fields->>'name' FROM records c JOIN records e ON e.kind='employeeId' AND e.id=c.fields->'accountOwner'->>'employeeId'
          JOIN records m ON m.kind='employeeId' AND m.id=e.fields->>'managerId'
          WHERE c.kind='customerId' AND c.fields->>'name'='Brightwater Ltd'""",
    5: """SELECT d.fields->>'name' FROM records c JOIN records e ON e.kind='employeeId' AND e.id=c.fields->'accountOwner'->>'employeeId'
          JOIN records d ON d.kind='departmentId' AND d.id=e.fields->>'departmentId'
          WHERE c.kind='customerId' AND c.fields->>'name'='Hydra Systems'""",
    6: """SELECT round(sum(i.fields->'grossAmount'->>'amount'), 2) FROM records i
          JOIN records s ON s.kind='supplierId' AND s.id=i.fields->>'supplierId'
          WHERE i.kind='invoiceId' AND s.fields->>'legalName'='Nordic Steel' AND i.fields->>'status'='paid'""",
    7: """SELECT DISTINCT m.fields->>'name' FROM records o JOIN records c ON c.kind='customerId' AND c.id=o.fields->>'customerId'
          JOIN records e ON e.kind='employeeId' AND e.id=c.fields->'accountOwner'->>'employeeId'
          JOIN records m ON m.kind='employeeId' AND m.id=e.fields->>'managerId'
          WHERE o.kind='salesOrderId' AND o.fields->>'status'='blocked' ORDER BY 1""",
    8: """SELECT DISTINCT d.fields->>'name' FROM records t JOIN records e ON e.kind='employeeId' AND e.id=t.fields->>'employeeId'
          JOIN records m ON m.kind='employeeId' AND m.id=e.fields->>'managerId'
          JOIN records d ON d.kind='departmentId' AND d.id=m.fields->>'departmentId'
          WHERE t.kind='tripId' AND t.fields->>'destination'='Rome' ORDER BY 1""",
    9: """SELECT count(*) FROM records t JOIN records e ON e.kind='employeeId' AND e.id=t.fields->>'employeeId'
          JOIN records d ON d.kind='departmentId' AND d.id=e.fields->>'departmentId'
          WHERE t.kind='tripId' AND d.fields->>'name'='Quality' AND t.fields->>'startDate' BETWEEN '2026-01-01' AND '2026-12-31'""",
    10: """SELECT c.fields->>'validTo' FROM records c JOIN records s ON s.kind='supplierId' AND s.id=c.fields->>'supplierId'
          WHERE c.kind='contractId' AND s.fields->>'legalName'='Delta Valves' ORDER BY 1""",
}
_TABLES = {
    11: "SELECT count(*) FROM sales WHERE region='North'",
    12: "SELECT round(avg(price), 2) FROM stock WHERE category='seals'",
    13: "SELECT round(sum(amount), 2) FROM sales WHERE product='gate valve' AND region='South'",
    14: "SELECT name FROM machines WHERE status='broken' ORDER BY name",
    15: "SELECT round(100.0 * sum(status='closed') / count(*), 1) FROM tickets",
    16: "SELECT runner FROM runs ORDER BY distance DESC LIMIT 1",
    17: "SELECT sum(pieces) FROM offer",
    18: "SELECT count(*) FROM participants WHERE country='Norway'",
    19: """SELECT round(sum(amount), 2) FROM (SELECT * FROM sales_january UNION ALL SELECT * FROM sales_february) WHERE region='East'""",
    20: "SELECT count(*) FROM rooms WHERE seats > 6",
    21: "SELECT 17.5 * 2340 / 100",
    22: "SELECT 1250 * (100 - 12) / 100",
    23: """SELECT round(abs((SELECT sum(amount) FROM sales WHERE region='West') - (SELECT sum(amount) FROM sales WHERE region='East')), 2)""",
    24: "SELECT 'Friday' WHERE strftime('%w', '2026-11-03', '+14 days', '+3 days') = '5'",
}


def true_answers(company: Path) -> dict[str, str]:
    """Return task id → answer.

    :param company: the file with the company's records.
    """
    with sqlite3.connect(f"file:{company}?mode=ro", uri=True) as records:
        found = {number: _listed(records, query) for number, query in _COMPANY.items()}
    with sqlite3.connect(":memory:") as tables:
        for name, rows in task_rows().items():
            tables.execute(f"CREATE TABLE {name} ({', '.join(rows[0])})")
            tables.executemany(
                f"INSERT INTO {name} VALUES ({', '.join('?' * len(rows[0]))})", [tuple(row.values()) for row in rows]
            )
        found |= {number: _listed(tables, query) for number, query in _TABLES.items()}
    return {f"task-{number:02}": answer for number, answer in found.items()}


def _listed(connection: sqlite3.Connection, query: str) -> str:
    return ", ".join(_text(row[0]) for row in connection.execute(query))


def _text(value: Any) -> str:
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
