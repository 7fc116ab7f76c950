// SPDX-License-Identifier: Apache-2.0
#include "collector/database/sqlite_changes.h"

#include <endian.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/system/file.h"

enum { PAGE_MOST = 65536 };

// log_header and frame_header are of a log and of a frame in it, which is a page;
// numbers are big-endian.
struct log_header {
    uint32_t magic;
    uint32_t version;
    uint32_t page_bytes;
    uint32_t sequence;
    uint32_t salts[2]; // others each time that the log is written anew
    uint32_t sums[2];
};

struct frame_header {
    uint32_t page;
    uint32_t pages; // of the database after this commit; 0: the commit goes on
    uint32_t salts[2];
    uint32_t sums[2];
};

_Static_assert(sizeof(struct log_header) == 32 && sizeof(struct frame_header) == 24,
               "as in the file");

struct sqlite_changes {
    int log;
    uint32_t page_bytes;
    uint32_t salts[2];
    uint32_t noted; // frames of this log
    bool empty;     // there is no log
    bool failed;
    struct page_set current; // in this log
    struct page_set settled; // in earlier ones
};

enum ch_status sqlite_changes_create(const char *path, uint32_t page_bytes,
                                     struct sqlite_changes **out)
{
    *out = NULL;
    struct sqlite_changes *changes = calloc(1, sizeof(*changes));
    if (changes == NULL)
        return CH_ERR_NO_MEMORY;
    changes->page_bytes = page_bytes;
    changes->log = open(path, O_RDONLY | O_CLOEXEC);
    if (changes->log < 0 || page_bytes > PAGE_MOST) {
        sqlite_changes_destroy(changes);
        return CH_ERR_IO;
    }
    *out = changes;
    return CH_OK;
}

void sqlite_changes_destroy(struct sqlite_changes *changes)
{
    if (changes == NULL)
        return;
    file_close(&changes->log);
    page_set_deinit(&changes->current);
    page_set_deinit(&changes->settled);
    free(changes);
}

static uint64_t frame_offset(const struct sqlite_changes *changes, uint32_t frame)
{
    return sizeof(struct log_header) +
           (uint64_t)frame * (sizeof(struct frame_header) + changes->page_bytes);
}

// read_frame reads the header of a frame that was committed.
static bool read_frame(const struct sqlite_changes *changes, uint32_t frame,
                       struct frame_header *out)
{
    return file_read_at(changes->log, out, sizeof(*out),
                        frame_offset(changes, frame)) == sizeof(*out) &&
           memcmp(out->salts, changes->salts, sizeof(out->salts)) == 0;
}

// look_whether_anew reads the log's header. Somebody may have emptied the log
// (PRAGMA wal_checkpoint(TRUNCATE)).
static bool look_whether_anew(struct sqlite_changes *changes)
{
    struct log_header header = { .page_bytes = htobe32(changes->page_bytes) };
    size_t size = file_read_at(changes->log, &header, sizeof(header), 0);
    if ((size != 0 && size != sizeof(header)) ||
        be32toh(header.page_bytes) != changes->page_bytes)
        return false;
    changes->empty = size == 0;
    if (memcmp(header.salts, changes->salts, sizeof(header.salts)) == 0)
        return true;
    memcpy(changes->salts, header.salts, sizeof(header.salts));
    changes->noted = 0;
    return page_set_move(&changes->current, &changes->settled);
}

void sqlite_changes_note(struct sqlite_changes *changes, uint32_t frames)
{
    changes->failed = changes->failed || !look_whether_anew(changes);
    for (; changes->noted < frames && !changes->failed && !changes->empty;
         changes->noted++) {
        struct frame_header header;
        changes->failed = !read_frame(changes, changes->noted, &header) ||
                          !page_set_add(&changes->current, be32toh(header.page));
    }
}

enum ch_status sqlite_changes_take(struct sqlite_changes *changes, struct page_set *out)
{
    changes->failed = changes->failed || !look_whether_anew(changes);
    return !changes->failed && page_set_move(&changes->settled, out) ? CH_OK
                                                                     : CH_ERR_IO;
}

// replay_frame writes a frame's page, unless a later one has been written.
static bool replay_frame(struct sqlite_changes *changes, uint32_t frame,
                         const struct frame_header *header, int to)
{
    char bytes[PAGE_MOST];
    uint32_t size = changes->page_bytes;
    uint32_t page = be32toh(header->page);
    if (page_set_has(&changes->settled, page))
        return true;
    uint64_t offset = frame_offset(changes, frame) + sizeof(*header);
    return page != 0 && file_read_at(changes->log, bytes, size, offset) == size &&
           pwrite(to, bytes, size, (off_t)((uint64_t)(page - 1) * size)) ==
               (ssize_t)size &&
           page_set_add(&changes->settled, page);
}

enum ch_status sqlite_changes_replay(struct sqlite_changes *changes, int to,
                                     uint32_t *out_pages)
{
    bool ok = !changes->failed && changes->settled.count == 0;
    *out_pages = 0;
    for (uint32_t i = changes->noted; ok && i > 0; i--) {
        struct frame_header header;
        ok = read_frame(changes, i - 1, &header) &&
             replay_frame(changes, i - 1, &header, to);
        if (i == changes->noted)
            *out_pages = be32toh(header.pages);
    }
    return ok ? CH_OK : CH_ERR_IO;
}

enum { BITS = 64 };

void page_set_deinit(struct page_set *set)
{
    free(set->words);
    *set = (struct page_set){ 0 };
}

static bool grow_to(struct page_set *set, size_t words)
{
    size_t before = set->word_count;
    if (words <= before)
        return true;
    if (!array_grow(&set->words, &set->word_count, words, sizeof(set->words[0])))
        return false;
    memset(set->words + before, 0, (set->word_count - before) * sizeof(set->words[0]));
    return true;
}

bool page_set_has(const struct page_set *set, uint32_t page)
{
    return page / BITS < set->word_count &&
           (set->words[page / BITS] >> (page % BITS) & 1) != 0;
}

bool page_set_add(struct page_set *set, uint32_t page)
{
    if (page > PAGE_SET_MOST || !grow_to(set, page / BITS + 1))
        return false;
    set->count += !page_set_has(set, page);
    set->words[page / BITS] |= (uint64_t)1 << (page % BITS);
    return true;
}

bool page_set_move(struct page_set *from, struct page_set *to)
{
    if (!grow_to(to, from->word_count))
        return false;
    for (size_t i = 0; i < from->word_count && from->count != 0; i++) {
        to->count += (size_t)__builtin_popcountll(from->words[i] & ~to->words[i]);
        to->words[i] |= from->words[i];
        from->words[i] = 0;
    }
    from->count = 0;
    return true;
}

static bool take_one(struct page_set *set, uint32_t page)
{
    if (!page_set_has(set, page))
        return false;
    set->words[page / BITS] &= ~((uint64_t)1 << (page % BITS));
    set->count--;
    return true;
}

struct page_run page_set_take(struct page_set *set, size_t *word, uint32_t most)
{
    struct page_run run = { 0 };
    while (*word < set->word_count && set->words[*word] == 0)
        (*word)++;
    if (*word == set->word_count)
        return run;
    run.first = (uint32_t)(*word * BITS) + (uint32_t)__builtin_ctzll(set->words[*word]);
    while (run.count < most && take_one(set, run.first + run.count))
        run.count++;
    return run;
}
