"""The format of numbers in reports."""

from __future__ import annotations

__all__ = ["bytes_of", "counted", "milliseconds", "p_value", "percent", "points", "rank_of"]

_MIN_P = 0.001
_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")


def percent(share: float) -> str:
    """A share in [0, 1] in percent, one decimal."""
    return f"{100 * share:.1f}"


def points(difference: float) -> str:
    """A difference of shares in percentage points, signed, one decimal."""
    text = f"{100 * difference:+.1f}"
    return "0.0" if text in ("+0.0", "-0.0") else text


def p_value(p: float) -> str:
    """A p-value, three decimals."""
    return f"< {_MIN_P}" if p < _MIN_P else f"{p:.3f}"


def counted(count: int, noun: str) -> str:
    """A number of things: ``1 request``, ``2 requests``."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def milliseconds(ms: float) -> str:
    """Milliseconds: three significant digits below 1,000, whole ones above."""
    return f"{ms:,.0f}" if ms >= 100 else f"{ms:.3g}"


def bytes_of(count: float) -> str:
    """A number of bytes in the unit that leaves fewest digits."""
    unit = 0
    while count >= 1024 and unit < len(_UNITS) - 1:
        count, unit = count / 1024, unit + 1
    return f"{count:.0f} {_UNITS[unit]}" if unit == 0 else f"{count:.1f} {_UNITS[unit]}"


def rank_of(rank: int | None) -> str:
    """A rank; a dash for none."""
    return "–" if rank is None else str(rank)
