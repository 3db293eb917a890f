"""The cap on what chat models may cost."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Condition

from ontology.errors import BudgetExceededError, InvalidArgumentError

__all__ = ["Budget", "Reservation", "Spend"]


@dataclass(frozen=True, kw_only=True)
class Spend:
    """What was used so far; ``usd`` in US dollars."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    usd: float = 0.0

    @property
    def tokens(self) -> int:
        """Read and written together."""
        return self.prompt_tokens + self.completion_tokens


class Reservation:
    """Room held for one call: the most that it may use, and, once settled, what it did use."""

    def __init__(self, prompt_tokens: int, completion_tokens: int) -> None:
        self.prompt_tokens = prompt_tokens
        self.completion_tokens = completion_tokens
        self.settled = False

    def settle(self, *, prompt_tokens: int, completion_tokens: int) -> None:
        """Say what the call really used; without this the room is given back as unused."""
        self.prompt_tokens = prompt_tokens
        self.completion_tokens = completion_tokens
        self.settled = True


class Budget:
    """Caps tokens and money over many calls from many threads.

    A call holds room for the most it may use before it starts. Where only other calls' held room stands in the way, it
    waits for them; where what is *spent* leaves too little, it is refused. So no call that fits is refused by chance.
    A failed call counts as nothing: what a server that broke off charges for it is not known here.

    :param max_tokens: read and written together; no cap where None.
    :param max_usd: no cap where None; needs the prices.
    :param usd_per_1k_prompt: US dollars for 1,000 tokens read.
    :param usd_per_1k_completion: US dollars for 1,000 tokens written.
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
                raise InvalidArgumentError("a negative value makes no sense", subject=field, remedy="Give 0 or more")
        if max_usd is not None and not any(prices.values()):
            raise InvalidArgumentError(
                "a cap on money needs the price of tokens", subject="max_usd", remedy=f"Give {' and '.join(prices)}"
            )
        self._max_tokens = max_tokens
        self._max_usd = max_usd
        self._prices = (usd_per_1k_prompt, usd_per_1k_completion)
        self._spent = Spend()
        self._held: list[Reservation] = []
        self._changed = Condition()

    @property
    def spent(self) -> Spend:
        """What settled calls used."""
        with self._changed:
            return self._spent

    @contextmanager
    def reserve(self, *, prompt_tokens: int, completion_tokens: int) -> Iterator[Reservation]:
        """Hold room for one call while the block runs; settle it inside.

        :param prompt_tokens: the most the call may read.
        :param completion_tokens: the most it may write.
        :raises BudgetExceededError: when what is spent leaves too little room.
        """
        room = Reservation(prompt_tokens, completion_tokens)
        with self._changed:
            while not self._fits(room, *self._held):
                if not self._fits(room):
                    raise self._refusal()
                self._changed.wait()
            self._held.append(room)
        try:
            yield room
        finally:
            with self._changed:
                self._held = [held for held in self._held if held is not room]
                if room.settled:
                    self._record(room)
                self._changed.notify_all()

    def _fits(self, *rooms: Reservation) -> bool:
        read = self._spent.prompt_tokens + sum(room.prompt_tokens for room in rooms)
        written = self._spent.completion_tokens + sum(room.completion_tokens for room in rooms)
        if self._max_tokens is not None and read + written > self._max_tokens:
            return False
        return self._max_usd is None or self._usd(read, written) <= self._max_usd

    def _usd(self, read: int, written: int) -> float:
        return (read * self._prices[0] + written * self._prices[1]) / 1000

    def _record(self, room: Reservation) -> None:
        read = self._spent.prompt_tokens + room.prompt_tokens
        written = self._spent.completion_tokens + room.completion_tokens
        self._spent = Spend(
            calls=self._spent.calls + 1,
            prompt_tokens=read,
            completion_tokens=written,
            usd=self._usd(read, written),
        )

    def _refusal(self) -> BudgetExceededError:
        caps = []
        if self._max_tokens is not None:
            caps.append(f"{self._spent.tokens} of {self._max_tokens} tokens")
        if self._max_usd is not None:
            caps.append(f"{self._spent.usd:.4f} of {self._max_usd:.4f} USD")
        return BudgetExceededError(
            f"the next call might pass the cap ({', '.join(caps)} spent)",
            subject="budget",
            remedy="Raise the cap and run again; what was already answered is kept where a cache is in use",
        )
