// SPDX-License-Identifier: Apache-2.0
#include "collector/store/store_internal.h"
#include "collector/store/store_schema.h"

// LISTED is the condition that a number is in a list, in either dialect.
#define LISTED_SQLITE "IN (SELECT value FROM json_each(?1))"
#define LISTED_POSTGRES "= ANY(CAST(?1 AS bigint[]))"

// WITH_LIST is a statement with a list in it.
#define WITH_LIST(before, after)                                                       \
    {                                                                                  \
        before LISTED_SQLITE after, before LISTED_POSTGRES after                       \
    }

// BOTH is a statement that both dialects have.
#define BOTH(...)                                                                      \
    {                                                                                  \
        __VA_ARGS__, NULL                                                              \
    }

#define EARLIER(column)                                                                \
    column " = CASE WHEN excluded." column " < groups." column                         \
           " THEN excluded." column " ELSE groups." column " END"
#define LATER(column)                                                                  \
    column " = CASE WHEN excluded." column " > groups." column                         \
           " THEN excluded." column " ELSE groups." column " END"

#define OF_NEWEST(column)                                                              \
    column " = CASE WHEN excluded.last_seen >= groups.last_seen"                       \
           " THEN excluded." column " ELSE groups." column " END"

// FOUND_GROUP is the number of the group that the key `x` leads to: its own group, the
// one that was merged into, or the one that its newest report went to.
#define MERGED_INTO(x)                                                                 \
    "coalesce((SELECT target FROM merged WHERE fingerprint = " x "), " x ")"
#define FOUND_GROUP(x)                                                                 \
    "coalesce((SELECT number FROM groups WHERE fingerprint = " MERGED_INTO(            \
        x) "), (SELECT kg.number FROM keys k JOIN groups kg ON kg.fingerprint "        \
           "= " MERGED_INTO("k.target") " WHERE k.fingerprint = " x "))"

// GROUP_OF_3 is the number of the group that reports of fingerprint ?3 belong to; the
// group exists by then.
#define GROUP_OF_3                                                                     \
    "(SELECT number FROM groups WHERE fingerprint = coalesce((SELECT target FROM"      \
    " merged WHERE fingerprint = ?3), ?3))"

#define LOSE_FACETS(condition, elements)                                               \
    "UPDATE facets SET count = facets.count - gone.n FROM (SELECT group_number, kind," \
    " value, count(*) AS n FROM (" STORE_FACETS_OF(                                    \
        condition,                                                                     \
        elements) ") lost"                                                             \
                  " GROUP BY group_number, kind, value) gone WHERE"                    \
                  " facets.group_number = gone.group_number AND facets.kind = "        \
                  "gone.kind"                                                          \
                  " AND facets.value = gone.value"

#define GROUP_FOUND                                                                    \
    " RETURNING number, fingerprint, status, status_release, status_time,"             \
    " first_release, count"

// JOB_AGAIN ends a statement that queues jobs some of which may be queued or under way:
// a new turn keeps the result of a job under way from ending it.
#define JOB_AGAIN                                                                      \
    " ON CONFLICT(report) DO UPDATE SET turn = jobs.turn + 1, until = 0, tries = 0"

const struct sql_statement store_statements[STORE_STATEMENT_COUNT] = {
    [STORE_BEGIN] = { "BEGIN IMMEDIATE", "BEGIN" },
    [STORE_COMMIT] = { "COMMIT", NULL },
    [STORE_SHARE] = { "SELECT 1", "SELECT pg_advisory_xact_lock_shared(7157312092)" },
    [STORE_ALONE] = { "SELECT 1", "SELECT pg_advisory_xact_lock(7157312092)" },

    [STORE_FIND_REPORT] = { "SELECT r.number, r.revision, r.group_number,"
                            " g.fingerprint, g.project, r.sender FROM reports r JOIN"
                            " groups g ON g.number = r.group_number WHERE r.id = ?1",
                            "SELECT r.number, r.revision, r.group_number,"
                            " g.fingerprint, g.project, r.sender FROM reports r JOIN"
                            " groups g ON g.number = r.group_number WHERE r.id = ?1"
                            " FOR UPDATE OF r" },
    // A group is created with the decision of the group ?9, where there is such: its
    // reports belonged there, or would have.
    [STORE_GAIN_GROUP] = BOTH(
        "INSERT INTO groups(fingerprint, title, summary, signal,"
        " count, kept, first_seen, last_seen, stack, status,"
        " status_release, status_time, note, assignee, project)"
        " SELECT"
        " coalesce((SELECT target FROM merged WHERE fingerprint ="
        " ?1), ?1), CAST(?2 AS text), CAST(?3 AS text),"
        " CAST(?4 AS bigint), CAST(?5 AS bigint),"
        " CAST(?5 AS bigint), CAST(?6 AS bigint),"
        " CAST(?7 AS bigint), CAST(?8 AS text),"
        " coalesce(d.status, 'open'), coalesce(d.status_release,"
        " ''), coalesce(d.status_time, 0), coalesce(d.note, ''),"
        " coalesce(d.assignee, ''), CAST(?10 AS text) FROM (SELECT"
        " 1 AS one) o"
        " LEFT JOIN groups d ON d.fingerprint = coalesce((SELECT"
        " target FROM merged WHERE fingerprint = ?9), ?9)"
        " WHERE o.one = 1"
        " ON CONFLICT(fingerprint) DO UPDATE SET"
        " count = groups.count + excluded.count,"
        " kept = groups.kept + excluded.kept, " OF_NEWEST("title") ", " OF_NEWEST(
            "summary") ", " OF_NEWEST("stack") ", " EARLIER("first_"
                                                            "seen") ", " LATER("last_"
                                                                               "seen")
            GROUP_FOUND),
    [STORE_SET_FIRST_RELEASE] = { "UPDATE groups SET first_release = ?2"
                                  " WHERE number = ?1",
                                  NULL },
    [STORE_GAIN_DAY] = { "INSERT INTO group_days(group_number, day, count)"
                         " VALUES(?1, ?2, ?3) ON CONFLICT(group_number, day)"
                         " DO UPDATE SET count = group_days.count + excluded.count",
                         NULL },
    [STORE_GAIN_FACET] = { "INSERT INTO facets(group_number, kind, value, count,"
                           " last_seen) VALUES(?1, ?2, ?3, ?4, "
                           "?5)" STORE_GAIN_FACETS_MERGE,
                           NULL },
    [STORE_GAIN_DAYS] = WITH_LIST(
        "INSERT INTO group_days(group_number, day, count) SELECT group_number,"
        " time / 86400000, count(*) FROM reports WHERE number ",
        " GROUP BY 1, 2 ORDER BY 1, 2 ON CONFLICT(group_number, day) DO UPDATE SET"
        " count = group_days.count + excluded.count"),
    [STORE_GAIN_FACETS] = { STORE_GAIN_FACETS("r.number " LISTED_SQLITE,
                                              STORE_MARKS_SQLITE),
                            STORE_GAIN_FACETS("r.number " LISTED_POSTGRES,
                                              STORE_MARKS_POSTGRES) },
    [STORE_LOSE_GROUPS] = WITH_LIST(
        "UPDATE groups SET count = groups.count - gone.n, kept = groups.kept - gone.n"
        " FROM (SELECT group_number, count(*) AS n FROM reports WHERE number ",
        " GROUP BY group_number) gone WHERE groups.number = gone.group_number"),
    [STORE_LOSE_DAYS] = WITH_LIST(
        "UPDATE group_days SET count = group_days.count - gone.n FROM (SELECT"
        " group_number, time / 86400000 AS day, count(*) AS n FROM reports"
        " WHERE number ",
        " GROUP BY 1, 2) gone WHERE group_days.group_number = gone.group_number"
        " AND group_days.day = gone.day"),
    [STORE_LOSE_FACETS] = { LOSE_FACETS("r.number " LISTED_SQLITE, STORE_MARKS_SQLITE),
                            LOSE_FACETS("r.number " LISTED_POSTGRES,
                                        STORE_MARKS_POSTGRES) },

    [STORE_ADD_REPORT] = { "INSERT INTO reports(id, revision, group_number, time,"
                           " received, signal, signal_name, title, summary, release,"
                           " environment, executable, hostname, fingerprint,"
                           " fingerprint1, sender) VALUES("
                           "?1, ?2, " GROUP_OF_3 ", ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11,"
                           " ?12, ?13, ?3, ?14, ?15) RETURNING number",
                           NULL },
    [STORE_CHANGE_REPORT] = { "UPDATE reports SET revision = ?2, group_number ="
                              " " GROUP_OF_3 ", time = ?4, received = ?5, signal = ?6,"
                              " signal_name = ?7, title = ?8, summary = ?9,"
                              " release = ?10, environment = ?11, executable = ?12,"
                              " hostname = ?13, fingerprint = ?3, fingerprint1 = ?14,"
                              " sender = ?15"
                              " WHERE id = ?1"
                              " RETURNING number",
                              NULL },
    [STORE_ADD_TAG] = { "INSERT INTO tags(report, key, value) VALUES(?1, ?2, ?3)"
                        " ON CONFLICT(report, key) DO NOTHING",
                        NULL },
    [STORE_ADD_MARKS] = { "INSERT INTO marks(report, list) VALUES(?1, ?2)", NULL },
    [STORE_ADD_HELD] = { "INSERT INTO held_back(fingerprint, id, count, received)"
                         " VALUES(?1, ?2, ?3, ?4) ON CONFLICT(fingerprint, id)"
                         " DO UPDATE SET count = excluded.count",
                         NULL },
    [STORE_ADD_BODY] = { "INSERT INTO bodies(report, encoding, bytes, segment)"
                         " VALUES(?1, ?2, ?3, ?4)",
                         "INSERT INTO bodies(report, encoding, bytes, segment,"
                         " received) VALUES(?1, ?2, ?3, ?4, ?5)" },
    [STORE_REMOVE_TAGS] = WITH_LIST("DELETE FROM tags WHERE report ", ""),
    [STORE_REMOVE_MARKS] = WITH_LIST("DELETE FROM marks WHERE report ", ""),
    [STORE_REMOVE_BODIES] = WITH_LIST("DELETE FROM bodies WHERE report ", ""),
    [STORE_REMOVE_REPORTS] = WITH_LIST("DELETE FROM reports WHERE number ", ""),
    [STORE_SEE_AGAIN] = WITH_LIST(
        "UPDATE groups SET first_seen = coalesce((SELECT min(time) FROM reports WHERE"
        " group_number = groups.number), first_seen), last_seen = coalesce((SELECT"
        " max(time) FROM reports WHERE group_number = groups.number), last_seen),"
        " title = coalesce((SELECT title FROM reports WHERE group_number ="
        " groups.number ORDER BY time DESC, number DESC LIMIT 1), title),"
        " summary = coalesce((SELECT summary FROM reports WHERE group_number ="
        " groups.number ORDER BY time DESC, number DESC LIMIT 1), summary)"
        " WHERE number ",
        ""),
    [STORE_DROP_FACETS] =
        WITH_LIST("DELETE FROM facets WHERE count <= 0 AND group_number ", ""),
    [STORE_WORDS_END] = { "SELECT coalesce(max(number), 0) FROM (SELECT number FROM"
                          " words WHERE number > ?1 ORDER BY number LIMIT ?2) w",
                          NULL },
    [STORE_WORDS_SWEEP] = { "DELETE FROM words WHERE number > ?1 AND number <= ?2 AND"
                            " NOT EXISTS(SELECT 1 FROM facets f WHERE f.kind >= 3 AND"
                            " f.kind = words.kind AND f.value = words.value)",
                            NULL },
    [STORE_REMOVE_EMPTY_GROUPS] =
        WITH_LIST("DELETE FROM groups WHERE kept <= 0 AND NOT EXISTS(SELECT 1 FROM"
                  " moves WHERE groups.number IN (source, target)) AND number ",
                  ""),
    [STORE_REMOVE_EMPTY_DAYS] =
        WITH_LIST("DELETE FROM group_days WHERE NOT EXISTS(SELECT 1 FROM groups g"
                  " WHERE g.number = group_number) AND group_number ",
                  ""),
    [STORE_REMOVE_EMPTY_FACETS] =
        WITH_LIST("DELETE FROM facets WHERE NOT EXISTS(SELECT 1 FROM groups g"
                  " WHERE g.number = group_number) AND group_number ",
                  ""),
    [STORE_REGRESS] = { "UPDATE groups SET status = 'regressed', resolved_in ="
                        " status_release, status_release = ?2, status_time = ?3,"
                        " version = version + 1 WHERE number = ?1 AND status = "
                        "'resolved'",
                        NULL },

    [STORE_IGNORE_END] = { "UPDATE groups SET status = 'open', status_time = ?2,"
                           " version = version + 1, until_count = 0, until_machines ="
                           " 0, until_time = 0 WHERE number = ?1 AND status ="
                           " 'ignored' AND ((until_count > 0 AND count >= until_count)"
                           " OR (until_machines > 0 AND machines >= until_machines)"
                           " OR (until_time > 0 AND until_time <= ?2))",
                           NULL },

    [STORE_TRIAGE_FIND] = { "SELECT number, status, status_release, note, assignee,"
                            " fingerprint, version, count, machines, until_count,"
                            " until_machines, until_time, project FROM groups WHERE"
                            " number ="
                            " " FOUND_GROUP("?1"),
                            NULL },
    [STORE_TRIAGE_NEWEST] = { "SELECT value FROM facets WHERE group_number = ?1"
                              " AND kind = 5",
                              NULL },
    [STORE_TRIAGE_SET] = { "UPDATE groups SET status = ?2, status_release = ?3,"
                           " status_time = CASE WHEN status = ?2 THEN status_time ELSE"
                           " ?4 END, note = ?5, assignee = ?6, until_count = ?7,"
                           " until_machines = ?8, until_time = ?9,"
                           " version = version + 1 WHERE number = ?1",
                           NULL },

    // In the next three ?1 is the number of the group that ends and ?2 of the one that
    // stays.
    [STORE_MERGE_FIGURES] = BOTH(
        "UPDATE groups SET count = groups.count + s.count, kept = groups.kept +"
        " s.kept, first_seen = CASE WHEN s.first_seen < groups.first_seen THEN"
        " s.first_seen ELSE groups.first_seen END, last_seen = CASE WHEN s.last_seen"
        " > groups.last_seen THEN s.last_seen ELSE groups.last_seen END,"
        " first_release = CASE WHEN s.first_release <> '' AND s.first_seen <"
        " groups.first_seen THEN s.first_release ELSE groups.first_release END FROM"
        " (SELECT * FROM groups WHERE number = ?1) s WHERE groups.number = ?2"),
    [STORE_MERGE_DAYS] = { "INSERT INTO group_days(group_number, day, count) SELECT"
                           " CAST(?2 AS bigint), day, count FROM group_days WHERE"
                           " group_number = ?1 AND count > 0 ON CONFLICT(group_number, "
                           "day)"
                           " DO UPDATE SET count = group_days.count + excluded.count",
                           NULL },
    [STORE_MERGE_FACETS] = BOTH(
        "INSERT INTO facets(group_number, kind, value, count, last_seen) SELECT"
        " CAST(?2 AS bigint), kind, value, count, last_seen FROM facets WHERE"
        " group_number = ?1 AND count > 0 ON CONFLICT(group_number, kind, value) DO"
        " UPDATE SET count = facets.count + excluded.count, last_seen = CASE WHEN"
        " excluded.last_seen > facets.last_seen THEN excluded.last_seen ELSE"
        " facets.last_seen END"),
    // In the next two ?1 and ?2 are their fingerprints.
    [STORE_MERGE_FORWARD] = { "UPDATE merged SET target = ?2 WHERE target = ?1", NULL },
    [STORE_MERGE_REMEMBER] = { "INSERT INTO merged(fingerprint, target) VALUES(?1, ?2)",
                               NULL },
    [STORE_MERGE_END] = { "DELETE FROM groups WHERE number = ?1", NULL },
    [STORE_MERGE_END_DAYS] = { "DELETE FROM group_days WHERE group_number = ?1", NULL },
    [STORE_MERGE_END_FACETS] = { "DELETE FROM facets WHERE group_number = ?1", NULL },

    [STORE_SPLIT_FORGET] = { "DELETE FROM merged WHERE fingerprint = ?1"
                             " RETURNING 1",
                             NULL },
    [STORE_MOVE_FIND] = { "SELECT number, source, target, fingerprint, time, last FROM"
                          " moves ORDER BY number LIMIT 1",
                          NULL },
    [STORE_MOVE_NEXT] = { "SELECT number, time, fingerprint FROM reports WHERE"
                          " group_number = ?1 AND (time, number) > (CAST(?2 AS bigint),"
                          " CAST(?3 AS bigint)) ORDER BY time, number LIMIT ?4",
                          NULL },
    [STORE_MOVE_OWN] = BOTH(
        "INSERT INTO groups(fingerprint, title, summary, signal, count, kept,"
        " first_seen, last_seen, first_release, project) SELECT fingerprint, title,"
        " summary, signal, 0, 0, time, time, release, coalesce((SELECT project FROM"
        " groups g WHERE g.number = reports.group_number), '') FROM reports WHERE"
        " number = ?1 ON CONFLICT(fingerprint) DO UPDATE SET count = groups.count"
        " RETURNING number"),
    [STORE_MOVE_DROP_FACETS] = { "DELETE FROM facets WHERE count <= 0 AND"
                                 " (group_number, kind, value) IN (SELECT"
                                 " group_number, kind, value FROM"
                                 " (" STORE_FACETS_OF("r.number " LISTED_SQLITE,
                                                      STORE_MARKS_SQLITE) ") g)",
                                 "DELETE FROM facets USING (SELECT DISTINCT"
                                 " group_number AS g, kind AS k, value AS v FROM"
                                 " (" STORE_FACETS_OF(
                                     "r.number " LISTED_POSTGRES,
                                     STORE_MARKS_POSTGRES) ") c"
                                                           ") gone WHERE count "
                                                           "<= 0 AND "
                                                           "group_number = g AND"
                                                           " kind = k AND value "
                                                           "= v" },
    [STORE_MOVE_REPORTS] = { "UPDATE reports SET group_number = ?2 WHERE number"
                             " " LISTED_SQLITE,
                             "UPDATE reports SET group_number = ?2 WHERE number"
                             " " LISTED_POSTGRES },
    [STORE_MOVE_FIGURES] = { "UPDATE groups SET count = count + ?2, kept = kept + ?2,"
                             " first_seen = CASE WHEN ?3 < first_seen THEN ?3 ELSE"
                             " first_seen END, last_seen = CASE WHEN ?4 > last_seen"
                             " THEN ?4 ELSE last_seen END WHERE number = ?1",
                             NULL },
    [STORE_MOVE_BEGIN] = { "INSERT INTO moves(source, target, fingerprint, time, last)"
                           " VALUES(?1, ?2, ?3, -1, 0)",
                           NULL },
    [STORE_MOVE_ON] = { "UPDATE moves SET time = ?2, last = ?3 WHERE number = ?1",
                        NULL },
    [STORE_MOVE_END] = { "DELETE FROM moves WHERE number = ?1", NULL },

    // Groups are locked in the order in which uploads lock them.
    [STORE_TRIM_LOCK] = { "SELECT 1",
                          "SELECT number FROM groups WHERE"
                          " number " LISTED_POSTGRES " ORDER BY fingerprint FOR"
                          " UPDATE" },
    [STORE_TRIM_OLD] = { "SELECT number, group_number FROM reports WHERE"
                         " received < ?1 ORDER BY received LIMIT ?2",
                         "SELECT number, group_number FROM reports WHERE"
                         " received < ?1 ORDER BY received LIMIT ?2 FOR UPDATE SKIP"
                         " LOCKED" },
    [STORE_TRIM_FIRST] = { "SELECT coalesce(min(received), 0) FROM reports", NULL },
    // ?1 is the week of the oldest report: partitions of before are about to be
    // dropped.
    [STORE_TRIM_SIZE] = { "SELECT (p.page_count - f.freelist_count) * s.page_size FROM"
                          " pragma_page_count() p, pragma_freelist_count() f,"
                          " pragma_page_size() s WHERE ?1 = ?1",
                          "SELECT CAST(coalesce(sum(pg_total_relation_size(c.oid)), 0)"
                          " AS bigint) FROM pg_inherits i JOIN pg_class c ON c.oid ="
                          " i.inhrelid WHERE i.inhparent = CAST('bodies' AS regclass)"
                          " AND CASE WHEN c.relname ~ '^bodies_[0-9]+$' THEN"
                          " CAST(substr(c.relname, 8) AS bigint) >= ?1 ELSE true END" },
    [STORE_TRIM_HELD] = { "DELETE FROM held_back WHERE received < ?1", NULL },
    [STORE_TRIM_CROWDED] = { "SELECT number, kept FROM groups WHERE kept > ?1"
                             " ORDER BY kept DESC LIMIT 1",
                             "SELECT number, kept FROM groups WHERE kept > ?1"
                             " ORDER BY kept DESC LIMIT 1 FOR UPDATE SKIP LOCKED" },
    // The next four are for projects that keep what others do not, or the reverse. No
    // crash is later than its report came, so its time finds what may be old.
    [STORE_TRIM_PROJECTS] = { "SELECT DISTINCT project FROM groups", NULL },
    [STORE_TRIM_OLD_OF] = { "SELECT r.number, r.group_number FROM groups g CROSS JOIN"
                            " reports r WHERE g.project = ?3 AND r.group_number ="
                            " g.number AND r.time < ?1 AND r.received < ?1 LIMIT ?2",
                            "SELECT r.number, r.group_number FROM groups g JOIN"
                            " reports r ON r.group_number = g.number WHERE g.project ="
                            " ?3 AND r.time < ?1 AND r.received < ?1 LIMIT ?2 FOR"
                            " UPDATE OF r SKIP LOCKED" },
    [STORE_TRIM_HELD_OF] = { "DELETE FROM held_back WHERE received < ?1 AND"
                             " coalesce((SELECT project FROM groups WHERE number"
                             " = " FOUND_GROUP("held_back.fingerprint") "), '') = ?2",
                             NULL },
    [STORE_TRIM_CROWDED_OF] = { "SELECT number, kept FROM groups WHERE kept > ?1 AND"
                                " project = ?2 ORDER BY kept DESC LIMIT 1",
                                "SELECT number, kept FROM groups WHERE kept > ?1 AND"
                                " project = ?2 ORDER BY kept DESC LIMIT 1 FOR UPDATE"
                                " SKIP LOCKED" },
    [STORE_TRIM_OLDEST] = { "SELECT number, group_number FROM reports WHERE"
                            " group_number = ?1 ORDER BY time, number LIMIT ?2",
                            "SELECT number, group_number FROM reports WHERE"
                            " group_number = ?1 ORDER BY time, number LIMIT ?2 FOR"
                            " UPDATE SKIP LOCKED" },
    [STORE_TRIM_COUNT] = WITH_LIST(
        "UPDATE groups SET kept = groups.kept - gone.n FROM (SELECT group_number,"
        " count(*) AS n FROM reports WHERE number ",
        " GROUP BY group_number) gone WHERE groups.number = gone.group_number"),
    // A key of before leads to the group of its newest report. ?4 is how many
    // milliseconds the time of a key that stays may be behind.
    [STORE_KEY_SET] = { "INSERT INTO keys(fingerprint, target, time) VALUES(?1, ?2, ?3)"
                        " ON CONFLICT(fingerprint) DO UPDATE SET target ="
                        " excluded.target, time = excluded.time WHERE excluded.time >="
                        " keys.time AND (keys.target <> excluded.target OR"
                        " excluded.time - keys.time >= ?4)",
                        NULL },
    [STORE_KEY_FIND] = { "SELECT " MERGED_INTO("target") " FROM keys WHERE"
                                                         " fingerprint = ?1",
                         NULL },
    [STORE_KEY_FORWARD] = { "UPDATE keys SET target = ?2 WHERE target = ?1", NULL },

    [STORE_RENAME_FIND] = { "SELECT r.group_number, g.fingerprint, r.fingerprint,"
                            " r.fingerprint1, g.project FROM reports r JOIN groups g "
                            "ON g.number ="
                            " r.group_number WHERE r.number = ?1",
                            NULL },
    // Reports of the group's own that are still to be keyed.
    [STORE_RENAME_PENDING] = { "SELECT count(*) FROM jobs j JOIN reports r ON r.number "
                               "="
                               " j.report WHERE r.group_number = ?1 AND r.fingerprint ="
                               " ?2 AND j.until < " STORE_NEVER,
                               NULL },
    [STORE_RENAME_MERGE] = { "INSERT INTO merged(fingerprint, target) VALUES(?1, ?2)"
                             " ON CONFLICT(fingerprint) DO NOTHING",
                             NULL },
    [STORE_RENAME_MOVE] = BOTH(
        "INSERT INTO moves(source, target, fingerprint, time, last) SELECT s.number,"
        " t.number, '', -1, 0 FROM groups s, groups t WHERE s.fingerprint = ?1 AND"
        " t.fingerprint = ?2 AND NOT EXISTS(SELECT 1 FROM moves m WHERE m.source ="
        " s.number)"),
    [STORE_RENAME_REPORT] = BOTH(
        "UPDATE reports SET group_number = ?2, fingerprint1 = CASE WHEN fingerprint1"
        " <> '' THEN fingerprint1 WHEN ?4 <> '' THEN ?4 ELSE fingerprint END,"
        " fingerprint = ?3, title = ?5, summary = ?6 WHERE number = ?1"),
    [STORE_RENAME_GROUP] = BOTH(
        "UPDATE groups SET title = ?2, summary = ?3, stack = ?4 WHERE number = ?1 AND"
        " last_seen <= ?5"),
    [STORE_RENAME_DECISION] =
        BOTH("SELECT number, fingerprint, title, status, status_release, status_time,"
             " note, assignee FROM groups WHERE number = ?1"),
    [STORE_RENAME_DECIDE] = BOTH(
        "UPDATE groups SET status = ?2, status_release = ?3, status_time = ?4, note ="
        " ?5, assignee = ?6 WHERE number = ?1"),
    [STORE_RENAME_LEFT] = { "SELECT kept FROM groups WHERE number = ?1", NULL },
    // While removed reports are counted, when the first was seen is known from before.
    [STORE_RENAME_SEEN] = WITH_LIST(
        "UPDATE groups SET first_seen = CASE WHEN count > kept THEN first_seen ELSE"
        " coalesce((SELECT min(time) FROM reports WHERE group_number = groups.number),"
        " first_seen) END, last_seen = coalesce((SELECT max(time) FROM reports WHERE"
        " group_number = groups.number), last_seen) WHERE number ",
        ""),
    [STORE_RENAME_RELEASE] = { "UPDATE groups SET first_release = coalesce((SELECT"
                               " release FROM reports r WHERE r.group_number = ?1 AND"
                               " release <> '' ORDER BY time, number LIMIT 1),"
                               " first_release) WHERE number = ?1",
                               NULL },
    [STORE_HISTORY_ADD] = BOTH(
        "INSERT INTO history(group_id, time, kind, other, detail, count) VALUES(?1,"
        " ?2, ?3, ?4, ?5, ?6) ON CONFLICT(group_id, kind, other, detail) DO UPDATE"
        " SET count = history.count + excluded.count, time = excluded.time"),
    [STORE_HISTORY_FORWARD] = BOTH(
        "UPDATE history SET group_id = ?2 WHERE group_id = ?1 AND NOT EXISTS(SELECT 1"
        " FROM history h WHERE h.group_id = ?2 AND h.kind = history.kind AND h.other"
        " = history.other AND h.detail = history.detail)"),

    [STORE_JOB_ADD] = { "INSERT INTO jobs(report, rank, queued, until, tries, turn)"
                        " VALUES(?1, 0, ?2, 0, 0, 0)" JOB_AGAIN,
                        NULL },
    // The debug file of a build may have come since its report was read.
    [STORE_JOB_ADD_KNOWN] =
        BOTH("INSERT INTO jobs(report, rank, queued, until, tries,"
             " turn) SELECT CAST(?1 AS bigint), 0, CAST(?2 AS bigint),"
             " 0, 0, 0 FROM symbols WHERE build = ?3" JOB_AGAIN),
    [STORE_JOB_ADD_BUILD] = { "INSERT INTO jobs(report, rank, queued, until, tries,"
                              " turn) SELECT report, 0, CAST(?2 AS bigint), 0, 0, 0"
                              " FROM nameless WHERE build = ?1 AND report > ?3"
                              " ORDER BY report LIMIT ?4" JOB_AGAIN " RETURNING report",
                              NULL },
    [STORE_JOB_CLAIM] = { "UPDATE jobs SET until = ?1, tries = tries + 1 WHERE report"
                          " IN (SELECT report FROM jobs WHERE until <= ?2 ORDER BY"
                          " rank, report LIMIT ?3) RETURNING report, turn, tries",
                          "UPDATE jobs SET until = ?1, tries = tries + 1 WHERE report"
                          " IN (SELECT report FROM jobs WHERE until <= ?2 ORDER BY"
                          " rank, report LIMIT ?3 FOR UPDATE SKIP LOCKED)"
                          " RETURNING report, turn, tries" },
    [STORE_JOB_DONE] = { "DELETE FROM jobs WHERE report = ?1 AND turn = ?2", NULL },
    [STORE_JOB_LATER] = { "UPDATE jobs SET until = ?2, rank = 2, tries = tries - 1"
                          " WHERE report = ?1",
                          NULL },
    // What was given up is claimed by nobody, until another debug file comes.
    [STORE_JOB_GIVE_UP] = { "UPDATE jobs SET until = " STORE_NEVER
                            " WHERE report = ?1 AND turn = ?2",
                            NULL },
    [STORE_JOB_ADD_SEEN] = BOTH(
        "INSERT INTO jobs(report, rank, queued, until, tries, turn) SELECT number, 0,"
        " CAST(?2 AS bigint), 0, 0, 0 FROM reports WHERE id = ?1 ON CONFLICT(report)"
        " DO NOTHING"),
    [STORE_PLACE_ADD] = { "INSERT INTO places(build, place, frames) SELECT"
                          " CAST(?1 AS text), CAST(?2 AS text), CAST(?3 AS text)"
                          " WHERE NOT EXISTS(SELECT 1 FROM symbols WHERE build = ?1"
                          " AND time > ?4) ON CONFLICT(build, place) DO UPDATE SET"
                          " frames = excluded.frames",
                          NULL },
    [STORE_PLACES_FORGET] = { "DELETE FROM places WHERE build = ?1", NULL },
    // Delete the places of builds whose last nameless reports are in a list.
    [STORE_PLACES_TRIM] = { "DELETE FROM places WHERE build IN (SELECT DISTINCT"
                            " n.build FROM nameless n WHERE n.report " LISTED_SQLITE
                            " AND NOT EXISTS(SELECT 1 FROM nameless o WHERE o.build ="
                            " n.build AND o.report NOT " LISTED_SQLITE "))",
                            "DELETE FROM places WHERE build IN (SELECT DISTINCT"
                            " n.build FROM nameless n WHERE n.report " LISTED_POSTGRES
                            " AND NOT EXISTS(SELECT 1 FROM nameless o WHERE o.build ="
                            " n.build AND NOT o.report " LISTED_POSTGRES "))" },
    [STORE_NAMELESS_ADD] = { "INSERT INTO nameless(build, report) VALUES(?1, ?2)"
                             " ON CONFLICT(build, report) DO NOTHING",
                             NULL },
    // Times increase from file to file, whatever the clocks of several collectors say.
    [STORE_SYMBOLS_ADD] = BOTH(
        "INSERT INTO symbols(build, time, project, sender) SELECT CAST(?1 AS text),"
        " CASE WHEN CAST(?2 AS bigint) > last THEN CAST(?2 AS bigint) ELSE last + 1"
        " END, CAST(?3 AS text), CAST(?4 AS text) FROM (SELECT coalesce(max(time), 0)"
        " AS last FROM symbols) s WHERE 1 = 1 ON CONFLICT(build) DO UPDATE SET time ="
        " excluded.time"),
    [STORE_REMOVE_JOBS] = WITH_LIST("DELETE FROM jobs WHERE report ", ""),
    [STORE_REMOVE_NAMELESS] = WITH_LIST("DELETE FROM nameless WHERE report ", ""),

    [STORE_LOGIN_ADD] = { "INSERT INTO logins(id, token, name, address, created, seen)"
                          " VALUES(?1, ?2, ?3, ?4, ?5, ?5)",
                          NULL },
    [STORE_LOGIN_OVER] = { "DELETE FROM logins WHERE created <= ?1", NULL },
    [STORE_LOGIN_END] = { "DELETE FROM logins WHERE id = ?1", NULL },
    [STORE_LOGIN_SEEN] = { "UPDATE logins SET seen = ?2 WHERE id = ?1", NULL },
    [STORE_AUDIT_ADD] = { "INSERT INTO audit(time, who, project, what, detail)"
                          " VALUES(?1, ?2, ?3, ?4, ?5)",
                          NULL },
    [STORE_SESSION_ADD] = { "INSERT INTO sessions(project, session, release, hostname,"
                            " day) VALUES(?1, ?2, ?3, ?4, ?5)"
                            " ON CONFLICT(project, session) DO NOTHING",
                            NULL },
    [STORE_SESSION_FORGET] = { "DELETE FROM sessions WHERE day < ?1", NULL },
    [STORE_START_BATCH] = { "INSERT INTO start_batches(project, id, day)"
                            " VALUES(?1, ?2, ?3) ON CONFLICT(project, id) DO NOTHING"
                            " RETURNING day",
                            NULL },
    [STORE_START_DAY] = BOTH(
        "INSERT INTO start_days(project, release, hostname, day, begun, ended)"
        " VALUES(?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT(project, release, hostname, day)"
        " DO UPDATE SET begun = start_days.begun + excluded.begun, ended ="
        " start_days.ended + excluded.ended"),
    [STORE_START_FORGET] = { "DELETE FROM start_batches WHERE day < ?1", NULL },
    // What a list shows of each of its groups.
    [STORE_READ_FACETS] = BOTH(
        "SELECT kind, value, count FROM (SELECT kind, value, count FROM facets WHERE"
        " group_number = ?1 AND kind = 5 ORDER BY last_seen DESC, value DESC LIMIT"
        " ?2) releases UNION ALL SELECT kind, value, count FROM (SELECT kind, value,"
        " count FROM facets WHERE group_number = ?1 AND kind = 3 ORDER BY count DESC,"
        " value LIMIT ?3) programs"),
    [STORE_READ_HELD] = BOTH(
        "SELECT CAST(coalesce(sum(count), 0) AS bigint) FROM held_back WHERE"
        " fingerprint = ?1 OR fingerprint IN (SELECT fingerprint FROM merged WHERE"
        " target = ?1) OR fingerprint IN (SELECT fingerprint FROM keys WHERE target ="
        " ?1 OR target IN (SELECT fingerprint FROM merged WHERE target = ?1))"),
    [STORE_READ_DAYS] =
        BOTH("SELECT day, count FROM group_days WHERE group_number = ?1 AND day > ?2"),
    [STORE_ALERT_ADD] =
        BOTH("INSERT INTO alerts(id, once, kind, group_id, report, title, detail, body,"
             " time) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) ON CONFLICT(once) DO"
             " NOTHING"),
    // Unless there was such an alert since ?10.
    [STORE_ALERT_ADD_UNLESS] = BOTH(
        "INSERT INTO alerts(id, once, kind, group_id, report, title, detail, body,"
        " time) SELECT CAST(?1 AS text), CAST(?2 AS text), CAST(?3 AS text), CAST(?4"
        " AS text), CAST(?5 AS bigint), CAST(?6 AS text), CAST(?7 AS text), CAST(?8"
        " AS text), CAST(?9 AS bigint) WHERE NOT EXISTS(SELECT 1 FROM alerts WHERE"
        " group_id = ?4 AND kind = ?3 AND detail = ?7 AND time > ?10) ON"
        " CONFLICT(once) DO NOTHING"),
    // Reports that are about to be named may turn out to be of a group that is known.
    [STORE_ALERT_READY] = BOTH(
        "SELECT number, kind, group_id, report, detail, time,"
        " coalesce((SELECT project FROM groups g WHERE"
        " g.fingerprint = alerts.group_id), '') FROM alerts WHERE "
        "spread = 0 AND (time < ?1 OR NOT"
        " EXISTS(SELECT 1 FROM jobs WHERE jobs.report ="
        " alerts.report AND jobs.until < " STORE_NEVER ")) ORDER BY number LIMIT ?2"),
    [STORE_ALERT_CURRENT] = BOTH(
        "SELECT g.fingerprint, g.title, g.first_seen, r.time, g.project FROM reports"
        " r JOIN groups g ON g.number = r.group_number WHERE r.number = ?1"),
    [STORE_ALERT_SPREAD] = { "UPDATE alerts SET spread = ?2, group_id = ?3, title = "
                             "CASE"
                             " WHEN ?4 = '' THEN title ELSE ?4 END WHERE number = ?1",
                             NULL },
    [STORE_ALERT_SEND_ADD] = BOTH(
        "INSERT INTO alert_sends(receiver, alert, due, tries, error) VALUES(?1, ?2,"
        " 0, 0, '') ON CONFLICT(receiver, alert) DO NOTHING"),
    [STORE_ALERT_CLAIM] = BOTH(
        "UPDATE alert_sends SET due = ?2, tries = tries + 1 WHERE receiver = ?1 AND"
        " due <= ?3 AND alert = (SELECT min(alert) FROM alert_sends WHERE receiver ="
        " ?1 AND due <= ?3) RETURNING alert, tries"),
    [STORE_ALERT_DONE] = { "DELETE FROM alert_sends WHERE receiver = ?1 AND alert = ?2",
                           NULL },
    [STORE_ALERT_LATER] = { "UPDATE alert_sends SET due = ?3, error = ?4 WHERE receiver"
                            " = ?1 AND alert = ?2",
                            NULL },
    [STORE_ALERT_REST] = { "UPDATE alert_sends SET due = ?2 WHERE receiver = ?1 AND due"
                           " < ?2",
                           NULL },
    [STORE_ALERT_FORGET] = { "DELETE FROM alerts WHERE time < ?1 AND NOT EXISTS(SELECT"
                             " 1 FROM alert_sends s WHERE s.alert = alerts.number)",
                             NULL },
    [STORE_ALERT_FORGET_SENDS] = { "DELETE FROM alert_sends WHERE alert IN (SELECT"
                                   " number FROM alerts WHERE time < ?1)",
                                   NULL },

    // The values of a group that no report has any more are deleted once a day.
    [STORE_TRIM_STALE] = WITH_LIST(
        "SELECT number, oldest FROM (SELECT g.number AS number, g.swept AS swept,"
        " (SELECT min(time) FROM reports r WHERE r.group_number = g.number) AS oldest"
        " FROM groups g WHERE g.number ",
        ") s WHERE oldest - swept >= 86400000"),
    [STORE_TRIM_FACETS] = { "DELETE FROM facets WHERE group_number = ?1"
                            " AND last_seen < ?2",
                            NULL },
    [STORE_TRIM_SWEPT] = { "UPDATE groups SET swept = ?2 WHERE number = ?1", NULL },
};

_Static_assert((int)STORE_STATEMENT_COUNT <= (int)SQL_STATEMENTS,
               "drivers have room for each");
