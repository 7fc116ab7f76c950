// SPDX-License-Identifier: Apache-2.0
//
// `crashhook releases commits`: sends a collector the commits between two releases,
// with the files that each of them changed, and CODEOWNERS. It runs where the
// repository is, in a pipeline: the collector needs none.
//
// How it works: git log writes the commits, each after a RECORD byte, its members with
// FIELD bytes between them, and then a line for each file.
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/text.h"
#include "cli/session/collector_client.h"
#include "cli/session/command.h"
#include "cli/session/session.h"

#define RECORD "\x1e"
#define FIELD "\x1f"
#define LOG_FORMAT "--format=%x1e%H%x1f%an%x1f%ct%x1f%s"

enum { LOG_BYTES_MAX = 64 << 20, FIELDS = 4 };

// read_git appends what git writes; it reports a failure itself, as git does.
static bool read_git(const char *const arguments[], struct text *out)
{
    int ends[2];
    char bytes[16384];
    ssize_t count;
    int result = -1;
    if (pipe(ends) != 0)
        return false;
    pid_t child = fork();
    if (child == 0) {
        (void)dup2(ends[1], STDOUT_FILENO);
        (void)close(ends[0]);
        (void)close(ends[1]);
        (void)execvp("git", (char *const *)(uintptr_t)arguments);
        (void)fprintf(stderr, "crashhook: cannot start git\n");
        _exit(COMMAND_FAILED);
    }
    (void)close(ends[1]);
    while (child > 0 && (count = read(ends[0], bytes, sizeof(bytes))) > 0)
        text_append(out, bytes, (size_t)count);
    (void)close(ends[0]);
    return child > 0 && waitpid(child, &result, 0) == child && result == 0 &&
           text_ok(out);
}

// cut_part ends the part of *text before a byte of ends, and moves *text behind it.
static char *cut_part(char **text, const char *ends)
{
    char *part = *text;
    size_t length = strcspn(part, ends);
    *text = part + length + (part[length] != 0);
    part[length] = 0;
    return part;
}

// commit_json makes a commit of its record, whose bytes it changes.
static json_t *commit_json(char *record)
{
    char *fields[FIELDS];
    json_t *files = json_array();
    char *line = cut_part(&record, "\n");
    for (size_t i = 0; i < FIELDS; i++)
        fields[i] = cut_part(&line, FIELD);
    while (*record != 0) {
        const char *file = cut_part(&record, "\n");
        if (file[0] != 0)
            json_array_append_new(files, json_string(file));
    }
    return json_pack("{s:s, s:s, s:I, s:s, s:o}", "hash", fields[0], "author",
                     fields[1], "time", (json_int_t)strtoll(fields[2], NULL, 10),
                     "subject", fields[3], "files", files);
}

static json_t *commits_json(char *log)
{
    json_t *commits = json_array();
    (void)cut_part(&log, RECORD);
    while (*log != 0) {
        json_t *commit = commit_json(cut_part(&log, RECORD));
        if (commit != NULL) // not UTF-8
            json_array_append_new(commits, commit);
    }
    return commits;
}

// add_owners adds the file CODEOWNERS of the repository's top folder, where there is
// one.
static bool add_owners(const char *repository, const char *revision, json_t *body)
{
    static const char *const places[] = { ".github/CODEOWNERS", ".gitlab/CODEOWNERS",
                                          "CODEOWNERS", "docs/CODEOWNERS" };
    struct text CH_CLEANUP(text_deinit) found = { .limit_bytes = LOG_BYTES_MAX };
    const char *const list[] = { "git",         "-C",          repository, "ls-tree",
                                 "--name-only", "--full-tree", revision,   "--",
                                 places[0],     places[1],     places[2],  places[3],
                                 NULL };
    if (!read_git(list, &found))
        return false;
    char *names = found.bytes;
    if (found.size == 0)
        return true;
    const char *name = cut_part(&names, "\n");
    struct text CH_CLEANUP(text_deinit) object = { 0 };
    struct text CH_CLEANUP(text_deinit) owners = { .limit_bytes = LOG_BYTES_MAX };
    text_appendf(&object, "%s:%s", revision, name);
    const char *const show[] = { "git", "-C", repository, "show", object.bytes, NULL };
    return text_ok(&object) && read_git(show, &owners) &&
           (owners.size == 0 ||
            json_object_set_new(body, "owners", json_string(owners.bytes)) == 0);
}

static int send_commits(const struct options *options, const json_t *body)
{
    struct session CH_CLEANUP(session_deinit) session = { .spool.folder_fd = -1 };
    struct text CH_CLEANUP(text_deinit) base = { 0 };
    struct text CH_CLEANUP(text_deinit) answer = { 0 };
    session_init(&session, options);
    if (collector_base(&session, options_value(options, "url"), &base) != CH_OK ||
        collector_post(&session, base.bytes, "/api/v1/commits", body, &answer) != CH_OK)
        return COMMAND_FAILED;
    if (options_given(options, "json"))
        (void)fwrite(answer.bytes, 1, answer.size, stdout);
    else
        (void)printf("sent %zu commits of %s\n",
                     json_array_size(json_object_get(body, "commits")),
                     json_string_value(json_object_get(body, "release")));
    return COMMAND_DONE;
}

static int run_releases_commits(const struct options *options)
{
    const char *range = options->arguments[1];
    const char *dots = strstr(range, "..");
    const char *repository = options_value(options, "repo");
    const char *release = options_value(options, "release");
    if (dots == NULL || dots == range || dots[2] == 0 || dots[2] == '.' ||
        range[0] == '-' || dots[2] == '-')
        return command_misused("releases commits: '%s' is no range of revisions such as"
                               " v1.2..v1.3",
                               range);
    if (repository == NULL)
        repository = ".";
    struct text CH_CLEANUP(text_deinit) log = { .limit_bytes = LOG_BYTES_MAX };
    const char *const arguments[] = {
        "git", "-C",          repository,    "-c",       "core.quotePath=off",
        "log", "--no-merges", "--name-only", LOG_FORMAT, range,
        "--",  NULL
    };
    if (!read_git(arguments, &log))
        return command_fail("releases commits: git cannot list %s", range);
    text_append_string(&log, "");
    json_auto_t *body =
        json_pack("{s:s, s:s, s:o}", "program", options->arguments[0], "release",
                  release != NULL ? release : dots + 2, "commits",
                  log.size != 0 ? commits_json(log.bytes) : json_array());
    if (body == NULL || !add_owners(repository, dots + 2, body))
        return command_fail("releases commits: cannot read CODEOWNERS of %s", dots + 2);
    return send_commits(options, body);
}

static const struct option releases_commits_options[] = {
    { "url", "URL", "the collector (the first one in CRASHHOOK_URL)", 0 },
    { "token-file", "FILE", "file with the collector's token", 0 },
    { "json", NULL, "print the collector's answer", 0 },
    { "repo", "DIR", "the repository (the folder that it is started in)", 0 },
    { "release", "NAME", "the release (the second revision of the range)", 0 },
    { 0 },
};

const struct command releases_commits_command = {
    .name = "releases commits",
    .arguments = "PROGRAM FROM..TO",
    .summary = "Send a collector the commits between two releases, and CODEOWNERS",
    .options = releases_commits_options,
    .run = run_releases_commits,
    .arguments_min = 2,
    .arguments_max = 2,
};
