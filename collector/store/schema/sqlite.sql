-- SPDX-License-Identifier: Apache-2.0
--
-- The tables of a SQLite store. A new store is made by this file. postgresql.sql has the
-- same tables. Times are in milliseconds since 1970, days in days since 1970. A `kind` of
-- a value is its number in store_facet.h.
--
-- Lists read groups, facets and group_days, which counts are added to when a report is
-- stored, so that no list counts reports. Bodies are apart from the columns that lists
-- read, so that lists read few pages.

-- A row for each group, with the figures that lists show.
CREATE TABLE groups(
    number integer PRIMARY KEY,
    fingerprint text NOT NULL UNIQUE,      -- the group's key
    project text NOT NULL DEFAULT '',      -- '': none
    program text NOT NULL DEFAULT '',      -- of its first report: the name of the file
    title text NOT NULL,                   -- title, summary and stack are those of the
    summary text NOT NULL,                 -- newest report
    stack text NOT NULL DEFAULT '',        -- the in-app functions, a line each
    signal bigint NOT NULL,
    count bigint NOT NULL,                 -- of all reports that were received
    kept bigint NOT NULL DEFAULT 0,        -- of the reports that retention has left
    machines bigint NOT NULL DEFAULT 0,    -- maintained by triggers on group_members,
    users bigint NOT NULL DEFAULT 0,       -- as users
    machine_step bigint NOT NULL DEFAULT 1, -- each row there stands for so many
    user_step bigint NOT NULL DEFAULT 1,
    first_seen bigint NOT NULL,
    last_seen bigint NOT NULL,
    first_release text NOT NULL DEFAULT '', -- the oldest of that program
    status text NOT NULL DEFAULT 'open',   -- open, resolved, ignored or regressed
    status_time bigint NOT NULL DEFAULT 0,
    status_release text NOT NULL DEFAULT '', -- resolved in it, or seen again in it
    resolved_in text NOT NULL DEFAULT '',  -- status_release, before the group regressed
    until_count bigint NOT NULL DEFAULT 0, -- an ignored group opens again at one of these
    until_machines bigint NOT NULL DEFAULT 0,
    until_time bigint NOT NULL DEFAULT 0,
    note text NOT NULL DEFAULT '',
    assignee text NOT NULL DEFAULT '',
    version bigint NOT NULL DEFAULT 0,     -- increases with each decision
    swept bigint NOT NULL DEFAULT 0);      -- time of the oldest report when facets that
                                           -- no report has were last deleted
CREATE INDEX groups_by_last_seen ON groups(last_seen, number);
CREATE INDEX groups_by_project ON groups(project, last_seen, number);
CREATE INDEX groups_by_program ON groups(project, program, last_seen, number);
CREATE INDEX groups_by_release ON groups(program, first_release);

-- The reports of a group by day.
CREATE TABLE group_days(
    group_number bigint NOT NULL,
    day bigint NOT NULL,
    count bigint NOT NULL,
    PRIMARY KEY(group_number, day)) WITHOUT ROWID;

-- The machines (kind 4) and users (kind 9) of a group, also of reports that retention
-- removed: a hash of each host name, or of each tag `user`. They are exact up to 8,192 of a
-- kind; then those are kept whose hash divides by machine_step or user_step, a power of two
-- that doubles as there are more. So groups can be merged.
CREATE TABLE group_members(
    group_number bigint NOT NULL,
    kind bigint NOT NULL,
    member bigint NOT NULL,
    PRIMARY KEY(group_number, kind, member)) WITHOUT ROWID;

-- The reports of a program by release, environment and day of the crash, as received.
-- part is 0: one connection writes.
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
-- The order of releases that somebody declared.
CREATE TABLE release_places(
    project text NOT NULL,
    program text NOT NULL,
    release text NOT NULL,
    place bigint NOT NULL,                 -- the highest is the newest
    time bigint NOT NULL,
    PRIMARY KEY(project, program, release)) WITHOUT ROWID;

-- Every distinct value that the reports of a group have, with its count. Filters and
-- searches read these, not the reports.
CREATE TABLE facets(
    number integer PRIMARY KEY,
    group_number bigint NOT NULL,
    kind bigint NOT NULL,
    value text NOT NULL,
    count bigint NOT NULL,
    last_seen bigint NOT NULL,
    UNIQUE(group_number, kind, value));
CREATE INDEX facets_by_value ON facets(kind, value, group_number) WHERE kind >= 3;
-- Every page that has to know the newest release sums releases over all groups.
CREATE INDEX facets_of_releases ON facets(value, count, last_seen) WHERE kind = 5;

-- Titles and summaries, for searches. columnsize = 0: nothing is ranked by length.
CREATE VIRTUAL TABLE facet_search USING fts5(value, content='facets',
    content_rowid='number', tokenize='trigram', detail='full', columnsize=0);
CREATE TRIGGER facet_added AFTER INSERT ON facets WHEN new.kind <= 2 BEGIN
    INSERT INTO facet_search(rowid, value) VALUES(new.number, new.value);
END;
CREATE TRIGGER facet_removed AFTER DELETE ON facets WHEN old.kind <= 2 BEGIN
    INSERT INTO facet_search(facet_search, rowid, value)
    VALUES('delete', old.number, old.value);
END;

-- Every distinct program, host, release, function, file, build and message of all facets,
-- for searches. Many groups have the same value, so each is in the index once.
CREATE TABLE words(
    number integer PRIMARY KEY,
    kind bigint NOT NULL,
    value text NOT NULL,
    UNIQUE(kind, value));
CREATE VIRTUAL TABLE word_search USING fts5(value, content='words',
    content_rowid='number', tokenize='trigram', detail='full');
CREATE TRIGGER word_added AFTER INSERT ON words BEGIN
    INSERT INTO word_search(rowid, value) VALUES(new.number, new.value);
END;
CREATE TRIGGER word_removed AFTER DELETE ON words BEGIN
    INSERT INTO word_search(word_search, rowid, value)
    VALUES('delete', old.number, old.value);
END;
CREATE TRIGGER facet_word AFTER INSERT ON facets
    WHEN new.kind BETWEEN 3 AND 5 OR new.kind BETWEEN 11 AND 14 BEGIN
    INSERT INTO words(kind, value) SELECT new.kind, new.value
    WHERE NOT EXISTS(SELECT 1 FROM words WHERE kind = new.kind AND value = new.value);
END;
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
CREATE TRIGGER group_removed AFTER DELETE ON groups BEGIN
    DELETE FROM group_members WHERE group_number = old.number;
END;

-- One row: what the names of users are hashed with.
CREATE TABLE user_salt(
    one bigint PRIMARY KEY,
    salt text NOT NULL);

-- A row for each report.
CREATE TABLE reports(
    number integer PRIMARY KEY,
    id text NOT NULL UNIQUE,
    revision bigint NOT NULL,
    group_number bigint NOT NULL,
    fingerprint text NOT NULL DEFAULT '',  -- that of its group unless groups were merged
    fingerprint1 text NOT NULL DEFAULT '', -- of version 1, if fingerprint is of version 2
    sender text NOT NULL DEFAULT '',
    time bigint NOT NULL,                  -- of the crash
    received bigint NOT NULL,
    signal bigint NOT NULL,
    signal_name text NOT NULL,
    title text NOT NULL,
    summary text NOT NULL,
    release text NOT NULL,
    environment text NOT NULL,
    executable text NOT NULL,
    hostname text NOT NULL,
    keyed bigint NOT NULL DEFAULT 0);      -- 0: by a collector of before; it is keyed again
CREATE INDEX reports_by_time ON reports(time, number);
-- Several terms of a filter hold for one report where its entry here says so: looking for
-- the rows of the reports takes several times as long.
CREATE INDEX reports_by_group
    ON reports(group_number, time, number, release, environment, hostname, signal_name);
CREATE INDEX reports_by_received ON reports(received);
CREATE INDEX reports_unkeyed ON reports(number) WHERE keyed = 0;

CREATE TABLE tags(
    report bigint NOT NULL,
    key text NOT NULL,
    value text NOT NULL,
    PRIMARY KEY(report, key)) WITHOUT ROWID;
CREATE INDEX tags_by_value ON tags(key, value, report);

-- The facets of a report that are no columns, as a JSON array of `KIND VALUE`.
CREATE TABLE marks(
    report integer PRIMARY KEY,
    list text NOT NULL);

-- Bodies as they were received, or compressed with a prefix. Those that are packed are in an object, a segment.
CREATE TABLE bodies(
    report integer PRIMARY KEY,
    encoding bigint NOT NULL,
    bytes blob NOT NULL,
    segment bigint NOT NULL DEFAULT 0,     -- 0: stays in this row; -1: is to be packed;
                                           -- else the number of its segment
    start bigint NOT NULL DEFAULT 0,       -- in the segment
    length bigint NOT NULL DEFAULT 0,
    prefix bigint NOT NULL DEFAULT 0);     -- that it was compressed with; 0: none
CREATE INDEX bodies_staged ON bodies(report) WHERE segment = -1;
CREATE INDEX bodies_of_segments ON bodies(segment) WHERE segment > 0;
CREATE INDEX bodies_of_prefixes ON bodies(prefix) WHERE prefix > 0;
-- What the bodies of a group have in common, each week a new one.
CREATE TABLE body_prefixes(
    number integer PRIMARY KEY,
    fingerprint text NOT NULL,
    project text NOT NULL,
    week bigint NOT NULL,
    bytes blob NOT NULL,
    UNIQUE(fingerprint, project, week));
CREATE TABLE segments(
    number integer PRIMARY KEY,
    name text NOT NULL UNIQUE,
    week bigint NOT NULL,
    size bigint NOT NULL,
    sum text NOT NULL,
    made bigint NOT NULL);
-- One row: the folder of this store among objects, and which collector packs until when.
CREATE TABLE object_place(
    one bigint PRIMARY KEY,
    id text NOT NULL,
    owner text NOT NULL,
    until bigint NOT NULL);
-- Objects, where they are in the database.
CREATE TABLE object_parts(
    name text NOT NULL,
    part bigint NOT NULL,
    bytes blob NOT NULL,
    added bigint NOT NULL,
    PRIMARY KEY(name, part));

-- Crashes that senders counted and did not send, by fingerprint and the report that said
-- so. A newer revision of that report replaces its count.
CREATE TABLE held_back(
    fingerprint text NOT NULL,
    id text NOT NULL,
    count bigint NOT NULL,
    received bigint NOT NULL,
    PRIMARY KEY(fingerprint, id));
CREATE INDEX held_back_by_received ON held_back(received);

-- Fingerprints whose reports belong to the group of another one.
CREATE TABLE merged(
    fingerprint text PRIMARY KEY,
    target text NOT NULL) WITHOUT ROWID;
CREATE INDEX merged_by_target ON merged(target);
-- What people had decided of a group that was merged: a split gives it back.
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
-- Keys that a group had before: of version 1, or before its reports got names.
CREATE TABLE keys(
    fingerprint text PRIMARY KEY,
    target text NOT NULL,                  -- the key that the group has
    time bigint NOT NULL) WITHOUT ROWID;
CREATE INDEX keys_by_target ON keys(target);
-- What moved into a group, and the decisions it replaced.
CREATE TABLE history(
    number integer PRIMARY KEY,
    group_id text NOT NULL,
    time bigint NOT NULL,
    kind text NOT NULL,
    other text NOT NULL,
    detail text NOT NULL,
    count bigint NOT NULL,
    UNIQUE(group_id, kind, other, detail));
-- Merges and splits under way: store_move.c does them in steps.
CREATE TABLE moves(
    number integer PRIMARY KEY,
    source bigint NOT NULL,
    target bigint NOT NULL,
    fingerprint text NOT NULL,
    time bigint NOT NULL,                  -- time and last: the report moved last
    last bigint NOT NULL);

-- Reports that are to be symbolized, again or for the first time.
CREATE TABLE jobs(
    report bigint PRIMARY KEY,
    rank bigint NOT NULL,                  -- the lowest is done first
    queued bigint NOT NULL,
    until bigint NOT NULL,                 -- not before that time
    tries bigint NOT NULL,
    turn bigint NOT NULL) WITHOUT ROWID;   -- increases when a job is queued again
CREATE INDEX jobs_by_rank ON jobs(rank, report);
-- Which reports lack the names of which builds.
CREATE TABLE nameless(
    build text NOT NULL,
    report bigint NOT NULL,
    PRIMARY KEY(build, report)) WITHOUT ROWID;
CREATE INDEX nameless_by_report ON nameless(report);

-- In this table and the next two, `PROJECT/` precedes the build or key of what belongs to
-- a project.
--
-- The names of places of builds, looked up once for all reports.
CREATE TABLE place_names(
    build text NOT NULL,
    place text NOT NULL,
    frames text NOT NULL,
    PRIMARY KEY(build, place)) WITHOUT ROWID;
-- Who sent the debug file of a build first.
CREATE TABLE symbols(
    build text PRIMARY KEY,
    time bigint NOT NULL,
    project text NOT NULL DEFAULT '',
    sender text NOT NULL DEFAULT '') WITHOUT ROWID;
-- Debug files and sources whose content is an object, or only in the folder.
CREATE TABLE symbol_files(
    key text PRIMARY KEY,
    name text NOT NULL,
    size bigint NOT NULL,
    kept bigint NOT NULL,
    project text NOT NULL,
    release text NOT NULL,
    added bigint NOT NULL,
    used bigint NOT NULL);
CREATE INDEX symbol_files_by_name ON symbol_files(name);
-- When upstream was asked for the debug file of a build.
CREATE TABLE asked_builds(
    build text PRIMARY KEY,
    time bigint NOT NULL);

-- Events that receivers are notified of.
CREATE TABLE alerts(
    number integer PRIMARY KEY,
    id text NOT NULL,
    once text NOT NULL UNIQUE,             -- keeps an event from being two alerts
    kind text NOT NULL,
    group_id text NOT NULL,
    report bigint NOT NULL,
    title text NOT NULL,
    detail text NOT NULL,
    body text NOT NULL,                    -- of a digest
    time bigint NOT NULL,
    spread bigint NOT NULL DEFAULT 0);     -- not 0: its rows of alert_sends were made
CREATE INDEX alerts_by_group ON alerts(group_id, kind, time);
CREATE INDEX alerts_by_time ON alerts(time);
-- Notifications that are still to be sent.
CREATE TABLE alert_sends(
    receiver text NOT NULL,
    alert bigint NOT NULL,
    due bigint NOT NULL,
    tries bigint NOT NULL,
    error text NOT NULL,
    PRIMARY KEY(receiver, alert)) WITHOUT ROWID;
-- Who is notified, since when, and how often that was. line is empty where a file has the
-- receiver.
CREATE TABLE receivers(
    id text PRIMARY KEY,
    line text NOT NULL,
    since bigint NOT NULL,
    rest_until bigint NOT NULL DEFAULT 0,  -- no message before
    began bigint NOT NULL DEFAULT 0,       -- of the period that messages are counted in
    sent bigint NOT NULL DEFAULT 0) WITHOUT ROWID;

-- Sessions of browsers.
CREATE TABLE logins(
    id text PRIMARY KEY,
    token text NOT NULL,
    name text NOT NULL,
    address text NOT NULL,
    created bigint NOT NULL,
    seen bigint NOT NULL) WITHOUT ROWID;
CREATE TABLE audit(
    number integer PRIMARY KEY,
    time bigint NOT NULL,
    who text NOT NULL,
    project text NOT NULL,
    what text NOT NULL,
    detail text NOT NULL);

-- Searches that people gave a name.
CREATE TABLE saved_searches(
    project text NOT NULL,
    name text NOT NULL,
    query text NOT NULL,
    sort text NOT NULL,
    who text NOT NULL,
    time bigint NOT NULL,
    PRIMARY KEY(project, name)) WITHOUT ROWID;

-- Tokens that people made. Those of the token file are in no table.
CREATE TABLE tokens(
    sum text PRIMARY KEY,
    name text NOT NULL UNIQUE,
    scopes bigint NOT NULL,                -- bits of access_scope
    project text NOT NULL,                 -- empty: all
    expires bigint NOT NULL,               -- 0: never
    created bigint NOT NULL,
    who text NOT NULL) WITHOUT ROWID;

-- Issues elsewhere that are about a group, as their tracker described them last.
CREATE TABLE tickets(
    project text NOT NULL,                 -- of the tracker's secret; empty: any
    url text NOT NULL,
    group_id text NOT NULL,
    title text NOT NULL,
    state text NOT NULL,
    sum text NOT NULL,                     -- of that event
    changed bigint NOT NULL,
    PRIMARY KEY(project, url)) WITHOUT ROWID;
CREATE INDEX tickets_by_group ON tickets(group_id);

-- The commits of releases, and the files that each of them changed: name is the last part of
-- path. added is when they came.
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
-- The file CODEOWNERS of a program.
CREATE TABLE code_owners(
    project text NOT NULL,
    program text NOT NULL,
    list text NOT NULL,
    PRIMARY KEY(project, program)) WITHOUT ROWID;

-- Starts and clean exits of programs, as senders counted them.
CREATE TABLE start_days(
    project text NOT NULL,
    release text NOT NULL,
    hostname text NOT NULL,
    day bigint NOT NULL,
    begun bigint NOT NULL,
    ended bigint NOT NULL,
    PRIMARY KEY(project, release, hostname, day));
CREATE INDEX start_days_by_day ON start_days(day);
-- What was added to start_days: a batch that comes again is not counted again.
CREATE TABLE start_batches(
    project text NOT NULL,
    id text NOT NULL,
    day bigint NOT NULL,
    PRIMARY KEY(project, id));
CREATE INDEX start_batches_by_day ON start_batches(day);
-- Sessions that crashed.
CREATE TABLE sessions(
    project text NOT NULL,
    session text NOT NULL,
    release text NOT NULL,
    hostname text NOT NULL,
    day bigint NOT NULL,
    PRIMARY KEY(project, session));
CREATE INDEX sessions_by_day ON sessions(day);
CREATE INDEX sessions_by_host ON sessions(release, hostname, day, project);

-- The sums of both by release and day, and of starts by release and host over the days
-- that start_days has. The project '' is the sum of all. Triggers maintain the sums.
-- part is 0: one connection writes.
CREATE TABLE start_sums(
    project text NOT NULL,
    day bigint NOT NULL,
    release text NOT NULL,
    part bigint NOT NULL,
    begun bigint NOT NULL,
    ended bigint NOT NULL,
    crashed bigint NOT NULL,
    PRIMARY KEY(project, day, release, part));
CREATE TABLE start_hosts(
    project text NOT NULL,
    release text NOT NULL,
    hostname text NOT NULL,
    begun bigint NOT NULL,
    ended bigint NOT NULL,
    PRIMARY KEY(project, release, hostname));
CREATE INDEX start_hosts_by_starts ON start_hosts(project, begun DESC, release, hostname);
CREATE INDEX start_hosts_of_release
    ON start_hosts(project, release, begun DESC, hostname);
CREATE TRIGGER starts_added AFTER INSERT ON start_days BEGIN
    INSERT INTO start_sums(project, day, release, part, begun, ended, crashed)
    SELECT p.project, new.day, new.release, 0, new.begun, new.ended, 0
    FROM (SELECT '' AS project UNION SELECT new.project) p WHERE 1 = 1
    ON CONFLICT(project, day, release, part) DO UPDATE SET
        begun = start_sums.begun + excluded.begun,
        ended = start_sums.ended + excluded.ended,
        crashed = start_sums.crashed + excluded.crashed;
    INSERT INTO start_hosts(project, release, hostname, begun, ended)
    SELECT p.project, new.release, new.hostname, new.begun, new.ended
    FROM (SELECT '' AS project UNION SELECT new.project) p WHERE 1 = 1
    ON CONFLICT(project, release, hostname) DO UPDATE SET
        begun = start_hosts.begun + excluded.begun,
        ended = start_hosts.ended + excluded.ended;
END;
CREATE TRIGGER starts_grown AFTER UPDATE ON start_days BEGIN
    INSERT INTO start_sums(project, day, release, part, begun, ended, crashed)
    SELECT p.project, new.day, new.release, 0, new.begun - old.begun,
        new.ended - old.ended, 0
    FROM (SELECT '' AS project UNION SELECT new.project) p WHERE 1 = 1
    ON CONFLICT(project, day, release, part) DO UPDATE SET
        begun = start_sums.begun + excluded.begun,
        ended = start_sums.ended + excluded.ended,
        crashed = start_sums.crashed + excluded.crashed;
    INSERT INTO start_hosts(project, release, hostname, begun, ended)
    SELECT p.project, new.release, new.hostname, new.begun - old.begun,
        new.ended - old.ended
    FROM (SELECT '' AS project UNION SELECT new.project) p WHERE 1 = 1
    ON CONFLICT(project, release, hostname) DO UPDATE SET
        begun = start_hosts.begun + excluded.begun,
        ended = start_hosts.ended + excluded.ended;
END;
-- The sums by day keep the days that start_days has lost.
CREATE TRIGGER starts_removed AFTER DELETE ON start_days BEGIN
    UPDATE start_hosts SET begun = begun - old.begun, ended = ended - old.ended
    WHERE project IN ('', old.project) AND release = old.release
        AND hostname = old.hostname;
    DELETE FROM start_hosts
    WHERE project IN ('', old.project) AND release = old.release
        AND hostname = old.hostname AND begun <= 0 AND ended <= 0;
END;
CREATE TRIGGER session_added AFTER INSERT ON sessions BEGIN
    INSERT INTO start_sums(project, day, release, part, begun, ended, crashed)
    SELECT p.project, new.day, new.release, 0, 0, 0, 1
    FROM (SELECT '' AS project UNION SELECT new.project) p WHERE 1 = 1
    ON CONFLICT(project, day, release, part) DO UPDATE SET
        begun = start_sums.begun + excluded.begun,
        ended = start_sums.ended + excluded.ended,
        crashed = start_sums.crashed + excluded.crashed;
END;
