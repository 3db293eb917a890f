-- What follows from all files together, beside who is on which card: which mails are copies, which files, folders, pages, places and people
-- there are. A mail lies in several folders: the first copy stands for all. A mail with the Message-ID of another mail is not a copy of it.
UPDATE email SET shown = row IN (SELECT min(row) FROM email GROUP BY message_id, fingerprint);
UPDATE email SET id = message_id;
UPDATE email SET id = message_id || '#' || fingerprint WHERE row NOT IN (SELECT min(row) FROM email GROUP BY message_id);
UPDATE event SET shown = row IN (SELECT min(row) FROM event GROUP BY id);
INSERT INTO file
    SELECT a.file, min(a.name), folded(min(a.name)), extension(min(a.name)), min(a.size), 'attachment', ''
    FROM attachment a JOIN email e ON e.row = a.email WHERE e.shown GROUP BY a.file
    UNION ALL SELECT id, name, folded(name), extension(name), size, 'on disk', id FROM disk_file;
INSERT INTO folder SELECT path, last_part(path), folded(last_part(path)) FROM (SELECT DISTINCT folder AS path FROM disk_file);
INSERT INTO parent SELECT id, folder, 'it lies there' FROM disk_file;
INSERT OR IGNORE INTO parent
    SELECT a.file, d.folder, 'same content as ' || d.id FROM attachment a JOIN disk_file d ON d.size = a.size AND d.digest = a.digest
    WHERE a.size > 0 ORDER BY d.id;
INSERT OR IGNORE INTO parent
    SELECT a.file, d.folder, 'same name and size as ' || d.id FROM attachment a JOIN disk_file d ON d.size = a.size AND d.name = a.name
    WHERE a.file NOT IN (SELECT file FROM parent) ORDER BY d.id;
INSERT INTO webpage SELECT url, page_key(url), host(url) FROM (SELECT DISTINCT url FROM email_url);
INSERT INTO place
    SELECT place_id, place_name(text), folded(place_name(text)), text
    FROM (SELECT place_id, min(place) AS text FROM event WHERE shown AND place_id IS NOT NULL GROUP BY place_id);
-- An address on no card is a person of its own, with the name that is written beside it most often.
INSERT OR IGNORE INTO person
    WITH written AS (
        SELECT a.address, a.name FROM email_address a JOIN email e ON e.row = a.email WHERE e.shown AND a.role != 'delivered'
        UNION ALL SELECT a.address, a.name FROM event_attendee a JOIN event v ON v.row = a.event WHERE v.shown),
    ranked AS (
        SELECT address, name, row_number() OVER (PARTITION BY address ORDER BY name = '', count(*) DESC, name) AS rank
        FROM written WHERE address NOT IN (SELECT address FROM person_address) GROUP BY address, name),
    best AS (SELECT address, iif(name = '', substr(address, 1, instr(address, '@') - 1), name) AS name FROM ranked WHERE rank = 1)
    SELECT address, name, folded(name), json_array(address) FROM best;
INSERT OR IGNORE INTO person_address SELECT id, id FROM person WHERE addresses != '[]';
