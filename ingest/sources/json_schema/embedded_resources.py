"""Schemas of an OpenAPI 3.1 document that have an address of their own: ``$id``, ``$anchor`` and ``$dynamicAnchor`` of JSON Schema."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urljoin

__all__ = ["EmbeddedResources", "absolute_reference", "embedded_resources", "has_json_schema_addresses"]

# What these keys hold is data, not schemas.
_DATA = frozenset({"example", "examples", "default", "enum", "const"})
_ANCHORS = ("$anchor", "$dynamicAnchor")


@dataclass(frozen=True, slots=True)
class EmbeddedResources:
    """The schemas of a document by their addresses.

    :param resources: map from the absolute URI of a ``$id`` to its schema.
    :param anchors: map from the absolute URI with an anchor to its schema.
    """

    resources: dict[str, Any] = field(default_factory=dict)
    anchors: dict[str, Mapping[str, Any]] = field(default_factory=dict)


def has_json_schema_addresses(data: Any) -> bool:
    """Whether it is an OpenAPI document whose schemas are those of JSON Schema 2020-12: version 3.1 or later."""
    version = str(data.get("openapi", "")) if isinstance(data, Mapping) else ""
    return version.startswith("3.") and not version.startswith("3.0")


def embedded_resources(data: Any, base: str) -> EmbeddedResources:
    """Find the schemas with addresses, and make the references inside them absolute, in place.

    A ``$dynamicRef`` becomes a ``$ref`` where its anchor stands once. Where it stands several times, the target depends on the path
    of the evaluation; the reference is removed, so that any value is accepted.

    :param base: the URI of the document.
    """
    found = EmbeddedResources()
    dynamic: Counter[str] = Counter()
    references: list[tuple[dict[str, Any], str]] = []
    for node, own in _schemas(data, base):
        if isinstance(node.get("$id"), str) and own != base:
            found.resources.setdefault(own, node)
        for key in _ANCHORS:
            if isinstance(anchor := node.get(key), str):
                found.anchors.setdefault(f"{own}#{anchor}", node)
                dynamic[anchor] += key == "$dynamicAnchor"
        if isinstance(ref := node.get("$ref"), str) and own != base:
            node["$ref"] = absolute_reference(own, ref)
        if isinstance(ref := node.get("$dynamicRef"), str):
            references.append((node, absolute_reference(own, ref)))
    for node, ref in references:
        del node["$dynamicRef"]
        if dynamic[ref.rpartition("#")[2]] <= 1:
            node.setdefault("$ref", ref)
    return found


def absolute_reference(base: str, ref: str) -> str:
    """A reference as an absolute URI, or as it is where it is no valid one (``//[``).

    A fragment is added to any base, also to one of a scheme without paths (``urn:``).
    """
    if ref.startswith("#"):
        return f"{base}{ref}"
    try:
        return urljoin(base, ref)
    except ValueError:
        return ref


def _schemas(data: Any, base: str) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield each object of a document with the URI that its references are relative to."""
    pending: list[tuple[Any, str]] = [(data, base)]
    done: set[int] = set()
    while pending:
        node, own = pending.pop()
        if id(node) in done:  # an alias of YAML
            continue
        done.add(id(node))
        if isinstance(node, list):
            pending += [(inner, own) for inner in reversed(node) if isinstance(inner, (dict, list))]
        elif isinstance(node, dict):
            if isinstance(id_ := node.get("$id"), str):
                own = absolute_reference(own, id_).partition("#")[0]
            yield node, own
            inner_nodes = [(inner, own) for key, inner in node.items() if key not in _DATA]
            pending += [pair for pair in reversed(inner_nodes) if isinstance(pair[0], (dict, list))]
