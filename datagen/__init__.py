"""From the tool graph to labelled requests: tool paths, requests of six classes over them, and checks that the labels hold.

:mod:`datagen.paths.path_sampler` finds the paths, :mod:`datagen.generation.rules_generator` generates requests over them,
:mod:`datagen.validation.rules_validator` validates the requests,
and :mod:`datagen.run.make_requests` runs the three over a catalogue. Each step that a language model could take has a twin made
of rules, and the rules are the default. After "Planning Agents on an Ego-Trip", section 4.
"""

from datagen.catalogue import Catalogue
from datagen.links import Links
from datagen.synthetic_request import CLASSES, RejectedRequest, SampleValue, SyntheticRequest, Verdict
from datagen.tool_path import PathEdge, ToolPath

__all__ = [
    "CLASSES",
    "Catalogue",
    "Links",
    "PathEdge",
    "RejectedRequest",
    "SampleValue",
    "SyntheticRequest",
    "ToolPath",
    "Verdict",
]
