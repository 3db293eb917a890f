"""The shop of these tests as Python functions."""

from __future__ import annotations

import asyncio
import os
import threading
from dataclasses import dataclass
from os import getcwd

import numpy as np

RELEASE = threading.Event()


@dataclass
class Shop:
    name: str

    def book(self, material: str, amount: int = 1) -> dict[str, object]:
        return {"booked": material, "amount": amount, "at": self.name}

    def _secret(self) -> str:
        return getcwd() + os.sep


def book(material: str, amount: int = 1) -> dict[str, object]:
    if material == "gold":
        raise LookupError("there is no gold")
    return {"booked": material, "amount": amount}


def wait() -> str:
    RELEASE.wait()
    return "released"


def stop() -> None:
    raise SystemExit(3)


def flood() -> list[str]:
    return ["x" * 1_000] * 2_000


def count() -> object:
    return {1: (1, 2), "nan": float("nan"), "half": np.float32(0.5), "three": np.int64(3)}


def unlike_json() -> object:
    return {"there": object()}


async def later(material: str) -> str:
    await asyncio.sleep(0)
    return material
