"""Seeded personal data on disk (mail, calendars, cards, files), and the truth about it: every entity and every edge between two."""

from benchmarks.personal.truth_tables import TruthTables
from benchmarks.personal.write_personal_data import write_personal_data

__all__ = ["TruthTables", "write_personal_data"]
