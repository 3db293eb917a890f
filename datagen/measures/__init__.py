"""What a set of labelled requests is like: how varied it is, and how much of the tools' documents stands in it.

Both measures are functions over texts and their gold tools, so that requests written by hand are measured like generated ones.
"""

from datagen.measures.diversity import Diversity, distinct_n, measure_diversity, nearest_cosines
from datagen.measures.leakage import Leakage, LeakFinder, measure_leakage

__all__ = [
    "Diversity",
    "LeakFinder",
    "Leakage",
    "distinct_n",
    "measure_diversity",
    "measure_leakage",
    "nearest_cosines",
]
