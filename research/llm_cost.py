"""What a run of the LLM backends cost, part by part, over all runs into one folder; and its report as Markdown."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
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
        """Count one call."""
        part = self.spent.setdefault(self.part, dict.fromkeys(_FIGURES, 0))
        more = (1, completion.prompt_tokens, completion.completion_tokens, seconds)
        for figure, value in zip(_FIGURES, more, strict=True):
            part[figure] = round(part[figure] + value, 1)
        write_file(self._path, json.dumps(self.spent, indent=1) + "\n")


class CountedChat:
    """A chat model whose calls are counted; one call at a time."""

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
    """The report as Markdown."""
    return "\n".join([f"Model: `{results['model']}`; {results['tools']} tools.", "", *_parts(results)]) + "\n"


def _parts(results: Mapping[str, Any]) -> Iterator[str]:
    yield from _table(
        ("part", *_FIGURES), [[part, *map(_number, one.values())] for part, one in results["spent"].items()]
    )
    if "outputs" in results:
        yield from _outputs(results["outputs"])
    if "sequence" in results:
        yield from _sequence(results["sequence"])
    if "requests" in results:
        yield from _requests(results["requests"])
    for part in ("validators", "instruments"):
        if part in results:
            yield from ("", f"## {part.capitalize()}", "")
            yield from (f"- {name}: {_figures(found)}" for name, found in results[part].items())


def _outputs(part: Mapping[str, Any]) -> Iterator[str]:
    yield from ("", "## Outputs", "")
    if part.get("stopped"):
        yield f"Stopped: {part['stopped']}"
        return
    figures = ("named", "right", "precision", "wanted", "met", "recall")
    names = ("rules.v1", "llm.v1")
    yield from _table(("", *figures), [[name, *(part[name][figure] for figure in figures)] for name in names])
    yield from ("", f"Rejected: {part['rejected']}", "")
    yield from _table(("tool", "documented", "rules", "llm"), part["examples"])


def _sequence(part: Mapping[str, Any]) -> Iterator[str]:
    yield from (
        "",
        "## Sequences",
        "",
        f"{part['agreed']} of {part['edges']} agreed: {part['table']}. {part['stopped']}",
        "",
    )
    yield from _table(("edge", "rules", "because", "llm", "because"), part["examples"])


def _requests(part: Mapping[str, Any]) -> Iterator[str]:
    yield from (
        "",
        "## Requests",
        "",
        f"{sum(part['generated'].values())} of {part['asked']} generated: {part['generated']}.",
        "",
    )
    yield from (f"Rejected: {part['rejected by reason']}. {part['stopped']}", "")
    yield from (f"- {one['class']} ({', '.join(one['tools'])}): {one['query']}" for one in part["requests"])


def _table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> Iterator[str]:
    yield "| " + " | ".join(head) + " |"
    yield "|" + "---|" * len(head)
    for row in rows:
        yield "| " + " | ".join(str(cell).replace("|", "\\|") for cell in row) + " |"


def _figures(found: Mapping[str, Any] | int) -> str:
    return (
        str(found)
        if isinstance(found, int)
        else "; ".join(f"{name} {value}" for name, value in found.items() if value != "")
    )


def _number(value: float) -> str:
    return f"{value:,.0f}"
