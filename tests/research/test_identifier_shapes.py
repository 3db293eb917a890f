"""How many identifiers of requests have a known shape: counted on two tools and four requests."""

from __future__ import annotations

from pathlib import Path

from ontology.tool import Parameter, Tool
from research.identifier_shapes import known_share


def test_requests_and_identifiers_are_counted(tmp_path: Path) -> None:
    tools = (
        Tool(id="desk/get", name="get", parameters=(Parameter(name="incident_id", example="INC0012345"),)),
        Tool(id="hr/get", name="get", parameters=(Parameter(name="employee_id"), Parameter(name="on", format="date"))),
    )
    given = [
        ("a", "close INC0099887 of INC7", "desk/get", "incident_id", "INC0099887"),
        ("a", "close INC0099887 of INC7", "desk/get", "incident_id", "INC7"),
        ("b", "who is E10482", "hr/get", "employee_id", "E10482"),
        ("c", "who was here on 2026-11-22", "hr/get", "on", "2026-11-22"),
        ("d", "who is Anna", "hr/get", "employee_id", "Anna"),
    ]
    rows = [
        {"id": id_, "query": query, "values": [{"tool": tool, "parameter": name, "value": value}]}
        for id_, query, tool, name, value in given
    ]
    said = known_share(tools, rows, tmp_path)
    assert said.startswith("2 of 5 requests name 3 identifiers; of the requests 50% name one with a shape of its input")
    assert said.endswith("of the identifiers 33% and 33%")
