"""What a run of the LLM backends cost, part by part, over all runs into one folder; and its report as Markdown."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from threading import Lock
from typing import Any

from inference.chat import GREEDY, ChatModel, Completion, Message, Sample
from ontology.errors import BudgetExceededError
from ontology.files import write_file

__all__ = ["CostLedger", "CountedChat", "render"]

_FIGURES = ("calls", "prompt_tokens", "completion_tokens", "seconds")


class CostLedger:
    """Counts calls, tokens and seconds by part, and keeps the counts in a file.

    :param minutes: of the model's time; more is refused.
    """

    def __init__(self, path: Path, *, minutes: float) -> None:
        self._path = path
        self._minutes = minutes
        self._lock = Lock()
        self.part = ""
        self.spent: dict[str, dict[str, float]] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}

    def check(self) -> None:
        """Refuse a further call when the time is used up.

        :raises BudgetExceededError: when it is.
        """
        if sum(part["seconds"] for part in self.spent.values()) >= 60 * self._minutes:
            raise BudgetExceededError(
                f"the model's {self._minutes:g} minutes are used up", subject="--minutes", remedy="Allow more"
            )

    def add(self, completion: Completion, seconds: float) -> None:
        """Count one call. Safe to use from several threads."""
        with self._lock:
            self._add(completion, seconds)

    def _add(self, completion: Completion, seconds: float) -> None:
        part = self.spent.setdefault(self.part, dict.fromkeys(_FIGURES, 0))
        more = (1, completion.prompt_tokens, completion.completion_tokens, seconds)
        for figure, value in zip(_FIGURES, more, strict=True):
            part[figure] = round(part[figure] + value, 1)
        write_file(self._path, json.dumps(self.spent, indent=1) + "\n")


class CountedChat:
    """A chat model whose calls are counted."""

    def __init__(self, model: ChatModel, ledger: CostLedger) -> None:
        self._model = model
        self._ledger = ledger

    @property
    def name(self) -> str:
        """That of the model."""
        return self._model.name

    def complete(
        self,
        messages: Sequence[Message],
        *,
        schema: Mapping[str, Any] | None = None,
        schema_name: str = "answer",
        max_tokens: int | None = None,
        sample: Sample = GREEDY,
    ) -> Completion:
        """Answer as the model does; see :class:`inference.chat.ChatModel`."""
        self._ledger.check()
        started = time.perf_counter()
        completion = self._model.complete(
            messages, schema=schema, schema_name=schema_name, max_tokens=max_tokens, sample=sample
        )
        self._ledger.add(completion, time.perf_counter() - started)
        return completion


def render(results: Mapping[str, Any]) -> str:
    """The report as Markdown.

    :param results: ``model``, ``tools``, ``arms`` (map from arm to its figures) and ``spent``.
    """
    return "\n".join([f"Model: `{results['model']}`; {results['tools']} tools.", "", *_parts(results)]) + "\n"


def _parts(results: Mapping[str, Any]) -> Iterator[str]:
    yield from _table(
        ("part", *_FIGURES), [[part, *map(_number, one.values())] for part, one in results["spent"].items()]
    )
    for arm, figures in results["arms"].items():
        yield from ("", f"## {arm.capitalize()}", "")
        yield from (f"- {name}: {_figure(found)}" for name, found in figures.items() if found != "")


def _table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> Iterator[str]:
    yield "| " + " | ".join(head) + " |"
    yield "|" + "---|" * len(head)
    for row in rows:
        yield "| " + " | ".join(str(cell).replace("|", "\\|") for cell in row) + " |"


def _figure(found: object) -> str:
    return "; ".join(f"{name} {value}" for name, value in found.items()) if isinstance(found, Mapping) else str(found)


def _number(value: float) -> str:
    return f"{value:,.0f}"
