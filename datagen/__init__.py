"""From the tool graph to labelled requests: tool paths, requests of six classes over them, and checks that the labels hold.

:mod:`datagen.paths` finds the paths, :mod:`datagen.generate` words them, :mod:`datagen.validate` judges what was worded,
and :mod:`datagen.pipeline` runs the three over a catalogue. Each step that a language model could take has a twin made
of rules, and the rules are the default. After "Planning Agents on an Ego-Trip", section 4.
"""

from datagen.catalogue import Catalogue
from datagen.links import Links
from datagen.path import PathEdge, ToolPath
from datagen.request import CLASSES, Refusal, SampleValue, SyntheticRequest, Verdict

__all__ = [
    "CLASSES",
    "Catalogue",
    "Links",
    "PathEdge",
    "Refusal",
    "SampleValue",
    "SyntheticRequest",
    "ToolPath",
    "Verdict",
]
