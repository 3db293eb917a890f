"""The registry finds operators by their files, and describes them without any graph."""

from pathlib import Path

import pytest

from ontology.errors import InvalidArgumentError
from planners.graphseek.operators.operator import known_operators

_FILE = """
from planners.graphseek.operators.operator import TypedOperator
async def _run(arguments, context):
    raise NotImplementedError
OPERATOR = TypedOperator(name="{name}", description="{text}", forms=lambda forms: {{}}, required=(), runs=_run)
"""


def test_one_file_adds_an_operator(tmp_path: Path) -> None:
    (tmp_path / "another.py").write_text(_FILE.format(name="another", text="It does another thing."), encoding="utf-8")
    assert known_operators([tmp_path]).keys() - known_operators().keys() == {"another"}
    assert known_operators([tmp_path])["another"].description == "It does another thing."


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (_FILE.format(name="traverse", text="x"), "two operators are called traverse"),
        (_FILE.format(name="other", text="x" * 401), "401 characters"),
        ("OPERATOR = 3", "it has no OPERATOR"),
        ("import no_such_module", "it cannot be loaded: ModuleNotFoundError"),
        ("def", r"it cannot be loaded: SyntaxError: .*wrong\.py, line 1"),
        ("raise SystemExit(0)", "it cannot be loaded: SystemExit"),
        (_FILE.format(name="other", text="x").replace("{}", "forms.no_such"), "it cannot be loaded: AttributeError"),
    ],
)
def test_a_file_that_is_none_is_refused(tmp_path: Path, text: str, problem: str) -> None:
    with pytest.raises(InvalidArgumentError, match="there is no operator in it"):
        known_operators([tmp_path])
    (tmp_path / "wrong.py").write_text(text, encoding="utf-8")
    with pytest.raises(InvalidArgumentError, match=problem) as raised:
        known_operators([tmp_path])
    assert raised.value.subject == str(tmp_path / "wrong.py")
