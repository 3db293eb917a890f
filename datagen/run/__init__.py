"""A run of data generation: the wanted requests of each class, the generation loop, and the journal."""

from datagen.run.class_mix import equal_mix, read_mix
from datagen.run.make_requests import RunResult, Steps, make_requests

__all__ = ["RunResult", "Steps", "equal_mix", "make_requests", "read_mix"]
