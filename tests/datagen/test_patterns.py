"""The files of patterns: their notation, that each name is defined and used, and that no expression is longer than a line."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from datagen import patterns
from datagen.patterns import Patterns, load_patterns

FOLDER = Path(patterns.__file__).parent
FILES = ["paths/words", *sorted(f"validation/{path.stem}" for path in (FOLDER / "validation").glob("*.yaml"))]
CODE = "".join(path.read_text(encoding="utf-8") for path in sorted(FOLDER.rglob("*.py")))


def _file(tmp_path: Path, text: str) -> Patterns:
    path = tmp_path / "some.yaml"
    path.write_text(text, encoding="utf-8")
    return Patterns(path)


def test_the_notation(tmp_path: Path) -> None:
    some = _file(
        tmp_path,
        "words:\n  verbs: get look_at\n  ends: no, at the end\n  pairs: on/off\n"
        "patterns:\n  asks:\n    - \\b{verbs} it’s[ _’]\n    - not_after: by ’m *is\n      match: then\n  twice: (?:{asks})+\n",
    )
    assert some.words("ends") == {"no", "at the end"}
    assert some.pairs("pairs") == (("on", "off"),)
    assert some["asks"].pattern == (r"\b(?:get|look at)\s+it's[ _’]" + r"|(?<!\bby\s)(?<!'m\s)(?<!is\s)then")
    assert some["ends"].fullmatch("at \n the end")
    assert some["twice"].fullmatch("thenthen")
    assert not some["asks"].search("by then") and not some["asks"].search("this then")


def test_a_name_that_is_not_defined_above_its_use_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"\{later\} is not defined"):
        _file(tmp_path, "words:\n  some: a b\npatterns:\n  first: x{later}\n  later: y\n")


@pytest.mark.parametrize("name", FILES)
def test_every_line_is_short_and_every_name_is_used(name: str) -> None:
    text = (FOLDER / f"{name}.yaml").read_text(encoding="utf-8")
    assert max(map(len, text.splitlines())) <= 120
    data = yaml.load(text, Loader=yaml.BaseLoader)
    names = [*data["words"], *data.get("patterns", {})]
    assert len(names) == len(set(names))
    unused = [one for one in names if f'"{one}"' not in CODE and f"{{{one}}}" not in text]
    assert unused == []
    for one in names:
        assert load_patterns(name)[one].groups >= 0


def test_no_expression_in_the_code_is_longer_than_a_line() -> None:
    assert max(map(len, re.findall(r"re\.compile\((.*)", CODE))) <= 120
