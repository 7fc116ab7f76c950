-- SPDX-License-Identifier: Apache-2.0
--
-- Sessions of browsers, and the audit.

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

-- name: STORE_LOGIN_FIND
SELECT id, token, name, address, created, seen FROM logins
WHERE id = ?1 AND created > ?2

-- name: STORE_LOGINS_LIST
SELECT id, token, name, address, created, seen FROM logins
ORDER BY seen DESC LIMIT ?1

-- name: STORE_AUDIT_LIST
SELECT time, who, project, what, detail
FROM audit
WHERE ?1 = '' OR project = ?1
ORDER BY number DESC LIMIT ?2
