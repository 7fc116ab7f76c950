-- SPDX-License-Identifier: Apache-2.0
--
-- Triage of groups, and merges and splits, in steps.

-- name: STORE_TRIAGE_FIND
SELECT number, status, status_release, note, assignee, fingerprint, version, count,
    machines, until_count, until_machines, until_time, project
FROM groups
WHERE number = coalesce((SELECT number FROM groups WHERE fingerprint
        = coalesce((SELECT target FROM merged WHERE fingerprint = ?1), ?1)),
    (SELECT kg.number FROM keys k JOIN groups kg ON kg.fingerprint
        = coalesce((SELECT target FROM merged WHERE fingerprint = k.target), k.target)
        WHERE k.fingerprint = ?1))

-- name: STORE_TRIAGE_NEWEST
-- The releases of a group; of those without a place the one that was seen last is last.
SELECT f.value, coalesce({PLACE_OF f.value}, -1) AS place
FROM facets f
JOIN groups g ON g.number = f.group_number
WHERE f.group_number = ?1 AND f.kind = {FACET_RELEASE}
ORDER BY 2, {FIRST_SEEN_OF f.value}, f.value

-- name: STORE_TRIAGE_SET
UPDATE groups
SET status = ?2, status_release = ?3,
    status_time = CASE WHEN status = ?2 THEN status_time ELSE ?4 END,
    note = ?5, assignee = ?6, until_count = ?7, until_machines = ?8, until_time = ?9,
    version = version + 1
WHERE number = ?1

-- name: STORE_MERGE_FIGURES
-- In the next four ?1 is the number of the group that ends and ?2 of the one that
-- stays.
UPDATE groups
SET count = groups.count + s.count,
    kept = groups.kept + s.kept,
    first_seen = CASE WHEN s.first_seen < groups.first_seen THEN s.first_seen
        ELSE groups.first_seen END,
    last_seen = CASE WHEN s.last_seen > groups.last_seen THEN s.last_seen
        ELSE groups.last_seen END,
    first_release = CASE WHEN s.first_release <> '' AND s.first_seen < groups.first_seen
        THEN s.first_release ELSE groups.first_release END
FROM (SELECT * FROM groups WHERE number = ?1) s
WHERE groups.number = ?2

-- name: STORE_MERGE_FIGURES_END
UPDATE groups SET count = 0, kept = 0 WHERE number = ?1

-- name: STORE_MERGE_DAYS
INSERT INTO group_days(group_number, day, count)
SELECT CAST(?2 AS bigint), day, count
FROM group_days
WHERE group_number = ?1 AND count > 0
ON CONFLICT(group_number, day) DO UPDATE SET count = group_days.count + excluded.count

-- name: STORE_MERGE_FACETS
-- The first ?3 of them: a group may have one a machine.
INSERT INTO facets(group_number, kind, value, count, last_seen)
SELECT CAST(?2 AS bigint), kind, value, count, last_seen
FROM (SELECT * FROM facets WHERE group_number = ?1 ORDER BY kind, value LIMIT ?3) part
WHERE count > 0
ON CONFLICT(group_number, kind, value) DO UPDATE SET
    count = facets.count + excluded.count,
    last_seen = CASE WHEN excluded.last_seen > facets.last_seen THEN excluded.last_seen
        ELSE facets.last_seen END

-- name: STORE_MERGE_MEMBERS
INSERT INTO group_members(group_number, kind, member)
SELECT CAST(?2 AS bigint), m.kind, m.member
FROM group_members m
JOIN groups g ON g.number = ?2
WHERE m.group_number = ?1 AND {OUTSIDE_STEP m} = 0
ON CONFLICT(group_number, kind, member) DO NOTHING

-- name: STORE_MEMBERS_CROWDED
-- Groups with so many machines or users that half of them are dropped.
SELECT number
FROM groups
WHERE machines > {MEMBERS_MOST} * machine_step OR users > {MEMBERS_MOST} * user_step
LIMIT 16

-- name: STORE_MEMBERS_DOUBLE
UPDATE groups
SET machine_step = machine_step
        * CASE WHEN machines > {MEMBERS_MOST} * machine_step THEN 2 ELSE 1 END,
    user_step = user_step
        * CASE WHEN users > {MEMBERS_MOST} * user_step THEN 2 ELSE 1 END
WHERE number = ?1

-- name: STORE_MERGE_STEP
-- ?1 is the group that ends, ?2 the one that stays, which is kept by the larger step.
UPDATE groups
SET machine_step = (SELECT max(machine_step) FROM groups WHERE number IN (?1, ?2)),
    user_step = (SELECT max(user_step) FROM groups WHERE number IN (?1, ?2))
WHERE number = ?2

-- name: STORE_MEMBERS_DROP
-- After a change of machine_step or user_step, this and the next.
DELETE FROM group_members
WHERE group_number = ?1
    AND (SELECT {OUTSIDE_STEP group_members} FROM groups g WHERE g.number = ?1) <> 0

-- name: STORE_MEMBERS_COUNT
UPDATE groups
SET machines = machine_step * (SELECT count(*) FROM group_members
        WHERE group_number = ?1 AND kind = {FACET_HOSTNAME}),
    users = user_step * (SELECT count(*) FROM group_members
        WHERE group_number = ?1 AND kind = {FACET_TAG})
WHERE number = ?1

-- name: STORE_MERGE_FORWARD
-- In the next two ?1 and ?2 are their fingerprints.
UPDATE merged SET target = ?2 WHERE target = ?1

-- name: STORE_MERGE_REMEMBER
INSERT INTO merged(fingerprint, target) VALUES(?1, ?2)

-- name: STORE_SET_ASIDE
INSERT INTO set_aside(fingerprint, status, status_time, status_release, resolved_in,
    until_count, until_machines, until_time, note, assignee)
SELECT fingerprint, status, status_time, status_release, resolved_in, until_count,
    until_machines, until_time, note, assignee
FROM groups
WHERE number = ?1
ON CONFLICT(fingerprint) DO UPDATE SET
    status = excluded.status, status_time = excluded.status_time,
    status_release = excluded.status_release, resolved_in = excluded.resolved_in,
    until_count = excluded.until_count, until_machines = excluded.until_machines,
    until_time = excluded.until_time, note = excluded.note,
    assignee = excluded.assignee

-- name: STORE_GIVE_BACK
-- To a group that was split off, unless somebody decided on it meanwhile.
UPDATE groups
SET status = a.status, status_time = a.status_time, status_release = a.status_release,
    resolved_in = a.resolved_in, until_count = a.until_count,
    until_machines = a.until_machines, until_time = a.until_time, note = a.note,
    assignee = a.assignee
FROM (SELECT * FROM set_aside WHERE fingerprint = ?1) a
WHERE groups.fingerprint = ?1 AND groups.status_time = 0 AND groups.note = ''
    AND groups.assignee = ''

-- name: STORE_SET_ASIDE_END
DELETE FROM set_aside WHERE fingerprint = ?1

-- name: STORE_MERGE_END
DELETE FROM groups WHERE number = ?1

-- name: STORE_MERGE_END_DAYS
DELETE FROM group_days WHERE group_number = ?1

-- name: STORE_MERGE_END_FACETS
DELETE FROM facets
WHERE number IN (SELECT number FROM facets WHERE group_number = ?1
    ORDER BY kind, value LIMIT ?2)
RETURNING 1

-- name: STORE_SPLIT_FORGET
DELETE FROM merged WHERE fingerprint = ?1 RETURNING 1

-- name: STORE_MOVE_FIND
SELECT number, source, target, fingerprint, time, last
FROM moves
ORDER BY number LIMIT 1
-- postgres:
SELECT number, source, target, fingerprint, time, last
FROM moves
ORDER BY number LIMIT 1 FOR UPDATE

-- name: STORE_MOVE_NEXT
SELECT number, time
FROM reports
WHERE group_number = ?1 AND (time, number) > (CAST(?2 AS bigint), CAST(?3 AS bigint))
ORDER BY time, number LIMIT ?4

-- name: STORE_MOVE_LOCK
-- Those reports of group ?2 in the list ?1 that nobody has moved or removed meanwhile.
SELECT number, time, fingerprint
FROM reports
WHERE number {LISTED} AND group_number = ?2
ORDER BY time, number
-- postgres:
SELECT number, time, fingerprint
FROM reports
WHERE number {LISTED} AND group_number = ?2
ORDER BY time, number FOR UPDATE

-- name: STORE_MOVE_LOCK_GROUPS
-- Groups are locked in the order in which uploads lock them.
SELECT 1
-- postgres:
SELECT number
FROM groups
WHERE number IN (CAST(?1 AS bigint), CAST(?2 AS bigint)) OR fingerprint = CAST(?3 AS text)
ORDER BY fingerprint FOR UPDATE

-- name: STORE_MOVE_OWN
INSERT INTO groups(fingerprint,
    title, summary, signal, count, kept, first_seen, last_seen, first_release, project,
    program)
SELECT fingerprint, title, summary, signal, 0, 0, time, time, release,
    coalesce((SELECT project FROM groups g WHERE g.number = reports.group_number), ''),
    {PROGRAM_OF executable}
FROM reports
WHERE number = ?1
ON CONFLICT(fingerprint) DO UPDATE SET count = groups.count
RETURNING number

-- name: STORE_MOVE_REPORTS
UPDATE reports SET group_number = ?2 WHERE number {LISTED}

-- name: STORE_MOVE_FIGURES
UPDATE groups
SET count = count + ?2, kept = kept + ?2,
    first_seen = CASE WHEN ?3 < first_seen THEN ?3 ELSE first_seen END,
    last_seen = CASE WHEN ?4 > last_seen THEN ?4 ELSE last_seen END
WHERE number = ?1

-- name: STORE_MOVE_BEGIN
INSERT INTO moves(source, target, fingerprint, time, last) VALUES(?1, ?2, ?3, -1, 0)

-- name: STORE_MOVE_ON
UPDATE moves SET time = ?2, last = ?3 WHERE number = ?1

-- name: STORE_MOVE_END
DELETE FROM moves WHERE number = ?1

-- name: STORE_HISTORY_ADD
INSERT INTO history(group_id, time, kind, other, detail, count)
VALUES(?1, ?2, ?3, ?4, ?5, ?6)
ON CONFLICT(group_id, kind, other,
    detail) DO UPDATE SET count = history.count + excluded.count, time = excluded.time

-- name: STORE_HISTORY_FORWARD
UPDATE history
SET group_id = ?2
WHERE group_id = ?1
    AND NOT EXISTS(SELECT 1 FROM history h WHERE h.group_id = ?2
    AND h.kind = history.kind AND h.other = history.other AND h.detail = history.detail)

-- name: STORE_MOVES_COUNT
SELECT count(*) FROM moves

-- name: STORE_HISTORY_LIST
SELECT kind, other, detail, count, time
FROM history
WHERE group_id = ?1
ORDER BY time DESC, number DESC LIMIT 50
