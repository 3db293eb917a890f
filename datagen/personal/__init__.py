"""Seeded personal data on disk (mail, calendars, cards, files), and the truth about it: every entity and every edge between two."""

from datagen.personal.truth_tables import TruthTables
from datagen.personal.write_personal_data import write_personal_data

__all__ = ["TruthTables", "write_personal_data"]
