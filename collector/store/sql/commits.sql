-- SPDX-License-Identifier: Apache-2.0
--
-- Commits of releases, and who owns which files: query/commits.c.

-- name: STORE_COMMITS_FORGET
-- Those of a release, which come again, and those of any that came before ?4.
DELETE FROM commits
WHERE (project = ?1 AND program = ?2 AND release = ?3) OR added < ?4

-- name: STORE_COMMIT_FILES_FORGET
DELETE FROM commit_files
WHERE (project = ?1 AND program = ?2 AND release = ?3) OR added < ?4

-- name: STORE_COMMIT_ADD
INSERT INTO commits(project, program, release, hash, author, subject, time, added)
VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
ON CONFLICT(project, program, release, hash) DO NOTHING

-- name: STORE_COMMIT_FILE_ADD
INSERT INTO commit_files(project, program, release, name, path, hash, added)
VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)
ON CONFLICT(project, program, release, name, path, hash) DO NOTHING

-- name: STORE_COMMITS_OF_FILE
-- The commits of a release that changed a file named ?4, the last one first.
SELECT c.hash, c.author, c.subject, c.time, f.path
FROM commit_files f
JOIN commits c ON c.project = f.project AND c.program = f.program
    AND c.release = f.release AND c.hash = f.hash
WHERE f.project = ?1 AND f.program = ?2 AND f.release = ?3 AND f.name = ?4
ORDER BY c.time DESC, c.hash LIMIT ?5

-- name: STORE_OWNERS_SET
INSERT INTO code_owners(project, program, list) VALUES(?1, ?2, ?3)
ON CONFLICT(project, program) DO UPDATE SET list = excluded.list

-- name: STORE_OWNERS
SELECT list FROM code_owners WHERE project = ?1 AND program = ?2
