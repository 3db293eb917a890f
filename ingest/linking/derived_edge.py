"""The DerivedEdge: an edge between two tools that the tools' documents imply."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ontology.tool_graph import Synonyms


@dataclass(frozen=True, slots=True, kw_only=True)
class DerivedEdge:
    """One derived edge between two tools.

    ``supplies``: from the supplier to the tool whose input it fills. ``resolved_by``: from the tool that needs an
    identifier to the tool that finds it from words. ``depends_on``: from a tool to one that must be called before it.

    :param source: id of the tool where the edge starts.
    :param predicate: ``supplies``, ``resolved_by`` or ``depends_on``.
    :param target: id of the tool where the edge ends.
    :param parameter: the input that is filled, with its name in the document.
    :param output: the output that fills it, or empty where the supplier's outputs are not documented.
    :param entity: canonical name of the entity of input and output.
    :param field: the field of that entity (``id``, ``email``).
    :param confidence: in [0, 1]; of the edges of one confidence about that share is true.
    :param score: the evidence before calibration, in [0, 1].
    """

    source: str
    predicate: str
    target: str
    confidence: float
    parameter: str = ""
    output: str = ""
    entity: str = ""
    field: str = ""
    score: float = 0.0

    @property
    def key(self) -> str:
        """The key of the edge, unique between two tools: ``supplies:supplier_id``."""
        return f"{self.predicate}:{self.parameter}"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredLinks:
    """Declarations about tools, by tool id.

    :param synonyms: the names that replace others in what is read of the tool.
    :param context_parameters: inputs that name the surroundings of a call.
    :param not_context_parameters: inputs that do not, whatever their frequency says.
    """

    synonyms: Mapping[str, Synonyms] = field(default_factory=dict)
    context_parameters: Mapping[str, frozenset[str]] = field(default_factory=dict)
    not_context_parameters: Mapping[str, frozenset[str]] = field(default_factory=dict)


NO_LINKS = DeclaredLinks()
"""Nothing is declared."""
