-- SPDX-License-Identifier: Apache-2.0
--
-- From layout 18 to 19: what belongs to a project is under keys that begin with `PROJECT/`.
-- A report that was symbolized by the debug file of another project is symbolized again;
-- until then its group has neither title nor stack.

UPDATE symbols
SET project = (SELECT f.project FROM symbol_files f WHERE f.key = symbols.build)
WHERE EXISTS(SELECT 1 FROM symbol_files f
    WHERE f.key = symbols.build AND f.project <> symbols.project);

CREATE TABLE place_names(
    build text NOT NULL,
    place text NOT NULL,
    frames text NOT NULL,
    PRIMARY KEY(build, place)) WITHOUT ROWID;
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
SELECT DISTINCT report, 1, CAST(strftime('%s', 'now') AS integer) * 1000, 0, 0, 0
FROM foreign_names
WHERE 1 = 1
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

-- Programs of groups, their reports by release and day, and machines that are counted
-- beyond retention.
ALTER TABLE groups ADD COLUMN program text NOT NULL DEFAULT '';
ALTER TABLE groups ADD COLUMN machine_step bigint NOT NULL DEFAULT 1;
ALTER TABLE groups ADD COLUMN users bigint NOT NULL DEFAULT 0;
ALTER TABLE groups ADD COLUMN user_step bigint NOT NULL DEFAULT 1;
CREATE TABLE group_members(
    group_number bigint NOT NULL,
    kind bigint NOT NULL,
    member bigint NOT NULL,
    PRIMARY KEY(group_number, kind, member)) WITHOUT ROWID;
CREATE TABLE user_salt(
    one bigint PRIMARY KEY,
    salt text NOT NULL);
CREATE TABLE program_days(
    project text NOT NULL,
    program text NOT NULL,
    environment text NOT NULL,
    release text NOT NULL,
    day bigint NOT NULL,
    part bigint NOT NULL,
    count bigint NOT NULL,
    first_seen bigint NOT NULL,
    last_seen bigint NOT NULL,
    PRIMARY KEY(project, program, environment, release, day, part)) WITHOUT ROWID;
CREATE INDEX program_days_by_day ON program_days(day);
CREATE TABLE release_places(
    project text NOT NULL,
    program text NOT NULL,
    release text NOT NULL,
    place bigint NOT NULL,
    time bigint NOT NULL,
    PRIMARY KEY(project, program, release)) WITHOUT ROWID;
UPDATE groups SET program = coalesce((SELECT replace(r.executable, rtrim(r.executable, replace(r.executable, '/', '')), '')
    FROM reports r WHERE r.group_number = groups.number
    ORDER BY r.time, r.number LIMIT 1), '');
INSERT INTO program_days(project, program, environment, release, day, part, count,
    first_seen, last_seen)
SELECT g.project, replace(r.executable, rtrim(r.executable, replace(r.executable, '/', '')), ''),
    r.environment, r.release, r.time / 86400000, 0, count(*), min(r.time), max(r.time)
FROM reports r
JOIN groups g ON g.number = r.group_number
GROUP BY 1, 2, 3, 4, 5;
INSERT INTO group_members(group_number, kind, member)
SELECT group_number, 4, text_hash(value) FROM facets WHERE kind = 4;
DROP TRIGGER IF EXISTS machine_added;
DROP TRIGGER IF EXISTS machine_removed;
CREATE TRIGGER member_added AFTER INSERT ON facets
    WHEN new.kind = 4 OR (new.kind = 9 AND substr(new.value, 1, 5) = 'user' || char(10)) BEGIN
    INSERT INTO group_members(group_number, kind, member)
    SELECT number, new.kind, text_hash(new.value) FROM groups
    WHERE number = new.group_number AND text_hash(new.value)
        & (CASE new.kind WHEN 4 THEN machine_step ELSE user_step END - 1) = 0
    ON CONFLICT(group_number, kind, member) DO NOTHING;
END;
-- Retention removes facets that count reports; those of reports that moved count none.
CREATE TRIGGER member_removed AFTER DELETE ON facets
    WHEN old.kind IN (4, 9) AND old.count <= 0 BEGIN
    DELETE FROM group_members WHERE group_number = old.group_number
        AND kind = old.kind AND member = text_hash(old.value);
END;
CREATE TRIGGER group_member_added AFTER INSERT ON group_members BEGIN
    UPDATE groups SET machines = machines + (new.kind = 4) * machine_step,
        users = users + (new.kind = 9) * user_step
    WHERE number = new.group_number;
END;
CREATE TRIGGER group_member_removed AFTER DELETE ON group_members BEGIN
    UPDATE groups SET machines = machines - (old.kind = 4) * machine_step,
        users = users - (old.kind = 9) * user_step
    WHERE number = old.group_number;
END;

-- Every report is keyed by version 3 of the group key. The key of version 2 then leads to
-- its group, and what people decided moves along (store_rename.c).
INSERT INTO jobs(report, rank, queued, until, tries, turn)
SELECT number, 1, CAST(strftime('%s', 'now') AS integer) * 1000, 0, 0, 0
FROM reports
WHERE 1 = 1
ON CONFLICT(report) DO UPDATE SET turn = jobs.turn + 1, until = 0, tries = 0;

ALTER TABLE reports ADD COLUMN keyed bigint NOT NULL DEFAULT 0;
UPDATE reports SET keyed = 1;
CREATE INDEX reports_unkeyed ON reports(number) WHERE keyed = 0;
DROP INDEX reports_by_group;
CREATE INDEX reports_by_group
    ON reports(group_number, time, number, release, environment, hostname, signal_name);
CREATE INDEX groups_by_program ON groups(project, program, last_seen, number);
CREATE INDEX groups_by_release ON groups(program, first_release);

CREATE TABLE receivers(
    id text PRIMARY KEY,
    line text NOT NULL,
    since bigint NOT NULL,
    rest_until bigint NOT NULL DEFAULT 0,
    began bigint NOT NULL DEFAULT 0,
    sent bigint NOT NULL DEFAULT 0) WITHOUT ROWID;

CREATE TABLE set_aside(
    fingerprint text PRIMARY KEY,
    status text NOT NULL,
    status_time bigint NOT NULL,
    status_release text NOT NULL,
    resolved_in text NOT NULL,
    until_count bigint NOT NULL,
    until_machines bigint NOT NULL,
    until_time bigint NOT NULL,
    note text NOT NULL,
    assignee text NOT NULL) WITHOUT ROWID;
DROP TRIGGER IF EXISTS group_removed;
CREATE TRIGGER group_removed AFTER DELETE ON groups BEGIN
    DELETE FROM group_members WHERE group_number = old.number;
END;

CREATE TABLE saved_searches(
    project text NOT NULL,
    name text NOT NULL,
    query text NOT NULL,
    sort text NOT NULL,
    who text NOT NULL,
    time bigint NOT NULL,
    PRIMARY KEY(project, name)) WITHOUT ROWID;

-- Bodies that were compressed with what reports of their group have in common.
ALTER TABLE bodies ADD COLUMN prefix bigint NOT NULL DEFAULT 0;
CREATE INDEX bodies_of_prefixes ON bodies(prefix) WHERE prefix > 0;
CREATE TABLE body_prefixes(
    number integer PRIMARY KEY,
    fingerprint text NOT NULL,
    project text NOT NULL,
    week bigint NOT NULL,
    bytes blob NOT NULL,
    UNIQUE(fingerprint, project, week));

CREATE TABLE tokens(
    sum text PRIMARY KEY,
    name text NOT NULL UNIQUE,
    scopes bigint NOT NULL,
    project text NOT NULL,
    expires bigint NOT NULL,
    created bigint NOT NULL,
    who text NOT NULL) WITHOUT ROWID;

CREATE TABLE commits(
    project text NOT NULL,
    program text NOT NULL,
    release text NOT NULL,
    hash text NOT NULL,
    author text NOT NULL,
    subject text NOT NULL,
    time bigint NOT NULL,
    added bigint NOT NULL,
    PRIMARY KEY(project, program, release, hash)) WITHOUT ROWID;
CREATE TABLE commit_files(
    project text NOT NULL,
    program text NOT NULL,
    release text NOT NULL,
    name text NOT NULL,
    path text NOT NULL,
    hash text NOT NULL,
    added bigint NOT NULL,
    PRIMARY KEY(project, program, release, name, path, hash)) WITHOUT ROWID;
CREATE TABLE code_owners(
    project text NOT NULL,
    program text NOT NULL,
    list text NOT NULL,
    PRIMARY KEY(project, program)) WITHOUT ROWID;

CREATE TABLE tickets(
    project text NOT NULL,
    url text NOT NULL,
    group_id text NOT NULL,
    title text NOT NULL,
    state text NOT NULL,
    sum text NOT NULL,
    changed bigint NOT NULL,
    PRIMARY KEY(project, url)) WITHOUT ROWID;
CREATE INDEX tickets_by_group ON tickets(group_id);
