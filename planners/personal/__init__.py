"""A person's own data on disk: mail, calendars, cards, files and folders, read into an index, and the tools that answer from it."""

from planners.personal.index_faults import Fault
from planners.personal.opened_index import index_in_use
from planners.personal.personal_data import PersonalData
from planners.personal.refresh_index import refresh_index

__all__ = ["Fault", "PersonalData", "index_in_use", "refresh_index"]
