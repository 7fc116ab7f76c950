// SPDX-License-Identifier: Apache-2.0
#include "collector/query/commits.h"

#include <fnmatch.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "collector/database/timestamp.h"
#include "collector/store/store_internal.h"

static const char *commit_text(const json_t *commit, const char *key)
{
    const char *text = json_string_value(json_object_get(commit, key));
    return text != NULL ? text : "";
}

static void add_commit_file(struct sql *sql, const struct release_commits *commits,
                            const char *hash, const char *path)
{
    const char *slash = strrchr(path, '/');
    const struct sql_value values[] = {
        sql_text(commits->project),
        sql_text(commits->program),
        sql_text(commits->release),
        sql_text(slash != NULL ? slash + 1 : path),
        sql_text(path),
        sql_text(hash),
        sql_number(timestamp_now()),
    };
    sql_queue(sql, STORE_COMMIT_FILE_ADD, values, 7, NULL, NULL);
}

static void add_commit(struct sql *sql, const struct release_commits *commits,
                       const json_t *commit)
{
    const char *hash = commit_text(commit, "hash");
    const struct sql_value values[] = {
        sql_text(commits->project),
        sql_text(commits->program),
        sql_text(commits->release),
        sql_text(hash),
        sql_text(commit_text(commit, "author")),
        sql_text(commit_text(commit, "subject")),
        sql_number(json_integer_value(json_object_get(commit, "time")) * 1000),
        sql_number(timestamp_now()),
    };
    size_t i;
    json_t *file;
    sql_queue(sql, STORE_COMMIT_ADD, values, 8, NULL, NULL);
    json_array_foreach(json_object_get(commit, "files"), i, file)
        add_commit_file(sql, commits, hash, json_string_value(file));
}

static enum ch_status keep_commits(struct sql *sql, void *context)
{
    const struct release_commits *commits = context;
    const struct sql_value of[] = {
        sql_text(commits->project),
        sql_text(commits->program),
        sql_text(commits->release),
        sql_number(timestamp_now() - COMMITS_KEPT_DAYS * (int64_t)TIMESTAMP_DAY_MS),
    };
    sql_queue(sql, STORE_COMMITS_FORGET, of, 4, NULL, NULL);
    sql_queue(sql, STORE_COMMIT_FILES_FORGET, of, 4, NULL, NULL);
    size_t i;
    json_t *commit;
    json_array_foreach(commits->commits, i, commit) add_commit(sql, commits, commit);
    if (commits->owners != NULL) {
        const struct sql_value owners[] = { of[0], of[1], sql_text(commits->owners) };
        sql_queue(sql, STORE_OWNERS_SET, owners, 3, NULL, NULL);
    }
    return sql_flush(sql);
}

enum ch_status commits_keep(struct store *store, const struct release_commits *commits,
                            char error[STORE_ERROR_SIZE])
{
    struct store_job job = { .what = "keep the commits of a release",
                             .work = keep_commits,
                             .context = (void *)(uintptr_t)commits };
    return store_transact(store, &job, error);
}

struct commit_listing {
    commit_fn *visit;
    void *context;
};

static void list_commit(void *context, const struct sql_row *row)
{
    const struct commit_listing *listing = context;
    const struct commit commit = { .hash = sql_column_text(row, "hash"),
                                   .author = sql_column_text(row, "author"),
                                   .subject = sql_column_text(row, "subject"),
                                   .path = sql_column_text(row, "path"),
                                   .time_ms = sql_column_number(row, "time") };
    listing->visit(listing->context, &commit);
}

enum ch_status commits_of_file(struct store *store, const struct release_commits *of,
                               const char *name, size_t most, commit_fn *visit,
                               void *context)
{
    struct commit_listing listing = { visit, context };
    const struct sql_value values[] = { sql_text(of->project), sql_text(of->program),
                                        sql_text(of->release), sql_text(name),
                                        sql_number((int64_t)most) };
    return store_ask(store, STORE_COMMITS_OF_FILE, values, 5, list_commit, &listing);
}

static void take_owners(void *context, const struct sql_row *row)
{
    text_append_string(context, sql_column_text(row, "list"));
}

enum ch_status commits_owners(struct store *store, const char *project,
                              const char *program, struct text *out)
{
    const struct sql_value values[] = { sql_text(project), sql_text(program) };
    return store_ask(store, STORE_OWNERS, values, 2, take_owners, out);
}

// The time grows by the square of a path's folders, and reports have any paths.
enum { PATTERN_SIZE = 512, PATH_SIZE = 1024, FOLDERS_MAX = 32 };

// is_too_deep returns true for a path that no file of a repository has.
static bool is_too_deep(const char *path)
{
    size_t folders = 0;
    for (const char *at = path; (at = strchr(at, '/')) != NULL; at++)
        folders++;
    return folders > FOLDERS_MAX || strlen(path) >= PATH_SIZE;
}

// matches_part is true if a pattern matches the path, or a folder that it is in: whole,
// the path alone.
static bool matches_part(const char *pattern, const char *path, bool whole)
{
    char part[PATH_SIZE];
    int flags = strstr(pattern, "**") != NULL ? 0 : FNM_PATHNAME;
    size_t length = strcspn(path, "/");
    while (!whole && path[length] != 0 && length < sizeof(part)) {
        (void)snprintf(part, sizeof(part), "%.*s", (int)length, path);
        if (fnmatch(pattern, part, flags) == 0)
            return true;
        length += 1 + strcspn(path + length + 1, "/");
    }
    return fnmatch(pattern, path, flags) == 0;
}

static bool owns(const char *pattern, const char *path)
{
    char name[PATTERN_SIZE];
    (void)snprintf(name, sizeof(name), "%s", pattern[0] == '/' ? pattern + 1 : pattern);
    size_t length = strlen(name);
    bool folder = length > 1 && name[length - 1] == '/';
    if (folder)
        name[length - 1] = 0;
    // `docs/*` is for the files of a folder, and not for those of folders in it.
    bool whole = length > 2 && strcmp(&name[length - 2], "/*") == 0;
    for (const char *from = path; from != NULL; from = strchr(from, '/')) {
        from += *from == '/';
        if (matches_part(name, from, whole) && !(folder && strchr(from, '/') == NULL))
            return true;
    }
    return false;
}

void code_owners_find(const char *owners, const char *path, struct text *out)
{
    for (const char *line = is_too_deep(path) ? "" : owners; *line != 0;) {
        char pattern[PATTERN_SIZE];
        size_t length = strcspn(line, "\r\n");
        size_t end = strcspn(line, "#\r\n");
        size_t size = strcspn(line, " \t#\r\n");
        const char *names = line + size;
        (void)snprintf(pattern, sizeof(pattern), "%.*s", (int)size, line);
        bool counts =
            size != 0 && size < sizeof(pattern) && strchr("[!^", *line) == NULL;
        if (counts && owns(pattern, path)) {
            names += strspn(names, " \t");
            size_t rest =
                end > (size_t)(names - line) ? end - (size_t)(names - line) : 0;
            while (rest != 0 && strchr(" \t", names[rest - 1]) != NULL)
                rest--;
            text_clear(out);
            text_append(out, names, rest);
        }
        line += length + strspn(line + length, "\r\n");
    }
}
