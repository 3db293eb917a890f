"""A small graph as CSV files."""

from __future__ import annotations

from pathlib import Path

_TABLES = {
    "nodes_Plant.csv": "key:ID(Plant),name:string\nP1,North\nP2,South\n",
    "nodes_Car.csv": "key:ID(Car),name:string,price:double\nC1,Ant,1.5\nC2,Bee,2.5\n",
    "relationships_BUILT_AT.csv": ":START_ID(Car),:END_ID(Plant)\nC1,P1\nC2,P1\n",
}


def write_plants(folder: Path) -> str:
    """Write two plants and two cars into a folder that is there, and return the graph's address."""
    for name, text in _TABLES.items():
        (folder / name).write_text(text, encoding="utf-8")
    return f"csv:{folder}"
