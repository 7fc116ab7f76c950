// SPDX-License-Identifier: Apache-2.0
#include "report/spool/spool_counts.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "report/spool/spool_book.h"
#include "report/value/report.h"

#define BOOK_NAME "counts"

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
// count as within the rate. Their counts of crashes held back are kept for no program.
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

// count_crash counts one crash in the program's window, which begins again when it is
// over. A crash from shortly before the window counts in it.
static enum ch_status count_crash(json_t *program, const struct spool_crash *crash,
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
    enum ch_status status = spool_book_open(spool, BOOK_NAME, &book);
    if (status != CH_OK)
        return status;
    json_t *program = program_of(book.content, crash->executable);
    if (program == NULL)
        return CH_ERR_NO_MEMORY;
    status = count_crash(program, crash, rate, &admitted);
    if (status == CH_OK)
        status = spool_book_update(&book);
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

// let_go_of_counts returns the program's last report and subtracts it from the crashes
// held back.
static enum ch_status let_go_of_counts(const struct spool *spool, json_t *program,
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
    enum ch_status status = spool_book_open(spool, BOOK_NAME, &book);
    if (status != CH_OK)
        return status;
    json_object_foreach(json_object_get(book.content, "programs"), executable, program)
    {
        int64_t due = due_ms(program, (int64_t)now_ms, rate);
        bool now = due != 0 && due <= (int64_t)now_ms && release.id[0] == 0;
        if (now && status == CH_OK)
            status = let_go_of_counts(spool, program, &release);
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
    enum ch_status status = spool_book_open(spool, BOOK_NAME, &book);
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
    enum ch_status status = spool_book_open(spool, BOOK_NAME, &book);
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
