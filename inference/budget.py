"""The token and money budget of chat models."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Condition

from ontology.errors import BudgetExceededError, InvalidArgumentError

__all__ = ["Budget", "Reservation", "Spend"]


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


class Reservation:
    """The part of a budget that is held for one call: at first the most that it may use, once settled what it used."""

    def __init__(self, prompt_tokens: int, completion_tokens: int) -> None:
        self.prompt_tokens = prompt_tokens
        self.completion_tokens = completion_tokens
        self.settled = False

    def settle(self, *, prompt_tokens: int, completion_tokens: int) -> None:
        """Set what the call used. A reservation that is never settled counts as nothing."""
        self.prompt_tokens = prompt_tokens
        self.completion_tokens = completion_tokens
        self.settled = True


class Budget:
    """Limits tokens and money over many calls from many threads.

    Before a call starts, it reserves the most that it may use. When the reservations of other calls leave too little,
    it waits for them. When the settled calls leave too little, it is rejected. So a call that fits is never rejected
    because of the order of the threads. A failed call counts as nothing: what the server charges for it is not known.

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
        self._prices = (usd_per_1k_prompt, usd_per_1k_completion)
        self._spent = Spend()
        self._held: list[Reservation] = []
        self._changed = Condition()

    @property
    def spent(self) -> Spend:
        """What the settled calls used."""
        with self._changed:
            return self._spent

    @property
    def prices(self) -> tuple[float, float]:
        """US dollars for 1,000 prompt tokens, and for 1,000 completion tokens."""
        return self._prices

    def usd(self, *, prompt_tokens: int, completion_tokens: int) -> float:
        """The price of a call in US dollars; 0 without prices."""
        return self._usd(prompt_tokens, completion_tokens)

    @contextmanager
    def reserve(self, *, prompt_tokens: int, completion_tokens: int) -> Iterator[Reservation]:
        """Reserve for one call while the block runs; settle the reservation inside the block.

        :param prompt_tokens: the most prompt tokens of the call.
        :param completion_tokens: the most completion tokens of the call.
        :raises BudgetExceededError: when the settled calls leave too little.
        """
        reservation = Reservation(prompt_tokens, completion_tokens)
        with self._changed:
            while not self._fits(reservation, *self._held):
                if not self._fits(reservation):
                    raise self._exceeded()
                self._changed.wait()
            self._held.append(reservation)
        try:
            yield reservation
        finally:
            with self._changed:
                self._held = [held for held in self._held if held is not reservation]
                if reservation.settled:
                    self._record(reservation)
                self._changed.notify_all()

    def _fits(self, *reservations: Reservation) -> bool:
        prompt = self._spent.prompt_tokens + sum(held.prompt_tokens for held in reservations)
        completion = self._spent.completion_tokens + sum(held.completion_tokens for held in reservations)
        if self._max_tokens is not None and prompt + completion > self._max_tokens:
            return False
        return self._max_usd is None or self._usd(prompt, completion) <= self._max_usd

    def _usd(self, prompt: int, completion: int) -> float:
        return (prompt * self._prices[0] + completion * self._prices[1]) / 1000

    def _record(self, settled: Reservation) -> None:
        prompt = self._spent.prompt_tokens + settled.prompt_tokens
        completion = self._spent.completion_tokens + settled.completion_tokens
        self._spent = Spend(
            calls=self._spent.calls + 1,
            prompt_tokens=prompt,
            completion_tokens=completion,
            usd=self._usd(prompt, completion),
        )

    def _exceeded(self) -> BudgetExceededError:
        limits = []
        if self._max_tokens is not None:
            limits.append(f"{self._spent.tokens} of {self._max_tokens} tokens")
        if self._max_usd is not None:
            limits.append(f"{self._spent.usd:.4f} of {self._max_usd:.4f} USD")
        return BudgetExceededError(
            f"the next call could exceed the budget ({', '.join(limits)} spent)",
            subject="budget",
            remedy="Raise the budget and run the command again; cached answers are not paid for twice",
        )
