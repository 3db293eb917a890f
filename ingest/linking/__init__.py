"""Derive edges between the tools of a catalogue without a model.

:func:`profile_tools` describes each tool by the entities and fields that it consumes and produces. From these profiles
:func:`derive_rp_edges` derives R-P edges (an output of one tool can fill an input of another) and :func:`derive_resolver_edges`
edges to a tool that turns words into an identifier. ``edges.derive_links`` adds dependencies on a login or on a state of a device.
"""

from ingest.linking.edges import DerivedEdge, OutputIndex, derive_resolver_edges, derive_rp_edges
from ingest.linking.identifiers import GENERIC_NAMES, type_family
from ingest.linking.profiles import ToolProfile, profile_tools
from ingest.linking.subjects import CanonicalNames, action_of, canonical_names, local_name
from ingest.linking.values import (
    AUTH_KEY,
    BARE_IDENTIFIERS,
    PLAIN_VALUE,
    QUALIFIERS,
    TYPED_RESOURCE,
    ConsumedValue,
    ProducedValue,
)

__all__ = [
    "AUTH_KEY",
    "BARE_IDENTIFIERS",
    "GENERIC_NAMES",
    "PLAIN_VALUE",
    "QUALIFIERS",
    "TYPED_RESOURCE",
    "CanonicalNames",
    "ConsumedValue",
    "DerivedEdge",
    "OutputIndex",
    "ProducedValue",
    "ToolProfile",
    "action_of",
    "canonical_names",
    "derive_resolver_edges",
    "derive_rp_edges",
    "local_name",
    "profile_tools",
    "type_family",
]
