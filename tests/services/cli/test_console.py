from __future__ import annotations

import pytest

from ontology.errors import NotFoundError
from services.cli.console import show_error, stdout, table

TEXT = "list:books:all [bold]x[/] :smile: end\\"


def test_texts_of_documents_are_printed_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stdout, "_width", 240)
        stdout.print(table(TEXT, (TEXT,), ((TEXT,),)))
    assert capsys.readouterr().out.count(TEXT) == 3


@pytest.mark.parametrize("width", [40, 80, 240])
def test_no_word_of_a_table_is_broken(capsys: pytest.CaptureFixture[str], width: int) -> None:
    words = ["procurement/searchPurchaseContracts", "resolved_by", "what is said about it", "0.97", ""]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stdout, "_width", width)
        stdout.print(table("calls", [f"column{at}" for at in range(5)], [words, words[::-1]]))
    out = capsys.readouterr().out
    assert all(out.count(word) == 2 for text in words for word in text.split())
    assert max(map(len, out.splitlines())) <= width


def test_an_error_is_printed_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    show_error(NotFoundError("no such tool", subject=TEXT), as_json=False)
    assert TEXT in capsys.readouterr().err
