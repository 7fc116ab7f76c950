-- SPDX-License-Identifier: Apache-2.0
--
-- What pages and lists show of groups: the values that their reports carry, and how many
-- have each.

-- name: STORE_READ_FACETS
SELECT kind, value, count
FROM (SELECT kind, value, count FROM facets
    WHERE group_number = ?1 AND kind = {FACET_RELEASE}
    ORDER BY last_seen DESC, value DESC LIMIT ?2) releases
UNION ALL
SELECT kind, value, count
FROM (SELECT kind, value, count FROM facets
    WHERE group_number = ?1 AND kind = {FACET_EXECUTABLE}
    ORDER BY count DESC, value LIMIT ?3) programs

-- name: STORE_READ_HELD
SELECT CAST(coalesce(sum(count), 0) AS bigint)
FROM held_back
WHERE fingerprint = ?1
    OR fingerprint IN (SELECT fingerprint FROM merged WHERE target = ?1)
    OR fingerprint IN (SELECT fingerprint FROM keys
        WHERE target = ?1
            OR target IN (SELECT fingerprint FROM merged WHERE target = ?1))

-- name: STORE_READ_DAYS
SELECT day, count FROM group_days WHERE group_number = ?1 AND day > ?2

-- part: VALUES_OF_LISTED
-- The same with the day of each report, in days since 1970, as kind {FACET_DAY}; marks only
-- if @ is their kind or 0. Programs are counted by name: one in a folder for each release
-- is one program.
SELECT number, kind, CASE WHEN kind = {FACET_EXECUTABLE} THEN {PROGRAM_OF value}
    ELSE value END AS value
FROM ({FACETS_OF_LISTED AND (@ = 0 OR @ BETWEEN {FACET_KIND} AND {FACET_FREED_IN})}) f
UNION ALL
SELECT r.number, CAST({FACET_DAY} AS bigint), CAST(r.time / 86400000 AS text)
FROM reports r WHERE r.number {LISTED}

-- name: STORE_COUNT_VALUES
-- How many of the reports in the list ?1 have each value of the kind ?2, the ?3 most
-- frequent; 0: of every kind of which a report has few. Days are in their order.
SELECT kind, value, '' AS then_value, count, max(count) OVER (PARTITION BY kind) AS most
FROM (SELECT kind, value, count(*) AS count,
        row_number() OVER (PARTITION BY kind ORDER BY count(*) DESC, value) AS place
    FROM ({VALUES_OF_LISTED ?2}) v
    WHERE CASE WHEN ?2 <> 0 THEN kind = ?2
        ELSE kind NOT IN ({FACET_TITLE}, {FACET_SUMMARY}, {FACET_DAY}, {FACET_SIGNAL})
            AND (kind < {FACET_FRAME} OR kind > {FACET_MESSAGE}) END
    GROUP BY kind, value) counted
WHERE place <= ?3
ORDER BY kind, CASE WHEN kind = {FACET_DAY} THEN value ELSE '' END DESC, place

-- name: STORE_CROSS_VALUES
-- The same for each value of the kind ?2 with each of the kind ?4.
SELECT a.kind, a.value, b.value AS then_value, count(*) AS count, 0 AS most
FROM ({VALUES_OF_LISTED ?2}) a
JOIN ({VALUES_OF_LISTED ?4}) b ON b.number = a.number
WHERE a.kind = ?2 AND b.kind = ?4
GROUP BY a.kind, a.value, b.value
ORDER BY 4 DESC, a.value, b.value LIMIT ?3

-- name: STORE_LIST_VALUES
SELECT value, count, 0 AS elsewhere, last_seen
FROM ({VALUES_OF_GROUP}) f
ORDER BY count DESC, value LIMIT ?3

-- name: STORE_LIST_VALUES_OF
-- Values that ?4 reports of the group have, or more. elsewhere: in the reports of the
-- other groups of its program.
SELECT f.value, f.count,
    (SELECT CAST(coalesce(sum((SELECT o.count FROM facets o
            WHERE o.group_number = g.number AND o.kind = f.kind
                AND o.value = f.value)), 0) AS bigint)
        FROM ({OTHER_GROUPS}) g WHERE g.number <> f.group_number) AS elsewhere,
    f.last_seen
FROM (SELECT * FROM ({VALUES_OF_GROUP}) v
    WHERE count >= ?4 ORDER BY count DESC, value LIMIT ?3) f
ORDER BY f.count DESC, f.value

-- name: STORE_COUNT_OTHERS
-- Of the reports of which a value is one elsewhere.
SELECT CAST(coalesce(sum(g.count), 0) AS bigint)
FROM ({OTHER_GROUPS}) g
WHERE g.number <> {GROUP_OF_1}

-- name: STORE_LIST_RELEASES
-- The releases of programs seen last. began: a group was first seen in it.
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

-- name: STORE_RELEASE_DAYS
-- The reports of each release on each of the days from ?4 to ?5, also of reports without
-- one.
SELECT project, program, release, day, CAST(sum(count) AS bigint) AS count
FROM program_days
WHERE day >= ?4 AND day <= ?5 AND (?1 = '' OR project = ?1) AND (?2 = '' OR program = ?2)
    AND (?3 = '' OR environment = ?3)
GROUP BY project, program, release, day

-- name: STORE_RELEASES_COMPARED
-- The reports of each group of the program ?2 in the releases ?3 and ?4, the groups that
-- differ most first.
SELECT w.fingerprint, w.title, w.before_count, w.after_count
FROM (SELECT g.fingerprint, g.title,
        CAST(sum(CASE WHEN f.value = ?3 THEN f.count ELSE 0 END) AS bigint) AS before_count,
        CAST(sum(CASE WHEN f.value = ?4 THEN f.count ELSE 0 END) AS bigint) AS after_count
    FROM groups g
    JOIN facets f ON f.group_number = g.number AND f.kind = {FACET_RELEASE}
        AND f.value IN (?3, ?4)
    WHERE g.program = ?2 AND (?1 = '' OR g.project = ?1)
    GROUP BY g.number, g.fingerprint, g.title) w
ORDER BY abs(w.after_count - w.before_count) DESC, w.fingerprint LIMIT ?5

-- name: STORE_RELEASE_GROUPS
-- How many groups were first seen in each release of the program ?2 (empty: of all), and
-- how many came back in it.
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

-- name: STORE_LIST_MACHINES
-- The hosts of the last ?4 reports since ?2. counted: reports of all hosts.
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

-- name: STORE_LIST_PROGRAMS
SELECT program, CAST(sum(count) AS bigint) AS count
FROM program_days
WHERE ?1 = '' OR project = ?1
GROUP BY program
ORDER BY 2 DESC, 1 LIMIT ?2

-- name: STORE_RISEN
-- Groups with 10 reports in seven days (?2 is the day before them, ?3 today) and more than
-- in the seven before. One that is younger than these days is new and does not rise.
SELECT number, project, program, recent, before
FROM (SELECT g.number AS number, g.project AS project, g.program AS program,
        {DAYS_OF_GROUP} > ?2 AND d.day <= ?3) AS recent,
        {DAYS_OF_GROUP} > ?4 AND d.day <= ?2) AS before
    FROM groups g
    WHERE g.last_seen >= ?1 AND g.first_seen < ?1) w
WHERE recent >= 10 AND recent > before

-- name: STORE_PROGRAM_WEEKS
-- The same of all groups of a program that are no younger: what is new says nothing of how
-- much a program is used.
SELECT project, program, CAST(coalesce(sum(recent), 0) AS bigint) AS recent,
    CAST(coalesce(sum(before), 0) AS bigint) AS before
FROM (SELECT g.project AS project, g.program AS program,
        {DAYS_OF_GROUP} > ?2 AND d.day <= ?3) AS recent,
        {DAYS_OF_GROUP} > ?4 AND d.day <= ?2) AS before
    FROM groups g
    WHERE g.last_seen >= ?5 AND g.first_seen < ?1) w
GROUP BY project, program

-- name: STORE_LIST_LONE_HOSTS
-- count: groups; elsewhere: reports. From groups to facets: few groups are of one
-- machine.
SELECT f.value, count(*) AS count, CAST(sum(f.count) AS bigint) AS elsewhere,
    max(f.last_seen) AS last_seen
FROM groups g
CROSS JOIN facets f
WHERE f.group_number = g.number AND f.kind = {FACET_HOSTNAME} AND g.machines = 1
    AND g.status IN ('open', 'regressed') AND (?3 = '' OR g.project = ?3)
    AND EXISTS(SELECT 1 FROM groups
        WHERE machines > 1 AND (?3 = '' OR project = ?3))
GROUP BY f.value
HAVING count(*) >= ?1
ORDER BY 2 DESC, 1 LIMIT ?2

-- name: STORE_LAST_REPORT
-- The number of the last report: no more have been stored.
SELECT coalesce(max(number), 0)
FROM reports

-- name: STORE_COUNT_SOME_GROUPS
-- Up to ?1.
SELECT count(*) FROM (SELECT 1 FROM groups LIMIT ?1) w

-- name: STORE_TOTALS
SELECT CAST(coalesce(sum(kept), 0) AS bigint) AS reports, count(*) AS groups
FROM groups
WHERE ?1 = '' OR project = ?1

-- name: STORE_REPORTS_AROUND
-- The reports of the same group before and after the report ?1, in the order of their
-- time, and the oldest one.
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

-- name: STORE_FIND_TELLING
-- Of the newest ?2 reports of a group the one with most marks: functions, files, a message,
-- arguments.
SELECT r.id
FROM (SELECT number, id, time FROM reports
    WHERE group_number = {GROUP_OF_1} ORDER BY time DESC, number DESC LIMIT ?2) r
LEFT JOIN marks m ON m.report = r.number
ORDER BY coalesce(length(m.list), 0) DESC, r.time DESC, r.number DESC LIMIT 1

-- name: STORE_FIND_NUMBER
SELECT number FROM groups WHERE fingerprint = ?1

-- name: STORE_LIST_MERGED
-- Fingerprints that were merged into group ?1, with how many of its last ?3 reports have
-- each. With the group's number ?2 PostgreSQL knows whether it is a large one, of which it
-- must not sort all reports. The index has the numbers of the last ones.
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

-- name: STORE_FIND_BODY
-- With the time of receipt PostgreSQL reads one partition and not all of them.
SELECT {REPORT_COLUMNS}, {BODY_COLUMNS}
FROM reports r
JOIN groups g ON g.number = r.group_number
JOIN bodies b ON b.report = r.number
{BODY_SEGMENTS}
WHERE r.id = ?1
-- postgres:
SELECT {REPORT_COLUMNS}, {BODY_COLUMNS}
FROM reports r
JOIN groups g ON g.number = r.group_number
JOIN bodies b ON b.report = r.number AND b.received = r.received
{BODY_SEGMENTS}
WHERE r.id = ?1

-- name: STORE_LIST_KIN
SELECT fingerprint, title, stack, count
FROM groups
WHERE stack <> '' AND project = ?2
ORDER BY last_seen DESC, number DESC LIMIT ?1

-- name: STORE_FIGURES
SELECT (SELECT p.page_count * s.page_size
        FROM pragma_page_count() p, pragma_page_size() s) AS bytes,
    coalesce((SELECT min(received) FROM reports), 0) AS oldest,
    (SELECT count(*) FROM moves) AS moves
-- postgres:
SELECT pg_database_size(current_database()) AS bytes,
    coalesce((SELECT min(received) FROM reports), 0) AS oldest,
    (SELECT count(*) FROM moves) AS moves

-- name: STORE_PROJECT_FIGURES
SELECT project, count(*) AS groups, CAST(sum(count) AS bigint) AS received,
    CAST(sum(kept) AS bigint) AS kept
FROM groups
GROUP BY project
ORDER BY project
