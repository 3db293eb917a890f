"""What earlier releases had is refused with what took its place."""

import pytest

from services.cli.app import REMOVED
from tests.harness.commands import Run


def test_what_is_gone_is_refused_with_what_took_its_place(run: Run, subtests: pytest.Subtests) -> None:
    for said in REMOVED:
        with subtests.test(ascii(said)):
            code, _, err = run(*said.split(), "x")
            assert code == 2
            assert "it was removed" in err and REMOVED[said].split()[0] in err


def test_an_option_that_never_was_is_refused_as_before(run: Run) -> None:
    code, _, err = run("solve", "q", "--nonsense")
    assert code == 2 and "removed" not in err
