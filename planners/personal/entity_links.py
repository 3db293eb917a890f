"""What follows from all files together: which mails are copies, where an attachment is kept."""

from __future__ import annotations

import sqlite3

from planners.personal.mail_text import folded, host_of, url_key
from planners.personal.person_links import link_persons

__all__ = ["link_entities"]

# A mail lies in several folders: the first copy stands for all. A mail with the Message-ID of another mail is not a copy of it.
_COPIES = """
UPDATE email SET shown = row IN (SELECT min(row) FROM email GROUP BY message_id, fingerprint);
UPDATE email SET id = message_id;
UPDATE email SET id = message_id || '#' || fingerprint WHERE row NOT IN (SELECT min(row) FROM email GROUP BY message_id);
UPDATE event SET shown = row IN (SELECT min(row) FROM event GROUP BY id);
"""
_FILES = """
DELETE FROM file; DELETE FROM folder; DELETE FROM parent; DELETE FROM webpage; DELETE FROM place;
INSERT INTO file (id, name, size, kind, path)
    SELECT a.file, min(a.name), min(a.size), 'attachment', '' FROM attachment a JOIN email e ON e.row = a.email
    WHERE e.shown GROUP BY a.file
    UNION ALL SELECT id, name, size, 'on disk', id FROM disk_file;
INSERT INTO parent SELECT id, folder, 'it lies there' FROM disk_file;
INSERT OR IGNORE INTO parent
    SELECT a.file, d.folder, 'same content as ' || d.id FROM attachment a JOIN disk_file d ON d.size = a.size AND d.digest = a.digest
    WHERE a.size > 0 ORDER BY d.id;
INSERT OR IGNORE INTO parent
    SELECT a.file, d.folder, 'same name and size as ' || d.id FROM attachment a JOIN disk_file d ON d.size = a.size AND d.name = a.name
    WHERE a.file NOT IN (SELECT file FROM parent) ORDER BY d.id;
INSERT INTO webpage (url) SELECT DISTINCT url FROM email_url;
INSERT INTO place (id, name) SELECT place_id, min(place) FROM event WHERE shown AND place_id IS NOT NULL GROUP BY place_id;
"""


def link_entities(db: sqlite3.Connection) -> None:
    """Make the tables of entities anew from the rows of all files."""
    for statement in (*_COPIES.split(";"), *_FILES.split(";")):
        db.execute(statement)
    db.executemany(
        "UPDATE file SET folded = ?, extension = ? WHERE id = ?",
        [(folded(row["name"]), _extension(row["name"]), row["id"]) for row in db.execute("SELECT id, name FROM file")],
    )
    folders = [row[0] for row in db.execute("SELECT DISTINCT folder FROM disk_file")]
    names = [(each, each.rsplit("/", 1)[-1]) for each in folders]
    db.executemany("INSERT INTO folder VALUES (?, ?, ?)", [(path, name, folded(name)) for path, name in names])
    urls = [row[0] for row in db.execute("SELECT url FROM webpage")]
    db.executemany("UPDATE webpage SET key = ?, host = ? WHERE url = ?", [(url_key(u), host_of(u), u) for u in urls])
    places = db.execute("SELECT id, name FROM place").fetchall()
    db.executemany(
        "UPDATE place SET name = ?, folded = ?, address = ? WHERE id = ?",
        [(_place(text), folded(_place(text)), text, key) for key, text in places],
    )
    link_persons(db)


def _extension(name: str) -> str:
    stem, dot, extension = folded(name).rpartition(".")
    return extension if dot and stem else ""


def _place(text: str) -> str:
    """The name of a place: what stands before the first comma of an address."""
    return text.partition(",")[0].strip() or text
