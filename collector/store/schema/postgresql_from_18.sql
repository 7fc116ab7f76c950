-- SPDX-License-Identifier: Apache-2.0
--
-- From layout 18 to 19: what belongs to a project is under keys that begin with `PROJECT/`.
-- A report that was symbolized by the debug file of another project is symbolized again;
-- until then its group has neither title nor stack. A collector of before
-- that goes on meanwhile is refused: its rows have no such keys.

UPDATE symbols
SET project = (SELECT f.project FROM symbol_files f WHERE f.key = symbols.build)
WHERE EXISTS(SELECT 1 FROM symbol_files f
    WHERE f.key = symbols.build AND f.project <> symbols.project);

CREATE TABLE place_names(
    build text NOT NULL,
    place text NOT NULL,
    frames text NOT NULL,
    PRIMARY KEY(build, place));
INSERT INTO place_names(build, place, frames)
SELECT CASE WHEN coalesce(s.project, '') <> '' THEN s.project || '/' || p.build
    ELSE p.build END, p.place, p.frames
FROM places p
LEFT JOIN symbols s ON s.build = p.build;
DROP TABLE places;

CREATE TABLE foreign_names AS
SELECT n.report, g.number AS group_number, g.fingerprint
FROM symbols s
JOIN nameless n ON n.build = s.build
JOIN reports r ON r.number = n.report
JOIN groups g ON g.number = r.group_number
WHERE s.project <> '' AND g.project <> s.project;
INSERT INTO jobs(report, rank, queued, until, tries, turn)
SELECT DISTINCT report, 1, CAST(extract(epoch FROM now()) AS bigint) * 1000, 0, 0, 0
FROM foreign_names
ON CONFLICT(report) DO UPDATE SET turn = jobs.turn + 1, until = 0, tries = 0;
DELETE FROM history
WHERE kind = 'moved' AND group_id IN (SELECT fingerprint FROM foreign_names);
UPDATE alerts SET title = 'a crash', detail = ''
WHERE group_id IN (SELECT fingerprint FROM foreign_names);
UPDATE groups SET title = 'a crash that is named again', stack = ''
WHERE number IN (SELECT group_number FROM foreign_names);
DROP TABLE foreign_names;

UPDATE symbol_files SET key = project || '/' || key WHERE project <> '';
UPDATE symbols SET build = project || '/' || build WHERE project <> '';
ALTER TABLE symbols
    ADD CHECK (project = '' OR left(build, length(project) + 1) = project || '/');
ALTER TABLE symbol_files
    ADD CHECK (project = '' OR left(key, length(project) + 1) = project || '/');
