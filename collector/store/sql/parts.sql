-- SPDX-License-Identifier: Apache-2.0
--
-- Parts of statements: {NAME} stands for the text of a part.

-- part: PROGRAM_OF
-- The name of the file at a path, which is the name of a program: that may be installed in
-- a folder for each release.
replace(@, rtrim(@, replace(@, '/', '')), '')
-- postgres:
regexp_replace(@, '^.*/', '')

-- part: MEMBERS_MOST
8192

-- part: OUTSIDE_STEP
-- Not 0 if the group g does not keep the member @: its hash does not divide by the step.
@.member & (CASE @.kind WHEN {FACET_HOSTNAME} THEN g.machine_step ELSE g.user_step END - 1)

-- part: IN_PROJECT_OF_2
IN (SELECT number FROM groups WHERE ?2 = '' OR project = ?2)

-- part: LISTED
-- The condition that a number is in the list ?1.
IN (SELECT value FROM json_each(?1))
-- postgres:
= ANY(CAST(?1 AS bigint[]))

-- part: LISTED_GONE
-- The condition that a number is in the list ?1 and that of no group: the few rows of
-- groups that ended are found without reading all those of groups that did not.
IN (SELECT value FROM json_each(?1)
    WHERE NOT EXISTS(SELECT 1 FROM groups g WHERE g.number = value))
-- postgres:
IN (SELECT l.value FROM unnest(CAST(?1 AS bigint[])) AS l(value)
    WHERE NOT EXISTS(SELECT 1 FROM groups g WHERE g.number = l.value))

-- part: ROW
-- Where a row is. {ROW_AMONG} and {ROW_END} enclose a SELECT of it: a few rows are found
-- by an index and not looked for in the whole table.
rowid
-- postgres:
ctid

-- part: ROW_AMONG
rowid IN (
-- postgres:
ctid = ANY(ARRAY(

-- part: ROW_END
)
-- postgres:
))

-- part: LINE_END
char(10)
-- postgres:
chr(10)

-- part: MARK_ELEMENTS
-- The elements j.value of the marks m.
json_each(m.list) j
-- postgres:
json_array_elements_text(CAST(m.list AS json)) AS j(value)

-- part: FACETS_OF_LISTED
-- All values that the reports in the list ?1 have, in their columns, tags and marks; marks
-- only @. Where a column has the same type in all of a UNION, PostgreSQL looks at a kind
-- inside of it.
SELECT number, group_number, kind, value, time
FROM (SELECT r.number AS number, r.group_number AS group_number,
    CAST(k.column1 AS bigint) AS kind,
    CASE k.column1 WHEN {FACET_TITLE} THEN r.title WHEN {FACET_SUMMARY} THEN r.summary
        WHEN {FACET_EXECUTABLE} THEN r.executable WHEN {FACET_HOSTNAME} THEN r.hostname
        WHEN {FACET_RELEASE} THEN r.release WHEN {FACET_ENVIRONMENT} THEN r.environment
        WHEN {FACET_SIGNAL} THEN CAST(r.signal AS text) ELSE r.signal_name END AS value,
    r.time AS time
    FROM reports r CROSS JOIN (VALUES ({FACET_TITLE}), ({FACET_SUMMARY}),
        ({FACET_EXECUTABLE}), ({FACET_HOSTNAME}), ({FACET_RELEASE}),
        ({FACET_ENVIRONMENT}), ({FACET_SIGNAL}), ({FACET_SIGNAL_NAME})) k
    WHERE r.number {LISTED}
    UNION ALL
    SELECT r.number, r.group_number, CAST({FACET_TAG} AS bigint),
        t.key || {LINE_END} || t.value, r.time
    FROM reports r JOIN tags t ON t.report = r.number
    WHERE r.number {LISTED}
    UNION ALL
    SELECT r.number, r.group_number, CAST(substr(j.value, 1, 2) AS bigint),
        substr(j.value, 4), r.time
    FROM reports r JOIN marks m ON m.report = r.number CROSS JOIN {MARK_ELEMENTS}
    WHERE r.number {LISTED} @) carried
WHERE value <> ''

-- part: FACETS_MERGE
-- The end of a statement that counts facets some of which may exist.
ON CONFLICT(group_number, kind, value) DO UPDATE SET
    count = facets.count + excluded.count,
    last_seen = CASE WHEN facets.last_seen < excluded.last_seen THEN excluded.last_seen
        ELSE facets.last_seen END

-- part: PROGRAM_DAYS_MERGE
ON CONFLICT(project, program, environment, release, day, part) DO UPDATE SET
    count = program_days.count + excluded.count,
    first_seen = CASE WHEN excluded.first_seen < program_days.first_seen
        THEN excluded.first_seen ELSE program_days.first_seen END,
    last_seen = CASE WHEN excluded.last_seen > program_days.last_seen
        THEN excluded.last_seen ELSE program_days.last_seen END

-- part: PLACE_OF
-- The declared place of the release @ of the program of the group g.
(SELECT o.place FROM release_places o
    WHERE o.project = g.project AND o.program = g.program AND o.release = @)

-- part: FIRST_SEEN_OF
-- When that program first had the release @.
(SELECT min(d.first_seen) FROM program_days d
    WHERE d.project = g.project AND d.program = g.program AND d.release = @)

-- part: GROUP_OF_3
-- The number of the group that reports of fingerprint ?3 belong to, which exists.
(SELECT number FROM groups WHERE fingerprint
    = coalesce((SELECT target FROM merged WHERE fingerprint = ?3), ?3))

-- part: GROUP_OF_1
-- The number of the group that fingerprint ?1 leads to.
(SELECT number FROM groups WHERE fingerprint
    = coalesce((SELECT target FROM merged WHERE fingerprint = ?1), ?1))

-- part: VALUES_OF_GROUP
-- Values of kind ?2 of the group of fingerprint ?1; a group may have one a report, of
-- which some are looked at.
SELECT group_number, kind, value, count, last_seen
FROM facets
WHERE group_number = {GROUP_OF_1} AND kind = ?2 LIMIT {VALUES_MOST}

-- part: VALUES_MOST
10000

-- part: OTHER_GROUPS
-- The groups of the same program seen last, which stand for all of them.
SELECT number, count
FROM groups
WHERE project = (SELECT project FROM groups WHERE number = {GROUP_OF_1})
    AND program = (SELECT program FROM groups WHERE number = {GROUP_OF_1})
ORDER BY last_seen DESC, number DESC LIMIT {OTHER_GROUPS_MOST}

-- part: OTHER_GROUPS_MOST
500

-- part: JOB_AGAIN
-- The end of a statement that queues jobs some of which may be queued or under way: a
-- new turn keeps the result of a job under way from ending it.
ON CONFLICT(report) DO UPDATE SET turn = jobs.turn + 1, until = 0, tries = 0

-- part: BODY_COLUMNS
-- Where the body b is (store_bodies.h): in its row, or in the segment s.
b.encoding, b.bytes, coalesce(s.name, '') AS segment_name, b.start, b.length,
p.bytes AS prefix

-- part: BODY_SEGMENTS
LEFT JOIN segments s ON s.number = b.segment
LEFT JOIN body_prefixes p ON p.number = b.prefix
