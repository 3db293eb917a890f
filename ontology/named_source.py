"""What the report of a build and the manifest of a snapshot say of a named source; nothing of it is secret."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["NamedSource"]


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedSource:
    """A named source.

    :param location: address, path or pattern, as it may be shown.
    :param namespaces: the namespaces of its tools.
    :param refresh_s: seconds after which it should be read again, or None.
    :param aliases: other names of the system.
    :param tools: number of its tools in the catalogue.
    """

    # Where pydantic reads one from a file, it takes no other field and converts no type.
    __pydantic_config__ = {"extra": "forbid", "strict": True}  # noqa: RUF012 - read by pydantic, never changed

    name: str
    location: str
    namespaces: tuple[str, ...]
    owner: str = ""
    description: str = ""
    aliases: tuple[str, ...] = ()
    refresh_s: int | None = None
    tools: int
