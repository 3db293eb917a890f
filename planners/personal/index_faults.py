"""What could not be read of a person's data, each with its place: it stops nothing else."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Fault", "IndexReport"]


@dataclass(frozen=True, slots=True, order=True)
class Fault:
    """Something that could not be read, or only in part.

    :param subject: the file, and the place in it: ``inbox.mbox@81920``.
    :param problem: what is wrong and what was done about it, one sentence without a full stop.
    """

    subject: str
    problem: str


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexReport:
    """What an index holds and what the refresh did.

    :param entities: type → number of entities.
    :param read: files that were read, because they are new or changed.
    :param reused: files that were not.
    :param removed: files that are gone.
    :param faults: of all files of the index, also of those that were not read again.
    """

    entities: dict[str, int]
    read: int
    reused: int
    removed: int
    faults: tuple[Fault, ...]
