-- SPDX-License-Identifier: Apache-2.0
--
-- Removing reports, and what their groups counted of them: replaced ones, retention,
-- and what searches forget.

-- name: STORE_LOSE_GROUPS
UPDATE groups
SET count = groups.count - gone.n, kept = groups.kept - gone.n
FROM (SELECT group_number, count(*) AS n FROM reports WHERE number {LISTED}
    GROUP BY group_number) gone
WHERE groups.number = gone.group_number

-- name: STORE_LOSE_DAYS
UPDATE group_days
SET count = group_days.count - gone.n
FROM (SELECT group_number, time / 86400000 AS day, count(*) AS n FROM reports
    WHERE number {LISTED} GROUP BY 1, 2) gone
WHERE group_days.group_number = gone.group_number AND group_days.day = gone.day

-- name: STORE_LOSE_FACETS
UPDATE facets
SET count = facets.count - gone.n
FROM (SELECT group_number, kind, value, count(*) AS n
    FROM ({FACETS_OF_LISTED}) lost GROUP BY group_number, kind, value) gone
WHERE facets.group_number = gone.group_number AND facets.kind = gone.kind
    AND facets.value = gone.value
RETURNING number, count

-- name: STORE_REMOVE_TAGS
DELETE FROM tags WHERE report {LISTED}

-- name: STORE_REMOVE_MARKS
DELETE FROM marks WHERE report {LISTED}

-- name: STORE_REMOVE_BODIES
DELETE FROM bodies WHERE report {LISTED}

-- name: STORE_DROP_PREFIXES
DELETE FROM body_prefixes
WHERE week < ?1
    AND NOT EXISTS(SELECT 1 FROM bodies b
        WHERE b.prefix = body_prefixes.number AND b.prefix > 0)

-- name: STORE_REMOVE_REPORTS
DELETE FROM reports WHERE number {LISTED}

-- name: STORE_SEE_AGAIN
UPDATE groups
SET first_seen = coalesce((SELECT min(time) FROM reports
        WHERE group_number = groups.number), first_seen),
    last_seen = coalesce((SELECT max(time) FROM reports
        WHERE group_number = groups.number), last_seen),
    title = coalesce((SELECT title FROM reports WHERE group_number = groups.number
        ORDER BY time DESC, number DESC LIMIT 1), title),
    summary = coalesce((SELECT summary FROM reports WHERE group_number = groups.number
        ORDER BY time DESC, number DESC LIMIT 1), summary)
WHERE number {LISTED}

-- name: STORE_DROP_FACETS
-- ?1 lists facets, not groups: one of them may have a facet a machine.
DELETE FROM facets WHERE count <= 0 AND number {LISTED}

-- name: STORE_WORDS_END
SELECT coalesce(max(number), 0)
FROM (SELECT number FROM words WHERE number > ?1 ORDER BY number LIMIT ?2) w

-- name: STORE_WORDS_SWEEP
DELETE FROM words
WHERE number > ?1 AND number <= ?2
    AND NOT EXISTS(SELECT 1 FROM facets f WHERE f.kind >= {FACET_EXECUTABLE}
        AND f.kind = words.kind AND f.value = words.value)

-- name: STORE_REMOVE_EMPTY_GROUPS
DELETE FROM groups
WHERE kept <= 0
    AND NOT EXISTS(SELECT 1 FROM moves WHERE groups.number IN (source, target))
    AND number {LISTED}

-- name: STORE_REMOVE_EMPTY_DAYS
DELETE FROM group_days WHERE group_number {LISTED_GONE}

-- name: STORE_REMOVE_EMPTY_FACETS
DELETE FROM facets WHERE group_number {LISTED_GONE}

-- name: STORE_TRIM_LOCK
-- Groups are locked in the order in which uploads lock them.
SELECT 1
-- postgres:
SELECT number FROM groups WHERE number {LISTED} ORDER BY fingerprint FOR UPDATE

-- name: STORE_TRIM_OLD
SELECT number, group_number FROM reports WHERE received < ?1 ORDER BY received LIMIT ?2
-- postgres:
SELECT number, group_number
FROM reports
WHERE received < ?1
ORDER BY received LIMIT ?2 FOR UPDATE SKIP LOCKED

-- name: STORE_TRIM_FIRST
SELECT coalesce(min(received), 0) FROM reports

-- name: STORE_TRIM_SIZE
-- ?1 is the week of the oldest report: partitions of before are about to be dropped.
SELECT (p.page_count - f.freelist_count) * s.page_size
FROM pragma_page_count() p, pragma_freelist_count() f, pragma_page_size() s
WHERE ?1 = ?1
-- postgres:
SELECT CAST(coalesce(sum(pg_total_relation_size(c.oid)), 0) AS bigint)
FROM pg_inherits i
JOIN pg_class c ON c.oid = i.inhrelid
WHERE i.inhparent = CAST('bodies' AS regclass)
    AND CASE WHEN c.relname ~ '^bodies_[0-9]+$'
        THEN CAST(substr(c.relname, 8) AS bigint) >= ?1 ELSE true END

-- name: STORE_TRIM_HELD
DELETE FROM held_back WHERE received < ?1

-- name: STORE_TRIM_CROWDED
SELECT number, kept FROM groups WHERE kept > ?1 ORDER BY kept DESC LIMIT 1
-- postgres:
SELECT number, kept
FROM groups
WHERE kept > ?1
ORDER BY kept DESC LIMIT 1 FOR UPDATE SKIP LOCKED

-- name: STORE_TRIM_OLDEST
SELECT number, group_number
FROM reports
WHERE group_number = ?1
ORDER BY time, number LIMIT ?2
-- postgres:
SELECT number, group_number
FROM reports
WHERE group_number = ?1
ORDER BY time, number LIMIT ?2 FOR UPDATE SKIP LOCKED

-- name: STORE_TRIM_COUNT
UPDATE groups
SET kept = groups.kept - gone.n
FROM (SELECT group_number, count(*) AS n FROM reports WHERE number {LISTED}
    GROUP BY group_number) gone
WHERE groups.number = gone.group_number

-- name: STORE_TRIM_STALE
-- The values of a group that no report has any more are deleted once a day.
SELECT number, oldest
FROM (SELECT g.number AS number, g.swept AS swept,
        (SELECT min(time) FROM reports r WHERE r.group_number = g.number) AS oldest
    FROM groups g WHERE g.number {LISTED}) s
WHERE oldest - swept >= 86400000

-- name: STORE_TRIM_FACETS
DELETE FROM facets
WHERE number IN (SELECT number FROM facets WHERE group_number = ?1 AND last_seen < ?2
    LIMIT ?3)
RETURNING 1

-- name: STORE_TRIM_SWEPT
UPDATE groups SET swept = ?2 WHERE number = ?1

-- name: STORE_TRIM_PROJECTS
-- The next four are for projects that keep what others do not, or the reverse. No crash
-- is later than its report came, so its time finds what may be old.
SELECT DISTINCT project FROM groups

-- name: STORE_TRIM_OLD_OF
SELECT r.number, r.group_number
FROM groups g
CROSS JOIN reports r
WHERE g.project = ?3 AND r.group_number = g.number AND r.time < ?1 AND r.received < ?1
LIMIT ?2
-- postgres:
SELECT r.number, r.group_number
FROM groups g
JOIN reports r ON r.group_number = g.number
WHERE g.project = ?3 AND r.time < ?1 AND r.received < ?1 LIMIT ?2
FOR UPDATE OF r SKIP LOCKED

-- name: STORE_TRIM_HELD_OF
DELETE FROM held_back
WHERE received < ?1
    AND coalesce((SELECT project FROM groups WHERE number
        = coalesce((SELECT number FROM groups
            WHERE fingerprint = coalesce((SELECT target FROM merged
                WHERE fingerprint = held_back.fingerprint), held_back.fingerprint)),
        (SELECT kg.number FROM keys k JOIN groups kg ON kg.fingerprint
            = coalesce((SELECT target FROM merged WHERE fingerprint = k.target),
                k.target)
            WHERE k.fingerprint = held_back.fingerprint))), '') = ?2

-- name: STORE_TRIM_CROWDED_OF
SELECT number, kept
FROM groups
WHERE kept > ?1 AND project = ?2
ORDER BY kept DESC LIMIT 1
-- postgres:
SELECT number, kept
FROM groups
WHERE kept > ?1 AND project = ?2
ORDER BY kept DESC LIMIT 1 FOR UPDATE SKIP LOCKED

-- name: STORE_REMOVE_JOBS
DELETE FROM jobs WHERE report {LISTED}

-- name: STORE_REMOVE_NAMELESS
DELETE FROM nameless WHERE report {LISTED}

-- name: STORE_WEEK_THERE
-- The next three are of PostgreSQL: the partitions of bodies.
SELECT 0
-- postgres:
SELECT count(*)
FROM pg_inherits i
JOIN pg_class c ON c.oid = i.inhrelid
WHERE i.inhparent = CAST('bodies' AS regclass) AND c.relname = ?1

-- name: STORE_WEEKS_BEFORE
SELECT 0 AS week
-- postgres:
SELECT week
FROM (SELECT CAST(substr(c.relname, 8) AS bigint) AS week
    FROM pg_inherits i
    JOIN pg_class c ON c.oid = i.inhrelid
    WHERE i.inhparent = CAST('bodies' AS regclass) AND c.relname ~ '^bodies_[0-9]+$') w
WHERE week < ?1
ORDER BY week

-- name: STORE_WEEK_LEFT
SELECT count(*)
FROM (SELECT 1 FROM reports WHERE received >= ?1 AND received < ?2 LIMIT 1) one
