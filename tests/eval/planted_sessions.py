"""A catalogue whose users speak otherwise than its documents: only the past tells which tools they mean."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from eval.learning import Outcome
from inference import HashingEncoder
from services.jobs.build import build_snapshot
from tests.eval.planted import written

TOOLS, TASKS = 60, 12
SYLLABLES = ("ba", "ko", "ri", "mu", "ta", "ze", "no", "li")
START = 1_700_000_000


def word(number: int, kind: str) -> str:
    """A word that means nothing: four syllables that spell the number."""
    digits = [number // 8 % 8, number % 8, number * 5 % 8, number * 3 % 8]
    return kind + "".join(SYLLABLES[digit] for digit in digits)


def tool_id(number: int) -> str:
    return f"tool_{number:02}"


def gold(task: int) -> tuple[str, ...]:
    """The five tools of a task: as many as an answer has."""
    return tuple(map(tool_id, range(task, TOOLS, TASKS)))


def text(task: int, random: np.random.Generator) -> str:
    """A request for a task: words that the documents of other tools have, one of them of a random tool."""
    said = [word((task + TASKS * place + 1) % TOOLS, kind) for place in range(3) for kind in "de"]
    chosen = random.choice(len(said), size=4, replace=False)
    return " ".join([*(said[place] for place in chosen), word(int(random.integers(TOOLS)), "f")])


def sessions(count: int, *, reporters: int = 50) -> list[Outcome]:
    """What a log has: one session a minute, of the reporters in turn."""
    random, made = np.random.default_rng(1), list[Outcome]()
    for at in range(count):
        task = int(random.integers(TASKS))
        who, asked = f"r{at % reporters}", text(task, random)
        made.append(Outcome(key=f"{at:05}", time=START + 60.0 * at, used=gold(task), reporter=who, query=asked))
    return made


def build_store(folder: Path) -> Path:
    """A store with the catalogue."""
    described = {tool_id(number): " ".join(word(number, kind) for kind in "def") for number in range(TOOLS)}
    tools = [{"id": id_, "name": id_, "description": text, "parameters": []} for id_, text in described.items()]
    written(folder / "tools.jsonl", *tools)
    build_snapshot([str(folder / "tools.jsonl")], folder / "store", encoder=HashingEncoder())
    return folder / "store"
