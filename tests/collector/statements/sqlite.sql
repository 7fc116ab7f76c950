-- STORE_BEGIN
BEGIN IMMEDIATE

-- STORE_COMMIT
COMMIT

-- STORE_SHARE
SELECT 1

-- STORE_ALONE
SELECT 1

-- STORE_FIND_REPORT
SELECT r.number, r.revision, r.group_number, g.fingerprint, g.project, r.sender
FROM reports r
JOIN groups g ON g.number = r.group_number
WHERE r.id = ?1

-- STORE_GAIN_GROUP
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

-- STORE_SET_FIRST_RELEASE
UPDATE groups SET first_release = ?2 WHERE number = ?1

-- STORE_GAIN_DAY
INSERT INTO group_days(group_number, day, count)
VALUES(?1, ?2, ?3)
ON CONFLICT(group_number, day) DO UPDATE SET count = group_days.count + excluded.count

-- STORE_GAIN_PROGRAM_DAY
INSERT INTO program_days(project, program, environment, release, day, part, count,
    first_seen, last_seen)
VALUES(?1, ?2, ?3, ?4, ?5, 0, ?6, ?7, ?8)
ON CONFLICT(project, program, environment, release, day, part) DO UPDATE SET
count = program_days.count + excluded.count,
first_seen = CASE WHEN excluded.first_seen < program_days.first_seen
THEN excluded.first_seen ELSE program_days.first_seen END,
last_seen = CASE WHEN excluded.last_seen > program_days.last_seen
THEN excluded.last_seen ELSE program_days.last_seen END

-- STORE_GAIN_FACET
INSERT INTO facets(group_number, kind, value, count, last_seen)
VALUES(?1, ?2, ?3, ?4, ?5)
ON CONFLICT(group_number, kind, value) DO UPDATE SET
count = facets.count + excluded.count,
last_seen = CASE WHEN facets.last_seen < excluded.last_seen THEN excluded.last_seen
ELSE facets.last_seen END

-- STORE_GAIN_DAYS
INSERT INTO group_days(group_number, day, count)
SELECT group_number, time / 86400000, count(*)
FROM reports
WHERE number IN (SELECT value FROM json_each(?1))
GROUP BY 1, 2
ORDER BY 1, 2
ON CONFLICT(group_number, day) DO UPDATE SET count = group_days.count + excluded.count

-- STORE_GAIN_FACETS
INSERT INTO facets(group_number, kind, value, count, last_seen)
SELECT group_number, kind, value, count(*), max(time)
FROM (SELECT number, group_number, kind, value, time
    FROM (SELECT r.number AS number, r.group_number AS group_number,
        CAST(k.column1 AS bigint) AS kind,
        CASE k.column1 WHEN 1 THEN r.title WHEN 2 THEN r.summary
        WHEN 3 THEN r.executable WHEN 4 THEN r.hostname
        WHEN 5 THEN r.release WHEN 6 THEN r.environment
        WHEN 7 THEN CAST(r.signal AS text) ELSE r.signal_name END AS value,
        r.time AS time
        FROM reports r CROSS JOIN (VALUES (1), (2),
            (3), (4), (5),
            (6), (7), (8)) k
        WHERE r.number IN (SELECT value FROM json_each(?1))
        UNION ALL
        SELECT r.number, r.group_number, CAST(9 AS bigint),
        t.key || char(10) || t.value, r.time
        FROM reports r JOIN tags t ON t.report = r.number
        WHERE r.number IN (SELECT value FROM json_each(?1))
        UNION ALL
        SELECT r.number, r.group_number, CAST(substr(j.value, 1, 2) AS bigint),
        substr(j.value, 4), r.time
        FROM reports r JOIN marks m ON m.report = r.number CROSS JOIN json_each(m.list) j
        WHERE r.number IN (SELECT value FROM json_each(?1)) ) carried
    WHERE value <> '') gained
GROUP BY group_number, kind, value
ORDER BY 1, 2, 3
ON CONFLICT(group_number, kind, value) DO UPDATE SET
count = facets.count + excluded.count,
last_seen = CASE WHEN facets.last_seen < excluded.last_seen THEN excluded.last_seen
ELSE facets.last_seen END

-- STORE_LOSE_GROUPS
UPDATE groups
SET count = groups.count - gone.n, kept = groups.kept - gone.n
FROM (SELECT group_number, count(*) AS n FROM reports WHERE number IN (SELECT value FROM json_each(?1))
    GROUP BY group_number) gone
WHERE groups.number = gone.group_number

-- STORE_LOSE_DAYS
UPDATE group_days
SET count = group_days.count - gone.n
FROM (SELECT group_number, time / 86400000 AS day, count(*) AS n FROM reports
    WHERE number IN (SELECT value FROM json_each(?1)) GROUP BY 1, 2) gone
WHERE group_days.group_number = gone.group_number AND group_days.day = gone.day

-- STORE_LOSE_FACETS
UPDATE facets
SET count = facets.count - gone.n
FROM (SELECT group_number, kind, value, count(*) AS n
    FROM (SELECT number, group_number, kind, value, time
        FROM (SELECT r.number AS number, r.group_number AS group_number,
            CAST(k.column1 AS bigint) AS kind,
            CASE k.column1 WHEN 1 THEN r.title WHEN 2 THEN r.summary
            WHEN 3 THEN r.executable WHEN 4 THEN r.hostname
            WHEN 5 THEN r.release WHEN 6 THEN r.environment
            WHEN 7 THEN CAST(r.signal AS text) ELSE r.signal_name END AS value,
            r.time AS time
            FROM reports r CROSS JOIN (VALUES (1), (2),
                (3), (4), (5),
                (6), (7), (8)) k
            WHERE r.number IN (SELECT value FROM json_each(?1))
            UNION ALL
            SELECT r.number, r.group_number, CAST(9 AS bigint),
            t.key || char(10) || t.value, r.time
            FROM reports r JOIN tags t ON t.report = r.number
            WHERE r.number IN (SELECT value FROM json_each(?1))
            UNION ALL
            SELECT r.number, r.group_number, CAST(substr(j.value, 1, 2) AS bigint),
            substr(j.value, 4), r.time
            FROM reports r JOIN marks m ON m.report = r.number CROSS JOIN json_each(m.list) j
            WHERE r.number IN (SELECT value FROM json_each(?1)) ) carried
        WHERE value <> '') lost GROUP BY group_number, kind, value) gone
WHERE facets.group_number = gone.group_number AND facets.kind = gone.kind
AND facets.value = gone.value
RETURNING number, count

-- STORE_ADD_REPORT
INSERT INTO reports(id, revision, group_number, time, received, signal, signal_name,
    title, summary, release, environment, executable, hostname, fingerprint,
    fingerprint1, sender, keyed)
VALUES(?1, ?2, (SELECT number FROM groups WHERE fingerprint
        = coalesce((SELECT target FROM merged WHERE fingerprint = ?3), ?3)), ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?3, ?14, ?15, 1)
RETURNING number

-- STORE_CHANGE_REPORT
UPDATE reports
SET revision = ?2, group_number = (SELECT number FROM groups WHERE fingerprint
    = coalesce((SELECT target FROM merged WHERE fingerprint = ?3), ?3)), time = ?4, received = ?5, signal = ?6,
signal_name = ?7, title = ?8, summary = ?9, release = ?10, environment = ?11,
executable = ?12, hostname = ?13, fingerprint = ?3, fingerprint1 = ?14, sender = ?15
WHERE id = ?1
RETURNING number

-- STORE_ADD_TAG
INSERT INTO tags(report, key, value)
VALUES(?1, ?2, ?3)
ON CONFLICT(report, key) DO NOTHING

-- STORE_ADD_MARKS
INSERT INTO marks(report, list) VALUES(?1, ?2)

-- STORE_ADD_HELD
INSERT INTO held_back(fingerprint, id, count, received)
VALUES(?1, ?2, ?3, ?4)
ON CONFLICT(fingerprint, id) DO UPDATE SET count = excluded.count

-- STORE_ADD_BODY
INSERT INTO bodies(report, encoding, bytes, segment, prefix) VALUES(?1, ?2, ?3, ?4, ?5)

-- STORE_FIND_PREFIX
SELECT number, bytes
FROM body_prefixes
WHERE fingerprint = ?1 AND project = ?2 AND week = ?3

-- STORE_ADD_PREFIX
INSERT INTO body_prefixes(fingerprint, project, week, bytes)
VALUES(?1, ?2, ?3, ?4)
ON CONFLICT(fingerprint, project, week) DO NOTHING

-- STORE_DROP_PREFIXES
DELETE FROM body_prefixes
WHERE week < ?1
AND NOT EXISTS(SELECT 1 FROM bodies b
    WHERE b.prefix = body_prefixes.number AND b.prefix > 0)

-- STORE_REMOVE_TAGS
DELETE FROM tags WHERE report IN (SELECT value FROM json_each(?1))

-- STORE_REMOVE_MARKS
DELETE FROM marks WHERE report IN (SELECT value FROM json_each(?1))

-- STORE_REMOVE_BODIES
DELETE FROM bodies WHERE report IN (SELECT value FROM json_each(?1))

-- STORE_REMOVE_REPORTS
DELETE FROM reports WHERE number IN (SELECT value FROM json_each(?1))

-- STORE_SEE_AGAIN
UPDATE groups
SET first_seen = coalesce((SELECT min(time) FROM reports
        WHERE group_number = groups.number), first_seen),
last_seen = coalesce((SELECT max(time) FROM reports
        WHERE group_number = groups.number), last_seen),
title = coalesce((SELECT title FROM reports WHERE group_number = groups.number
        ORDER BY time DESC, number DESC LIMIT 1), title),
summary = coalesce((SELECT summary FROM reports WHERE group_number = groups.number
        ORDER BY time DESC, number DESC LIMIT 1), summary)
WHERE number IN (SELECT value FROM json_each(?1))

-- STORE_DROP_FACETS
DELETE FROM facets WHERE count <= 0 AND number IN (SELECT value FROM json_each(?1))

-- STORE_WORDS_END
SELECT coalesce(max(number), 0)
FROM (SELECT number FROM words WHERE number > ?1 ORDER BY number LIMIT ?2) w

-- STORE_WORDS_SWEEP
DELETE FROM words
WHERE number > ?1 AND number <= ?2
AND NOT EXISTS(SELECT 1 FROM facets f WHERE f.kind >= 3
    AND f.kind = words.kind AND f.value = words.value)

-- STORE_REMOVE_EMPTY_GROUPS
DELETE FROM groups
WHERE kept <= 0
AND NOT EXISTS(SELECT 1 FROM moves WHERE groups.number IN (source, target))
AND number IN (SELECT value FROM json_each(?1))

-- STORE_REMOVE_EMPTY_DAYS
DELETE FROM group_days WHERE group_number IN (SELECT value FROM json_each(?1)
    WHERE NOT EXISTS(SELECT 1 FROM groups g WHERE g.number = value))

-- STORE_REMOVE_EMPTY_FACETS
DELETE FROM facets WHERE group_number IN (SELECT value FROM json_each(?1)
    WHERE NOT EXISTS(SELECT 1 FROM groups g WHERE g.number = value))

-- STORE_IS_BACK
SELECT 1
FROM groups g
WHERE g.number = ?1 AND
CASE WHEN (SELECT o.place FROM release_places o
    WHERE o.project = g.project AND o.program = g.program AND o.release = ?2) IS NOT NULL AND (SELECT o.place FROM release_places o
    WHERE o.project = g.project AND o.program = g.program AND o.release = ?4) IS NOT NULL
THEN (SELECT o.place FROM release_places o
    WHERE o.project = g.project AND o.program = g.program AND o.release = ?2) > (SELECT o.place FROM release_places o
    WHERE o.project = g.project AND o.program = g.program AND o.release = ?4) OR (CAST(?3 AS bigint) = 1 AND ?2 = ?4)
WHEN CAST(?3 AS bigint) <> 2 THEN CAST(?3 AS bigint) = 1
ELSE NOT EXISTS(SELECT 1 FROM facets f
    WHERE f.group_number = g.number AND f.kind = 5
    AND f.value = ?2)
AND coalesce((SELECT min(d.first_seen) FROM program_days d
        WHERE d.project = g.project AND d.program = g.program AND d.release = ?2), 9000000000000000)
> coalesce((SELECT min(d.first_seen) FROM program_days d
        WHERE d.project = g.project AND d.program = g.program AND d.release = ?4), 9000000000000000 - 1) END

-- STORE_REGRESS
UPDATE groups
SET status = 'regressed', resolved_in = status_release,
status_release = ?2, status_time = ?3, version = version + 1
WHERE number = ?1 AND status = 'resolved'

-- STORE_IGNORE_END
UPDATE groups
SET status = 'open', status_time = ?2, version = version + 1,
until_count = 0, until_machines = 0, until_time = 0
WHERE number = ?1 AND status = 'ignored'
AND ((until_count > 0 AND count >= until_count)
    OR (until_machines > 0 AND machines >= until_machines)
    OR (until_time > 0 AND until_time <= ?2))

-- STORE_TRIAGE_FIND
SELECT number, status, status_release, note, assignee, fingerprint, version, count,
machines, until_count, until_machines, until_time, project
FROM groups
WHERE number = coalesce((SELECT number FROM groups WHERE fingerprint
        = coalesce((SELECT target FROM merged WHERE fingerprint = ?1), ?1)),
    (SELECT kg.number FROM keys k JOIN groups kg ON kg.fingerprint
        = coalesce((SELECT target FROM merged WHERE fingerprint = k.target), k.target)
        WHERE k.fingerprint = ?1))

-- STORE_TRIAGE_NEWEST
SELECT f.value, coalesce((SELECT o.place FROM release_places o
        WHERE o.project = g.project AND o.program = g.program AND o.release = f.value), -1) AS place
FROM facets f
JOIN groups g ON g.number = f.group_number
WHERE f.group_number = ?1 AND f.kind = 5
ORDER BY 2, (SELECT min(d.first_seen) FROM program_days d
    WHERE d.project = g.project AND d.program = g.program AND d.release = f.value), f.value

-- STORE_TRIAGE_SET
UPDATE groups
SET status = ?2, status_release = ?3,
status_time = CASE WHEN status = ?2 THEN status_time ELSE ?4 END,
note = ?5, assignee = ?6, until_count = ?7, until_machines = ?8, until_time = ?9,
version = version + 1
WHERE number = ?1

-- STORE_MERGE_FIGURES
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

-- STORE_MERGE_FIGURES_END
UPDATE groups SET count = 0, kept = 0 WHERE number = ?1

-- STORE_MERGE_DAYS
INSERT INTO group_days(group_number, day, count)
SELECT CAST(?2 AS bigint), day, count
FROM group_days
WHERE group_number = ?1 AND count > 0
ON CONFLICT(group_number, day) DO UPDATE SET count = group_days.count + excluded.count

-- STORE_MERGE_FACETS
INSERT INTO facets(group_number, kind, value, count, last_seen)
SELECT CAST(?2 AS bigint), kind, value, count, last_seen
FROM (SELECT * FROM facets WHERE group_number = ?1 ORDER BY kind, value LIMIT ?3) part
WHERE count > 0
ON CONFLICT(group_number, kind, value) DO UPDATE SET
count = facets.count + excluded.count,
last_seen = CASE WHEN excluded.last_seen > facets.last_seen THEN excluded.last_seen
ELSE facets.last_seen END

-- STORE_MERGE_MEMBERS
INSERT INTO group_members(group_number, kind, member)
SELECT CAST(?2 AS bigint), m.kind, m.member
FROM group_members m
JOIN groups g ON g.number = ?2
WHERE m.group_number = ?1 AND m.member & (CASE m.kind WHEN 4 THEN g.machine_step ELSE g.user_step END - 1) = 0
ON CONFLICT(group_number, kind, member) DO NOTHING

-- STORE_MEMBERS_CROWDED
SELECT number
FROM groups
WHERE machines > 8192 * machine_step OR users > 8192 * user_step
LIMIT 16

-- STORE_MEMBERS_DOUBLE
UPDATE groups
SET machine_step = machine_step
* CASE WHEN machines > 8192 * machine_step THEN 2 ELSE 1 END,
user_step = user_step
* CASE WHEN users > 8192 * user_step THEN 2 ELSE 1 END
WHERE number = ?1

-- STORE_MERGE_STEP
UPDATE groups
SET machine_step = (SELECT max(machine_step) FROM groups WHERE number IN (?1, ?2)),
user_step = (SELECT max(user_step) FROM groups WHERE number IN (?1, ?2))
WHERE number = ?2

-- STORE_MEMBERS_DROP
DELETE FROM group_members
WHERE group_number = ?1
AND (SELECT group_members.member & (CASE group_members.kind WHEN 4 THEN g.machine_step ELSE g.user_step END - 1) FROM groups g WHERE g.number = ?1) <> 0

-- STORE_MEMBERS_COUNT
UPDATE groups
SET machines = machine_step * (SELECT count(*) FROM group_members
    WHERE group_number = ?1 AND kind = 4),
users = user_step * (SELECT count(*) FROM group_members
    WHERE group_number = ?1 AND kind = 9)
WHERE number = ?1

-- STORE_MERGE_FORWARD
UPDATE merged SET target = ?2 WHERE target = ?1

-- STORE_MERGE_REMEMBER
INSERT INTO merged(fingerprint, target) VALUES(?1, ?2)

-- STORE_SET_ASIDE
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

-- STORE_GIVE_BACK
UPDATE groups
SET status = a.status, status_time = a.status_time, status_release = a.status_release,
resolved_in = a.resolved_in, until_count = a.until_count,
until_machines = a.until_machines, until_time = a.until_time, note = a.note,
assignee = a.assignee
FROM (SELECT * FROM set_aside WHERE fingerprint = ?1) a
WHERE groups.fingerprint = ?1 AND groups.status_time = 0 AND groups.note = ''
AND groups.assignee = ''

-- STORE_SET_ASIDE_END
DELETE FROM set_aside WHERE fingerprint = ?1

-- STORE_MERGE_END
DELETE FROM groups WHERE number = ?1

-- STORE_MERGE_END_DAYS
DELETE FROM group_days WHERE group_number = ?1

-- STORE_MERGE_END_FACETS
DELETE FROM facets
WHERE number IN (SELECT number FROM facets WHERE group_number = ?1
    ORDER BY kind, value LIMIT ?2)
RETURNING 1

-- STORE_SPLIT_FORGET
DELETE FROM merged WHERE fingerprint = ?1 RETURNING 1

-- STORE_MOVE_FIND
SELECT number, source, target, fingerprint, time, last
FROM moves
ORDER BY number LIMIT 1

-- STORE_MOVE_NEXT
SELECT number, time
FROM reports
WHERE group_number = ?1 AND (time, number) > (CAST(?2 AS bigint), CAST(?3 AS bigint))
ORDER BY time, number LIMIT ?4

-- STORE_MOVE_LOCK
SELECT number, time, fingerprint
FROM reports
WHERE number IN (SELECT value FROM json_each(?1)) AND group_number = ?2
ORDER BY time, number

-- STORE_MOVE_LOCK_GROUPS
SELECT 1

-- STORE_MOVE_OWN
INSERT INTO groups(fingerprint,
    title, summary, signal, count, kept, first_seen, last_seen, first_release, project,
    program)
SELECT fingerprint, title, summary, signal, 0, 0, time, time, release,
coalesce((SELECT project FROM groups g WHERE g.number = reports.group_number), ''),
replace(executable, rtrim(executable, replace(executable, '/', '')), '')
FROM reports
WHERE number = ?1
ON CONFLICT(fingerprint) DO UPDATE SET count = groups.count
RETURNING number

-- STORE_MOVE_REPORTS
UPDATE reports SET group_number = ?2 WHERE number IN (SELECT value FROM json_each(?1))

-- STORE_MOVE_FIGURES
UPDATE groups
SET count = count + ?2, kept = kept + ?2,
first_seen = CASE WHEN ?3 < first_seen THEN ?3 ELSE first_seen END,
last_seen = CASE WHEN ?4 > last_seen THEN ?4 ELSE last_seen END
WHERE number = ?1

-- STORE_MOVE_BEGIN
INSERT INTO moves(source, target, fingerprint, time, last) VALUES(?1, ?2, ?3, -1, 0)

-- STORE_MOVE_ON
UPDATE moves SET time = ?2, last = ?3 WHERE number = ?1

-- STORE_MOVE_END
DELETE FROM moves WHERE number = ?1

-- STORE_TRIM_LOCK
SELECT 1

-- STORE_TRIM_OLD
SELECT number, group_number FROM reports WHERE received < ?1 ORDER BY received LIMIT ?2

-- STORE_TRIM_FIRST
SELECT coalesce(min(received), 0) FROM reports

-- STORE_TRIM_SIZE
SELECT (p.page_count - f.freelist_count) * s.page_size
FROM pragma_page_count() p, pragma_freelist_count() f, pragma_page_size() s
WHERE ?1 = ?1

-- STORE_TRIM_HELD
DELETE FROM held_back WHERE received < ?1

-- STORE_TRIM_CROWDED
SELECT number, kept FROM groups WHERE kept > ?1 ORDER BY kept DESC LIMIT 1

-- STORE_TRIM_OLDEST
SELECT number, group_number
FROM reports
WHERE group_number = ?1
ORDER BY time, number LIMIT ?2

-- STORE_TRIM_COUNT
UPDATE groups
SET kept = groups.kept - gone.n
FROM (SELECT group_number, count(*) AS n FROM reports WHERE number IN (SELECT value FROM json_each(?1))
    GROUP BY group_number) gone
WHERE groups.number = gone.group_number

-- STORE_TRIM_STALE
SELECT number, oldest
FROM (SELECT g.number AS number, g.swept AS swept,
    (SELECT min(time) FROM reports r WHERE r.group_number = g.number) AS oldest
    FROM groups g WHERE g.number IN (SELECT value FROM json_each(?1))) s
WHERE oldest - swept >= 86400000

-- STORE_TRIM_FACETS
DELETE FROM facets
WHERE number IN (SELECT number FROM facets WHERE group_number = ?1 AND last_seen < ?2
    LIMIT ?3)
RETURNING 1

-- STORE_TRIM_SWEPT
UPDATE groups SET swept = ?2 WHERE number = ?1

-- STORE_TRIM_PROJECTS
SELECT DISTINCT project FROM groups

-- STORE_TRIM_OLD_OF
SELECT r.number, r.group_number
FROM groups g
CROSS JOIN reports r
WHERE g.project = ?3 AND r.group_number = g.number AND r.time < ?1 AND r.received < ?1
LIMIT ?2

-- STORE_TRIM_HELD_OF
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

-- STORE_TRIM_CROWDED_OF
SELECT number, kept
FROM groups
WHERE kept > ?1 AND project = ?2
ORDER BY kept DESC LIMIT 1

-- STORE_KEY_SET
INSERT INTO keys(fingerprint, target, time)
VALUES(?1, ?2, ?3)
ON CONFLICT(fingerprint) DO UPDATE SET target = excluded.target, time = excluded.time
WHERE excluded.time >= keys.time
AND (keys.target <> excluded.target OR excluded.time - keys.time >= ?4)

-- STORE_KEY_FIND
SELECT coalesce((SELECT target FROM merged WHERE fingerprint = keys.target), target)
AS target
FROM keys
WHERE fingerprint = ?1

-- STORE_KEY_FORWARD
UPDATE keys SET target = ?2 WHERE target = ?1

-- STORE_RENAME_FIND
SELECT r.group_number, g.fingerprint AS group_id, r.fingerprint, r.fingerprint1,
g.project
FROM reports r
JOIN groups g ON g.number = r.group_number
WHERE r.number = ?1

-- STORE_RENAME_PENDING
SELECT count(*)
FROM jobs j
JOIN reports r ON r.number = j.report
WHERE r.group_number = ?1 AND r.fingerprint = ?2 AND j.until < 9000000000000000

-- STORE_RENAME_MERGE
INSERT INTO merged(fingerprint, target)
VALUES(?1, ?2)
ON CONFLICT(fingerprint) DO NOTHING

-- STORE_RENAME_MOVE
INSERT INTO moves(source, target, fingerprint, time, last)
SELECT s.number, t.number, '', -1, 0
FROM groups s, groups t
WHERE s.fingerprint = ?1 AND t.fingerprint = ?2
AND NOT EXISTS(SELECT 1 FROM moves m WHERE m.source = s.number)

-- STORE_RENAME_REPORT
UPDATE reports
SET group_number = ?2,
fingerprint1 = CASE WHEN fingerprint1 <> '' THEN fingerprint1 WHEN ?4 <> '' THEN ?4
ELSE fingerprint END,
fingerprint = ?3, title = ?5, summary = ?6
WHERE number = ?1

-- STORE_RENAME_DECISION
SELECT number, fingerprint, title, status, status_release, status_time, note, assignee
FROM groups
WHERE number = ?1

-- STORE_RENAME_DECIDE
UPDATE groups
SET status = ?2, status_release = ?3, status_time = ?4, note = ?5, assignee = ?6
WHERE number = ?1

-- STORE_RENAME_LEFT
SELECT kept FROM groups WHERE number = ?1

-- STORE_RENAME_SEEN
UPDATE groups
SET first_seen = CASE WHEN count > kept THEN first_seen
ELSE coalesce((SELECT min(time) FROM reports
        WHERE group_number = groups.number), first_seen) END,
last_seen = coalesce((SELECT max(time) FROM reports
        WHERE group_number = groups.number), last_seen)
WHERE number IN (SELECT value FROM json_each(?1))

-- STORE_RENAME_RELEASE
UPDATE groups
SET first_release = coalesce((SELECT release FROM reports r
        WHERE r.group_number = ?1 AND release <> ''
        AND replace(r.executable, rtrim(r.executable, replace(r.executable, '/', '')), '') = groups.program
        ORDER BY time, number LIMIT 1),
    first_release)
WHERE number = ?1

-- STORE_HISTORY_ADD
INSERT INTO history(group_id, time, kind, other, detail, count)
VALUES(?1, ?2, ?3, ?4, ?5, ?6)
ON CONFLICT(group_id, kind, other,
    detail) DO UPDATE SET count = history.count + excluded.count, time = excluded.time

-- STORE_HISTORY_FORWARD
UPDATE history
SET group_id = ?2
WHERE group_id = ?1
AND NOT EXISTS(SELECT 1 FROM history h WHERE h.group_id = ?2
    AND h.kind = history.kind AND h.other = history.other AND h.detail = history.detail)

-- STORE_UNKEYED
SELECT count(*) FROM (SELECT 1 FROM reports WHERE keyed = 0 LIMIT 1) w

-- STORE_UNKEYED_TAKE
UPDATE reports
SET keyed = 1
WHERE number IN (SELECT number FROM reports WHERE keyed = 0 ORDER BY number LIMIT ?1)
RETURNING number

-- STORE_UNKEYED_QUEUE
INSERT INTO jobs(report, rank, queued, until, tries, turn)
SELECT number, 0, CAST(?2 AS bigint), 0, 0, 0
FROM reports
WHERE number IN (SELECT value FROM json_each(?1))
ON CONFLICT(report) DO UPDATE SET turn = jobs.turn + 1, until = 0, tries = 0

-- STORE_UNKEYED_PROGRAM
UPDATE groups
SET program = coalesce((SELECT replace(r.executable, rtrim(r.executable, replace(r.executable, '/', '')), '') FROM reports r
        WHERE r.group_number = groups.number ORDER BY r.time, r.number LIMIT 1), '')
WHERE program = '' AND number IN (SELECT group_number FROM reports WHERE number IN (SELECT value FROM json_each(?1)))

-- STORE_UNKEYED_COUNT
INSERT INTO program_days(project, program, environment, release, day, part, count,
    first_seen, last_seen)
SELECT g.project, replace(r.executable, rtrim(r.executable, replace(r.executable, '/', '')), ''), r.environment, r.release, r.time / 86400000, 0,
count(*), min(r.time), max(r.time)
FROM reports r
JOIN groups g ON g.number = r.group_number
WHERE r.number IN (SELECT value FROM json_each(?1))
GROUP BY 1, 2, 3, 4, 5
ON CONFLICT(project, program, environment, release, day, part) DO UPDATE SET
count = program_days.count + excluded.count,
first_seen = CASE WHEN excluded.first_seen < program_days.first_seen
THEN excluded.first_seen ELSE program_days.first_seen END,
last_seen = CASE WHEN excluded.last_seen > program_days.last_seen
THEN excluded.last_seen ELSE program_days.last_seen END

-- STORE_JOB_ADD
INSERT INTO jobs(report, rank, queued, until, tries, turn)
VALUES(?1, 0, ?2, 0, 0, 0)
ON CONFLICT(report) DO UPDATE SET turn = jobs.turn + 1, until = 0, tries = 0

-- STORE_JOB_ADD_KNOWN
INSERT INTO jobs(report, rank, queued, until, tries, turn)
SELECT CAST(?1 AS bigint), 0, CAST(?2 AS bigint), 0, 0, 0
WHERE EXISTS(SELECT 1 FROM symbols WHERE build IN (?3, ?4))
ON CONFLICT(report) DO UPDATE SET turn = jobs.turn + 1, until = 0, tries = 0

-- STORE_JOB_ADD_BUILD
INSERT INTO jobs(report, rank, queued, until, tries, turn)
SELECT report, 0, CAST(?2 AS bigint), 0, 0, 0
FROM nameless
WHERE build = ?1 AND report > ?3
AND (CAST(?5 AS text) = '' OR EXISTS(SELECT 1 FROM reports r
        JOIN groups g ON g.number = r.group_number
        WHERE r.number = nameless.report AND g.project = ?5))
ORDER BY report LIMIT ?4
ON CONFLICT(report) DO UPDATE SET turn = jobs.turn + 1, until = 0, tries = 0
RETURNING report

-- STORE_JOB_CLAIM
UPDATE jobs
SET until = ?1, tries = tries + 1
WHERE report IN (SELECT report FROM jobs WHERE until <= ?2
    ORDER BY rank, report LIMIT ?3)
RETURNING report, turn, tries

-- STORE_JOB_DONE
DELETE FROM jobs WHERE report = ?1 AND turn = ?2

-- STORE_JOB_LATER
UPDATE jobs SET until = ?2, rank = 2, tries = tries - 1 WHERE report = ?1

-- STORE_JOB_GIVE_UP
UPDATE jobs SET until = 9000000000000000 WHERE report = ?1 AND turn = ?2

-- STORE_JOB_ADD_SEEN
INSERT INTO jobs(report, rank, queued, until, tries, turn)
SELECT number, 0, CAST(?2 AS bigint), 0, 0, 0
FROM reports
WHERE id = ?1
ON CONFLICT(report) DO NOTHING

-- STORE_PLACE_ADD
INSERT INTO place_names(build, place, frames)
SELECT CAST(?1 AS text), CAST(?2 AS text), CAST(?3 AS text)
WHERE NOT EXISTS(SELECT 1 FROM symbols WHERE build = ?1 AND time > ?4)
ON CONFLICT(build, place) DO UPDATE SET frames = excluded.frames

-- STORE_PLACES_FORGET
DELETE FROM place_names WHERE build = ?1

-- STORE_PLACES_TRIM
DELETE FROM place_names
WHERE build IN (SELECT DISTINCT p.prefix || n.build FROM nameless n,
    (SELECT '' AS prefix UNION SELECT project || '/' FROM symbols
        WHERE project <> '') p
    WHERE n.report IN (SELECT value FROM json_each(?1)) AND NOT EXISTS(SELECT 1 FROM nameless o
        WHERE o.build = n.build AND NOT o.report IN (SELECT value FROM json_each(?1))))

-- STORE_NAMELESS_ADD
INSERT INTO nameless(build, report) VALUES(?1, ?2) ON CONFLICT(build, report) DO NOTHING

-- STORE_SYMBOLS_ADD
INSERT INTO symbols(build, time, project, sender)
SELECT CAST(?1 AS text),
CASE WHEN CAST(?2 AS bigint) > last THEN CAST(?2 AS bigint) ELSE last + 1 END,
CAST(?3 AS text), CAST(?4 AS text)
FROM (SELECT coalesce(max(time), 0) AS last FROM symbols) s
WHERE 1 = 1
ON CONFLICT(build) DO UPDATE SET time = excluded.time

-- STORE_REMOVE_JOBS
DELETE FROM jobs WHERE report IN (SELECT value FROM json_each(?1))

-- STORE_REMOVE_NAMELESS
DELETE FROM nameless WHERE report IN (SELECT value FROM json_each(?1))

-- STORE_LOGIN_ADD
INSERT INTO logins(id, token, name, address, created, seen)
VALUES(?1, ?2, ?3, ?4, ?5, ?5)

-- STORE_LOGIN_OVER
DELETE FROM logins WHERE created <= ?1

-- STORE_LOGIN_END
DELETE FROM logins WHERE id = ?1

-- STORE_LOGIN_SEEN
UPDATE logins SET seen = ?2 WHERE id = ?1

-- STORE_AUDIT_FORGET
DELETE FROM audit WHERE number IN (
    SELECT number FROM (SELECT number, time FROM audit ORDER BY number LIMIT 100) oldest
    WHERE time < ?1)

-- STORE_AUDIT_ADD
INSERT INTO audit(time, who, project, what, detail) VALUES(?1, ?2, ?3, ?4, ?5)

-- STORE_SEARCH_SAVE
INSERT INTO saved_searches(project, name, query, sort, who, time)
SELECT CAST(?1 AS text), CAST(?2 AS text), CAST(?3 AS text), CAST(?4 AS text),
CAST(?5 AS text), CAST(?6 AS bigint)
WHERE (SELECT count(*) FROM saved_searches WHERE project = ?1 AND name <> ?2) < ?7
ON CONFLICT(project, name) DO UPDATE SET query = excluded.query, sort = excluded.sort,
who = excluded.who, time = excluded.time
RETURNING time

-- STORE_SEARCH_FORGET
DELETE FROM saved_searches WHERE project = ?1 AND name = ?2 RETURNING time

-- STORE_TOKENS_OVER
DELETE FROM tokens WHERE expires <> 0 AND expires <= ?1

-- STORE_TOKEN_ADD
INSERT INTO tokens(sum, name, scopes, project, expires, created, who)
SELECT CAST(?1 AS text), CAST(?2 AS text), CAST(?3 AS bigint), CAST(?4 AS text),
CAST(?5 AS bigint), CAST(?6 AS bigint), CAST(?7 AS text)
WHERE (SELECT count(*) FROM tokens) < ?8
ON CONFLICT DO NOTHING
RETURNING created

-- STORE_TOKEN_REMOVE
DELETE FROM tokens WHERE sum = ?1 RETURNING created

-- STORE_TOKENS
SELECT sum, name, scopes, project, expires, created, who FROM tokens ORDER BY name

-- STORE_TICKET_KNOWN
SELECT 1 FROM tickets
WHERE project = ?1 AND url = ?2 AND (changed > ?4 OR (changed = ?4 AND sum = ?3))

-- STORE_TICKET_NOTE
INSERT INTO tickets(project, url, group_id, title, state, sum, changed)
VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)
ON CONFLICT(project, url) DO UPDATE SET group_id = excluded.group_id, title = excluded.title,
state = excluded.state, sum = excluded.sum, changed = excluded.changed

-- STORE_TICKETS
SELECT t.url, t.group_id, t.title, t.state, t.changed
FROM tickets t
WHERE (t.group_id = ?1 OR t.group_id IN (SELECT fingerprint FROM merged WHERE target = ?1))
AND NOT EXISTS(SELECT 1 FROM tickets o WHERE o.group_id = t.group_id AND o.url = t.url
    AND (o.changed > t.changed OR (o.changed = t.changed AND o.project > t.project)))
ORDER BY t.changed DESC, t.url LIMIT ?2

-- STORE_SALT_ADD
INSERT INTO user_salt(one, salt) VALUES(1, ?1) ON CONFLICT(one) DO NOTHING

-- STORE_SALT
SELECT salt FROM user_salt

-- STORE_USER_FORGET
DELETE FROM group_members
WHERE kind = 9 AND member = text_hash(?1) AND group_number IN (SELECT number FROM groups WHERE ?2 = '' OR project = ?2)

-- STORE_USER_FORGET_FACETS
DELETE FROM facets
WHERE kind = 9 AND kind >= 3 AND value = ?1
AND group_number IN (SELECT number FROM groups WHERE ?2 = '' OR project = ?2)

-- STORE_SEARCHES
SELECT name, query, sort, who, time FROM saved_searches WHERE project = ?1 ORDER BY name

-- STORE_ALERT_ADD
INSERT INTO alerts(id, once, kind, group_id, report, title, detail, body, time)
VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
ON CONFLICT(once) DO NOTHING

-- STORE_ALERT_ADD_UNLESS
INSERT INTO alerts(id, once, kind, group_id, report, title, detail, body, time)
SELECT CAST(?1 AS text), CAST(?2 AS text), CAST(?3 AS text), CAST(?4 AS text),
CAST(?5 AS bigint), CAST(?6 AS text), CAST(?7 AS text), CAST(?8 AS text),
CAST(?9 AS bigint)
WHERE NOT EXISTS(SELECT 1 FROM alerts
    WHERE group_id = ?4 AND kind = ?3 AND detail = ?7 AND time > ?10)
ON CONFLICT(once) DO NOTHING

-- STORE_ALERT_CURRENT
SELECT g.fingerprint, g.title, g.first_seen, r.time, g.project, r.environment,
coalesce(g.program, '') AS program, coalesce(g.machines, 0) AS machines,
CASE WHEN coalesce(g.stack, '') <> '' THEN 1 ELSE 0 END AS in_app,
coalesce((SELECT f.value FROM facets f
        WHERE f.group_number = g.number AND f.kind = 10
        ORDER BY f.count DESC, f.value LIMIT 1), '') AS crash_kind
FROM reports r
JOIN groups g ON g.number = r.group_number
WHERE r.number = ?1

-- STORE_ALERT_READY
SELECT alerts.number, alerts.kind, group_id, report, detail, time,
coalesce(g.project, '') AS project, coalesce((SELECT f.value FROM facets f
        WHERE f.group_number = g.number AND f.kind = 6
        ORDER BY f.count DESC, f.value LIMIT 1), '') AS environment,
coalesce(g.program, '') AS program, coalesce(g.machines, 0) AS machines,
CASE WHEN coalesce(g.stack, '') <> '' THEN 1 ELSE 0 END AS in_app,
coalesce((SELECT f.value FROM facets f
        WHERE f.group_number = g.number AND f.kind = 10
        ORDER BY f.count DESC, f.value LIMIT 1), '') AS crash_kind
FROM alerts
LEFT JOIN groups g ON g.fingerprint = alerts.group_id
WHERE spread = 0
AND (time < ?1 OR NOT EXISTS(SELECT 1 FROM jobs
        WHERE jobs.report = alerts.report AND jobs.until < 9000000000000000))
ORDER BY alerts.number LIMIT ?2

-- STORE_ALERT_SPREAD
UPDATE alerts
SET spread = ?2, group_id = ?3, title = CASE WHEN ?4 = '' THEN title ELSE ?4 END
WHERE number = ?1

-- STORE_ALERT_SEND_ADD
INSERT INTO alert_sends(receiver, alert, due, tries, error)
VALUES(?1, ?2, 0, 0, '')
ON CONFLICT(receiver, alert) DO NOTHING

-- STORE_ALERT_CLAIM
UPDATE alert_sends SET due = ?3, tries = tries + 1 WHERE receiver = ?2 AND alert IN (SELECT value FROM json_each(?1))

-- STORE_ALERT_DONE
DELETE FROM alert_sends WHERE receiver = ?2 AND alert IN (SELECT value FROM json_each(?1))

-- STORE_ALERT_LATER
UPDATE alert_sends SET due = ?3, error = ?4 WHERE receiver = ?2 AND alert IN (SELECT value FROM json_each(?1))

-- STORE_ALERT_REST
UPDATE alert_sends SET due = ?2 WHERE receiver = ?1 AND due < ?2

-- STORE_ALERT_FORGET
DELETE FROM alerts
WHERE time < ?1
AND NOT EXISTS(SELECT 1 FROM alert_sends s WHERE s.alert = alerts.number)

-- STORE_ALERT_FORGET_SENDS
DELETE FROM alert_sends WHERE alert IN (SELECT number FROM alerts WHERE time < ?1)

-- STORE_COMMITS_FORGET
DELETE FROM commits
WHERE (project = ?1 AND program = ?2 AND release = ?3) OR added < ?4

-- STORE_COMMIT_FILES_FORGET
DELETE FROM commit_files
WHERE (project = ?1 AND program = ?2 AND release = ?3) OR added < ?4

-- STORE_COMMIT_ADD
INSERT INTO commits(project, program, release, hash, author, subject, time, added)
VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
ON CONFLICT(project, program, release, hash) DO NOTHING

-- STORE_COMMIT_FILE_ADD
INSERT INTO commit_files(project, program, release, name, path, hash, added)
VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)
ON CONFLICT(project, program, release, name, path, hash) DO NOTHING

-- STORE_COMMITS_OF_FILE
SELECT c.hash, c.author, c.subject, c.time, f.path
FROM commit_files f
JOIN commits c ON c.project = f.project AND c.program = f.program
AND c.release = f.release AND c.hash = f.hash
WHERE f.project = ?1 AND f.program = ?2 AND f.release = ?3 AND f.name = ?4
ORDER BY c.time DESC, c.hash LIMIT ?5

-- STORE_OWNERS_SET
INSERT INTO code_owners(project, program, list) VALUES(?1, ?2, ?3)
ON CONFLICT(project, program) DO UPDATE SET list = excluded.list

-- STORE_OWNERS
SELECT list FROM code_owners WHERE project = ?1 AND program = ?2

-- STORE_ORDER_FORGET
DELETE FROM release_places WHERE project = ?1 AND program = ?2

-- STORE_ORDER_ADD
INSERT INTO release_places(project, program, release, place, time)
VALUES(?1, ?2, ?3, ?4, ?5)
ON CONFLICT(project, program, release) DO UPDATE SET place = excluded.place

-- STORE_SESSION_ADD
INSERT INTO sessions(project, session, release, hostname, day)
VALUES(?1, ?2, ?3, ?4, ?5)
ON CONFLICT(project, session) DO NOTHING

-- STORE_SESSION_FORGET
DELETE FROM sessions
WHERE rowid IN ( SELECT rowid FROM sessions WHERE day < ?1 ORDER BY day LIMIT ?2
)
RETURNING day

-- STORE_START_BATCH
INSERT INTO start_batches(project, id, day)
VALUES(?1, ?2, ?3)
ON CONFLICT(project, id) DO NOTHING
RETURNING day

-- STORE_START_DAY
INSERT INTO start_days(project, release, hostname, day, begun, ended)
VALUES(?1, ?2, ?3, ?4, ?5, ?6)
ON CONFLICT(project,
    release, hostname, day) DO UPDATE SET begun = start_days.begun + excluded.begun,
ended = start_days.ended + excluded.ended

-- STORE_START_FORGET
DELETE FROM start_batches
WHERE rowid IN ( SELECT rowid FROM start_batches WHERE day < ?1 ORDER BY day LIMIT ?2
)
RETURNING day

-- STORE_START_DAYS_FORGET
DELETE FROM start_days
WHERE rowid IN ( SELECT rowid FROM start_days WHERE day < ?1 ORDER BY day LIMIT ?2
)
RETURNING day

-- STORE_START_SUMS_FORGET
DELETE FROM start_sums
WHERE rowid IN ( SELECT rowid FROM start_sums WHERE day < ?1 ORDER BY day LIMIT ?2
)
RETURNING day

-- STORE_LIST_STARTS
SELECT h.release, h.hostname, 0 AS day, h.begun, h.ended, (SELECT count(*) FROM sessions s
    WHERE s.release = h.release AND s.hostname = h.hostname AND s.day >= ?2
    AND (?1 = '' OR s.project = ?1)) AS crashed
FROM start_hosts h
WHERE h.project = ?1
ORDER BY h.begun DESC, h.release, h.hostname LIMIT ?3

-- STORE_LIST_STARTS_OF
SELECT h.release, h.hostname, 0 AS day, h.begun, h.ended, (SELECT count(*) FROM sessions s
    WHERE s.release = h.release AND s.hostname = h.hostname AND s.day >= ?2
    AND (?1 = '' OR s.project = ?1)) AS crashed
FROM start_hosts h
WHERE h.project = ?1 AND h.release = ?4
ORDER BY h.begun DESC, h.hostname LIMIT ?3

-- STORE_LIST_START_DAYS
SELECT '' AS release, '' AS hostname, day, CAST(sum(begun) AS bigint) AS begun,
CAST(sum(ended) AS bigint) AS ended, CAST(sum(crashed) AS bigint) AS crashed
FROM start_sums
WHERE project = ?1 AND day > ?2 AND (?4 = '' OR release = ?4)
GROUP BY day
HAVING sum(begun) > 0
ORDER BY day DESC LIMIT ?3

-- STORE_LIST_RELEASE_STARTS
SELECT release, '' AS hostname, 0 AS day, CAST(sum(begun) AS bigint) AS begun,
CAST(sum(ended) AS bigint) AS ended, CAST(sum(crashed) AS bigint) AS crashed
FROM start_sums
WHERE project = ?1 AND day >= ?2
GROUP BY release
HAVING sum(begun) + sum(ended) > 0
ORDER BY 3 DESC, 1 LIMIT ?3

-- STORE_COUNT_VALUES
SELECT kind, value, '' AS then_value, count, max(count) OVER (PARTITION BY kind) AS most
FROM (SELECT kind, value, count(*) AS count,
    row_number() OVER (PARTITION BY kind ORDER BY count(*) DESC, value) AS place
    FROM (SELECT number, kind, CASE WHEN kind = 3 THEN replace(value, rtrim(value, replace(value, '/', '')), '')
        ELSE value END AS value
        FROM (SELECT number, group_number, kind, value, time
            FROM (SELECT r.number AS number, r.group_number AS group_number,
                CAST(k.column1 AS bigint) AS kind,
                CASE k.column1 WHEN 1 THEN r.title WHEN 2 THEN r.summary
                WHEN 3 THEN r.executable WHEN 4 THEN r.hostname
                WHEN 5 THEN r.release WHEN 6 THEN r.environment
                WHEN 7 THEN CAST(r.signal AS text) ELSE r.signal_name END AS value,
                r.time AS time
                FROM reports r CROSS JOIN (VALUES (1), (2),
                    (3), (4), (5),
                    (6), (7), (8)) k
                WHERE r.number IN (SELECT value FROM json_each(?1))
                UNION ALL
                SELECT r.number, r.group_number, CAST(9 AS bigint),
                t.key || char(10) || t.value, r.time
                FROM reports r JOIN tags t ON t.report = r.number
                WHERE r.number IN (SELECT value FROM json_each(?1))
                UNION ALL
                SELECT r.number, r.group_number, CAST(substr(j.value, 1, 2) AS bigint),
                substr(j.value, 4), r.time
                FROM reports r JOIN marks m ON m.report = r.number CROSS JOIN json_each(m.list) j
                WHERE r.number IN (SELECT value FROM json_each(?1)) AND (?2 = 0 OR ?2 BETWEEN 10 AND 28)) carried
            WHERE value <> '') f
        UNION ALL
        SELECT r.number, CAST(30 AS bigint), CAST(r.time / 86400000 AS text)
        FROM reports r WHERE r.number IN (SELECT value FROM json_each(?1))) v
    WHERE CASE WHEN ?2 <> 0 THEN kind = ?2
    ELSE kind NOT IN (1, 2, 30, 7)
    AND (kind < 11 OR kind > 14) END
    GROUP BY kind, value) counted
WHERE place <= ?3
ORDER BY kind, CASE WHEN kind = 30 THEN value ELSE '' END DESC, place

-- STORE_CROSS_VALUES
SELECT a.kind, a.value, b.value AS then_value, count(*) AS count, 0 AS most
FROM (SELECT number, kind, CASE WHEN kind = 3 THEN replace(value, rtrim(value, replace(value, '/', '')), '')
    ELSE value END AS value
    FROM (SELECT number, group_number, kind, value, time
        FROM (SELECT r.number AS number, r.group_number AS group_number,
            CAST(k.column1 AS bigint) AS kind,
            CASE k.column1 WHEN 1 THEN r.title WHEN 2 THEN r.summary
            WHEN 3 THEN r.executable WHEN 4 THEN r.hostname
            WHEN 5 THEN r.release WHEN 6 THEN r.environment
            WHEN 7 THEN CAST(r.signal AS text) ELSE r.signal_name END AS value,
            r.time AS time
            FROM reports r CROSS JOIN (VALUES (1), (2),
                (3), (4), (5),
                (6), (7), (8)) k
            WHERE r.number IN (SELECT value FROM json_each(?1))
            UNION ALL
            SELECT r.number, r.group_number, CAST(9 AS bigint),
            t.key || char(10) || t.value, r.time
            FROM reports r JOIN tags t ON t.report = r.number
            WHERE r.number IN (SELECT value FROM json_each(?1))
            UNION ALL
            SELECT r.number, r.group_number, CAST(substr(j.value, 1, 2) AS bigint),
            substr(j.value, 4), r.time
            FROM reports r JOIN marks m ON m.report = r.number CROSS JOIN json_each(m.list) j
            WHERE r.number IN (SELECT value FROM json_each(?1)) AND (?2 = 0 OR ?2 BETWEEN 10 AND 28)) carried
        WHERE value <> '') f
    UNION ALL
    SELECT r.number, CAST(30 AS bigint), CAST(r.time / 86400000 AS text)
    FROM reports r WHERE r.number IN (SELECT value FROM json_each(?1))) a
JOIN (SELECT number, kind, CASE WHEN kind = 3 THEN replace(value, rtrim(value, replace(value, '/', '')), '')
    ELSE value END AS value
    FROM (SELECT number, group_number, kind, value, time
        FROM (SELECT r.number AS number, r.group_number AS group_number,
            CAST(k.column1 AS bigint) AS kind,
            CASE k.column1 WHEN 1 THEN r.title WHEN 2 THEN r.summary
            WHEN 3 THEN r.executable WHEN 4 THEN r.hostname
            WHEN 5 THEN r.release WHEN 6 THEN r.environment
            WHEN 7 THEN CAST(r.signal AS text) ELSE r.signal_name END AS value,
            r.time AS time
            FROM reports r CROSS JOIN (VALUES (1), (2),
                (3), (4), (5),
                (6), (7), (8)) k
            WHERE r.number IN (SELECT value FROM json_each(?1))
            UNION ALL
            SELECT r.number, r.group_number, CAST(9 AS bigint),
            t.key || char(10) || t.value, r.time
            FROM reports r JOIN tags t ON t.report = r.number
            WHERE r.number IN (SELECT value FROM json_each(?1))
            UNION ALL
            SELECT r.number, r.group_number, CAST(substr(j.value, 1, 2) AS bigint),
            substr(j.value, 4), r.time
            FROM reports r JOIN marks m ON m.report = r.number CROSS JOIN json_each(m.list) j
            WHERE r.number IN (SELECT value FROM json_each(?1)) AND (?4 = 0 OR ?4 BETWEEN 10 AND 28)) carried
        WHERE value <> '') f
    UNION ALL
    SELECT r.number, CAST(30 AS bigint), CAST(r.time / 86400000 AS text)
    FROM reports r WHERE r.number IN (SELECT value FROM json_each(?1))) b ON b.number = a.number
WHERE a.kind = ?2 AND b.kind = ?4
GROUP BY a.kind, a.value, b.value
ORDER BY 4 DESC, a.value, b.value LIMIT ?3

-- STORE_LIST_VALUES
SELECT value, count, 0 AS elsewhere, last_seen
FROM (SELECT group_number, kind, value, count, last_seen
    FROM facets
    WHERE group_number = (SELECT number FROM groups WHERE fingerprint
        = coalesce((SELECT target FROM merged WHERE fingerprint = ?1), ?1)) AND kind = ?2 LIMIT 10000) f
ORDER BY count DESC, value LIMIT ?3

-- STORE_LIST_VALUES_OF
SELECT f.value, f.count,
(SELECT CAST(coalesce(sum((SELECT o.count FROM facets o
                    WHERE o.group_number = g.number AND o.kind = f.kind
                    AND o.value = f.value)), 0) AS bigint)
    FROM (SELECT number, count
        FROM groups
        WHERE project = (SELECT project FROM groups WHERE number = (SELECT number FROM groups WHERE fingerprint
                = coalesce((SELECT target FROM merged WHERE fingerprint = ?1), ?1)))
        AND program = (SELECT program FROM groups WHERE number = (SELECT number FROM groups WHERE fingerprint
                = coalesce((SELECT target FROM merged WHERE fingerprint = ?1), ?1)))
        ORDER BY last_seen DESC, number DESC LIMIT 500) g WHERE g.number <> f.group_number) AS elsewhere,
f.last_seen
FROM (SELECT * FROM (SELECT group_number, kind, value, count, last_seen
        FROM facets
        WHERE group_number = (SELECT number FROM groups WHERE fingerprint
            = coalesce((SELECT target FROM merged WHERE fingerprint = ?1), ?1)) AND kind = ?2 LIMIT 10000) v
    WHERE count >= ?4 ORDER BY count DESC, value LIMIT ?3) f
ORDER BY f.count DESC, f.value

-- STORE_COUNT_OTHERS
SELECT CAST(coalesce(sum(g.count), 0) AS bigint)
FROM (SELECT number, count
    FROM groups
    WHERE project = (SELECT project FROM groups WHERE number = (SELECT number FROM groups WHERE fingerprint
            = coalesce((SELECT target FROM merged WHERE fingerprint = ?1), ?1)))
    AND program = (SELECT program FROM groups WHERE number = (SELECT number FROM groups WHERE fingerprint
            = coalesce((SELECT target FROM merged WHERE fingerprint = ?1), ?1)))
    ORDER BY last_seen DESC, number DESC LIMIT 500) g
WHERE g.number <> (SELECT number FROM groups WHERE fingerprint
    = coalesce((SELECT target FROM merged WHERE fingerprint = ?1), ?1))

-- STORE_LIST_RELEASES
SELECT r.project, r.program, r.release, r.count, r.recent, r.first_seen, r.last_seen,
coalesce((SELECT o.place FROM release_places o WHERE o.project = r.project
        AND o.program = r.program AND o.release = r.release), -1) AS place,
CASE WHEN EXISTS(SELECT 1 FROM groups g WHERE g.program = r.program
    AND g.first_release = r.release AND g.project = r.project) THEN 1 ELSE 0 END
AS began
FROM (SELECT project, program, release, CAST(sum(count) AS bigint) AS count,
    CAST(sum(CASE WHEN day > ?4 THEN count ELSE 0 END) AS bigint) AS recent,
    min(first_seen) AS first_seen, max(last_seen) AS last_seen
    FROM program_days
    WHERE release <> '' AND (?1 = '' OR project = ?1) AND (?2 = '' OR program = ?2)
    AND (?3 = '' OR environment = ?3)
    GROUP BY project, program, release
    ORDER BY 7 DESC, 3 DESC LIMIT ?5) r

-- STORE_RELEASE_DAYS
SELECT project, program, release, day, CAST(sum(count) AS bigint) AS count
FROM program_days
WHERE day >= ?4 AND day <= ?5 AND (?1 = '' OR project = ?1) AND (?2 = '' OR program = ?2)
AND (?3 = '' OR environment = ?3)
GROUP BY project, program, release, day

-- STORE_RELEASES_COMPARED
SELECT w.fingerprint, w.title, w.before_count, w.after_count
FROM (SELECT g.fingerprint, g.title,
    CAST(sum(CASE WHEN f.value = ?3 THEN f.count ELSE 0 END) AS bigint) AS before_count,
    CAST(sum(CASE WHEN f.value = ?4 THEN f.count ELSE 0 END) AS bigint) AS after_count
    FROM groups g
    JOIN facets f ON f.group_number = g.number AND f.kind = 5
    AND f.value IN (?3, ?4)
    WHERE g.program = ?2 AND (?1 = '' OR g.project = ?1)
    GROUP BY g.number, g.fingerprint, g.title) w
ORDER BY abs(w.after_count - w.before_count) DESC, w.fingerprint LIMIT ?5

-- STORE_RELEASE_GROUPS
SELECT project, program, release, CAST(sum(began) AS bigint) AS began,
CAST(sum(back) AS bigint) AS back
FROM (SELECT project, program, first_release AS release, 1 AS began, 0 AS back
    FROM groups
    WHERE first_release <> '' AND (?1 = '' OR project = ?1) AND (?2 = '' OR program = ?2)
    UNION ALL
    SELECT project, program, status_release, 0, 1
    FROM groups
    WHERE status = 'regressed' AND (?1 = '' OR project = ?1)
    AND (?2 = '' OR program = ?2)) g
GROUP BY project, program, release

-- STORE_LIST_MACHINES
SELECT r.hostname AS host, count(*) AS reports,
count(DISTINCT r.group_number) AS group_count, max(r.time) AS last_seen,
CAST(sum(count(*)) OVER () AS bigint) AS counted
FROM (SELECT o.hostname, o.group_number, o.time
    FROM reports o
    WHERE o.time >= ?2 AND (?1 = '' OR EXISTS(SELECT 1 FROM groups g
            WHERE g.number = o.group_number AND g.project = ?1))
    ORDER BY o.time DESC LIMIT ?4) r
GROUP BY r.hostname
ORDER BY 2 DESC, 1 LIMIT ?3

-- STORE_LIST_PROGRAMS
SELECT program, CAST(sum(count) AS bigint) AS count
FROM program_days
WHERE ?1 = '' OR project = ?1
GROUP BY program
ORDER BY 2 DESC, 1 LIMIT ?2

-- STORE_PROGRAM_WEEKS
SELECT project, program, CAST(coalesce(sum(recent), 0) AS bigint) AS recent,
CAST(coalesce(sum(before), 0) AS bigint) AS before
FROM (SELECT g.project AS project, g.program AS program,
    (SELECT CAST(coalesce(sum(d.count), 0) AS bigint) FROM group_days d
        WHERE d.group_number = g.number AND d.day > ?2 AND d.day <= ?3) AS recent,
    (SELECT CAST(coalesce(sum(d.count), 0) AS bigint) FROM group_days d
        WHERE d.group_number = g.number AND d.day > ?4 AND d.day <= ?2) AS before
    FROM groups g
    WHERE g.last_seen >= ?5 AND g.first_seen < ?1) w
GROUP BY project, program

-- STORE_LIST_LONE_HOSTS
SELECT f.value, count(*) AS count, CAST(sum(f.count) AS bigint) AS elsewhere,
max(f.last_seen) AS last_seen
FROM groups g
CROSS JOIN facets f
WHERE f.group_number = g.number AND f.kind = 4 AND g.machines = 1
AND g.status IN ('open', 'regressed') AND (?3 = '' OR g.project = ?3)
AND EXISTS(SELECT 1 FROM groups
    WHERE machines > 1 AND (?3 = '' OR project = ?3))
GROUP BY f.value
HAVING count(*) >= ?1
ORDER BY 2 DESC, 1 LIMIT ?2

-- STORE_LAST_REPORT
SELECT coalesce(max(number), 0)
FROM reports

-- STORE_READ_FACETS
SELECT kind, value, count
FROM (SELECT kind, value, count FROM facets
    WHERE group_number = ?1 AND kind = 5
    ORDER BY last_seen DESC, value DESC LIMIT ?2) releases
UNION ALL
SELECT kind, value, count
FROM (SELECT kind, value, count FROM facets
    WHERE group_number = ?1 AND kind = 3
    ORDER BY count DESC, value LIMIT ?3) programs

-- STORE_READ_HELD
SELECT CAST(coalesce(sum(count), 0) AS bigint)
FROM held_back
WHERE fingerprint = ?1
OR fingerprint IN (SELECT fingerprint FROM merged WHERE target = ?1)
OR fingerprint IN (SELECT fingerprint FROM keys
    WHERE target = ?1
    OR target IN (SELECT fingerprint FROM merged WHERE target = ?1))

-- STORE_READ_DAYS
SELECT day, count FROM group_days WHERE group_number = ?1 AND day > ?2

-- STORE_OBJECTS_CHOOSE
INSERT INTO object_place(one, id, owner, until)
VALUES(1, ?1, '', 0)
ON CONFLICT(one) DO NOTHING

-- STORE_OBJECTS_FREE
UPDATE object_place SET until = 0

-- STORE_OBJECTS_ID
SELECT id FROM object_place

-- STORE_OBJECTS_LEASE
UPDATE object_place
SET owner = ?1, until = ?2
WHERE owner = ?1 OR until < ?3
RETURNING until

-- STORE_SEGMENT_FORGET
DELETE FROM segments WHERE number = ?1

-- STORE_SEGMENTS_EMPTY
SELECT number, name
FROM segments s
WHERE made < ?1
AND NOT EXISTS(SELECT 1 FROM bodies b WHERE b.segment = s.number AND b.segment > 0)
LIMIT ?2

-- STORE_SEGMENT_NAMED
SELECT count(*) FROM segments WHERE name = ?1

-- STORE_SEGMENT_ADD
INSERT INTO segments(name, week, size, sum, made)
VALUES(?1, ?2, ?3, ?4, ?5)
RETURNING number

-- STORE_STAGED_LIST
SELECT b.report, r.revision, r.received, length(b.bytes) AS length
FROM bodies b INDEXED BY bodies_staged
JOIN reports r ON r.number = b.report
WHERE b.segment = -1 AND r.received < ?1
ORDER BY b.report LIMIT ?2

-- STORE_STAGED_READ
SELECT r.id, b.encoding, b.bytes
FROM reports r
JOIN bodies b ON b.report = r.number
WHERE r.number = ?1 AND r.revision = ?2 AND b.segment = -1

-- STORE_STAGED_REFER
UPDATE bodies
SET segment = ?2, start = i.start, length = i.length, bytes = x''
FROM (SELECT json_extract(value, '$[0]') AS report, json_extract(value, '$[1]') AS revision,
    json_extract(value, '$[2]') AS start, json_extract(value, '$[3]') AS length
    FROM json_each(?1)) i
WHERE bodies.report = i.report AND bodies.segment = -1
AND EXISTS(SELECT 1 FROM reports r
    WHERE r.number = i.report AND r.revision = i.revision)

-- STORE_STAGED_COUNT
SELECT count(*) AS bodies, coalesce(min(r.received), 0) AS oldest
FROM bodies b
JOIN reports r ON r.number = b.report
WHERE b.segment = -1

-- STORE_SEGMENTS_COUNT
SELECT count(*) AS segments, CAST(coalesce(sum(size), 0) AS bigint) AS bytes
FROM segments

-- STORE_PART_ADD
INSERT INTO object_parts(name, part, bytes, added)
VALUES(?1, ?2, ?3, ?4)
ON CONFLICT(name, part) DO UPDATE SET bytes = excluded.bytes, added = excluded.added

-- STORE_PART_READ
SELECT bytes FROM object_parts WHERE name = ?1 AND part = ?2

-- STORE_PARTS_REMOVE
DELETE FROM object_parts WHERE name = ?1

-- STORE_PARTS_LIST
SELECT name, CAST(sum(length(bytes)) AS bigint) AS size, max(added) AS added
FROM object_parts
WHERE name > ?1 AND name < ?2
GROUP BY name

-- STORE_MOVES_COUNT
SELECT count(*) FROM moves

-- STORE_SYMBOL_KEEP
INSERT INTO symbol_files(key, name, size, kept, project, release, added, used)
VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?7)
ON CONFLICT(key) DO UPDATE SET
name = excluded.name, size = excluded.size, kept = excluded.kept,
project = excluded.project, release = excluded.release, used = excluded.used

-- STORE_SYMBOLS_SIZE
SELECT CAST(coalesce(sum(size), 0) AS bigint)
FROM symbol_files
WHERE project = ?1 AND key <> ?2

-- STORE_SYMBOL_FIND
SELECT key, name, project, release, size, kept, used
FROM symbol_files
WHERE key = ?1

-- STORE_SYMBOLS_LIST
SELECT key, name, project, release, size, kept, used
FROM symbol_files
WHERE name <> ''

-- STORE_SYMBOLS_REMOVABLE
SELECT key, name, project, release, size, kept, used
FROM symbol_files
WHERE used < ?1 AND (?3 = '' OR project = ?3)
ORDER BY used LIMIT ?2

-- STORE_SYMBOLS_REMOVABLE_OF
SELECT key, name, project, release, size, kept, used
FROM symbol_files
WHERE used < ?1 AND release = ?4 AND (?3 = '' OR project = ?3)
ORDER BY used LIMIT ?2

-- STORE_SYMBOL_USED
UPDATE symbol_files SET used = ?2 WHERE key = ?1

-- STORE_SYMBOL_STALE
SELECT count(*) FROM symbol_files WHERE key = ?1 AND used < ?2

-- STORE_SYMBOL_FORGET
DELETE FROM symbol_files WHERE key = ?1

-- STORE_SYMBOL_NAMED
SELECT count(*) FROM symbol_files WHERE name = ?1

-- STORE_LIST_OWNED
SELECT key AS build
FROM symbol_files
WHERE project <> '' AND (CAST(?1 AS text) = '' OR key = project || '/' || ?1)
UNION
SELECT build
FROM symbols
WHERE project <> '' AND (?1 = '' OR build = project || '/' || ?1)

-- STORE_LIST_LACKING
SELECT DISTINCT build FROM nameless WHERE report IN (SELECT value FROM json_each(?1))

-- STORE_LIST_MISSING
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

-- STORE_SYMBOLS_TOTAL
SELECT count(*) AS files, CAST(coalesce(sum(size), 0) AS bigint) AS size,
CAST(coalesce(sum(kept), 0) AS bigint) AS kept
FROM symbol_files
WHERE ?1 = '' OR project IN (?1, '')

-- STORE_SYMBOLS_LATEST
SELECT key, name, project, release, size, kept, used
FROM symbol_files
WHERE ?1 = '' OR project IN (?1, '')
ORDER BY used DESC, key LIMIT ?2

-- STORE_LIST_UNASKED
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

-- STORE_BUILD_ASKED
INSERT INTO asked_builds(build, time)
VALUES(?1, ?2)
ON CONFLICT(build) DO UPDATE SET time = excluded.time

-- STORE_FIND_BUILD
SELECT build, project, sender FROM symbols WHERE build = ?1

-- STORE_LOGIN_FIND
SELECT id, token, name, address, created, seen FROM logins
WHERE id = ?1 AND created > ?2

-- STORE_LOGINS_LIST
SELECT id, token, name, address, created, seen FROM logins
ORDER BY seen DESC LIMIT ?1

-- STORE_AUDIT_LIST
SELECT time, who, project, what, detail
FROM (SELECT * FROM audit ORDER BY number DESC LIMIT 100000) newest
WHERE (?1 = '' OR project = ?1) AND (?3 = '' OR contains(?3, who, project, what, detail))
ORDER BY number DESC LIMIT ?2

-- STORE_LIST_PLACES
SELECT build, place, frames
FROM place_names
WHERE build IN (?1, ?3) AND place IN (SELECT value FROM json_each(?2))

-- STORE_LIST_KNOWN_PLACES
SELECT build, place, frames
FROM place_names
WHERE build IN (SELECT p.prefix || n.build
    FROM nameless n, (SELECT '' AS prefix UNION SELECT CAST(?3 AS text)) p
    WHERE n.report IN (SELECT value FROM json_each(?1)))
LIMIT ?2

-- STORE_LAST_SYMBOLS
SELECT coalesce(max(time), 0) FROM symbols

-- STORE_JOB_STATE
SELECT CASE WHEN j.until < 9000000000000000 THEN 0 ELSE 1 END
FROM jobs j
JOIN reports r ON r.number = j.report
WHERE r.id = ?1

-- STORE_PING
SELECT 1

-- STORE_JOBS_FREE
UPDATE jobs SET until = 0 WHERE until < 9000000000000000

-- STORE_JOB_BODY
SELECT r.received, g.project, b.encoding, b.bytes, coalesce(s.name, '') AS segment_name, b.start, b.length,
p.bytes AS prefix
FROM reports r
JOIN groups g ON g.number = r.group_number
JOIN bodies b ON b.report = r.number
LEFT JOIN segments s ON s.number = b.segment
LEFT JOIN body_prefixes p ON p.number = b.prefix
WHERE r.number = ?1

-- STORE_JOB_DUE
SELECT count(*) FROM (SELECT 1 FROM jobs WHERE until <= ?1 LIMIT 1) one

-- STORE_JOBS_WAITING
SELECT count(*) AS waiting, coalesce(min(queued), 0) AS oldest
FROM jobs
WHERE until < 9000000000000000

-- STORE_HISTORY_LIST
SELECT kind, other, detail, count, time
FROM history
WHERE group_id = ?1
ORDER BY time DESC, number DESC LIMIT 50

-- STORE_LIST_KIN
SELECT fingerprint, title, stack, count
FROM groups
WHERE stack <> '' AND project = ?2
ORDER BY last_seen DESC, number DESC LIMIT ?1

-- STORE_ALERTS_UNSPREAD
SELECT count(*) FROM alerts WHERE spread = 0

-- STORE_ALERTS_DUE
SELECT count(*)
FROM alert_sends s
JOIN alerts a ON a.number = s.alert
WHERE s.receiver = ?1 AND (s.due <= ?2 OR s.due > ?3)
AND (s.tries > 0 OR a.kind IN ('digest', 'test')
    OR coalesce((SELECT rest_until FROM receivers WHERE id = ?1), 0) <= ?2)

-- STORE_ALERTS_WAITING
SELECT s.alert, s.tries, CASE WHEN a.kind IN ('digest', 'test') THEN 1 ELSE 0 END AS alone,
CASE WHEN coalesce((SELECT sent FROM receivers WHERE id = ?1), 0) >= ?5 THEN 1
ELSE 0 END AS held
FROM alert_sends s
JOIN alerts a ON a.number = s.alert
WHERE s.receiver = ?1 AND (s.due <= ?2 OR s.due > ?3)
AND (s.tries > 0 OR a.kind IN ('digest', 'test')
    OR coalesce((SELECT rest_until FROM receivers WHERE id = ?1), 0) <= ?2)
ORDER BY alone DESC, s.alert LIMIT ?4

-- STORE_RECEIVER_SENT
UPDATE receivers
SET began = CASE WHEN ?2 - began >= ?5 THEN ?2 ELSE began END,
sent = CASE WHEN ?2 - began >= ?5 THEN 1 ELSE sent + 1 END,
rest_until = CASE WHEN (CASE WHEN ?2 - began >= ?5 THEN 1 ELSE sent + 1 END) >= ?4
THEN (CASE WHEN ?2 - began >= ?5 THEN ?2 ELSE began END) + ?5 ELSE ?2 + ?3 END
WHERE id = ?1

-- STORE_RECEIVER_ADD
INSERT INTO receivers(id, line, since)
VALUES(?1, ?2, ?3)
ON CONFLICT(id) DO UPDATE SET
line = CASE WHEN excluded.line = '' THEN receivers.line ELSE excluded.line END

-- STORE_RECEIVER_REMOVE
DELETE FROM receivers WHERE id = ?1 AND line <> '' RETURNING 1

-- STORE_RECEIVER_FORGET
DELETE FROM alert_sends WHERE receiver = ?1

-- STORE_RECEIVERS
SELECT id, line, since FROM receivers ORDER BY since, id

-- STORE_LIST_SPREADING
SELECT fingerprint, title, machines AS n
FROM groups
WHERE machines >= ?2 AND first_seen >= ?1 AND status IN ('open', 'regressed')
ORDER BY machines DESC LIMIT ?3

-- STORE_ALERTS_OLD
SELECT count(*) FROM alerts WHERE time < ?1

-- STORE_ALERT_READ
SELECT a.number, a.id, a.kind, a.group_id, a.title, a.detail, a.body, a.time,
coalesce(r.id, '') AS report_id, coalesce(g.project, '') AS project
FROM alerts a
LEFT JOIN reports r ON r.number = a.report
LEFT JOIN groups g ON g.fingerprint = a.group_id WHERE a.number = ?1

-- STORE_ALERTS_LIST
SELECT a.number, a.id, a.kind, a.group_id, a.title, a.detail, a.body, a.time,
coalesce(r.id, '') AS report_id, coalesce(g.project, '') AS project
FROM alerts a
LEFT JOIN reports r ON r.number = a.report
LEFT JOIN groups g ON g.fingerprint = a.group_id
WHERE ?2 = '' OR g.project = ?2
ORDER BY a.number DESC LIMIT ?1

-- STORE_ALERT_STATE
SELECT count(*) AS waiting, coalesce(max(tries), 0) AS tries,
coalesce(max(error), '') AS error
FROM alert_sends
WHERE receiver = ?1

-- STORE_LIST_BURSTS
SELECT g.fingerprint, g.title, b.n
FROM (SELECT group_number, count(*) AS n FROM reports WHERE received >= ?1
    GROUP BY group_number HAVING count(*) >= ?2) b
JOIN groups g ON g.number = b.group_number
WHERE g.status <> 'ignored'
ORDER BY b.n DESC LIMIT ?3

-- STORE_FIGURES
SELECT (SELECT p.page_count * s.page_size
    FROM pragma_page_count() p, pragma_page_size() s) AS bytes,
coalesce((SELECT min(received) FROM reports), 0) AS oldest,
(SELECT count(*) FROM moves) AS moves

-- STORE_PROJECT_FIGURES
SELECT project, count(*) AS groups, CAST(sum(count) AS bigint) AS received,
CAST(sum(kept) AS bigint) AS kept
FROM groups
GROUP BY project
ORDER BY project

-- STORE_WEEK_THERE
SELECT 0

-- STORE_WEEKS_BEFORE
SELECT 0 AS week

-- STORE_WEEK_LEFT
SELECT count(*)
FROM (SELECT 1 FROM reports WHERE received >= ?1 AND received < ?2 LIMIT 1) one

-- STORE_COUNT_SOME_GROUPS
SELECT count(*) FROM (SELECT 1 FROM groups LIMIT ?1) w

-- STORE_TOTALS
SELECT CAST(coalesce(sum(kept), 0) AS bigint) AS reports, count(*) AS groups
FROM groups
WHERE ?1 = '' OR project = ?1

-- STORE_REPORTS_AROUND
SELECT coalesce((SELECT b.id FROM reports b
        WHERE b.group_number = r.group_number AND (b.time, b.number) < (r.time, r.number)
        ORDER BY b.time DESC, b.number DESC LIMIT 1), '') AS before,
coalesce((SELECT a.id FROM reports a
        WHERE a.group_number = r.group_number AND (a.time, a.number) > (r.time, r.number)
        ORDER BY a.time, a.number LIMIT 1), '') AS after,
(SELECT o.id FROM reports o WHERE o.group_number = r.group_number
    ORDER BY o.time, o.number LIMIT 1) AS oldest
FROM reports r
WHERE r.id = ?1

-- STORE_FIND_TELLING
SELECT r.id
FROM (SELECT number, id, time FROM reports
    WHERE group_number = (SELECT number FROM groups WHERE fingerprint
        = coalesce((SELECT target FROM merged WHERE fingerprint = ?1), ?1)) ORDER BY time DESC, number DESC LIMIT ?2) r
LEFT JOIN marks m ON m.report = r.number
ORDER BY coalesce(length(m.list), 0) DESC, r.time DESC, r.number DESC LIMIT 1

-- STORE_RISEN
SELECT number, project, program, recent, before
FROM (SELECT g.number AS number, g.project AS project, g.program AS program,
    (SELECT CAST(coalesce(sum(d.count), 0) AS bigint) FROM group_days d
        WHERE d.group_number = g.number AND d.day > ?2 AND d.day <= ?3) AS recent,
    (SELECT CAST(coalesce(sum(d.count), 0) AS bigint) FROM group_days d
        WHERE d.group_number = g.number AND d.day > ?4 AND d.day <= ?2) AS before
    FROM groups g
    WHERE g.last_seen >= ?1 AND g.first_seen < ?1) w
WHERE recent >= 10 AND recent > before

-- STORE_FIND_NUMBER
SELECT number FROM groups WHERE fingerprint = ?1

-- STORE_LIST_MERGED
WITH m AS (SELECT fingerprint FROM merged WHERE target = ?1
    ORDER BY fingerprint LIMIT 100),
last AS (SELECT fingerprint FROM reports
    WHERE number IN (SELECT number FROM reports
        WHERE group_number = ?2 AND EXISTS(SELECT 1 FROM m)
        ORDER BY time DESC, number DESC LIMIT ?3))
SELECT m.fingerprint, count(last.fingerprint) AS recent
FROM m
LEFT JOIN last ON last.fingerprint = m.fingerprint
GROUP BY m.fingerprint
ORDER BY m.fingerprint

-- STORE_FIND_BODY
SELECT r.id, g.fingerprint AS group_id, r.title, r.summary, r.signal_name, r.release,
r.environment, r.executable, r.hostname, r.signal, r.revision, r.time, r.received,
r.number, r.fingerprint, g.project, b.encoding, b.bytes, coalesce(s.name, '') AS segment_name, b.start, b.length,
p.bytes AS prefix
FROM reports r
JOIN groups g ON g.number = r.group_number
JOIN bodies b ON b.report = r.number
LEFT JOIN segments s ON s.number = b.segment
LEFT JOIN body_prefixes p ON p.number = b.prefix
WHERE r.id = ?1

-- STORE_LIST_GROUPS
WITH hit AS (
    SELECT g.number AS number, {if by_count}g.count{end}
    {if by_machines}g.machines{end}
    {if by_first_seen}g.first_seen{end}
    {if by_rising}coalesce((SELECT 1000000 - key FROM json_each(:risen) WHERE value = g.number), 0){end}
    {if by_last_seen}g.last_seen{end} AS place
    {if sorts}FROM (SELECT g.number AS sorted{end}
        FROM groups g
        WHERE g.number NOT IN (SELECT source FROM moves WHERE fingerprint = '')
        {if in_group}AND g.number = coalesce((SELECT number FROM groups WHERE fingerprint
                    = coalesce((SELECT target FROM merged WHERE fingerprint = :group), :group)),
                (SELECT kg.number FROM keys k JOIN groups kg ON kg.fingerprint
                    = coalesce((SELECT target FROM merged WHERE fingerprint = k.target), k.target)
                    WHERE k.fingerprint = :group),
                (SELECT min(number) FROM groups WHERE length(:group) >= 8
                    AND fingerprint > :group AND fingerprint < :group || 'g' HAVING count(*) = 1)){end}
        {if in_project}AND g.project = :project{end}
        {each term}
            {if of_group}
                {if !joined}AND{end}
                {if opens}({end}
                    {if joined}OR{end}
                    {if negated}NOT{end} (
                        {if first_release}g.first_release {if !wildcard}= :value{end}
                            {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}
                        {if first_seen}g.first_seen BETWEEN :number AND :high{end}
                        {if last_seen}g.last_seen BETWEEN :number AND :high{end}
                        {if reports}g.count BETWEEN :number AND :high{end}
                        {if machines}g.machines BETWEEN :number AND :high{end}
                        {if users}g.users BETWEEN :number AND :high{end}
                        {if status}g.status = :value{end}
                        {if any}1 = 1{end}
                        {if open}g.status IN ('open', 'regressed'){end}
                        {if back_in}g.status = 'regressed' AND g.status_release = :value{end}
                        {if rising}g.number IN (SELECT value FROM json_each(:risen)){end}
                        {if new}(g.first_release <> '' AND g.project || char(10) || g.program || char(10)
                                || g.first_release IN (SELECT value FROM json_each(:fresh)))
                            OR (g.first_release = '' AND g.first_seen >= :week_ms){end}
                        {if assigned}g.assignee <> ''{end}
                        {if assignee}g.assignee {if !wildcard}= :value{end}
                            {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}
                        {if project}g.project {if !wildcard}= :value{end}
                            {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}
                        {if short_word}contains(:value, g.title, g.summary){end}
                    ) {if closes}){end}
            {end}
        {end}
        {each choice}
            {if opens}AND ({end}
                {if joined}OR{end}
                {if facet}g.number IN (SELECT f.group_number FROM facets f WHERE {if by_word}f.kind >= 3 AND f.kind = :kind AND f.value IN (SELECT w.value FROM words w
                                WHERE +w.kind = :kind
                                AND w.number IN (SELECT rowid FROM word_search WHERE word_search MATCH :pattern)){end}
                        {if !by_word}f.kind >= 3 AND f.kind = :kind AND
                            {if piece}f.value IN (SELECT w.value FROM words w WHERE +w.kind = :kind
                                    AND w.number IN (SELECT rowid FROM word_search WHERE word_search MATCH :piece)) AND{end}
                            {if program}(f.value {if !wildcard}= :value{end}
                                    {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}
                                    {if wildcard}OR f.value LIKE '%/' || CAST(:pattern AS text) ESCAPE '!'){end}
                                {if !wildcard}OR instr(f.value || char(10), '/' || CAST(:value AS text) || char(10)) > 0){end}{end}
                        {if tag !wildcard}f.value = CAST(:tag AS text) || char(10) || CAST(:value AS text){end}
                        {if tag wildcard}
                            substr(f.value, 1, length(CAST(:tag AS text)) + 1) = CAST(:tag AS text) || char(10)
                            AND substr(f.value, length(CAST(:tag AS text)) + 2) {if !wildcard}= :value{end}
                            {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}
                        {end}
                        {if signal}f.value = CAST(:number AS text){end}
                        {if part !wildcard}contains(:value, f.value){end}
                        {if part wildcard}f.value {if !wildcard}= :value{end}
                            {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}
                        {if whole}f.value {if !wildcard}= :value{end}
                            {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}{end}){end}
            {if word}
                g.number IN (SELECT f.group_number FROM facets f WHERE f.kind <= 2
                    AND f.number IN (SELECT rowid FROM facet_search WHERE facet_search MATCH :pattern))
                OR g.number IN (SELECT f.group_number FROM word_search s CROSS JOIN words w CROSS JOIN facets f
                    WHERE s.word_search MATCH :pattern AND w.number = s.rowid
                    AND f.kind >= 3 AND f.kind = w.kind AND f.value = w.value
                    AND (w.kind BETWEEN 11 AND 14
                        OR w.kind BETWEEN 3 AND 5))
            {end}
            {if closes}){end}
    {end}
    {each term}
        {if listed since}AND g.last_seen >= :number{end}
        {if listed until}AND g.first_seen < :number{end}
        {if listed time}AND g.last_seen >= :number AND g.first_seen <= :high{end}
        {if listed time}AND EXISTS(SELECT 1 FROM reports r WHERE r.group_number = g.number{end}
            {if listed time}AND r.time BETWEEN :number AND :high ){end}
        {if listed word bounded}AND (g.number IN (SELECT f.group_number FROM facets f WHERE f.kind <= 2
                    AND f.number IN (SELECT rowid FROM facet_search WHERE facet_search MATCH :pattern))
                OR g.number IN (SELECT f.group_number FROM word_search s CROSS JOIN words w CROSS JOIN facets f
                    WHERE s.word_search MATCH :pattern AND w.number = s.rowid
                    AND f.kind >= 3 AND f.kind = w.kind AND f.value = w.value
                    AND (w.kind BETWEEN 11 AND 14
                        OR w.kind BETWEEN 3 AND 5))){end}
        {if listed word !bounded}AND (+g.number IN (SELECT f.group_number FROM facets f WHERE f.kind <= 2
                    AND f.number IN (SELECT rowid FROM facet_search WHERE facet_search MATCH :pattern))
                OR +g.number IN (SELECT f.group_number FROM word_search s CROSS JOIN words w CROSS JOIN facets f
                    WHERE s.word_search MATCH :pattern AND w.number = s.rowid
                    AND f.kind >= 3 AND f.kind = w.kind AND f.value = w.value
                    AND (w.kind BETWEEN 11 AND 14
                        OR w.kind BETWEEN 3 AND 5))){end}
        {if listed facet bounded}AND (g.number IN (SELECT f.group_number FROM facets f WHERE {if by_word}f.kind >= 3 AND f.kind = :kind AND f.value IN (SELECT w.value FROM words w
                            WHERE +w.kind = :kind
                            AND w.number IN (SELECT rowid FROM word_search WHERE word_search MATCH :pattern)){end}
                    {if !by_word}f.kind >= 3 AND f.kind = :kind AND
                        {if piece}f.value IN (SELECT w.value FROM words w WHERE +w.kind = :kind
                                AND w.number IN (SELECT rowid FROM word_search WHERE word_search MATCH :piece)) AND{end}
                        {if program}(f.value {if !wildcard}= :value{end}
                                {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}
                                {if wildcard}OR f.value LIKE '%/' || CAST(:pattern AS text) ESCAPE '!'){end}
                            {if !wildcard}OR instr(f.value || char(10), '/' || CAST(:value AS text) || char(10)) > 0){end}{end}
                    {if tag !wildcard}f.value = CAST(:tag AS text) || char(10) || CAST(:value AS text){end}
                    {if tag wildcard}
                        substr(f.value, 1, length(CAST(:tag AS text)) + 1) = CAST(:tag AS text) || char(10)
                        AND substr(f.value, length(CAST(:tag AS text)) + 2) {if !wildcard}= :value{end}
                        {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}
                    {end}
                    {if signal}f.value = CAST(:number AS text){end}
                    {if part !wildcard}contains(:value, f.value){end}
                    {if part wildcard}f.value {if !wildcard}= :value{end}
                        {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}
                    {if whole}f.value {if !wildcard}= :value{end}
                        {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}{end})){end}
    {if listed facet !bounded}AND (+g.number IN (SELECT f.group_number FROM facets f WHERE {if by_word}f.kind >= 3 AND f.kind = :kind AND f.value IN (SELECT w.value FROM words w
                        WHERE +w.kind = :kind
                        AND w.number IN (SELECT rowid FROM word_search WHERE word_search MATCH :pattern)){end}
                {if !by_word}f.kind >= 3 AND f.kind = :kind AND
                    {if piece}f.value IN (SELECT w.value FROM words w WHERE +w.kind = :kind
                            AND w.number IN (SELECT rowid FROM word_search WHERE word_search MATCH :piece)) AND{end}
                    {if program}(f.value {if !wildcard}= :value{end}
                            {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}
                            {if wildcard}OR f.value LIKE '%/' || CAST(:pattern AS text) ESCAPE '!'){end}
                        {if !wildcard}OR instr(f.value || char(10), '/' || CAST(:value AS text) || char(10)) > 0){end}{end}
                {if tag !wildcard}f.value = CAST(:tag AS text) || char(10) || CAST(:value AS text){end}
                {if tag wildcard}
                    substr(f.value, 1, length(CAST(:tag AS text)) + 1) = CAST(:tag AS text) || char(10)
                    AND substr(f.value, length(CAST(:tag AS text)) + 2) {if !wildcard}= :value{end}
                    {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}
                {end}
                {if signal}f.value = CAST(:number AS text){end}
                {if part !wildcard}contains(:value, f.value){end}
                {if part wildcard}f.value {if !wildcard}= :value{end}
                    {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}
                {if whole}f.value {if !wildcard}= :value{end}
                    {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}{end})){end}
{end}
{if sorts}ORDER BY {if by_count}g.count{end}
{if by_machines}g.machines{end}
{if by_first_seen}g.first_seen{end}
{if by_rising}coalesce((SELECT 1000000 - key FROM json_each(:risen) WHERE value = g.number), 0){end}
{if by_last_seen}g.last_seen{end} DESC, g.number DESC LIMIT -1) o CROSS JOIN groups g{end}
{if sorts}WHERE g.number = o.sorted{end}
{if bounded}
{each term}
{if searched wide !word}AND (
        EXISTS(SELECT 1 FROM facets f WHERE f.group_number = g.number AND
            {if word}f.kind BETWEEN 11 AND 14 AND contains(:value, f.value){end}
            {if !word}f.kind = :kind AND
                {if piece}f.value IN (SELECT w.value FROM words w WHERE +w.kind = :kind
                        AND w.number IN (SELECT rowid FROM word_search WHERE word_search MATCH :piece)) AND{end}
                {if program}(f.value {if !wildcard}= :value{end}
                        {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}
                        {if wildcard}OR f.value LIKE '%/' || CAST(:pattern AS text) ESCAPE '!'){end}
                    {if !wildcard}OR instr(f.value || char(10), '/' || CAST(:value AS text) || char(10)) > 0){end}{end}
            {if tag !wildcard}f.value = CAST(:tag AS text) || char(10) || CAST(:value AS text){end}
            {if tag wildcard}
                substr(f.value, 1, length(CAST(:tag AS text)) + 1) = CAST(:tag AS text) || char(10)
                AND substr(f.value, length(CAST(:tag AS text)) + 2) {if !wildcard}= :value{end}
                {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}
            {end}
            {if signal}f.value = CAST(:number AS text){end}
            {if part !wildcard}contains(:value, f.value){end}
            {if part wildcard}f.value {if !wildcard}= :value{end}
                {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}
            {if whole}f.value {if !wildcard}= :value{end}
                {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}{end}
    )
    {if word}
        OR EXISTS(SELECT 1 FROM facets f WHERE f.group_number = g.number AND
            f.kind <= 5 AND contains(:value, f.value) )
    {end}
){end}
{end}
{each term}
{if searched wide word !compares_column}AND (
    EXISTS(SELECT 1 FROM facets f WHERE f.group_number = g.number AND
        {if word}f.kind BETWEEN 11 AND 14 AND contains(:value, f.value){end}
        {if !word}f.kind = :kind AND
            {if piece}f.value IN (SELECT w.value FROM words w WHERE +w.kind = :kind
                    AND w.number IN (SELECT rowid FROM word_search WHERE word_search MATCH :piece)) AND{end}
            {if program}(f.value {if !wildcard}= :value{end}
                    {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}
                    {if wildcard}OR f.value LIKE '%/' || CAST(:pattern AS text) ESCAPE '!'){end}
                {if !wildcard}OR instr(f.value || char(10), '/' || CAST(:value AS text) || char(10)) > 0){end}{end}
        {if tag !wildcard}f.value = CAST(:tag AS text) || char(10) || CAST(:value AS text){end}
        {if tag wildcard}
            substr(f.value, 1, length(CAST(:tag AS text)) + 1) = CAST(:tag AS text) || char(10)
            AND substr(f.value, length(CAST(:tag AS text)) + 2) {if !wildcard}= :value{end}
            {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}
        {end}
        {if signal}f.value = CAST(:number AS text){end}
        {if part !wildcard}contains(:value, f.value){end}
        {if part wildcard}f.value {if !wildcard}= :value{end}
            {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}
        {if whole}f.value {if !wildcard}= :value{end}
            {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}{end}
)
{if word}
    OR EXISTS(SELECT 1 FROM facets f WHERE f.group_number = g.number AND
        f.kind <= 5 AND contains(:value, f.value) )
{end}
){end}
{end}
{end}
{if several}
AND (SELECT CASE WHEN b.high <= 0 THEN 0 WHEN b.low > 0 THEN 1
WHEN (SELECT 1 FROM (SELECT {each ranked}
    {if !since !until !time}
        (SELECT count(*) FROM ({if since}
                    SELECT d.reports AS low, d.reports AS high
                    FROM (SELECT (SELECT CAST(coalesce(sum(d.count), 0) AS bigint) FROM group_days d
                            WHERE d.group_number = g.number AND d.day > :day AND d.day <= :last_day)
                        + (SELECT count(*) FROM reports r
                            WHERE r.group_number = g.number AND r.time >= :number AND r.time < :next_day)
                        AS reports) d
                {end}
                {if until}
                    SELECT CASE WHEN g.last_seen < :number THEN g.count ELSE 0 END AS low,
                    CASE WHEN g.first_seen < :number THEN g.count ELSE 0 END AS high
                {end}
                {if time}
                    SELECT CASE WHEN g.first_seen >= :number AND g.last_seen <= :high THEN g.count
                    ELSE 0 END AS low,
                    CASE WHEN g.last_seen >= :number AND g.first_seen <= :high THEN g.count
                    ELSE 0 END AS high
                {end}
                {if word}
                    SELECT coalesce(max(f.count), 0) AS low, g.count AS high
                    FROM (SELECT value, count FROM facets
                        WHERE group_number = g.number AND kind IN (1, 3,
                            5, 11, 12, 13, 14)
                        UNION ALL SELECT value, count FROM facets
                        WHERE group_number = g.number AND kind = 2 AND value = g.summary) f
                    WHERE contains(:value, f.value)
                {end}
                {if !since !until !time !word}
                    SELECT
                    {if repeats}coalesce(max(f.count), 0){end}
                    {if !repeats}coalesce(sum(f.count), 0){end}
                    AS low, coalesce(sum(f.count), 0) AS high
                    FROM facets f
                    WHERE f.group_number = g.number AND f.kind = :kind AND
                    {if piece}f.value IN (SELECT w.value FROM words w WHERE +w.kind = :kind
                            AND w.number IN (SELECT rowid FROM word_search WHERE word_search MATCH :piece)) AND{end}
                    {if program}(f.value {if !wildcard}= :value{end}
                            {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}
                            {if wildcard}OR f.value LIKE '%/' || CAST(:pattern AS text) ESCAPE '!'){end}
                        {if !wildcard}OR instr(f.value || char(10), '/' || CAST(:value AS text) || char(10)) > 0){end}{end}
                {if tag !wildcard}f.value = CAST(:tag AS text) || char(10) || CAST(:value AS text){end}
                {if tag wildcard}
                    substr(f.value, 1, length(CAST(:tag AS text)) + 1) = CAST(:tag AS text) || char(10)
                    AND substr(f.value, length(CAST(:tag AS text)) + 2) {if !wildcard}= :value{end}
                    {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}
                {end}
                {if signal}f.value = CAST(:number AS text){end}
                {if part !wildcard}contains(:value, f.value){end}
                {if part wildcard}f.value {if !wildcard}= :value{end}
                    {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}
                {if whole}f.value {if !wildcard}= :value{end}
                    {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}
        {end}) t WHERE
        {if !negated}t.low >= g.count{end}
        {if negated}t.high <= 0{end}
    ) AS all_:term,
{end}
{end} 0 AS time LIMIT 1) a CROSS JOIN
reports r WHERE r.group_number = g.number {each ranked}
{if !joined}AND{end}
{if opens}({end}
{if joined}OR{end}
{if !since !until !time}(a.all_:term > 0 OR{end}
    {if negated}NOT{end}
    ({if since}r.time >= :number{end}
        {if until}r.time < :number{end}
        {if time}r.time BETWEEN :number AND :high{end}
        {if signal}r.signal = :number{end}
        {if release}r.release {if !wildcard}= :value{end}
            {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}
        {if environment}r.environment {if !wildcard}= :value{end}
            {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}
        {if signal_name}r.signal_name {if !wildcard}= :value{end}
            {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}
        {if host}r.hostname {if !wildcard}= :value{end}
            {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}
        {if program}(r.executable {if !wildcard}= :value{end}
                {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}
                {if wildcard}OR r.executable LIKE '%/' || CAST(:pattern AS text) ESCAPE '!'){end}
            {if !wildcard}OR instr(r.executable || char(10), '/' || CAST(:value AS text) || char(10)) > 0){end}{end}
    {if tag}
        EXISTS(SELECT 1 FROM tags t
            WHERE t.report = r.number AND t.key = :tag AND t.value {if !wildcard}= :value{end}
            {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end})
    {end}
    {if word}
        contains(:value, r.title, r.summary, r.executable, r.release, r.hostname) OR (
            {if negated !wide}r.group_number IN (SELECT f.group_number FROM word_search s CROSS JOIN words w CROSS JOIN facets f
                    WHERE s.word_search MATCH :pattern AND w.number = s.rowid
                    AND f.kind >= 3 AND f.kind = w.kind AND f.value = w.value
                    AND (w.kind BETWEEN 11 AND 14
                        OR w.kind BETWEEN 3 AND 5)) AND{end}
        {end}
        {if has_mark}EXISTS(SELECT 1 FROM marks m CROSS JOIN json_each(m.list) j WHERE m.report = r.number AND
                {if as_is part !wildcard}contains(:value, m.list) AND{end}
                {if as_is !part !wildcard}instr(m.list, CAST(:value AS text) || '"') > 0 AND{end}
                {if word}substr(j.value, 1, 2) BETWEEN '11' AND '14' AND{end}
                {if !word}substr(j.value, 1, 2) = ':kind' AND{end}
                {if part !wildcard}contains(:value, substr(j.value, 4)){end}
                {if !part}substr(j.value, 4) {if !wildcard}= :value{end}
                    {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}
                {if part wildcard}substr(j.value, 4) {if !wildcard}= :value{end}
                    {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}
        ){end}
        {if word}){end})
{if !since !until !time}){end}
{if closes}){end}
{end}
ORDER BY r.time DESC, r.number DESC LIMIT 1) IS NOT NULL THEN 1 ELSE 0 END
FROM ({if left}SELECT CAST(CASE WHEN sum(t.low) > count(*) * g.count - g.kept{end}
{if left}THEN sum(t.low) - count(*) * g.count + g.kept ELSE 0 END AS bigint) AS low,{end}
{if !left}SELECT CAST(CASE WHEN sum(t.low) > (count(*) - 1) * g.count{end}
{if !left}THEN sum(t.low) - (count(*) - 1) * g.count ELSE 0 END AS bigint) AS low,{end}
CAST(min(t.high) AS bigint) AS high
FROM (
SELECT g.count AS low,
{if left}g.kept{end}
{if !left}g.count{end}
AS high
{each ranked}
{if !joined}UNION ALL{end}
{if opens}SELECT max(a.low) AS low, sum(a.high) AS high FROM ({end}
{if joined}UNION ALL{end}
{if negated}
    SELECT CASE WHEN n.high < g.count THEN g.count - n.high ELSE 0 END AS low,
    g.count - n.low AS high
    FROM (
    {end}
    {if since}
        SELECT d.reports AS low, d.reports AS high
        FROM (SELECT (SELECT CAST(coalesce(sum(d.count), 0) AS bigint) FROM group_days d
                WHERE d.group_number = g.number AND d.day > :day AND d.day <= :last_day)
            + (SELECT count(*) FROM reports r
                WHERE r.group_number = g.number AND r.time >= :number AND r.time < :next_day)
            AS reports) d
    {end}
    {if until}
        SELECT CASE WHEN g.last_seen < :number THEN g.count ELSE 0 END AS low,
        CASE WHEN g.first_seen < :number THEN g.count ELSE 0 END AS high
    {end}
    {if time}
        SELECT CASE WHEN g.first_seen >= :number AND g.last_seen <= :high THEN g.count
        ELSE 0 END AS low,
        CASE WHEN g.last_seen >= :number AND g.first_seen <= :high THEN g.count
        ELSE 0 END AS high
    {end}
    {if word}
        SELECT coalesce(max(f.count), 0) AS low, g.count AS high
        FROM (SELECT value, count FROM facets
            WHERE group_number = g.number AND kind IN (1, 3,
                5, 11, 12, 13, 14)
            UNION ALL SELECT value, count FROM facets
            WHERE group_number = g.number AND kind = 2 AND value = g.summary) f
        WHERE contains(:value, f.value)
    {end}
    {if !since !until !time !word}
        SELECT
        {if repeats}coalesce(max(f.count), 0){end}
        {if !repeats}coalesce(sum(f.count), 0){end}
        AS low, coalesce(sum(f.count), 0) AS high
        FROM facets f
        WHERE f.group_number = g.number AND f.kind = :kind AND
        {if piece}f.value IN (SELECT w.value FROM words w WHERE +w.kind = :kind
                AND w.number IN (SELECT rowid FROM word_search WHERE word_search MATCH :piece)) AND{end}
        {if program}(f.value {if !wildcard}= :value{end}
                {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}
                {if wildcard}OR f.value LIKE '%/' || CAST(:pattern AS text) ESCAPE '!'){end}
            {if !wildcard}OR instr(f.value || char(10), '/' || CAST(:value AS text) || char(10)) > 0){end}{end}
    {if tag !wildcard}f.value = CAST(:tag AS text) || char(10) || CAST(:value AS text){end}
    {if tag wildcard}
        substr(f.value, 1, length(CAST(:tag AS text)) + 1) = CAST(:tag AS text) || char(10)
        AND substr(f.value, length(CAST(:tag AS text)) + 2) {if !wildcard}= :value{end}
        {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}
    {end}
    {if signal}f.value = CAST(:number AS text){end}
    {if part !wildcard}contains(:value, f.value){end}
    {if part wildcard}f.value {if !wildcard}= :value{end}
        {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}
    {if whole}f.value {if !wildcard}= :value{end}
        {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}
{end}
{if negated}) n{end}
{if closes}) a{end}
{end}
) t) b) = 1
{end}
{if after !counts_sort}AND ({if by_count}g.count{end}
{if by_machines}g.machines{end}
{if by_first_seen}g.first_seen{end}
{if by_rising}coalesce((SELECT 1000000 - key FROM json_each(:risen) WHERE value = g.number), 0){end}
{if by_last_seen}g.last_seen{end}, g.number) < (:place, :number_after){end}
{if ordered}ORDER BY {if by_count}g.count{end}
{if by_machines}g.machines{end}
{if by_first_seen}g.first_seen{end}
{if by_rising}coalesce((SELECT 1000000 - key FROM json_each(:risen) WHERE value = g.number), 0){end}
{if by_last_seen}g.last_seen{end} DESC, g.number DESC{end}
{if limited}LIMIT :most{end}
)
SELECT g.fingerprint, g.title, g.summary, g.status, g.signal, g.count, g.first_seen,
g.last_seen, g.number, g.kept, g.status_release, g.status_time, g.note, g.assignee,
g.machines, g.users, g.first_release, g.stack, g.resolved_in, g.until_count, g.until_machines,
g.until_time, g.version, g.project, g.program, h.place AS place,
{if counts_sort by_count}h.place{end}
{if counts_sort !by_count}{if !narrowed}g.count{end}
{if narrowed}
(SELECT CASE WHEN b.low >= b.high THEN b.high ELSE (SELECT count(*) FROM
(SELECT {each ranked}
{if !since !until !time}
(SELECT count(*) FROM ({if since}
        SELECT d.reports AS low, d.reports AS high
        FROM (SELECT (SELECT CAST(coalesce(sum(d.count), 0) AS bigint) FROM group_days d
                WHERE d.group_number = g.number AND d.day > :day AND d.day <= :last_day)
            + (SELECT count(*) FROM reports r
                WHERE r.group_number = g.number AND r.time >= :number AND r.time < :next_day)
            AS reports) d
    {end}
    {if until}
        SELECT CASE WHEN g.last_seen < :number THEN g.count ELSE 0 END AS low,
        CASE WHEN g.first_seen < :number THEN g.count ELSE 0 END AS high
    {end}
    {if time}
        SELECT CASE WHEN g.first_seen >= :number AND g.last_seen <= :high THEN g.count
        ELSE 0 END AS low,
        CASE WHEN g.last_seen >= :number AND g.first_seen <= :high THEN g.count
        ELSE 0 END AS high
    {end}
    {if word}
        SELECT coalesce(max(f.count), 0) AS low, g.count AS high
        FROM (SELECT value, count FROM facets
            WHERE group_number = g.number AND kind IN (1, 3,
                5, 11, 12, 13, 14)
            UNION ALL SELECT value, count FROM facets
            WHERE group_number = g.number AND kind = 2 AND value = g.summary) f
        WHERE contains(:value, f.value)
    {end}
    {if !since !until !time !word}
        SELECT
        {if repeats}coalesce(max(f.count), 0){end}
        {if !repeats}coalesce(sum(f.count), 0){end}
        AS low, coalesce(sum(f.count), 0) AS high
        FROM facets f
        WHERE f.group_number = g.number AND f.kind = :kind AND
        {if piece}f.value IN (SELECT w.value FROM words w WHERE +w.kind = :kind
                AND w.number IN (SELECT rowid FROM word_search WHERE word_search MATCH :piece)) AND{end}
        {if program}(f.value {if !wildcard}= :value{end}
                {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}
                {if wildcard}OR f.value LIKE '%/' || CAST(:pattern AS text) ESCAPE '!'){end}
            {if !wildcard}OR instr(f.value || char(10), '/' || CAST(:value AS text) || char(10)) > 0){end}{end}
    {if tag !wildcard}f.value = CAST(:tag AS text) || char(10) || CAST(:value AS text){end}
    {if tag wildcard}
        substr(f.value, 1, length(CAST(:tag AS text)) + 1) = CAST(:tag AS text) || char(10)
        AND substr(f.value, length(CAST(:tag AS text)) + 2) {if !wildcard}= :value{end}
        {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}
    {end}
    {if signal}f.value = CAST(:number AS text){end}
    {if part !wildcard}contains(:value, f.value){end}
    {if part wildcard}f.value {if !wildcard}= :value{end}
        {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}
    {if whole}f.value {if !wildcard}= :value{end}
        {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}
{end}) t WHERE
{if !negated}t.low >= g.count{end}
{if negated}t.high <= 0{end}
) AS all_:term,
{end}
{end}
{if counted_bounded}coalesce((SELECT r.time FROM reports r WHERE r.group_number = g.number {each ranked}
{if of_time}{if !joined}AND{end}
    {if opens}({end}
        {if joined}OR{end}
        {if negated}NOT{end} ({if since}r.time >= :number{end}
            {if until}r.time < :number{end}
            {if time}r.time BETWEEN :number AND :high{end}){end}
{end}
ORDER BY r.time DESC, r.number DESC LIMIT 1 OFFSET :counted), :since) AS time{end}
{if !counted_bounded}0 AS time{end}
LIMIT 1) a CROSS JOIN
reports r WHERE r.group_number = g.number {each counted}
{if !joined}AND{end}
{if opens}({end}
{if joined}OR{end}
{if !since !until !time}(a.all_:term > 0 OR{end}
{if negated}NOT{end}
({if since}r.time >= :number{end}
{if until}r.time < :number{end}
{if time}r.time BETWEEN :number AND :high{end}
{if signal}r.signal = :number{end}
{if release}r.release {if !wildcard}= :value{end}
    {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}
{if environment}r.environment {if !wildcard}= :value{end}
    {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}
{if signal_name}r.signal_name {if !wildcard}= :value{end}
    {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}
{if host}r.hostname {if !wildcard}= :value{end}
    {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}
{if program}(r.executable {if !wildcard}= :value{end}
        {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}
        {if wildcard}OR r.executable LIKE '%/' || CAST(:pattern AS text) ESCAPE '!'){end}
    {if !wildcard}OR instr(r.executable || char(10), '/' || CAST(:value AS text) || char(10)) > 0){end}{end}
{if tag}
EXISTS(SELECT 1 FROM tags t
    WHERE t.report = r.number AND t.key = :tag AND t.value {if !wildcard}= :value{end}
    {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end})
{end}
{if word}
contains(:value, r.title, r.summary, r.executable, r.release, r.hostname) OR (
    {if negated !wide}r.group_number IN (SELECT f.group_number FROM word_search s CROSS JOIN words w CROSS JOIN facets f
            WHERE s.word_search MATCH :pattern AND w.number = s.rowid
            AND f.kind >= 3 AND f.kind = w.kind AND f.value = w.value
            AND (w.kind BETWEEN 11 AND 14
                OR w.kind BETWEEN 3 AND 5)) AND{end}
{end}
{if has_mark}EXISTS(SELECT 1 FROM marks m CROSS JOIN json_each(m.list) j WHERE m.report = r.number AND
        {if as_is part !wildcard}contains(:value, m.list) AND{end}
        {if as_is !part !wildcard}instr(m.list, CAST(:value AS text) || '"') > 0 AND{end}
        {if word}substr(j.value, 1, 2) BETWEEN '11' AND '14' AND{end}
        {if !word}substr(j.value, 1, 2) = ':kind' AND{end}
        {if part !wildcard}contains(:value, substr(j.value, 4)){end}
        {if !part}substr(j.value, 4) {if !wildcard}= :value{end}
            {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}
        {if part wildcard}substr(j.value, 4) {if !wildcard}= :value{end}
            {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}
){end}
{if word}){end})
{if !since !until !time}){end}
{if closes}){end}
{end}
{if counted_bounded}AND r.time >= a.time){end}
{if !counted_bounded}){end} END FROM ({if left}SELECT CAST(CASE WHEN sum(t.low) > count(*) * g.count - g.kept{end}
{if left}THEN sum(t.low) - count(*) * g.count + g.kept ELSE 0 END AS bigint) AS low,{end}
{if !left}SELECT CAST(CASE WHEN sum(t.low) > (count(*) - 1) * g.count{end}
{if !left}THEN sum(t.low) - (count(*) - 1) * g.count ELSE 0 END AS bigint) AS low,{end}
CAST(min(t.high) AS bigint) AS high
FROM (
SELECT g.count AS low,
{if left}g.kept{end}
{if !left}g.count{end}
AS high
{each ranked}
{if !joined}UNION ALL{end}
{if opens}SELECT max(a.low) AS low, sum(a.high) AS high FROM ({end}
{if joined}UNION ALL{end}
{if negated}
SELECT CASE WHEN n.high < g.count THEN g.count - n.high ELSE 0 END AS low,
g.count - n.low AS high
FROM (
{end}
{if since}
SELECT d.reports AS low, d.reports AS high
FROM (SELECT (SELECT CAST(coalesce(sum(d.count), 0) AS bigint) FROM group_days d
    WHERE d.group_number = g.number AND d.day > :day AND d.day <= :last_day)
+ (SELECT count(*) FROM reports r
    WHERE r.group_number = g.number AND r.time >= :number AND r.time < :next_day)
AS reports) d
{end}
{if until}
SELECT CASE WHEN g.last_seen < :number THEN g.count ELSE 0 END AS low,
CASE WHEN g.first_seen < :number THEN g.count ELSE 0 END AS high
{end}
{if time}
SELECT CASE WHEN g.first_seen >= :number AND g.last_seen <= :high THEN g.count
ELSE 0 END AS low,
CASE WHEN g.last_seen >= :number AND g.first_seen <= :high THEN g.count
ELSE 0 END AS high
{end}
{if word}
SELECT coalesce(max(f.count), 0) AS low, g.count AS high
FROM (SELECT value, count FROM facets
WHERE group_number = g.number AND kind IN (1, 3,
    5, 11, 12, 13, 14)
UNION ALL SELECT value, count FROM facets
WHERE group_number = g.number AND kind = 2 AND value = g.summary) f
WHERE contains(:value, f.value)
{end}
{if !since !until !time !word}
SELECT
{if repeats}coalesce(max(f.count), 0){end}
{if !repeats}coalesce(sum(f.count), 0){end}
AS low, coalesce(sum(f.count), 0) AS high
FROM facets f
WHERE f.group_number = g.number AND f.kind = :kind AND
{if piece}f.value IN (SELECT w.value FROM words w WHERE +w.kind = :kind
    AND w.number IN (SELECT rowid FROM word_search WHERE word_search MATCH :piece)) AND{end}
{if program}(f.value {if !wildcard}= :value{end}
    {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}
    {if wildcard}OR f.value LIKE '%/' || CAST(:pattern AS text) ESCAPE '!'){end}
{if !wildcard}OR instr(f.value || char(10), '/' || CAST(:value AS text) || char(10)) > 0){end}{end}
{if tag !wildcard}f.value = CAST(:tag AS text) || char(10) || CAST(:value AS text){end}
{if tag wildcard}
substr(f.value, 1, length(CAST(:tag AS text)) + 1) = CAST(:tag AS text) || char(10)
AND substr(f.value, length(CAST(:tag AS text)) + 2) {if !wildcard}= :value{end}
{if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}
{end}
{if signal}f.value = CAST(:number AS text){end}
{if part !wildcard}contains(:value, f.value){end}
{if part wildcard}f.value {if !wildcard}= :value{end}
{if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}
{if whole}f.value {if !wildcard}= :value{end}
{if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}
{end}
{if negated}) n{end}
{if closes}) a{end}
{end}
) t) b)
{end}{end}
{if !counts_sort}{if !narrowed}g.count{end}
{if narrowed}
(SELECT CASE WHEN b.low >= b.high THEN b.high ELSE (SELECT count(*) FROM
(SELECT {each ranked}
{if !since !until !time}
(SELECT count(*) FROM ({if since}
SELECT d.reports AS low, d.reports AS high
FROM (SELECT (SELECT CAST(coalesce(sum(d.count), 0) AS bigint) FROM group_days d
    WHERE d.group_number = g.number AND d.day > :day AND d.day <= :last_day)
+ (SELECT count(*) FROM reports r
    WHERE r.group_number = g.number AND r.time >= :number AND r.time < :next_day)
AS reports) d
{end}
{if until}
SELECT CASE WHEN g.last_seen < :number THEN g.count ELSE 0 END AS low,
CASE WHEN g.first_seen < :number THEN g.count ELSE 0 END AS high
{end}
{if time}
SELECT CASE WHEN g.first_seen >= :number AND g.last_seen <= :high THEN g.count
ELSE 0 END AS low,
CASE WHEN g.last_seen >= :number AND g.first_seen <= :high THEN g.count
ELSE 0 END AS high
{end}
{if word}
SELECT coalesce(max(f.count), 0) AS low, g.count AS high
FROM (SELECT value, count FROM facets
WHERE group_number = g.number AND kind IN (1, 3,
    5, 11, 12, 13, 14)
UNION ALL SELECT value, count FROM facets
WHERE group_number = g.number AND kind = 2 AND value = g.summary) f
WHERE contains(:value, f.value)
{end}
{if !since !until !time !word}
SELECT
{if repeats}coalesce(max(f.count), 0){end}
{if !repeats}coalesce(sum(f.count), 0){end}
AS low, coalesce(sum(f.count), 0) AS high
FROM facets f
WHERE f.group_number = g.number AND f.kind = :kind AND
{if piece}f.value IN (SELECT w.value FROM words w WHERE +w.kind = :kind
    AND w.number IN (SELECT rowid FROM word_search WHERE word_search MATCH :piece)) AND{end}
{if program}(f.value {if !wildcard}= :value{end}
    {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}
    {if wildcard}OR f.value LIKE '%/' || CAST(:pattern AS text) ESCAPE '!'){end}
{if !wildcard}OR instr(f.value || char(10), '/' || CAST(:value AS text) || char(10)) > 0){end}{end}
{if tag !wildcard}f.value = CAST(:tag AS text) || char(10) || CAST(:value AS text){end}
{if tag wildcard}
substr(f.value, 1, length(CAST(:tag AS text)) + 1) = CAST(:tag AS text) || char(10)
AND substr(f.value, length(CAST(:tag AS text)) + 2) {if !wildcard}= :value{end}
{if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}
{end}
{if signal}f.value = CAST(:number AS text){end}
{if part !wildcard}contains(:value, f.value){end}
{if part wildcard}f.value {if !wildcard}= :value{end}
{if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}
{if whole}f.value {if !wildcard}= :value{end}
{if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}
{end}) t WHERE
{if !negated}t.low >= g.count{end}
{if negated}t.high <= 0{end}
) AS all_:term,
{end}
{end}
{if counted_bounded}coalesce((SELECT r.time FROM reports r WHERE r.group_number = g.number {each ranked}
{if of_time}{if !joined}AND{end}
{if opens}({end}
{if joined}OR{end}
{if negated}NOT{end} ({if since}r.time >= :number{end}
{if until}r.time < :number{end}
{if time}r.time BETWEEN :number AND :high{end}){end}
{end}
ORDER BY r.time DESC, r.number DESC LIMIT 1 OFFSET :counted), :since) AS time{end}
{if !counted_bounded}0 AS time{end}
LIMIT 1) a CROSS JOIN
reports r WHERE r.group_number = g.number {each counted}
{if !joined}AND{end}
{if opens}({end}
{if joined}OR{end}
{if !since !until !time}(a.all_:term > 0 OR{end}
{if negated}NOT{end}
({if since}r.time >= :number{end}
{if until}r.time < :number{end}
{if time}r.time BETWEEN :number AND :high{end}
{if signal}r.signal = :number{end}
{if release}r.release {if !wildcard}= :value{end}
{if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}
{if environment}r.environment {if !wildcard}= :value{end}
{if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}
{if signal_name}r.signal_name {if !wildcard}= :value{end}
{if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}
{if host}r.hostname {if !wildcard}= :value{end}
{if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}
{if program}(r.executable {if !wildcard}= :value{end}
{if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}
{if wildcard}OR r.executable LIKE '%/' || CAST(:pattern AS text) ESCAPE '!'){end}
{if !wildcard}OR instr(r.executable || char(10), '/' || CAST(:value AS text) || char(10)) > 0){end}{end}
{if tag}
EXISTS(SELECT 1 FROM tags t
WHERE t.report = r.number AND t.key = :tag AND t.value {if !wildcard}= :value{end}
{if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end})
{end}
{if word}
contains(:value, r.title, r.summary, r.executable, r.release, r.hostname) OR (
{if negated !wide}r.group_number IN (SELECT f.group_number FROM word_search s CROSS JOIN words w CROSS JOIN facets f
WHERE s.word_search MATCH :pattern AND w.number = s.rowid
AND f.kind >= 3 AND f.kind = w.kind AND f.value = w.value
AND (w.kind BETWEEN 11 AND 14
    OR w.kind BETWEEN 3 AND 5)) AND{end}
{end}
{if has_mark}EXISTS(SELECT 1 FROM marks m CROSS JOIN json_each(m.list) j WHERE m.report = r.number AND
{if as_is part !wildcard}contains(:value, m.list) AND{end}
{if as_is !part !wildcard}instr(m.list, CAST(:value AS text) || '"') > 0 AND{end}
{if word}substr(j.value, 1, 2) BETWEEN '11' AND '14' AND{end}
{if !word}substr(j.value, 1, 2) = ':kind' AND{end}
{if part !wildcard}contains(:value, substr(j.value, 4)){end}
{if !part}substr(j.value, 4) {if !wildcard}= :value{end}
{if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}
{if part wildcard}substr(j.value, 4) {if !wildcard}= :value{end}
{if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}
){end}
{if word}){end})
{if !since !until !time}){end}
{if closes}){end}
{end}
{if counted_bounded}AND r.time >= a.time){end}
{if !counted_bounded}){end} END FROM ({if left}SELECT CAST(CASE WHEN sum(t.low) > count(*) * g.count - g.kept{end}
{if left}THEN sum(t.low) - count(*) * g.count + g.kept ELSE 0 END AS bigint) AS low,{end}
{if !left}SELECT CAST(CASE WHEN sum(t.low) > (count(*) - 1) * g.count{end}
{if !left}THEN sum(t.low) - (count(*) - 1) * g.count ELSE 0 END AS bigint) AS low,{end}
CAST(min(t.high) AS bigint) AS high
FROM (
SELECT g.count AS low,
{if left}g.kept{end}
{if !left}g.count{end}
AS high
{each ranked}
{if !joined}UNION ALL{end}
{if opens}SELECT max(a.low) AS low, sum(a.high) AS high FROM ({end}
{if joined}UNION ALL{end}
{if negated}
SELECT CASE WHEN n.high < g.count THEN g.count - n.high ELSE 0 END AS low,
g.count - n.low AS high
FROM (
{end}
{if since}
SELECT d.reports AS low, d.reports AS high
FROM (SELECT (SELECT CAST(coalesce(sum(d.count), 0) AS bigint) FROM group_days d
WHERE d.group_number = g.number AND d.day > :day AND d.day <= :last_day)
+ (SELECT count(*) FROM reports r
WHERE r.group_number = g.number AND r.time >= :number AND r.time < :next_day)
AS reports) d
{end}
{if until}
SELECT CASE WHEN g.last_seen < :number THEN g.count ELSE 0 END AS low,
CASE WHEN g.first_seen < :number THEN g.count ELSE 0 END AS high
{end}
{if time}
SELECT CASE WHEN g.first_seen >= :number AND g.last_seen <= :high THEN g.count
ELSE 0 END AS low,
CASE WHEN g.last_seen >= :number AND g.first_seen <= :high THEN g.count
ELSE 0 END AS high
{end}
{if word}
SELECT coalesce(max(f.count), 0) AS low, g.count AS high
FROM (SELECT value, count FROM facets
WHERE group_number = g.number AND kind IN (1, 3,
5, 11, 12, 13, 14)
UNION ALL SELECT value, count FROM facets
WHERE group_number = g.number AND kind = 2 AND value = g.summary) f
WHERE contains(:value, f.value)
{end}
{if !since !until !time !word}
SELECT
{if repeats}coalesce(max(f.count), 0){end}
{if !repeats}coalesce(sum(f.count), 0){end}
AS low, coalesce(sum(f.count), 0) AS high
FROM facets f
WHERE f.group_number = g.number AND f.kind = :kind AND
{if piece}f.value IN (SELECT w.value FROM words w WHERE +w.kind = :kind
AND w.number IN (SELECT rowid FROM word_search WHERE word_search MATCH :piece)) AND{end}
{if program}(f.value {if !wildcard}= :value{end}
{if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}
{if wildcard}OR f.value LIKE '%/' || CAST(:pattern AS text) ESCAPE '!'){end}
{if !wildcard}OR instr(f.value || char(10), '/' || CAST(:value AS text) || char(10)) > 0){end}{end}
{if tag !wildcard}f.value = CAST(:tag AS text) || char(10) || CAST(:value AS text){end}
{if tag wildcard}
substr(f.value, 1, length(CAST(:tag AS text)) + 1) = CAST(:tag AS text) || char(10)
AND substr(f.value, length(CAST(:tag AS text)) + 2) {if !wildcard}= :value{end}
{if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}
{end}
{if signal}f.value = CAST(:number AS text){end}
{if part !wildcard}contains(:value, f.value){end}
{if part wildcard}f.value {if !wildcard}= :value{end}
{if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}
{if whole}f.value {if !wildcard}= :value{end}
{if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}
{end}
{if negated}) n{end}
{if closes}) a{end}
{end}
) t) b)
{end}{end}
AS filtered,
{if counts_sort by_machines}h.place{end}
{if counts_sort !by_machines}{if !narrowed}g.machines{end}
{if narrowed}
(SELECT CASE WHEN b.low >= g.count AND g.kept = g.count THEN g.machines ELSE
(SELECT count(DISTINCT c.hostname) FROM (SELECT r.number, r.hostname FROM
(SELECT {each ranked}
{if !since !until !time}
(SELECT count(*) FROM ({if since}
SELECT d.reports AS low, d.reports AS high
FROM (SELECT (SELECT CAST(coalesce(sum(d.count), 0) AS bigint) FROM group_days d
WHERE d.group_number = g.number AND d.day > :day AND d.day <= :last_day)
+ (SELECT count(*) FROM reports r
WHERE r.group_number = g.number AND r.time >= :number AND r.time < :next_day)
AS reports) d
{end}
{if until}
SELECT CASE WHEN g.last_seen < :number THEN g.count ELSE 0 END AS low,
CASE WHEN g.first_seen < :number THEN g.count ELSE 0 END AS high
{end}
{if time}
SELECT CASE WHEN g.first_seen >= :number AND g.last_seen <= :high THEN g.count
ELSE 0 END AS low,
CASE WHEN g.last_seen >= :number AND g.first_seen <= :high THEN g.count
ELSE 0 END AS high
{end}
{if word}
SELECT coalesce(max(f.count), 0) AS low, g.count AS high
FROM (SELECT value, count FROM facets
WHERE group_number = g.number AND kind IN (1, 3,
5, 11, 12, 13, 14)
UNION ALL SELECT value, count FROM facets
WHERE group_number = g.number AND kind = 2 AND value = g.summary) f
WHERE contains(:value, f.value)
{end}
{if !since !until !time !word}
SELECT
{if repeats}coalesce(max(f.count), 0){end}
{if !repeats}coalesce(sum(f.count), 0){end}
AS low, coalesce(sum(f.count), 0) AS high
FROM facets f
WHERE f.group_number = g.number AND f.kind = :kind AND
{if piece}f.value IN (SELECT w.value FROM words w WHERE +w.kind = :kind
AND w.number IN (SELECT rowid FROM word_search WHERE word_search MATCH :piece)) AND{end}
{if program}(f.value {if !wildcard}= :value{end}
{if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}
{if wildcard}OR f.value LIKE '%/' || CAST(:pattern AS text) ESCAPE '!'){end}
{if !wildcard}OR instr(f.value || char(10), '/' || CAST(:value AS text) || char(10)) > 0){end}{end}
{if tag !wildcard}f.value = CAST(:tag AS text) || char(10) || CAST(:value AS text){end}
{if tag wildcard}
substr(f.value, 1, length(CAST(:tag AS text)) + 1) = CAST(:tag AS text) || char(10)
AND substr(f.value, length(CAST(:tag AS text)) + 2) {if !wildcard}= :value{end}
{if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}
{end}
{if signal}f.value = CAST(:number AS text){end}
{if part !wildcard}contains(:value, f.value){end}
{if part wildcard}f.value {if !wildcard}= :value{end}
{if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}
{if whole}f.value {if !wildcard}= :value{end}
{if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}
{end}) t WHERE
{if !negated}t.low >= g.count{end}
{if negated}t.high <= 0{end}
) AS all_:term,
{end}
{end}
{if large}coalesce((SELECT r.time FROM reports r WHERE r.group_number = g.number {each ranked}
{if of_time}{if !joined}AND{end}
{if opens}({end}
{if joined}OR{end}
{if negated}NOT{end} ({if since}r.time >= :number{end}
{if until}r.time < :number{end}
{if time}r.time BETWEEN :number AND :high{end}){end}
{end}
ORDER BY r.time DESC, r.number DESC LIMIT 1 OFFSET :counted), :since) AS time{end}
{if !large}0 AS time{end}
LIMIT 1) a CROSS JOIN
reports r WHERE r.group_number = g.number {each ranked}
{if !joined}AND{end}
{if opens}({end}
{if joined}OR{end}
{if !since !until !time}(a.all_:term > 0 OR{end}
{if negated}NOT{end}
({if since}r.time >= :number{end}
{if until}r.time < :number{end}
{if time}r.time BETWEEN :number AND :high{end}
{if signal}r.signal = :number{end}
{if release}r.release {if !wildcard}= :value{end}
{if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}
{if environment}r.environment {if !wildcard}= :value{end}
{if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}
{if signal_name}r.signal_name {if !wildcard}= :value{end}
{if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}
{if host}r.hostname {if !wildcard}= :value{end}
{if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}
{if program}(r.executable {if !wildcard}= :value{end}
{if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}
{if wildcard}OR r.executable LIKE '%/' || CAST(:pattern AS text) ESCAPE '!'){end}
{if !wildcard}OR instr(r.executable || char(10), '/' || CAST(:value AS text) || char(10)) > 0){end}{end}
{if tag}
EXISTS(SELECT 1 FROM tags t
WHERE t.report = r.number AND t.key = :tag AND t.value {if !wildcard}= :value{end}
{if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end})
{end}
{if word}
contains(:value, r.title, r.summary, r.executable, r.release, r.hostname) OR (
{if negated !wide}r.group_number IN (SELECT f.group_number FROM word_search s CROSS JOIN words w CROSS JOIN facets f
WHERE s.word_search MATCH :pattern AND w.number = s.rowid
AND f.kind >= 3 AND f.kind = w.kind AND f.value = w.value
AND (w.kind BETWEEN 11 AND 14
OR w.kind BETWEEN 3 AND 5)) AND{end}
{end}
{if has_mark}EXISTS(SELECT 1 FROM marks m CROSS JOIN json_each(m.list) j WHERE m.report = r.number AND
{if as_is part !wildcard}contains(:value, m.list) AND{end}
{if as_is !part !wildcard}instr(m.list, CAST(:value AS text) || '"') > 0 AND{end}
{if word}substr(j.value, 1, 2) BETWEEN '11' AND '14' AND{end}
{if !word}substr(j.value, 1, 2) = ':kind' AND{end}
{if part !wildcard}contains(:value, substr(j.value, 4)){end}
{if !part}substr(j.value, 4) {if !wildcard}= :value{end}
{if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}
{if part wildcard}substr(j.value, 4) {if !wildcard}= :value{end}
{if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}
){end}
{if word}){end})
{if !since !until !time}){end}
{if closes}){end}
{end}
{if large}AND r.time >= a.time{end}) c WHERE c.hostname <> '')
END FROM ({if left}SELECT CAST(CASE WHEN sum(t.low) > count(*) * g.count - g.kept{end}
{if left}THEN sum(t.low) - count(*) * g.count + g.kept ELSE 0 END AS bigint) AS low,{end}
{if !left}SELECT CAST(CASE WHEN sum(t.low) > (count(*) - 1) * g.count{end}
{if !left}THEN sum(t.low) - (count(*) - 1) * g.count ELSE 0 END AS bigint) AS low,{end}
CAST(min(t.high) AS bigint) AS high
FROM (
SELECT g.count AS low,
{if left}g.kept{end}
{if !left}g.count{end}
AS high
{each ranked}
{if !joined}UNION ALL{end}
{if opens}SELECT max(a.low) AS low, sum(a.high) AS high FROM ({end}
{if joined}UNION ALL{end}
{if negated}
SELECT CASE WHEN n.high < g.count THEN g.count - n.high ELSE 0 END AS low,
g.count - n.low AS high
FROM (
{end}
{if since}
SELECT d.reports AS low, d.reports AS high
FROM (SELECT (SELECT CAST(coalesce(sum(d.count), 0) AS bigint) FROM group_days d
WHERE d.group_number = g.number AND d.day > :day AND d.day <= :last_day)
+ (SELECT count(*) FROM reports r
WHERE r.group_number = g.number AND r.time >= :number AND r.time < :next_day)
AS reports) d
{end}
{if until}
SELECT CASE WHEN g.last_seen < :number THEN g.count ELSE 0 END AS low,
CASE WHEN g.first_seen < :number THEN g.count ELSE 0 END AS high
{end}
{if time}
SELECT CASE WHEN g.first_seen >= :number AND g.last_seen <= :high THEN g.count
ELSE 0 END AS low,
CASE WHEN g.last_seen >= :number AND g.first_seen <= :high THEN g.count
ELSE 0 END AS high
{end}
{if word}
SELECT coalesce(max(f.count), 0) AS low, g.count AS high
FROM (SELECT value, count FROM facets
WHERE group_number = g.number AND kind IN (1, 3,
5, 11, 12, 13, 14)
UNION ALL SELECT value, count FROM facets
WHERE group_number = g.number AND kind = 2 AND value = g.summary) f
WHERE contains(:value, f.value)
{end}
{if !since !until !time !word}
SELECT
{if repeats}coalesce(max(f.count), 0){end}
{if !repeats}coalesce(sum(f.count), 0){end}
AS low, coalesce(sum(f.count), 0) AS high
FROM facets f
WHERE f.group_number = g.number AND f.kind = :kind AND
{if piece}f.value IN (SELECT w.value FROM words w WHERE +w.kind = :kind
AND w.number IN (SELECT rowid FROM word_search WHERE word_search MATCH :piece)) AND{end}
{if program}(f.value {if !wildcard}= :value{end}
{if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}
{if wildcard}OR f.value LIKE '%/' || CAST(:pattern AS text) ESCAPE '!'){end}
{if !wildcard}OR instr(f.value || char(10), '/' || CAST(:value AS text) || char(10)) > 0){end}{end}
{if tag !wildcard}f.value = CAST(:tag AS text) || char(10) || CAST(:value AS text){end}
{if tag wildcard}
substr(f.value, 1, length(CAST(:tag AS text)) + 1) = CAST(:tag AS text) || char(10)
AND substr(f.value, length(CAST(:tag AS text)) + 2) {if !wildcard}= :value{end}
{if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}
{end}
{if signal}f.value = CAST(:number AS text){end}
{if part !wildcard}contains(:value, f.value){end}
{if part wildcard}f.value {if !wildcard}= :value{end}
{if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}
{if whole}f.value {if !wildcard}= :value{end}
{if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}
{end}
{if negated}) n{end}
{if closes}) a{end}
{end}
) t) b)
{end}{end}
{if !counts_sort}{if !narrowed}g.machines{end}
{if narrowed}
(SELECT CASE WHEN b.low >= g.count AND g.kept = g.count THEN g.machines ELSE
(SELECT count(DISTINCT c.hostname) FROM (SELECT r.number, r.hostname FROM
(SELECT {each ranked}
{if !since !until !time}
(SELECT count(*) FROM ({if since}
SELECT d.reports AS low, d.reports AS high
FROM (SELECT (SELECT CAST(coalesce(sum(d.count), 0) AS bigint) FROM group_days d
WHERE d.group_number = g.number AND d.day > :day AND d.day <= :last_day)
+ (SELECT count(*) FROM reports r
WHERE r.group_number = g.number AND r.time >= :number AND r.time < :next_day)
AS reports) d
{end}
{if until}
SELECT CASE WHEN g.last_seen < :number THEN g.count ELSE 0 END AS low,
CASE WHEN g.first_seen < :number THEN g.count ELSE 0 END AS high
{end}
{if time}
SELECT CASE WHEN g.first_seen >= :number AND g.last_seen <= :high THEN g.count
ELSE 0 END AS low,
CASE WHEN g.last_seen >= :number AND g.first_seen <= :high THEN g.count
ELSE 0 END AS high
{end}
{if word}
SELECT coalesce(max(f.count), 0) AS low, g.count AS high
FROM (SELECT value, count FROM facets
WHERE group_number = g.number AND kind IN (1, 3,
5, 11, 12, 13, 14)
UNION ALL SELECT value, count FROM facets
WHERE group_number = g.number AND kind = 2 AND value = g.summary) f
WHERE contains(:value, f.value)
{end}
{if !since !until !time !word}
SELECT
{if repeats}coalesce(max(f.count), 0){end}
{if !repeats}coalesce(sum(f.count), 0){end}
AS low, coalesce(sum(f.count), 0) AS high
FROM facets f
WHERE f.group_number = g.number AND f.kind = :kind AND
{if piece}f.value IN (SELECT w.value FROM words w WHERE +w.kind = :kind
AND w.number IN (SELECT rowid FROM word_search WHERE word_search MATCH :piece)) AND{end}
{if program}(f.value {if !wildcard}= :value{end}
{if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}
{if wildcard}OR f.value LIKE '%/' || CAST(:pattern AS text) ESCAPE '!'){end}
{if !wildcard}OR instr(f.value || char(10), '/' || CAST(:value AS text) || char(10)) > 0){end}{end}
{if tag !wildcard}f.value = CAST(:tag AS text) || char(10) || CAST(:value AS text){end}
{if tag wildcard}
substr(f.value, 1, length(CAST(:tag AS text)) + 1) = CAST(:tag AS text) || char(10)
AND substr(f.value, length(CAST(:tag AS text)) + 2) {if !wildcard}= :value{end}
{if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}
{end}
{if signal}f.value = CAST(:number AS text){end}
{if part !wildcard}contains(:value, f.value){end}
{if part wildcard}f.value {if !wildcard}= :value{end}
{if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}
{if whole}f.value {if !wildcard}= :value{end}
{if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}
{end}) t WHERE
{if !negated}t.low >= g.count{end}
{if negated}t.high <= 0{end}
) AS all_:term,
{end}
{end}
{if large}coalesce((SELECT r.time FROM reports r WHERE r.group_number = g.number {each ranked}
{if of_time}{if !joined}AND{end}
{if opens}({end}
{if joined}OR{end}
{if negated}NOT{end} ({if since}r.time >= :number{end}
{if until}r.time < :number{end}
{if time}r.time BETWEEN :number AND :high{end}){end}
{end}
ORDER BY r.time DESC, r.number DESC LIMIT 1 OFFSET :counted), :since) AS time{end}
{if !large}0 AS time{end}
LIMIT 1) a CROSS JOIN
reports r WHERE r.group_number = g.number {each ranked}
{if !joined}AND{end}
{if opens}({end}
{if joined}OR{end}
{if !since !until !time}(a.all_:term > 0 OR{end}
{if negated}NOT{end}
({if since}r.time >= :number{end}
{if until}r.time < :number{end}
{if time}r.time BETWEEN :number AND :high{end}
{if signal}r.signal = :number{end}
{if release}r.release {if !wildcard}= :value{end}
{if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}
{if environment}r.environment {if !wildcard}= :value{end}
{if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}
{if signal_name}r.signal_name {if !wildcard}= :value{end}
{if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}
{if host}r.hostname {if !wildcard}= :value{end}
{if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}
{if program}(r.executable {if !wildcard}= :value{end}
{if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}
{if wildcard}OR r.executable LIKE '%/' || CAST(:pattern AS text) ESCAPE '!'){end}
{if !wildcard}OR instr(r.executable || char(10), '/' || CAST(:value AS text) || char(10)) > 0){end}{end}
{if tag}
EXISTS(SELECT 1 FROM tags t
WHERE t.report = r.number AND t.key = :tag AND t.value {if !wildcard}= :value{end}
{if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end})
{end}
{if word}
contains(:value, r.title, r.summary, r.executable, r.release, r.hostname) OR (
{if negated !wide}r.group_number IN (SELECT f.group_number FROM word_search s CROSS JOIN words w CROSS JOIN facets f
WHERE s.word_search MATCH :pattern AND w.number = s.rowid
AND f.kind >= 3 AND f.kind = w.kind AND f.value = w.value
AND (w.kind BETWEEN 11 AND 14
OR w.kind BETWEEN 3 AND 5)) AND{end}
{end}
{if has_mark}EXISTS(SELECT 1 FROM marks m CROSS JOIN json_each(m.list) j WHERE m.report = r.number AND
{if as_is part !wildcard}contains(:value, m.list) AND{end}
{if as_is !part !wildcard}instr(m.list, CAST(:value AS text) || '"') > 0 AND{end}
{if word}substr(j.value, 1, 2) BETWEEN '11' AND '14' AND{end}
{if !word}substr(j.value, 1, 2) = ':kind' AND{end}
{if part !wildcard}contains(:value, substr(j.value, 4)){end}
{if !part}substr(j.value, 4) {if !wildcard}= :value{end}
{if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}
{if part wildcard}substr(j.value, 4) {if !wildcard}= :value{end}
{if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}
){end}
{if word}){end})
{if !since !until !time}){end}
{if closes}){end}
{end}
{if large}AND r.time >= a.time{end}) c WHERE c.hostname <> '')
END FROM ({if left}SELECT CAST(CASE WHEN sum(t.low) > count(*) * g.count - g.kept{end}
{if left}THEN sum(t.low) - count(*) * g.count + g.kept ELSE 0 END AS bigint) AS low,{end}
{if !left}SELECT CAST(CASE WHEN sum(t.low) > (count(*) - 1) * g.count{end}
{if !left}THEN sum(t.low) - (count(*) - 1) * g.count ELSE 0 END AS bigint) AS low,{end}
CAST(min(t.high) AS bigint) AS high
FROM (
SELECT g.count AS low,
{if left}g.kept{end}
{if !left}g.count{end}
AS high
{each ranked}
{if !joined}UNION ALL{end}
{if opens}SELECT max(a.low) AS low, sum(a.high) AS high FROM ({end}
{if joined}UNION ALL{end}
{if negated}
SELECT CASE WHEN n.high < g.count THEN g.count - n.high ELSE 0 END AS low,
g.count - n.low AS high
FROM (
{end}
{if since}
SELECT d.reports AS low, d.reports AS high
FROM (SELECT (SELECT CAST(coalesce(sum(d.count), 0) AS bigint) FROM group_days d
WHERE d.group_number = g.number AND d.day > :day AND d.day <= :last_day)
+ (SELECT count(*) FROM reports r
WHERE r.group_number = g.number AND r.time >= :number AND r.time < :next_day)
AS reports) d
{end}
{if until}
SELECT CASE WHEN g.last_seen < :number THEN g.count ELSE 0 END AS low,
CASE WHEN g.first_seen < :number THEN g.count ELSE 0 END AS high
{end}
{if time}
SELECT CASE WHEN g.first_seen >= :number AND g.last_seen <= :high THEN g.count
ELSE 0 END AS low,
CASE WHEN g.last_seen >= :number AND g.first_seen <= :high THEN g.count
ELSE 0 END AS high
{end}
{if word}
SELECT coalesce(max(f.count), 0) AS low, g.count AS high
FROM (SELECT value, count FROM facets
WHERE group_number = g.number AND kind IN (1, 3,
5, 11, 12, 13, 14)
UNION ALL SELECT value, count FROM facets
WHERE group_number = g.number AND kind = 2 AND value = g.summary) f
WHERE contains(:value, f.value)
{end}
{if !since !until !time !word}
SELECT
{if repeats}coalesce(max(f.count), 0){end}
{if !repeats}coalesce(sum(f.count), 0){end}
AS low, coalesce(sum(f.count), 0) AS high
FROM facets f
WHERE f.group_number = g.number AND f.kind = :kind AND
{if piece}f.value IN (SELECT w.value FROM words w WHERE +w.kind = :kind
AND w.number IN (SELECT rowid FROM word_search WHERE word_search MATCH :piece)) AND{end}
{if program}(f.value {if !wildcard}= :value{end}
{if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}
{if wildcard}OR f.value LIKE '%/' || CAST(:pattern AS text) ESCAPE '!'){end}
{if !wildcard}OR instr(f.value || char(10), '/' || CAST(:value AS text) || char(10)) > 0){end}{end}
{if tag !wildcard}f.value = CAST(:tag AS text) || char(10) || CAST(:value AS text){end}
{if tag wildcard}
substr(f.value, 1, length(CAST(:tag AS text)) + 1) = CAST(:tag AS text) || char(10)
AND substr(f.value, length(CAST(:tag AS text)) + 2) {if !wildcard}= :value{end}
{if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}
{end}
{if signal}f.value = CAST(:number AS text){end}
{if part !wildcard}contains(:value, f.value){end}
{if part wildcard}f.value {if !wildcard}= :value{end}
{if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}
{if whole}f.value {if !wildcard}= :value{end}
{if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}
{end}
{if negated}) n{end}
{if closes}) a{end}
{end}
) t) b)
{end}{end}
AS filtered_machines,
{if !narrowed}g.users{end}
{if narrowed}
CASE WHEN g.users = 0 THEN 0 ELSE
(SELECT CASE WHEN b.low >= g.count AND g.kept = g.count THEN g.users ELSE
(SELECT count(DISTINCT t.value)
FROM (SELECT r.number, r.hostname FROM
(SELECT {each ranked}
{if !since !until !time}
(SELECT count(*) FROM ({if since}
SELECT d.reports AS low, d.reports AS high
FROM (SELECT (SELECT CAST(coalesce(sum(d.count), 0) AS bigint) FROM group_days d
WHERE d.group_number = g.number AND d.day > :day AND d.day <= :last_day)
+ (SELECT count(*) FROM reports r
WHERE r.group_number = g.number AND r.time >= :number AND r.time < :next_day)
AS reports) d
{end}
{if until}
SELECT CASE WHEN g.last_seen < :number THEN g.count ELSE 0 END AS low,
CASE WHEN g.first_seen < :number THEN g.count ELSE 0 END AS high
{end}
{if time}
SELECT CASE WHEN g.first_seen >= :number AND g.last_seen <= :high THEN g.count
ELSE 0 END AS low,
CASE WHEN g.last_seen >= :number AND g.first_seen <= :high THEN g.count
ELSE 0 END AS high
{end}
{if word}
SELECT coalesce(max(f.count), 0) AS low, g.count AS high
FROM (SELECT value, count FROM facets
WHERE group_number = g.number AND kind IN (1, 3,
5, 11, 12, 13, 14)
UNION ALL SELECT value, count FROM facets
WHERE group_number = g.number AND kind = 2 AND value = g.summary) f
WHERE contains(:value, f.value)
{end}
{if !since !until !time !word}
SELECT
{if repeats}coalesce(max(f.count), 0){end}
{if !repeats}coalesce(sum(f.count), 0){end}
AS low, coalesce(sum(f.count), 0) AS high
FROM facets f
WHERE f.group_number = g.number AND f.kind = :kind AND
{if piece}f.value IN (SELECT w.value FROM words w WHERE +w.kind = :kind
AND w.number IN (SELECT rowid FROM word_search WHERE word_search MATCH :piece)) AND{end}
{if program}(f.value {if !wildcard}= :value{end}
{if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}
{if wildcard}OR f.value LIKE '%/' || CAST(:pattern AS text) ESCAPE '!'){end}
{if !wildcard}OR instr(f.value || char(10), '/' || CAST(:value AS text) || char(10)) > 0){end}{end}
{if tag !wildcard}f.value = CAST(:tag AS text) || char(10) || CAST(:value AS text){end}
{if tag wildcard}
substr(f.value, 1, length(CAST(:tag AS text)) + 1) = CAST(:tag AS text) || char(10)
AND substr(f.value, length(CAST(:tag AS text)) + 2) {if !wildcard}= :value{end}
{if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}
{end}
{if signal}f.value = CAST(:number AS text){end}
{if part !wildcard}contains(:value, f.value){end}
{if part wildcard}f.value {if !wildcard}= :value{end}
{if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}
{if whole}f.value {if !wildcard}= :value{end}
{if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}
{end}) t WHERE
{if !negated}t.low >= g.count{end}
{if negated}t.high <= 0{end}
) AS all_:term,
{end}
{end}
{if large}coalesce((SELECT r.time FROM reports r WHERE r.group_number = g.number {each ranked}
{if of_time}{if !joined}AND{end}
{if opens}({end}
{if joined}OR{end}
{if negated}NOT{end} ({if since}r.time >= :number{end}
{if until}r.time < :number{end}
{if time}r.time BETWEEN :number AND :high{end}){end}
{end}
ORDER BY r.time DESC, r.number DESC LIMIT 1 OFFSET :counted), :since) AS time{end}
{if !large}0 AS time{end}
LIMIT 1) a CROSS JOIN
reports r WHERE r.group_number = g.number {each ranked}
{if !joined}AND{end}
{if opens}({end}
{if joined}OR{end}
{if !since !until !time}(a.all_:term > 0 OR{end}
{if negated}NOT{end}
({if since}r.time >= :number{end}
{if until}r.time < :number{end}
{if time}r.time BETWEEN :number AND :high{end}
{if signal}r.signal = :number{end}
{if release}r.release {if !wildcard}= :value{end}
{if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}
{if environment}r.environment {if !wildcard}= :value{end}
{if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}
{if signal_name}r.signal_name {if !wildcard}= :value{end}
{if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}
{if host}r.hostname {if !wildcard}= :value{end}
{if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}
{if program}(r.executable {if !wildcard}= :value{end}
{if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}
{if wildcard}OR r.executable LIKE '%/' || CAST(:pattern AS text) ESCAPE '!'){end}
{if !wildcard}OR instr(r.executable || char(10), '/' || CAST(:value AS text) || char(10)) > 0){end}{end}
{if tag}
EXISTS(SELECT 1 FROM tags t
WHERE t.report = r.number AND t.key = :tag AND t.value {if !wildcard}= :value{end}
{if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end})
{end}
{if word}
contains(:value, r.title, r.summary, r.executable, r.release, r.hostname) OR (
{if negated !wide}r.group_number IN (SELECT f.group_number FROM word_search s CROSS JOIN words w CROSS JOIN facets f
WHERE s.word_search MATCH :pattern AND w.number = s.rowid
AND f.kind >= 3 AND f.kind = w.kind AND f.value = w.value
AND (w.kind BETWEEN 11 AND 14
OR w.kind BETWEEN 3 AND 5)) AND{end}
{end}
{if has_mark}EXISTS(SELECT 1 FROM marks m CROSS JOIN json_each(m.list) j WHERE m.report = r.number AND
{if as_is part !wildcard}contains(:value, m.list) AND{end}
{if as_is !part !wildcard}instr(m.list, CAST(:value AS text) || '"') > 0 AND{end}
{if word}substr(j.value, 1, 2) BETWEEN '11' AND '14' AND{end}
{if !word}substr(j.value, 1, 2) = ':kind' AND{end}
{if part !wildcard}contains(:value, substr(j.value, 4)){end}
{if !part}substr(j.value, 4) {if !wildcard}= :value{end}
{if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}
{if part wildcard}substr(j.value, 4) {if !wildcard}= :value{end}
{if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}
){end}
{if word}){end})
{if !since !until !time}){end}
{if closes}){end}
{end}
{if large}AND r.time >= a.time{end}) c JOIN tags t ON t.report = c.number AND t.key = 'user')
END FROM ({if left}SELECT CAST(CASE WHEN sum(t.low) > count(*) * g.count - g.kept{end}
{if left}THEN sum(t.low) - count(*) * g.count + g.kept ELSE 0 END AS bigint) AS low,{end}
{if !left}SELECT CAST(CASE WHEN sum(t.low) > (count(*) - 1) * g.count{end}
{if !left}THEN sum(t.low) - (count(*) - 1) * g.count ELSE 0 END AS bigint) AS low,{end}
CAST(min(t.high) AS bigint) AS high
FROM (
SELECT g.count AS low,
{if left}g.kept{end}
{if !left}g.count{end}
AS high
{each ranked}
{if !joined}UNION ALL{end}
{if opens}SELECT max(a.low) AS low, sum(a.high) AS high FROM ({end}
{if joined}UNION ALL{end}
{if negated}
SELECT CASE WHEN n.high < g.count THEN g.count - n.high ELSE 0 END AS low,
g.count - n.low AS high
FROM (
{end}
{if since}
SELECT d.reports AS low, d.reports AS high
FROM (SELECT (SELECT CAST(coalesce(sum(d.count), 0) AS bigint) FROM group_days d
WHERE d.group_number = g.number AND d.day > :day AND d.day <= :last_day)
+ (SELECT count(*) FROM reports r
WHERE r.group_number = g.number AND r.time >= :number AND r.time < :next_day)
AS reports) d
{end}
{if until}
SELECT CASE WHEN g.last_seen < :number THEN g.count ELSE 0 END AS low,
CASE WHEN g.first_seen < :number THEN g.count ELSE 0 END AS high
{end}
{if time}
SELECT CASE WHEN g.first_seen >= :number AND g.last_seen <= :high THEN g.count
ELSE 0 END AS low,
CASE WHEN g.last_seen >= :number AND g.first_seen <= :high THEN g.count
ELSE 0 END AS high
{end}
{if word}
SELECT coalesce(max(f.count), 0) AS low, g.count AS high
FROM (SELECT value, count FROM facets
WHERE group_number = g.number AND kind IN (1, 3,
5, 11, 12, 13, 14)
UNION ALL SELECT value, count FROM facets
WHERE group_number = g.number AND kind = 2 AND value = g.summary) f
WHERE contains(:value, f.value)
{end}
{if !since !until !time !word}
SELECT
{if repeats}coalesce(max(f.count), 0){end}
{if !repeats}coalesce(sum(f.count), 0){end}
AS low, coalesce(sum(f.count), 0) AS high
FROM facets f
WHERE f.group_number = g.number AND f.kind = :kind AND
{if piece}f.value IN (SELECT w.value FROM words w WHERE +w.kind = :kind
AND w.number IN (SELECT rowid FROM word_search WHERE word_search MATCH :piece)) AND{end}
{if program}(f.value {if !wildcard}= :value{end}
{if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}
{if wildcard}OR f.value LIKE '%/' || CAST(:pattern AS text) ESCAPE '!'){end}
{if !wildcard}OR instr(f.value || char(10), '/' || CAST(:value AS text) || char(10)) > 0){end}{end}
{if tag !wildcard}f.value = CAST(:tag AS text) || char(10) || CAST(:value AS text){end}
{if tag wildcard}
substr(f.value, 1, length(CAST(:tag AS text)) + 1) = CAST(:tag AS text) || char(10)
AND substr(f.value, length(CAST(:tag AS text)) + 2) {if !wildcard}= :value{end}
{if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}
{end}
{if signal}f.value = CAST(:number AS text){end}
{if part !wildcard}contains(:value, f.value){end}
{if part wildcard}f.value {if !wildcard}= :value{end}
{if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}
{if whole}f.value {if !wildcard}= :value{end}
{if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}
{end}
{if negated}) n{end}
{if closes}) a{end}
{end}
) t) b) END
{end} AS filtered_users,
{if !counted_bounded}0{end}
{if counted_bounded}
(SELECT CASE WHEN b.low >= b.high THEN 0 ELSE
(SELECT count(*)
FROM (SELECT 1 FROM reports r WHERE r.group_number = g.number {each ranked}
{if of_time}{if !joined}AND{end}
{if opens}({end}
{if joined}OR{end}
{if negated}NOT{end} ({if since}r.time >= :number{end}
{if until}r.time < :number{end}
{if time}r.time BETWEEN :number AND :high{end}){end}
{end}
AND r.time < coalesce((SELECT r.time FROM reports r WHERE r.group_number = g.number {each ranked}
{if of_time}{if !joined}AND{end}
{if opens}({end}
{if joined}OR{end}
{if negated}NOT{end} ({if since}r.time >= :number{end}
{if until}r.time < :number{end}
{if time}r.time BETWEEN :number AND :high{end}){end}
{end}
ORDER BY r.time DESC, r.number DESC LIMIT 1 OFFSET :counted), :ever) LIMIT 1) c)
END FROM ({if left}SELECT CAST(CASE WHEN sum(t.low) > count(*) * g.count - g.kept{end}
{if left}THEN sum(t.low) - count(*) * g.count + g.kept ELSE 0 END AS bigint) AS low,{end}
{if !left}SELECT CAST(CASE WHEN sum(t.low) > (count(*) - 1) * g.count{end}
{if !left}THEN sum(t.low) - (count(*) - 1) * g.count ELSE 0 END AS bigint) AS low,{end}
CAST(min(t.high) AS bigint) AS high
FROM (
SELECT g.count AS low,
{if left}g.kept{end}
{if !left}g.count{end}
AS high
{each ranked}
{if !joined}UNION ALL{end}
{if opens}SELECT max(a.low) AS low, sum(a.high) AS high FROM ({end}
{if joined}UNION ALL{end}
{if negated}
SELECT CASE WHEN n.high < g.count THEN g.count - n.high ELSE 0 END AS low,
g.count - n.low AS high
FROM (
{end}
{if since}
SELECT d.reports AS low, d.reports AS high
FROM (SELECT (SELECT CAST(coalesce(sum(d.count), 0) AS bigint) FROM group_days d
WHERE d.group_number = g.number AND d.day > :day AND d.day <= :last_day)
+ (SELECT count(*) FROM reports r
WHERE r.group_number = g.number AND r.time >= :number AND r.time < :next_day)
AS reports) d
{end}
{if until}
SELECT CASE WHEN g.last_seen < :number THEN g.count ELSE 0 END AS low,
CASE WHEN g.first_seen < :number THEN g.count ELSE 0 END AS high
{end}
{if time}
SELECT CASE WHEN g.first_seen >= :number AND g.last_seen <= :high THEN g.count
ELSE 0 END AS low,
CASE WHEN g.last_seen >= :number AND g.first_seen <= :high THEN g.count
ELSE 0 END AS high
{end}
{if word}
SELECT coalesce(max(f.count), 0) AS low, g.count AS high
FROM (SELECT value, count FROM facets
WHERE group_number = g.number AND kind IN (1, 3,
5, 11, 12, 13, 14)
UNION ALL SELECT value, count FROM facets
WHERE group_number = g.number AND kind = 2 AND value = g.summary) f
WHERE contains(:value, f.value)
{end}
{if !since !until !time !word}
SELECT
{if repeats}coalesce(max(f.count), 0){end}
{if !repeats}coalesce(sum(f.count), 0){end}
AS low, coalesce(sum(f.count), 0) AS high
FROM facets f
WHERE f.group_number = g.number AND f.kind = :kind AND
{if piece}f.value IN (SELECT w.value FROM words w WHERE +w.kind = :kind
AND w.number IN (SELECT rowid FROM word_search WHERE word_search MATCH :piece)) AND{end}
{if program}(f.value {if !wildcard}= :value{end}
{if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}
{if wildcard}OR f.value LIKE '%/' || CAST(:pattern AS text) ESCAPE '!'){end}
{if !wildcard}OR instr(f.value || char(10), '/' || CAST(:value AS text) || char(10)) > 0){end}{end}
{if tag !wildcard}f.value = CAST(:tag AS text) || char(10) || CAST(:value AS text){end}
{if tag wildcard}
substr(f.value, 1, length(CAST(:tag AS text)) + 1) = CAST(:tag AS text) || char(10)
AND substr(f.value, length(CAST(:tag AS text)) + 2) {if !wildcard}= :value{end}
{if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}
{end}
{if signal}f.value = CAST(:number AS text){end}
{if part !wildcard}contains(:value, f.value){end}
{if part wildcard}f.value {if !wildcard}= :value{end}
{if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}
{if whole}f.value {if !wildcard}= :value{end}
{if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}
{end}
{if negated}) n{end}
{if closes}) a{end}
{end}
) t) b)
{end} AS cut,
{if counted}(SELECT count(*) FROM hit){end}
{if !counted}0{end}
AS found
FROM (
SELECT number, place
{if !counts_sort}FROM hit{end}
{if counts_sort}
FROM (SELECT g.number AS number,
{if by_count}{if !narrowed}g.count{end}
{if narrowed}
(SELECT CASE WHEN b.low >= b.high THEN b.high ELSE (SELECT count(*) FROM
(SELECT {each ranked}
{if !since !until !time}
(SELECT count(*) FROM ({if since}
SELECT d.reports AS low, d.reports AS high
FROM (SELECT (SELECT CAST(coalesce(sum(d.count), 0) AS bigint) FROM group_days d
WHERE d.group_number = g.number AND d.day > :day AND d.day <= :last_day)
+ (SELECT count(*) FROM reports r
WHERE r.group_number = g.number AND r.time >= :number AND r.time < :next_day)
AS reports) d
{end}
{if until}
SELECT CASE WHEN g.last_seen < :number THEN g.count ELSE 0 END AS low,
CASE WHEN g.first_seen < :number THEN g.count ELSE 0 END AS high
{end}
{if time}
SELECT CASE WHEN g.first_seen >= :number AND g.last_seen <= :high THEN g.count
ELSE 0 END AS low,
CASE WHEN g.last_seen >= :number AND g.first_seen <= :high THEN g.count
ELSE 0 END AS high
{end}
{if word}
SELECT coalesce(max(f.count), 0) AS low, g.count AS high
FROM (SELECT value, count FROM facets
WHERE group_number = g.number AND kind IN (1, 3,
5, 11, 12, 13, 14)
UNION ALL SELECT value, count FROM facets
WHERE group_number = g.number AND kind = 2 AND value = g.summary) f
WHERE contains(:value, f.value)
{end}
{if !since !until !time !word}
SELECT
{if repeats}coalesce(max(f.count), 0){end}
{if !repeats}coalesce(sum(f.count), 0){end}
AS low, coalesce(sum(f.count), 0) AS high
FROM facets f
WHERE f.group_number = g.number AND f.kind = :kind AND
{if piece}f.value IN (SELECT w.value FROM words w WHERE +w.kind = :kind
AND w.number IN (SELECT rowid FROM word_search WHERE word_search MATCH :piece)) AND{end}
{if program}(f.value {if !wildcard}= :value{end}
{if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}
{if wildcard}OR f.value LIKE '%/' || CAST(:pattern AS text) ESCAPE '!'){end}
{if !wildcard}OR instr(f.value || char(10), '/' || CAST(:value AS text) || char(10)) > 0){end}{end}
{if tag !wildcard}f.value = CAST(:tag AS text) || char(10) || CAST(:value AS text){end}
{if tag wildcard}
substr(f.value, 1, length(CAST(:tag AS text)) + 1) = CAST(:tag AS text) || char(10)
AND substr(f.value, length(CAST(:tag AS text)) + 2) {if !wildcard}= :value{end}
{if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}
{end}
{if signal}f.value = CAST(:number AS text){end}
{if part !wildcard}contains(:value, f.value){end}
{if part wildcard}f.value {if !wildcard}= :value{end}
{if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}
{if whole}f.value {if !wildcard}= :value{end}
{if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}
{end}) t WHERE
{if !negated}t.low >= g.count{end}
{if negated}t.high <= 0{end}
) AS all_:term,
{end}
{end}
{if counted_bounded}coalesce((SELECT r.time FROM reports r WHERE r.group_number = g.number {each ranked}
{if of_time}{if !joined}AND{end}
{if opens}({end}
{if joined}OR{end}
{if negated}NOT{end} ({if since}r.time >= :number{end}
{if until}r.time < :number{end}
{if time}r.time BETWEEN :number AND :high{end}){end}
{end}
ORDER BY r.time DESC, r.number DESC LIMIT 1 OFFSET :counted), :since) AS time{end}
{if !counted_bounded}0 AS time{end}
LIMIT 1) a CROSS JOIN
reports r WHERE r.group_number = g.number {each counted}
{if !joined}AND{end}
{if opens}({end}
{if joined}OR{end}
{if !since !until !time}(a.all_:term > 0 OR{end}
{if negated}NOT{end}
({if since}r.time >= :number{end}
{if until}r.time < :number{end}
{if time}r.time BETWEEN :number AND :high{end}
{if signal}r.signal = :number{end}
{if release}r.release {if !wildcard}= :value{end}
{if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}
{if environment}r.environment {if !wildcard}= :value{end}
{if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}
{if signal_name}r.signal_name {if !wildcard}= :value{end}
{if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}
{if host}r.hostname {if !wildcard}= :value{end}
{if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}
{if program}(r.executable {if !wildcard}= :value{end}
{if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}
{if wildcard}OR r.executable LIKE '%/' || CAST(:pattern AS text) ESCAPE '!'){end}
{if !wildcard}OR instr(r.executable || char(10), '/' || CAST(:value AS text) || char(10)) > 0){end}{end}
{if tag}
EXISTS(SELECT 1 FROM tags t
WHERE t.report = r.number AND t.key = :tag AND t.value {if !wildcard}= :value{end}
{if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end})
{end}
{if word}
contains(:value, r.title, r.summary, r.executable, r.release, r.hostname) OR (
{if negated !wide}r.group_number IN (SELECT f.group_number FROM word_search s CROSS JOIN words w CROSS JOIN facets f
WHERE s.word_search MATCH :pattern AND w.number = s.rowid
AND f.kind >= 3 AND f.kind = w.kind AND f.value = w.value
AND (w.kind BETWEEN 11 AND 14
OR w.kind BETWEEN 3 AND 5)) AND{end}
{end}
{if has_mark}EXISTS(SELECT 1 FROM marks m CROSS JOIN json_each(m.list) j WHERE m.report = r.number AND
{if as_is part !wildcard}contains(:value, m.list) AND{end}
{if as_is !part !wildcard}instr(m.list, CAST(:value AS text) || '"') > 0 AND{end}
{if word}substr(j.value, 1, 2) BETWEEN '11' AND '14' AND{end}
{if !word}substr(j.value, 1, 2) = ':kind' AND{end}
{if part !wildcard}contains(:value, substr(j.value, 4)){end}
{if !part}substr(j.value, 4) {if !wildcard}= :value{end}
{if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}
{if part wildcard}substr(j.value, 4) {if !wildcard}= :value{end}
{if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}
){end}
{if word}){end})
{if !since !until !time}){end}
{if closes}){end}
{end}
{if counted_bounded}AND r.time >= a.time){end}
{if !counted_bounded}){end} END FROM ({if left}SELECT CAST(CASE WHEN sum(t.low) > count(*) * g.count - g.kept{end}
{if left}THEN sum(t.low) - count(*) * g.count + g.kept ELSE 0 END AS bigint) AS low,{end}
{if !left}SELECT CAST(CASE WHEN sum(t.low) > (count(*) - 1) * g.count{end}
{if !left}THEN sum(t.low) - (count(*) - 1) * g.count ELSE 0 END AS bigint) AS low,{end}
CAST(min(t.high) AS bigint) AS high
FROM (
SELECT g.count AS low,
{if left}g.kept{end}
{if !left}g.count{end}
AS high
{each ranked}
{if !joined}UNION ALL{end}
{if opens}SELECT max(a.low) AS low, sum(a.high) AS high FROM ({end}
{if joined}UNION ALL{end}
{if negated}
SELECT CASE WHEN n.high < g.count THEN g.count - n.high ELSE 0 END AS low,
g.count - n.low AS high
FROM (
{end}
{if since}
SELECT d.reports AS low, d.reports AS high
FROM (SELECT (SELECT CAST(coalesce(sum(d.count), 0) AS bigint) FROM group_days d
WHERE d.group_number = g.number AND d.day > :day AND d.day <= :last_day)
+ (SELECT count(*) FROM reports r
WHERE r.group_number = g.number AND r.time >= :number AND r.time < :next_day)
AS reports) d
{end}
{if until}
SELECT CASE WHEN g.last_seen < :number THEN g.count ELSE 0 END AS low,
CASE WHEN g.first_seen < :number THEN g.count ELSE 0 END AS high
{end}
{if time}
SELECT CASE WHEN g.first_seen >= :number AND g.last_seen <= :high THEN g.count
ELSE 0 END AS low,
CASE WHEN g.last_seen >= :number AND g.first_seen <= :high THEN g.count
ELSE 0 END AS high
{end}
{if word}
SELECT coalesce(max(f.count), 0) AS low, g.count AS high
FROM (SELECT value, count FROM facets
WHERE group_number = g.number AND kind IN (1, 3,
5, 11, 12, 13, 14)
UNION ALL SELECT value, count FROM facets
WHERE group_number = g.number AND kind = 2 AND value = g.summary) f
WHERE contains(:value, f.value)
{end}
{if !since !until !time !word}
SELECT
{if repeats}coalesce(max(f.count), 0){end}
{if !repeats}coalesce(sum(f.count), 0){end}
AS low, coalesce(sum(f.count), 0) AS high
FROM facets f
WHERE f.group_number = g.number AND f.kind = :kind AND
{if piece}f.value IN (SELECT w.value FROM words w WHERE +w.kind = :kind
AND w.number IN (SELECT rowid FROM word_search WHERE word_search MATCH :piece)) AND{end}
{if program}(f.value {if !wildcard}= :value{end}
{if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}
{if wildcard}OR f.value LIKE '%/' || CAST(:pattern AS text) ESCAPE '!'){end}
{if !wildcard}OR instr(f.value || char(10), '/' || CAST(:value AS text) || char(10)) > 0){end}{end}
{if tag !wildcard}f.value = CAST(:tag AS text) || char(10) || CAST(:value AS text){end}
{if tag wildcard}
substr(f.value, 1, length(CAST(:tag AS text)) + 1) = CAST(:tag AS text) || char(10)
AND substr(f.value, length(CAST(:tag AS text)) + 2) {if !wildcard}= :value{end}
{if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}
{end}
{if signal}f.value = CAST(:number AS text){end}
{if part !wildcard}contains(:value, f.value){end}
{if part wildcard}f.value {if !wildcard}= :value{end}
{if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}
{if whole}f.value {if !wildcard}= :value{end}
{if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}
{end}
{if negated}) n{end}
{if closes}) a{end}
{end}
) t) b)
{end}{end}
{if by_machines}{if !narrowed}g.machines{end}
{if narrowed}
(SELECT CASE WHEN b.low >= g.count AND g.kept = g.count THEN g.machines ELSE
(SELECT count(DISTINCT c.hostname) FROM (SELECT r.number, r.hostname FROM
(SELECT {each ranked}
{if !since !until !time}
(SELECT count(*) FROM ({if since}
SELECT d.reports AS low, d.reports AS high
FROM (SELECT (SELECT CAST(coalesce(sum(d.count), 0) AS bigint) FROM group_days d
WHERE d.group_number = g.number AND d.day > :day AND d.day <= :last_day)
+ (SELECT count(*) FROM reports r
WHERE r.group_number = g.number AND r.time >= :number AND r.time < :next_day)
AS reports) d
{end}
{if until}
SELECT CASE WHEN g.last_seen < :number THEN g.count ELSE 0 END AS low,
CASE WHEN g.first_seen < :number THEN g.count ELSE 0 END AS high
{end}
{if time}
SELECT CASE WHEN g.first_seen >= :number AND g.last_seen <= :high THEN g.count
ELSE 0 END AS low,
CASE WHEN g.last_seen >= :number AND g.first_seen <= :high THEN g.count
ELSE 0 END AS high
{end}
{if word}
SELECT coalesce(max(f.count), 0) AS low, g.count AS high
FROM (SELECT value, count FROM facets
WHERE group_number = g.number AND kind IN (1, 3,
5, 11, 12, 13, 14)
UNION ALL SELECT value, count FROM facets
WHERE group_number = g.number AND kind = 2 AND value = g.summary) f
WHERE contains(:value, f.value)
{end}
{if !since !until !time !word}
SELECT
{if repeats}coalesce(max(f.count), 0){end}
{if !repeats}coalesce(sum(f.count), 0){end}
AS low, coalesce(sum(f.count), 0) AS high
FROM facets f
WHERE f.group_number = g.number AND f.kind = :kind AND
{if piece}f.value IN (SELECT w.value FROM words w WHERE +w.kind = :kind
AND w.number IN (SELECT rowid FROM word_search WHERE word_search MATCH :piece)) AND{end}
{if program}(f.value {if !wildcard}= :value{end}
{if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}
{if wildcard}OR f.value LIKE '%/' || CAST(:pattern AS text) ESCAPE '!'){end}
{if !wildcard}OR instr(f.value || char(10), '/' || CAST(:value AS text) || char(10)) > 0){end}{end}
{if tag !wildcard}f.value = CAST(:tag AS text) || char(10) || CAST(:value AS text){end}
{if tag wildcard}
substr(f.value, 1, length(CAST(:tag AS text)) + 1) = CAST(:tag AS text) || char(10)
AND substr(f.value, length(CAST(:tag AS text)) + 2) {if !wildcard}= :value{end}
{if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}
{end}
{if signal}f.value = CAST(:number AS text){end}
{if part !wildcard}contains(:value, f.value){end}
{if part wildcard}f.value {if !wildcard}= :value{end}
{if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}
{if whole}f.value {if !wildcard}= :value{end}
{if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}
{end}) t WHERE
{if !negated}t.low >= g.count{end}
{if negated}t.high <= 0{end}
) AS all_:term,
{end}
{end}
{if large}coalesce((SELECT r.time FROM reports r WHERE r.group_number = g.number {each ranked}
{if of_time}{if !joined}AND{end}
{if opens}({end}
{if joined}OR{end}
{if negated}NOT{end} ({if since}r.time >= :number{end}
{if until}r.time < :number{end}
{if time}r.time BETWEEN :number AND :high{end}){end}
{end}
ORDER BY r.time DESC, r.number DESC LIMIT 1 OFFSET :counted), :since) AS time{end}
{if !large}0 AS time{end}
LIMIT 1) a CROSS JOIN
reports r WHERE r.group_number = g.number {each ranked}
{if !joined}AND{end}
{if opens}({end}
{if joined}OR{end}
{if !since !until !time}(a.all_:term > 0 OR{end}
{if negated}NOT{end}
({if since}r.time >= :number{end}
{if until}r.time < :number{end}
{if time}r.time BETWEEN :number AND :high{end}
{if signal}r.signal = :number{end}
{if release}r.release {if !wildcard}= :value{end}
{if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}
{if environment}r.environment {if !wildcard}= :value{end}
{if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}
{if signal_name}r.signal_name {if !wildcard}= :value{end}
{if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}
{if host}r.hostname {if !wildcard}= :value{end}
{if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}
{if program}(r.executable {if !wildcard}= :value{end}
{if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}
{if wildcard}OR r.executable LIKE '%/' || CAST(:pattern AS text) ESCAPE '!'){end}
{if !wildcard}OR instr(r.executable || char(10), '/' || CAST(:value AS text) || char(10)) > 0){end}{end}
{if tag}
EXISTS(SELECT 1 FROM tags t
WHERE t.report = r.number AND t.key = :tag AND t.value {if !wildcard}= :value{end}
{if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end})
{end}
{if word}
contains(:value, r.title, r.summary, r.executable, r.release, r.hostname) OR (
{if negated !wide}r.group_number IN (SELECT f.group_number FROM word_search s CROSS JOIN words w CROSS JOIN facets f
WHERE s.word_search MATCH :pattern AND w.number = s.rowid
AND f.kind >= 3 AND f.kind = w.kind AND f.value = w.value
AND (w.kind BETWEEN 11 AND 14
OR w.kind BETWEEN 3 AND 5)) AND{end}
{end}
{if has_mark}EXISTS(SELECT 1 FROM marks m CROSS JOIN json_each(m.list) j WHERE m.report = r.number AND
{if as_is part !wildcard}contains(:value, m.list) AND{end}
{if as_is !part !wildcard}instr(m.list, CAST(:value AS text) || '"') > 0 AND{end}
{if word}substr(j.value, 1, 2) BETWEEN '11' AND '14' AND{end}
{if !word}substr(j.value, 1, 2) = ':kind' AND{end}
{if part !wildcard}contains(:value, substr(j.value, 4)){end}
{if !part}substr(j.value, 4) {if !wildcard}= :value{end}
{if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}
{if part wildcard}substr(j.value, 4) {if !wildcard}= :value{end}
{if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}
){end}
{if word}){end})
{if !since !until !time}){end}
{if closes}){end}
{end}
{if large}AND r.time >= a.time{end}) c WHERE c.hostname <> '')
END FROM ({if left}SELECT CAST(CASE WHEN sum(t.low) > count(*) * g.count - g.kept{end}
{if left}THEN sum(t.low) - count(*) * g.count + g.kept ELSE 0 END AS bigint) AS low,{end}
{if !left}SELECT CAST(CASE WHEN sum(t.low) > (count(*) - 1) * g.count{end}
{if !left}THEN sum(t.low) - (count(*) - 1) * g.count ELSE 0 END AS bigint) AS low,{end}
CAST(min(t.high) AS bigint) AS high
FROM (
SELECT g.count AS low,
{if left}g.kept{end}
{if !left}g.count{end}
AS high
{each ranked}
{if !joined}UNION ALL{end}
{if opens}SELECT max(a.low) AS low, sum(a.high) AS high FROM ({end}
{if joined}UNION ALL{end}
{if negated}
SELECT CASE WHEN n.high < g.count THEN g.count - n.high ELSE 0 END AS low,
g.count - n.low AS high
FROM (
{end}
{if since}
SELECT d.reports AS low, d.reports AS high
FROM (SELECT (SELECT CAST(coalesce(sum(d.count), 0) AS bigint) FROM group_days d
WHERE d.group_number = g.number AND d.day > :day AND d.day <= :last_day)
+ (SELECT count(*) FROM reports r
WHERE r.group_number = g.number AND r.time >= :number AND r.time < :next_day)
AS reports) d
{end}
{if until}
SELECT CASE WHEN g.last_seen < :number THEN g.count ELSE 0 END AS low,
CASE WHEN g.first_seen < :number THEN g.count ELSE 0 END AS high
{end}
{if time}
SELECT CASE WHEN g.first_seen >= :number AND g.last_seen <= :high THEN g.count
ELSE 0 END AS low,
CASE WHEN g.last_seen >= :number AND g.first_seen <= :high THEN g.count
ELSE 0 END AS high
{end}
{if word}
SELECT coalesce(max(f.count), 0) AS low, g.count AS high
FROM (SELECT value, count FROM facets
WHERE group_number = g.number AND kind IN (1, 3,
5, 11, 12, 13, 14)
UNION ALL SELECT value, count FROM facets
WHERE group_number = g.number AND kind = 2 AND value = g.summary) f
WHERE contains(:value, f.value)
{end}
{if !since !until !time !word}
SELECT
{if repeats}coalesce(max(f.count), 0){end}
{if !repeats}coalesce(sum(f.count), 0){end}
AS low, coalesce(sum(f.count), 0) AS high
FROM facets f
WHERE f.group_number = g.number AND f.kind = :kind AND
{if piece}f.value IN (SELECT w.value FROM words w WHERE +w.kind = :kind
AND w.number IN (SELECT rowid FROM word_search WHERE word_search MATCH :piece)) AND{end}
{if program}(f.value {if !wildcard}= :value{end}
{if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}
{if wildcard}OR f.value LIKE '%/' || CAST(:pattern AS text) ESCAPE '!'){end}
{if !wildcard}OR instr(f.value || char(10), '/' || CAST(:value AS text) || char(10)) > 0){end}{end}
{if tag !wildcard}f.value = CAST(:tag AS text) || char(10) || CAST(:value AS text){end}
{if tag wildcard}
substr(f.value, 1, length(CAST(:tag AS text)) + 1) = CAST(:tag AS text) || char(10)
AND substr(f.value, length(CAST(:tag AS text)) + 2) {if !wildcard}= :value{end}
{if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}
{end}
{if signal}f.value = CAST(:number AS text){end}
{if part !wildcard}contains(:value, f.value){end}
{if part wildcard}f.value {if !wildcard}= :value{end}
{if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}
{if whole}f.value {if !wildcard}= :value{end}
{if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}
{end}
{if negated}) n{end}
{if closes}) a{end}
{end}
) t) b)
{end}{end}
AS place FROM hit CROSS JOIN groups g WHERE g.number = hit.number) c
{end}
{if counts_sort after}WHERE (place, number) < (:place, :number_after){end}
ORDER BY place DESC, number DESC LIMIT :limit
) h
CROSS JOIN groups g
WHERE g.number = h.number
ORDER BY h.place DESC, g.number DESC

-- STORE_COUNT_GROUPS
SELECT count(*) FROM (SELECT g.number AS number, {if by_count}g.count{end}
    {if by_machines}g.machines{end}
    {if by_first_seen}g.first_seen{end}
    {if by_rising}coalesce((SELECT 1000000 - key FROM json_each(:risen) WHERE value = g.number), 0){end}
    {if by_last_seen}g.last_seen{end} AS place
    {if sorts}FROM (SELECT g.number AS sorted{end}
        FROM groups g
        WHERE g.number NOT IN (SELECT source FROM moves WHERE fingerprint = '')
        {if in_group}AND g.number = coalesce((SELECT number FROM groups WHERE fingerprint
                    = coalesce((SELECT target FROM merged WHERE fingerprint = :group), :group)),
                (SELECT kg.number FROM keys k JOIN groups kg ON kg.fingerprint
                    = coalesce((SELECT target FROM merged WHERE fingerprint = k.target), k.target)
                    WHERE k.fingerprint = :group),
                (SELECT min(number) FROM groups WHERE length(:group) >= 8
                    AND fingerprint > :group AND fingerprint < :group || 'g' HAVING count(*) = 1)){end}
        {if in_project}AND g.project = :project{end}
        {each term}
            {if of_group}
                {if !joined}AND{end}
                {if opens}({end}
                    {if joined}OR{end}
                    {if negated}NOT{end} (
                        {if first_release}g.first_release {if !wildcard}= :value{end}
                            {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}
                        {if first_seen}g.first_seen BETWEEN :number AND :high{end}
                        {if last_seen}g.last_seen BETWEEN :number AND :high{end}
                        {if reports}g.count BETWEEN :number AND :high{end}
                        {if machines}g.machines BETWEEN :number AND :high{end}
                        {if users}g.users BETWEEN :number AND :high{end}
                        {if status}g.status = :value{end}
                        {if any}1 = 1{end}
                        {if open}g.status IN ('open', 'regressed'){end}
                        {if back_in}g.status = 'regressed' AND g.status_release = :value{end}
                        {if rising}g.number IN (SELECT value FROM json_each(:risen)){end}
                        {if new}(g.first_release <> '' AND g.project || char(10) || g.program || char(10)
                                || g.first_release IN (SELECT value FROM json_each(:fresh)))
                            OR (g.first_release = '' AND g.first_seen >= :week_ms){end}
                        {if assigned}g.assignee <> ''{end}
                        {if assignee}g.assignee {if !wildcard}= :value{end}
                            {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}
                        {if project}g.project {if !wildcard}= :value{end}
                            {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}
                        {if short_word}contains(:value, g.title, g.summary){end}
                    ) {if closes}){end}
            {end}
        {end}
        {each choice}
            {if opens}AND ({end}
                {if joined}OR{end}
                {if facet}g.number IN (SELECT f.group_number FROM facets f WHERE {if by_word}f.kind >= 3 AND f.kind = :kind AND f.value IN (SELECT w.value FROM words w
                                WHERE +w.kind = :kind
                                AND w.number IN (SELECT rowid FROM word_search WHERE word_search MATCH :pattern)){end}
                        {if !by_word}f.kind >= 3 AND f.kind = :kind AND
                            {if piece}f.value IN (SELECT w.value FROM words w WHERE +w.kind = :kind
                                    AND w.number IN (SELECT rowid FROM word_search WHERE word_search MATCH :piece)) AND{end}
                            {if program}(f.value {if !wildcard}= :value{end}
                                    {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}
                                    {if wildcard}OR f.value LIKE '%/' || CAST(:pattern AS text) ESCAPE '!'){end}
                                {if !wildcard}OR instr(f.value || char(10), '/' || CAST(:value AS text) || char(10)) > 0){end}{end}
                        {if tag !wildcard}f.value = CAST(:tag AS text) || char(10) || CAST(:value AS text){end}
                        {if tag wildcard}
                            substr(f.value, 1, length(CAST(:tag AS text)) + 1) = CAST(:tag AS text) || char(10)
                            AND substr(f.value, length(CAST(:tag AS text)) + 2) {if !wildcard}= :value{end}
                            {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}
                        {end}
                        {if signal}f.value = CAST(:number AS text){end}
                        {if part !wildcard}contains(:value, f.value){end}
                        {if part wildcard}f.value {if !wildcard}= :value{end}
                            {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}
                        {if whole}f.value {if !wildcard}= :value{end}
                            {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}{end}){end}
            {if word}
                g.number IN (SELECT f.group_number FROM facets f WHERE f.kind <= 2
                    AND f.number IN (SELECT rowid FROM facet_search WHERE facet_search MATCH :pattern))
                OR g.number IN (SELECT f.group_number FROM word_search s CROSS JOIN words w CROSS JOIN facets f
                    WHERE s.word_search MATCH :pattern AND w.number = s.rowid
                    AND f.kind >= 3 AND f.kind = w.kind AND f.value = w.value
                    AND (w.kind BETWEEN 11 AND 14
                        OR w.kind BETWEEN 3 AND 5))
            {end}
            {if closes}){end}
    {end}
    {each term}
        {if listed since}AND g.last_seen >= :number{end}
        {if listed until}AND g.first_seen < :number{end}
        {if listed time}AND g.last_seen >= :number AND g.first_seen <= :high{end}
        {if listed time}AND EXISTS(SELECT 1 FROM reports r WHERE r.group_number = g.number{end}
            {if listed time}AND r.time BETWEEN :number AND :high ){end}
        {if listed word bounded}AND (g.number IN (SELECT f.group_number FROM facets f WHERE f.kind <= 2
                    AND f.number IN (SELECT rowid FROM facet_search WHERE facet_search MATCH :pattern))
                OR g.number IN (SELECT f.group_number FROM word_search s CROSS JOIN words w CROSS JOIN facets f
                    WHERE s.word_search MATCH :pattern AND w.number = s.rowid
                    AND f.kind >= 3 AND f.kind = w.kind AND f.value = w.value
                    AND (w.kind BETWEEN 11 AND 14
                        OR w.kind BETWEEN 3 AND 5))){end}
        {if listed word !bounded}AND (+g.number IN (SELECT f.group_number FROM facets f WHERE f.kind <= 2
                    AND f.number IN (SELECT rowid FROM facet_search WHERE facet_search MATCH :pattern))
                OR +g.number IN (SELECT f.group_number FROM word_search s CROSS JOIN words w CROSS JOIN facets f
                    WHERE s.word_search MATCH :pattern AND w.number = s.rowid
                    AND f.kind >= 3 AND f.kind = w.kind AND f.value = w.value
                    AND (w.kind BETWEEN 11 AND 14
                        OR w.kind BETWEEN 3 AND 5))){end}
        {if listed facet bounded}AND (g.number IN (SELECT f.group_number FROM facets f WHERE {if by_word}f.kind >= 3 AND f.kind = :kind AND f.value IN (SELECT w.value FROM words w
                            WHERE +w.kind = :kind
                            AND w.number IN (SELECT rowid FROM word_search WHERE word_search MATCH :pattern)){end}
                    {if !by_word}f.kind >= 3 AND f.kind = :kind AND
                        {if piece}f.value IN (SELECT w.value FROM words w WHERE +w.kind = :kind
                                AND w.number IN (SELECT rowid FROM word_search WHERE word_search MATCH :piece)) AND{end}
                        {if program}(f.value {if !wildcard}= :value{end}
                                {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}
                                {if wildcard}OR f.value LIKE '%/' || CAST(:pattern AS text) ESCAPE '!'){end}
                            {if !wildcard}OR instr(f.value || char(10), '/' || CAST(:value AS text) || char(10)) > 0){end}{end}
                    {if tag !wildcard}f.value = CAST(:tag AS text) || char(10) || CAST(:value AS text){end}
                    {if tag wildcard}
                        substr(f.value, 1, length(CAST(:tag AS text)) + 1) = CAST(:tag AS text) || char(10)
                        AND substr(f.value, length(CAST(:tag AS text)) + 2) {if !wildcard}= :value{end}
                        {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}
                    {end}
                    {if signal}f.value = CAST(:number AS text){end}
                    {if part !wildcard}contains(:value, f.value){end}
                    {if part wildcard}f.value {if !wildcard}= :value{end}
                        {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}
                    {if whole}f.value {if !wildcard}= :value{end}
                        {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}{end})){end}
    {if listed facet !bounded}AND (+g.number IN (SELECT f.group_number FROM facets f WHERE {if by_word}f.kind >= 3 AND f.kind = :kind AND f.value IN (SELECT w.value FROM words w
                        WHERE +w.kind = :kind
                        AND w.number IN (SELECT rowid FROM word_search WHERE word_search MATCH :pattern)){end}
                {if !by_word}f.kind >= 3 AND f.kind = :kind AND
                    {if piece}f.value IN (SELECT w.value FROM words w WHERE +w.kind = :kind
                            AND w.number IN (SELECT rowid FROM word_search WHERE word_search MATCH :piece)) AND{end}
                    {if program}(f.value {if !wildcard}= :value{end}
                            {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}
                            {if wildcard}OR f.value LIKE '%/' || CAST(:pattern AS text) ESCAPE '!'){end}
                        {if !wildcard}OR instr(f.value || char(10), '/' || CAST(:value AS text) || char(10)) > 0){end}{end}
                {if tag !wildcard}f.value = CAST(:tag AS text) || char(10) || CAST(:value AS text){end}
                {if tag wildcard}
                    substr(f.value, 1, length(CAST(:tag AS text)) + 1) = CAST(:tag AS text) || char(10)
                    AND substr(f.value, length(CAST(:tag AS text)) + 2) {if !wildcard}= :value{end}
                    {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}
                {end}
                {if signal}f.value = CAST(:number AS text){end}
                {if part !wildcard}contains(:value, f.value){end}
                {if part wildcard}f.value {if !wildcard}= :value{end}
                    {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}
                {if whole}f.value {if !wildcard}= :value{end}
                    {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}{end})){end}
{end}
{if sorts}ORDER BY {if by_count}g.count{end}
{if by_machines}g.machines{end}
{if by_first_seen}g.first_seen{end}
{if by_rising}coalesce((SELECT 1000000 - key FROM json_each(:risen) WHERE value = g.number), 0){end}
{if by_last_seen}g.last_seen{end} DESC, g.number DESC LIMIT -1) o CROSS JOIN groups g{end}
{if sorts}WHERE g.number = o.sorted{end}
{if bounded}
{each term}
{if searched wide !word}AND (
        EXISTS(SELECT 1 FROM facets f WHERE f.group_number = g.number AND
            {if word}f.kind BETWEEN 11 AND 14 AND contains(:value, f.value){end}
            {if !word}f.kind = :kind AND
                {if piece}f.value IN (SELECT w.value FROM words w WHERE +w.kind = :kind
                        AND w.number IN (SELECT rowid FROM word_search WHERE word_search MATCH :piece)) AND{end}
                {if program}(f.value {if !wildcard}= :value{end}
                        {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}
                        {if wildcard}OR f.value LIKE '%/' || CAST(:pattern AS text) ESCAPE '!'){end}
                    {if !wildcard}OR instr(f.value || char(10), '/' || CAST(:value AS text) || char(10)) > 0){end}{end}
            {if tag !wildcard}f.value = CAST(:tag AS text) || char(10) || CAST(:value AS text){end}
            {if tag wildcard}
                substr(f.value, 1, length(CAST(:tag AS text)) + 1) = CAST(:tag AS text) || char(10)
                AND substr(f.value, length(CAST(:tag AS text)) + 2) {if !wildcard}= :value{end}
                {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}
            {end}
            {if signal}f.value = CAST(:number AS text){end}
            {if part !wildcard}contains(:value, f.value){end}
            {if part wildcard}f.value {if !wildcard}= :value{end}
                {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}
            {if whole}f.value {if !wildcard}= :value{end}
                {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}{end}
    )
    {if word}
        OR EXISTS(SELECT 1 FROM facets f WHERE f.group_number = g.number AND
            f.kind <= 5 AND contains(:value, f.value) )
    {end}
){end}
{end}
{each term}
{if searched wide word !compares_column}AND (
    EXISTS(SELECT 1 FROM facets f WHERE f.group_number = g.number AND
        {if word}f.kind BETWEEN 11 AND 14 AND contains(:value, f.value){end}
        {if !word}f.kind = :kind AND
            {if piece}f.value IN (SELECT w.value FROM words w WHERE +w.kind = :kind
                    AND w.number IN (SELECT rowid FROM word_search WHERE word_search MATCH :piece)) AND{end}
            {if program}(f.value {if !wildcard}= :value{end}
                    {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}
                    {if wildcard}OR f.value LIKE '%/' || CAST(:pattern AS text) ESCAPE '!'){end}
                {if !wildcard}OR instr(f.value || char(10), '/' || CAST(:value AS text) || char(10)) > 0){end}{end}
        {if tag !wildcard}f.value = CAST(:tag AS text) || char(10) || CAST(:value AS text){end}
        {if tag wildcard}
            substr(f.value, 1, length(CAST(:tag AS text)) + 1) = CAST(:tag AS text) || char(10)
            AND substr(f.value, length(CAST(:tag AS text)) + 2) {if !wildcard}= :value{end}
            {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}
        {end}
        {if signal}f.value = CAST(:number AS text){end}
        {if part !wildcard}contains(:value, f.value){end}
        {if part wildcard}f.value {if !wildcard}= :value{end}
            {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}
        {if whole}f.value {if !wildcard}= :value{end}
            {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}{end}
)
{if word}
    OR EXISTS(SELECT 1 FROM facets f WHERE f.group_number = g.number AND
        f.kind <= 5 AND contains(:value, f.value) )
{end}
){end}
{end}
{end}
{if several}
AND (SELECT CASE WHEN b.high <= 0 THEN 0 WHEN b.low > 0 THEN 1
WHEN (SELECT 1 FROM (SELECT {each ranked}
    {if !since !until !time}
        (SELECT count(*) FROM ({if since}
                    SELECT d.reports AS low, d.reports AS high
                    FROM (SELECT (SELECT CAST(coalesce(sum(d.count), 0) AS bigint) FROM group_days d
                            WHERE d.group_number = g.number AND d.day > :day AND d.day <= :last_day)
                        + (SELECT count(*) FROM reports r
                            WHERE r.group_number = g.number AND r.time >= :number AND r.time < :next_day)
                        AS reports) d
                {end}
                {if until}
                    SELECT CASE WHEN g.last_seen < :number THEN g.count ELSE 0 END AS low,
                    CASE WHEN g.first_seen < :number THEN g.count ELSE 0 END AS high
                {end}
                {if time}
                    SELECT CASE WHEN g.first_seen >= :number AND g.last_seen <= :high THEN g.count
                    ELSE 0 END AS low,
                    CASE WHEN g.last_seen >= :number AND g.first_seen <= :high THEN g.count
                    ELSE 0 END AS high
                {end}
                {if word}
                    SELECT coalesce(max(f.count), 0) AS low, g.count AS high
                    FROM (SELECT value, count FROM facets
                        WHERE group_number = g.number AND kind IN (1, 3,
                            5, 11, 12, 13, 14)
                        UNION ALL SELECT value, count FROM facets
                        WHERE group_number = g.number AND kind = 2 AND value = g.summary) f
                    WHERE contains(:value, f.value)
                {end}
                {if !since !until !time !word}
                    SELECT
                    {if repeats}coalesce(max(f.count), 0){end}
                    {if !repeats}coalesce(sum(f.count), 0){end}
                    AS low, coalesce(sum(f.count), 0) AS high
                    FROM facets f
                    WHERE f.group_number = g.number AND f.kind = :kind AND
                    {if piece}f.value IN (SELECT w.value FROM words w WHERE +w.kind = :kind
                            AND w.number IN (SELECT rowid FROM word_search WHERE word_search MATCH :piece)) AND{end}
                    {if program}(f.value {if !wildcard}= :value{end}
                            {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}
                            {if wildcard}OR f.value LIKE '%/' || CAST(:pattern AS text) ESCAPE '!'){end}
                        {if !wildcard}OR instr(f.value || char(10), '/' || CAST(:value AS text) || char(10)) > 0){end}{end}
                {if tag !wildcard}f.value = CAST(:tag AS text) || char(10) || CAST(:value AS text){end}
                {if tag wildcard}
                    substr(f.value, 1, length(CAST(:tag AS text)) + 1) = CAST(:tag AS text) || char(10)
                    AND substr(f.value, length(CAST(:tag AS text)) + 2) {if !wildcard}= :value{end}
                    {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}
                {end}
                {if signal}f.value = CAST(:number AS text){end}
                {if part !wildcard}contains(:value, f.value){end}
                {if part wildcard}f.value {if !wildcard}= :value{end}
                    {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}
                {if whole}f.value {if !wildcard}= :value{end}
                    {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}
        {end}) t WHERE
        {if !negated}t.low >= g.count{end}
        {if negated}t.high <= 0{end}
    ) AS all_:term,
{end}
{end} 0 AS time LIMIT 1) a CROSS JOIN
reports r WHERE r.group_number = g.number {each ranked}
{if !joined}AND{end}
{if opens}({end}
{if joined}OR{end}
{if !since !until !time}(a.all_:term > 0 OR{end}
    {if negated}NOT{end}
    ({if since}r.time >= :number{end}
        {if until}r.time < :number{end}
        {if time}r.time BETWEEN :number AND :high{end}
        {if signal}r.signal = :number{end}
        {if release}r.release {if !wildcard}= :value{end}
            {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}
        {if environment}r.environment {if !wildcard}= :value{end}
            {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}
        {if signal_name}r.signal_name {if !wildcard}= :value{end}
            {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}
        {if host}r.hostname {if !wildcard}= :value{end}
            {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}
        {if program}(r.executable {if !wildcard}= :value{end}
                {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}
                {if wildcard}OR r.executable LIKE '%/' || CAST(:pattern AS text) ESCAPE '!'){end}
            {if !wildcard}OR instr(r.executable || char(10), '/' || CAST(:value AS text) || char(10)) > 0){end}{end}
    {if tag}
        EXISTS(SELECT 1 FROM tags t
            WHERE t.report = r.number AND t.key = :tag AND t.value {if !wildcard}= :value{end}
            {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end})
    {end}
    {if word}
        contains(:value, r.title, r.summary, r.executable, r.release, r.hostname) OR (
            {if negated !wide}r.group_number IN (SELECT f.group_number FROM word_search s CROSS JOIN words w CROSS JOIN facets f
                    WHERE s.word_search MATCH :pattern AND w.number = s.rowid
                    AND f.kind >= 3 AND f.kind = w.kind AND f.value = w.value
                    AND (w.kind BETWEEN 11 AND 14
                        OR w.kind BETWEEN 3 AND 5)) AND{end}
        {end}
        {if has_mark}EXISTS(SELECT 1 FROM marks m CROSS JOIN json_each(m.list) j WHERE m.report = r.number AND
                {if as_is part !wildcard}contains(:value, m.list) AND{end}
                {if as_is !part !wildcard}instr(m.list, CAST(:value AS text) || '"') > 0 AND{end}
                {if word}substr(j.value, 1, 2) BETWEEN '11' AND '14' AND{end}
                {if !word}substr(j.value, 1, 2) = ':kind' AND{end}
                {if part !wildcard}contains(:value, substr(j.value, 4)){end}
                {if !part}substr(j.value, 4) {if !wildcard}= :value{end}
                    {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}
                {if part wildcard}substr(j.value, 4) {if !wildcard}= :value{end}
                    {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}
        ){end}
        {if word}){end})
{if !since !until !time}){end}
{if closes}){end}
{end}
ORDER BY r.time DESC, r.number DESC LIMIT 1) IS NOT NULL THEN 1 ELSE 0 END
FROM ({if left}SELECT CAST(CASE WHEN sum(t.low) > count(*) * g.count - g.kept{end}
{if left}THEN sum(t.low) - count(*) * g.count + g.kept ELSE 0 END AS bigint) AS low,{end}
{if !left}SELECT CAST(CASE WHEN sum(t.low) > (count(*) - 1) * g.count{end}
{if !left}THEN sum(t.low) - (count(*) - 1) * g.count ELSE 0 END AS bigint) AS low,{end}
CAST(min(t.high) AS bigint) AS high
FROM (
SELECT g.count AS low,
{if left}g.kept{end}
{if !left}g.count{end}
AS high
{each ranked}
{if !joined}UNION ALL{end}
{if opens}SELECT max(a.low) AS low, sum(a.high) AS high FROM ({end}
{if joined}UNION ALL{end}
{if negated}
    SELECT CASE WHEN n.high < g.count THEN g.count - n.high ELSE 0 END AS low,
    g.count - n.low AS high
    FROM (
    {end}
    {if since}
        SELECT d.reports AS low, d.reports AS high
        FROM (SELECT (SELECT CAST(coalesce(sum(d.count), 0) AS bigint) FROM group_days d
                WHERE d.group_number = g.number AND d.day > :day AND d.day <= :last_day)
            + (SELECT count(*) FROM reports r
                WHERE r.group_number = g.number AND r.time >= :number AND r.time < :next_day)
            AS reports) d
    {end}
    {if until}
        SELECT CASE WHEN g.last_seen < :number THEN g.count ELSE 0 END AS low,
        CASE WHEN g.first_seen < :number THEN g.count ELSE 0 END AS high
    {end}
    {if time}
        SELECT CASE WHEN g.first_seen >= :number AND g.last_seen <= :high THEN g.count
        ELSE 0 END AS low,
        CASE WHEN g.last_seen >= :number AND g.first_seen <= :high THEN g.count
        ELSE 0 END AS high
    {end}
    {if word}
        SELECT coalesce(max(f.count), 0) AS low, g.count AS high
        FROM (SELECT value, count FROM facets
            WHERE group_number = g.number AND kind IN (1, 3,
                5, 11, 12, 13, 14)
            UNION ALL SELECT value, count FROM facets
            WHERE group_number = g.number AND kind = 2 AND value = g.summary) f
        WHERE contains(:value, f.value)
    {end}
    {if !since !until !time !word}
        SELECT
        {if repeats}coalesce(max(f.count), 0){end}
        {if !repeats}coalesce(sum(f.count), 0){end}
        AS low, coalesce(sum(f.count), 0) AS high
        FROM facets f
        WHERE f.group_number = g.number AND f.kind = :kind AND
        {if piece}f.value IN (SELECT w.value FROM words w WHERE +w.kind = :kind
                AND w.number IN (SELECT rowid FROM word_search WHERE word_search MATCH :piece)) AND{end}
        {if program}(f.value {if !wildcard}= :value{end}
                {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}
                {if wildcard}OR f.value LIKE '%/' || CAST(:pattern AS text) ESCAPE '!'){end}
            {if !wildcard}OR instr(f.value || char(10), '/' || CAST(:value AS text) || char(10)) > 0){end}{end}
    {if tag !wildcard}f.value = CAST(:tag AS text) || char(10) || CAST(:value AS text){end}
    {if tag wildcard}
        substr(f.value, 1, length(CAST(:tag AS text)) + 1) = CAST(:tag AS text) || char(10)
        AND substr(f.value, length(CAST(:tag AS text)) + 2) {if !wildcard}= :value{end}
        {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}
    {end}
    {if signal}f.value = CAST(:number AS text){end}
    {if part !wildcard}contains(:value, f.value){end}
    {if part wildcard}f.value {if !wildcard}= :value{end}
        {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}
    {if whole}f.value {if !wildcard}= :value{end}
        {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}
{end}
{if negated}) n{end}
{if closes}) a{end}
{end}
) t) b) = 1
{end}
{if after !counts_sort}AND ({if by_count}g.count{end}
{if by_machines}g.machines{end}
{if by_first_seen}g.first_seen{end}
{if by_rising}coalesce((SELECT 1000000 - key FROM json_each(:risen) WHERE value = g.number), 0){end}
{if by_last_seen}g.last_seen{end}, g.number) < (:place, :number_after){end}
{if ordered}ORDER BY {if by_count}g.count{end}
{if by_machines}g.machines{end}
{if by_first_seen}g.first_seen{end}
{if by_rising}coalesce((SELECT 1000000 - key FROM json_each(:risen) WHERE value = g.number), 0){end}
{if by_last_seen}g.last_seen{end} DESC, g.number DESC{end}
{if limited}LIMIT :most{end}) hit

-- STORE_FIND_GROUP
SELECT g.fingerprint, g.title, g.summary, g.status, g.signal, g.count, g.first_seen,
g.last_seen, g.number, g.kept, g.status_release, g.status_time, g.note, g.assignee,
g.machines, g.users, g.first_release, g.stack, g.resolved_in, g.until_count, g.until_machines,
g.until_time, g.version, g.project, g.program, g.last_seen AS place, g.count AS filtered,
g.machines AS filtered_machines, g.users AS filtered_users, 0 AS cut, 1 AS found
FROM groups g
WHERE 1 = 1 AND g.number = coalesce((SELECT number FROM groups WHERE fingerprint
        = coalesce((SELECT target FROM merged WHERE fingerprint = :group), :group)),
    (SELECT kg.number FROM keys k JOIN groups kg ON kg.fingerprint
        = coalesce((SELECT target FROM merged WHERE fingerprint = k.target), k.target)
        WHERE k.fingerprint = :group),
    (SELECT min(number) FROM groups WHERE length(:group) >= 8
        AND fingerprint > :group AND fingerprint < :group || 'g' HAVING count(*) = 1))

-- STORE_LIST_REPORTS
SELECT
{if !numbers}r.id, g.fingerprint AS group_id, r.title, r.summary, r.signal_name, r.release,
    r.environment, r.executable, r.hostname, r.signal, r.revision, r.time, r.received,
    r.number, r.fingerprint, g.project{end}
{if numbers}r.number{end}
FROM reports r
JOIN groups g ON g.number = r.group_number
WHERE 1 = 1
{if marked few}AND r.group_number IN (SELECT value FROM json_each(:marked)){end}
{if marked !few}AND r.group_number + 0 IN (SELECT value FROM json_each(:marked)){end}
{if in_group}AND r.group_number = coalesce((SELECT number FROM groups WHERE fingerprint
            = coalesce((SELECT target FROM merged WHERE fingerprint = :group), :group)),
        (SELECT kg.number FROM keys k JOIN groups kg ON kg.fingerprint
            = coalesce((SELECT target FROM merged WHERE fingerprint = k.target), k.target)
            WHERE k.fingerprint = :group),
        (SELECT min(number) FROM groups WHERE length(:group) >= 8
            AND fingerprint > :group AND fingerprint < :group || 'g' HAVING count(*) = 1)){end}
{if in_project}AND g.project = :project{end}
{each term}
    {if of_group}
        {if !joined}AND{end}
        {if opens}({end}
            {if joined}OR{end}
            {if negated}NOT{end} (
                {if first_release}g.first_release {if !wildcard}= :value{end}
                    {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}
                {if first_seen}g.first_seen BETWEEN :number AND :high{end}
                {if last_seen}g.last_seen BETWEEN :number AND :high{end}
                {if reports}g.count BETWEEN :number AND :high{end}
                {if machines}g.machines BETWEEN :number AND :high{end}
                {if users}g.users BETWEEN :number AND :high{end}
                {if status}g.status = :value{end}
                {if any}1 = 1{end}
                {if open}g.status IN ('open', 'regressed'){end}
                {if back_in}g.status = 'regressed' AND g.status_release = :value{end}
                {if rising}g.number IN (SELECT value FROM json_each(:risen)){end}
                {if new}(g.first_release <> '' AND g.project || char(10) || g.program || char(10)
                        || g.first_release IN (SELECT value FROM json_each(:fresh)))
                    OR (g.first_release = '' AND g.first_seen >= :week_ms){end}
                {if assigned}g.assignee <> ''{end}
                {if assignee}g.assignee {if !wildcard}= :value{end}
                    {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}
                {if project}g.project {if !wildcard}= :value{end}
                    {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}
                {if short_word}contains(:value, g.title, g.summary){end}
            ) {if closes}){end}
    {end}
{end}
{if !marked}
    {each term}
        {if found_by_group wide}AND (
                EXISTS(SELECT 1 FROM facets f WHERE f.group_number = r.group_number AND
                    {if word}f.kind BETWEEN 11 AND 14 AND contains(:value, f.value){end}
                    {if !word}f.kind = :kind AND
                        {if piece}f.value IN (SELECT w.value FROM words w WHERE +w.kind = :kind
                                AND w.number IN (SELECT rowid FROM word_search WHERE word_search MATCH :piece)) AND{end}
                        {if program}(f.value {if !wildcard}= :value{end}
                                {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}
                                {if wildcard}OR f.value LIKE '%/' || CAST(:pattern AS text) ESCAPE '!'){end}
                            {if !wildcard}OR instr(f.value || char(10), '/' || CAST(:value AS text) || char(10)) > 0){end}{end}
                    {if tag !wildcard}f.value = CAST(:tag AS text) || char(10) || CAST(:value AS text){end}
                    {if tag wildcard}
                        substr(f.value, 1, length(CAST(:tag AS text)) + 1) = CAST(:tag AS text) || char(10)
                        AND substr(f.value, length(CAST(:tag AS text)) + 2) {if !wildcard}= :value{end}
                        {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}
                    {end}
                    {if signal}f.value = CAST(:number AS text){end}
                    {if part !wildcard}contains(:value, f.value){end}
                    {if part wildcard}f.value {if !wildcard}= :value{end}
                        {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}
                    {if whole}f.value {if !wildcard}= :value{end}
                        {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}{end}
            )
            {if word}
                OR EXISTS(SELECT 1 FROM facets f WHERE f.group_number = r.group_number AND
                    f.kind <= 5 AND contains(:value, f.value) )
            {end}
    ){end}
    {if found_by_group !wide}{if word by_time}AND (+r.group_number IN (SELECT f.group_number FROM facets f WHERE f.kind <= 2
                    AND f.number IN (SELECT rowid FROM facet_search WHERE facet_search MATCH :pattern))
                OR +r.group_number IN (SELECT f.group_number FROM word_search s CROSS JOIN words w CROSS JOIN facets f
                    WHERE s.word_search MATCH :pattern AND w.number = s.rowid
                    AND f.kind >= 3 AND f.kind = w.kind AND f.value = w.value
                    AND (w.kind BETWEEN 11 AND 14
                        OR w.kind BETWEEN 3 AND 5))){end}
        {if word !by_time}AND (r.group_number IN (SELECT f.group_number FROM facets f WHERE f.kind <= 2
                    AND f.number IN (SELECT rowid FROM facet_search WHERE facet_search MATCH :pattern))
                OR r.group_number IN (SELECT f.group_number FROM word_search s CROSS JOIN words w CROSS JOIN facets f
                    WHERE s.word_search MATCH :pattern AND w.number = s.rowid
                    AND f.kind >= 3 AND f.kind = w.kind AND f.value = w.value
                    AND (w.kind BETWEEN 11 AND 14
                        OR w.kind BETWEEN 3 AND 5))){end}
        {if !word by_time}AND (+r.group_number IN (SELECT f.group_number FROM facets f WHERE {if by_word}f.kind >= 3 AND f.kind = :kind AND f.value IN (SELECT w.value FROM words w
                            WHERE +w.kind = :kind
                            AND w.number IN (SELECT rowid FROM word_search WHERE word_search MATCH :pattern)){end}
                    {if !by_word}f.kind >= 3 AND f.kind = :kind AND
                        {if piece}f.value IN (SELECT w.value FROM words w WHERE +w.kind = :kind
                                AND w.number IN (SELECT rowid FROM word_search WHERE word_search MATCH :piece)) AND{end}
                        {if program}(f.value {if !wildcard}= :value{end}
                                {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}
                                {if wildcard}OR f.value LIKE '%/' || CAST(:pattern AS text) ESCAPE '!'){end}
                            {if !wildcard}OR instr(f.value || char(10), '/' || CAST(:value AS text) || char(10)) > 0){end}{end}
                    {if tag !wildcard}f.value = CAST(:tag AS text) || char(10) || CAST(:value AS text){end}
                    {if tag wildcard}
                        substr(f.value, 1, length(CAST(:tag AS text)) + 1) = CAST(:tag AS text) || char(10)
                        AND substr(f.value, length(CAST(:tag AS text)) + 2) {if !wildcard}= :value{end}
                        {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}
                    {end}
                    {if signal}f.value = CAST(:number AS text){end}
                    {if part !wildcard}contains(:value, f.value){end}
                    {if part wildcard}f.value {if !wildcard}= :value{end}
                        {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}
                    {if whole}f.value {if !wildcard}= :value{end}
                        {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}{end})){end}
    {if !word !by_time}AND (r.group_number IN (SELECT f.group_number FROM facets f WHERE {if by_word}f.kind >= 3 AND f.kind = :kind AND f.value IN (SELECT w.value FROM words w
                        WHERE +w.kind = :kind
                        AND w.number IN (SELECT rowid FROM word_search WHERE word_search MATCH :pattern)){end}
                {if !by_word}f.kind >= 3 AND f.kind = :kind AND
                    {if piece}f.value IN (SELECT w.value FROM words w WHERE +w.kind = :kind
                            AND w.number IN (SELECT rowid FROM word_search WHERE word_search MATCH :piece)) AND{end}
                    {if program}(f.value {if !wildcard}= :value{end}
                            {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}
                            {if wildcard}OR f.value LIKE '%/' || CAST(:pattern AS text) ESCAPE '!'){end}
                        {if !wildcard}OR instr(f.value || char(10), '/' || CAST(:value AS text) || char(10)) > 0){end}{end}
                {if tag !wildcard}f.value = CAST(:tag AS text) || char(10) || CAST(:value AS text){end}
                {if tag wildcard}
                    substr(f.value, 1, length(CAST(:tag AS text)) + 1) = CAST(:tag AS text) || char(10)
                    AND substr(f.value, length(CAST(:tag AS text)) + 2) {if !wildcard}= :value{end}
                    {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}
                {end}
                {if signal}f.value = CAST(:number AS text){end}
                {if part !wildcard}contains(:value, f.value){end}
                {if part wildcard}f.value {if !wildcard}= :value{end}
                    {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}
                {if whole}f.value {if !wildcard}= :value{end}
                    {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}{end})){end}{end}
{end}
{end}
{each ranked}
{if !joined}AND{end}
{if opens}({end}
{if joined}OR{end}
{if negated}NOT{end} ({if since}r.time >= :number{end}
{if until}r.time < :number{end}
{if time}r.time BETWEEN :number AND :high{end}
{if signal}r.signal = :number{end}
{if release}r.release {if !wildcard}= :value{end}
    {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}
{if environment}r.environment {if !wildcard}= :value{end}
    {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}
{if signal_name}r.signal_name {if !wildcard}= :value{end}
    {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}
{if host}r.hostname {if !wildcard}= :value{end}
    {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}
{if program}(r.executable {if !wildcard}= :value{end}
        {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}
        {if wildcard}OR r.executable LIKE '%/' || CAST(:pattern AS text) ESCAPE '!'){end}
    {if !wildcard}OR instr(r.executable || char(10), '/' || CAST(:value AS text) || char(10)) > 0){end}{end}
{if tag}
EXISTS(SELECT 1 FROM tags t
    WHERE t.report = r.number AND t.key = :tag AND t.value {if !wildcard}= :value{end}
    {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end})
{end}
{if word}
contains(:value, r.title, r.summary, r.executable, r.release, r.hostname) OR (
    {if negated !wide}r.group_number IN (SELECT f.group_number FROM word_search s CROSS JOIN words w CROSS JOIN facets f
            WHERE s.word_search MATCH :pattern AND w.number = s.rowid
            AND f.kind >= 3 AND f.kind = w.kind AND f.value = w.value
            AND (w.kind BETWEEN 11 AND 14
                OR w.kind BETWEEN 3 AND 5)) AND{end}
{end}
{if has_mark}EXISTS(SELECT 1 FROM marks m CROSS JOIN json_each(m.list) j WHERE m.report = r.number AND
        {if as_is part !wildcard}contains(:value, m.list) AND{end}
        {if as_is !part !wildcard}instr(m.list, CAST(:value AS text) || '"') > 0 AND{end}
        {if word}substr(j.value, 1, 2) BETWEEN '11' AND '14' AND{end}
        {if !word}substr(j.value, 1, 2) = ':kind' AND{end}
        {if part !wildcard}contains(:value, substr(j.value, 4)){end}
        {if !part}substr(j.value, 4) {if !wildcard}= :value{end}
            {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}
        {if part wildcard}substr(j.value, 4) {if !wildcard}= :value{end}
            {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}
){end}
{if word}){end}) {if closes}){end}
{end}
{if after}AND (r.time, r.number) < (:place, :number_after){end}
{if few}ORDER BY r.time + 0 DESC, r.number DESC{end}
{if !few}ORDER BY r.time DESC, r.number DESC{end}
LIMIT :limit

-- STORE_ERASED_REPORTS
SELECT r.number, r.group_number
FROM reports r
JOIN groups g ON g.number = r.group_number
WHERE 1 = 1
{if in_group}AND r.group_number = coalesce((SELECT number FROM groups WHERE fingerprint
            = coalesce((SELECT target FROM merged WHERE fingerprint = :group), :group)),
        (SELECT kg.number FROM keys k JOIN groups kg ON kg.fingerprint
            = coalesce((SELECT target FROM merged WHERE fingerprint = k.target), k.target)
            WHERE k.fingerprint = :group),
        (SELECT min(number) FROM groups WHERE length(:group) >= 8
            AND fingerprint > :group AND fingerprint < :group || 'g' HAVING count(*) = 1)){end}
{if in_project}AND g.project = :project{end}
{each term}
    {if of_group}
        {if !joined}AND{end}
        {if opens}({end}
            {if joined}OR{end}
            {if negated}NOT{end} (
                {if first_release}g.first_release {if !wildcard}= :value{end}
                    {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}
                {if first_seen}g.first_seen BETWEEN :number AND :high{end}
                {if last_seen}g.last_seen BETWEEN :number AND :high{end}
                {if reports}g.count BETWEEN :number AND :high{end}
                {if machines}g.machines BETWEEN :number AND :high{end}
                {if users}g.users BETWEEN :number AND :high{end}
                {if status}g.status = :value{end}
                {if any}1 = 1{end}
                {if open}g.status IN ('open', 'regressed'){end}
                {if back_in}g.status = 'regressed' AND g.status_release = :value{end}
                {if rising}g.number IN (SELECT value FROM json_each(:risen)){end}
                {if new}(g.first_release <> '' AND g.project || char(10) || g.program || char(10)
                        || g.first_release IN (SELECT value FROM json_each(:fresh)))
                    OR (g.first_release = '' AND g.first_seen >= :week_ms){end}
                {if assigned}g.assignee <> ''{end}
                {if assignee}g.assignee {if !wildcard}= :value{end}
                    {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}
                {if project}g.project {if !wildcard}= :value{end}
                    {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}
                {if short_word}contains(:value, g.title, g.summary){end}
            ) {if closes}){end}
    {end}
{end}
{if !marked}
    {each term}
        {if found_by_group wide}AND (
                EXISTS(SELECT 1 FROM facets f WHERE f.group_number = r.group_number AND
                    {if word}f.kind BETWEEN 11 AND 14 AND contains(:value, f.value){end}
                    {if !word}f.kind = :kind AND
                        {if piece}f.value IN (SELECT w.value FROM words w WHERE +w.kind = :kind
                                AND w.number IN (SELECT rowid FROM word_search WHERE word_search MATCH :piece)) AND{end}
                        {if program}(f.value {if !wildcard}= :value{end}
                                {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}
                                {if wildcard}OR f.value LIKE '%/' || CAST(:pattern AS text) ESCAPE '!'){end}
                            {if !wildcard}OR instr(f.value || char(10), '/' || CAST(:value AS text) || char(10)) > 0){end}{end}
                    {if tag !wildcard}f.value = CAST(:tag AS text) || char(10) || CAST(:value AS text){end}
                    {if tag wildcard}
                        substr(f.value, 1, length(CAST(:tag AS text)) + 1) = CAST(:tag AS text) || char(10)
                        AND substr(f.value, length(CAST(:tag AS text)) + 2) {if !wildcard}= :value{end}
                        {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}
                    {end}
                    {if signal}f.value = CAST(:number AS text){end}
                    {if part !wildcard}contains(:value, f.value){end}
                    {if part wildcard}f.value {if !wildcard}= :value{end}
                        {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}
                    {if whole}f.value {if !wildcard}= :value{end}
                        {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}{end}
            )
            {if word}
                OR EXISTS(SELECT 1 FROM facets f WHERE f.group_number = r.group_number AND
                    f.kind <= 5 AND contains(:value, f.value) )
            {end}
    ){end}
    {if found_by_group !wide}{if word by_time}AND (+r.group_number IN (SELECT f.group_number FROM facets f WHERE f.kind <= 2
                    AND f.number IN (SELECT rowid FROM facet_search WHERE facet_search MATCH :pattern))
                OR +r.group_number IN (SELECT f.group_number FROM word_search s CROSS JOIN words w CROSS JOIN facets f
                    WHERE s.word_search MATCH :pattern AND w.number = s.rowid
                    AND f.kind >= 3 AND f.kind = w.kind AND f.value = w.value
                    AND (w.kind BETWEEN 11 AND 14
                        OR w.kind BETWEEN 3 AND 5))){end}
        {if word !by_time}AND (r.group_number IN (SELECT f.group_number FROM facets f WHERE f.kind <= 2
                    AND f.number IN (SELECT rowid FROM facet_search WHERE facet_search MATCH :pattern))
                OR r.group_number IN (SELECT f.group_number FROM word_search s CROSS JOIN words w CROSS JOIN facets f
                    WHERE s.word_search MATCH :pattern AND w.number = s.rowid
                    AND f.kind >= 3 AND f.kind = w.kind AND f.value = w.value
                    AND (w.kind BETWEEN 11 AND 14
                        OR w.kind BETWEEN 3 AND 5))){end}
        {if !word by_time}AND (+r.group_number IN (SELECT f.group_number FROM facets f WHERE {if by_word}f.kind >= 3 AND f.kind = :kind AND f.value IN (SELECT w.value FROM words w
                            WHERE +w.kind = :kind
                            AND w.number IN (SELECT rowid FROM word_search WHERE word_search MATCH :pattern)){end}
                    {if !by_word}f.kind >= 3 AND f.kind = :kind AND
                        {if piece}f.value IN (SELECT w.value FROM words w WHERE +w.kind = :kind
                                AND w.number IN (SELECT rowid FROM word_search WHERE word_search MATCH :piece)) AND{end}
                        {if program}(f.value {if !wildcard}= :value{end}
                                {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}
                                {if wildcard}OR f.value LIKE '%/' || CAST(:pattern AS text) ESCAPE '!'){end}
                            {if !wildcard}OR instr(f.value || char(10), '/' || CAST(:value AS text) || char(10)) > 0){end}{end}
                    {if tag !wildcard}f.value = CAST(:tag AS text) || char(10) || CAST(:value AS text){end}
                    {if tag wildcard}
                        substr(f.value, 1, length(CAST(:tag AS text)) + 1) = CAST(:tag AS text) || char(10)
                        AND substr(f.value, length(CAST(:tag AS text)) + 2) {if !wildcard}= :value{end}
                        {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}
                    {end}
                    {if signal}f.value = CAST(:number AS text){end}
                    {if part !wildcard}contains(:value, f.value){end}
                    {if part wildcard}f.value {if !wildcard}= :value{end}
                        {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}
                    {if whole}f.value {if !wildcard}= :value{end}
                        {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}{end})){end}
    {if !word !by_time}AND (r.group_number IN (SELECT f.group_number FROM facets f WHERE {if by_word}f.kind >= 3 AND f.kind = :kind AND f.value IN (SELECT w.value FROM words w
                        WHERE +w.kind = :kind
                        AND w.number IN (SELECT rowid FROM word_search WHERE word_search MATCH :pattern)){end}
                {if !by_word}f.kind >= 3 AND f.kind = :kind AND
                    {if piece}f.value IN (SELECT w.value FROM words w WHERE +w.kind = :kind
                            AND w.number IN (SELECT rowid FROM word_search WHERE word_search MATCH :piece)) AND{end}
                    {if program}(f.value {if !wildcard}= :value{end}
                            {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}
                            {if wildcard}OR f.value LIKE '%/' || CAST(:pattern AS text) ESCAPE '!'){end}
                        {if !wildcard}OR instr(f.value || char(10), '/' || CAST(:value AS text) || char(10)) > 0){end}{end}
                {if tag !wildcard}f.value = CAST(:tag AS text) || char(10) || CAST(:value AS text){end}
                {if tag wildcard}
                    substr(f.value, 1, length(CAST(:tag AS text)) + 1) = CAST(:tag AS text) || char(10)
                    AND substr(f.value, length(CAST(:tag AS text)) + 2) {if !wildcard}= :value{end}
                    {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}
                {end}
                {if signal}f.value = CAST(:number AS text){end}
                {if part !wildcard}contains(:value, f.value){end}
                {if part wildcard}f.value {if !wildcard}= :value{end}
                    {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}
                {if whole}f.value {if !wildcard}= :value{end}
                    {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}{end})){end}{end}
{end}
{end}
{each ranked}
{if !joined}AND{end}
{if opens}({end}
{if joined}OR{end}
{if negated}NOT{end} ({if since}r.time >= :number{end}
{if until}r.time < :number{end}
{if time}r.time BETWEEN :number AND :high{end}
{if signal}r.signal = :number{end}
{if release}r.release {if !wildcard}= :value{end}
    {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}
{if environment}r.environment {if !wildcard}= :value{end}
    {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}
{if signal_name}r.signal_name {if !wildcard}= :value{end}
    {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}
{if host}r.hostname {if !wildcard}= :value{end}
    {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}
{if program}(r.executable {if !wildcard}= :value{end}
        {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}
        {if wildcard}OR r.executable LIKE '%/' || CAST(:pattern AS text) ESCAPE '!'){end}
    {if !wildcard}OR instr(r.executable || char(10), '/' || CAST(:value AS text) || char(10)) > 0){end}{end}
{if tag}
EXISTS(SELECT 1 FROM tags t
    WHERE t.report = r.number AND t.key = :tag AND t.value {if !wildcard}= :value{end}
    {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end})
{end}
{if word}
contains(:value, r.title, r.summary, r.executable, r.release, r.hostname) OR (
    {if negated !wide}r.group_number IN (SELECT f.group_number FROM word_search s CROSS JOIN words w CROSS JOIN facets f
            WHERE s.word_search MATCH :pattern AND w.number = s.rowid
            AND f.kind >= 3 AND f.kind = w.kind AND f.value = w.value
            AND (w.kind BETWEEN 11 AND 14
                OR w.kind BETWEEN 3 AND 5)) AND{end}
{end}
{if has_mark}EXISTS(SELECT 1 FROM marks m CROSS JOIN json_each(m.list) j WHERE m.report = r.number AND
        {if as_is part !wildcard}contains(:value, m.list) AND{end}
        {if as_is !part !wildcard}instr(m.list, CAST(:value AS text) || '"') > 0 AND{end}
        {if word}substr(j.value, 1, 2) BETWEEN '11' AND '14' AND{end}
        {if !word}substr(j.value, 1, 2) = ':kind' AND{end}
        {if part !wildcard}contains(:value, substr(j.value, 4)){end}
        {if !part}substr(j.value, 4) {if !wildcard}= :value{end}
            {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}
        {if part wildcard}substr(j.value, 4) {if !wildcard}= :value{end}
            {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}
){end}
{if word}){end}) {if closes}){end}
{end}
ORDER BY r.number LIMIT :limit

-- STORE_MARKED_GROUPS
SELECT g.number, g.kept
FROM groups g
WHERE 1 = 1
{if in_project}AND g.project = :project{end}
{each term}
    {if of_group}
        {if !joined}AND{end}
        {if opens}({end}
            {if joined}OR{end}
            {if negated}NOT{end} (
                {if first_release}g.first_release {if !wildcard}= :value{end}
                    {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}
                {if first_seen}g.first_seen BETWEEN :number AND :high{end}
                {if last_seen}g.last_seen BETWEEN :number AND :high{end}
                {if reports}g.count BETWEEN :number AND :high{end}
                {if machines}g.machines BETWEEN :number AND :high{end}
                {if users}g.users BETWEEN :number AND :high{end}
                {if status}g.status = :value{end}
                {if any}1 = 1{end}
                {if open}g.status IN ('open', 'regressed'){end}
                {if back_in}g.status = 'regressed' AND g.status_release = :value{end}
                {if rising}g.number IN (SELECT value FROM json_each(:risen)){end}
                {if new}(g.first_release <> '' AND g.project || char(10) || g.program || char(10)
                        || g.first_release IN (SELECT value FROM json_each(:fresh)))
                    OR (g.first_release = '' AND g.first_seen >= :week_ms){end}
                {if assigned}g.assignee <> ''{end}
                {if assignee}g.assignee {if !wildcard}= :value{end}
                    {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}
                {if project}g.project {if !wildcard}= :value{end}
                    {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}
                {if short_word}contains(:value, g.title, g.summary){end}
            ) {if closes}){end}
    {end}
{end}
{each choice}
    {if opens}AND ({end}
        {if joined}OR{end}
        {if facet}g.number IN (SELECT f.group_number FROM facets f WHERE {if by_word}f.kind >= 3 AND f.kind = :kind AND f.value IN (SELECT w.value FROM words w
                        WHERE +w.kind = :kind
                        AND w.number IN (SELECT rowid FROM word_search WHERE word_search MATCH :pattern)){end}
                {if !by_word}f.kind >= 3 AND f.kind = :kind AND
                    {if piece}f.value IN (SELECT w.value FROM words w WHERE +w.kind = :kind
                            AND w.number IN (SELECT rowid FROM word_search WHERE word_search MATCH :piece)) AND{end}
                    {if program}(f.value {if !wildcard}= :value{end}
                            {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}
                            {if wildcard}OR f.value LIKE '%/' || CAST(:pattern AS text) ESCAPE '!'){end}
                        {if !wildcard}OR instr(f.value || char(10), '/' || CAST(:value AS text) || char(10)) > 0){end}{end}
                {if tag !wildcard}f.value = CAST(:tag AS text) || char(10) || CAST(:value AS text){end}
                {if tag wildcard}
                    substr(f.value, 1, length(CAST(:tag AS text)) + 1) = CAST(:tag AS text) || char(10)
                    AND substr(f.value, length(CAST(:tag AS text)) + 2) {if !wildcard}= :value{end}
                    {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}
                {end}
                {if signal}f.value = CAST(:number AS text){end}
                {if part !wildcard}contains(:value, f.value){end}
                {if part wildcard}f.value {if !wildcard}= :value{end}
                    {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}
                {if whole}f.value {if !wildcard}= :value{end}
                    {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}{end}){end}
    {if word}
        g.number IN (SELECT f.group_number FROM facets f WHERE f.kind <= 2
            AND f.number IN (SELECT rowid FROM facet_search WHERE facet_search MATCH :pattern))
        OR g.number IN (SELECT f.group_number FROM word_search s CROSS JOIN words w CROSS JOIN facets f
            WHERE s.word_search MATCH :pattern AND w.number = s.rowid
            AND f.kind >= 3 AND f.kind = w.kind AND f.value = w.value
            AND (w.kind BETWEEN 11 AND 14
                OR w.kind BETWEEN 3 AND 5))
    {end}
    {if closes}){end}
{end}
{each term}
{if found_by_group !wide}{if word by_time}AND (+g.number IN (SELECT f.group_number FROM facets f WHERE f.kind <= 2
                AND f.number IN (SELECT rowid FROM facet_search WHERE facet_search MATCH :pattern))
            OR +g.number IN (SELECT f.group_number FROM word_search s CROSS JOIN words w CROSS JOIN facets f
                WHERE s.word_search MATCH :pattern AND w.number = s.rowid
                AND f.kind >= 3 AND f.kind = w.kind AND f.value = w.value
                AND (w.kind BETWEEN 11 AND 14
                    OR w.kind BETWEEN 3 AND 5))){end}
    {if word !by_time}AND (g.number IN (SELECT f.group_number FROM facets f WHERE f.kind <= 2
                AND f.number IN (SELECT rowid FROM facet_search WHERE facet_search MATCH :pattern))
            OR g.number IN (SELECT f.group_number FROM word_search s CROSS JOIN words w CROSS JOIN facets f
                WHERE s.word_search MATCH :pattern AND w.number = s.rowid
                AND f.kind >= 3 AND f.kind = w.kind AND f.value = w.value
                AND (w.kind BETWEEN 11 AND 14
                    OR w.kind BETWEEN 3 AND 5))){end}
    {if !word by_time}AND (+g.number IN (SELECT f.group_number FROM facets f WHERE {if by_word}f.kind >= 3 AND f.kind = :kind AND f.value IN (SELECT w.value FROM words w
                        WHERE +w.kind = :kind
                        AND w.number IN (SELECT rowid FROM word_search WHERE word_search MATCH :pattern)){end}
                {if !by_word}f.kind >= 3 AND f.kind = :kind AND
                    {if piece}f.value IN (SELECT w.value FROM words w WHERE +w.kind = :kind
                            AND w.number IN (SELECT rowid FROM word_search WHERE word_search MATCH :piece)) AND{end}
                    {if program}(f.value {if !wildcard}= :value{end}
                            {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}
                            {if wildcard}OR f.value LIKE '%/' || CAST(:pattern AS text) ESCAPE '!'){end}
                        {if !wildcard}OR instr(f.value || char(10), '/' || CAST(:value AS text) || char(10)) > 0){end}{end}
                {if tag !wildcard}f.value = CAST(:tag AS text) || char(10) || CAST(:value AS text){end}
                {if tag wildcard}
                    substr(f.value, 1, length(CAST(:tag AS text)) + 1) = CAST(:tag AS text) || char(10)
                    AND substr(f.value, length(CAST(:tag AS text)) + 2) {if !wildcard}= :value{end}
                    {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}
                {end}
                {if signal}f.value = CAST(:number AS text){end}
                {if part !wildcard}contains(:value, f.value){end}
                {if part wildcard}f.value {if !wildcard}= :value{end}
                    {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}
                {if whole}f.value {if !wildcard}= :value{end}
                    {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}{end})){end}
{if !word !by_time}AND (g.number IN (SELECT f.group_number FROM facets f WHERE {if by_word}f.kind >= 3 AND f.kind = :kind AND f.value IN (SELECT w.value FROM words w
                    WHERE +w.kind = :kind
                    AND w.number IN (SELECT rowid FROM word_search WHERE word_search MATCH :pattern)){end}
            {if !by_word}f.kind >= 3 AND f.kind = :kind AND
                {if piece}f.value IN (SELECT w.value FROM words w WHERE +w.kind = :kind
                        AND w.number IN (SELECT rowid FROM word_search WHERE word_search MATCH :piece)) AND{end}
                {if program}(f.value {if !wildcard}= :value{end}
                        {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}
                        {if wildcard}OR f.value LIKE '%/' || CAST(:pattern AS text) ESCAPE '!'){end}
                    {if !wildcard}OR instr(f.value || char(10), '/' || CAST(:value AS text) || char(10)) > 0){end}{end}
            {if tag !wildcard}f.value = CAST(:tag AS text) || char(10) || CAST(:value AS text){end}
            {if tag wildcard}
                substr(f.value, 1, length(CAST(:tag AS text)) + 1) = CAST(:tag AS text) || char(10)
                AND substr(f.value, length(CAST(:tag AS text)) + 2) {if !wildcard}= :value{end}
                {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}
            {end}
            {if signal}f.value = CAST(:number AS text){end}
            {if part !wildcard}contains(:value, f.value){end}
            {if part wildcard}f.value {if !wildcard}= :value{end}
                {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}
            {if whole}f.value {if !wildcard}= :value{end}
                {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}{end})){end}{end}
{end}
LIMIT :limit

-- STORE_PROBE_TERM
SELECT count(*)
FROM (SELECT 1 FROM (
        {each term}
            {if !word !piece}SELECT f.group_number FROM facets f WHERE {if by_word}f.kind >= 3 AND f.kind = :kind AND f.value IN (SELECT w.value FROM words w
                        WHERE +w.kind = :kind
                        AND w.number IN (SELECT rowid FROM word_search WHERE word_search MATCH :pattern)){end}
                {if !by_word}f.kind >= 3 AND f.kind = :kind AND
                    {if piece}f.value IN (SELECT w.value FROM words w WHERE +w.kind = :kind
                            AND w.number IN (SELECT rowid FROM word_search WHERE word_search MATCH :piece)) AND{end}
                    {if program}(f.value {if !wildcard}= :value{end}
                            {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}
                            {if wildcard}OR f.value LIKE '%/' || CAST(:pattern AS text) ESCAPE '!'){end}
                        {if !wildcard}OR instr(f.value || char(10), '/' || CAST(:value AS text) || char(10)) > 0){end}{end}
                {if tag !wildcard}f.value = CAST(:tag AS text) || char(10) || CAST(:value AS text){end}
                {if tag wildcard}
                    substr(f.value, 1, length(CAST(:tag AS text)) + 1) = CAST(:tag AS text) || char(10)
                    AND substr(f.value, length(CAST(:tag AS text)) + 2) {if !wildcard}= :value{end}
                    {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}
                {end}
                {if signal}f.value = CAST(:number AS text){end}
                {if part !wildcard}contains(:value, f.value){end}
                {if part wildcard}f.value {if !wildcard}= :value{end}
                    {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}
                {if whole}f.value {if !wildcard}= :value{end}
                    {if wildcard}LIKE CAST(:pattern AS text) ESCAPE '!'{end}{end}{end}{end}
        {if piece}SELECT f.group_number FROM word_search s CROSS JOIN words w CROSS JOIN facets f{end}
        {if piece}WHERE s.word_search MATCH :piece AND w.number = s.rowid AND w.kind = :kind{end}
        {if piece}AND f.kind >= 3 AND f.kind = w.kind AND f.value = w.value{end}
        {if word}SELECT f.group_number FROM word_search s CROSS JOIN words w CROSS JOIN facets f
            WHERE s.word_search MATCH :pattern AND w.number = s.rowid
            AND f.kind >= 3 AND f.kind = w.kind AND f.value = w.value
            AND (w.kind BETWEEN 11 AND 14
                OR w.kind BETWEEN 3 AND 5){end}
        {if word}UNION ALL SELECT rowid FROM facet_search WHERE facet_search MATCH :pattern{end}
    {end}
    LIMIT :limit) p) w

-- STORE_ESTIMATE_TEXTS
SELECT 0
