"""Generate labelled requests from the tool graph: tool paths, requests of six classes over them, and their checks.

:mod:`datagen.paths` finds the paths, :mod:`datagen.slots` says which values each request states, :mod:`datagen.writing` writes the
requests and reads them back, and :mod:`datagen.run` runs the steps over a catalogue. The method follows "Planning Agents on an
Ego-Trip", section 4.
"""

from datagen.catalogue import ProfiledCatalogue
from datagen.requests import (
    CLASSES,
    PathEdge,
    RejectedRequest,
    SampleValue,
    SyntheticRequest,
    ToolLinks,
    ToolPath,
    Verdict,
)

__all__ = [
    "CLASSES",
    "PathEdge",
    "ProfiledCatalogue",
    "RejectedRequest",
    "SampleValue",
    "SyntheticRequest",
    "ToolLinks",
    "ToolPath",
    "Verdict",
]
