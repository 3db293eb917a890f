"""A named source of tools: where it is, how it is reached, which of its tools are kept, and what is said of it."""

from __future__ import annotations

from dataclasses import dataclass, field

from ingest.sources.access import Access

__all__ = ["SourceEntry"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceEntry:
    """One source of a sources file, or an address of the command line with a name.

    :param name: unique in a build.
    :param location: address, path or pattern; references in it are not replaced.
    :param namespace: the first part of the ids of its tools.
    :param access: environment variables, headers and references in the location.
    :param include: patterns of names or ids, as :mod:`fnmatch` reads them; a tool must match one. Empty: all tools.
    :param exclude: patterns of names or ids; a tool must match none.
    :param include_tags: likewise for the tags of a tool.
    :param exclude_tags: likewise.
    :param refresh_s: seconds after which it should be read again; None where nothing is said. A sync that watches acts on it.
    :param aliases: other names of the system.
    """

    name: str
    location: str
    namespace: str
    access: Access = field(default_factory=Access)
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    include_tags: tuple[str, ...] = ()
    exclude_tags: tuple[str, ...] = ()
    owner: str = ""
    refresh_s: int | None = None
    description: str = ""
    aliases: tuple[str, ...] = ()

    @property
    def metadata(self) -> dict[str, str]:
        """What each of its tools has in its metadata: the name of the source, and its owner where there is one."""
        return {"source": self.name, **({"owner": self.owner} if self.owner else {})}
