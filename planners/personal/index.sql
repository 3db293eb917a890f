-- The tables of the index. What follows from all files together (from "person" on) is made by link.sql.
CREATE TABLE about (value TEXT);
CREATE TABLE fault (subject TEXT, problem TEXT);

CREATE TABLE email (
    row INTEGER PRIMARY KEY, id TEXT, message_id TEXT, fingerprint TEXT,
    subject TEXT, folded_subject TEXT, sender TEXT, sent_at TEXT, day TEXT, shown INT DEFAULT 0);
CREATE INDEX email_id ON email (id);
CREATE INDEX email_message_id ON email (message_id, fingerprint);
CREATE INDEX email_day ON email (day);
CREATE TABLE email_text (email INTEGER PRIMARY KEY, folded TEXT);
CREATE TABLE email_address (
    email INT, role TEXT, address TEXT, name TEXT,
    PRIMARY KEY (email, role, address)) WITHOUT ROWID;
CREATE INDEX email_address_address ON email_address (address, role, email);
CREATE TABLE attachment (
    email INT, file TEXT, name TEXT, size INT, digest TEXT,
    PRIMARY KEY (email, file)) WITHOUT ROWID;
CREATE INDEX attachment_file ON attachment (file, email);
CREATE INDEX attachment_size ON attachment (size);
CREATE TABLE email_url (
    email INT, url TEXT, PRIMARY KEY (email, url)) WITHOUT ROWID;
CREATE INDEX email_url_url ON email_url (url, email);

CREATE TABLE event (
    row INTEGER PRIMARY KEY, id TEXT, name TEXT, folded TEXT,
    place TEXT, place_id TEXT, start TEXT, ends TEXT, all_day INT, shown INT DEFAULT 0);
CREATE INDEX event_id ON event (id);
CREATE INDEX event_place ON event (place_id);
CREATE TABLE event_attendee (
    event INT, address TEXT, name TEXT, PRIMARY KEY (event, address)) WITHOUT ROWID;
CREATE TABLE event_day (
    event INT, day TEXT, PRIMARY KEY (event, day)) WITHOUT ROWID;
CREATE INDEX event_day_day ON event_day (day, event);
CREATE INDEX event_attendee_address ON event_attendee (address, event);

CREATE TABLE card (row INTEGER PRIMARY KEY, uid TEXT, own INT, name TEXT, addresses TEXT);
CREATE TABLE disk_file (id TEXT PRIMARY KEY, folder TEXT, name TEXT, size INT, digest TEXT);
CREATE INDEX disk_file_size ON disk_file (size);

CREATE TABLE person (id TEXT PRIMARY KEY, name TEXT, folded TEXT, addresses TEXT);
CREATE INDEX person_folded ON person (folded);
CREATE TABLE person_address (address TEXT PRIMARY KEY, person TEXT);
CREATE INDEX person_address_person ON person_address (person, address);
CREATE TABLE me (id TEXT, name TEXT, addresses TEXT);
CREATE TABLE file (id TEXT PRIMARY KEY, name TEXT, folded TEXT, extension TEXT, size INT, kind TEXT, path TEXT);
CREATE INDEX file_folded ON file (folded);
CREATE INDEX file_extension ON file (extension);
CREATE TABLE folder (id TEXT PRIMARY KEY, name TEXT, folded TEXT);
CREATE TABLE parent (file TEXT, folder TEXT, reason TEXT, PRIMARY KEY (file, folder)) WITHOUT ROWID;
CREATE INDEX parent_folder ON parent (folder, file);
CREATE TABLE webpage (url TEXT PRIMARY KEY, key TEXT, host TEXT);
CREATE INDEX webpage_key ON webpage (key);
CREATE TABLE place (id TEXT PRIMARY KEY, name TEXT, folded TEXT, address TEXT);
