from pathlib import Path

import pytest

from ontology.files import code_digest, config_hash


def test_a_configuration_has_one_hash_whatever_the_order_of_its_keys() -> None:
    assert config_hash({"a": 1, "b": "ü"}) == config_hash({"b": "ü", "a": 1})
    assert config_hash({"a": 1}) != config_hash({"a": 2})
    assert len(config_hash({})) == 12


def test_the_digest_of_the_code_follows_its_sources_and_data_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "digested_package"
    (package / "__pycache__").mkdir(parents=True)
    (package / "__init__.py").write_text("", encoding="utf-8")
    (package / "data.yaml").write_text("a: 1", encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    first = _fresh("digested_package")
    (package / "__pycache__" / "__init__.pyc").write_bytes(b"x")
    (package / "weights.onnx").write_bytes(b"x")
    assert _fresh("digested_package") == first
    (package / "data.yaml").write_text("a: 2", encoding="utf-8")
    assert _fresh("digested_package") != first
    assert code_digest("ontology") != code_digest("ontology", "inference")


def _fresh(package: str) -> str:
    code_digest.cache_clear()
    return code_digest(package)
