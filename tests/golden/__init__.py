"""Recordings of what users see: answers, snapshots, commands, replies, contracts. ``python -m tests.golden record|compare``.

A change is a *refactor*, and the recordings stay as they are, or a *decision*: then it is recorded again, and stands in ``decisions.md``.
"""

from services.threads import pin_threads

pin_threads()  # before anything numeric is imported
