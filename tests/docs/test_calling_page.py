"""The page on calling is true: its program and its commands run against the company that it starts, its options exist."""

import re
import shlex
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from services.server.server import Server
from tests.conftest import ROOT
from tests.harness.commands import Run
from tests.harness.company import running as running_company

Placed = Callable[[str], str]
PAGE = (ROOT / "docs" / "calling.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
(PROGRAM,) = (body for kind, body in BLOCKS if kind == "python")
_, CALL = (body.splitlines() for kind, body in BLOCKS if kind == "bash")


@pytest.fixture(scope="module")
def placed(hr_store: Path, hr_server: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Placed]:
    """Puts the addresses and the store of what runs in the place of those of the page."""
    with running_company(tmp_path_factory.mktemp("company")) as company:

        def put(text: str) -> str:
            text = text.replace("127.0.0.1:50051", hr_server.address).replace("http://127.0.0.1:8010", company.url)
            return text.replace("store-hr", str(hr_store))

        yield put


def test_the_program_prints_what_it_says(placed: Placed, capsys: pytest.CaptureFixture[str]) -> None:
    exec(placed(PROGRAM), {})
    printed = capsys.readouterr().out.splitlines()
    assert printed == re.findall(r"^# ((?:POST|\d).*)$", PROGRAM, re.MULTILINE)


def test_the_command_prints_what_is_shown(run: Run, placed: Placed) -> None:
    code, out, err = run(*shlex.split(placed(CALL[0]))[1:])
    assert (code, err) == (0, "")
    shown = next(body for kind, body in BLOCKS if kind == "text" and body.startswith("POST"))
    assert out == shown


def test_the_call_of_the_page_answers(
    run: Run, placed: Placed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    _, write, call = CALL
    subprocess.run(write, shell=True, check=True)
    code, out, err = run(*shlex.split(placed(call))[1:])
    assert code == 0, err
    assert "200 OK" in out and "anna.kowalska@larkfield.example" in out
