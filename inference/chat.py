"""The interface of chat models, budgets of tokens and money, and a model that is observed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any, Literal, Protocol, TypeAlias, runtime_checkable

from ontology.errors import BudgetExceededError, InvalidArgumentError, ModelError


@dataclass(frozen=True, kw_only=True)
class Spend:
    """What was used so far; ``usd`` is in US dollars."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    usd: float = 0.0

    @property
    def tokens(self) -> int:
        """Prompt and completion tokens together."""
        return self.prompt_tokens + self.completion_tokens


class Budget:
    """Limits tokens and money over many calls from many threads.

    A call that could exceed the limit is rejected before it is made; calls that run at once may together. A failed call
    counts as nothing: what the server charges for it is not known.

    :param max_tokens: limit of prompt and completion tokens together; none where None.
    :param max_usd: limit in US dollars; none where None. It needs the prices.
    :param usd_per_1k_prompt: US dollars for 1,000 prompt tokens.
    :param usd_per_1k_completion: US dollars for 1,000 completion tokens.
    """

    def __init__(
        self,
        *,
        max_tokens: int | None = None,
        max_usd: float | None = None,
        usd_per_1k_prompt: float = 0.0,
        usd_per_1k_completion: float = 0.0,
    ) -> None:
        prices = {"usd_per_1k_prompt": usd_per_1k_prompt, "usd_per_1k_completion": usd_per_1k_completion}
        for field, value in {"max_tokens": max_tokens, "max_usd": max_usd, **prices}.items():
            if value is not None and not value >= 0:
                raise InvalidArgumentError("the value is negative", subject=field, remedy="Use 0 or more")
        if max_usd is not None and not any(prices.values()):
            raise InvalidArgumentError(
                "a limit on money needs the price of tokens", subject="max_usd", remedy=f"Set {' and '.join(prices)}"
            )
        self._max_tokens = max_tokens
        self._max_usd = max_usd
        # US dollars for 1,000 prompt tokens, and for 1,000 completion tokens.
        self.prices = (usd_per_1k_prompt, usd_per_1k_completion)
        self._spent = Spend()
        self._lock = Lock()

    @property
    def spent(self) -> Spend:
        """What the calls used."""
        return self._spent

    def usd(self, *, prompt_tokens: int, completion_tokens: int) -> float:
        """The price of a call in US dollars; 0 without prices."""
        return (prompt_tokens * self.prices[0] + completion_tokens * self.prices[1]) / 1000

    def check(self, *, prompt_tokens: int, completion_tokens: int) -> None:
        """Check the next call, of the most tokens that it may use.

        :raises BudgetExceededError: when what is spent leaves too little.
        """
        after = self._with(prompt_tokens, completion_tokens)
        limits = []
        if self._max_tokens is not None:
            limits.append(f"{self._spent.tokens} of {self._max_tokens} tokens")
        if self._max_usd is not None:
            limits.append(f"{self._spent.usd:.4f} of {self._max_usd:.4f} USD")
        fits_tokens = self._max_tokens is None or after.tokens <= self._max_tokens
        if not fits_tokens or (self._max_usd is not None and after.usd > self._max_usd):
            raise BudgetExceededError(
                f"the next call could exceed the budget ({', '.join(limits)} spent)",
                subject="budget",
                remedy="Raise the budget and run the command again; cached answers are not paid for twice",
            )

    def add(self, *, prompt_tokens: int, completion_tokens: int) -> None:
        """Count what a call used."""
        with self._lock:
            self._spent = self._with(prompt_tokens, completion_tokens)

    def _with(self, prompt_tokens: int, completion_tokens: int) -> Spend:
        """What is spent after a call."""
        prompt = self._spent.prompt_tokens + prompt_tokens
        completion = self._spent.completion_tokens + completion_tokens
        usd = self.usd(prompt_tokens=prompt, completion_tokens=completion)
        return Spend(calls=self._spent.calls + 1, prompt_tokens=prompt, completion_tokens=completion, usd=usd)


@dataclass(frozen=True)
class Message:
    """One message of a conversation."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, kw_only=True)
class Completion:
    """The answer of a model and its cost.

    :param text: the answer as received. With a schema it should be JSON; nothing has checked it yet.
    :param prompt_tokens: as counted by the server; estimated where the server does not count.
    :param completion_tokens: likewise.
    :param truncated: the answer stopped at the token limit, so JSON in it is probably incomplete.
    """

    text: str
    prompt_tokens: int
    completion_tokens: int
    truncated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """Which of the possible answers is drawn: equal questions with another seed, at a temperature above 0, are answered anew.

    :param seed: added to that of the model; a server may ignore it.
    :param temperature: 0 for the most probable answer, at most 2.
    """

    seed: int = 0
    temperature: float = 0.0


GREEDY = Sample()
"""The most probable answer, with the seed of the model."""


@runtime_checkable
class ChatModel(Protocol):
    """Answers a conversation with one message."""

    @property
    def name(self) -> str:
        """The name that caches and reports record."""

    def complete(
        self,
        messages: Sequence[Message],
        *,
        schema: Mapping[str, Any] | None = None,
        schema_name: str = "answer",
        max_tokens: int | None = None,
        sample: Sample = GREEDY,
    ) -> Completion:
        """Answer the messages.

        :param schema: the JSON schema of the answer; plain text where None.
        :param schema_name: the name that the server gets for the schema.
        :param max_tokens: the most tokens that this answer may have; the model's own limit where None.
        :param sample: which answer is drawn.
        :raises BudgetExceededError: before a call that could exceed the budget.
        :raises ModelError: when the model is unavailable or slow, or its answer is invalid.
        """


Around: TypeAlias = Callable[[str, Mapping[str, Any], Callable[[], Completion]], Completion]
"""Makes a call of a model, or knows its answer: of the name of the step, what is asked as JSON values, and what asks it."""
_FREE = Budget()


class ObservedModel:
    """A chat model each of whose calls goes through a function, which may record it, measure it, or know its answer.

    :param inner: None where the function knows every answer.
    :param name: that of the inner model where empty.
    :param budget: with the prices of the answers; that of the inner model where None.
    """

    def __init__(
        self, inner: ChatModel | None, around: Around, *, name: str = "", budget: Budget | None = None
    ) -> None:
        self._inner = inner
        self._around = around
        self.name = name or (inner.name if inner is not None else "")
        self.budget: Budget = budget or getattr(inner, "budget", None) or _FREE

    def complete(
        self,
        messages: Sequence[Message],
        *,
        schema: Mapping[str, Any] | None = None,
        schema_name: str = "answer",
        max_tokens: int | None = None,
        sample: Sample = GREEDY,
    ) -> Completion:
        """See :class:`ChatModel`."""
        asked = {
            "messages": [[message.role, message.content] for message in messages],
            "schema": schema,
            "max_tokens": max_tokens,
            "seed": sample.seed,
            "temperature": sample.temperature,
        }

        def ask() -> Completion:
            if self._inner is None:
                raise ModelError("nobody is asked", subject=self.name)
            return self._inner.complete(
                messages, schema=schema, schema_name=schema_name, max_tokens=max_tokens, sample=sample
            )

        return self._around(schema_name, asked, ask)
