// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/system/file.h"
#include "base/text.h"
#include "cli/node/node.h"

#define RATES_FILE "node-rates"
enum {
    RATES = 1024, // users and programs with a crash in this minute
    RATES_BYTES = RATES * 8,
    PROGRAM_SHARE = 3, // a program may have a third of its user's crashes
};

static void put_text(json_t *line, const char *key, const char *value)
{
    // Paths may hold any bytes.
    if (value != NULL && json_object_set_new(line, key, json_string(value)) != 0)
        (void)json_object_set_new(line, key, json_string("?"));
}

void node_ledger_add(const struct spool *spool, const struct node_entry *entry)
{
    struct stat info;
    json_auto_t *line = json_pack(
        "{s:I, s:I, s:I, s:i}", "time", (json_int_t)clock_now_ms(CLOCK_REALTIME), "pid",
        (json_int_t)entry->pid, "uid", (json_int_t)entry->uid, "signal", entry->signal);
    put_text(line, "program", entry->program);
    put_text(line, "report", entry->report);
    put_text(line, "why", entry->why);
    put_text(line, "fix", entry->fix);
    put_text(line, "core", entry->core);
    if (entry->core != NULL && entry->core_is_cut)
        (void)json_object_set_new(line, "core_is_cut", json_true());
    if (entry->held_ms != 0)
        (void)json_object_set_new(line, "held_ms",
                                  json_integer((json_int_t)entry->held_ms));
    if (entry->rejected > 1)
        (void)json_object_set_new(line, "rejected",
                                  json_integer((json_int_t)entry->rejected));
    char *words = json_dumps(line, JSON_COMPACT);
    CH_CLEANUP(file_close)
    int fd = openat(spool->folder_fd, NODE_LEDGER_FILE,
                    O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK,
                    0600);
    if (words != NULL && fd >= 0) {
        struct text CH_CLEANUP(text_deinit) whole = { 0 };
        text_appendf(&whole, "%s\n", words);
        (void)!write(fd, whole.bytes, whole.size);
        if (fstat(fd, &info) == 0 && info.st_size > NODE_LEDGER_BYTES)
            (void)renameat(spool->folder_fd, NODE_LEDGER_FILE, spool->folder_fd,
                           NODE_LEDGER_OLD);
    }
    free(words);
}

// is_line_since returns true unless the line begins with an earlier time.
static bool is_line_since(const char *line, size_t size, uint64_t since_ms)
{
    static const char key[] = "{\"time\":";
    char number[24] = { 0 };
    if (size < sizeof(key) + sizeof(number) || memcmp(line, key, strlen(key)) != 0)
        return true;
    memcpy(number, line + strlen(key), sizeof(number) - 1);
    return strtoull(number, NULL, 10) >= since_ms;
}

// read_ledger_file maps the file, which root alone writes, and only at its end: the
// heap of a service does not grow by it.
static void read_ledger_file(const struct spool *spool, const char *name,
                             uint64_t since_ms, json_t *all)
{
    CH_CLEANUP(file_close) int fd = -1;
    struct stat info;
    if (spool_open_file(spool, name, &fd) != CH_OK || fstat(fd, &info) != 0 ||
        info.st_size <= 0 || info.st_size > 2 * NODE_LEDGER_BYTES)
        return;
    const size_t size = (size_t)info.st_size;
    char *bytes = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (bytes == MAP_FAILED)
        return;
    for (const char *at = bytes, *end = bytes + size; at < end;) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        size_t length = (size_t)((stop != NULL ? stop : end) - at);
        json_t *line = is_line_since(at, length, since_ms)
                           ? json_loadb(at, length, 0, NULL)
                           : NULL;
        if (json_is_object(line))
            (void)json_array_append(all, line);
        json_decref(line);
        at += length + 1;
    }
    (void)munmap(bytes, size);
}

json_t *node_ledger_read(const struct spool *spool, uint64_t since_ms)
{
    json_t *all = json_array();
    read_ledger_file(spool, NODE_LEDGER_OLD, since_ms, all);
    read_ledger_file(spool, NODE_LEDGER_FILE, since_ms, all);
    return all;
}

void node_rates_open(const struct spool *spool, uint32_t limit, struct node_rates *out)
{
    *out = (struct node_rates){ .limit = limit };
    CH_CLEANUP(file_close)
    int fd = spool != NULL
                 ? openat(spool->folder_fd, RATES_FILE,
                          O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600)
                 : memfd_create(RATES_FILE, MFD_CLOEXEC);
    // The pages exist before they are mapped: a full disk must not raise SIGBUS.
    if (fd < 0 || posix_fallocate(fd, 0, RATES_BYTES) != 0)
        return;
    void *words = mmap(NULL, RATES_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (words != MAP_FAILED)
        out->words = words;
}

void node_rates_close(struct node_rates *rates)
{
    if (rates->words != NULL)
        (void)munmap(rates->words, RATES_BYTES);
    rates->words = NULL;
}

// count_one counts one more of who in this minute, and returns how many there were. A
// word of the table is who (32 bits), the minute (16) and the count (16).
static uint64_t count_one(struct node_rates *rates, uint32_t who, uint16_t minute)
{
    enum { PROBES = 16, MOST = UINT16_MAX - 1 };
    const uint64_t fresh = (uint64_t)who << 32 | (uint64_t)minute << 16;
    for (uint32_t i = 0; i < PROBES; i++) {
        uint64_t *word = &rates->words[(who + i) % RATES];
        uint64_t seen = __atomic_load_n(word, __ATOMIC_RELAXED);
        bool ours = seen >> 16 == fresh >> 16;
        bool is_old = (uint16_t)(seen >> 16) != minute;
        while (ours || is_old) {
            uint64_t next = ours ? seen + ((seen & UINT16_MAX) < MOST) : fresh + 1;
            if (__atomic_compare_exchange_n(word, &seen, next, false, __ATOMIC_RELAXED,
                                            __ATOMIC_RELAXED))
                return next & UINT16_MAX;
            ours = seen >> 16 == fresh >> 16;
            is_old = (uint16_t)(seen >> 16) != minute;
        }
    }
    return 1; // so many users and programs crash that each has few
}

uint64_t node_rates_take(struct node_rates *rates, uid_t user, const char *program)
{
    uint16_t minute = (uint16_t)(clock_now_ms(CLOCK_MONOTONIC) / 60000 + 1);
    uint32_t who = (uint32_t)user * 2654435761u;
    uint64_t share = rates->limit / PROGRAM_SHARE + 1;
    if (rates->words == NULL || rates->limit == 0)
        return 0;
    uint64_t count = count_one(rates, who, minute);
    if (count > rates->limit)
        return count - rates->limit; // so its programs cannot fill the table
    for (const char *at = program; *at != 0; at++)
        who = (who ^ (uint8_t)*at) * 16777619u;
    uint64_t own = count_one(rates, who, minute);
    return own > share ? own - share : 0;
}
