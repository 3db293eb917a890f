"""The collection that an item of an HTTP path is in: ``/groups/{}/events`` for ``id`` of ``/groups/{group_id}/events/{id}``.

A tool with exactly this path is the nearest one that lists the item's siblings. Found on Compute Engine and Microsoft Graph, where a
region's policies and the whole project's have the same name.
"""

from __future__ import annotations

import re
from functools import lru_cache

from ontology.tool import Parameter, Tool

__all__ = ["collection_path", "normal_path"]

_VERSION = re.compile(r"^/?(?:(?:api|apis|rest|odata|v?\d[\w.]*)/)+")
_METHOD = re.compile(r"(?<=[\w}]):[A-Za-z]\w*$")
_KEYED = re.compile(r"\(([^()]*\{[^()]*)\)")
_PLACEHOLDER = re.compile(r"\{[^{}]*\}|\[\^/\]\+|(?<=/):\w+|<[^<>/]+>")


def normal_path(tool: Tool) -> str:
    """Return the path of a tool without version and names of placeholders; empty without one."""
    path = tool.metadata.get("path") if tool.metadata.get("format") != "aws.v1" else None
    return _normal(path) if isinstance(path, str) and path.strip("/") else ""


def collection_path(tool: Tool, parameter: Parameter) -> str:
    """Return the normal path of the collection that a path parameter is an item of; empty where there is none."""
    if "/" in parameter.pattern:
        steps = _normal(parameter.pattern.strip("^$")).rsplit("/", 1)
        return steps[0] if steps[-1] == "{}" else ""
    path = tool.metadata.get("path")
    if parameter.location != "path" or not isinstance(path, str) or tool.metadata.get("format") == "aws.v1":
        return ""
    part = path.find(f"{parameter.name}={{")  # of an OData key
    if part > 0 and (key := path.rfind("(", 0, part)) > 0:
        return _normal(path[:key])
    start = min((at for at in (path.find(form) for form in _forms(parameter.name)) if at >= 0), default=-1)
    return _normal(path[:start].rstrip("(/")) if start > 0 else ""


def _forms(name: str) -> tuple[str, ...]:
    return f"{{{name}}}", f"{{+{name}}}", f":{name}", f"<{name}>"


@lru_cache(maxsize=50_000)
def _normal(path: str) -> str:
    path = _METHOD.sub("", _VERSION.sub("", path.split("?", 1)[0]))
    path = _PLACEHOLDER.sub("{}", _KEYED.sub("/{}", path))
    return path.strip("/").removesuffix(".json").lower()
