// SPDX-License-Identifier: Apache-2.0
//
// Everything here may be called from any thread at any time, even in signal handlers:
// no lock is taken, nothing is allocated, and errno is preserved. Two writers of one
// slot do not wait for each other: the second gets an error.
#include "handler/prepare/context.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "crashhook/crashhook.h"
#include "handler/crash/crash.h"
#include "handler/crash/crash_stack.h"
#include "shared/place_note.h"

struct context_page *context_current;

PLACE_NOTE(PLACE_CONTEXT, 8, context_current);

static struct context_page *current_context(void)
{
    return __atomic_load_n(&context_current, __ATOMIC_ACQUIRE);
}

void context_begin(void *room)
{
    struct context_page *made = room;
    crash_state.clock = clock_gettime;
    made->magic = CONTEXT_MAGIC;
    made->version = CONTEXT_VERSION;
    made->size = sizeof(*made);
    __atomic_store_n(&context_current, made, __ATOMIC_RELEASE);
}

// copy_text copies text; where it is too long it is cut, but never inside a character.
static void copy_text(char *to, size_t size, const char *text)
{
    size_t length = strnlen(text, size);
    if (length == size) {
        length--;
        while (length != 0 && ((unsigned char)text[length] & 0xc0) == 0x80)
            length--;
    }
    memcpy(to, text, length);
    to[length] = 0;
}

// open_slot claims a slot for writing. False: another writer has it.
static bool open_slot(uint32_t *sequence, uint32_t seen)
{
    return (seen & 1) == 0 &&
           __atomic_compare_exchange_n(sequence, &seen, seen + 1, false,
                                       __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

// close_slot makes the slot valid again or, with gone, unused.
static void close_slot(uint32_t *sequence, bool gone)
{
    uint32_t odd = __atomic_load_n(sequence, __ATOMIC_RELAXED);
    // 0 marks free slots, and the number may wrap around to it.
    uint32_t next = odd + 1 != 0 ? odd + 1 : 2;
    __atomic_store_n(sequence, gone ? 0 : next, __ATOMIC_RELEASE);
}

// A table is the tags or the data: the same shape with values of different sizes.
struct table {
    uint16_t at; // in the page
    uint16_t count;
    uint16_t slot_bytes;
    uint16_t value_bytes;
};

enum {
    NAME_AT = offsetof(struct context_tag, name),
    VALUE_AT = offsetof(struct context_tag, value),
};
_Static_assert((size_t)NAME_AT == offsetof(struct context_datum, name) &&
                   (size_t)VALUE_AT == offsetof(struct context_datum, value),
               "the same shape");

// find_context_slot is the slot called name, otherwise the first free one, or NULL.
static char *find_context_slot(struct context_page *in, const struct table *table,
                               const char *name, uint32_t *out_seen)
{
    char *free_slot = NULL;
    for (size_t i = table->count; i-- != 0;) {
        char *slot = (char *)in + table->at + i * table->slot_bytes;
        uint32_t seen = __atomic_load_n((uint32_t *)(void *)slot, __ATOMIC_ACQUIRE);
        if (seen == 0)
            free_slot = slot;
        else if (strncmp(slot + NAME_AT, name, CONTEXT_NAME_BYTES) == 0) {
            *out_seen = seen;
            return slot;
        }
    }
    *out_seen = 0;
    return free_slot;
}

static int set_context_slot(const struct table *table, const char *name,
                            const char *value)
{
    struct context_page *in = current_context();
    uint32_t seen = 0;
    if (in == NULL)
        return ECANCELED;
    if (name == NULL || *name == 0 ||
        strnlen(name, CONTEXT_NAME_BYTES) == CONTEXT_NAME_BYTES)
        return EINVAL;
    char *slot = find_context_slot(in, table, name, &seen);
    uint32_t *sequence = (uint32_t *)(void *)slot;
    if (value == NULL && seen == 0)
        return 0;
    if (slot == NULL)
        return ENOSPC;
    if (!open_slot(sequence, seen))
        return EBUSY;
    if (value != NULL) {
        copy_text(slot + NAME_AT, CONTEXT_NAME_BYTES, name);
        copy_text(slot + VALUE_AT, table->value_bytes, value);
    }
    close_slot(sequence, value == NULL);
    return 0;
}

int crashhook_set_tag(const char *name, const char *value)
{
    static const struct table tags = { offsetof(struct context_page, tags),
                                       CONTEXT_TAGS, sizeof(struct context_tag),
                                       sizeof(((struct context_tag *)0)->value) };
    return set_context_slot(&tags, name, value);
}

int crashhook_set_user(const char *id)
{
    return crashhook_set_tag("user", id);
}

int crashhook_set_data(const char *name, const char *value)
{
    static const struct table data = { offsetof(struct context_page, data),
                                       CONTEXT_DATA, sizeof(struct context_datum),
                                       sizeof(((struct context_datum *)0)->value) };
    return set_context_slot(&data, name, value);
}

void crashhook_breadcrumb(const char *message)
{
    struct context_page *to = current_context();
    if (to == NULL || message == NULL)
        return;
    uint64_t number = __atomic_fetch_add(&to->breadcrumbs, 1, __ATOMIC_RELAXED);
    struct context_breadcrumb *crumb = &to->trail[number % CONTEXT_BREADCRUMBS];
    __atomic_store_n(&crumb->sequence, 0, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    crumb->realtime_ns = crash_realtime_ns();
    copy_text(crumb->message, sizeof(crumb->message), message);
    __atomic_store_n(&crumb->sequence, number + 1, __ATOMIC_RELEASE);
}

int crashhook_attach_file(const char *path, size_t tail_bytes)
{
    enum { TAIL_DEFAULT = 64 << 10, TAIL_MAX = 1 << 20 };
    struct context_page *to = current_context();
    if (to == NULL)
        return ECANCELED;
    if (path == NULL || path[0] != '/' || tail_bytes > TAIL_MAX ||
        strnlen(path, sizeof(to->attachments[0].path)) ==
            sizeof(to->attachments[0].path))
        return EINVAL;
    for (size_t i = 0; i < CONTEXT_ATTACHMENTS; i++) {
        struct context_attachment *slot = &to->attachments[i];
        if (!open_slot(&slot->sequence, 0))
            continue;
        slot->tail_bytes = tail_bytes != 0 ? (uint32_t)tail_bytes : TAIL_DEFAULT;
        copy_text(slot->path, sizeof(slot->path), path);
        close_slot(&slot->sequence, false);
        return 0;
    }
    return ENOSPC;
}
