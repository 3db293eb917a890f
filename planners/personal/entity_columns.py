"""The columns of the index that are the fields of an entity, in SQL."""

from __future__ import annotations

__all__ = ["EMAIL", "EVENT", "FILE", "FOLDER", "ME", "PERSON", "PLACE", "WEBPAGE"]

EMAIL = "e.id, e.subject, e.sender, e.sent_at"
PERSON = "p.id, p.name, p.addresses AS email_addresses"
ME = "me.id, me.name, me.addresses AS email_addresses"
FILE = "f.id, f.name, f.extension, f.size, f.kind, f.path"
FOLDER = "d.id, d.name"
EVENT = "v.id, v.name, v.start, v.ends AS end, v.all_day, v.place"
WEBPAGE = "w.url AS id, w.host"
PLACE = "l.id, l.name, l.address"
