"""How a source is reached: environment variables, headers and addresses whose values are references.

A reference is ``${VARIABLE}`` in a text, or a file. Its value is read at the moment of use, and kept nowhere.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ontology.errors import DocumentError

_REFERENCE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_MAX_FILE_BYTES = 2**16
_SHORTEST = 6  # a shorter value is part of too many words to be looked for


def without_references(text: str) -> str:
    """Return a text without the references ``${NAME}`` in it."""
    return _REFERENCE.sub("", text)


@dataclass(frozen=True, slots=True)
class Value:
    """A text with references to environment variables, or a file that holds the value.

    :param text: the text; empty for a file.
    :param file: a file whose content, without blanks at its ends, is the value.
    """

    text: str = ""
    file: Path | None = None

    def resolve(self) -> str:
        """Return the value.

        :raises DocumentError: when a variable is not set, or the file cannot be read; never with the value.
        """
        if self.file is not None:
            return _content(self.file)
        return _REFERENCE.sub(lambda found: _variable(found[1]), self.text)

    def secrets(self) -> Iterator[str]:
        """Yield the referenced values as they are now; those that cannot be read are left out."""
        if self.file is not None:
            try:
                yield _content(self.file)
            except DocumentError:
                return
        yield from (os.environ[name] for name in _REFERENCE.findall(self.text) if name in os.environ)


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """The references of one source.

    :param env: environment variables of the process of an MCP server or a Python module.
    :param headers: headers of HTTP requests; they go to the host of the address alone.
    :param target: the command or the address where it has references itself, else None.
    """

    env: Mapping[str, Value] = field(default_factory=dict)
    headers: Mapping[str, Value] = field(default_factory=dict)
    target: Value | None = None

    def resolved_env(self) -> dict[str, str]:
        """Return the environment variables with their values; raises as :meth:`Value.resolve`."""
        return {name: value.resolve() for name, value in self.env.items()}

    def resolved_headers(self) -> dict[str, str]:
        """Return the headers with their values; raises as :meth:`Value.resolve`, and for a line break in a value."""
        headers = {name: value.resolve() for name, value in self.headers.items()}
        for name, text in headers.items():
            if not text.isprintable() or not text.isascii():
                raise _no_value(f"the value of the header {name} has characters that a header cannot have")
        return headers

    def expand(self, text: str) -> str:
        """Return a part of the address with its references replaced; unchanged where the address has none."""
        return text if self.target is None else Value(text).resolve()

    def secrets(self) -> tuple[str, ...]:
        """Return all referenced values, so that they can be found in other texts."""
        values = [*self.env.values(), *self.headers.values(), *([self.target] if self.target else [])]
        found = dict.fromkeys(secret for value in values for secret in value.secrets())
        return tuple(secret for secret in found if len(secret) >= _SHORTEST)


#: The access of an address without references.
NO_ACCESS = Access()


def _variable(name: str) -> str:
    if name not in os.environ:
        raise _no_value(f"the environment variable {name} is not set", f"Set {name}")
    return os.environ[name]


def _content(file: Path) -> str:
    try:
        if not file.is_file():  # a pipe or a device could be read without end
            raise _no_value(f"there is no file {file.name!r} with a value", "Create it, or correct the path")
        with file.open("rb") as handle:
            content = handle.read(_MAX_FILE_BYTES + 1)
        if len(content) > _MAX_FILE_BYTES:
            raise _no_value(f"the file {file.name!r} is larger than {_MAX_FILE_BYTES} bytes")
        return content.decode("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise _no_value(f"the file {file.name!r} with a value cannot be read ({type(error).__name__})") from None


def _no_value(problem: str, remedy: str = "") -> DocumentError:
    return DocumentError(problem, remedy=remedy, reason="no-value")
