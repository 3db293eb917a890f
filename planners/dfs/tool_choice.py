"""Which retrieved tools resolve an edge in one direction, or find the entities of a type; and why."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from egotools import Tool
from planners.calls.tool_finder import Finder
from planners.calls.typed_binding import Binding, EntityName, Misfit, Wanted
from planners.dfs.resolver import Step
from planners.query.domain import Domain, EntityType, Lookup

__all__ = ["Candidate", "Choice", "choose", "lookup_of", "wanted_by_step", "wanted_by_type"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A tool that fits.

    :param rank: of the service, from 1.
    """

    tool: Tool
    rank: int
    binding: Binding


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """The tools for one purpose.

    :param purpose: ``Email from Person``, or the name of a type.
    :param request: what the service was asked.
    :param candidates: the tool to call, then those to fall back to.
    :param misfits: why each other returned tool does not fit, one sentence each.
    """

    purpose: str
    request: str
    snapshot_id: str
    candidates: tuple[Candidate, ...]
    misfits: tuple[str, ...] = ()

    @property
    def reason(self) -> str:
        """Why the first candidate was chosen, one sentence."""
        if not self.candidates:
            return f"no tool for {self.purpose}: {'; '.join(self.misfits[:3]) or 'the service returned none'}"
        first = self.candidates[0]
        return f"rank {first.rank} for “{self.request}”; {first.binding.reason}"


async def choose(finder: Finder, purpose: str, request: str, fits: Callable[[Tool], Binding | Misfit]) -> Choice:
    """Ask for tools and return those that fit: first those with every name that the domain gives, each group by rank.

    :param fits: how a tool does what is wanted, or why it does not.
    :raises ClientError: when the service does not answer.
    """
    found = await finder.find(request)
    candidates, misfits = [], [f"{gone} is gone" for gone in found.gone]
    for each in found.tools:
        if each.tool.effect != "read":
            misfits.append(f"{each.tool.id} may change something")
            continue
        binding = fits(each.tool)
        if isinstance(binding, Misfit):
            misfits.append(binding.reason)
        else:
            candidates.append(Candidate(tool=each.tool, rank=each.rank, binding=binding))
    candidates.sort(key=lambda candidate: (not candidate.binding.exact, candidate.rank))
    return Choice(
        purpose=purpose,
        request=request,
        snapshot_id=found.snapshot_id,
        candidates=tuple(candidates),
        misfits=tuple(misfits),
    )


def lookup_of(domain: Domain, step: Step) -> Lookup | None:
    """How the domain resolves an edge in one direction; None where it has no such edge."""
    ends = (step.source, step.target) if step.forward else (step.target, step.source)
    edge = domain.edge(step.edge, *ends)
    if edge is None:
        return None
    return edge.forward.get(step.target) if step.forward else edge.backward.get(step.source)


def wanted_by_step(domain: Domain, step: Step, lookup: Lookup) -> Wanted:
    """What a tool must do for a step. From a range of days ``fields`` may name the inputs of its ``start`` and ``end``."""
    source, target = domain.types[step.source], domain.types[step.target]
    takes = lookup.takes
    if source.kind == "date" and {"start", "end"} & set(lookup.fields):
        takes = f"{lookup.fields.get('start', '')},{lookup.fields.get('end', '')}"
    return Wanted(
        source=_named(step.source, source),
        target=_named(step.target, target),
        takes=takes,
        gives=lookup.gives,
        every=lookup.every,
    )


def wanted_by_type(name: str, kind: EntityType, lookup: Lookup) -> Wanted:
    """What a tool must do to find the entities of a type by their fields; ``takes`` is the input of their identifier."""
    plain = {field: "" for field, each in kind.fields.items() if each.kind != "ordinal"}
    identifier = {"id": lookup.takes} if lookup.takes else {}
    fields = {**plain, **identifier, **lookup.fields}
    return Wanted(target=_named(name, kind), gives=lookup.gives, fields=fields, every=lookup.every)


def _named(name: str, kind: EntityType) -> EntityName:
    nouns = tuple(word for word in kind.words if " " not in word or not word.startswith("to "))
    return EntityName(names=(name, *nouns), identifier=kind.identifier, interval=kind.kind == "date")
