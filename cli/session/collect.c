// SPDX-License-Identifier: Apache-2.0
//
// How it works: collect_take goes through the folders that others may have written to:
// the drop folder (as root), and the folders in /tmp of this user or, as root, of every
// user.
//
// For each folder (collect_folder): find_entries lists reports and records, with a
// limit for each owner; spool_book_open takes the lock of `collected`, so that one
// process collects; then for each entry (collect_one):
//   collect_open (regular file, one link, lock) -> owner_allows (limits of the hour) ->
//   collect_file -> collect_read in a child -> collect_store into our spool ->
//   collect_forget, which deletes the files
//
// Trust: the child (collect_in_child) is the only code that reads a stranger's bytes.
// It is not root, is confined, and returns a report that it parsed and wrote anew, and
// its state; the parent checks the sizes (take_apart). The owner is that of the file,
// whatever the report says (note_owner).
//
// Invariants: a file is deleted only after its report is in our spool, or is of no use
// to anybody. An existing report of the same id is never replaced. Files whose lock
// another process holds are left for the next time.
#include "cli/session/collect.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/system/confine.h"
#include "base/system/file.h"
#include "base/text.h"
#include "cli/session/command.h"
#include "cli/session/crash_records.h"
#include "cli/session/session.h"
#include "report/file/report_id.h"
#include "report/secrets/sanitize.h"
#include "report/spool/spool.h"
#include "report/spool/spool_state.h"
#include "report/value/report.h"
#include "symbolizer/search/guarded_child.h"

// Reads one file that a stranger left, a report or a record, in a child process: as an
// unprivileged user if we are root, without network or other programs, limited in time,
// memory and size. The result was parsed, has names where files provided any, and was
// written by us.

struct collect_file {
    const struct session *session;
    const char *from; // the folder, for the report's problems
    int fd;
    int state_fd; // of the report's state file; -1: none
    bool record;
    bool ours_only;          // take it only if it was meant for the session's spool
    uint32_t owner;          // according to the file system
    char id[REPORT_ID_SIZE]; // id that the report must have, or that a record's report
                             // will get
};

enum { READ_TIME_MS = 30000 };

// collect_sizes is the head of what the child returns; the report and the state follow.
struct collect_sizes {
    uint64_t report;
    uint64_t state;
};

// note_owner corrects whose process it was: only the owner of the file is trustworthy.
static void note_owner(json_t *report, const struct collect_file *file)
{
    json_t *process = json_object_get(report, "process");
    report_rights_set(
        report, &(const struct rights){ .user = file->owner, .group = RIGHTS_NOBODY });
    int64_t said = report_integer(process, "uid", -1);
    if (said == (int64_t)file->owner || !json_is_object(process))
        return;
    (void)json_object_set_new(process, "uid", json_integer(file->owner));
    json_t *problems = json_object_get(report, "problems");
    json_t *problem = json_pack("{s:s, s:o}", "stage", "collect", "status",
                                json_sprintf("the report names user %lld; its file in "
                                             "'%s' is of user %u",
                                             (long long)said, file->from, file->owner));
    if (said >= 0 && json_is_array(problems))
        (void)json_array_append(problems, problem);
    json_decref(problem);
}

// add_names completes a raw report in the child, so that root does not open the files
// that it names.
static void add_names(json_t *report, const struct collect_file *file)
{
    if (report_integer(report, "revision", 0) != 0)
        return;
    attachments_fill(report, &file->session->settings);
    session_symbolize(file->session, report);
    (void)json_object_set_new(report, "revision", json_integer(1));
}

// is_meant is true if the report says that it was to be written to the session's spool.
static bool is_meant(const json_t *report, const struct collect_file *file)
{
    struct text CH_CLEANUP(text_deinit) quoted = { 0 };
    bool masks = file->session->settings.sanitize != SETTING_NO;
    const json_t *problems = json_object_get(report, "problems");
    text_append_string(&quoted, "'");
    sanitize_path(file->session->spool_path, masks ? getenv("HOME") : NULL, &quoted);
    text_append_string(&quoted, "'");
    for (size_t i = 0; text_ok(&quoted) && i < json_array_size(problems); i++) {
        const json_t *problem = json_array_get(problems, i);
        const char *stage = report_string(problem, "stage");
        const char *status = report_string(problem, "status");
        if (stage != NULL && strcmp(stage, "spool") == 0 && status != NULL &&
            strstr(status, quoted.bytes) != NULL)
            return true;
    }
    return false;
}

static enum ch_status read_report(const struct collect_file *file, struct text *out)
{
    struct report_error error;
    json_auto_t *report = NULL;
    enum ch_status status = report_read(file->fd, &report, &error);
    if (status != CH_OK)
        return status;
    const char *id = report_string(report, "id");
    if (id == NULL || strcmp(id, file->id) != 0)
        return CH_ERR_MALFORMED;
    if (file->ours_only && !is_meant(report, file))
        return CH_ERR_NOT_FOUND;
    note_owner(report, file);
    add_names(report, file);
    return report_print_kept(report, out);
}

static enum ch_status read_record(const struct collect_file *file, struct text *out)
{
    struct report_error error;
    json_auto_t *report = NULL;
    struct text CH_CLEANUP(text_deinit) made = { 0 };
    enum ch_status status =
        crash_record_make(file->session, file->fd, file->id, file->ours_only, &made);
    if (status == CH_OK)
        status = report_parse(made.bytes, made.size, &report, &error);
    if (status != CH_OK)
        return status;
    note_owner(report, file);
    (void)json_object_set_new(report, "revision", json_integer(1));
    return report_print_kept(report, out);
}

static enum ch_status read_spool_state(int fd, struct text *out)
{
    struct spool_state CH_CLEANUP(spool_state_deinit) state = { 0 };
    if (fd < 0 || spool_state_read_fd(fd, &state) != CH_OK)
        return CH_OK; // the same as none
    return spool_state_print(&state, out);
}

// collect_in_child is the only code that reads a stranger's bytes.
static enum ch_status collect_in_child(void *context, int to_parent)
{
    const struct collect_file *file = context;
    struct text CH_CLEANUP(text_deinit) report = { 0 };
    struct text CH_CLEANUP(text_deinit) state = { 0 };
    if (geteuid() == 0 && !confine_become_nobody())
        return CH_ERR_IO;
    confine_reader();
    enum ch_status status =
        file->record ? read_record(file, &report) : read_report(file, &report);
    if (status == CH_OK)
        status = read_spool_state(file->state_fd, &state);
    if (status != CH_OK)
        return status;
    const struct collect_sizes sizes = { report.size, state.size };
    return file_write_all(to_parent, &sizes, sizeof(sizes)) &&
                   file_write_all(to_parent, report.bytes, report.size) &&
                   file_write_all(to_parent, state.bytes, state.size)
               ? CH_OK
               : CH_ERR_IO;
}

// take_apart splits the child's answer, and trusts none of the sizes in it.
static enum ch_status take_apart(const struct text *answer, struct text *out_report,
                                 struct text *out_state)
{
    struct collect_sizes sizes;
    if (answer->size < sizeof(sizes))
        return CH_ERR_TRUNCATED;
    memcpy(&sizes, answer->bytes, sizeof(sizes));
    size_t left = answer->size - sizeof(sizes);
    if (sizes.report == 0 || sizes.report > left || sizes.state != left - sizes.report)
        return CH_ERR_MALFORMED;
    const char *bytes = answer->bytes + sizeof(sizes);
    text_append(out_report, bytes, sizes.report);
    text_append(out_state, bytes + sizes.report, sizes.state);
    return text_ok(out_report) && text_ok(out_state) ? CH_OK : CH_ERR_NO_MEMORY;
}

static const char *collect_why(enum ch_status status, bool record)
{
    switch (status) {
    case CH_ERR_FAULT:
        return "reading it crashed";
    case CH_ERR_LIMIT:
        return "it is too large, or reading it takes too long";
    case CH_ERR_NO_MEMORY:
        return "it needs too much memory";
    default:
        return record ? "it is no record" : "it is no report of that name";
    }
}

// collect_read appends the report and the text of its state file, if it has one. On
// failure why says in a few words what went wrong; NULL: it was meant for another
// spool.
CH_CHECKED static enum ch_status collect_read(const struct collect_file *file,
                                              struct text *out_report,
                                              struct text *out_state,
                                              const char **out_why)
{
    enum { ANSWER_MAX = REPORT_MAX_BYTES + (2 << 20) };
    struct text CH_CLEANUP(text_deinit) answer = { .limit_bytes = ANSWER_MAX };
    enum ch_status status =
        guarded_child_run(collect_in_child, (void *)(uintptr_t)file,
                          guarded_child_now_ms() + READ_TIME_MS, &answer);
    if (status == CH_OK)
        status = take_apart(&answer, out_report, out_state);
    if (status != CH_OK && status != CH_ERR_NOT_FOUND)
        *out_why = collect_why(status, file->record);
    return status;
}

enum {
    NAME_SIZE = 64,
    FOUND_MAX = 4096,     // files that one pass handles
    OWNER_FILES_MAX = 64, // of one user within OWNER_TIME_S
    OWNER_BYTES_MAX = 64 << 20,
    OWNER_TIME_S = 3600,
};

// collect is a folder that is collected from.
struct collect {
    const struct session *session;
    const struct spool *into;
    struct spool_book *book; // what was taken of each user
    char from[PATH_MAX];
    int folder_fd;
    int64_t owner; // whose files are taken there; -1: everybody's
    uint64_t since_ms;
    bool ours_only;
    size_t passed_over; // entries that are not acceptable files
    size_t over_cap;    // files beyond an owner's limits
    size_t busy;        // files that another process works on
};

struct collect_entry {
    char name[NAME_SIZE];
    bool record;
};

// is_ours_by_name is true for the name of a report or a record.
static bool is_ours_by_name(const char *name, struct collect_entry *out)
{
    char id[REPORT_ID_SIZE] = "";
    size_t length = strlen(name);
    if (length >= sizeof(out->name))
        return false;
    out->record = spool_is_record(name);
    memcpy(out->name, name, length + 1);
    if (out->record)
        return true;
    if (length != sizeof(id) - 1 + strlen(".json") ||
        strcmp(name + sizeof(id) - 1, ".json") != 0)
        return false;
    memcpy(id, name, sizeof(id) - 1);
    return report_id_ok(id);
}

// entry_time is the time of its crash, in milliseconds since 1970, according to its
// name.
static uint64_t entry_time(const struct collect_entry *entry)
{
    char id[REPORT_ID_SIZE] = "";
    if (entry->record)
        return strtoull(entry->name + strlen("crash-"), NULL, 16) / 1000000;
    memcpy(id, entry->name, sizeof(id) - 1);
    return report_id_time_ms(id);
}

// is_plain_file accepts a file that only its owner can have put there. It must have no
// other name: through a link that another user made, its owner would count as the
// author.
static bool is_plain_file(const struct collect *collect, const struct stat *file)
{
    return S_ISREG(file->st_mode) && file->st_nlink == 1 &&
           file->st_size <= REPORT_MAX_BYTES &&
           (collect->owner < 0 || file->st_uid == (uid_t)collect->owner);
}

// collect_open opens the entry and locks it. false: it is not to be taken now.
static bool collect_open(const struct collect *collect, const char *name, int *out_fd,
                         struct stat *out_file)
{
    struct stat named;
    int fd = openat(collect->folder_fd, name,
                    O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    // A report that is rewritten meanwhile is a new file, and its writer holds the
    // lock.
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0 && fstat(fd, out_file) == 0 &&
        is_plain_file(collect, out_file) &&
        fstatat(collect->folder_fd, name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
        named.st_ino == out_file->st_ino && named.st_dev == out_file->st_dev) {
        *out_fd = fd;
        return true;
    }
    file_close(&fd);
    return false;
}

// is_busy is true if another process holds the file's lock.
static bool is_busy(const struct collect *collect, const char *name)
{
    int CH_CLEANUP(file_close) fd =
        openat(collect->folder_fd, name,
               O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    return fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

// owner_allows returns whether one more file of an owner is within the hour's limits,
// and counts it if it was taken.
static bool owner_allows(const struct collect *collect, const struct stat *file,
                         bool is_taken)
{
    char owner[16];
    int64_t now = time(NULL);
    (void)snprintf(owner, sizeof(owner), "%u", file->st_uid);
    json_t *row = json_object_get(collect->book->content, owner);
    int64_t since = report_integer(row, "since", 0);
    bool same = since <= now && now - since < OWNER_TIME_S;
    json_int_t files = same ? report_integer(row, "files", 0) : 0;
    json_int_t bytes = same ? report_integer(row, "bytes", 0) : 0;
    if (files >= OWNER_FILES_MAX || bytes + file->st_size > OWNER_BYTES_MAX)
        return false;
    if (!is_taken)
        return true;
    row = json_pack("{s:I, s:I, s:I}", "since", (json_int_t)(same ? since : now),
                    "files", files + 1, "bytes", bytes + file->st_size);
    return json_object_set_new(collect->book->content, owner, row) == 0;
}

// collect_store writes what the child returned to the spool; an existing report stays.
static enum ch_status collect_store(const struct collect *collect, const char *id,
                                    const struct text *report, const struct text *state)
{
    char name[NAME_SIZE];
    int fd = -1;
    enum ch_status status = spool_read(collect->into, id, &fd);
    file_close(&fd);
    if (status != CH_ERR_NOT_FOUND) {
        errno = EEXIST;
        return CH_ERR_IO;
    }
    fd = -1;
    (void)snprintf(name, sizeof(name), "%s.state", id);
    status = CH_OK;
    if (state->size != 0)
        status = spool_write_file(collect->into, name, state->bytes, state->size);
    if (status == CH_OK)
        status = spool_replace(collect->into, id, report->bytes, report->size, &fd);
    file_close(&fd);
    return status;
}

// collect_forget deletes the files that were taken. Even if other files have these
// names by now, only entries of this folder are removed.
static void collect_forget(const struct collect *collect, const char *name,
                           const char *state_name)
{
    (void)unlinkat(collect->folder_fd, name, 0);
    if (state_name[0] != 0)
        (void)unlinkat(collect->folder_fd, state_name, 0);
}

// collect_file reads and stores one file. False: the file stays, because it could not
// be stored or was meant for another spool.
static bool collect_file(const struct collect *collect, const char *name,
                         const struct collect_file *file)
{
    struct text CH_CLEANUP(text_deinit) report = { 0 };
    struct text CH_CLEANUP(text_deinit) state = { 0 };
    const char *why = NULL;
    enum ch_status status = collect_read(file, &report, &state, &why);
    if (status == CH_ERR_NOT_FOUND)
        return false;
    if (status == CH_OK) {
        status = collect_store(collect, file->id, &report, &state);
        if (status != CH_OK && errno != EEXIST) {
            (void)command_fail("cannot move '%s/%s' to spool '%s': %s", collect->from,
                               name, collect->session->spool_path, spool_why(status));
            return false;
        }
        why = status != CH_OK ? "there is a report of that id already" : NULL;
    }
    // Its owner cannot use the file either.
    if (why != NULL)
        (void)command_fail("deleted '%s/%s' of user %u: %s", collect->from, name,
                           file->owner, why);
    return true;
}

static void collect_one(struct collect *collect, const struct collect_entry *entry)
{
    int CH_CLEANUP(file_close) fd = -1;
    int CH_CLEANUP(file_close) state_fd = -1;
    char state_name[NAME_SIZE] = "";
    struct stat file;
    struct stat state_file;
    if (!collect_open(collect, entry->name, &fd, &file)) {
        collect->busy += is_busy(collect, entry->name);
        return;
    }
    if (!owner_allows(collect, &file, false)) {
        collect->over_cap++;
        return;
    }
    struct collect_file taken = { .session = collect->session,
                                  .from = collect->from,
                                  .fd = fd,
                                  .state_fd = -1,
                                  .record = entry->record,
                                  .ours_only = collect->ours_only,
                                  .owner = file.st_uid };
    if (entry->record) {
        report_id_make(entry_time(entry), taken.id);
    } else {
        memcpy(taken.id, entry->name, sizeof(taken.id) - 1);
        (void)snprintf(state_name, sizeof(state_name), "%s.state", taken.id);
        if (collect_open(collect, state_name, &state_fd, &state_file) &&
            state_file.st_uid == file.st_uid)
            taken.state_fd = state_fd;
    }
    if (collect_file(collect, entry->name, &taken)) {
        (void)owner_allows(collect, &file, true);
        collect_forget(collect, entry->name, state_name);
    }
}

// collect_found lists what one pass handles, so that no user's files crowd out
// another's.
struct collect_found {
    struct collect_entry entries[FOUND_MAX];
    size_t count;
    struct {
        uid_t owner;
        size_t files;
    } owners[FOUND_MAX];
    size_t owner_count;
};

// found_has_room counts a file of an owner; false: the list or the owner's part is
// full.
static bool found_has_room(struct collect_found *found, uid_t owner)
{
    size_t i = 0;
    while (i < found->owner_count && found->owners[i].owner != owner)
        i++;
    if (found->count == FOUND_MAX ||
        (i < found->owner_count && found->owners[i].files == OWNER_FILES_MAX))
        return false;
    if (i == found->owner_count) {
        found->owners[i].owner = owner;
        found->owners[i].files = 0;
        found->owner_count++;
    }
    found->owners[i].files++;
    return true;
}

static void find_entries(struct collect *collect, struct collect_found *found)
{
    int fd = openat(collect->folder_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *directory = fd >= 0 ? fdopendir(fd) : NULL;
    if (directory == NULL) {
        file_close(&fd);
        return;
    }
    for (const struct dirent *next = readdir(directory); next != NULL;
         next = readdir(directory)) {
        struct collect_entry *entry = &found->entries[found->count];
        struct stat file;
        if (found->count == FOUND_MAX)
            break;
        if (!is_ours_by_name(next->d_name, entry) ||
            entry_time(entry) < collect->since_ms ||
            fstatat(collect->folder_fd, next->d_name, &file, AT_SYMLINK_NOFOLLOW) != 0)
            continue;
        if (!is_plain_file(collect, &file))
            collect->passed_over++;
        else if (found_has_room(found, file.st_uid))
            found->count++;
        else
            collect->over_cap++;
    }
    (void)closedir(directory);
}

// collect_folder takes the files of one folder, which is open.
static void collect_folder(struct collect *collect)
{
    struct collect_found *found = calloc(1, sizeof(*found));
    if (found == NULL)
        return;
    find_entries(collect, found);
    // The lock of the book makes this process the only one that collects.
    if (found->count != 0 &&
        (collect->book->content != NULL ||
         spool_book_open(collect->into, "collected", collect->book) == CH_OK)) {
        for (size_t i = 0; i < found->count; i++)
            collect_one(collect, &found->entries[i]);
    }
    free(found);
    if (collect->passed_over != 0)
        (void)command_fail("passed over %zu in '%s' that are no plain files of their "
                           "owner alone, or too large",
                           collect->passed_over, collect->from);
    if (collect->over_cap != 0)
        (void)command_fail("left %zu in '%s': of one user %d files and %d MiB are "
                           "taken within an hour",
                           collect->over_cap, collect->from, OWNER_FILES_MAX,
                           OWNER_BYTES_MAX >> 20);
}

static void collect_drop(struct collect *collect)
{
    struct spool spool = { .folder_fd = -1 };
    (void)snprintf(collect->from, sizeof(collect->from), "%s", SETTINGS_DROP_FOLDER);
    if (spool_place_open(SPOOL_PLACE_DROP, collect->from, &spool) != CH_OK)
        return;
    collect->folder_fd = spool.folder_fd;
    collect->owner = -1;
    collect_folder(collect);
    spool_close(&spool);
}

// collect_own takes what the user with that number left in /tmp. The folder is used
// only if it belongs to that user and no other user can write to it.
static void collect_own(struct collect *collect, uid_t user)
{
    struct stat folder;
    (void)snprintf(collect->from, sizeof(collect->from), "%s%u", SETTINGS_OWN_FOLDER,
                   user);
    int fd = open(collect->from,
                  O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return;
    // If it is the spool itself, the reports are already in place.
    if (fstat(fd, &folder) == 0 && folder.st_uid == user &&
        (folder.st_mode & (S_IWGRP | S_IWOTH)) == 0 &&
        strcmp(collect->from, collect->session->spool_path) != 0) {
        collect->folder_fd = fd;
        collect->owner = user;
        collect->passed_over = collect->over_cap = 0;
        collect_folder(collect);
    }
    (void)close(fd);
}

// collect_everybodys takes what any user left in /tmp.
static void collect_everybodys(struct collect *collect)
{
    enum { USERS_MAX = 1024 };
    const char *prefix = strrchr(SETTINGS_OWN_FOLDER, '/') + 1;
    size_t users = 0;
    DIR *directory = opendir("/tmp");
    if (directory == NULL)
        return;
    for (const struct dirent *next = readdir(directory);
         next != NULL && users < USERS_MAX; next = readdir(directory)) {
        const char *digits = next->d_name + strlen(prefix);
        if (strncmp(next->d_name, prefix, strlen(prefix)) != 0 || *digits == 0 ||
            strlen(digits) > 10 || strspn(digits, "0123456789") != strlen(digits))
            continue;
        collect_own(collect, (uid_t)strtoul(digits, NULL, 10));
        users++;
    }
    (void)closedir(directory);
}

// collect_folders returns how many files another process works on.
static size_t collect_folders(const struct session *session, uint64_t since_ms,
                              bool ours_only)
{
    struct spool_book CH_CLEANUP(spool_book_close) book = { .lock_fd = -1 };
    struct spool spool = { .folder_fd = -1 };
    struct collect collect = { .session = session,
                               .into = &spool,
                               .book = &book,
                               .since_ms = since_ms,
                               .ours_only = ours_only };
    if (spool_open(session->spool_path, SPOOL_WRITE, &spool) != CH_OK)
        return 0;
    if (!spool.drop && geteuid() == 0) {
        collect_drop(&collect);
        collect_everybodys(&collect);
    } else if (!spool.drop) {
        collect_own(&collect, geteuid());
    }
    if (book.content != NULL)
        (void)!spool_book_write(&book);
    spool_close(&spool);
    return collect.busy;
}

// is_usual is true if the session's spool is the user's default spool.
static bool is_usual(const struct session *session)
{
    char usual[PATH_MAX];
    const struct settings none = { 0 };
    return settings_spool_path(&none, session_getenv, NULL, usual, sizeof(usual)) ==
               CH_OK &&
           strcmp(usual, session->spool_path) == 0;
}

bool collect_waits(const struct session *session)
{
    char pattern[64];
    glob_t found = { 0 };
    if (!is_usual(session))
        return false;
    if (geteuid() == 0 && access(SETTINGS_DROP_FOLDER, F_OK) == 0)
        return true;
    if (geteuid() == 0)
        (void)snprintf(pattern, sizeof(pattern), "%s[0-9]*", SETTINGS_OWN_FOLDER);
    else
        (void)snprintf(pattern, sizeof(pattern), "%s%u", SETTINGS_OWN_FOLDER,
                       geteuid());
    bool any = glob(pattern, GLOB_NOSORT, NULL, &found) == 0;
    globfree(&found);
    return any;
}

void collect_take(const struct session *session)
{
    if (is_usual(session))
        (void)collect_folders(session, 0, false);
}

size_t collect_take_since(const struct session *session, uint64_t since_ms)
{
    return collect_folders(session, since_ms, !is_usual(session));
}
