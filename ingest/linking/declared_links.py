"""What the owner of a catalogue declares beside its documents, as far as linking needs it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ingest.linking.derived_edge import DerivedEdge
from ontology.synonym import Synonyms

__all__ = ["NO_LINKS", "DeclaredLinks"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredLinks:
    """Declarations about tools, by tool id.

    :param synonyms: the names that replace others in what is read of the tool.
    :param context_parameters: inputs that name the surroundings of a call.
    :param not_context_parameters: inputs that do not, whatever their frequency says.
    :param preconditions: ``depends_on`` edges to the tools that bring a state about.
    """

    synonyms: Mapping[str, Synonyms] = field(default_factory=dict)
    context_parameters: Mapping[str, frozenset[str]] = field(default_factory=dict)
    not_context_parameters: Mapping[str, frozenset[str]] = field(default_factory=dict)
    preconditions: tuple[DerivedEdge, ...] = ()


NO_LINKS = DeclaredLinks()
"""Nothing is declared."""
