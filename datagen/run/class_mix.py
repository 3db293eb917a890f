"""The class mix: the wanted number of requests of each class."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from datagen.synthetic_request import CLASSES
from ontology.errors import InvalidArgumentError
from ontology.yaml_data import read_yaml

__all__ = ["equal_mix", "named_mixes", "read_mix"]

MAX_PER_CLASS = 1_000_000
_REMEDY = (
    f"Give a count for each class, or shares with a decimal point, of these: {', '.join(CLASSES)}; "
    "a class that is not named gets none. --mix paper takes the shares of the paper"
)


def equal_mix(per_class: int) -> dict[str, int]:
    """Return the same number for each class.

    :raises InvalidArgumentError: when it is below 1 or above 1,000,000.
    """
    if not 1 <= per_class <= MAX_PER_CLASS:
        raise InvalidArgumentError(
            f"{per_class} requests a class cannot be made", subject="--per-class", remedy=f"Give 1 to {MAX_PER_CLASS:,}"
        )
    return dict.fromkeys(CLASSES, per_class)


def named_mixes() -> dict[str, dict[str, int]]:
    """Return the mixes that have a name: map from name to class to weight; ``mixes.yaml`` says where they are from."""
    mixes: dict[str, dict[str, int]] = read_yaml(Path(__file__).parent / "mixes.yaml")
    return mixes


def read_mix(file: Path, per_class: int) -> dict[str, int]:
    """Read a YAML or JSON file with an object that maps classes to counts or to shares, or take a mix by its name.

    A file has priority over a name. The weights of a named mix are shares. The numbers of a file are shares if any of
    them has a decimal point. Shares divide six times ``per_class`` requests, and need not add up to 1.

    :raises InvalidArgumentError: when the file cannot be read, or for an invalid class or number.
    """
    total = sum(equal_mix(per_class).values())
    if not file.exists() and (named := named_mixes().get(str(file))):
        return _apportion({name: named.get(name, 0) for name in CLASSES}, total)
    given = _read(file)
    for name, number in given.items():
        _check(file, name, number)
    weights = {name: given.get(name, 0) for name in CLASSES}
    if not any(weights.values()):
        raise InvalidArgumentError("the mix has no request", subject=str(file), remedy=_REMEDY)
    if any(isinstance(number, float) for number in given.values()):
        return _apportion(weights, total)
    return {name: int(number) for name, number in weights.items()}


def _read(file: Path) -> Mapping[str, Any]:
    if file.exists() and not file.is_file() and not file.is_dir():  # a pipe or a device could be read without end
        raise InvalidArgumentError("the mix is no regular file", subject=str(file), remedy=_REMEDY)
    try:
        given = yaml.safe_load(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError, yaml.YAMLError) as error:
        raise InvalidArgumentError(
            f"the mix cannot be read: {' '.join(str(error).split())}", subject=str(file), remedy=_REMEDY
        ) from error
    if not isinstance(given, dict):
        what = "is empty" if given is None else f"must be an object, not {type(given).__name__}"
        raise InvalidArgumentError(f"the mix {what}", subject=str(file), remedy=_REMEDY)
    return given


def _check(file: Path, name: object, number: object) -> None:
    if name not in CLASSES:
        raise InvalidArgumentError(f"there is no class {name!r}", subject=str(file), remedy=_REMEDY)
    if isinstance(number, bool) or not isinstance(number, (int, float)):
        raise InvalidArgumentError(f"{name} must be a number, not {number!r}", subject=str(file), remedy=_REMEDY)
    if not math.isfinite(number) or not 0 <= number <= MAX_PER_CLASS:
        raise InvalidArgumentError(
            f"{name} must be from 0 to {MAX_PER_CLASS:,}, not {number}", subject=str(file), remedy=_REMEDY
        )


def _apportion(weights: Mapping[str, float], total: int) -> dict[str, int]:
    """Return integers in proportion to the weights that add up to the total (largest remainder; ties: earlier class)."""
    whole = sum(weights.values())
    exact = {name: total * weight / whole for name, weight in weights.items()}
    counts = {name: math.floor(share) for name, share in exact.items()}
    by_remainder = sorted(exact, key=lambda name: counts[name] - exact[name])
    for name in by_remainder[: total - sum(counts.values())]:
        counts[name] += 1
    return counts
