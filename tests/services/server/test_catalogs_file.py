"""The catalogues file: what it says, and what is refused with the place and the remedy."""

from pathlib import Path

import pytest

from ontology.errors import InvalidArgumentError
from services.server.settings import CatalogEntry, read_catalogs

WHOLE = """
catalogs:
  acme:
    store: stores/acme
    reranker: http:http://127.0.0.1/rerank
    allowed_models: ["openai:m@http://127.0.0.1/v1"]
    required: false
  umbrella.eu-1:
    store: /srv/umbrella
"""


def test_it_names_the_store_of_each_tenant(tmp_path: Path) -> None:
    file = tmp_path / "catalogs.yaml"
    file.write_text(WHOLE, encoding="utf-8")
    found = read_catalogs(file)
    assert found["acme"] == CatalogEntry(
        store=tmp_path / "stores/acme",
        reranker="http:http://127.0.0.1/rerank",
        allowed_models=("openai:m@http://127.0.0.1/v1",),
        required=False,
    )
    assert found["umbrella.eu-1"] == CatalogEntry(store=Path("/srv/umbrella"))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "valid dictionary"),
        ("catalogs: {}", "at least 1 item"),
        ("catalogs: {acme: {}}", "'catalogs.acme.store' is missing"),
        ("catalogs: {acme: {store: ''}}", "name a folder"),
        ("catalogs: {acme: {store: }}", "name a folder"),
        ("catalogs: {acme: {store: a, storre: b}}", "storre"),
        ("catalogs: {'': {store: a}}", "pattern"),
        ("catalogs: {'../x': {store: a}}", "pattern"),
        ("catalogs: {acme: {store: a}, other: {store: ./a}}", "'acme' and 'other' have the same store"),
        ("catalogs: {acme: {store: a}, acme: {store: b}}", "'acme' stands twice"),
        ("catalogs: {acme: {store: a}}\ncatalogs: {b: {store: b}}", "'catalogs' stands twice"),
        ("catalogs: [", "no YAML"),
        ("\x00", "no YAML"),
        ("tenants: {acme: {store: a}}", "catalogs"),
        ("catalogs: {acme: {store: a, required: perhaps}}", "required"),
        ("? {a: b}\n: c", "no YAML"),
    ],
)
def test_another_form_is_refused(tmp_path: Path, text: str, problem: str) -> None:
    file = tmp_path / "catalogs.yaml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(InvalidArgumentError, match=problem) as caught:
        read_catalogs(file)
    assert caught.value.subject == str(file) and "store" in caught.value.remedy
