"""Unanswerable requests: an action that no tool does on its objects, tasks of domains that the catalogue lacks, and small talk.

A request is made only where the documents give no hint that a tool could serve it. Each has its reason.
"""

from datagen.unanswerable.unanswerable_requests import UnanswerableRequest, UnanswerableRequests, make_unanswerable

__all__ = ["UnanswerableRequest", "UnanswerableRequests", "make_unanswerable"]
