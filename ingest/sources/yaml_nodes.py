"""Read the nodes of a YAML file that people write, and collect all its faults with their lines."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from ontology.ontology import Fault

_MERGE = "<<"
_MAX_BYTES = 2**20


def compose_file(path: Path) -> yaml.Node | Fault:
    """Return the root node of a YAML file of at most 1 MiB, or its fault."""
    try:
        if not path.is_file():
            return Fault(1, "there is no such file")
        if path.stat().st_size > _MAX_BYTES:
            return Fault(1, f"the file is larger than {_MAX_BYTES} bytes")
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        return Fault(1, f"the file cannot be read: {type(error).__name__}", "Save it as UTF-8")
    return compose(text)


def compose(text: str) -> yaml.Node | Fault:
    """Return the root node of a YAML text, or its fault. Nothing is expanded or constructed."""
    loader = yaml.SafeLoader(text)
    try:
        root = loader.get_single_node()
    except yaml.MarkedYAMLError as error:
        return Fault(error.problem_mark.line + 1 if error.problem_mark else 1, f"invalid YAML: {error.problem}")
    except yaml.YAMLError as error:
        return Fault(1, f"invalid YAML: {type(error).__name__}")
    except RecursionError:
        return Fault(1, "invalid YAML: it is nested too deeply")
    finally:
        loader.dispose()
    return root if root is not None else Fault(1, "the file is empty")


class YamlNodes:
    """Reader of the values of nodes. A value of the wrong type is a fault, and an empty value is returned."""

    def __init__(self) -> None:
        self.faults: list[Fault] = []

    def fault(self, node: yaml.Node, problem: str, remedy: str = "") -> None:
        """Add a fault at the line of a node."""
        self.faults.append(Fault(node.start_mark.line + 1, problem, remedy))

    def mapping(self, node: yaml.Node, what: str, known: frozenset[str] | None = None) -> dict[str, yaml.Node]:
        """Return the values of a mapping by key.

        :param known: the keys that it may have; None for any.
        """
        if not isinstance(node, yaml.MappingNode):
            self.fault(node, f"{what} must be a mapping", "write `key: value`")
            return {}
        values: dict[str, yaml.Node] = {}
        for key, value in node.value:
            name = str(key.value) if isinstance(key, yaml.ScalarNode) else _MERGE
            if name == _MERGE or (known is not None and name not in known):
                remedy = f"known: {', '.join(sorted(known))}" if known is not None else "write its entries out"
                self.fault(key, f"{what} has an unknown key {name!r}", remedy)
            elif name in values:
                self.fault(key, f"{what} has the key {name!r} twice", "keep one of them")
            else:
                values[name] = value
        return values

    def text(self, node: Any, what: str) -> str:
        """Return a text without blanks at its ends; an empty one is a fault."""
        if node is None:
            return ""
        if not isinstance(node, yaml.ScalarNode):
            self.fault(node, f"{what} must be a text")
            return ""
        text = str(node.value).strip()
        if not text or node.tag == "tag:yaml.org,2002:null":
            self.fault(node, f"{what} is empty", "write a text, or leave the key out")
            return ""
        return text

    def texts(self, node: Any, what: str) -> tuple[str, ...]:
        """Return a list of texts."""
        return tuple(text for item in self.items(node, what) if (text := self.text(item, f"an item of {what}")))

    def items(self, node: Any, what: str) -> Iterator[yaml.Node]:
        """Yield the nodes of a list."""
        if node is None:
            return
        if not isinstance(node, yaml.SequenceNode):
            self.fault(node, f"{what} must be a list", "write [one, two]")
            return
        yield from node.value
