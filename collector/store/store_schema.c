// SPDX-License-Identifier: Apache-2.0
#include "collector/store/store_schema.h"

#include <stdio.h>

// Bodies are stored apart from the columns that lists read, so that lists touch few
// pages. A group's figures are kept with it, so that no list counts reports.
static const char sqlite_1[] =
    "CREATE TABLE groups(number INTEGER PRIMARY KEY, fingerprint TEXT NOT NULL UNIQUE,"
    " title TEXT NOT NULL, summary TEXT NOT NULL, signal INTEGER NOT NULL,"
    " status TEXT NOT NULL DEFAULT 'open', count INTEGER NOT NULL,"
    " first_seen INTEGER NOT NULL, last_seen INTEGER NOT NULL);"
    "CREATE INDEX groups_by_last_seen ON groups(last_seen, number);"
    "CREATE TABLE group_releases(group_number INTEGER NOT NULL, release TEXT NOT NULL,"
    " count INTEGER NOT NULL, last_seen INTEGER NOT NULL,"
    " PRIMARY KEY(group_number, release)) WITHOUT ROWID;"
    "CREATE TABLE group_days(group_number INTEGER NOT NULL, day INTEGER NOT NULL,"
    " count INTEGER NOT NULL, PRIMARY KEY(group_number, day)) WITHOUT ROWID;"
    "CREATE TABLE reports(number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE,"
    " revision INTEGER NOT NULL, group_number INTEGER NOT NULL, time INTEGER NOT NULL,"
    " received INTEGER NOT NULL, signal INTEGER NOT NULL, signal_name TEXT NOT NULL,"
    " title TEXT NOT NULL, summary TEXT NOT NULL, release TEXT NOT NULL,"
    " environment TEXT NOT NULL, executable TEXT NOT NULL, hostname TEXT NOT NULL);"
    "CREATE INDEX reports_by_time ON reports(time, number);"
    "CREATE INDEX reports_by_group ON reports(group_number, time, number);"
    "CREATE TABLE tags(report INTEGER NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL,"
    " PRIMARY KEY(report, key)) WITHOUT ROWID;"
    "CREATE INDEX tags_by_value ON tags(key, value, report);"
    "CREATE TABLE bodies(report INTEGER PRIMARY KEY, encoding INTEGER NOT NULL,"
    " bytes BLOB NOT NULL);";

// Facets replace group_releases; triage, merging and retention get their columns. No
// table is rewritten but groups, which is small.
static const char sqlite_2[] =
    "ALTER TABLE groups ADD COLUMN kept INTEGER NOT NULL DEFAULT 0;"
    "UPDATE groups SET kept = count;"
    "ALTER TABLE groups ADD COLUMN note TEXT NOT NULL DEFAULT '';"
    "ALTER TABLE groups ADD COLUMN assignee TEXT NOT NULL DEFAULT '';"
    "ALTER TABLE groups ADD COLUMN status_time INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE groups ADD COLUMN status_release TEXT NOT NULL DEFAULT '';"
    "ALTER TABLE reports ADD COLUMN fingerprint TEXT NOT NULL DEFAULT '';"
    "UPDATE reports SET fingerprint = (SELECT fingerprint FROM groups"
    " WHERE groups.number = reports.group_number);"
    "CREATE INDEX reports_by_received ON reports(received);"
    "CREATE TABLE merged(fingerprint TEXT PRIMARY KEY, target TEXT NOT NULL)"
    " WITHOUT ROWID;"
    "CREATE INDEX merged_by_target ON merged(target);"
    "CREATE TABLE facets(number INTEGER PRIMARY KEY, group_number INTEGER NOT NULL,"
    " kind INTEGER NOT NULL, value TEXT NOT NULL, count INTEGER NOT NULL,"
    " last_seen INTEGER NOT NULL, UNIQUE(group_number, kind, value));"
    "CREATE INDEX facets_by_value ON facets(kind, value, group_number)"
    " WHERE kind >= 5;"
    "CREATE VIRTUAL TABLE facet_search USING fts5(value, content='facets',"
    " content_rowid='number', tokenize='trigram', detail='full');"
    "CREATE TRIGGER facet_added AFTER INSERT ON facets WHEN new.kind <= 5 BEGIN"
    " INSERT INTO facet_search(rowid, value) VALUES(new.number, new.value); END;"
    "CREATE TRIGGER facet_removed AFTER DELETE ON facets WHEN old.kind <= 5 BEGIN"
    " INSERT INTO facet_search(facet_search, rowid, value)"
    " VALUES('delete', old.number, old.value); END;"
    "DROP TABLE group_releases;"
    "INSERT INTO facets(group_number, kind, value, count, last_seen)"
    " SELECT group_number, kind, value, count(*), max(time) FROM"
    " (SELECT r.group_number AS group_number, k.column1 AS kind,"
    " CASE k.column1 WHEN 1 THEN r.title WHEN 2 THEN r.summary"
    " WHEN 3 THEN r.executable WHEN 4 THEN r.hostname WHEN 5 THEN r.release"
    " WHEN 6 THEN r.environment WHEN 7 THEN CAST(r.signal AS text)"
    " ELSE r.signal_name END AS value, r.time AS time"
    " FROM reports r CROSS JOIN (VALUES (1),(2),(3),(4),(5),(6),(7),(8)) k"
    " UNION ALL SELECT r.group_number, 9, t.key || '\n' || t.value, r.time"
    " FROM reports r JOIN tags t ON t.report = r.number) carried WHERE value <> ''"
    " GROUP BY group_number, kind, value ORDER BY 1, 2, 3;";

static const char postgres_1[] =
    "CREATE EXTENSION IF NOT EXISTS pg_trgm;"
    "CREATE TABLE groups(number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,"
    " fingerprint text NOT NULL UNIQUE, title text NOT NULL, summary text NOT NULL,"
    " signal bigint NOT NULL, status text NOT NULL DEFAULT 'open',"
    " count bigint NOT NULL, first_seen bigint NOT NULL, last_seen bigint NOT NULL,"
    " kept bigint NOT NULL DEFAULT 0, note text NOT NULL DEFAULT '',"
    " assignee text NOT NULL DEFAULT '', status_time bigint NOT NULL DEFAULT 0,"
    " status_release text NOT NULL DEFAULT '') WITH (fillfactor = 70);"
    "CREATE INDEX groups_by_last_seen ON groups(last_seen, number);"
    "CREATE TABLE group_days(group_number bigint NOT NULL, day bigint NOT NULL,"
    " count bigint NOT NULL, PRIMARY KEY(group_number, day)) WITH (fillfactor = 70);"
    "CREATE TABLE merged(fingerprint text PRIMARY KEY, target text NOT NULL);"
    "CREATE INDEX merged_by_target ON merged(target);"
    "CREATE TABLE reports(number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,"
    " id text NOT NULL UNIQUE, revision bigint NOT NULL, group_number bigint NOT NULL,"
    " time bigint NOT NULL, received bigint NOT NULL, signal bigint NOT NULL,"
    " signal_name text NOT NULL, title text NOT NULL, summary text NOT NULL,"
    " release text NOT NULL, environment text NOT NULL, executable text NOT NULL,"
    " hostname text NOT NULL, fingerprint text NOT NULL);"
    "CREATE INDEX reports_by_time ON reports(time, number);"
    "CREATE INDEX reports_by_group ON reports(group_number, time, number);"
    "CREATE INDEX reports_by_received ON reports(received);"
    "CREATE TABLE tags(report bigint NOT NULL, key text NOT NULL, value text NOT NULL,"
    " PRIMARY KEY(report, key));"
    "CREATE INDEX tags_by_value ON tags(key, value, report);"
    "CREATE TABLE bodies(report bigint NOT NULL, received bigint NOT NULL,"
    " encoding bigint NOT NULL, bytes bytea NOT NULL, PRIMARY KEY(report, received))"
    " PARTITION BY RANGE (received);"
    "ALTER TABLE bodies ALTER COLUMN bytes SET STORAGE EXTERNAL;"
    "CREATE TABLE facets(number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,"
    " group_number bigint NOT NULL, kind bigint NOT NULL, value text NOT NULL,"
    " count bigint NOT NULL, last_seen bigint NOT NULL,"
    " UNIQUE(group_number, kind, value)) WITH (fillfactor = 70);"
    "CREATE INDEX facets_by_value ON facets(kind, value, group_number)"
    " WHERE kind >= 5;"
    "CREATE INDEX facet_search ON facets USING gin (value gin_trgm_ops)"
    " WHERE kind <= 5;";

// held_back is what senders counted and did not send, per fingerprint and report that
// said so: a newer revision of the report replaces its counts, and the counts of merged
// groups are added up when they are read.
static const char held_back[] =
    "CREATE TABLE held_back(fingerprint text NOT NULL, id text NOT NULL,"
    " count bigint NOT NULL, received bigint NOT NULL, PRIMARY KEY(fingerprint, id));"
    "CREATE INDEX held_back_by_received ON held_back(received);";

// moves holds what store_move.c still has to do.
static const char sqlite_moves[] =
    "CREATE TABLE moves(number INTEGER PRIMARY KEY, source INTEGER NOT NULL,"
    " target INTEGER NOT NULL, fingerprint TEXT NOT NULL, time INTEGER NOT NULL,"
    " last INTEGER NOT NULL);";
static const char postgres_moves[] =
    "CREATE TABLE moves(number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,"
    " source bigint NOT NULL, target bigint NOT NULL, fingerprint text NOT NULL,"
    " time bigint NOT NULL, last bigint NOT NULL);";

// What lists of groups show and search: figures of groups that are kept by triggers,
// the marks of reports, and an index of their words. Values are the same in all groups
// more often than not, so each stands in the index once.
#define GROUP_FIGURES(integer)                                                         \
    "ALTER TABLE groups ADD COLUMN machines " integer " NOT NULL DEFAULT 0;"           \
    "ALTER TABLE groups ADD COLUMN first_release text NOT NULL DEFAULT '';"            \
    "UPDATE groups SET machines = (SELECT count(*) FROM facets f WHERE f.group_number" \
    " = groups.number AND f.kind = 4), first_release = coalesce((SELECT release FROM"  \
    " reports r WHERE r.group_number = groups.number AND release <> ''"                \
    " ORDER BY time, number LIMIT 1), '');"                                            \
    "DROP INDEX facets_by_value;"                                                      \
    "CREATE INDEX facets_by_value ON facets(kind, value, group_number)"                \
    " WHERE kind >= 3;"
static const char sqlite_search[] = GROUP_FIGURES(
    "INTEGER") "CREATE TABLE marks(report INTEGER PRIMARY KEY, list TEXT NOT NULL);"
               "CREATE TABLE words(number INTEGER PRIMARY KEY, kind INTEGER NOT NULL,"
               " value TEXT NOT NULL, UNIQUE(kind, value));"
               "CREATE VIRTUAL TABLE word_search USING fts5(value, content='words',"
               " content_rowid='number', tokenize='trigram', detail='full');"
               "CREATE TRIGGER word_added AFTER INSERT ON words BEGIN"
               " INSERT INTO word_search(rowid, value) VALUES(new.number, new.value); "
               "END;"
               "CREATE TRIGGER facet_word AFTER INSERT ON facets"
               " WHEN new.kind BETWEEN 11 AND 14 BEGIN"
               " INSERT INTO words(kind, value) SELECT new.kind, new.value WHERE NOT "
               "EXISTS("
               "SELECT 1 FROM words WHERE kind = new.kind AND value = new.value); END;"
               "CREATE TRIGGER machine_added AFTER INSERT ON facets WHEN new.kind = 4 "
               "BEGIN"
               " UPDATE groups SET machines = machines + 1 WHERE number = "
               "new.group_number; END;"
               "CREATE TRIGGER machine_removed AFTER DELETE ON facets WHEN old.kind = "
               "4 BEGIN"
               " UPDATE groups SET machines = machines - 1 WHERE number = "
               "old.group_number; END;";
static const char postgres_search[] = GROUP_FIGURES(
    "bigint") "CREATE TABLE marks(report bigint PRIMARY KEY, list text NOT NULL);"
              "CREATE TABLE words(number bigint GENERATED ALWAYS AS IDENTITY PRIMARY "
              "KEY,"
              " kind bigint NOT NULL, value text NOT NULL, UNIQUE(kind, value));"
              "CREATE INDEX word_search ON words USING gin (value gin_trgm_ops);"
              "CREATE FUNCTION crashhook_facet_added() RETURNS trigger LANGUAGE "
              "plpgsql AS $$"
              " BEGIN IF new.kind = 4 THEN UPDATE groups SET machines = machines + 1"
              " WHERE number = new.group_number; ELSE INSERT INTO words(kind, value)"
              " VALUES(new.kind, new.value) ON CONFLICT DO NOTHING; END IF; RETURN "
              "NULL; END $$;"
              "CREATE FUNCTION crashhook_machine_removed() RETURNS trigger LANGUAGE "
              "plpgsql AS $$"
              " BEGIN UPDATE groups SET machines = machines - 1"
              " WHERE number = old.group_number; RETURN NULL; END $$;"
              "CREATE TRIGGER facet_added AFTER INSERT ON facets FOR EACH ROW"
              " WHEN (new.kind = 4 OR new.kind BETWEEN 11 AND 14)"
              " EXECUTE FUNCTION crashhook_facet_added();"
              "CREATE TRIGGER machine_removed AFTER DELETE ON facets FOR EACH ROW"
              " WHEN (old.kind = 4) EXECUTE FUNCTION crashhook_machine_removed();";

// A report's fingerprint is of version 2 where fingerprint1, which then is that of
// version 1, is not empty. The reports of before are keyed anew by jobs, those merged
// into another group after that group's own.
#define NAMING_LAYOUT(NUMBER, ROWID, NOW)                                              \
    "ALTER TABLE reports ADD COLUMN fingerprint1 TEXT NOT NULL DEFAULT '';"            \
    "ALTER TABLE groups ADD COLUMN stack TEXT NOT NULL DEFAULT '';"                    \
    "CREATE TABLE keys(fingerprint TEXT PRIMARY KEY, target TEXT NOT NULL,"            \
    " time bigint NOT NULL)" ROWID ";"                                                 \
    "CREATE INDEX keys_by_target ON keys(target);"                                     \
    "CREATE TABLE history(number " NUMBER ", group_id TEXT NOT NULL,"                  \
    " time bigint NOT NULL, kind TEXT NOT NULL, other TEXT NOT NULL,"                  \
    " detail TEXT NOT NULL, count bigint NOT NULL,"                                    \
    " UNIQUE(group_id, kind, other, detail));"                                         \
    "CREATE TABLE jobs(report bigint PRIMARY KEY, rank bigint NOT NULL,"               \
    " queued bigint NOT NULL, until bigint NOT NULL, tries bigint NOT NULL,"           \
    " turn bigint NOT NULL)" ROWID ";"                                                 \
    "CREATE INDEX jobs_by_rank ON jobs(rank, report);"                                 \
    "CREATE TABLE nameless(build TEXT NOT NULL, report bigint NOT NULL,"               \
    " PRIMARY KEY(build, report))" ROWID ";"                                           \
    "CREATE INDEX nameless_by_report ON nameless(report);"                             \
    "CREATE TABLE symbols(build TEXT PRIMARY KEY, time bigint NOT NULL)" ROWID ";"     \
    "INSERT INTO jobs(report, rank, queued, until, tries, turn) SELECT r.number,"      \
    " CASE WHEN r.fingerprint = g.fingerprint THEN 1 ELSE 2 END, " NOW ", 0, 0, 0"     \
    " FROM reports r JOIN groups g ON g.number = r.group_number;"
static const char sqlite_naming[] =
    NAMING_LAYOUT("INTEGER PRIMARY KEY", " WITHOUT ROWID",
                  "CAST(strftime('%s', 'now') AS INTEGER) * 1000");
static const char postgres_naming[] =
    NAMING_LAYOUT("bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY", "",
                  "CAST(extract(epoch FROM now()) AS bigint) * 1000");

// Decisions that hold: what a group that came back was resolved in, how long an ignored
// one stays so, and a number that each change of a decision increases.
static const char decisions[] =
    "ALTER TABLE groups ADD COLUMN resolved_in text NOT NULL DEFAULT '';"
    "ALTER TABLE groups ADD COLUMN until_count bigint NOT NULL DEFAULT 0;"
    "ALTER TABLE groups ADD COLUMN until_machines bigint NOT NULL DEFAULT 0;"
    "ALTER TABLE groups ADD COLUMN until_time bigint NOT NULL DEFAULT 0;"
    "ALTER TABLE groups ADD COLUMN version bigint NOT NULL DEFAULT 0;";

// places is what jobs found out, for all reports that come to a place of a build.
static const char sqlite_places[] =
    "CREATE TABLE places(build TEXT NOT NULL, place TEXT NOT NULL, frames TEXT NOT"
    " NULL, PRIMARY KEY(build, place)) WITHOUT ROWID;";
static const char postgres_places[] =
    "CREATE TABLE places(build text NOT NULL, place text NOT NULL, frames text NOT"
    " NULL, PRIMARY KEY(build, place));";

// Alerts: what happened, and which receivers are still to be told of it. `once` keeps
// the same thing from being an alert twice; body is that of a digest.
#define ALERTS_LAYOUT(NUMBER, ROWID)                                                   \
    "CREATE TABLE alerts(number " NUMBER ", id text NOT NULL, once text NOT NULL"      \
    " UNIQUE, kind text NOT NULL, group_id text NOT NULL, report bigint NOT NULL,"     \
    " title text NOT NULL, detail text NOT NULL, body text NOT NULL,"                  \
    " time bigint NOT NULL, spread bigint NOT NULL DEFAULT 0);"                        \
    "CREATE INDEX alerts_by_group ON alerts(group_id, kind, time);"                    \
    "CREATE INDEX alerts_by_time ON alerts(time);"                                     \
    "CREATE TABLE alert_sends(receiver text NOT NULL, alert bigint NOT NULL,"          \
    " due bigint NOT NULL, tries bigint NOT NULL, error text NOT NULL,"                \
    " PRIMARY KEY(receiver, alert))" ROWID ";"
static const char sqlite_alerts[] =
    ALERTS_LAYOUT("INTEGER PRIMARY KEY", " WITHOUT ROWID");
static const char postgres_alerts[] =
    ALERTS_LAYOUT("bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY", "");

// People: whose groups, reports and debug files are whose, who is signed in, and who
// did what. What was there before belongs to no project, and to nobody.
#define PEOPLE_LAYOUT(NUMBER, ROWID)                                                   \
    "ALTER TABLE groups ADD COLUMN project text NOT NULL DEFAULT '';"                  \
    "CREATE INDEX groups_by_project ON groups(project, last_seen, number);"            \
    "ALTER TABLE reports ADD COLUMN sender text NOT NULL DEFAULT '';"                  \
    "ALTER TABLE symbols ADD COLUMN project text NOT NULL DEFAULT '';"                 \
    "ALTER TABLE symbols ADD COLUMN sender text NOT NULL DEFAULT '';"                  \
    "CREATE TABLE logins(id text PRIMARY KEY, token text NOT NULL, name text NOT"      \
    " NULL, address text NOT NULL, created bigint NOT NULL, seen bigint NOT"           \
    " NULL)" ROWID ";"                                                                 \
    "CREATE TABLE audit(number " NUMBER ", time bigint NOT NULL, who text NOT NULL,"   \
    " project text NOT NULL, what text NOT NULL, detail text NOT NULL);"
static const char sqlite_people[] =
    PEOPLE_LAYOUT("INTEGER PRIMARY KEY", " WITHOUT ROWID");
static const char postgres_people[] =
    PEOPLE_LAYOUT("bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY", "");

// swept is the time of a group's oldest report when its facets were last swept.
static const char sweeping[] =
    "ALTER TABLE groups ADD COLUMN swept bigint NOT NULL DEFAULT 0;";

// Counted starts: the sums, the ids of what was added to them, and the sessions that
// crashed.
static const char starts_layout[] =
    "CREATE TABLE start_days(project text NOT NULL, release text NOT NULL,"
    " hostname text NOT NULL, day bigint NOT NULL, begun bigint NOT NULL,"
    " ended bigint NOT NULL, PRIMARY KEY(project, release, hostname, day));"
    "CREATE TABLE start_batches(project text NOT NULL, id text NOT NULL,"
    " day bigint NOT NULL, PRIMARY KEY(project, id));"
    "CREATE TABLE sessions(project text NOT NULL, session text NOT NULL,"
    " release text NOT NULL, hostname text NOT NULL, day bigint NOT NULL,"
    " PRIMARY KEY(project, session));";

// A word that is deleted leaves its index. Releases are summed over all groups by every
// page that has to know the newest one.
static const char sqlite_sums[] =
    "CREATE TRIGGER word_removed AFTER DELETE ON words BEGIN INSERT INTO"
    " word_search(word_search, rowid, value) VALUES('delete', old.number, old.value);"
    " END;"
    "CREATE INDEX facets_of_releases ON facets(value, count, last_seen) WHERE kind = "
    "5;";

// Bodies that are packed into segments (store_segments.c): segment is 0 for a body that
// stays in its row, -1 for one that is to be packed, else the number of the segment
// that has it. Where nothing is packed, the indexes are empty. object_place is this
// store's folder among objects, and which collector packs.
#define SEGMENTS_LAYOUT(NUMBER, STAGED)                                                \
    "ALTER TABLE bodies ADD COLUMN segment bigint NOT NULL DEFAULT 0;"                 \
    "ALTER TABLE bodies ADD COLUMN start bigint NOT NULL DEFAULT 0;"                   \
    "ALTER TABLE bodies ADD COLUMN length bigint NOT NULL DEFAULT 0;"                  \
    "CREATE INDEX bodies_staged ON bodies(" STAGED ") WHERE segment = -1;"             \
    "CREATE INDEX bodies_of_segments ON bodies(segment) WHERE segment > 0;"            \
    "CREATE TABLE segments(number " NUMBER ", name text NOT NULL UNIQUE,"              \
    " week bigint NOT NULL, size bigint NOT NULL, sum text NOT NULL,"                  \
    " made bigint NOT NULL);"                                                          \
    "CREATE TABLE object_place(one bigint PRIMARY KEY, id text NOT NULL,"              \
    " owner text NOT NULL, until bigint NOT NULL);"
static const char sqlite_segments[] = SEGMENTS_LAYOUT("INTEGER PRIMARY KEY", "report");
static const char postgres_segments[] = SEGMENTS_LAYOUT(
    "bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY", "received, report");

// Several terms of a filter hold for one report where its group's entries in this index
// say so: reading the rows of the reports took ten times as long.
static const char postgres_columns[] =
    "CREATE INDEX reports_by_columns ON reports(group_number, time, number)"
    " INCLUDE (release, environment, hostname, signal_name);"
    "DROP INDEX IF EXISTS reports_by_group;"
    "ALTER INDEX reports_by_columns RENAME TO reports_by_group;";

// Debug files and sources whose content is an object, or in the folder alone; builds
// that somebody upstream was asked of; and objects where the database has them.
#define SYMBOLS_LAYOUT(BYTES)                                                          \
    "CREATE TABLE symbol_files(key text PRIMARY KEY, name text NOT NULL,"              \
    " size bigint NOT NULL, kept bigint NOT NULL, project text NOT NULL,"              \
    " release text NOT NULL, added bigint NOT NULL, used bigint NOT NULL);"            \
    "CREATE INDEX symbol_files_by_name ON symbol_files(name);"                         \
    "CREATE TABLE asked_builds(build text PRIMARY KEY, time bigint NOT NULL);"         \
    "CREATE TABLE object_parts(name text NOT NULL, part bigint NOT NULL,"              \
    " bytes " BYTES " NOT NULL, added bigint NOT NULL, PRIMARY KEY(name, part));"
static const char sqlite_symbols[] = SYMBOLS_LAYOUT("BLOB");
static const char postgres_symbols[] = SYMBOLS_LAYOUT("bytea");

// Hosts are many, and each has crashes of many groups: with a row of their own in the
// index of words, and not one a group, a new host of a group adds nothing to it. So do
// programs and releases. columnsize = 0: nothing is ranked by how long a value is.
static const char sqlite_hosts[] =
    "DROP TRIGGER facet_added; DROP TRIGGER facet_removed; DROP TRIGGER facet_word;"
    "DROP TABLE facet_search;"
    "CREATE VIRTUAL TABLE facet_search USING fts5(value, content='facets',"
    " content_rowid='number', tokenize='trigram', detail='full', columnsize=0);"
    "INSERT INTO facet_search(rowid, value) SELECT number, value FROM facets"
    " WHERE kind <= 2;"
    "CREATE TRIGGER facet_added AFTER INSERT ON facets WHEN new.kind <= 2 BEGIN"
    " INSERT INTO facet_search(rowid, value) VALUES(new.number, new.value); END;"
    "CREATE TRIGGER facet_removed AFTER DELETE ON facets WHEN old.kind <= 2 BEGIN"
    " INSERT INTO facet_search(facet_search, rowid, value)"
    " VALUES('delete', old.number, old.value); END;"
    "INSERT INTO words(kind, value) SELECT DISTINCT kind, value FROM facets"
    " WHERE kind >= 3 AND kind <= 5;"
    "CREATE TRIGGER facet_word AFTER INSERT ON facets"
    " WHEN new.kind BETWEEN 3 AND 5 OR new.kind BETWEEN 11 AND 14 BEGIN"
    " INSERT INTO words(kind, value) SELECT new.kind, new.value WHERE NOT EXISTS("
    "SELECT 1 FROM words WHERE kind = new.kind AND value = new.value); END;";

// Starts are counted by host and day, and listed by their sums: start_sums has those of
// a release and day, start_hosts those of a release and host over the days that
// start_days has. The project '' is all of them. Triggers keep the sums, so that they
// are right whichever release of the collector counts. Where several may write at once
// each has rows of its own in start_sums, which are its part: nobody waits for another.
#define ADD_TO_SUMS(PART, BEGUN, ENDED, CRASHED)                                       \
    " INSERT INTO start_sums(project, day, release, part, begun, ended, crashed)"      \
    " SELECT p.project, new.day, new.release, " PART ", " BEGUN ", " ENDED             \
    ", " CRASHED " FROM (SELECT '' AS project UNION SELECT new.project) p WHERE 1 = 1" \
    " ON CONFLICT(project, day, release, part) DO UPDATE SET"                          \
    " begun = start_sums.begun + excluded.begun,"                                      \
    " ended = start_sums.ended + excluded.ended,"                                      \
    " crashed = start_sums.crashed + excluded.crashed;"
#define ADD_STARTS(PART, BEGUN, ENDED)                                                 \
    ADD_TO_SUMS(PART, BEGUN, ENDED, "0")                                               \
    " INSERT INTO start_hosts(project, release, hostname, begun, ended)"               \
    " SELECT p.project, new.release, new.hostname, " BEGUN ", " ENDED                  \
    " FROM (SELECT '' AS project UNION SELECT new.project) p WHERE 1 = 1"              \
    " ON CONFLICT(project, release, hostname) DO UPDATE SET"                           \
    " begun = start_hosts.begun + excluded.begun,"                                     \
    " ended = start_hosts.ended + excluded.ended;"
// What happened a while ago is in no sum of a day any more.
#define REMOVE_STARTS                                                                  \
    " UPDATE start_hosts SET begun = begun - old.begun, ended = ended - old.ended"     \
    " WHERE project IN ('', old.project) AND release = old.release"                    \
    " AND hostname = old.hostname;"                                                    \
    " DELETE FROM start_hosts WHERE project IN ('', old.project)"                      \
    " AND release = old.release AND hostname = old.hostname AND begun <= 0"            \
    " AND ended <= 0;"
#define STARTS_TABLES(TODAY)                                                           \
    "CREATE TABLE start_sums(project text NOT NULL, day bigint NOT NULL,"              \
    " release text NOT NULL, part bigint NOT NULL, begun bigint NOT NULL,"             \
    " ended bigint NOT NULL, crashed bigint NOT NULL,"                                 \
    " PRIMARY KEY(project, day, release, part));"                                      \
    "CREATE TABLE start_hosts(project text NOT NULL, release text NOT NULL,"           \
    " hostname text NOT NULL, begun bigint NOT NULL, ended bigint NOT NULL,"           \
    " PRIMARY KEY(project, release, hostname));"                                       \
    "CREATE INDEX start_hosts_by_starts ON start_hosts(project, begun DESC, release,"  \
    " hostname);"                                                                      \
    "CREATE INDEX start_hosts_of_release ON start_hosts(project, release, begun DESC," \
    " hostname);"                                                                      \
    "CREATE INDEX start_batches_by_day ON start_batches(day);"                         \
    "CREATE INDEX sessions_by_day ON sessions(day);"                                   \
    "CREATE INDEX sessions_by_host ON sessions(release, hostname, day, project);"      \
    "DELETE FROM start_days WHERE day < " TODAY " - 30;"                               \
    "CREATE INDEX start_days_by_day ON start_days(day);"
#define SUM_STARTS                                                                     \
    "INSERT INTO start_sums(project, day, release, part, begun, ended, crashed)"       \
    " SELECT p.project, s.day, s.release, 0, CAST(sum(s.begun) AS bigint),"            \
    " CAST(sum(s.ended) AS bigint), CAST(sum(s.crashed) AS bigint) FROM"               \
    " (SELECT project, day, release, sum(begun) AS begun, sum(ended) AS ended,"        \
    " 0 AS crashed FROM start_days GROUP BY project, day, release UNION ALL"           \
    " SELECT project, day, release, 0, 0, count(*) FROM sessions"                      \
    " GROUP BY project, day, release) s JOIN (SELECT '' AS project UNION SELECT"       \
    " project FROM start_days UNION SELECT project FROM sessions) p"                   \
    " ON p.project IN ('', s.project) GROUP BY p.project, s.day, s.release;"           \
    "INSERT INTO start_hosts(project, release, hostname, begun, ended)"                \
    " SELECT '', release, hostname, CAST(sum(begun) AS bigint),"                       \
    " CAST(sum(ended) AS bigint) FROM start_days GROUP BY release, hostname"           \
    " UNION ALL SELECT project, release, hostname, CAST(sum(begun) AS bigint),"        \
    " CAST(sum(ended) AS bigint) FROM start_days WHERE project <> ''"                  \
    " GROUP BY project, release, hostname;"
#define SQLITE_TRIGGER(NAME, EVENT, BODY)                                              \
    "CREATE TRIGGER " NAME " AFTER " EVENT " BEGIN" BODY " END;"
#define POSTGRES_TRIGGER(NAME, EVENT, BODY)                                            \
    "CREATE FUNCTION crashhook_" NAME "() RETURNS trigger LANGUAGE plpgsql AS"         \
    " $$ BEGIN" BODY " RETURN NULL; END $$;"                                           \
    "CREATE TRIGGER " NAME " AFTER " EVENT " FOR EACH ROW EXECUTE FUNCTION"            \
    " crashhook_" NAME "();"
#define STARTS_ADDED(PART) ADD_STARTS(PART, "new.begun", "new.ended")
#define STARTS_GROWN(PART)                                                             \
    ADD_STARTS(PART, "new.begun - old.begun", "new.ended - old.ended")
#define STARTS_STEP(TODAY, TRIGGER, PART)                                              \
    STARTS_TABLES(TODAY)                                                               \
    TRIGGER("starts_added", "INSERT ON start_days", STARTS_ADDED(PART))                \
    TRIGGER("starts_grown", "UPDATE ON start_days", STARTS_GROWN(PART))                \
    TRIGGER("starts_removed", "DELETE ON start_days", REMOVE_STARTS)                   \
    TRIGGER("session_added", "INSERT ON sessions", ADD_TO_SUMS(PART, "0", "0", "1"))   \
    SUM_STARTS
static const char sqlite_starts[] =
    STARTS_STEP("CAST(strftime('%s', 'now') AS INTEGER) / 86400", SQLITE_TRIGGER, "0");
static const char postgres_starts[] =
    "CREATE INDEX groups_by_count ON groups(count, number);"
    "CREATE INDEX groups_by_machines ON groups(machines, number);" STARTS_STEP(
        "CAST(extract(epoch FROM now()) AS bigint) / 86400", POSTGRES_TRIGGER,
        "pg_backend_pid()");

// A project's debug files, sources and names of places are kept under keys that begin
// with `PROJECT/`. A report that was named from the file of another project is named
// again. What a collector of before writes meanwhile, in PostgreSQL, is refused: its
// rows have no such keys, and the table `places` is gone.
#define FOREIGN_NAMES                                                                  \
    " FROM symbols s JOIN nameless n ON n.build = s.build JOIN reports r ON"           \
    " r.number = n.report JOIN groups g ON g.number = r.group_number"                  \
    " WHERE s.project <> '' AND g.project <> s.project"
#define APART_LAYOUT(ROWID, NOW)                                                       \
    "UPDATE symbols SET project = (SELECT f.project FROM symbol_files f WHERE f.key"   \
    " = symbols.build) WHERE EXISTS(SELECT 1 FROM symbol_files f WHERE f.key ="        \
    " symbols.build AND f.project <> symbols.project);"                                \
    "CREATE TABLE place_names(build text NOT NULL, place text NOT NULL, frames text"   \
    " NOT NULL, PRIMARY KEY(build, place))" ROWID ";"                                  \
    "INSERT INTO place_names(build, place, frames) SELECT CASE WHEN"                   \
    " coalesce(s.project, '') <> '' THEN s.project || '/' || p.build ELSE p.build"     \
    " END, p.place, p.frames FROM places p LEFT JOIN symbols s ON s.build = p.build;"  \
    "DROP TABLE places;"                                                               \
    "INSERT INTO jobs(report, rank, queued, until, tries, turn) SELECT DISTINCT"       \
    " n.report, 1, " NOW ", 0, 0, 0" FOREIGN_NAMES                                     \
    " ON CONFLICT(report) DO UPDATE SET turn = jobs.turn + 1, until = 0, tries = 0;"   \
    "DELETE FROM history WHERE kind = 'moved' AND group_id IN (SELECT"                 \
    " g.fingerprint" FOREIGN_NAMES ");"                                                \
    "UPDATE alerts SET title = 'a crash', detail = '' WHERE group_id IN (SELECT"       \
    " g.fingerprint" FOREIGN_NAMES ");"                                                \
    "UPDATE groups SET title = 'a crash that is named again', stack = '' WHERE"        \
    " number IN (SELECT g.number" FOREIGN_NAMES ");"                                   \
    "UPDATE symbol_files SET key = project || '/' || key WHERE project <> '';"         \
    "UPDATE symbols SET build = project || '/' || build WHERE project <> '';"
#define ONLY_APART(TABLE, KEY)                                                         \
    "ALTER TABLE " TABLE " ADD CHECK (project = '' OR left(" KEY                       \
    ", length(project) + 1) = project || '/');"
static const char sqlite_apart[] =
    APART_LAYOUT(" WITHOUT ROWID", "CAST(strftime('%s', 'now') AS INTEGER) * 1000");
static const char postgres_apart[] =
    APART_LAYOUT("", "CAST(extract(epoch FROM now()) AS bigint) * 1000")
        ONLY_APART("symbols", "build") ONLY_APART("symbol_files", "key");

#define TEXT_OF(number) #number
#define DIGITS(number) TEXT_OF(number)

// steps[dialect][n] goes from layout n to n + 1; NULL: no release had that layout, or
// nothing changed.
static const char *const steps[2][STORE_SCHEMA_VERSION] = {
    [SQL_SQLITE] = { sqlite_1, sqlite_2, held_back, sqlite_moves, sqlite_search,
                     sqlite_naming, decisions, sqlite_places, sqlite_alerts,
                     sqlite_people, sweeping, starts_layout, sqlite_sums,
                     sqlite_segments, NULL, sqlite_symbols, sqlite_hosts, sqlite_starts,
                     sqlite_apart },
    [SQL_POSTGRES] = { NULL, postgres_1, held_back, postgres_moves, postgres_search,
                       postgres_naming, decisions, postgres_places, postgres_alerts,
                       postgres_people, sweeping, starts_layout, NULL,
                       postgres_segments, postgres_columns, postgres_symbols, NULL,
                       postgres_starts, postgres_apart },
};

// words is how a dialect keeps two programs from upgrading at the same time, and where
// it stores the number of its layout and the oldest one whose programs can use it.
static const struct {
    const char *begin;
    const char *read;
    const char *oldest;
    const char *write;
} words[] = {
    [SQL_SQLITE] = { .begin = "BEGIN IMMEDIATE",
                     .read = "PRAGMA user_version",
                     .oldest = "PRAGMA user_version", // one file, one collector
                     .write = "PRAGMA user_version = " DIGITS(
                         STORE_SCHEMA_VERSION) "; COMMIT" },
    [SQL_POSTGRES] = { .begin = "BEGIN; SELECT pg_advisory_xact_lock(7157312091);"
                                "CREATE TABLE IF NOT EXISTS"
                                " crashhook_layout(version bigint NOT NULL);"
                                "ALTER TABLE crashhook_layout ADD COLUMN IF NOT EXISTS"
                                " oldest bigint NOT NULL DEFAULT 0",
                       .read = "SELECT max(version) FROM crashhook_layout",
                       // A database of before has no such column.
                       .oldest =
                           "SELECT coalesce(max(coalesce(CAST(to_jsonb(l) ->>"
                           " 'oldest' AS bigint), 0)), 0) FROM crashhook_layout l",
                       .write = "DELETE FROM crashhook_layout;"
                                "INSERT INTO crashhook_layout(version, oldest)"
                                " VALUES (" DIGITS(STORE_SCHEMA_VERSION) ", " DIGITS(
                                    STORE_SCHEMA_OLDEST) "); COMMIT" },
};

// read_layout finds the number of the layout, and refuses one that this program cannot
// use: CH_ERR_UNSUPPORTED.
static enum ch_status read_layout(struct sql *sql, int64_t *found,
                                  char error[SQL_ERROR_SIZE])
{
    int64_t oldest = 0;
    enum ch_status status =
        sql_query(sql, words[sql->dialect].read, NULL, 0, sql_take_number, found);
    if (status == CH_OK)
        status = sql_query(sql, words[sql->dialect].oldest, NULL, 0, sql_take_number,
                           &oldest);
    if (status != CH_OK || *found <= STORE_SCHEMA_VERSION ||
        oldest <= STORE_SCHEMA_VERSION)
        return status;
    snprintf(error, SQL_ERROR_SIZE,
             "the database has layout %lld, this program knows %d", (long long)*found,
             STORE_SCHEMA_VERSION);
    return CH_ERR_UNSUPPORTED;
}

static enum ch_status migrate_schema(struct sql *sql, int64_t from)
{
    enum ch_status status = CH_OK;
    if (from > STORE_SCHEMA_VERSION)
        return sql_script(sql, "COMMIT");
    for (int64_t i = from; i < STORE_SCHEMA_VERSION && status == CH_OK; i++) {
        const char *step = steps[sql->dialect][i];
        if (step != NULL)
            status = sql_script(sql, step);
    }
    return status == CH_OK ? sql_script(sql, words[sql->dialect].write) : status;
}

enum ch_status store_schema_open(struct sql *sql, char error[SQL_ERROR_SIZE])
{
    int64_t found = 0;
    enum ch_status status = sql_script(sql, words[sql->dialect].begin);
    if (status == CH_OK)
        status = read_layout(sql, &found, error);
    if (status == CH_OK)
        status = migrate_schema(sql, found);
    if (status != CH_OK && status != CH_ERR_UNSUPPORTED)
        snprintf(error, SQL_ERROR_SIZE, "%s", sql->error);
    if (status != CH_OK)
        sql_rollback(sql);
    return status == CH_ERR_UNSUPPORTED ? CH_ERR_IO : status;
}

enum ch_status store_schema_check(struct sql *sql, char error[SQL_ERROR_SIZE])
{
    int64_t found = 0;
    enum ch_status status = read_layout(sql, &found, error);
    if (status == CH_OK && found < STORE_SCHEMA_VERSION) {
        snprintf(error, SQL_ERROR_SIZE,
                 "the database has layout %lld, which a collector that writes has to"
                 " upgrade to %d",
                 (long long)found, STORE_SCHEMA_VERSION);
        return CH_ERR_IO;
    }
    if (status != CH_OK && status != CH_ERR_UNSUPPORTED)
        snprintf(error, SQL_ERROR_SIZE, "%s", sql->error);
    return status == CH_ERR_UNSUPPORTED ? CH_ERR_IO : status;
}
