"""The mix: shares, and what is none."""

from pathlib import Path

import pytest

from datagen.requests import CLASSES
from datagen.run import equal_mix, read_mix
from ontology.errors import InvalidArgumentError


def mixed(tmp_path: Path, text: str, per_class: int = 10) -> dict[str, int]:
    file = tmp_path / "mix.yaml"
    file.write_text(text, encoding="utf-8")
    return read_mix(file, per_class)


@pytest.mark.parametrize("per_class", [0, -1, 10**7])
def test_a_number_that_is_none_is_rejected(per_class: int) -> None:
    with pytest.raises(InvalidArgumentError, match="--per-class"):
        equal_mix(per_class)


@pytest.mark.parametrize(("per_class", "total"), [(10, 60), (7, 42), (1, 6)])
def test_shares_add_up_to_six_times_the_number_a_class(tmp_path: Path, per_class: int, total: int) -> None:
    text = "".join(f"{name}: {share}\n" for name, share in zip(CLASSES, (0.31, 0.3, 0.2, 0.1, 0.05, 0.04), strict=True))
    counts = mixed(tmp_path, text, per_class)
    assert sum(counts.values()) == total
    assert list(counts) == list(CLASSES)
    assert sorted(counts.values(), reverse=True) == list(counts.values())


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "valid dictionary"),
        ("single-intent: 0", "has no request"),
        ("chit-chat: 3", "'chit-chat'"),
        ("single-intent: -1", "-1"),
        ("single-intent: .nan", "nan"),
        ("single-intent: yes", "True"),
        ("single-intent: {", "cannot be read"),
    ],
)
def test_what_is_no_mix_is_rejected_with_the_classes_listed(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        mixed(tmp_path, text)
    assert told in str(caught.value)
    assert all(name in str(caught.value) for name in CLASSES)


def test_a_device_is_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="a device"):
        read_mix(Path("/dev/zero"), 5)
