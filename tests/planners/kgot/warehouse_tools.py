"""Tools that leave a mark for each call, and can be held: what a process that is killed had done can be seen afterwards."""

from __future__ import annotations

import time
from pathlib import Path

MARKS = Path("marks")


def find_stock(material: str) -> dict[str, object]:
    _mark(f"find {material}")
    return {"items": [{"id": material, "amount": len(material)}]}


def move_stock(material: str, target: str) -> dict[str, object]:
    _mark(f"move {material} {target}")
    return {"moved": material, "to": target}


def _mark(text: str) -> None:
    with MARKS.open("a", encoding="utf-8") as marks:
        marks.write(f"{text}\n")
    while Path(f"hold {text}").exists():
        time.sleep(0.005)
