// SPDX-License-Identifier: Apache-2.0
#include "agent/facts/otel_context.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/facts/raw_write.h"
#include "base/hex.h"
#include "formats/interchange/protobuf.h"
#include "images/image_outline.h"
#include "images/image_symbol.h"
#include "images/link_map.h"

enum {
    HEADER_BYTES = 32,
    PAYLOAD_MAX_BYTES = 64 << 10,
    ATTRIBUTES_MAX = 128,
    TEXT_MAX_BYTES = 1024,
    VERSION_DRAFT = 1,
    VERSION = 2,
    RECORD_BYTES = 28,
    RECORD_ATTRIBUTES_MAX_BYTES = 1024,
};

static const char variable_name[] = "otel_thread_ctx_v1";

// An otel_value is an AnyValue of the kinds that are read.
struct otel_value {
    enum { VALUE_OTHER, VALUE_STRING, VALUE_BOOL, VALUE_INT, VALUE_ARRAY } kind;
    uint64_t number;
    struct cursor bytes; // of a string, or of an ArrayValue
};

static struct otel_value otel_read_value(struct cursor message)
{
    struct otel_value value = { .kind = VALUE_OTHER };
    struct protobuf_field field;
    while (protobuf_next(&message, &field)) {
        value.kind = field.number == 1   ? VALUE_STRING
                     : field.number == 2 ? VALUE_BOOL
                     : field.number == 3 ? VALUE_INT
                     : field.number == 5 ? VALUE_ARRAY
                                         : VALUE_OTHER;
        value.number = field.value;
        value.bytes = field.bytes;
    }
    return value;
}

struct otel_attribute {
    struct cursor key;
    struct otel_value value;
    bool of_resource; // false: is for readers of the context, as the Resource's are not
};

// An attribute_walk goes through the attributes of a payload. Specified is a
// ProcessContext: a Resource (1), whose attributes are its field 1, and more attributes
// (2). Publishers that follow earlier drafts write a Resource without the message
// around it.
struct attribute_walk {
    struct cursor payload;
    struct cursor resource; // what is left of the Resource in the payload
};

static struct attribute_walk walk_attributes(const struct otel_context *context)
{
    return (struct attribute_walk){ .payload = cursor_over(context->payload.bytes,
                                                           context->payload.size) };
}

// read_attribute reads a KeyValue. false: it is damaged, or it is a Resource, whose
// field 2 is no message.
static bool read_attribute(struct cursor pair, struct otel_attribute *out)
{
    struct protobuf_field field;
    bool has_value = false;
    *out = (struct otel_attribute){ .value.kind = VALUE_OTHER };
    while (protobuf_next(&pair, &field)) {
        if (field.number == 1) {
            out->key = field.bytes;
        } else if (field.number == 2 && field.bytes.begin != NULL) {
            out->value = otel_read_value(field.bytes);
            has_value = true;
        }
    }
    return cursor_ok(&pair) && has_value;
}

static bool next_attribute(struct attribute_walk *walk, struct otel_attribute *out)
{
    struct protobuf_field field;
    for (;;) {
        bool in_resource = protobuf_next(&walk->resource, &field);
        if (!in_resource && !protobuf_next(&walk->payload, &field))
            return false;
        bool extra = !in_resource && field.number == 2;
        if ((field.number == 1 || extra) && read_attribute(field.bytes, out)) {
            out->of_resource = !extra;
            return true;
        }
        if (!in_resource && field.number == 1)
            walk->resource = field.bytes;
    }
}

static bool otel_is_text(struct cursor c, const char *text)
{
    size_t size = strlen(text);
    return cursor_left(&c) == size && memcmp(c.at, text, size) == 0;
}

// otel_read_header reads the header of a mapping; false: it is none, or is being
// written.
static bool otel_read_header(const struct capture *capture, uint64_t start,
                             uint64_t *out_published, uint64_t *out_payload,
                             uint32_t *out_size)
{
    uint8_t bytes[HEADER_BYTES];
    if (memory_read(&capture->reader, start, bytes, sizeof(bytes)) != CH_OK ||
        memcmp(bytes, "OTEL_CTX", 8) != 0)
        return false;
    struct cursor c = cursor_over(bytes, sizeof(bytes));
    c.big_endian = capture->reader.big_endian;
    cursor_skip(&c, 8);
    uint32_t version = cursor_u32(&c);
    *out_size = cursor_u32(&c);
    *out_published = cursor_u64(&c);
    *out_payload = cursor_u64(&c);
    return (version == VERSION || version == VERSION_DRAFT) && *out_published != 0 &&
           *out_size != 0 && *out_size <= PAYLOAD_MAX_BYTES;
}

// read_payload copies the message that the header at start points to. The threads are
// stopped, but for the one that crashed, so the header is not read again.
static void read_payload(const struct capture *capture, uint64_t start,
                         struct text *out)
{
    uint64_t published;
    uint64_t payload;
    uint32_t size;
    if (!otel_read_header(capture, start, &published, &payload, &size))
        return;
    uint8_t *bytes = malloc(size);
    if (bytes != NULL && memory_read(&capture->reader, payload, bytes, size) == CH_OK)
        text_append(out, bytes, size);
    free(bytes);
}

static bool is_context_mapping(const struct target_mapping *mapping)
{
    static const char *const names[] = { "/memfd:OTEL_CTX", "[anon_shmem:OTEL_CTX]",
                                         "[anon:OTEL_CTX]" };
    bool is = false;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        size_t size = strlen(names[i]);
        is |= mapping->path_size >= size && memcmp(mapping->path, names[i], size) == 0;
    }
    return is;
}

// otel_read_keys notes the names that records refer to, and returns whether threads
// have records of a known form.
static bool otel_read_keys(struct otel_context *context)
{
    struct attribute_walk walk = walk_attributes(context);
    struct otel_attribute attribute;
    bool known = false;
    while (next_attribute(&walk, &attribute)) {
        struct otel_value *value = &attribute.value;
        struct protobuf_field field;
        if (otel_is_text(attribute.key, "threadlocal.schema_version") &&
            value->kind == VALUE_STRING)
            known = otel_is_text(value->bytes, "tls_v1") ||
                    otel_is_text(value->bytes, "tlsdesc_v1_dev");
        if (!otel_is_text(attribute.key, "threadlocal.attribute_key_map") ||
            value->kind != VALUE_ARRAY)
            continue;
        context->key_count = 0;
        while (context->key_count < OTEL_KEYS_MAX &&
               protobuf_next(&value->bytes, &field)) {
            if (field.number != 1)
                continue;
            struct otel_value name = otel_read_value(field.bytes);
            context->keys[context->key_count++] =
                name.kind == VALUE_STRING ? name.bytes : cursor_over(NULL, 0);
        }
    }
    return known;
}

// A module_search looks for the number of a module in the dynamic linker's list.
struct module_search {
    const struct memory_reader *memory;
    uint64_t bias;
    uint32_t offset; // of the number in a struct link_map
    uint64_t module;
};

static enum ch_status find_module(void *context, const struct link_map_entry *entry)
{
    struct module_search *search = context;
    if (entry->bias != search->bias)
        return CH_OK;
    enum ch_status status = memory_read_word(
        search->memory, entry->address + search->offset, &search->module);
    return status == CH_OK ? CH_END : status;
}

// glibc_module is the number of an image's module; 0: not known. glibc describes its
// structures for debuggers in three words: size in bits, count, offset.
static uint64_t glibc_module(const struct capture *capture,
                             const struct target_image *image)
{
    struct module_search search = { .memory = &capture->reader, .bias = image->bias };
    uint64_t place =
        image_symbol_find_in(&capture->reader, &capture->images, "/libc.so",
                             "_thread_db_link_map_l_tls_modid");
    uint8_t words[12];
    if (place == 0 ||
        memory_read(&capture->reader, place, words, sizeof(words)) != CH_OK)
        return 0;
    memcpy(&search.offset, words + 8, sizeof(search.offset));
    for (size_t i = 0; i < capture->images.count && search.module == 0; i++) {
        uint64_t dynamic = capture->images.images[i].dynamic;
        if (dynamic != 0 && capture->images.images[i].entry != 0)
            (void)!link_map_walk(&capture->reader, dynamic, find_module, &search);
    }
    return search.module;
}

// program_block gives the distance of the program's thread-local storage from the
// thread pointer, which the ABI fixes. false: the image has none.
static bool program_block(const struct capture *capture,
                          const struct target_image *image, uint64_t *out)
{
    struct image_outline outline;
    if (image_outline_read(&capture->reader, image->base, true, &outline) != CH_OK ||
        outline.storage_align == 0)
        return false;
    const bool amd64 = capture->arch->id == UNWIND_ARCH_AMD64;
    const uint64_t size =
        (amd64 ? outline.storage_size : 16) + outline.storage_align - 1;
    const uint64_t aligned = size / outline.storage_align * outline.storage_align;
    *out = amd64 ? -aligned : aligned;
    return true;
}

static void find_variable(const struct capture *capture, struct otel_context *context)
{
    const struct text *program = &capture->process.executable;
    for (size_t i = 0; i < capture->images.count && !context->has_variable; i++) {
        const struct target_image *image = &capture->images.images[i];
        uint64_t address;
        if (image_symbol_find(&capture->reader, image, variable_name, &address) !=
            CH_OK)
            continue;
        bool is_program = image->path_size == program->size && program->size != 0 &&
                          memcmp(image->path, program->bytes, program->size) == 0;
        // The symbol's value is an offset; the lookup has added the bias.
        context->offset = address - image->bias;
        context->module = glibc_module(capture, image);
        context->has_variable =
            context->module != 0 ||
            (is_program && program_block(capture, image, &context->from_thread));
    }
}

void otel_context_read(const struct capture *capture, struct otel_context *out)
{
    for (size_t i = 0; i < capture->images.mapping_count && out->payload.size == 0;
         i++) {
        const struct target_mapping *mapping = &capture->images.mappings[i];
        if (is_context_mapping(mapping))
            read_payload(capture, mapping->start, &out->payload);
    }
    if (out->payload.size != 0 && !capture->narrow && otel_read_keys(out))
        find_variable(capture, out);
}

void otel_context_deinit(struct otel_context *context)
{
    text_deinit(&context->payload);
}

// otel_write_attribute writes {"key": ..., "value": ...}: names are the program's own,
// and may occur twice.
static void otel_write_attribute(struct json_writer *w, const struct capture *capture,
                                 struct cursor key, const char *value)
{
    char name[TEXT_MAX_BYTES];
    (void)snprintf(name, sizeof(name), "%.*s", (int)cursor_left(&key),
                   (const char *)key.at);
    json_write_object(w);
    raw_write_words(w, capture, "key", name);
    json_write_key(w, "value");
    raw_write_named_value(w, capture, name, strlen(name), value);
    json_write_end(w, '}');
}

void otel_context_write(struct json_writer *w, const struct capture *capture,
                        const struct otel_context *context)
{
    static const char coordination[] = "threadlocal."; // is for readers alone
    struct attribute_walk walk = walk_attributes(context);
    struct otel_attribute attribute;
    if (context->payload.size == 0)
        return;
    json_write_key(w, "resource");
    json_write_array(w);
    for (size_t i = 0; i < ATTRIBUTES_MAX && next_attribute(&walk, &attribute); i++) {
        struct cursor key = attribute.key;
        struct otel_value value = attribute.value;
        char text[TEXT_MAX_BYTES] = "";
        size_t length = sizeof(coordination) - 1;
        if (!attribute.of_resource || cursor_left(&key) == 0 ||
            cursor_left(&key) > 255 ||
            (cursor_left(&key) >= length && memcmp(key.at, coordination, length) == 0))
            continue;
        if (value.kind == VALUE_STRING)
            (void)snprintf(text, sizeof(text), "%.*s",
                           (int)(cursor_left(&value.bytes) < sizeof(text)
                                     ? cursor_left(&value.bytes)
                                     : sizeof(text) - 1),
                           (const char *)value.bytes.at);
        else if (value.kind == VALUE_INT)
            (void)snprintf(text, sizeof(text), "%" PRId64, (int64_t)value.number);
        else if (value.kind == VALUE_BOOL)
            (void)snprintf(text, sizeof(text), "%s",
                           value.number != 0 ? "true" : "false");
        else
            continue;
        otel_write_attribute(w, capture, key, text);
    }
    json_write_end(w, ']');
}

// otel_find_record gives the address of a thread's record; false: it has none.
static bool otel_find_record(const struct capture *capture,
                             const struct otel_context *context,
                             uint64_t thread_pointer, uint64_t *out)
{
    enum { VECTOR_AMD64 = 8, VECTOR_AARCH64 = 0, SLOT_BYTES = 16 };
    const struct memory_reader *memory = &capture->reader;
    bool amd64 = capture->arch->id == UNWIND_ARCH_AMD64;
    uint64_t block = thread_pointer + context->from_thread;
    uint64_t vector = 0;
    uint64_t most = 0;
    if (context->module != 0) {
        // The slot before the vector's first has their number.
        if (memory_read_word(memory,
                             thread_pointer + (amd64 ? VECTOR_AMD64 : VECTOR_AARCH64),
                             &vector) != CH_OK ||
            memory_read_word(memory, vector - SLOT_BYTES, &most) != CH_OK ||
            context->module > most ||
            memory_read_word(memory, vector + SLOT_BYTES * context->module, &block) !=
                CH_OK ||
            block == UINT64_MAX || block == 0)
            return false; // the thread has not used the module
    }
    return memory_read_word(memory, block + context->offset, out) == CH_OK && *out != 0;
}

// write_record_attributes writes the attributes of a record; of two with one key the
// last counts.
static void write_record_attributes(struct json_writer *w,
                                    const struct capture *capture,
                                    const struct otel_context *context,
                                    struct cursor attributes)
{
    struct cursor values[OTEL_KEYS_MAX] = { 0 };
    bool any = false;
    while (cursor_left(&attributes) != 0) {
        uint8_t key = cursor_u8(&attributes);
        struct cursor value = cursor_child(&attributes, cursor_u8(&attributes));
        if (!cursor_ok(&attributes))
            break;
        if (key < context->key_count)
            values[key] = value;
    }
    for (size_t i = 0; i < context->key_count; i++) {
        char text[256];
        if (cursor_left(&values[i]) == 0 || cursor_left(&context->keys[i]) == 0 ||
            cursor_left(&context->keys[i]) > 255)
            continue;
        if (!any) {
            json_write_key(w, "attributes");
            json_write_array(w);
        }
        any = true;
        (void)snprintf(text, sizeof(text), "%.*s", (int)cursor_left(&values[i]),
                       (const char *)values[i].at);
        otel_write_attribute(w, capture, context->keys[i], text);
    }
    if (any)
        json_write_end(w, ']');
}

void otel_thread_write(struct json_writer *w, const struct capture *capture,
                       const struct otel_context *context, uint64_t thread_pointer)
{
    static const uint8_t zeros[16];
    uint8_t record[RECORD_BYTES + RECORD_ATTRIBUTES_MAX_BYTES];
    char trace[33];
    char span[17];
    uint64_t address;
    uint16_t size;
    if (!context->has_variable || thread_pointer == 0 ||
        !otel_find_record(capture, context, thread_pointer, &address) ||
        memory_read(&capture->reader, address, record, RECORD_BYTES) != CH_OK ||
        record[24] != 1)
        return;
    memcpy(&size, record + 26, sizeof(size));
    if (size > RECORD_ATTRIBUTES_MAX_BYTES ||
        memory_read(&capture->reader, address + RECORD_BYTES, record + RECORD_BYTES,
                    size) != CH_OK)
        size = 0;
    bool active = memcmp(record, zeros, 16) != 0 && memcmp(record + 16, zeros, 8) != 0;
    if (!active && size == 0)
        return;
    json_write_key(w, "trace");
    json_write_object(w);
    if (active) {
        hex_encode(record, 16, trace);
        hex_encode(record + 16, 8, span);
        raw_write_string(w, "trace_id", trace);
        raw_write_string(w, "span_id", span);
        raw_write_count(w, "flags", record[25]);
    }
    write_record_attributes(w, capture, context,
                            cursor_over(record + RECORD_BYTES, size));
    json_write_end(w, '}');
}
