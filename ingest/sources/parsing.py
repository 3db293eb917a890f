"""Parse JSON and YAML; syntax errors become DocumentErrors with the line.

YAML is parsed as OpenAPI requires (the JSON schema of YAML 1.2): ``no`` and ``2026-01-01`` are text, and keys are text. The limit of a
document, :data:`MAX_NODES` values, is checked before memory is used: on the JSON text, on the nodes of YAML, with aliases expanded.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Hashable
from typing import Any, ClassVar

import yaml

from ontology.errors import DocumentError
from ontology.files import SAFE_LOADER

#: Maximum number of values of a document. A value in memory takes some 200 bytes, however short its text is: 1 GB at most. Chosen,
#: not tuned; the largest of 600 discovery documents and EC2's model has 0.17 million.
MAX_NODES = 5_000_000

_MAX_YAML_DEPTH = 400  # chosen, not tuned: far above documents, far below what overflows the C stack
_TOO_DEEP = "it is nested too deeply"
_JSON_TEXT = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_METHODS = frozenset({"get", "put", "post", "delete", "patch", "head", "options"})


def parse_json(text: str | bytes, *, subject: str, line: int = 1, whole: bool = False) -> Any:
    """Parse JSON; ``NaN`` and the infinities, which Python programs write for empty cells, become null.

    :param line: number of the text's first line in the document.
    :param whole: whether this is a whole document; a repeated path or method is then an error, because it hides operations.
    :raises DocumentError: with the line of the fault; also for more than :data:`MAX_NODES` values.
    """
    location = f"{subject}:{line}"
    if len(text) > MAX_NODES:  # a value has a character at least
        raw = text.encode("utf-8", "replace") if isinstance(text, str) else text
        if _values(raw) > MAX_NODES and _values(_JSON_TEXT.sub(b"", raw)) > MAX_NODES:
            problem = f"it has more than {MAX_NODES:,} values"
            raise DocumentError(problem, subject=location, remedy="Split the document", reason="too-large")
    try:
        return json.loads(text, parse_constant=lambda _: None, object_pairs_hook=_object if whole else None)
    except json.JSONDecodeError as error:
        location = f"{subject}:{line + error.lineno - 1}"
        problem = f"invalid JSON: {error.msg} (column {error.colno})"
        raise DocumentError(problem, subject=location, remedy="Correct the JSON", reason="invalid-json") from error
    except UnicodeDecodeError as error:
        problem = f"not UTF-8 (byte {error.start})"
        raise DocumentError(problem, subject=location, remedy="Save it as UTF-8", reason="not-utf8") from error
    except (RecursionError, ValueError) as error:  # also a repeated key, or an integer with too many digits for Python
        fault = _TOO_DEEP if isinstance(error, RecursionError) else str(error)
        raise DocumentError(f"invalid JSON: {fault}", subject=location, reason="invalid-json") from error


def _values(raw: bytes) -> int:
    """The number of values of a JSON text: commas and opening brackets, also those inside texts where it has these."""
    return raw.count(b",") + raw.count(b"{") + raw.count(b"[")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    mapping = dict(pairs)
    if len(mapping) < len(pairs) and (repeated := _repeated([name for name, _ in pairs])):
        raise ValueError(f"the key {repeated!r} is repeated in one object")
    return mapping


def _repeated(keys: list[str]) -> str:
    """The first path or method that is there more than once; empty for none."""
    counts = Counter(keys)
    return next((key for key, n in counts.items() if n > 1 and (key.startswith("/") or key in _METHODS)), "")


def parse_yaml(text: str, *, subject: str) -> Any:
    """Parse one YAML document.

    :raises DocumentError: with the line of the fault; also for aliases that contain themselves or expand beyond the limit.
    """
    loader = _Loader(text)
    try:
        root = loader.get_single_node()
        if root is not None and "&" in text:
            _expanded_size(root, {})
        return None if root is None else loader.construct_document(root)
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        fault = _TOO_DEEP if isinstance(error, RecursionError) else " ".join(str(error).split())
        if isinstance(error, yaml.MarkedYAMLError):
            fault, mark = str(error.problem), error.problem_mark or error.context_mark
            subject = f"{subject}:{mark.line + 1}" if mark else subject
        remedy = "Use $ref instead of aliases" if fault.startswith(("an alias", "its aliases")) else "Correct the YAML"
        problem = f"invalid YAML: {fault}"
        raise DocumentError(problem, subject=subject, remedy=remedy, reason="invalid-yaml") from error
    finally:
        loader.dispose()


def _expanded_size(node: yaml.Node, sizes: dict[int, int]) -> int:
    """Return the number of values below a node with every alias and merge key expanded. Aliases share one node in memory, but a merge
    copies it, and a walk over the tree visits every copy.
    """
    key = id(node)
    if key not in sizes:
        sizes[key] = 0  # while it is open
        inner = node.value if isinstance(node, yaml.SequenceNode) else ()
        if isinstance(node, yaml.MappingNode):
            inner = [value for _, value in node.value]
        sizes[key] = 1 + sum(_expanded_size(each, sizes) for each in inner)
        if sizes[key] > MAX_NODES:
            raise _constructor_error(f"its aliases expand to more than {MAX_NODES:,} values", node)
    if not sizes[key]:
        raise _constructor_error("an alias contains itself", node)
    return sizes[key]


def _constructor_error(problem: str, node: yaml.Node) -> yaml.constructor.ConstructorError:
    return yaml.constructor.ConstructorError(None, None, problem, node.start_mark)


class _Loader(SAFE_LOADER):  # type: ignore[misc]  # of C where PyYAML has it
    """A loader that counts the nodes and the depth: deep nesting would overflow the C stack of the composer."""

    depth = nodes = 0
    yaml_implicit_resolvers: ClassVar[dict[str, Any]] = {}

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        # before merge keys are expanded, because those may be overridden
        if repeated := _repeated([key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode)]):
            first = next(key for key, _ in node.value if key.value == repeated)
            raise _constructor_error(f"the key {repeated!r} is repeated in one mapping", first)
        self.flatten_mapping(node)
        mapping: dict[Hashable, Any] = {}
        for key_node, value_node in node.value:
            if not isinstance(key_node, yaml.ScalarNode):
                raise _constructor_error("a key must be text, not a list or a mapping", key_node)
            mapping[key_node.value] = self.construct_object(value_node, deep=deep)
        return mapping

    def descend_resolver(self, _current: Any, _index: Any) -> None:
        self.nodes += 1
        if self.nodes > MAX_NODES:
            raise yaml.YAMLError(f"it has more than {MAX_NODES:,} values")
        self.depth += 1
        if self.depth > _MAX_YAML_DEPTH:
            raise yaml.YAMLError(_TOO_DEEP)

    def ascend_resolver(self) -> None:
        self.depth -= 1


_NUMBER = list("-+0123456789")
_FLOAT = r"[0-9][0-9]*\.[0-9]*(?:[eE][-+]?[0-9]+)?|\.[0-9]+(?:[eE][-+]?[0-9]+)?|[0-9]+[eE][-+]?[0-9]+"
for _name, _pattern, _first in (
    ("null", r"^(?:~|null|Null|NULL|)$", ["~", "n", "N", ""]),
    ("bool", r"^(?:true|True|TRUE|false|False|FALSE)$", list("tTfF")),
    ("int", r"^[-+]?(?:0|[1-9][0-9]{0,300})$", _NUMBER),
    ("float", rf"^[-+]?(?:{_FLOAT})$", [*_NUMBER, "."]),
    ("merge", r"^<<$", ["<"]),
):
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_name}", re.compile(_pattern), _first)
