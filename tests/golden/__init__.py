"""Recordings of what users see: a refactor leaves them as they are, a decision records them again, with a line in ``decisions.md``."""

from services.threads import pin_threads

pin_threads()  # before anything numeric is imported
