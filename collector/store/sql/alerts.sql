-- SPDX-License-Identifier: Apache-2.0
--
-- Alerts, and what is still to be sent of them.

-- name: STORE_ALERT_ADD
INSERT INTO alerts(id, once, kind, group_id, report, title, detail, body, time)
VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
ON CONFLICT(once) DO NOTHING

-- name: STORE_ALERT_ADD_UNLESS
-- Unless there was such an alert since ?10.
INSERT INTO alerts(id, once, kind, group_id, report, title, detail, body, time)
SELECT CAST(?1 AS text), CAST(?2 AS text), CAST(?3 AS text), CAST(?4 AS text),
    CAST(?5 AS bigint), CAST(?6 AS text), CAST(?7 AS text), CAST(?8 AS text),
    CAST(?9 AS bigint)
WHERE NOT EXISTS(SELECT 1 FROM alerts
    WHERE group_id = ?4 AND kind = ?3 AND detail = ?7 AND time > ?10)
ON CONFLICT(once) DO NOTHING

-- part: ALERTED_GROUP
-- What conditions of receivers are about.
coalesce(g.program, '') AS program, coalesce(g.machines, 0) AS machines,
CASE WHEN coalesce(g.stack, '') <> '' THEN 1 ELSE 0 END AS in_app,
coalesce((SELECT f.value FROM facets f
    WHERE f.group_number = g.number AND f.kind = {FACET_KIND}
    ORDER BY f.count DESC, f.value LIMIT 1), '') AS crash_kind

-- name: STORE_ALERT_CURRENT
SELECT g.fingerprint, g.title, g.first_seen, r.time, g.project, r.environment,
    {ALERTED_GROUP}
FROM reports r
JOIN groups g ON g.number = r.group_number
WHERE r.number = ?1

-- name: STORE_ALERT_READY
-- Reports that are about to be named may turn out to be of a group that is known.
SELECT alerts.number, alerts.kind, group_id, report, detail, time,
    coalesce(g.project, '') AS project, coalesce((SELECT f.value FROM facets f
        WHERE f.group_number = g.number AND f.kind = {FACET_ENVIRONMENT}
        ORDER BY f.count DESC, f.value LIMIT 1), '') AS environment,
    {ALERTED_GROUP}
FROM alerts
LEFT JOIN groups g ON g.fingerprint = alerts.group_id
WHERE spread = 0
    AND (time < ?1 OR NOT EXISTS(SELECT 1 FROM jobs
        WHERE jobs.report = alerts.report AND jobs.until < {STORE_NEVER}))
ORDER BY alerts.number LIMIT ?2

-- name: STORE_ALERT_SPREAD
UPDATE alerts
SET spread = ?2, group_id = ?3, title = CASE WHEN ?4 = '' THEN title ELSE ?4 END
WHERE number = ?1

-- name: STORE_ALERT_SEND_ADD
INSERT INTO alert_sends(receiver, alert, due, tries, error)
VALUES(?1, ?2, 0, 0, '')
ON CONFLICT(receiver, alert) DO NOTHING

-- part: DUE
-- The row s of alert_sends is due at ?2. What is due after ?3, later than any wait ends, was
-- postponed before the clock was set back. A receiver that was notified a moment ago rests,
-- but for what was claimed before, digests and tests.
s.receiver = ?1 AND (s.due <= ?2 OR s.due > ?3)
    AND (s.tries > 0 OR a.kind IN ('digest', 'test')
        OR coalesce((SELECT rest_until FROM receivers WHERE id = ?1), 0) <= ?2)

-- name: STORE_ALERTS_DUE
SELECT count(*)
FROM alert_sends s
JOIN alerts a ON a.number = s.alert
WHERE {DUE}

-- name: STORE_ALERTS_WAITING
-- held: the limit, ?5, held them back.
SELECT s.alert, s.tries, CASE WHEN a.kind IN ('digest', 'test') THEN 1 ELSE 0 END AS alone,
    CASE WHEN coalesce((SELECT sent FROM receivers WHERE id = ?1), 0) >= ?5 THEN 1
        ELSE 0 END AS held
FROM alert_sends s
JOIN alerts a ON a.number = s.alert
WHERE {DUE}
ORDER BY alone DESC, s.alert LIMIT ?4

-- name: STORE_ALERT_CLAIM
UPDATE alert_sends SET due = ?3, tries = tries + 1 WHERE receiver = ?2 AND alert {LISTED}

-- name: STORE_ALERT_DONE
DELETE FROM alert_sends WHERE receiver = ?2 AND alert {LISTED}

-- name: STORE_ALERT_LATER
UPDATE alert_sends SET due = ?3, error = ?4 WHERE receiver = ?2 AND alert {LISTED}

-- name: STORE_ALERT_REST
UPDATE alert_sends SET due = ?2 WHERE receiver = ?1 AND due < ?2

-- name: STORE_RECEIVER_SENT
-- A message was sent at ?2: the next one follows after ?3 ms, or, where that was one of ?4
-- in ?5 ms, when these are over.
UPDATE receivers
SET began = CASE WHEN ?2 - began >= ?5 THEN ?2 ELSE began END,
    sent = CASE WHEN ?2 - began >= ?5 THEN 1 ELSE sent + 1 END,
    rest_until = CASE WHEN (CASE WHEN ?2 - began >= ?5 THEN 1 ELSE sent + 1 END) >= ?4
        THEN (CASE WHEN ?2 - began >= ?5 THEN ?2 ELSE began END) + ?5 ELSE ?2 + ?3 END
WHERE id = ?1

-- name: STORE_RECEIVER_ADD
-- ?2 is its line, or empty where a file has it.
INSERT INTO receivers(id, line, since)
VALUES(?1, ?2, ?3)
ON CONFLICT(id) DO UPDATE SET
    line = CASE WHEN excluded.line = '' THEN receivers.line ELSE excluded.line END

-- name: STORE_RECEIVER_REMOVE
DELETE FROM receivers WHERE id = ?1 AND line <> '' RETURNING 1

-- name: STORE_RECEIVER_FORGET
DELETE FROM alert_sends WHERE receiver = ?1

-- name: STORE_RECEIVERS
SELECT id, line, since FROM receivers ORDER BY since, id

-- name: STORE_ALERT_FORGET
DELETE FROM alerts
WHERE time < ?1
    AND NOT EXISTS(SELECT 1 FROM alert_sends s WHERE s.alert = alerts.number)

-- name: STORE_ALERT_FORGET_SENDS
DELETE FROM alert_sends WHERE alert IN (SELECT number FROM alerts WHERE time < ?1)

-- part: ALERTS
SELECT a.number, a.id, a.kind, a.group_id, a.title, a.detail, a.body, a.time,
    coalesce(r.id, '') AS report_id, coalesce(g.project, '') AS project
FROM alerts a
LEFT JOIN reports r ON r.number = a.report
LEFT JOIN groups g ON g.fingerprint = a.group_id

-- name: STORE_ALERTS_UNSPREAD
SELECT count(*) FROM alerts WHERE spread = 0

-- name: STORE_ALERTS_OLD
SELECT count(*) FROM alerts WHERE time < ?1

-- name: STORE_ALERT_READ
{ALERTS} WHERE a.number = ?1

-- name: STORE_ALERTS_LIST
{ALERTS}
WHERE ?2 = '' OR g.project = ?2
ORDER BY a.number DESC LIMIT ?1

-- name: STORE_ALERT_STATE
SELECT count(*) AS waiting, coalesce(max(tries), 0) AS tries,
    coalesce(max(error), '') AS error
FROM alert_sends
WHERE receiver = ?1

-- name: STORE_LIST_SPREADING
-- Groups of the last days that are on as many machines.
SELECT fingerprint, title, machines AS n
FROM groups
WHERE machines >= ?2 AND first_seen >= ?1 AND status IN ('open', 'regressed')
ORDER BY machines DESC LIMIT ?3

-- name: STORE_LIST_BURSTS
SELECT g.fingerprint, g.title, b.n
FROM (SELECT group_number, count(*) AS n FROM reports WHERE received >= ?1
    GROUP BY group_number HAVING count(*) >= ?2) b
JOIN groups g ON g.number = b.group_number
WHERE g.status <> 'ignored'
ORDER BY b.n DESC LIMIT ?3
