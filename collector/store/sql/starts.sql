-- SPDX-License-Identifier: Apache-2.0
--
-- Counted starts, and sessions that crashed. Triggers keep the sums of both.

-- name: STORE_ORDER_FORGET
DELETE FROM release_places WHERE project = ?1 AND program = ?2

-- name: STORE_ORDER_ADD
INSERT INTO release_places(project, program, release, place, time)
VALUES(?1, ?2, ?3, ?4, ?5)
ON CONFLICT(project, program, release) DO UPDATE SET place = excluded.place

-- name: STORE_SESSION_ADD
INSERT INTO sessions(project, session, release, hostname, day)
VALUES(?1, ?2, ?3, ?4, ?5)
ON CONFLICT(project, session) DO NOTHING

-- name: STORE_SESSION_FORGET
DELETE FROM sessions
WHERE {ROW_AMONG} SELECT {ROW} FROM sessions WHERE day < ?1 ORDER BY day LIMIT ?2
{ROW_END}
RETURNING day

-- name: STORE_START_BATCH
INSERT INTO start_batches(project, id, day)
VALUES(?1, ?2, ?3)
ON CONFLICT(project, id) DO NOTHING
RETURNING day

-- name: STORE_START_DAY
INSERT INTO start_days(project, release, hostname, day, begun, ended)
VALUES(?1, ?2, ?3, ?4, ?5, ?6)
ON CONFLICT(project,
    release, hostname, day) DO UPDATE SET begun = start_days.begun + excluded.begun,
    ended = start_days.ended + excluded.ended

-- name: STORE_START_FORGET
DELETE FROM start_batches
WHERE {ROW_AMONG} SELECT {ROW} FROM start_batches WHERE day < ?1 ORDER BY day LIMIT ?2
{ROW_END}
RETURNING day

-- name: STORE_START_DAYS_FORGET
DELETE FROM start_days
WHERE {ROW_AMONG} SELECT {ROW} FROM start_days WHERE day < ?1 ORDER BY day LIMIT ?2
{ROW_END}
RETURNING day

-- name: STORE_START_SUMS_FORGET
DELETE FROM start_sums
WHERE {ROW_AMONG} SELECT {ROW} FROM start_sums WHERE day < ?1 ORDER BY day LIMIT ?2
{ROW_END}
RETURNING day

-- part: CRASHES_OF_HOST
-- The crashed sessions of the row h of start_hosts.
(SELECT count(*) FROM sessions s
    WHERE s.release = h.release AND s.hostname = h.hostname AND s.day >= ?2
        AND (?1 = '' OR s.project = ?1))

-- name: STORE_LIST_STARTS
SELECT h.release, h.hostname, 0 AS day, h.begun, h.ended, {CRASHES_OF_HOST} AS crashed
FROM start_hosts h
WHERE h.project = ?1
ORDER BY h.begun DESC, h.release, h.hostname LIMIT ?3

-- name: STORE_LIST_STARTS_OF
SELECT h.release, h.hostname, 0 AS day, h.begun, h.ended, {CRASHES_OF_HOST} AS crashed
FROM start_hosts h
WHERE h.project = ?1 AND h.release = ?4
ORDER BY h.begun DESC, h.hostname LIMIT ?3

-- name: STORE_LIST_START_DAYS
SELECT '' AS release, '' AS hostname, day, CAST(sum(begun) AS bigint) AS begun,
    CAST(sum(ended) AS bigint) AS ended, CAST(sum(crashed) AS bigint) AS crashed
FROM start_sums
WHERE project = ?1 AND day > ?2 AND (?4 = '' OR release = ?4)
GROUP BY day
HAVING sum(begun) > 0
ORDER BY day DESC LIMIT ?3

-- name: STORE_LIST_RELEASE_STARTS
SELECT release, '' AS hostname, 0 AS day, CAST(sum(begun) AS bigint) AS begun,
    CAST(sum(ended) AS bigint) AS ended, CAST(sum(crashed) AS bigint) AS crashed
FROM start_sums
WHERE project = ?1 AND day >= ?2
GROUP BY release
HAVING sum(begun) + sum(ended) > 0
ORDER BY 3 DESC, 1 LIMIT ?3
