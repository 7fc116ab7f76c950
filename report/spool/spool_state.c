// SPDX-License-Identifier: Apache-2.0
//
// How it works: a state file (ID.state) belongs to one report. Only the process that
// holds the lock of that report writes it, so it has no lock of its own, and it is
// replaced by a rename.
//
// A book (counts.json, waits.json, and collected.json of collect.c) belongs to the
// whole spool. spool_book_open takes its lock, a file of its own that is never
// replaced, and reads the content; spool_book_write or update_book stores it;
// spool_book_close releases the lock. read_book needs no lock, because a book is
// replaced by a rename, or overwritten by one write of one page. Pruning takes the lock
// of a book without content.
//
// Order of locks: a process that holds a report may wait for a book. A process that
// holds a book never waits for a report (spool_lock does not wait), nor for another
// book other than `counts`, to which pruning adds what it deleted.
#include "report/spool/spool_state.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/system/file.h"
#include "base/system/own_user.h"
#include "report/file/report_id.h"
#include "report/json/json_tree.h"
#include "report/value/report.h"

enum { TARGETS_MAX = 64, STATE_MAX_BYTES = 1 << 20, STATE_NAME_SIZE = 48 };

static const char *const state_names[] = {
    [TARGET_PENDING] = "pending",
    [TARGET_SENT] = "sent",
    [TARGET_FAILED] = "failed",
    [TARGET_SKIPPED] = "skipped",
};

enum { STATE_NAMES = sizeof(state_names) / sizeof(state_names[0]) };

const char *spool_state_name(enum spool_target_state state)
{
    return state_names[state];
}

static bool state_by_name(const char *name, enum spool_target_state *out)
{
    for (unsigned i = 0; name != NULL && i < STATE_NAMES; i++) {
        if (strcmp(state_names[i], name) == 0) {
            *out = (enum spool_target_state)i;
            return true;
        }
    }
    return false;
}

struct spool_target *spool_state_target(struct spool_state *state, const char *url)
{
    for (size_t i = 0; i < state->count; i++) {
        if (strcmp(state->targets[i].url, url) == 0)
            return &state->targets[i];
    }
    if (state->count == TARGETS_MAX)
        return NULL;
    char *copy = strdup(url);
    if (copy == NULL || !array_reserve(&state->targets, &state->capacity, state->count,
                                       sizeof(*state->targets))) {
        free(copy);
        return NULL;
    }
    state->targets[state->count] = (struct spool_target){ .url = copy };
    return &state->targets[state->count++];
}

void spool_target_fail(struct spool_target *target, enum spool_target_state state,
                       const char *error)
{
    char *copy = error != NULL ? strdup(error) : NULL;
    free(target->error);
    target->error = copy;
    target->state = state;
}

static enum ch_status read_target_state(const json_t *from, struct spool_state *state)
{
    enum spool_target_state value;
    const char *url = report_string(from, "url");
    int64_t attempts = report_integer(from, "attempts", 0);
    if (url == NULL || !state_by_name(report_string(from, "state"), &value) ||
        attempts < 0 || attempts > UINT32_MAX)
        return CH_ERR_MALFORMED;
    struct spool_target *target = spool_state_target(state, url);
    if (target == NULL)
        return CH_ERR_NO_MEMORY;
    target->attempts = (uint32_t)attempts;
    target->wait.noted = report_integer(from, "last_time", 0);
    target->wait.until = report_integer(from, "next_time", 0);
    spool_target_fail(target, value, report_string(from, "error"));
    return CH_OK;
}

static enum ch_status parse_state(const struct text *bytes, struct spool_state *out)
{
    json_auto_t *root =
        json_loadb(bytes->bytes != NULL ? bytes->bytes : "", bytes->size, 0, NULL);
    const json_t *targets = json_object_get(root, "targets");
    struct spool_state state = { 0 };
    enum ch_status status = json_is_array(targets) ? CH_OK : CH_ERR_MALFORMED;

    for (size_t i = 0; i < json_array_size(targets) && status == CH_OK; i++)
        status = read_target_state(json_array_get(targets, i), &state);
    if (status != CH_OK)
        spool_state_deinit(&state);
    *out = state;
    return status;
}

enum ch_status spool_state_read_fd(int fd, struct spool_state *out)
{
    struct text CH_CLEANUP(text_deinit) bytes = { 0 };
    *out = (struct spool_state){ 0 };
    enum ch_status status = text_read(&bytes, fd, STATE_MAX_BYTES);
    if (status == CH_ERR_LIMIT)
        return CH_ERR_MALFORMED;
    return status == CH_OK ? parse_state(&bytes, out) : status;
}

enum ch_status spool_state_read(const struct spool *spool, const char *id,
                                struct spool_state *out)
{
    char name[STATE_NAME_SIZE];
    int CH_CLEANUP(file_close) fd = -1;
    *out = (struct spool_state){ 0 };
    if (!report_id_ok(id))
        return CH_ERR_NOT_FOUND;
    (void)snprintf(name, sizeof(name), "%s.state", id);
    enum ch_status status = spool_open_file(spool, name, &fd);
    if (status == CH_ERR_NOT_FOUND)
        return CH_OK;
    return status == CH_OK ? spool_state_read_fd(fd, out) : status;
}

void spool_state_deinit(struct spool_state *state)
{
    for (size_t i = 0; i < state->count; i++) {
        free(state->targets[i].url);
        free(state->targets[i].error);
    }
    free(state->targets);
    *state = (struct spool_state){ 0 };
}

static json_t *print_target_state(const struct spool_target *target)
{
    return json_pack("{s:s, s:s, s:I, s:I, s:I, s:s*}", "url", target->url, "state",
                     spool_state_name(target->state), "attempts",
                     (json_int_t)target->attempts, "last_time",
                     (json_int_t)target->wait.noted, "next_time",
                     (json_int_t)target->wait.until, "error", target->error);
}

enum ch_status spool_state_print(const struct spool_state *state, struct text *out)
{
    json_t *targets = json_array();
    json_auto_t *root = json_pack("{s:o}", "targets", targets);
    for (size_t i = 0; i < state->count; i++) {
        if (json_array_append_new(targets, print_target_state(&state->targets[i])) != 0)
            return CH_ERR_NO_MEMORY;
    }
    return json_tree_print(root, out);
}

enum ch_status spool_state_write(const struct spool *spool, const char *id,
                                 const struct spool_state *state)
{
    char name[STATE_NAME_SIZE];
    struct text CH_CLEANUP(text_deinit) bytes = { 0 };
    if (!report_id_ok(id))
        return CH_ERR_NOT_FOUND;
    enum ch_status status = spool_state_print(state, &bytes);
    if (status != CH_OK)
        return status;
    (void)snprintf(name, sizeof(name), "%s.state", id);
    return spool_write_file(spool, name, bytes.bytes, bytes.size);
}

bool spool_state_settled(const struct spool_state *state)
{
    for (size_t i = 0; i < state->count; i++) {
        if (state->targets[i].state != TARGET_SENT &&
            state->targets[i].state != TARGET_SKIPPED)
            return false;
    }
    return state->count != 0;
}

// IN_PLACE_BYTES is what the kernel writes whole even for a process that is killed: a
// page.
enum { BOOK_MAX_BYTES = 1 << 20, BOOK_NAME_SIZE = 48, IN_PLACE_BYTES = 4096 };

// book_file writes the name of one of a book's files. In a drop folder each user has
// its own books.
static void book_file(const struct spool *spool, const char *book, const char *ending,
                      char name[static BOOK_NAME_SIZE])
{
    if (spool->drop)
        (void)snprintf(name, BOOK_NAME_SIZE, "%.20s-%u.%s", book, own_user(), ending);
    else
        (void)snprintf(name, BOOK_NAME_SIZE, "%.30s.%s", book, ending);
}

static int open_lock(const struct spool *spool, const char *name, int access)
{
    struct stat file;
    int fd = openat(spool->folder_fd, name,
                    access | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
    // In a drop folder another user may have created the file first, to keep us
    // waiting.
    if (fd >= 0 && spool->drop &&
        (fstat(fd, &file) != 0 || file.st_uid != own_user())) {
        (void)close(fd);
        errno = EPERM;
        return -1;
    }
    return fd;
}

// lock_book waits for other writers, each of which writes one small file. The lock file
// is opened for reading, because closing a writable descriptor would notify watchers of
// the folder of a change; on a network file system a lock may require write access
// (EBADF, flock(2)).
static enum ch_status lock_book(const struct spool *spool, const char *book,
                                int *out_fd)
{
    char name[BOOK_NAME_SIZE];
    book_file(spool, book, "lock", name);
    int fd = open_lock(spool, name, O_RDONLY);
    int locked = fd >= 0 ? flock(fd, LOCK_EX) : -1;
    if (fd >= 0 && locked != 0 && errno == EBADF) {
        file_close(&fd);
        fd = open_lock(spool, name, O_RDWR);
    }
    while (fd >= 0 && locked != 0) {
        locked = flock(fd, LOCK_EX);
        if (locked == 0 || errno == EINTR)
            continue;
        file_close(&fd);
        return CH_ERR_IO;
    }
    *out_fd = fd;
    return fd >= 0 ? CH_OK : CH_ERR_IO;
}

// read_book reads the book without its lock: the content may be out of date at once. A
// book that is missing or not an object is empty. NULL: out of memory.
static json_t *read_book(const struct spool *spool, const char *name)
{
    struct text CH_CLEANUP(text_deinit) bytes = { 0 };
    int CH_CLEANUP(file_close) fd = -1;
    char file[BOOK_NAME_SIZE];
    json_t *content = NULL;
    book_file(spool, name, "json", file);
    if (spool_open_file(spool, file, &fd) == CH_OK &&
        text_read(&bytes, fd, BOOK_MAX_BYTES) == CH_OK && bytes.size != 0)
        content = json_loadb(bytes.bytes, bytes.size, 0, NULL);
    if (json_is_object(content))
        return content;
    json_decref(content);
    return json_object();
}

enum ch_status spool_book_open(const struct spool *spool, const char *name,
                               struct spool_book *out)
{
    *out = (struct spool_book){ .spool = spool, .name = name, .lock_fd = -1 };
    enum ch_status status = lock_book(spool, name, &out->lock_fd);
    if (status != CH_OK)
        return status;
    out->content = read_book(spool, name);
    return out->content != NULL ? CH_OK : CH_ERR_NO_MEMORY;
}

void spool_book_close(struct spool_book *book)
{
    json_decref(book->content);
    file_close(&book->lock_fd);
    *book = (struct spool_book){ .lock_fd = -1 };
}

enum ch_status spool_book_write(const struct spool_book *book)
{
    struct text CH_CLEANUP(text_deinit) bytes = { 0 };
    char name[BOOK_NAME_SIZE];
    enum ch_status status = json_tree_print(book->content, &bytes);
    if (status != CH_OK)
        return status;
    book_file(book->spool, book->name, "json", name);
    return spool_write_file(book->spool, name, bytes.bytes, bytes.size);
}

// overwrite_book writes the bytes over a book's file. False: it is not one that can
// take them, and is unchanged.
static bool overwrite_book(const struct spool *spool, const char *name,
                           const struct text *bytes)
{
    struct stat file;
    int CH_CLEANUP(file_close) fd =
        openat(spool->folder_fd, name, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    return fd >= 0 && fstat(fd, &file) == 0 && S_ISREG(file.st_mode) &&
           file.st_nlink == 1 && file.st_uid == own_user() &&
           file.st_size == (off_t)bytes->size &&
           pwrite(fd, bytes->bytes, bytes->size, 0) == (ssize_t)bytes->size;
}

// update_book does what spool_book_write does for a book that is written for each
// report, and read under its lock alone: while it is small its file is overwritten, not
// replaced. Creating and removing files costs a file system without a journal more than
// all else in an upload.
static enum ch_status update_book(const struct spool_book *book)
{
    char blanks[IN_PLACE_BYTES];
    struct text CH_CLEANUP(text_deinit) bytes = { 0 };
    char name[BOOK_NAME_SIZE];
    enum ch_status status = json_tree_print(book->content, &bytes);
    if (status != CH_OK)
        return status;
    if (bytes.size < IN_PLACE_BYTES) {
        size_t rest = IN_PLACE_BYTES - bytes.size;
        memset(blanks, '\n', rest);
        text_append(&bytes, blanks, rest);
    }
    if (!text_ok(&bytes))
        return CH_ERR_NO_MEMORY;
    book_file(book->spool, book->name, "json", name);
    if (bytes.size == IN_PLACE_BYTES && overwrite_book(book->spool, name, &bytes))
        return CH_OK;
    return spool_write_file(book->spool, name, bytes.bytes, bytes.size);
}

static const char waits_book[] = "waits";

static struct spool_wait read_wait(const json_t *target, const char *key)
{
    const json_t *pair = json_object_get(target, key);
    return (struct spool_wait){
        .noted = json_integer_value(json_array_get(pair, 0)),
        .until = json_integer_value(json_array_get(pair, 1)),
    };
}

static struct spool_waits read_target_wait(const json_t *target)
{
    return (struct spool_waits){ .reports = read_wait(target, "reports"),
                                 .attachments = read_wait(target, "attachments"),
                                 .tables = read_wait(target, "tables") };
}

static json_t *print_target_wait(const struct spool_waits *waits)
{
    return json_pack("{s:[I,I], s:[I,I], s:[I,I]}", "reports",
                     (json_int_t)waits->reports.noted, (json_int_t)waits->reports.until,
                     "attachments", (json_int_t)waits->attachments.noted,
                     (json_int_t)waits->attachments.until, "tables",
                     (json_int_t)waits->tables.noted, (json_int_t)waits->tables.until);
}

struct spool_waits spool_waits_read(const struct spool *spool, const char *url)
{
    json_t *content = read_book(spool, waits_book);
    const struct spool_waits waits =
        read_target_wait(json_object_get(json_object_get(content, "targets"), url));
    json_decref(content);
    return waits;
}

static void forget_what_is_over(json_t *targets, int64_t now)
{
    const char *url;
    json_t *target;
    void *next;
    json_object_foreach_safe(targets, next, url, target)
    {
        const struct spool_waits waits = read_target_wait(target);
        if (spool_wait_over(&waits.reports, now) &&
            spool_wait_over(&waits.attachments, now) &&
            spool_wait_over(&waits.tables, now))
            (void)json_object_del(targets, url);
    }
}

enum ch_status spool_waits_write(const struct spool *spool, const char *url,
                                 const struct spool_waits *waits, int64_t now)
{
    struct spool_book CH_CLEANUP(spool_book_close) book;
    enum ch_status status = spool_book_open(spool, waits_book, &book);
    if (status != CH_OK)
        return status;
    if (!json_is_object(json_object_get(book.content, "targets")) &&
        json_object_set_new(book.content, "targets", json_object()) != 0)
        return CH_ERR_NO_MEMORY;
    json_t *targets = json_object_get(book.content, "targets");
    if (json_object_set_new(targets, url, print_target_wait(waits)) != 0)
        return CH_ERR_NO_MEMORY;
    forget_what_is_over(targets, now);
    return spool_book_write(&book);
}

static const char counts_book[] = "counts";

enum { PROGRAMS_MAX = 256, FINGERPRINTS_MAX = 64 };

static enum ch_status set_integer(json_t *object, const char *key, int64_t value)
{
    return json_object_set_new(object, key, json_integer(value)) == 0
               ? CH_OK
               : CH_ERR_NO_MEMORY;
}

static enum ch_status add_integer(json_t *object, const char *key, int64_t value)
{
    return set_integer(object, key, report_integer(object, key, 0) + value);
}

// object_member is the object with that key, which is created if there is none. NULL:
// out of memory.
static json_t *object_member(json_t *object, const char *key)
{
    json_t *member = json_object_get(object, key);
    if (json_is_object(member))
        return member;
    if (json_object_set_new(object, key, json_object()) != 0)
        return NULL;
    return json_object_get(object, key);
}

// forget_programs limits how many programs are counted; afterwards a few more crashes
// count as within the rate. Their counts of crashes held back then belong to no
// program.
static enum ch_status forget_programs(json_t *counts, json_t *programs)
{
    const char *executable;
    json_t *program;
    int64_t held_back = 0;
    json_object_foreach(programs, executable, program) held_back +=
        report_integer(program, "held_back", 0);
    (void)json_object_clear(programs);
    return held_back != 0 ? add_integer(counts, "held_back", held_back) : CH_OK;
}

// program_of is the counts of one program, which are created if needed.
static json_t *program_of(json_t *counts, const char *executable)
{
    json_t *programs = object_member(counts, "programs");
    if (json_object_get(programs, executable) == NULL &&
        json_object_size(programs) >= PROGRAMS_MAX &&
        forget_programs(counts, programs) != CH_OK)
        return NULL;
    return programs != NULL ? object_member(programs, executable) : NULL;
}

// window_over is true if the time in which the program's crashes are counted has
// passed, or is so far ahead that the clock must have been set back.
static bool window_over(const json_t *program, int64_t now, struct spool_rate rate)
{
    int64_t start = report_integer(program, "start_ms", 0);
    uint64_t apart =
        now > start ? (uint64_t)now - (uint64_t)start : (uint64_t)start - (uint64_t)now;
    return report_integer(program, "count", 0) <= 0 || apart >= rate.ms;
}

// within_rate: a crash of a defect that is new in this window is sent even if others
// have used up the rate, unless there are many such defects.
static bool within_rate(const json_t *program, const char *fingerprint,
                        struct spool_rate rate)
{
    const json_t *seen = json_object_get(program, "seen");
    if ((uint64_t)report_integer(program, "count", 0) < rate.count)
        return true;
    size_t most =
        rate.count < FINGERPRINTS_MAX / 2 ? (size_t)rate.count * 2 : FINGERPRINTS_MAX;
    return json_object_get(seen, fingerprint) == NULL && json_object_size(seen) < most;
}

// note_counted_fingerprint counts one crash with this fingerprint in the object key.
static enum ch_status note_counted_fingerprint(json_t *program, const char *key,
                                               const char *fingerprint)
{
    json_t *counted = object_member(program, key);
    if (counted == NULL)
        return CH_ERR_NO_MEMORY;
    if (json_object_get(counted, fingerprint) == NULL &&
        json_object_size(counted) >= FINGERPRINTS_MAX)
        return CH_OK;
    return add_integer(counted, fingerprint, 1);
}

// note_last_held records which report was held back last, and when: by the wall clock,
// because reports may be older than the uploader that handles them.
static enum ch_status note_last_held(json_t *program, const struct spool_crash *crash)
{
    json_t *last =
        json_pack("{s:s, s:s, s:I}", "id", crash->id, "fingerprint", crash->fingerprint,
                  "noted_ms", (json_int_t)time(NULL) * 1000);
    return json_object_set_new(program, "last", last) == 0 ? CH_OK : CH_ERR_NO_MEMORY;
}

// count_program_crash counts one crash in the program's window, which begins again when
// it is over. A crash from shortly before the window counts in it.
static enum ch_status count_program_crash(json_t *program,
                                          const struct spool_crash *crash,
                                          struct spool_rate rate, bool *out_admitted)
{
    enum ch_status status = CH_OK;
    if (window_over(program, (int64_t)crash->unix_ms, rate)) {
        (void)json_object_del(program, "seen");
        (void)json_object_del(program, "count");
        status = set_integer(program, "start_ms", (int64_t)crash->unix_ms);
    }
    bool admitted = within_rate(program, crash->fingerprint, rate);
    if (status == CH_OK)
        status = add_integer(program, "count", 1);
    if (status == CH_OK)
        status = note_counted_fingerprint(program, "seen", crash->fingerprint);
    if (status == CH_OK && !admitted)
        status = add_integer(program, "held_back", 1);
    if (status == CH_OK && !admitted)
        status = note_counted_fingerprint(program, "held_back_by_fingerprint",
                                          crash->fingerprint);
    if (status == CH_OK && !admitted)
        status = note_last_held(program, crash);
    if (status == CH_OK)
        *out_admitted = admitted;
    return status;
}

enum ch_status spool_counts_admit(const struct spool *spool,
                                  const struct spool_crash *crash,
                                  struct spool_rate rate, bool *out_admitted)
{
    struct spool_book CH_CLEANUP(spool_book_close) book;
    bool admitted = true;
    enum ch_status status = spool_book_open(spool, counts_book, &book);
    if (status != CH_OK)
        return status;
    json_t *program = program_of(book.content, crash->executable);
    if (program == NULL)
        return CH_ERR_NO_MEMORY;
    status = count_program_crash(program, crash, rate, &admitted);
    if (status == CH_OK)
        status = update_book(&book);
    if (status == CH_OK)
        *out_admitted = admitted;
    return status;
}

// due_ms is when the program's last report may go; 0: it has none. A report noted in
// the future, by a clock that was set back since, may go now.
static int64_t due_ms(const json_t *program, int64_t now_ms, struct spool_rate rate)
{
    const json_t *last = json_object_get(program, "last");
    int64_t noted = report_integer(last, "noted_ms", 0);
    if (!json_is_object(last) || report_integer(program, "held_back", 0) <= 0)
        return 0;
    return noted > now_ms + (int64_t)rate.ms ? now_ms : noted + (int64_t)rate.ms;
}

static bool counter_is_there(const struct spool *spool, const char *id)
{
    int fd = -1;
    if (id == NULL || spool_read(spool, id, &fd) != CH_OK)
        return false;
    (void)close(fd);
    return true;
}

// release_counts returns the program's last report and subtracts it from the crashes
// held back.
static enum ch_status release_counts(const struct spool *spool, json_t *program,
                                     struct spool_release *out)
{
    json_t *last = json_incref(json_object_get(program, "last"));
    const char *id = report_string(last, "id");
    const char *fingerprint = report_string(last, "fingerprint");
    json_t *each = json_object_get(program, "held_back_by_fingerprint");
    enum ch_status status = CH_OK;
    (void)json_object_del(program, "last");
    if (counter_is_there(spool, id)) {
        (void)snprintf(out->id, sizeof(out->id), "%s", id);
        status = add_integer(program, "held_back", -1);
        if (status == CH_OK && fingerprint != NULL &&
            report_integer(each, fingerprint, 0) > 0)
            status = add_integer(each, fingerprint, -1);
    }
    json_decref(last);
    return status;
}

enum ch_status spool_counts_release(const struct spool *spool, uint64_t now_ms,
                                    struct spool_rate rate, struct spool_release *out)
{
    struct spool_book CH_CLEANUP(spool_book_close) book;
    struct spool_release release = { .id = "" };
    const char *executable;
    json_t *program;
    bool changed = false;
    enum ch_status status = spool_book_open(spool, counts_book, &book);
    if (status != CH_OK)
        return status;
    json_object_foreach(json_object_get(book.content, "programs"), executable, program)
    {
        int64_t due = due_ms(program, (int64_t)now_ms, rate);
        bool now = due != 0 && due <= (int64_t)now_ms && release.id[0] == 0;
        if (now && status == CH_OK)
            status = release_counts(spool, program, &release);
        else if (due != 0 && (release.next_ms == 0 || due < release.next_ms))
            release.next_ms = due;
        changed |= now;
    }
    if (status == CH_OK && changed)
        status = spool_book_write(&book);
    if (status == CH_OK)
        *out = release;
    return status;
}

enum ch_status spool_counts_add_dropped(const struct spool *spool, uint64_t count)
{
    struct spool_book CH_CLEANUP(spool_book_close) book;
    enum ch_status status = spool_book_open(spool, counts_book, &book);
    if (status == CH_OK)
        status = add_integer(book.content, "dropped", (int64_t)count);
    return status == CH_OK ? spool_book_write(&book) : status;
}

// move_held_count adds one count to the object to. CH_END: there is none.
static enum ch_status move_held_count(json_t *from, const char *key, json_t *to)
{
    int64_t count = report_integer(from, key, 0);
    if (count <= 0)
        return CH_END;
    (void)json_object_del(from, key);
    return add_integer(to, key, count);
}

// move_counts adds each count of the object key; only counts above zero are moved.
static enum ch_status move_counts(json_t *from, const char *key, json_t *to)
{
    const char *name;
    json_t *count;
    json_t *moved = json_object_get(from, key);
    if (!json_is_object(moved) || json_object_size(moved) == 0)
        return CH_END;
    json_t *sums = object_member(to, key);
    enum ch_status status = sums != NULL ? CH_OK : CH_ERR_NO_MEMORY;
    json_object_foreach(moved, name, count)
    {
        if (status == CH_OK && json_integer_value(count) > 0)
            status = add_integer(sums, name, json_integer_value(count));
    }
    (void)json_object_del(from, key);
    return status;
}

enum ch_status spool_counts_take(const struct spool *spool, const char *executable,
                                 json_t *report, bool *out_changed)
{
    struct spool_book CH_CLEANUP(spool_book_close) book;
    enum ch_status status = spool_book_open(spool, counts_book, &book);
    if (status != CH_OK)
        return status;
    json_t *counts = book.content;
    json_t *program = json_object_get(json_object_get(counts, "programs"), executable);
    bool there = json_is_object(json_object_get(report, "spool"));
    json_t *told = object_member(report, "spool");
    if (told == NULL)
        return CH_ERR_NO_MEMORY;

    const enum ch_status moves[] = {
        move_held_count(program, "held_back", told),
        move_held_count(counts, "held_back", told),
        move_counts(program, "held_back_by_fingerprint", told),
        move_held_count(counts, "dropped", told),
    };
    bool changed = false;
    for (size_t i = 0; i < sizeof(moves) / sizeof(moves[0]); i++) {
        if (moves[i] == CH_ERR_NO_MEMORY)
            return moves[i];
        changed |= moves[i] == CH_OK;
    }
    if (!changed && !there)
        (void)json_object_del(report, "spool");
    if (changed)
        status = spool_book_write(&book);
    if (status == CH_OK)
        *out_changed = changed;
    return status;
}

struct prune {
    const struct spool *spool;
    struct spool_caps caps;
    const char *keep_id;
    spool_dropped_fn *dropped;
    void *context;
    uint64_t reports; // in the spool now
    uint64_t bytes;
    uint64_t dropped_count;
};

static bool within_caps(const struct prune *prune)
{
    return prune->reports <= prune->caps.reports && prune->bytes <= prune->caps.bytes;
}

static bool settled(const struct spool *spool, const char *id)
{
    struct spool_state state;
    if (spool_state_read(spool, id, &state) != CH_OK)
        return false;
    bool result = spool_state_settled(&state);
    spool_state_deinit(&state);
    return result;
}

// remove_report deletes the report unless it is kept or locked, and marks its entry.
static void remove_report(struct prune *prune, struct spool_entry *entry, bool sent)
{
    int fd = -1;
    if (prune->keep_id != NULL && strcmp(prune->keep_id, entry->id) == 0)
        return;
    if (spool_lock(prune->spool, entry->id, &fd) != CH_OK)
        return;
    if (settled(prune->spool, entry->id) == sent &&
        spool_remove(prune->spool, entry->id) == CH_OK) {
        prune->reports--;
        prune->bytes -= entry->size;
        prune->dropped_count += !sent;
        if (!sent)
            prune->dropped(prune->context, entry->id);
        entry->id[0] = 0;
    }
    (void)close(fd);
}

// remove_old removes reports that were sent and exceed the age limit.
static void remove_old(struct prune *prune, const struct spool_listing *listing)
{
    uint64_t now_ms = (uint64_t)time(NULL) * 1000;
    for (size_t i = 0; i < listing->count && prune->caps.sent_age_s != 0; i++) {
        uint64_t made_ms = report_id_time_ms(listing->entries[i].id);
        if (made_ms < now_ms && (now_ms - made_ms) / 1000 >= prune->caps.sent_age_s)
            remove_report(prune, &listing->entries[i], true);
    }
}

static void remove_oldest(struct prune *prune, const struct spool_listing *listing,
                          bool sent)
{
    for (size_t i = 0; i < listing->count && !within_caps(prune); i++) {
        if (listing->entries[i].id[0] != 0)
            remove_report(prune, &listing->entries[i], sent);
    }
}

// count_spool counts what the spool holds now.
static enum ch_status count_spool(struct prune *prune, struct spool_listing *out)
{
    enum ch_status status = spool_list(prune->spool, out);
    if (status != CH_OK)
        return status;
    prune->reports = out->count;
    prune->bytes = 0;
    for (size_t i = 0; i < out->count; i++)
        prune->bytes += out->entries[i].size;
    return CH_OK;
}

// prune_alone prunes while no other process does.
static enum ch_status prune_alone(struct prune *prune)
{
    struct spool_book CH_CLEANUP(spool_book_close) lock = { .lock_fd = -1 };
    struct spool_listing CH_CLEANUP(spool_listing_deinit) listing = { 0 };
    enum ch_status status = spool_book_open(prune->spool, "prune", &lock);
    if (status == CH_OK)
        status = count_spool(prune, &listing);
    if (status != CH_OK)
        return status;
    remove_old(prune, &listing);
    remove_oldest(prune, &listing, true);
    remove_oldest(prune, &listing, false);
    if (prune->dropped_count != 0)
        status = spool_counts_add_dropped(prune->spool, prune->dropped_count);
    return status;
}

enum ch_status spool_prune(const struct spool *spool, struct spool_caps caps,
                           const char *keep_id, spool_dropped_fn *dropped,
                           void *context, bool *out_over)
{
    struct spool_listing CH_CLEANUP(spool_listing_deinit) listing = { 0 };
    struct prune prune = { .spool = spool,
                           .caps = caps,
                           .keep_id = keep_id,
                           .dropped = dropped,
                           .context = context };
    enum ch_status status = CH_OK;
    *out_over = false;
    if (spool->drop) // the user that collects from it keeps what it took within limits
        return CH_OK;
    status = count_spool(&prune, &listing);
    if (status == CH_OK && (caps.sent_age_s != 0 || !within_caps(&prune)))
        status = prune_alone(&prune);
    if (status == CH_OK)
        *out_over = !within_caps(&prune);
    return status;
}
