-- SPDX-License-Identifier: Apache-2.0
--
-- Storing reports: what a batch of them adds to the tables.

-- name: STORE_BEGIN
BEGIN IMMEDIATE
-- postgres:
BEGIN

-- name: STORE_COMMIT
COMMIT

-- name: STORE_SHARE
SELECT 1
-- postgres:
SELECT pg_advisory_xact_lock_shared(7157312092)

-- name: STORE_ALONE
SELECT 1
-- postgres:
SELECT pg_advisory_xact_lock(7157312092)

-- name: STORE_FIND_REPORT
SELECT r.number, r.revision, r.group_number, g.fingerprint, g.project, r.sender
FROM reports r
JOIN groups g ON g.number = r.group_number
WHERE r.id = ?1
-- postgres:
SELECT r.number, r.revision, r.group_number, g.fingerprint, g.project, r.sender
FROM reports r
JOIN groups g ON g.number = r.group_number
WHERE r.id = ?1 FOR UPDATE OF r

-- name: STORE_GAIN_GROUP
-- A group is created with the decision of the group ?9, where there is such: its
-- reports belonged there, or would have.
INSERT INTO groups(fingerprint, title, summary, signal, count, kept, first_seen,
    last_seen, stack, status, status_release, status_time, note, assignee, project,
    program)
SELECT coalesce((SELECT target FROM merged WHERE fingerprint = ?1), ?1),
    CAST(?2 AS text), CAST(?3 AS text), CAST(?4 AS bigint), CAST(?5 AS bigint),
    CAST(?5 AS bigint), CAST(?6 AS bigint), CAST(?7 AS bigint), CAST(?8 AS text),
    coalesce(d.status, 'open'), coalesce(d.status_release, ''),
    coalesce(d.status_time, 0), coalesce(d.note, ''), coalesce(d.assignee, ''),
    CAST(?10 AS text), CAST(?11 AS text)
FROM (SELECT 1 AS one) o
LEFT JOIN groups d ON d.fingerprint
    = coalesce((SELECT target FROM merged WHERE fingerprint = ?9), ?9)
WHERE o.one = 1
ON CONFLICT(fingerprint) DO UPDATE SET
    count = groups.count + excluded.count,
    kept = groups.kept + excluded.kept,
    title = CASE WHEN excluded.last_seen >= groups.last_seen THEN excluded.title
        ELSE groups.title END,
    summary = CASE WHEN excluded.last_seen >= groups.last_seen THEN excluded.summary
        ELSE groups.summary END,
    stack = CASE WHEN excluded.last_seen >= groups.last_seen THEN excluded.stack
        ELSE groups.stack END,
    first_seen = CASE WHEN excluded.first_seen < groups.first_seen
        THEN excluded.first_seen ELSE groups.first_seen END,
    last_seen = CASE WHEN excluded.last_seen > groups.last_seen
        THEN excluded.last_seen ELSE groups.last_seen END
RETURNING number, fingerprint, status, status_release, status_time, first_release, count,
    program

-- name: STORE_SET_FIRST_RELEASE
UPDATE groups SET first_release = ?2 WHERE number = ?1

-- name: STORE_GAIN_DAY
INSERT INTO group_days(group_number, day, count)
VALUES(?1, ?2, ?3)
ON CONFLICT(group_number, day) DO UPDATE SET count = group_days.count + excluded.count

-- name: STORE_GAIN_PROGRAM_DAY
INSERT INTO program_days(project, program, environment, release, day, part, count,
    first_seen, last_seen)
VALUES(?1, ?2, ?3, ?4, ?5, 0, ?6, ?7, ?8)
{PROGRAM_DAYS_MERGE}
-- postgres:
INSERT INTO program_days(project, program, environment, release, day, part, count,
    first_seen, last_seen)
VALUES(?1, ?2, ?3, ?4, ?5, pg_backend_pid(), ?6, ?7, ?8)
{PROGRAM_DAYS_MERGE}

-- name: STORE_GAIN_FACET
INSERT INTO facets(group_number, kind, value, count, last_seen)
VALUES(?1, ?2, ?3, ?4, ?5)
{FACETS_MERGE}

-- name: STORE_GAIN_DAYS
INSERT INTO group_days(group_number, day, count)
SELECT group_number, time / 86400000, count(*)
FROM reports
WHERE number {LISTED}
GROUP BY 1, 2
ORDER BY 1, 2
ON CONFLICT(group_number, day) DO UPDATE SET count = group_days.count + excluded.count

-- name: STORE_GAIN_FACETS
INSERT INTO facets(group_number, kind, value, count, last_seen)
SELECT group_number, kind, value, count(*), max(time)
FROM ({FACETS_OF_LISTED}) gained
GROUP BY group_number, kind, value
ORDER BY 1, 2, 3
{FACETS_MERGE}

-- name: STORE_ADD_REPORT
INSERT INTO reports(id, revision, group_number, time, received, signal, signal_name,
    title, summary, release, environment, executable, hostname, fingerprint,
    fingerprint1, sender, keyed)
VALUES(?1, ?2, {GROUP_OF_3}, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?3, ?14, ?15, 1)
RETURNING number

-- name: STORE_CHANGE_REPORT
UPDATE reports
SET revision = ?2, group_number = {GROUP_OF_3}, time = ?4, received = ?5, signal = ?6,
    signal_name = ?7, title = ?8, summary = ?9, release = ?10, environment = ?11,
    executable = ?12, hostname = ?13, fingerprint = ?3, fingerprint1 = ?14, sender = ?15
WHERE id = ?1
RETURNING number

-- name: STORE_ADD_TAG
INSERT INTO tags(report, key, value)
VALUES(?1, ?2, ?3)
ON CONFLICT(report, key) DO NOTHING

-- name: STORE_ADD_MARKS
INSERT INTO marks(report, list) VALUES(?1, ?2)

-- name: STORE_ADD_HELD
INSERT INTO held_back(fingerprint, id, count, received)
VALUES(?1, ?2, ?3, ?4)
ON CONFLICT(fingerprint, id) DO UPDATE SET count = excluded.count

-- name: STORE_ADD_BODY
INSERT INTO bodies(report, encoding, bytes, segment, prefix) VALUES(?1, ?2, ?3, ?4, ?5)
-- postgres:
INSERT INTO bodies(report, encoding, bytes, segment, prefix, received)
VALUES(?1, ?2, ?3, ?4, ?5, ?6)

-- name: STORE_FIND_PREFIX
-- What reports like this one are compressed with: of group ?1, project ?2 and week ?3.
SELECT number, bytes
FROM body_prefixes
WHERE fingerprint = ?1 AND project = ?2 AND week = ?3

-- name: STORE_ADD_PREFIX
INSERT INTO body_prefixes(fingerprint, project, week, bytes)
VALUES(?1, ?2, ?3, ?4)
ON CONFLICT(fingerprint, project, week) DO NOTHING

-- name: STORE_IS_BACK
-- A row if a report of release ?2 shows that the resolved group ?1 is back. A declared
-- order counts most. ?3 is what the numbers of releases say: 1 newer, 0 older, 2 that they
-- have no order; then a release is newer that the group never had and that its program had
-- later than the one it was resolved in (?4).
SELECT 1
FROM groups g
WHERE g.number = ?1 AND
    CASE WHEN {PLACE_OF ?2} IS NOT NULL AND {PLACE_OF ?4} IS NOT NULL
        THEN {PLACE_OF ?2} > {PLACE_OF ?4} OR (CAST(?3 AS bigint) = 1 AND ?2 = ?4)
    WHEN CAST(?3 AS bigint) <> 2 THEN CAST(?3 AS bigint) = 1
    ELSE NOT EXISTS(SELECT 1 FROM facets f
            WHERE f.group_number = g.number AND f.kind = {FACET_RELEASE}
            AND f.value = ?2)
        AND coalesce({FIRST_SEEN_OF ?2}, {STORE_NEVER})
            > coalesce({FIRST_SEEN_OF ?4}, {STORE_NEVER} - 1) END

-- name: STORE_REGRESS
UPDATE groups
SET status = 'regressed', resolved_in = status_release,
    status_release = ?2, status_time = ?3, version = version + 1
WHERE number = ?1 AND status = 'resolved'

-- name: STORE_IGNORE_END
UPDATE groups
SET status = 'open', status_time = ?2, version = version + 1,
    until_count = 0, until_machines = 0, until_time = 0
WHERE number = ?1 AND status = 'ignored'
    AND ((until_count > 0 AND count >= until_count)
        OR (until_machines > 0 AND machines >= until_machines)
        OR (until_time > 0 AND until_time <= ?2))

-- name: STORE_PING
SELECT 1
