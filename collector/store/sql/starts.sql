-- SPDX-License-Identifier: Apache-2.0
--
-- Counted starts, and sessions that crashed.

-- name: STORE_SESSION_ADD
INSERT INTO sessions(project, session, release, hostname, day)
VALUES(?1, ?2, ?3, ?4, ?5)
ON CONFLICT(project, session) DO NOTHING

-- name: STORE_SESSION_FORGET
DELETE FROM sessions WHERE day < ?1

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
DELETE FROM start_batches WHERE day < ?1
