"""A run of data generation: the wanted requests of each class, the loop that makes them, and the journal."""

from datagen.run.class_mix import equal_mix, read_mix
from datagen.run.make_requests import Made, Steps, make_requests

__all__ = ["Made", "Steps", "equal_mix", "make_requests", "read_mix"]
