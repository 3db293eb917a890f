"""Parse JSON and YAML; syntax errors become DocumentErrors with the line.

YAML is parsed as OpenAPI requires (the JSON schema of YAML 1.2): ``no`` and ``2026-01-01`` are text, and keys are text.

The limits are checked before memory is used: the values of a JSON text, the nodes of a YAML text, the entries that merge keys
(``<<``) copy, and the nodes that aliases expand to.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Hashable
from typing import Any

import yaml

from ontology.errors import DocumentError
from ontology.files import SAFE_LOADER

__all__ = ["parse_json", "parse_yaml"]

#: Maximum number of values of a document. A value in memory takes some 200 bytes, however short its text is: 1 GB at most. Chosen,
#: not tuned; the largest of 600 discovery documents and EC2's model has 0.17 million.
MAX_NODES = 5_000_000
#: Maximum number of entries that the merge keys (``<<``) of a YAML document copy. Chosen, not tuned.
MAX_MERGED_ENTRIES = 100_000

_JSON_TEXT = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_MERGE_TAG = "tag:yaml.org,2002:merge"


def check_json_size(text: str | bytes, subject: str) -> None:
    """Count the values of a JSON text without parsing it: commas and opening brackets, at first also those inside texts.

    :raises DocumentError: for more than :data:`MAX_NODES` values.
    """
    if _values(text) > MAX_NODES and _values(_without_texts(text)) > MAX_NODES:
        raise DocumentError(
            f"it has more than {MAX_NODES:,} values", subject=subject, remedy="Split the document", reason="too-large"
        )


def _values(text: str | bytes) -> int:
    if isinstance(text, bytes):
        return text.count(b",") + text.count(b"{") + text.count(b"[")
    return text.count(",") + text.count("{") + text.count("[")


def _without_texts(text: str | bytes) -> str:
    shown = text.decode("utf-8", errors="replace") if isinstance(text, bytes) else text
    return _JSON_TEXT.sub("", shown)


def check_merges(loader: Any, node: yaml.MappingNode) -> None:
    """Count the entries that the merge keys of a mapping copy, before they are copied: each level of aliases multiplies them.

    :param loader: it keeps the counts of its document in ``merged`` and ``merged_sizes``.
    :raises yaml.constructor.ConstructorError: for more than :data:`MAX_MERGED_ENTRIES` entries, or a merge of itself.
    """
    if any(key.tag == _MERGE_TAG for key, _ in node.value):
        loader.merged += _merged_size(node, loader.merged_sizes, set()) - len(node.value)
        if loader.merged > MAX_MERGED_ENTRIES:
            problem = f"its merge keys copy more than {MAX_MERGED_ENTRIES:,} entries"
            raise yaml.constructor.ConstructorError(None, None, problem, node.start_mark)


def _merged_size(node: yaml.Node, sizes: dict[int, int], open_: set[int]) -> int:
    """Return the number of entries of a mapping after its merge keys are expanded; of a list, of all its mappings."""
    key = id(node)
    if key in sizes:
        return sizes[key]
    if key in open_:
        raise yaml.constructor.ConstructorError(None, None, "a merge key contains itself", node.start_mark)
    open_.add(key)
    total = 0
    if isinstance(node, yaml.SequenceNode):
        total = sum(_merged_size(item, sizes, open_) for item in node.value)
    elif isinstance(node, yaml.MappingNode):
        for name, value in node.value:
            total += _merged_size(value, sizes, open_) if name.tag == _MERGE_TAG else 1
    open_.discard(key)
    sizes[key] = total
    return total


#: Maximum number of values after every YAML alias is expanded: as many as without aliases (:data:`MAX_NODES`).
MAX_EXPANDED_NODES = 5_000_000

_MAX_YAML_DEPTH = 400  # chosen, not tuned: far above documents, far below what overflows the C stack
_TOO_DEEP = "it is nested too deeply"
_METHODS = frozenset({"get", "put", "post", "delete", "patch", "head", "options"})


def parse_json(text: str | bytes, *, subject: str, line: int = 1, whole: bool = False) -> Any:
    """Parse JSON; ``NaN`` and the infinities, which Python programs write for empty cells, become null.

    :param line: number of the text's first line in the document.
    :param whole: whether this is a whole document; a repeated path or method is then an error, because it hides operations.
    :raises DocumentError: with the line of the fault; also for more than :data:`MAX_NODES` values.
    """
    check_json_size(text, f"{subject}:{line}")
    try:
        return json.loads(text, parse_constant=_null, object_pairs_hook=_object if whole else None)
    except json.JSONDecodeError as error:
        location = f"{subject}:{line + error.lineno - 1}"
        fault = f"{error.msg} (column {error.colno})"
        raise DocumentError(
            f"invalid JSON: {fault}", subject=location, remedy="Correct the JSON", reason="invalid-json"
        ) from error
    except UnicodeDecodeError as error:
        raise DocumentError(
            f"not UTF-8 (byte {error.start})", subject=f"{subject}:{line}", remedy="Save it as UTF-8", reason="not-utf8"
        ) from error
    except (RecursionError, ValueError) as error:  # also a repeated key, or an integer with too many digits for Python
        fault = _TOO_DEEP if isinstance(error, RecursionError) else str(error)
        raise DocumentError(f"invalid JSON: {fault}", subject=f"{subject}:{line}", reason="invalid-json") from error


def parse_yaml(text: str, *, subject: str) -> Any:
    """Parse one YAML document.

    :raises DocumentError: with the line of the fault; also for aliases that contain themselves or expand beyond the limit.
    """
    try:
        data = _load(text)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise _invalid_yaml(str(error.problem), f"{subject}:{mark.line + 1}" if mark else subject) from error
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise _invalid_yaml(_TOO_DEEP if isinstance(error, RecursionError) else _one_line(error), subject) from error
    if "&" in text:
        _check_expansion(data, subject)
    return data


def _load(text: str) -> Any:
    loader = _Loader(text)
    loader.merged_sizes = {}  # of this document alone: it is keyed by the identity of its nodes
    try:
        return loader.get_single_data()
    finally:
        loader.dispose()


def _invalid_yaml(fault: str, subject: str, remedy: str = "Correct the YAML") -> DocumentError:
    return DocumentError(f"invalid YAML: {fault}", subject=subject, remedy=remedy, reason="invalid-yaml")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    mapping = dict(pairs)
    if len(mapping) < len(pairs):
        names = [name for name, _ in pairs]
        repeated = next((name for name in mapping if names.count(name) > 1 and _holds_operations(name)), None)
        if repeated is not None:
            raise ValueError(f"the key {repeated!r} is repeated in one object")
    return mapping


def _holds_operations(key: str) -> bool:
    return key.startswith("/") or key in _METHODS


def _null(_: str) -> None:
    return None


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())


def _check_expansion(data: Any, subject: str) -> None:
    """Reject too many alias copies. Aliases share one node in memory, but a walk over the tree visits every copy."""
    try:
        size = _expanded_size(data, {}, set())
    except RecursionError as error:
        raise _invalid_yaml(_TOO_DEEP, subject) from error
    if size is None:
        raise _invalid_yaml("an alias contains itself", subject, "Use $ref instead")
    if size > MAX_EXPANDED_NODES:
        fault = f"its aliases expand to more than {MAX_EXPANDED_NODES} nodes"
        raise _invalid_yaml(fault, subject, "Use $ref instead of aliases")


def _expanded_size(node: Any, sizes: dict[int, int], open_: set[int]) -> int | None:
    """Return the number of nodes with every alias expanded, or None for an alias that contains itself."""
    if not isinstance(node, (dict, list)):
        return 1
    key = id(node)
    if key in sizes:
        return sizes[key]
    if key in open_:
        return None
    open_.add(key)
    total = 1
    for child in node.values() if isinstance(node, dict) else node:
        size = _expanded_size(child, sizes, open_)
        if size is None:
            return None
        total += size
    open_.discard(key)
    sizes[key] = total
    return total


def _construct_mapping(loader: Any, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
    _check_repeats([key for key, _ in node.value if isinstance(key, yaml.ScalarNode)])
    check_merges(loader, node)
    loader.flatten_mapping(node)
    mapping: dict[Hashable, Any] = {}
    for key_node, value_node in node.value:
        if not isinstance(key_node, yaml.ScalarNode):
            raise yaml.constructor.ConstructorError(
                None, None, "a key must be text, not a list or a mapping", key_node.start_mark
            )
        mapping[key_node.value] = loader.construct_object(value_node, deep=deep)
    return mapping


def _check_repeats(keys: list[yaml.ScalarNode]) -> None:
    """Reject a repeated path or method. Called before merge keys are expanded, because those may be overridden."""
    counts = Counter(key.value for key in keys)
    for key in keys:
        if counts[key.value] > 1 and _holds_operations(key.value):
            problem = f"the key {key.value!r} is repeated in one mapping"
            raise yaml.constructor.ConstructorError(None, None, problem, key.start_mark)


def _descend(loader: Any, _current: Any, _index: Any) -> None:
    """Count the nodes and the depth at the start of each node. Deep nesting would overflow the C stack of the composer."""
    loader.nodes += 1
    if loader.nodes > MAX_NODES:
        raise yaml.YAMLError(f"it has more than {MAX_NODES:,} values")
    loader.depth += 1
    if loader.depth > _MAX_YAML_DEPTH:
        raise yaml.YAMLError(_TOO_DEEP)


def _ascend(loader: Any) -> None:
    loader.depth -= 1


def _make_loader() -> Any:
    members = {
        "construct_mapping": _construct_mapping,
        "descend_resolver": _descend,
        "ascend_resolver": _ascend,
        "depth": 0,
        "nodes": 0,
        "merged": 0,
        "yaml_implicit_resolvers": {},
    }
    loader: Any = type("_Loader", (SAFE_LOADER,), members)
    core = {
        "tag:yaml.org,2002:null": (r"^(?:~|null|Null|NULL|)$", ["~", "n", "N", ""]),
        "tag:yaml.org,2002:bool": (r"^(?:true|True|TRUE|false|False|FALSE)$", list("tTfF")),
        "tag:yaml.org,2002:int": (r"^[-+]?(?:0|[1-9][0-9]{0,300})$", list("-+0123456789")),
        "tag:yaml.org,2002:float": (
            r"^[-+]?(?:[0-9][0-9]*\.[0-9]*(?:[eE][-+]?[0-9]+)?|\.[0-9]+(?:[eE][-+]?[0-9]+)?|[0-9]+[eE][-+]?[0-9]+)$",
            list("-+0123456789."),
        ),
        "tag:yaml.org,2002:merge": (r"^<<$", ["<"]),
    }
    for tag, (pattern, first) in core.items():
        loader.add_implicit_resolver(tag, re.compile(pattern), first)
    return loader


_Loader: Any = _make_loader()
