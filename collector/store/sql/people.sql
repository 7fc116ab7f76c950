-- SPDX-License-Identifier: Apache-2.0
--
-- Sessions of browsers, the audit, saved searches, tokens that people made, and issues that
-- are about groups.

-- name: STORE_LOGIN_ADD
INSERT INTO logins(id, token, name, address, created, seen)
VALUES(?1, ?2, ?3, ?4, ?5, ?5)

-- name: STORE_LOGIN_OVER
DELETE FROM logins WHERE created <= ?1

-- name: STORE_LOGIN_END
DELETE FROM logins WHERE id = ?1

-- name: STORE_LOGIN_SEEN
UPDATE logins SET seen = ?2 WHERE id = ?1

-- name: STORE_AUDIT_ADD
INSERT INTO audit(time, who, project, what, detail) VALUES(?1, ?2, ?3, ?4, ?5)

-- name: STORE_AUDIT_FORGET
-- The oldest entries, if they are from before ?1: of those that are looked at, so that an
-- entry that is added costs no more the longer the audit is.
DELETE FROM audit WHERE number IN (
    SELECT number FROM (SELECT number, time FROM audit ORDER BY number LIMIT 100) oldest
    WHERE time < ?1)

-- name: STORE_SEARCH_SAVE
-- Unless the project has ?7 others.
INSERT INTO saved_searches(project, name, query, sort, who, time)
SELECT CAST(?1 AS text), CAST(?2 AS text), CAST(?3 AS text), CAST(?4 AS text),
    CAST(?5 AS text), CAST(?6 AS bigint)
WHERE (SELECT count(*) FROM saved_searches WHERE project = ?1 AND name <> ?2) < ?7
ON CONFLICT(project, name) DO UPDATE SET query = excluded.query, sort = excluded.sort,
    who = excluded.who, time = excluded.time
RETURNING time

-- name: STORE_SEARCH_FORGET
DELETE FROM saved_searches WHERE project = ?1 AND name = ?2 RETURNING time

-- name: STORE_SEARCHES
SELECT name, query, sort, who, time FROM saved_searches WHERE project = ?1 ORDER BY name

-- name: STORE_TOKENS_OVER
DELETE FROM tokens WHERE expires <> 0 AND expires <= ?1

-- name: STORE_TOKEN_ADD
-- Unless there are ?8 others.
INSERT INTO tokens(sum, name, scopes, project, expires, created, who)
SELECT CAST(?1 AS text), CAST(?2 AS text), CAST(?3 AS bigint), CAST(?4 AS text),
    CAST(?5 AS bigint), CAST(?6 AS bigint), CAST(?7 AS text)
WHERE (SELECT count(*) FROM tokens) < ?8
ON CONFLICT DO NOTHING
RETURNING created

-- name: STORE_TOKEN_REMOVE
DELETE FROM tokens WHERE sum = ?1 RETURNING created

-- name: STORE_TOKENS
SELECT sum, name, scopes, project, expires, created, who FROM tokens ORDER BY name

-- name: STORE_TICKET_KNOWN
-- A row if event ?3 of issue ?2, which changed it at ?4, was received for project ?1, or a
-- later one.
SELECT 1 FROM tickets
WHERE project = ?1 AND url = ?2 AND (changed > ?4 OR (changed = ?4 AND sum = ?3))

-- name: STORE_TICKET_NOTE
INSERT INTO tickets(project, url, group_id, title, state, sum, changed)
VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)
ON CONFLICT(project, url) DO UPDATE SET group_id = excluded.group_id, title = excluded.title,
    state = excluded.state, sum = excluded.sum, changed = excluded.changed

-- name: STORE_TICKETS
-- An issue of which the trackers of a project and of all projects sent events is one: as it
-- changed last.
SELECT t.url, t.group_id, t.title, t.state, t.changed
FROM tickets t
WHERE (t.group_id = ?1 OR t.group_id IN (SELECT fingerprint FROM merged WHERE target = ?1))
    AND NOT EXISTS(SELECT 1 FROM tickets o WHERE o.group_id = t.group_id AND o.url = t.url
        AND (o.changed > t.changed OR (o.changed = t.changed AND o.project > t.project)))
ORDER BY t.changed DESC, t.url LIMIT ?2

-- name: STORE_SALT_ADD
INSERT INTO user_salt(one, salt) VALUES(1, ?1) ON CONFLICT(one) DO NOTHING

-- name: STORE_SALT
SELECT salt FROM user_salt

-- name: STORE_USER_FORGET
-- The facet ?1 of a user is counted in no group of the project ?2 (empty: of any) any more,
-- this and the next: not for reports that retention removed, either.
DELETE FROM group_members
WHERE kind = {FACET_TAG} AND member = text_hash(?1) AND group_number {IN_PROJECT_OF_2}
-- postgres:
DELETE FROM group_members
WHERE kind = {FACET_TAG} AND member = hashtextextended(?1, 0)
    AND group_number {IN_PROJECT_OF_2}

-- name: STORE_USER_FORGET_FACETS
DELETE FROM facets
WHERE kind = {FACET_TAG} AND kind >= {FACET_EXECUTABLE} AND value = ?1
    AND group_number {IN_PROJECT_OF_2}

-- name: STORE_LOGIN_FIND
SELECT id, token, name, address, created, seen FROM logins
WHERE id = ?1 AND created > ?2

-- name: STORE_LOGINS_LIST
SELECT id, token, name, address, created, seen FROM logins
ORDER BY seen DESC LIMIT ?1

-- name: STORE_AUDIT_LIST
SELECT time, who, project, what, detail
FROM (SELECT * FROM audit ORDER BY number DESC LIMIT 100000) newest
WHERE (?1 = '' OR project = ?1) AND (?3 = '' OR contains(?3, who, project, what, detail))
ORDER BY number DESC LIMIT ?2
-- postgres:
SELECT time, who, project, what, detail
FROM (SELECT * FROM audit ORDER BY number DESC LIMIT 100000) newest
WHERE (?1 = '' OR project = ?1) AND strpos(lower(who || {LINE_END} || project || {LINE_END}
    || what || {LINE_END} || detail), lower(CAST(?3 AS text))) > 0
ORDER BY number DESC LIMIT ?2
