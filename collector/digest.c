// SPDX-License-Identifier: Apache-2.0
#include "collector/digest.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "report/json_scan.h"
#include "report/report_id.h"
#include "report/report_shape.h"

enum { DEPTH = 24, KEYS = 256, NO_MEMBER = -1 };

// What the digest does with a member: it is kept, and what is inside is known. Members
// that are not listed are read and forgotten.
struct part {
    const char *key;
    bool kept;
    const struct level *inside; // of it, or of its elements; NULL: kept as it is
};

// The shape of an object, and its parts.
struct level {
    const struct report_shape_member *members;
    const struct part *parts;
};

static const struct part no_parts[] = { { 0 } };

static const struct part frame_parts[] = {
    { "kind", true, NULL },         { "image", true, NULL },
    { "image_offset", true, NULL }, { "function", true, NULL },
    { "system", true, NULL },       { 0 },
};
static const struct level frame_level = { report_shape_frame, frame_parts };

static const struct part backtrace_parts[] = { { "frames", true, &frame_level },
                                               { 0 } };
static const struct level backtrace_level = { report_shape_backtrace, backtrace_parts };

static const struct part thread_parts[] = {
    { "crashed", true, NULL },
    { "backtrace", true, &backtrace_level },
    { 0 },
};
static const struct level thread_level = { report_shape_thread, thread_parts };

static const struct part image_parts[] = {
    { "name", true, NULL },
    { "path", true, NULL },
    { "build_id", true, NULL },
    { 0 },
};
static const struct level image_level = { report_shape_image, image_parts };

static const struct part crash_parts[] = {
    { "signal", true, NULL },
    { "name", true, NULL },
    { "kind", true, NULL },
    { "summary", true, NULL },
    { 0 },
};
static const struct level crash_level = { report_shape_crash, crash_parts };

static const struct part process_parts[] = { { "executable", true, NULL }, { 0 } };
static const struct level process_level = { report_shape_process, process_parts };

static const struct level problem_level = { report_shape_problem, no_parts };

static const struct part report_parts[] = {
    { "id", true, NULL },
    { "revision", true, NULL },
    { "time", true, NULL },
    { "crash", true, &crash_level },
    { "process", true, &process_level },
    { "host", true, NULL },
    { "release", true, NULL },
    { "environment", true, NULL },
    { "tags", true, NULL },
    { "spool", true, NULL },
    { "threads", true, &thread_level },
    { "images", true, &image_level },
    { "fingerprint", true, NULL },
    { "problems", false, &problem_level },
    { 0 },
};
static const struct level report_level = { report_shape_report, report_parts };

// An object or an array that is under way.
struct open {
    const struct level *level; // NULL: its members may be anything
    bool array;
    bool written; // its parts are, one by one
    bool copied;  // it is, from start, at its end
    size_t start;
    size_t mark;      // where it began in what is written
    size_t first_key; // of those that no level knows
    size_t count;     // of elements
    int next;         // the member that is likely to come
    uint32_t seen;    // members that came, null or not
    uint32_t present; // members that came and are not null
    bool code;        // of a frame: it stands for code
    bool crashed;     // of a thread
};

struct digest {
    struct json_scan scan;
    struct text *out;
    struct open open[DEPTH];
    size_t depth;
    struct json_scan_token keys[KEYS];
    size_t key_count;
    size_t image_count;
    int64_t last_image; // that a frame named
    bool crashed;       // the crashed thread was there
};

// A value that begins: what it is in, by which key, and what is to become of it.
struct place {
    struct open *in;
    struct json_scan_token key;
    int member; // of the level it is in
    const struct level *inside;
    bool kept;
};

// find_member looks for a key from where the last one was: members come in their order.
static int find_member(struct open *in, const struct json_scan_token *key)
{
    const struct report_shape_member *members = in->level->members;
    for (int i = in->next; members[i].key != NULL; i++) {
        if (json_scan_is(key, members[i].key))
            return i;
    }
    for (int i = 0; i < in->next; i++) {
        if (json_scan_is(key, members[i].key))
            return i;
    }
    return NO_MEMBER;
}

// remember_key keeps a key that no level knows; false: the object has it already.
static bool remember_key(struct digest *digest, const struct json_scan_token *key)
{
    size_t first = digest->open[digest->depth - 1].first_key;
    if (digest->key_count == KEYS)
        return false;
    for (size_t i = first; i < digest->key_count; i++) {
        const struct json_scan_token *other = &digest->keys[i];
        if (other->size == key->size &&
            memcmp(other->bytes, key->bytes, key->size) == 0)
            return false;
    }
    digest->keys[digest->key_count++] = *key;
    return true;
}

static void find_part(struct place *place)
{
    const struct part *part = place->in->level->parts;
    while (part->key != NULL && !json_scan_is(&place->key, part->key))
        part++;
    place->inside = part->inside;
    place->kept = part->kept && place->in->written;
}

// take_key reads a member's key and the colon behind it.
static bool take_key(struct digest *digest, const struct json_scan_token *key,
                     struct place *out)
{
    struct open *in = &digest->open[digest->depth - 1];
    *out = (struct place){ .in = in, .key = *key, .member = NO_MEMBER };
    if (key->kind != JSON_SCAN_STRING || !key->plain ||
        json_scan_next(&digest->scan).kind != JSON_SCAN_COLON)
        return false;
    if (in->level != NULL)
        out->member = find_member(in, key);
    if (out->member == NO_MEMBER)
        return remember_key(digest, key);
    uint32_t bit = UINT32_C(1) << out->member;
    bool twice = (in->seen & bit) != 0;
    in->seen |= bit;
    in->next = out->member + 1;
    find_part(out);
    return !twice;
}

static bool is_address(const struct json_scan_token *value)
{
    if (value->size < 3 || value->size > 18 || memcmp(value->bytes, "0x", 2) != 0)
        return false;
    for (size_t i = 2; i < value->size; i++) {
        char c = value->bytes[i];
        if ((c < '0' || c > '9') && (c < 'a' || c > 'f'))
            return false;
    }
    return true;
}

static bool has_shape(const struct json_scan_token *value, enum report_shape shape)
{
    switch (shape) {
    case REPORT_SHAPE_STRING:
        return value->kind == JSON_SCAN_STRING;
    case REPORT_SHAPE_ADDRESS:
        return value->kind == JSON_SCAN_STRING && is_address(value);
    case REPORT_SHAPE_INTEGER:
        return value->kind == JSON_SCAN_INTEGER;
    case REPORT_SHAPE_FLAG:
        return value->kind == JSON_SCAN_TRUE || value->kind == JSON_SCAN_FALSE;
    case REPORT_SHAPE_OBJECT:
        return value->kind == JSON_SCAN_OBJECT;
    case REPORT_SHAPE_ARRAY:
        return value->kind == JSON_SCAN_ARRAY;
    }
    return false;
}

static bool is_report_id(const struct json_scan_token *value)
{
    char id[REPORT_ID_SIZE] = { 0 };
    if (value->size != REPORT_ID_SIZE - 1)
        return false;
    memcpy(id, value->bytes, value->size);
    return report_id_ok(id);
}

// note_image keeps the highest image that is named; the digits are few enough.
static bool note_image(struct digest *digest, const struct json_scan_token *value)
{
    int64_t image = 0;
    if (value->bytes[0] == '-')
        return false;
    for (size_t i = 0; i < value->size; i++)
        image = image * 10 + value->bytes[i] - '0';
    digest->last_image = image > digest->last_image ? image : digest->last_image;
    return true;
}

// note checks what a value says beyond its shape, and keeps what a check at the end of
// its object needs.
static bool note(struct digest *digest, const struct place *place,
                 const struct json_scan_token *value)
{
    struct open *in = place->in;
    if (in->level == &report_level && json_scan_is(&place->key, "schema"))
        return json_scan_is(value, REPORT_SHAPE_SCHEMA);
    if (in->level == &report_level && json_scan_is(&place->key, "id"))
        return is_report_id(value);
    if (in->level == &thread_level && json_scan_is(&place->key, "crashed")) {
        in->crashed = value->kind == JSON_SCAN_TRUE;
        in->written &= in->crashed; // it goes at its end, so the rest need not come
    }
    if (in->level != &frame_level)
        return true;
    if (json_scan_is(&place->key, "image"))
        return note_image(digest, value);
    if (json_scan_is(&place->key, "kind"))
        in->code = !json_scan_is(value, "omit") && !json_scan_is(value, "trunc");
    return true;
}

static bool check_value(struct digest *digest, const struct place *place,
                        const struct json_scan_token *value)
{
    struct open *in = place->in;
    if (in->array) // elements that are known are objects
        return in->level == NULL || value->kind == JSON_SCAN_OBJECT;
    if (place->member == NO_MEMBER || value->kind == JSON_SCAN_NULL)
        return true;
    if (!has_shape(value, in->level->members[place->member].shape))
        return false;
    in->present |= UINT32_C(1) << place->member;
    return note(digest, place, value);
}

// write_key writes what stands before a value: a comma, and its key if it has one.
static void write_key(struct digest *digest, const struct place *place)
{
    struct text *out = digest->out;
    char last = out->size != 0 ? out->bytes[out->size - 1] : '[';
    if (last != '{' && last != '[')
        text_append(out, ",", 1);
    if (place->in->array)
        return;
    text_append(out, place->key.bytes - 1, place->key.size + 2);
    text_append(out, ":", 1);
}

static bool begin(struct digest *digest, const struct place *place,
                  const struct json_scan_token *value)
{
    if (digest->depth == DEPTH)
        return false;
    size_t mark = digest->out->size;
    bool array = value->kind == JSON_SCAN_ARRAY;
    bool written = place->kept && place->inside != NULL &&
                   !(digest->crashed && place->inside == &thread_level && !array);
    if (place->kept)
        write_key(digest, place);
    if (written)
        text_append(digest->out, array ? "[" : "{", 1);
    digest->open[digest->depth++] = (struct open){ .level = place->inside,
                                                   .array = array,
                                                   .written = written,
                                                   .copied = place->kept && !written,
                                                   .start = value->start,
                                                   .mark = mark,
                                                   .first_key = digest->key_count };
    return true;
}

// take_value begins an object or array, or takes all of another value.
static bool take_value(struct digest *digest, const struct place *place,
                       const struct json_scan_token *value)
{
    if (!check_value(digest, place, value))
        return false;
    switch (value->kind) {
    case JSON_SCAN_OBJECT:
    case JSON_SCAN_ARRAY:
        return begin(digest, place, value);
    case JSON_SCAN_STRING:
    case JSON_SCAN_INTEGER:
    case JSON_SCAN_REAL:
    case JSON_SCAN_TRUE:
    case JSON_SCAN_FALSE:
    case JSON_SCAN_NULL:
        break;
    default:
        return false;
    }
    if (place->kept) {
        write_key(digest, place);
        text_append(digest->out, digest->scan.bytes + value->start,
                    digest->scan.at - value->start);
    }
    return true;
}

static bool check_members(const struct open *object)
{
    const struct report_shape_member *member = object->level->members;
    for (int i = 0; member[i].key != NULL; i++) {
        bool present = (object->present >> i & 1) != 0;
        bool required = member[i].required ||
                        (object->code && strcmp(member[i].key, "address") == 0);
        if (required && !present)
            return false;
    }
    return true;
}

// finish ends what was begun last. Of the threads only the first that crashed stays.
static bool finish(struct digest *digest)
{
    const struct open *open = &digest->open[--digest->depth];
    struct text *out = digest->out;
    digest->key_count = open->first_key;
    if (open->copied)
        text_append(out, digest->scan.bytes + open->start,
                    digest->scan.at - open->start);
    if (open->written)
        text_append(out, open->array ? "]" : "}", 1);
    if (open->level == NULL)
        return true;
    if (open->array) {
        if (open->level == &image_level)
            digest->image_count = open->count;
        return true;
    }
    if (open->level == &thread_level && (!open->crashed || digest->crashed))
        out->size = open->mark;
    digest->crashed |= open->crashed;
    return check_members(open);
}

static bool ends(const struct open *open, enum json_scan_kind kind)
{
    return kind == (open->array ? JSON_SCAN_ARRAY_END : JSON_SCAN_OBJECT_END);
}

// step takes one member or element, with the comma before it, or an end.
static bool step(struct digest *digest)
{
    struct open *in = &digest->open[digest->depth - 1];
    struct json_scan_token token = json_scan_next(&digest->scan);
    if (ends(in, token.kind))
        return finish(digest);
    if (in->count++ != 0) {
        if (token.kind != JSON_SCAN_COMMA)
            return false;
        token = json_scan_next(&digest->scan);
    }
    struct place place = {
        .in = in, .member = NO_MEMBER, .inside = in->level, .kept = in->written
    };
    if (!in->array) {
        if (!take_key(digest, &token, &place))
            return false;
        token = json_scan_next(&digest->scan);
    }
    return take_value(digest, &place, &token);
}

bool digest_report(const char *bytes, size_t size, struct text *out)
{
    struct digest *digest = malloc(sizeof(*digest));
    if (digest == NULL)
        return false;
    *digest = (struct digest){ .scan = { .bytes = bytes, .size = size },
                               .out = out,
                               .last_image = -1 };
    struct place top = { .in = &(struct open){ .array = true, .level = &report_level },
                         .inside = &report_level,
                         .kept = true };
    struct json_scan_token first = json_scan_next(&digest->scan);
    bool ok = take_value(digest, &top, &first);
    while (ok && digest->depth != 0)
        ok = step(digest);
    struct json_scan_token rest = json_scan_next(&digest->scan);
    ok = ok && rest.kind == JSON_SCAN_WRONG && rest.start == size;
    ok = ok && digest->last_image < (int64_t)digest->image_count && text_ok(out);
    free(digest);
    return ok;
}
