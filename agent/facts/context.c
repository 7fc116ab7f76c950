// SPDX-License-Identifier: Apache-2.0
#include "agent/facts/context.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "agent/facts/raw_write.h"

// copy_context_string copies a string, bounded by its array, and terminates it in out.
static void copy_context_string(const char *bytes, size_t size, char *out)
{
    size_t length = strnlen(bytes, size - 1);
    memcpy(out, bytes, length);
    out[length] = 0;
}

static bool context_is_whole(uint32_t sequence)
{
    return sequence != 0 && (sequence & 1) == 0;
}

enum ch_status context_check(const struct context_page *page)
{
    bool known = page->magic == CONTEXT_MAGIC && page->version == CONTEXT_VERSION &&
                 page->size == sizeof(*page);
    return known ? CH_OK : CH_ERR_MALFORMED;
}

static const uint8_t context_unused[CONTEXT_NAME_BYTES];

// context_slots is how many of a table's slots may be in use. Writers take the first
// free slot and leave its name when they give it up, so a table whose first slot begins
// with zeros was never used.
static size_t context_slots(const void *table, size_t count)
{
    return memcmp(table, context_unused, sizeof(context_unused)) != 0 ? count : 0;
}

// context_read_table reads a table of the page unless it was never used. Reading less
// matters: each page of it would be mapped in the crashed process, and be copied twice.
static enum ch_status context_read_table(const struct memory_reader *memory,
                                         uint64_t address, void *out, size_t size)
{
    uint8_t begin[sizeof(context_unused)];
    enum ch_status status = memory_read(memory, address, begin, sizeof(begin));
    if (status != CH_OK || context_slots(begin, 1) == 0)
        return status;
    return memory_read(memory, address, out, size);
}

// context_read_tables reads the tables that the program has used.
static enum ch_status context_read_tables(const struct memory_reader *memory,
                                          uint64_t address, struct context_page *out)
{
    const struct {
        void *table;
        size_t size;
    } tables[] = {
        { out->tags, sizeof(out->tags) },
        { out->data, sizeof(out->data) },
        { out->attachments, sizeof(out->attachments) },
    };
    size_t crumbs = out->breadcrumbs < CONTEXT_BREADCRUMBS ? (size_t)out->breadcrumbs
                                                           : CONTEXT_BREADCRUMBS;
    enum ch_status status = CH_OK;
    for (size_t i = 0; status == CH_OK && i < sizeof(tables) / sizeof(tables[0]); i++) {
        uint64_t at = (uint64_t)((char *)tables[i].table - (char *)out);
        status =
            context_read_table(memory, address + at, tables[i].table, tables[i].size);
    }
    if (status != CH_OK)
        return status;
    return memory_read(memory, address + offsetof(struct context_page, trail),
                       out->trail, crumbs * sizeof(out->trail[0]));
}

enum ch_status context_read(const struct memory_reader *memory, uint64_t address,
                            struct context_page *out)
{
    if (address == 0)
        return CH_ERR_NOT_FOUND;
    enum ch_status status =
        memory_read(memory, address, out, offsetof(struct context_page, tags));
    if (status == CH_OK)
        status = context_check(out);
    return status == CH_OK ? context_read_tables(memory, address, out) : status;
}

enum ch_status context_find(struct capture *capture, struct context_page *out)
{
    size_t at = 0;
    uint64_t place;
    uint64_t page = 0;
    while (capture_next_place(capture, PLACE_CONTEXT, sizeof(page), &at, &place)) {
        if (memory_read_word(&capture->reader, place, &page) == CH_OK &&
            context_read(&capture->reader, page, out) == CH_OK)
            return CH_OK;
        *out = (struct context_page){ 0 };
    }
    return CH_ERR_NOT_FOUND;
}

// Keys are written without escapes: other characters are replaced, and long keys cut.
enum { KEY_MAX = 127 };

static char plain_text(char c)
{
    return c >= ' ' && c < 0x7f && c != '"' && c != '\\' ? c : '_';
}

static size_t context_key_length(const char *name, size_t length)
{
    return strnlen(name, length < KEY_MAX ? length : KEY_MAX);
}

static void write_context_name(struct json_writer *w, const char *name, size_t length)
{
    char key[KEY_MAX + 1];
    size_t kept = context_key_length(name, length);
    for (size_t i = 0; i < kept; i++)
        key[i] = plain_text(name[i]);
    key[kept] = 0;
    json_write_key(w, key);
}

// same_context_key returns true if both names give the same key; an object may have
// each key only once.
static bool same_context_key(const char *a, size_t a_length, const char *b,
                             size_t b_length)
{
    size_t length = context_key_length(a, a_length);
    if (length != context_key_length(b, b_length))
        return false;
    for (size_t i = 0; i < length; i++) {
        if (plain_text(a[i]) != plain_text(b[i]))
            return false;
    }
    return true;
}

// is_set_by_program returns true if the program has set a tag of this name.
static bool is_set_by_program(const struct context_page *page, const char *name,
                              size_t length)
{
    size_t tags = page != NULL ? context_slots(page->tags, CONTEXT_TAGS) : 0;
    for (size_t i = 0; i < tags; i++) {
        const struct context_tag *tag = &page->tags[i];
        if (context_is_whole(tag->sequence) &&
            same_context_key(tag->name, sizeof(tag->name), name, length))
            return true;
    }
    return false;
}

// is_set_again returns true if the settings, from rest on, set a tag of this name.
static bool is_set_again(const char *rest, const char *name, size_t length)
{
    while (*rest != 0) {
        if (same_context_key(rest, strcspn(rest, "="), name, length))
            return true;
        rest += strcspn(rest, ",");
        rest += *rest == ',';
    }
    return false;
}

// comes_again returns true if a later one of count slots, each of stride bytes, has the
// same name: two threads set it at the same moment, or two names give the same key.
static bool comes_again(const void *slots, size_t stride, size_t count, size_t index)
{
    _Static_assert(offsetof(struct context_tag, name) ==
                           offsetof(struct context_datum, name) &&
                       offsetof(struct context_tag, sequence) == 0,
                   "both begin alike");
    const char *names = (const char *)slots + offsetof(struct context_tag, name);
    for (size_t i = index + 1; i < count; i++) {
        uint32_t sequence;
        memcpy(&sequence, (const char *)slots + i * stride, sizeof(sequence));
        if (context_is_whole(sequence) &&
            same_context_key(names + i * stride, CONTEXT_NAME_BYTES,
                             names + index * stride, CONTEXT_NAME_BYTES))
            return true;
    }
    return false;
}

// write_set_tags writes CRASHHOOK_USER, and the tags of k=v,k=v; settings.c has checked
// their form.
static void write_set_tags(struct json_writer *w, const struct capture *capture,
                           const struct context_page *page)
{
    static const char user_tag[] = "user";
    const char *user = capture->settings->user;
    const char *tags = capture->settings->tags;
    struct text value = { 0 };
    bool has_user = user != NULL && *user != 0;
    if (has_user && !is_set_by_program(page, user_tag, strlen(user_tag))) {
        write_context_name(w, user_tag, strlen(user_tag));
        raw_write_named_value(w, capture, user_tag, strlen(user_tag), user);
    }
    while (tags != NULL && *tags != 0) {
        size_t length = strcspn(tags, ",");
        size_t name = strcspn(tags, "=");
        const char *rest = tags + length + (tags[length] == ',');
        if (!is_set_by_program(page, tags, name) && !is_set_again(rest, tags, name) &&
            !(has_user && is_set_again(user_tag, tags, name))) {
            text_clear(&value);
            text_append(&value, tags + name + 1, length - name - 1);
            write_context_name(w, tags, name);
            raw_write_named_value(w, capture, tags, name,
                                  value.bytes != NULL ? value.bytes : "");
        }
        tags = rest;
    }
    text_deinit(&value);
}

static void write_context_tags(struct json_writer *w, const struct capture *capture,
                               const struct context_page *page)
{
    char name[CONTEXT_NAME_BYTES];
    char value[sizeof(page->tags[0].value)];
    json_write_key(w, "tags");
    json_write_object(w);
    write_set_tags(w, capture, page);
    size_t tags = page != NULL ? context_slots(page->tags, CONTEXT_TAGS) : 0;
    for (size_t i = 0; i < tags; i++) {
        const struct context_tag *tag = &page->tags[i];
        if (!context_is_whole(tag->sequence) ||
            comes_again(page->tags, sizeof(*tag), CONTEXT_TAGS, i))
            continue;
        copy_context_string(tag->name, sizeof(tag->name), name);
        copy_context_string(tag->value, sizeof(tag->value), value);
        write_context_name(w, name, strlen(name));
        raw_write_named_value(w, capture, name, strlen(name), value);
    }
    json_write_end(w, '}');
}

static void write_context_breadcrumbs(struct json_writer *w,
                                      const struct capture *capture,
                                      const struct context_page *page)
{
    char message[sizeof(page->trail[0].message)];
    uint64_t count = page->breadcrumbs;
    uint64_t first = count > CONTEXT_BREADCRUMBS ? count - CONTEXT_BREADCRUMBS : 0;
    if (count == 0)
        return;
    json_write_key(w, "breadcrumbs");
    json_write_array(w);
    for (uint64_t i = 0; i < CONTEXT_BREADCRUMBS && first + i < count; i++) {
        uint64_t number = first + i;
        const struct context_breadcrumb *crumb =
            &page->trail[number % CONTEXT_BREADCRUMBS];
        if (crumb->sequence != number + 1)
            continue;
        copy_context_string(crumb->message, sizeof(crumb->message), message);
        json_write_object(w);
        if (crumb->realtime_ns != 0)
            raw_write_time(w, "time", crumb->realtime_ns / 1000000);
        json_write_key(w, "message");
        raw_write_words_value(w, capture, message);
        json_write_end(w, '}');
    }
    json_write_end(w, ']');
}

static void write_context_data(struct json_writer *w, const struct capture *capture,
                               const struct context_page *page)
{
    char name[CONTEXT_NAME_BYTES];
    char value[sizeof(page->data[0].value)];
    bool any = false;
    size_t slots = context_slots(page->data, CONTEXT_DATA);
    for (size_t i = 0; i < slots; i++)
        any |= context_is_whole(page->data[i].sequence);
    if (!any)
        return;
    json_write_key(w, "user_data");
    json_write_object(w);
    for (size_t i = 0; i < CONTEXT_DATA; i++) {
        const struct context_datum *datum = &page->data[i];
        if (!context_is_whole(datum->sequence) ||
            comes_again(page->data, sizeof(*datum), CONTEXT_DATA, i))
            continue;
        copy_context_string(datum->name, sizeof(datum->name), name);
        copy_context_string(datum->value, sizeof(datum->value), value);
        write_context_name(w, name, strlen(name));
        raw_write_named_value(w, capture, name, strlen(name), value);
    }
    json_write_end(w, '}');
}

// write_context_attachments names the files; the free phase reads them.
static void write_context_attachments(struct json_writer *w,
                                      const struct capture *capture,
                                      const struct context_page *page)
{
    char path[sizeof(page->attachments[0].path)];
    bool any = false;
    size_t slots = context_slots(page->attachments, CONTEXT_ATTACHMENTS);
    for (size_t i = 0; i < slots; i++)
        any |= context_is_whole(page->attachments[i].sequence);
    if (!any)
        return;
    json_write_key(w, "attachments");
    json_write_array(w);
    for (size_t i = 0; i < CONTEXT_ATTACHMENTS; i++) {
        const struct context_attachment *attachment = &page->attachments[i];
        if (!context_is_whole(attachment->sequence))
            continue;
        copy_context_string(attachment->path, sizeof(attachment->path), path);
        json_write_object(w);
        raw_write_path(w, capture, "path", path, strlen(path));
        raw_write_count(w, "limit_bytes", attachment->tail_bytes);
        json_write_end(w, '}');
    }
    json_write_end(w, ']');
}

void context_write(struct json_writer *w, const struct capture *capture)
{
    const struct context_page *page = capture->context;
    char session[17];
    write_context_tags(w, capture, page);
    if (page == NULL)
        return;
    (void)snprintf(session, sizeof(session), "%016" PRIx64, page->session);
    if (page->session != 0)
        raw_write_string(w, "session", session);
    write_context_breadcrumbs(w, capture, page);
    write_context_data(w, capture, page);
    write_context_attachments(w, capture, page);
}
