"""Measures of a set of labelled requests: their diversity, and the leakage of words from the documents of their tools.

The measures are functions of texts and their gold tools. So requests that a language model wrote one at a time, without
generator or template, are measured in the same way as generated requests.
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
