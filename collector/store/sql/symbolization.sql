-- SPDX-License-Identifier: Apache-2.0
--
-- Naming reports in the background, and moving those whose names change their key.

-- name: STORE_KEY_SET
-- A key of before leads to the group of its newest report. ?4 is how many milliseconds
-- the time of a key that stays may be behind.
INSERT INTO keys(fingerprint, target, time)
VALUES(?1, ?2, ?3)
ON CONFLICT(fingerprint) DO UPDATE SET target = excluded.target, time = excluded.time
WHERE excluded.time >= keys.time
    AND (keys.target <> excluded.target OR excluded.time - keys.time >= ?4)

-- name: STORE_KEY_FIND
SELECT coalesce((SELECT target FROM merged WHERE fingerprint = keys.target), target)
    AS target
FROM keys
WHERE fingerprint = ?1

-- name: STORE_KEY_FORWARD
UPDATE keys SET target = ?2 WHERE target = ?1

-- name: STORE_RENAME_FIND
SELECT r.group_number, g.fingerprint AS group_id, r.fingerprint, r.fingerprint1,
    g.project
FROM reports r
JOIN groups g ON g.number = r.group_number
WHERE r.number = ?1

-- name: STORE_RENAME_PENDING
-- Reports of the group's own that are still to be keyed.
SELECT count(*)
FROM jobs j
JOIN reports r ON r.number = j.report
WHERE r.group_number = ?1 AND r.fingerprint = ?2 AND j.until < {STORE_NEVER}

-- name: STORE_RENAME_MERGE
INSERT INTO merged(fingerprint, target)
VALUES(?1, ?2)
ON CONFLICT(fingerprint) DO NOTHING

-- name: STORE_RENAME_MOVE
INSERT INTO moves(source, target, fingerprint, time, last)
SELECT s.number, t.number, '', -1, 0
FROM groups s, groups t
WHERE s.fingerprint = ?1 AND t.fingerprint = ?2
    AND NOT EXISTS(SELECT 1 FROM moves m WHERE m.source = s.number)

-- name: STORE_RENAME_REPORT
UPDATE reports
SET group_number = ?2,
    fingerprint1 = CASE WHEN fingerprint1 <> '' THEN fingerprint1 WHEN ?4 <> '' THEN ?4
        ELSE fingerprint END,
    fingerprint = ?3, title = ?5, summary = ?6
WHERE number = ?1

-- name: STORE_RENAME_DECISION
SELECT number, fingerprint, title, status, status_release, status_time, note, assignee
FROM groups
WHERE number = ?1

-- name: STORE_RENAME_DECIDE
UPDATE groups
SET status = ?2, status_release = ?3, status_time = ?4, note = ?5, assignee = ?6
WHERE number = ?1

-- name: STORE_RENAME_LEFT
SELECT kept FROM groups WHERE number = ?1

-- name: STORE_RENAME_SEEN
-- While removed reports are counted, when the first was seen is known from before.
UPDATE groups
SET first_seen = CASE WHEN count > kept THEN first_seen
        ELSE coalesce((SELECT min(time) FROM reports
            WHERE group_number = groups.number), first_seen) END,
    last_seen = coalesce((SELECT max(time) FROM reports
        WHERE group_number = groups.number), last_seen)
WHERE number {LISTED}

-- name: STORE_RENAME_RELEASE
UPDATE groups
SET first_release = coalesce((SELECT release FROM reports r
    WHERE r.group_number = ?1 AND release <> ''
        AND {PROGRAM_OF r.executable} = groups.program
    ORDER BY time, number LIMIT 1),
    first_release)
WHERE number = ?1

-- name: STORE_UNKEYED
-- Reports that a collector of an older layout stored in the same database.
SELECT count(*) FROM (SELECT 1 FROM reports WHERE keyed = 0 LIMIT 1) w

-- name: STORE_UNKEYED_TAKE
UPDATE reports
SET keyed = 1
WHERE number IN (SELECT number FROM reports WHERE keyed = 0 ORDER BY number LIMIT ?1)
RETURNING number

-- name: STORE_UNKEYED_QUEUE
INSERT INTO jobs(report, rank, queued, until, tries, turn)
SELECT number, 0, CAST(?2 AS bigint), 0, 0, 0
FROM reports
WHERE number {LISTED}
{JOB_AGAIN}

-- name: STORE_UNKEYED_PROGRAM
UPDATE groups
SET program = coalesce((SELECT {PROGRAM_OF r.executable} FROM reports r
    WHERE r.group_number = groups.number ORDER BY r.time, r.number LIMIT 1), '')
WHERE program = '' AND number IN (SELECT group_number FROM reports WHERE number {LISTED})

-- name: STORE_UNKEYED_COUNT
INSERT INTO program_days(project, program, environment, release, day, part, count,
    first_seen, last_seen)
SELECT g.project, {PROGRAM_OF r.executable}, r.environment, r.release, r.time / 86400000, 0,
    count(*), min(r.time), max(r.time)
FROM reports r
JOIN groups g ON g.number = r.group_number
WHERE r.number {LISTED}
GROUP BY 1, 2, 3, 4, 5
{PROGRAM_DAYS_MERGE}

-- name: STORE_JOB_ADD
INSERT INTO jobs(report, rank, queued, until, tries, turn)
VALUES(?1, 0, ?2, 0, 0, 0)
{JOB_AGAIN}

-- name: STORE_JOB_ADD_KNOWN
-- The debug file of a build may have come since its report was read: everybody's, or its
-- project's.
INSERT INTO jobs(report, rank, queued, until, tries, turn)
SELECT CAST(?1 AS bigint), 0, CAST(?2 AS bigint), 0, 0, 0
WHERE EXISTS(SELECT 1 FROM symbols WHERE build IN (?3, ?4))
{JOB_AGAIN}

-- name: STORE_JOB_ADD_BUILD
INSERT INTO jobs(report, rank, queued, until, tries, turn)
SELECT report, 0, CAST(?2 AS bigint), 0, 0, 0
FROM nameless
WHERE build = ?1 AND report > ?3
    AND (CAST(?5 AS text) = '' OR EXISTS(SELECT 1 FROM reports r
        JOIN groups g ON g.number = r.group_number
        WHERE r.number = nameless.report AND g.project = ?5))
ORDER BY report LIMIT ?4
{JOB_AGAIN}
RETURNING report

-- name: STORE_JOB_CLAIM
UPDATE jobs
SET until = ?1, tries = tries + 1
WHERE report IN (SELECT report FROM jobs WHERE until <= ?2
    ORDER BY rank, report LIMIT ?3)
RETURNING report, turn, tries
-- postgres:
UPDATE jobs
SET until = ?1, tries = tries + 1
WHERE report IN (SELECT report FROM jobs WHERE until <= ?2
    ORDER BY rank, report LIMIT ?3 FOR UPDATE SKIP LOCKED)
RETURNING report, turn, tries

-- name: STORE_JOB_DONE
DELETE FROM jobs WHERE report = ?1 AND turn = ?2

-- name: STORE_JOB_LATER
UPDATE jobs SET until = ?2, rank = 2, tries = tries - 1 WHERE report = ?1

-- name: STORE_JOB_GIVE_UP
-- What was given up is claimed by nobody, until another debug file comes.
UPDATE jobs SET until = {STORE_NEVER} WHERE report = ?1 AND turn = ?2

-- name: STORE_JOB_ADD_SEEN
INSERT INTO jobs(report, rank, queued, until, tries, turn)
SELECT number, 0, CAST(?2 AS bigint), 0, 0, 0
FROM reports
WHERE id = ?1
ON CONFLICT(report) DO NOTHING

-- name: STORE_PLACE_ADD
INSERT INTO place_names(build, place, frames)
SELECT CAST(?1 AS text), CAST(?2 AS text), CAST(?3 AS text)
WHERE NOT EXISTS(SELECT 1 FROM symbols WHERE build = ?1 AND time > ?4)
ON CONFLICT(build, place) DO UPDATE SET frames = excluded.frames

-- name: STORE_PLACES_FORGET
DELETE FROM place_names WHERE build = ?1

-- name: STORE_PLACES_TRIM
-- Delete the places of builds whose last nameless reports are in a list, those of all
-- projects.
DELETE FROM place_names
WHERE build IN (SELECT DISTINCT p.prefix || n.build FROM nameless n,
        (SELECT '' AS prefix UNION SELECT project || '/' FROM symbols
            WHERE project <> '') p
    WHERE n.report {LISTED} AND NOT EXISTS(SELECT 1 FROM nameless o
        WHERE o.build = n.build AND NOT o.report {LISTED}))

-- name: STORE_NAMELESS_ADD
INSERT INTO nameless(build, report) VALUES(?1, ?2) ON CONFLICT(build, report) DO NOTHING

-- name: STORE_SYMBOLS_ADD
-- Times increase from file to file, whatever the clocks of several collectors say.
INSERT INTO symbols(build, time, project, sender)
SELECT CAST(?1 AS text),
    CASE WHEN CAST(?2 AS bigint) > last THEN CAST(?2 AS bigint) ELSE last + 1 END,
    CAST(?3 AS text), CAST(?4 AS text)
FROM (SELECT coalesce(max(time), 0) AS last FROM symbols) s
WHERE 1 = 1
ON CONFLICT(build) DO UPDATE SET time = excluded.time

-- name: STORE_SYMBOL_KEEP
INSERT INTO symbol_files(key, name, size, kept, project, release, added, used)
VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?7)
ON CONFLICT(key) DO UPDATE SET
    name = excluded.name, size = excluded.size, kept = excluded.kept,
    project = excluded.project, release = excluded.release, used = excluded.used

-- name: STORE_SYMBOLS_SIZE
SELECT CAST(coalesce(sum(size), 0) AS bigint)
FROM symbol_files
WHERE project = ?1 AND key <> ?2

-- name: STORE_SYMBOL_FIND
SELECT key, name, project, release, size, kept, used
FROM symbol_files
WHERE key = ?1

-- name: STORE_SYMBOLS_LIST
SELECT key, name, project, release, size, kept, used
FROM symbol_files
WHERE name <> ''

-- name: STORE_SYMBOLS_REMOVABLE
SELECT key, name, project, release, size, kept, used
FROM symbol_files
WHERE used < ?1 AND (?3 = '' OR project = ?3)
ORDER BY used LIMIT ?2

-- name: STORE_SYMBOLS_REMOVABLE_OF
SELECT key, name, project, release, size, kept, used
FROM symbol_files
WHERE used < ?1 AND release = ?4 AND (?3 = '' OR project = ?3)
ORDER BY used LIMIT ?2

-- name: STORE_SYMBOL_USED
UPDATE symbol_files SET used = ?2 WHERE key = ?1

-- name: STORE_SYMBOL_STALE
SELECT count(*) FROM symbol_files WHERE key = ?1 AND used < ?2

-- name: STORE_SYMBOL_FORGET
DELETE FROM symbol_files WHERE key = ?1

-- name: STORE_SYMBOL_NAMED
SELECT count(*) FROM symbol_files WHERE name = ?1

-- name: STORE_LIST_OWNED
SELECT key AS build
FROM symbol_files
WHERE project <> '' AND (CAST(?1 AS text) = '' OR key = project || '/' || ?1)
UNION
SELECT build
FROM symbols
WHERE project <> '' AND (?1 = '' OR build = project || '/' || ?1)

-- name: STORE_LIST_LACKING
SELECT DISTINCT build FROM nameless WHERE report {LISTED}

-- name: STORE_LIST_MISSING
-- The builds whose names the last ?3 reports lack, and whose debug file nobody sent for
-- their project, with one of these reports.
SELECT n.build, count(*) AS reports, max(r.time) AS last_seen, max(r.id) AS example,
    coalesce(max(r.program), '') AS program
FROM (SELECT o.number, o.id, o.time, g.program, g.project
    FROM reports o
    JOIN groups g ON g.number = o.group_number
    WHERE ?1 = '' OR g.project = ?1
    ORDER BY o.time DESC LIMIT ?3) r
JOIN nameless n ON n.report = r.number
WHERE NOT EXISTS(SELECT 1 FROM symbols s
    WHERE s.build IN (n.build, r.project || '/' || n.build))
GROUP BY n.build
ORDER BY 2 DESC, 1 LIMIT ?2

-- name: STORE_SYMBOLS_TOTAL
-- Of the files of a project and everybody's.
SELECT count(*) AS files, CAST(coalesce(sum(size), 0) AS bigint) AS size,
    CAST(coalesce(sum(kept), 0) AS bigint) AS kept
FROM symbol_files
WHERE ?1 = '' OR project IN (?1, '')

-- name: STORE_SYMBOLS_LATEST
SELECT key, name, project, release, size, kept, used
FROM symbol_files
WHERE ?1 = '' OR project IN (?1, '')
ORDER BY used DESC, key LIMIT ?2

-- name: STORE_LIST_UNASKED
-- One look into the index for each build, however many reports lack its names.
WITH RECURSIVE b(build, n) AS (
    SELECT min(build), 1 FROM nameless WHERE build > ?1
    UNION ALL
    SELECT (SELECT min(n.build) FROM nameless n WHERE n.build > b.build), b.n + 1
    FROM b WHERE b.build IS NOT NULL AND b.n < ?3)
SELECT build,
    CASE WHEN EXISTS(SELECT 1 FROM symbols s WHERE s.build = b.build)
        OR EXISTS(SELECT 1 FROM asked_builds a WHERE a.build = b.build AND a.time >= ?2)
        THEN 0 ELSE 1 END AS unasked
FROM b
WHERE build IS NOT NULL

-- name: STORE_BUILD_ASKED
INSERT INTO asked_builds(build, time)
VALUES(?1, ?2)
ON CONFLICT(build) DO UPDATE SET time = excluded.time

-- name: STORE_FIND_BUILD
SELECT build, project, sender FROM symbols WHERE build = ?1

-- name: STORE_LIST_PLACES
SELECT build, place, frames
FROM place_names
WHERE build IN (?1, ?3) AND place IN (SELECT value FROM json_each(?2))
-- postgres:
SELECT build, place, frames
FROM place_names
WHERE build IN (?1, ?3)
    AND place IN (SELECT json_array_elements_text(CAST(?2 AS json)))

-- name: STORE_LIST_KNOWN_PLACES
-- The places of the builds that the reports of a list lack.
SELECT build, place, frames
FROM place_names
WHERE build IN (SELECT p.prefix || n.build
    FROM nameless n, (SELECT '' AS prefix UNION SELECT CAST(?3 AS text)) p
    WHERE n.report {LISTED})
LIMIT ?2

-- name: STORE_LAST_SYMBOLS
SELECT coalesce(max(time), 0) FROM symbols

-- name: STORE_JOB_STATE
-- 1: it was given up.
SELECT CASE WHEN j.until < {STORE_NEVER} THEN 0 ELSE 1 END
FROM jobs j
JOIN reports r ON r.number = j.report
WHERE r.id = ?1

-- name: STORE_JOBS_FREE
UPDATE jobs SET until = 0 WHERE until < {STORE_NEVER}

-- name: STORE_JOB_BODY
SELECT r.received, g.project, {BODY_COLUMNS}
FROM reports r
JOIN groups g ON g.number = r.group_number
JOIN bodies b ON b.report = r.number
{BODY_SEGMENTS}
WHERE r.number = ?1
-- postgres:
SELECT r.received, g.project, {BODY_COLUMNS}
FROM reports r
JOIN groups g ON g.number = r.group_number
JOIN bodies b ON b.report = r.number AND b.received = r.received
{BODY_SEGMENTS}
WHERE r.number = ?1

-- name: STORE_JOB_DUE
SELECT count(*) FROM (SELECT 1 FROM jobs WHERE until <= ?1 LIMIT 1) one

-- name: STORE_JOBS_WAITING
SELECT count(*) AS waiting, coalesce(min(queued), 0) AS oldest
FROM jobs
WHERE until < {STORE_NEVER}
