"""Generate labelled requests from the tool graph: tool paths, requests of six classes over them, and their validation.

:mod:`datagen.paths` finds the paths, :mod:`datagen.generation` generates a text for each, :mod:`datagen.validation`
validates it, and :mod:`datagen.run` runs the steps over a catalogue. Each step of :mod:`datagen.interfaces` has a
rule-based backend, which is the default, and an LLM backend (:mod:`datagen.llm`). The method follows "Planning Agents on
an Ego-Trip", section 4.
"""

from datagen.profiled_catalogue import ProfiledCatalogue
from datagen.synthetic_request import CLASSES, RejectedRequest, SampleValue, SyntheticRequest, Verdict
from datagen.tool_links import ToolLinks
from datagen.tool_path import PathEdge, ToolPath

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
