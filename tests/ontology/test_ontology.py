"""The ontology file: the shipped one is whole, and every fault of another is named with its line."""

from pathlib import Path

import pytest

from ontology import Ontology, OntologyError, check_ontology, load_ontology
from ontology.files import write_file


@pytest.fixture(scope="module")
def shipped() -> Ontology:
    return load_ontology()


def test_the_digest_changes_with_what_is_said_and_not_with_how(tmp_path: Path, shipped: Ontology) -> None:
    same = write_file(tmp_path / "same.yaml", "name: egotools-default\nextends: default\n")
    other = write_file(
        tmp_path / "other.yaml", "name: egotools-default\nextends: default\nabbreviations: {xyz: something}\n"
    )
    assert load_ontology(same).digest == shipped.digest == load_ontology().digest
    assert load_ontology(other).digest != shipped.digest


def test_an_extension_adds_and_replaces(tmp_path: Path, shipped: Ontology) -> None:
    path = write_file(
        tmp_path / "mine.yaml",
        "name: mine\nextends: default\nentity_types:\n  vessel: {description: A ship, is_a: entity}\n"
        "predicates:\n  sails_to: {domain: [vessel], range: [location]}\n",
    )
    mine = load_ontology(path)
    assert set(mine.predicates) == set(shipped.predicates) | {"sails_to"}
    assert mine.allows("vessel", "sails_to", "location")
    assert mine.allows("tool", "has_entity", "vessel")


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("", 1, "empty"),
        ("- a\n- b\n", 1, "mapping"),
        ("name: x\nentity_types: [\n", 3, "invalid YAML"),
        ("extends: default\n", 1, "no name"),
        ("name: x\nextends: yours\n", 2, "yours"),
        ("name: x\nextends: default\ncolour: blue\n", 3, "colour"),
        ("name: x\nextends: default\nname: y\n", 3, "twice"),
        ("name: x\nextends: default\nentity_types:\n  a: {is_a: b}\n  b: {is_a: a}\n", 4, "itself"),
        ("name: x\nextends: default\nentity_types:\n  a: {is_a: nothing}\n", 4, "nothing"),
        ("name: x\nextends: default\npredicates:\n  p: {range: [tool]}\n", 4, "no domain"),
        ("name: x\nextends: default\npredicates:\n  p: {domain: [tool], range: [ship]}\n", 4, "ship"),
        ("name: x\nextends: default\npredicates:\n  p: {domain: tool, range: [tool]}\n", 4, "list"),
        (
            "name: x\nextends: default\npredicates:\n  p: {domain: [tool], range: [tool], synonyms: [a]}\n",
            4,
            "no phrase",
        ),
        (
            "name: x\nextends: default\npredicates:\n  p: {domain: [tool], range: [tool], metadata: [k]}\n"
            "  q: {domain: [tool], range: [tool], metadata: [k]}\n",
            5,
            "metadata key",
        ),
        ("name: x\nextends: default\nabbreviations: {po: }\n", 3, "is empty"),
        ("name: x\nextends: default\nversion: new\n", 3, "valid integer"),
        ("name: x\nentity_types:\n  tool: {}\npredicates: {}\n", 1, "missing"),
        ("name: x\nextends: default\nfallback: has_entity\n", 3, "no phrase"),
    ],
)
def test_every_fault_is_named_with_its_line(tmp_path: Path, text: str, line: int, words: str) -> None:
    path = write_file(tmp_path / "faulty.yaml", text)
    ontology, faults = check_ontology(path)
    assert ontology is None
    assert any(fault.line == line and words in str(fault) for fault in faults), list(map(str, faults))
    assert list(faults) == sorted(faults)
    with pytest.raises(OntologyError, match="line"):
        load_ontology(path)


@pytest.mark.parametrize(("size", "lines"), [("", [4, 6]), ("size: 3\nsize: 4\n", [3, 4])], ids=["names", "form"])
def test_all_faults_of_form_are_found_together_and_then_all_of_names(
    tmp_path: Path, size: str, lines: list[int]
) -> None:
    path = write_file(
        tmp_path / "faulty.yaml",
        f"name: x\nextends: default\n{size}entity_types:\n  a: {{is_a: nothing}}\npredicates:\n  p: {{domain: [ship], range: [tool]}}\n",
    )
    assert [fault.line for fault in check_ontology(path).faults] == lines


def test_an_unreadable_file_is_a_fault_too(tmp_path: Path) -> None:
    (tmp_path / "latin.yaml").write_bytes(b"name: caf\xe9\n")
    for path, told in (
        (tmp_path / "latin.yaml", "cannot be read"),
        (tmp_path / "absent.yaml", "no such file"),
        (tmp_path, "no such file"),
    ):
        ontology, (fault,) = check_ontology(path)
        assert ontology is None and told in fault.problem


def test_a_file_that_is_nested_too_deeply_has_a_fault(tmp_path: Path) -> None:
    path = write_file(tmp_path / "deep.yaml", "name: x\nabbreviations: " + "[" * 400_000)
    with pytest.raises(OntologyError, match="too deeply"):
        load_ontology(path)
