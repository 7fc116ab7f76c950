-- SPDX-License-Identifier: Apache-2.0
--
-- Lists that a filter narrows (store_filter.h), and what is looked up before them. A
-- clause whose condition (`--:`) does not hold is left out: see statements.cmake. The
-- names of keys hold for the term that `--: each` is at. store_query.h has the other
-- conditions, the values and the lists of terms.

-- part: GROUP_COLUMNS
g.fingerprint, g.title, g.summary, g.status, g.signal, g.count, g.first_seen,
g.last_seen, g.number, g.kept, g.status_release, g.status_time, g.note, g.assignee,
g.machines, g.users, g.first_release, g.stack, g.resolved_in, g.until_count, g.until_machines,
g.until_time, g.version, g.project, g.program

-- part: REPORT_COLUMNS
r.id, g.fingerprint AS group_id, r.title, r.summary, r.signal_name, r.release,
r.environment, r.executable, r.hostname, r.signal, r.revision, r.time, r.received,
r.number, r.fingerprint, g.project

-- name: STORE_LIST_GROUPS
-- One pass finds the numbers of the groups that match; what is shown of a group is read
-- for the page alone.
WITH hit AS (
    {HITS}
)
SELECT {GROUP_COLUMNS}, h.place AS place,
    h.place                                 --: counts_sort by_count
    {COUNT}                                 --: counts_sort !by_count
    {COUNT}                                 --: !counts_sort
    AS filtered,
    h.place                                 --: counts_sort by_machines
    {MACHINES}                              --: counts_sort !by_machines
    {MACHINES}                              --: !counts_sort
    AS filtered_machines,
    {USERS} AS filtered_users,
    {CUT} AS cut,
    (SELECT count(*) FROM hit)              --: counted
    0                                       --: !counted
    AS found
FROM (
    SELECT number, place
    FROM hit                                --: !counts_sort
    --: counts_sort {
    FROM (SELECT g.number AS number,
        {COUNT}                             --: by_count
        {MACHINES}                          --: by_machines
        AS place FROM hit CROSS JOIN groups g WHERE g.number = hit.number) c
    --: }
    WHERE (place, number) < (:place, :number_after)     --: counts_sort after
    ORDER BY place DESC, number DESC LIMIT :limit
) h
CROSS JOIN groups g
WHERE g.number = h.number
ORDER BY h.place DESC, g.number DESC

-- name: STORE_COUNT_GROUPS
SELECT count(*) FROM ({HITS}) hit

-- name: STORE_FIND_GROUP
SELECT {GROUP_COLUMNS}, g.last_seen AS place, g.count AS filtered,
    g.machines AS filtered_machines, g.users AS filtered_users, 0 AS cut, 1 AS found
FROM groups g
WHERE 1 = 1 AND g.number = {GROUP_OF_KEY}

-- name: STORE_LIST_REPORTS
-- marked: the groups were found before. An expression keeps the index of its column from
-- being used.
SELECT
    {REPORT_COLUMNS}                        --: !numbers
    r.number                                --: numbers
FROM reports r
JOIN groups g ON g.number = r.group_number
WHERE 1 = 1
    AND r.group_number {IN_MARKED}          --: marked few
    AND r.group_number + 0 {IN_MARKED}      --: marked !few
    {REPORTS_NARROWED}
    AND (r.time, r.number) < (:place, :number_after)    --: after
ORDER BY r.time + 0 DESC, r.number DESC     --: few
ORDER BY r.time DESC, r.number DESC         --: !few
LIMIT :limit

-- name: STORE_ERASED_REPORTS
SELECT r.number, r.group_number
FROM reports r
JOIN groups g ON g.number = r.group_number
WHERE 1 = 1
    {REPORTS_NARROWED}
ORDER BY r.number LIMIT :limit

-- name: STORE_MARKED_GROUPS
-- The groups that have what a list of reports is narrowed to.
SELECT g.number, g.kept
FROM groups g
WHERE 1 = 1
    {GROUP_TERMS}
    {CHOICE_SEARCH g.number}
    --: each term {
    {NARROW_SEARCH g.number}                --: found_by_group !wide
    --: }
LIMIT :limit

-- name: STORE_PROBE_TERM
-- How many facets have a term, up to a limit.
SELECT count(*)
FROM (SELECT 1 FROM (
    --: each term {
    SELECT f.group_number FROM facets f WHERE {FACET_SEARCHED}  --: !word !piece
    SELECT f.group_number FROM word_search s CROSS JOIN words w CROSS JOIN facets f --: piece
    WHERE s.word_search MATCH :piece AND w.number = s.rowid AND w.kind = :kind      --: piece
        AND f.kind >= {FACET_EXECUTABLE} AND f.kind = w.kind AND f.value = w.value  --: piece
    {GROUPS_OF_WORDS}                       --: word
    UNION ALL SELECT rowid FROM facet_search WHERE facet_search MATCH :pattern  --: word
    --: }
    LIMIT :limit) p) w
-- postgres:
SELECT count(*)
FROM (SELECT 1 FROM (
    --: each term {
    SELECT f.group_number FROM facets f WHERE {FACET_SEARCHED}  --: !word
    {GROUPS_OF_WORDS}                       --: word
    --: }
    LIMIT :limit) p) w

-- name: STORE_ESTIMATE_TEXTS
-- About how many titles, summaries and other columns contain a word: in 64 pages of the
-- table. No index of PostgreSQL finds some of very many.
SELECT 0
-- postgres:
SELECT count(*) * (pg_relation_size('facets') / 8192 / 64 + 1)
FROM facets f TABLESAMPLE SYSTEM (100.0 / (pg_relation_size('facets') / 8192 / 64 + 1))
    REPEATABLE (1)
WHERE f.kind <= {FACET_RELEASE} AND
    --: each term {
    {CONTAINS f.value}
    --: }

-- part: REPORTS_NARROWED
-- The report r in the group g is one that the filter accepts.
AND r.group_number = {GROUP_OF_KEY}     --: in_group
{GROUP_TERMS}
--: !marked {
--: each term {
{WIDE_SEARCH r.group_number}            --: found_by_group wide
{NARROW_SEARCH r.group_number}          --: found_by_group !wide
--: }
--: }
--: each ranked {
{NEGATED} ({REPORT_TERM}) {END}
--: }

-- part: GROUP_OF_KEY
-- The number of the group that the key :group leads to. The first 8 or more characters
-- of a group's own key lead to it where no other key begins with them.
coalesce((SELECT number FROM groups WHERE fingerprint
        = coalesce((SELECT target FROM merged WHERE fingerprint = :group), :group)),
    (SELECT kg.number FROM keys k JOIN groups kg ON kg.fingerprint
        = coalesce((SELECT target FROM merged WHERE fingerprint = k.target), k.target)
        WHERE k.fingerprint = :group),
    (SELECT min(number) FROM groups WHERE length(:group) >= 8
        AND fingerprint > :group AND fingerprint < :group || 'g' HAVING count(*) = 1))

-- part: IN_MARKED
IN (SELECT value FROM json_each(:marked))
-- postgres:
= ANY(CAST(:marked AS bigint[]))

-- part: PLACE
-- What groups are sorted by.
g.count                                     --: by_count
g.machines                                  --: by_machines
g.first_seen                                --: by_first_seen
{RISING_PLACE}                              --: by_rising
g.last_seen                                 --: by_last_seen

-- part: HITS
-- The number and the place of the groups that match, without those whose reports are
-- being moved into another one. bounded: some are found, in their order, so that reports
-- are looked at up to the limit alone. sorts: no index has that order; the join of SQLite
-- keeps the order of its first table.
SELECT g.number AS number, {PLACE} AS place
FROM (SELECT g.number AS sorted             --: sorts
FROM groups g
WHERE g.number NOT IN (SELECT source FROM moves WHERE fingerprint = '')
    AND g.number = {GROUP_OF_KEY}           --: in_group
    {GROUP_TERMS}
    {CHOICE_SEARCH g.number}
    --: each term {
    AND g.last_seen >= :number              --: listed since
    AND g.first_seen < :number              --: listed until
    AND g.last_seen >= :number AND g.first_seen <= :high    --: listed time
    AND {EXISTS}SELECT 1 FROM reports r WHERE r.group_number = g.number --: listed time
        AND r.time BETWEEN :number AND :high {EXISTS_END}   --: listed time
    {WORD_SEARCH g.number}                  --: listed word bounded
    {WORD_SEARCH +g.number}                 --: listed word !bounded
    {FACET_SEARCH g.number}                 --: listed facet bounded
    {FACET_SEARCH +g.number}                --: listed facet !bounded
    --: }
    ORDER BY {PLACE} DESC, g.number DESC LIMIT -1) o CROSS JOIN groups g    --: sorts
    WHERE g.number = o.sorted               --: sorts
{HITS_EXAMINED}
-- postgres:
SELECT g.number AS number, {PLACE} AS place
FROM (SELECT g.number, g.first_seen, g.last_seen, g.count, g.kept, g.summary    --: sorts
FROM groups g
WHERE g.number NOT IN (SELECT source FROM moves WHERE fingerprint = '')
    AND g.number = {GROUP_OF_KEY}           --: in_group
    {GROUP_TERMS}
    {CHOICE_SEARCH g.number}
    --: each term {
    AND g.last_seen >= :number              --: listed since
    AND g.first_seen < :number              --: listed until
    AND g.last_seen >= :number AND g.first_seen <= :high    --: listed time
    AND {EXISTS}SELECT 1 FROM reports r WHERE r.group_number = g.number --: listed time
        AND r.time BETWEEN :number AND :high {EXISTS_END}   --: listed time
    {WORD_SEARCH g.number}                  --: listed word
    {FACET_SEARCH g.number}                 --: listed facet
    --: }
    ORDER BY {PLACE} DESC, g.number DESC OFFSET 0) g WHERE 1 = 1    --: sorts
{HITS_EXAMINED}

-- part: CHOICE_SEARCH
-- Keeps the groups with a report that has one of alternatives; their number is @.
--: each choice {
AND (                                       --: opens
OR                                          --: joined
@ IN (SELECT f.group_number FROM facets f WHERE {FACET_SEARCHED})   --: facet
--: word {
@ IN (SELECT f.group_number FROM facets f WHERE f.kind <= {FACET_SUMMARY}
    AND f.number IN (SELECT rowid FROM facet_search WHERE facet_search MATCH :pattern))
OR @ IN ({GROUPS_OF_WORDS})
--: }
)                                           --: closes
--: }
-- postgres:
--: each choice {
AND (                                       --: opens
OR                                          --: joined
(@ IN (SELECT f.group_number FROM facets f WHERE {FACET_SEARCHED})) IS TRUE     --: facet
--: word {
@ IN (SELECT f.group_number FROM facets f WHERE f.kind <= {FACET_RELEASE}
    AND f.value ILIKE :pattern)
OR @ IN ({GROUPS_OF_WORDS})
--: }
)                                           --: closes
--: }

-- part: HITS_EXAMINED
-- What is asked of each group that the above lists. Facets decide one condition; several
-- have to hold for one report, which is looked for where the counts of facets do not tell.
    --: bounded {
    --: each term {
    {WIDE_SEARCH g.number}                  --: searched wide !word
    --: }
    --: each term {
    {WIDE_SEARCH g.number}                  --: searched wide word !compares_column
    --: }
    --: }
    --: several {
    AND (SELECT CASE WHEN b.high <= 0 THEN 0 WHEN b.low > 0 THEN 1
        WHEN {ANY_REPORT} THEN 1 ELSE 0 END
        FROM ({BOUNDS}) b) = 1
    --: }
    AND ({PLACE}, g.number) < (:place, :number_after)   --: after !counts_sort
ORDER BY {PLACE} DESC, g.number DESC        --: ordered
LIMIT :most                                 --: limited

-- part: COUNT
-- How many reports of the group g the filter accepts: by what facets and days count where
-- that decides it, else by a look at its reports.
g.count                                     --: !narrowed
--: narrowed {
(SELECT CASE WHEN b.low >= b.high THEN b.high ELSE {COUNT_REPORTS} END FROM ({BOUNDS}) b)
--: }

-- part: BOUNDS
-- Between how many reports of the group g the filter accepts: each term leaves out some,
-- at worst others than each other term, and accepts no more than it has. Facets count
-- reports that retention removed, too; a word and several terms
-- count only those that are left.
SELECT CAST(CASE WHEN sum(t.low) > count(*) * g.count - g.kept  --: left
    THEN sum(t.low) - count(*) * g.count + g.kept ELSE 0 END AS bigint) AS low, --: left
SELECT CAST(CASE WHEN sum(t.low) > (count(*) - 1) * g.count     --: !left
    THEN sum(t.low) - (count(*) - 1) * g.count ELSE 0 END AS bigint) AS low,    --: !left
    CAST(min(t.high) AS bigint) AS high
FROM (
    SELECT g.count AS low,
    g.kept                                  --: left
    g.count                                 --: !left
    AS high
    --: each ranked {
    UNION ALL                               --: !joined
    SELECT max(a.low) AS low, sum(a.high) AS high FROM (    --: opens
    UNION ALL                               --: joined
    --: negated {
    SELECT CASE WHEN n.high < g.count THEN g.count - n.high ELSE 0 END AS low,
        g.count - n.low AS high
    FROM (
    --: }
    {TERM_BOUNDS}
    ) n                                     --: negated
    ) a                                     --: closes
    --: }
) t

-- part: TERM_BOUNDS
-- Between how many reports of the group g have a term. A report may have several values
-- of some kinds: no fewer have one of them than the most frequent.
--: since {
SELECT d.reports AS low, d.reports AS high
FROM (SELECT {DAYS_OF_GROUP} > :day AND d.day <= :last_day)
    + (SELECT count(*) FROM reports r
        WHERE r.group_number = g.number AND r.time >= :number AND r.time < :next_day)
    AS reports) d
--: }
--: until {
SELECT CASE WHEN g.last_seen < :number THEN g.count ELSE 0 END AS low,
    CASE WHEN g.first_seen < :number THEN g.count ELSE 0 END AS high
--: }
--: time {
SELECT CASE WHEN g.first_seen >= :number AND g.last_seen <= :high THEN g.count
    ELSE 0 END AS low,
    CASE WHEN g.last_seen >= :number AND g.first_seen <= :high THEN g.count
    ELSE 0 END AS high
--: }
--: word {
SELECT coalesce(max(f.count), 0) AS low, g.count AS high
FROM (SELECT value, count FROM facets
    WHERE group_number = g.number AND kind IN ({FACET_TITLE}, {FACET_EXECUTABLE},
        {FACET_RELEASE}, {FACET_FRAME}, {FACET_FILE}, {FACET_BUILD}, {FACET_MESSAGE})
    UNION ALL SELECT value, count FROM facets
    WHERE group_number = g.number AND kind = {FACET_SUMMARY} AND value = g.summary) f
WHERE {CONTAINS f.value}
--: }
--: !since !until !time !word {
SELECT
    coalesce(max(f.count), 0)               --: repeats
    coalesce(sum(f.count), 0)               --: !repeats
    AS low, coalesce(sum(f.count), 0) AS high
FROM facets f
WHERE f.group_number = g.number AND {FACET_OF_KIND}
--: }

-- part: MACHINES
-- How many hosts the reports of the group g come from that the filter accepts: in a large
-- store among the newest of them.
g.machines                                  --: !narrowed
--: narrowed {
(SELECT CASE WHEN b.low >= g.count AND g.kept = g.count THEN g.machines ELSE
    (SELECT count(DISTINCT c.hostname) FROM ({COUNTED_REPORTS}) c WHERE c.hostname <> '')
    END FROM ({BOUNDS}) b)
--: }

-- part: USERS
-- The same of users; most groups have none.
g.users                                     --: !narrowed
--: narrowed {
CASE WHEN g.users = 0 THEN 0 ELSE
    (SELECT CASE WHEN b.low >= g.count AND g.kept = g.count THEN g.users ELSE
        (SELECT count(DISTINCT t.value)
        FROM ({COUNTED_REPORTS}) c JOIN tags t ON t.report = c.number AND t.key = 'user')
    END FROM ({BOUNDS}) b) END
--: }

-- part: COUNTED_REPORTS
SELECT r.number, r.hostname FROM
    (SELECT {TERMS_OF_ALL}
        {BOUND} AS time                     --: large
        0 AS time                           --: !large
        LIMIT 1) a CROSS JOIN
    reports r WHERE r.group_number = g.number {TERMS_IN_GROUP ranked}
    AND r.time >= a.time                    --: large

-- part: CUT
-- 1 if the count left out older reports, which were not looked at; else 0.
0                                           --: !counted_bounded
--: counted_bounded {
(SELECT CASE WHEN b.low >= b.high THEN 0 ELSE
    (SELECT count(*)
    FROM (SELECT 1 FROM reports r WHERE r.group_number = g.number {TERMS_OF_TIME}
        AND r.time < {BOUND_OF_CUT} LIMIT 1) c)
    END FROM ({BOUNDS}) b)
--: }

-- part: ANY_REPORT
(SELECT 1 FROM (SELECT {TERMS_OF_ALL} 0 AS time LIMIT 1) a CROSS JOIN
    reports r WHERE r.group_number = g.number {TERMS_IN_GROUP ranked}
    ORDER BY r.time DESC, r.number DESC LIMIT 1) IS NOT NULL

-- part: COUNT_REPORTS
(SELECT count(*) FROM
    (SELECT {TERMS_OF_ALL}
        {BOUND} AS time                     --: counted_bounded
        0 AS time                           --: !counted_bounded
        LIMIT 1) a CROSS JOIN
    reports r WHERE r.group_number = g.number {TERMS_IN_GROUP counted}
    AND r.time >= a.time)                   --: counted_bounded
    )                                       --: !counted_bounded

-- part: BOUND
-- The time of the last report of the group g that its count looks at: the oldest of the
-- newest ones at the times of the filter, or :since, if they are few. It is a table of one
-- row where reports are compared with it: SQLite would look for it again for each report.
coalesce(({BOUND_REPORT}), :since)

-- part: BOUND_OF_CUT
coalesce(({BOUND_REPORT}), :ever)

-- part: BOUND_REPORT
SELECT r.time FROM reports r WHERE r.group_number = g.number {TERMS_OF_TIME}
ORDER BY r.time DESC, r.number DESC LIMIT 1 OFFSET :counted

-- part: TERMS_OF_TIME
--: each ranked {
{NEGATED} ({REPORT_TERM_OF_TIME})           --: of_time
--: }

-- part: TERMS_OF_ALL
-- Of each term whether all reports of the group g have it, as facets count: reports are
-- not asked for it then.
--: each ranked {
--: !since !until !time {
(SELECT count(*) FROM ({TERM_BOUNDS}) t WHERE
    t.low >= g.count                        --: !negated
    t.high <= 0                             --: negated
    ) AS all_:term,
--: }
--: }

-- part: TERMS_IN_GROUP
-- The report r of a group has the terms; those of {TERMS_OF_ALL} are in a. In PostgreSQL
-- its row is read only where the index reports_by_group has what else is asked for.
--: each @ {
{JOINS}
(a.all_:term > 0 OR                         --: !since !until !time
NOT                                         --: negated
({REPORT_TERM})
)                                           --: !since !until !time
{END}
--: }
-- postgres:
--: each @ {
{JOINS}
(a.all_:term > 0 OR                         --: !since !until !time
NOT                                         --: negated
(
    (SELECT 1 FROM (SELECT * FROM reports o WHERE o.number = r.number OFFSET 0) r WHERE --: by_row
    {REPORT_TERM}
    LIMIT 1) IS NOT NULL                    --: by_row
)
)                                           --: !since !until !time
{END}
--: }

-- part: JOINS
-- Begins a term that has to hold; alternatives are in parentheses, which {END} closes.
AND                                         --: !joined
(                                           --: opens
OR                                          --: joined

-- part: NEGATED
{JOINS}
NOT                                         --: negated

-- part: END
)                                           --: closes

-- part: REPORT_TERM_OF_TIME
r.time >= :number                           --: since
r.time < :number                            --: until
r.time BETWEEN :number AND :high            --: time

-- part: REPORT_TERM
-- The report r has a term. Where it must not have a word, only the marks of groups that
-- the index finds are read.
{REPORT_TERM_OF_TIME}
r.signal = :number                          --: signal
r.release {EQUALS}                          --: release
r.environment {EQUALS}                      --: environment
r.signal_name {EQUALS}                      --: signal_name
r.hostname {EQUALS}                         --: host
{PATH r.executable}                         --: program
--: tag {
EXISTS(SELECT 1 FROM tags t
    WHERE t.report = r.number AND t.key = :tag AND t.value {EQUALS})
--: }
--: word {
{REPORT_TEXTS} OR (
    r.group_number IN ({GROUPS_OF_WORDS}) AND   --: negated !wide
--: }
{MARK}                                      --: has_mark
)                                           --: word

-- part: REPORT_TEXTS
{CONTAINS r.title, r.summary, r.executable, r.release, r.hostname}
-- postgres:
{CONTAINS r.title || {LINE_END} || r.summary || {LINE_END} || r.executable || {LINE_END} || r.release || {LINE_END} || r.hostname}

-- part: MARK
-- The report r has a mark of a term. What its list has too in that case is looked for
-- first: most lists need not be taken apart then.
{EXISTS}SELECT 1 FROM marks m CROSS JOIN {MARK_ELEMENTS} WHERE m.report = r.number AND
    {CONTAINS m.list} AND                   --: as_is part !wildcard
    {FIND}(m.list, CAST(:value AS text) || '"') > 0 AND --: as_is !part !wildcard
    substr(j.value, 1, 2) BETWEEN '{FACET_FRAME}' AND '{FACET_MESSAGE}' AND --: word
    substr(j.value, 1, 2) = ':kind' AND     --: !word
    {CONTAINS substr(j.value, 4)}           --: part !wildcard
    substr(j.value, 4) {EQUALS}             --: !part
    substr(j.value, 4) {EQUALS}             --: part wildcard
{EXISTS_END}

-- part: GROUP_TERMS
-- The group g has the terms that are of groups as a whole.
AND g.project = :project                    --: in_project
--: each term {
--: of_group {
{NEGATED} (
    g.first_release {EQUALS}                --: first_release
    g.first_seen BETWEEN :number AND :high  --: first_seen
    g.last_seen BETWEEN :number AND :high   --: last_seen
    g.count BETWEEN :number AND :high       --: reports
    g.machines BETWEEN :number AND :high    --: machines
    g.users BETWEEN :number AND :high       --: users
    g.status = :value                       --: status
    1 = 1                                   --: any
    g.status IN ('open', 'regressed')       --: open
    g.status = 'regressed' AND g.status_release = :value    --: back_in
    g.number {IN_RISEN}                     --: rising
    {IS_NEW}                                --: new
    g.assignee <> ''                        --: assigned
    g.assignee {EQUALS}                     --: assignee
    g.project {EQUALS}                      --: project
    {GROUP_TEXTS}                           --: short_word
) {END}
--: }
--: }

-- part: GROUP_TEXTS
{CONTAINS g.title, g.summary}
-- postgres:
{CONTAINS g.title || {LINE_END} || g.summary}

-- part: IN_RISEN
IN (SELECT value FROM json_each(:risen))
-- postgres:
= ANY(CAST(:risen AS bigint[]))

-- part: IS_NEW
-- The group g was first seen in one of the releases that are new in its program; where it
-- has none, in the last seven days.
(g.first_release <> '' AND g.project || {LINE_END} || g.program || {LINE_END}
    || g.first_release IN (SELECT value FROM json_each(:fresh)))
OR (g.first_release = '' AND g.first_seen >= :week_ms)
-- postgres:
(g.first_release <> '' AND g.project || {LINE_END} || g.program || {LINE_END}
    || g.first_release IN (SELECT json_array_elements_text(CAST(:fresh AS json))))
OR (g.first_release = '' AND g.first_seen >= :week_ms)

-- part: RISING_PLACE
-- The first of the list of those that rise is the highest.
coalesce((SELECT 1000000 - key FROM json_each(:risen) WHERE value = g.number), 0)
-- postgres:
coalesce(1000000 - array_position(CAST(:risen AS bigint[]), g.number), 0)

-- part: DAYS_OF_GROUP
-- The sum of the reports of the group g in some days; the condition on d.day follows.
(SELECT CAST(coalesce(sum(d.count), 0) AS bigint) FROM group_days d
    WHERE d.group_number = g.number AND d.day

-- part: NARROW_SEARCH
-- Keeps the groups with a report that has a term; their number is @. With a plus SQLite
-- goes through the reports by their time.
{WORD_SEARCH +@}                            --: word by_time
{WORD_SEARCH @}                             --: word !by_time
{FACET_SEARCH +@}                           --: !word by_time
{FACET_SEARCH @}                            --: !word !by_time
-- postgres:
{WORD_SEARCH @}                             --: word
{FACET_SEARCH @}                            --: !word

-- part: FACET_SEARCH
-- PostgreSQL takes what it finds for much less than it is, and would look up each group of
-- it; an expression is computed once, and looked into for each group.
AND (@ IN (SELECT f.group_number FROM facets f WHERE {FACET_SEARCHED}))
-- postgres:
AND (@ IN (SELECT f.group_number FROM facets f WHERE {FACET_SEARCHED})) IS TRUE

-- part: WORD_SEARCH
-- One index of PostgreSQL has all values of columns; that of SQLite has only those that
-- differ from group to group, and the others are words.
AND (@ IN (SELECT f.group_number FROM facets f WHERE f.kind <= {FACET_SUMMARY}
        AND f.number IN (SELECT rowid FROM facet_search WHERE facet_search MATCH :pattern))
    OR @ IN ({GROUPS_OF_WORDS}))
-- postgres:
AND (@ IN (SELECT f.group_number FROM facets f WHERE f.kind <= {FACET_RELEASE}
        AND f.value ILIKE :pattern)
    OR @ IN ({GROUPS_OF_WORDS}))

-- part: WIDE_SEARCH
-- The same for a term that many facets have, by the values of each group: for a word in
-- marks first, which are fewer.
AND (
    {EXISTS}SELECT 1 FROM facets f WHERE f.group_number = @ AND
    f.kind BETWEEN {FACET_FRAME} AND {FACET_MESSAGE} AND {CONTAINS f.value} --: word
    {FACET_OF_KIND}                         --: !word
    {EXISTS_END}
    --: word {
    OR {EXISTS}SELECT 1 FROM facets f WHERE f.group_number = @ AND
    f.kind <= {FACET_RELEASE} AND {CONTAINS f.value} {EXISTS_END}
    --: }
)

-- part: GROUPS_OF_WORDS
-- The groups that have a mark with :pattern in it; in SQLite, from the words that are
-- found to facets, because there are many more words of a kind.
SELECT f.group_number FROM word_search s CROSS JOIN words w CROSS JOIN facets f
WHERE s.word_search MATCH :pattern AND w.number = s.rowid
    AND f.kind >= {FACET_EXECUTABLE} AND f.kind = w.kind AND f.value = w.value
    AND (w.kind BETWEEN {FACET_FRAME} AND {FACET_MESSAGE}
        OR w.kind BETWEEN {FACET_EXECUTABLE} AND {FACET_RELEASE})
-- postgres:
SELECT f.group_number FROM facets f
WHERE {WORDS BETWEEN {FACET_FRAME} AND {FACET_MESSAGE}}

-- part: WORDS
-- The facet f has a word with :pattern in it. In SQLite there is one kind, and the plus
-- keeps it from reading all words of it.
f.kind >= {FACET_EXECUTABLE} AND f.kind @ AND f.value IN (SELECT w.value FROM words w
    WHERE +w.kind @
        AND w.number IN (SELECT rowid FROM word_search WHERE word_search MATCH :pattern))
-- postgres:
f.kind >= {FACET_EXECUTABLE} AND f.kind @ AND (f.kind, f.value) IN (SELECT w.kind, w.value
    FROM words w WHERE w.kind @ AND w.value ILIKE :pattern)

-- part: FACET_SEARCHED
-- The facet f is of the kind and value of a term: an index has the words that contain a
-- part of one.
{WORDS = :kind}                             --: by_word
f.kind >= {FACET_EXECUTABLE} AND {FACET_OF_KIND}     --: !by_word

-- part: FACET_OF_KIND
-- The same by looking at the value.
f.kind = :kind AND
{WORDS_OF_PIECE} AND                        --: piece
{PATH f.value}                              --: program
f.value = CAST(:tag AS text) || {LINE_END} || CAST(:value AS text)  --: tag !wildcard
--: tag wildcard {
substr(f.value, 1, length(CAST(:tag AS text)) + 1) = CAST(:tag AS text) || {LINE_END}
    AND substr(f.value, length(CAST(:tag AS text)) + 2) {EQUALS}
--: }
f.value = CAST(:number AS text)             --: signal
{CONTAINS f.value}                          --: part !wildcard
f.value {EQUALS}                            --: part wildcard
f.value {EQUALS}                            --: whole

-- part: WORDS_OF_PIECE
-- A group may have very many hosts: those with a piece of the value in them are few. The
-- words of PostgreSQL are no hosts.
f.value IN (SELECT w.value FROM words w WHERE +w.kind = :kind
    AND w.number IN (SELECT rowid FROM word_search WHERE word_search MATCH :piece))

-- part: PATH
-- A path is :value or ends with it after a slash.
(@ {EQUALS}
    OR @ {LIKE} '%/' || CAST(:pattern AS text) ESCAPE '!')  --: wildcard
    OR {FIND}(@ || {LINE_END}, '/' || CAST(:value AS text) || {LINE_END}) > 0)  --: !wildcard

-- part: EQUALS
-- A text is :value, in which there may be wildcards.
= :value                                    --: !wildcard
{LIKE} CAST(:pattern AS text) ESCAPE '!'    --: wildcard

-- part: LIKE
LIKE
-- postgres:
ILIKE

-- part: CONTAINS
-- A text contains :value, in either case. In SQLite it may be several texts. PostgreSQL
-- takes four times as long for the lower case of all languages, which only a text that is
-- not ASCII needs.
contains(:value, @)
-- postgres:
--: ascii {
(strpos(lower((@) COLLATE "C"), lower(CAST(:value AS text) COLLATE "C")) > 0
    OR (octet_length(@) <> length(@)
        AND strpos(lower((@)), lower(CAST(:value AS text))) > 0))
--: }
strpos(lower((@)), lower(CAST(:value AS text))) > 0     --: !ascii

-- part: FIND
instr
-- postgres:
strpos

-- part: EXISTS
-- {EXISTS} and {EXISTS_END} enclose a SELECT that has to find a row. With PostgreSQL it is
-- one that no planner turns into a join: few rows are asked for, in their order, and a
-- join would find all.
EXISTS(
-- postgres:
(

-- part: EXISTS_END
)
-- postgres:
LIMIT 1) IS NOT NULL
