"""Dates: what has happened is selected by no day to come."""

from __future__ import annotations

import random

from datagen.generation.dates import Dates


def test_what_has_happened_is_of_no_day_to_come() -> None:
    for seed in range(20):
        dates = Dates(random.Random(seed), happened=True)
        dates.relative = True
        days = (dates.date(), dates.week())
        assert not any(word in text for text in days for word in ("tomorrow", "next", "end of"))
