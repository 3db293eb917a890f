"""What the page about operating says of deploying is true: its commands name files, targets, options and values that exist."""

from __future__ import annotations

import re
import shlex
from itertools import pairwise
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from services.cli.app import app
from tests.conftest import ROOT
from tests.deploy.promql import metrics
from tests.deploy.test_chart import NAMES, SCHEMA, VALUES, changed_values, merged
from tests.deploy.test_compose import SERVICES
from tests.deploy.test_deploy import SCALED_BY, settings_of

WHOLE = (ROOT / "docs" / "operate.md").read_text(encoding="utf-8")
PAGE = WHOLE[WHOLE.index("## An image") : WHOLE.index("## A cluster of Ray")]
COMMANDS = [
    shlex.split(line)
    for block in re.findall(r"^```bash\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    for line in block.splitlines()
]
VALUES_FILE, ADAPTER = re.findall(r"^```yaml\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
TARGETS = set(
    re.findall(r"^FROM scratch AS (\w+)$", (ROOT / "deploy/container/Containerfile").read_text("utf-8"), re.MULTILINE)
)


def commands(*start: str) -> list[list[str]]:
    found = [words for words in COMMANDS if tuple(words[: len(start)]) == start]
    assert found, start
    return found


def understood(words: list[str]) -> None:
    """Fail where ``egotools`` has no such command or option."""
    name = words[:3] if words[0] == "admin" else words[:1]
    shown = CliRunner().invoke(app, [*name, "--help-all"])
    assert shown.exit_code == 0 and all(word in shown.output for word in words if word.startswith("--")), words


def test_every_file_that_is_named_is_there() -> None:
    named = re.findall(r"(?<![\w/])(?:deploy|scripts|tests)/[\w./-]*\w", PAGE)
    assert len(named) > 10 and [name for name in named if not (ROOT / name).exists()] == []


def test_images_are_built_from_their_targets_and_started_with_commands_that_exist() -> None:
    tags = {}
    for words in commands("podman", "build"):
        options = dict(pairwise(words))
        assert (ROOT / options["-f"]).exists() and words[-1] == "."
        tags[options["-t"]] = options["--target"]
    assert set(tags.values()) == TARGETS == set(SERVICES)
    assert {SERVICES[target]["image"]: target for target in TARGETS} == tags
    for words in commands("podman", "run"):
        (image,) = tags.keys() & set(words)
        settings_of(dict(word.split("=", 1) for option, word in pairwise(words) if option == "--env"))
        if rest := words[words.index(image) + 1 :]:
            understood(rest)


@pytest.mark.parametrize(
    "words", [words for words in COMMANDS if any("egotools" in word for word in words)], ids=" ".join
)
def test_commands_of_egotools_have_the_options_they_are_given(words: list[str]) -> None:
    for place, word in enumerate(words[:-1]):
        if word.rpartition("/")[2] == "egotools" and words[place + 1] in ("build", "serve", "admin"):
            understood(words[place + 1 :])


def test_services_of_compose_are_those_of_the_file() -> None:
    assert {words[-1] for words in commands("docker", "compose")} - {"ps"} == set(SERVICES)


def set_value(given: str) -> Any:
    path, _, value = given.partition("=")
    for name in reversed(path.split(".")):
        value = {name: value}  # type: ignore[assignment]
    return value


def test_the_chart_takes_the_values_that_it_is_given() -> None:
    for words in commands("helm", "install"):
        assert (ROOT / words[3] / "Chart.yaml").exists()
        options = dict(pairwise(words))
        if file := options.get("--values"):
            SCHEMA.validate(merged(VALUES, yaml.safe_load((ROOT / file).read_text(encoding="utf-8"))))
        if given := options.get("--set"):
            SCHEMA.validate(merged(VALUES, set_value(given)))
    values = yaml.safe_load(VALUES_FILE)
    SCHEMA.validate(merged(VALUES, values))
    settings_of({f"EGOTOOLS_{name}": value for name, value in values["settings"].items()})
    assert all(f"`deploy/helm/values/{name}.yaml`" in PAGE for name in NAMES if changed_values(name))


def test_the_adapter_gives_the_metric_that_the_chart_scales_by() -> None:
    (rule,) = yaml.safe_load(ADAPTER)["rules"]
    assert {rule["name"]["matches"]} == metrics(rule["seriesQuery"]) == set(SCALED_BY)


def test_secrets_have_the_names_and_keys_that_the_chart_reads() -> None:
    made = {words[4]: words for words in commands("kubectl", "create", "secret")}
    assert set(made) == {VALUES["tls"]["existingSecret"], VALUES["access"]["existingSecret"]}
    keys = {word.removeprefix("--from-file=").split("=")[0] for word in made["egotools-access"] if "from-file" in word}
    assert keys == {"policy.yaml", "tokens.json"}
