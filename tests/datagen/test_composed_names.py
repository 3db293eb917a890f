"""Composed names of resources: their parts are said and noted, and a request that leaves one open is rejected."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import pytest

from datagen.composed_names import needed_collections, said_collections
from datagen.interfaces import RequestValidator
from datagen.profiled_catalogue import ProfiledCatalogue
from datagen.synthetic_request import SampleValue, SyntheticRequest
from datagen.tool_links import ToolLinks
from datagen.tool_path import ToolPath
from datagen.validation.rules_validator import rules_validators
from ontology.tool import Parameter, Tool
from tests.datagen.generation.material import catalogue_of

SINGLE = "single-intent"
STATES = ("RUNNING", "STOPPED", "FAILED")
GARDEN = "^projects/[^/]+/locations/[^/]+/clusters/[^/]+$"


def _tool(action: str, of: str, description: str, name: str, pattern: str, *returns: str, text: str = "") -> Tool:
    description_of_name = text or "Required. The resource name."
    return Tool(
        id=f"garden/{of}.{action}",
        name=f"{of}.{action}",
        description=description,
        parameters=(
            Parameter(
                name=name,
                type="string",
                required=True,
                location="path",
                pattern=pattern,
                description=description_of_name,
            ),
        ),
        returns=tuple(Parameter(name=one, type="string", enum=STATES if one == "state" else ()) for one in returns),
        metadata={"namespace": "garden", "method": "DELETE" if action == "delete" else "GET"},
    )


SINKS, FOLDER_SINKS = (
    _tool("sinks.list", "projects", "Lists sinks.", "parent", "^projects/[^/]+$", "sinks[].name"),
    _tool("sinks.list", "folders", "Lists sinks.", "parent", "^folders/[^/]+$", "sinks[].name"),
)
LIST, GET, DELETE = (
    _tool("list", "clusters", "Lists clusters.", "parent", "^projects/[^/]+/locations/[^/]+$", "clusters[].name"),
    _tool("get", "clusters", "Gets a cluster.", "name", GARDEN, "name", "state"),
    _tool("delete", "clusters", "Deletes a cluster.", "name", GARDEN),
)
FORM = "Required. Format: projects/{project}/repositories/{repository}/images/{image}"
IMAGE = _tool("get", "images", "Gets an image.", "name", "", "name", text=FORM)
CONFIG = _tool("get", "configs", "Gets a config.", "name", "^projects/[^/]+/locations/[^/]+/cmekConfig$", "name")


@cache
def _catalogue() -> ProfiledCatalogue:
    return catalogue_of(SINKS, FOLDER_SINKS, LIST, GET, DELETE, IMAGE, CONFIG)


@cache
def _validators() -> Mapping[str, RequestValidator]:
    return {one.check: one for one in rules_validators(_catalogue(), ToolLinks(()))}


def _name(pattern: str, description: str = "") -> Parameter:
    return Parameter(name="name", pattern=pattern, description=description)


@pytest.mark.parametrize(
    ("name", "needed", "said"),
    [
        (_name(GARDEN), ("cluster", "location"), ("cluster", "location")),
        (_name("^projects/[^/]+/keyRings/[^/]+$"), ("key ring",), ("key ring", "project")),
        (_name("^projects/[^/]+$"), ("project",), ("project",)),
        (_name("^folders/[^/]+/sinks/[^/]+$"), ("sink", "folder"), ("sink", "folder")),
        (_name("^[^/]+/[^/]+/cases/[^/]+$"), ("case",), ("case",)),
        (_name("^operations/.*$"), ("operation",), ("operation",)),
        (_name("", FORM), ("image", "repository"), ("image", "repository")),
        (_name("", "Of projects/{p}/sinks/{s} or folders/{f}/sinks/{s}."), (), ()),
        (_name("", "A name and/or a title"), (), ()),
        (_name("^projects/[^/]+/locations/[^/]+/cmekConfig$"), (), ()),
        (_name("^[a-z]+$"), (), ()),
    ],
)
def test_the_parts_of_a_composed_name(name: Parameter, needed: tuple[str, ...], said: tuple[str, ...]) -> None:
    assert needed_collections(name) == needed
    assert said_collections(name) == said


@pytest.mark.parametrize(
    ("text", "values", "passes"),
    [
        ("Delete the cluster orders-db in eu-west-1.", ("orders-db", "eu-west-1"), True),
        ("Delete the cluster orders-db.", ("orders-db",), False),
        ("Delete the cluster in eu-west-1.", ("eu-west-1",), False),
        ("Delete projects/p1/locations/eu-west-1/clusters/db", ("projects/p1/locations/eu-west-1/clusters/db",), True),
    ],
)
def test_a_text_that_leaves_a_part_open_is_rejected(text: str, values: tuple[str, ...], passes: bool) -> None:
    request = SyntheticRequest(
        id="1",
        text=text,
        request_class=SINGLE,
        path=ToolPath(tools=(DELETE.id,)),
        values=tuple(SampleValue(tool=DELETE.id, parameter="name", value=value) for value in values),
    )
    assert all(validator.validate(request).passed for validator in _validators().values()) == passes
