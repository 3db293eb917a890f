"""What a set of labelled requests is like: how varied it is, and how much of it stands in the documents of its tools.

The measures are functions over texts and their gold tools, so that requests written by hand are measured like
generated ones.
"""

from datagen.measures.diversity import Diversity, distinct_n, measure_diversity, nearest_cosines
from datagen.measures.histogram import Histogram, histogram_of
from datagen.measures.leakage import Leakage, measure_leakage

__all__ = [
    "Diversity",
    "Histogram",
    "Leakage",
    "distinct_n",
    "histogram_of",
    "measure_diversity",
    "measure_leakage",
    "nearest_cosines",
]
