"""YAML in which no key stands twice: of the two only the last would count, and nobody would see it."""

from __future__ import annotations

from typing import Any

import yaml

from ontology.yaml_data import SAFE_LOADER

__all__ = ["load_unique_keys"]


def load_unique_keys(text: bytes | str) -> Any:
    """Return the content of a YAML text.

    :raises yaml.YAMLError: for what is no YAML, and for a key that stands twice.
    """
    return yaml.load(text, Loader=_Loader)


def _construct_mapping(loader: Any, node: Any, deep: bool = False) -> dict[Any, Any]:
    seen: set[str] = set()
    for key, _ in node.value:
        if str(key.value) in seen:
            raise yaml.constructor.ConstructorError(None, None, f"{key.value!r} stands twice", key.start_mark)
        seen.add(str(key.value))
    found: dict[Any, Any] = SAFE_LOADER.construct_mapping(loader, node, deep)
    return found


_Loader: Any = type("_Loader", (SAFE_LOADER,), {"construct_mapping": _construct_mapping})
