-- SPDX-License-Identifier: Apache-2.0
--
-- What a list shows of each of its groups.

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
