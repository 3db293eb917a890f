"""A person's own data on disk: mail, calendars, cards, files and folders, read into an index, and the tools that answer from it."""

from planners.personal.calendars import Fault
from planners.personal.index import PersonalData, refresh_index
from planners.personal.personal_tools import index_in_use, known_names

__all__ = ["Fault", "PersonalData", "index_in_use", "known_names", "refresh_index"]
