"""The account of a run: what it called, and what that took."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from planners.journal.run_journal import RunRecord

__all__ = ["ModelUse", "RunAccount", "ToolUse", "account_of", "rows_of"]


@dataclass(slots=True)
class ToolUse:
    """What the calls of one tool took together.

    :param calls: those that ended.
    :param failed: calls without an answer, and answers that were not ``ok``.
    :param rows: of all answers, see :func:`rows_of`.
    :param seconds: sum over the calls, which may have overlapped.
    """

    calls: int = 0
    failed: int = 0
    rows: int = 0
    answer_bytes: int = 0
    seconds: float = 0.0


@dataclass(slots=True)
class ModelUse:
    """What the calls of a model took together.

    :param calls: those that ended.
    :param failed: calls without an answer.
    :param usd: in US dollars, by the prices of the run; 0 without prices.
    :param seconds: sum over the calls, which may have overlapped.
    """

    calls: int = 0
    failed: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    usd: float = 0.0
    seconds: float = 0.0


@dataclass(slots=True)
class RunAccount(ToolUse):
    """The same of all tools, and what a run took beside.

    :param prompt_tokens: of all prompts that the run put before a model.
    :param token_counter: what counted them; empty where the model's server did.
    :param unfinished: calls that were begun and of whose end nothing is known.
    :param model: of all calls of a model whose answers are in the journal.
    :param by_step: the same of each step, by its name.
    :param sandbox_seconds: of code that was run.
    """

    prompt_tokens: int = 0
    token_counter: str = ""
    unfinished: int = 0
    by_tool: dict[str, ToolUse] = field(default_factory=dict)
    model: ModelUse = field(default_factory=ModelUse)
    by_step: dict[str, ModelUse] = field(default_factory=dict)
    sandbox_seconds: float = 0.0


def account_of(records: Iterable[RunRecord]) -> RunAccount:
    """Return the account of a run, of all processes that worked on it."""
    account = RunAccount()
    open_calls: set[tuple[str, int]] = set()
    for record in records:
        data = record.data
        if record.kind == "prompt":
            account.prompt_tokens += data["tokens"]
            account.token_counter = data["counter"]
        elif record.kind == "call_begun":
            open_calls.add((data["key"], data["nth"]))
        elif record.kind in ("call_ended", "call_failed"):
            open_calls.discard((data["key"], data["nth"]))
            for use in (account, account.by_tool.setdefault(data["tool"], ToolUse())):
                _add(use, data)
        elif record.kind in ("model_ended", "model_failed"):
            account.prompt_tokens += data.get("prompt_tokens", 0)
            for model in (account.model, account.by_step.setdefault(data["step"], ModelUse())):
                _add_model(model, data)
        elif record.kind in ("sandbox_ended", "sandbox_failed"):
            account.sandbox_seconds += data["seconds"]
    account.unfinished = len(open_calls)
    return account


def _add(use: ToolUse, data: Mapping[str, Any]) -> None:
    use.calls += 1
    use.failed += not data.get("ok", False)
    use.rows += data.get("rows", 0)
    use.answer_bytes += data.get("size", 0)
    use.seconds += data["seconds"]


def _add_model(use: ModelUse, data: Mapping[str, Any]) -> None:
    use.calls += 1
    use.failed += "completion" not in data
    use.prompt_tokens += data.get("prompt_tokens", 0)
    use.completion_tokens += data.get("completion_tokens", 0)
    use.usd += data.get("usd", 0.0)
    use.seconds += data["seconds"]


def rows_of(body: Any) -> int:
    """Return the number of rows of an answer: the items of a list, of the longest list of an object, else one where there is any."""
    if isinstance(body, Mapping):
        lists = [len(value) for value in body.values() if isinstance(value, list)]
        return max(lists, default=1 if body else 0)
    return len(body) if isinstance(body, list) else int(body is not None)
