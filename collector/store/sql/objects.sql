-- SPDX-License-Identifier: Apache-2.0
--
-- Objects: bodies that are packed into segments, and objects that the database has.

-- name: STORE_OBJECTS_CHOOSE
INSERT INTO object_place(one, id, owner, until)
VALUES(1, ?1, '', 0)
ON CONFLICT(one) DO NOTHING

-- name: STORE_OBJECTS_FREE
UPDATE object_place SET until = 0

-- name: STORE_OBJECTS_ID
SELECT id FROM object_place

-- name: STORE_OBJECTS_LEASE
UPDATE object_place
SET owner = ?1, until = ?2
WHERE owner = ?1 OR until < ?3
RETURNING until

-- name: STORE_SEGMENT_FORGET
DELETE FROM segments WHERE number = ?1

-- name: STORE_SEGMENTS_EMPTY
SELECT number, name
FROM segments s
WHERE made < ?1
    AND NOT EXISTS(SELECT 1 FROM bodies b WHERE b.segment = s.number AND b.segment > 0)
LIMIT ?2

-- name: STORE_SEGMENT_NAMED
SELECT count(*) FROM segments WHERE name = ?1

-- name: STORE_SEGMENT_ADD
INSERT INTO segments(name, week, size, sum, made)
VALUES(?1, ?2, ?3, ?4, ?5)
RETURNING number

-- name: STORE_STAGED_LIST
-- What is to be packed: ?1 is when the newest came, ?2 how many.
SELECT b.report, r.revision, r.received, length(b.bytes) AS length
FROM bodies b INDEXED BY bodies_staged
JOIN reports r ON r.number = b.report
WHERE b.segment = -1 AND r.received < ?1
ORDER BY b.report LIMIT ?2
-- postgres:
SELECT b.report, r.revision, r.received, length(b.bytes) AS length
FROM bodies b
JOIN reports r ON r.number = b.report AND r.received = b.received
WHERE b.segment = -1 AND b.received < ?1
ORDER BY b.received, b.report LIMIT ?2

-- name: STORE_STAGED_READ
SELECT r.id, b.encoding, b.bytes
FROM reports r
JOIN bodies b ON b.report = r.number
WHERE r.number = ?1 AND r.revision = ?2 AND b.segment = -1
-- postgres:
SELECT r.id, b.encoding, b.bytes
FROM reports r
JOIN bodies b ON b.report = r.number AND b.received = r.received
WHERE r.number = ?1 AND r.revision = ?2 AND b.segment = -1

-- name: STORE_STAGED_REFER
-- Gives the bodies of a JSON array of [report, revision, start, length], ?1, references
-- into segment ?2. A report that was replaced meanwhile keeps its new body.
UPDATE bodies
SET segment = ?2, start = i.start, length = i.length, bytes = x''
FROM (SELECT json_extract(value, '$[0]') AS report, json_extract(value, '$[1]') AS revision,
        json_extract(value, '$[2]') AS start, json_extract(value, '$[3]') AS length
    FROM json_each(?1)) i
WHERE bodies.report = i.report AND bodies.segment = -1
    AND EXISTS(SELECT 1 FROM reports r
        WHERE r.number = i.report AND r.revision = i.revision)
-- postgres:
UPDATE bodies
SET segment = ?2, start = i.start, length = i.length, bytes = ''
FROM (SELECT CAST(e ->> 0 AS bigint) AS report, CAST(e ->> 1 AS bigint) AS revision,
        CAST(e ->> 2 AS bigint) AS start, CAST(e ->> 3 AS bigint) AS length
    FROM json_array_elements(CAST(?1 AS json)) e) i
JOIN reports r ON r.number = i.report AND r.revision = i.revision
WHERE bodies.report = i.report AND bodies.received = r.received AND bodies.segment = -1

-- name: STORE_STAGED_COUNT
SELECT count(*) AS bodies, coalesce(min(r.received), 0) AS oldest
FROM bodies b
JOIN reports r ON r.number = b.report
WHERE b.segment = -1

-- name: STORE_SEGMENTS_COUNT
SELECT count(*) AS segments, CAST(coalesce(sum(size), 0) AS bigint) AS bytes
FROM segments

-- name: STORE_PART_ADD
INSERT INTO object_parts(name, part, bytes, added)
VALUES(?1, ?2, ?3, ?4)
ON CONFLICT(name, part) DO UPDATE SET bytes = excluded.bytes, added = excluded.added

-- name: STORE_PART_READ
SELECT bytes FROM object_parts WHERE name = ?1 AND part = ?2

-- name: STORE_PARTS_REMOVE
DELETE FROM object_parts WHERE name = ?1

-- name: STORE_PARTS_LIST
SELECT name, CAST(sum(length(bytes)) AS bigint) AS size, max(added) AS added
FROM object_parts
WHERE name > ?1 AND name < ?2
GROUP BY name
