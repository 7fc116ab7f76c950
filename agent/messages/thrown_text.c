// SPDX-License-Identifier: Apache-2.0
#include "agent/messages/thrown_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "agent/follow/code_walk.h"
#include "agent/messages/abort_message.h"

// std::type_info: a vtable pointer and a name; then any bases.
enum {
    INFO_NAME = 8,
    INFO_SINGLE_BASE = 16,
    INFO_BASE_COUNT = 20,
    INFO_BASES = 24,
    BASE_BYTES = 16,
    BASE_VIRTUAL = 1,
    BASE_OFFSET_SHIFT = 8,
};

// what() follows the two destructors in a vtable (Itanium C++ ABI, section 2.5.2).
enum { WHAT_IN_VTABLE = 16, TEXT_OF_ERROR = 8 };

enum { TYPES_MAX = 32, BASES_MAX = 16, KIND_NAME_MAX = 64 };

enum ch_status thrown_type_name(const struct memory_reader *reader, uint64_t type,
                                char *out, size_t size)
{
    uint64_t name;
    enum ch_status status = memory_read_word(reader, type + INFO_NAME, &name);
    if (status != CH_OK)
        return status;
    status = memory_read_string(reader, name, out, size);
    // A leading star marks a name that is local to one file.
    if (status == CH_OK && out[0] == '*')
        memmove(out, out + 1, strlen(out));
    return status;
}

// A walk is the types still to be visited: the type itself and its bases, nearest
// first.
struct walk {
    struct thrown_object types[TYPES_MAX];
    size_t count;
};

static void add_type(struct walk *walk, uint64_t type, uint64_t object)
{
    if (walk->count < TYPES_MAX)
        walk->types[walk->count++] = (struct thrown_object){ type, object };
}

// read_virtual_offset reads where a virtual base is in object: at *offset from what its
// vtable pointer points to.
static bool read_virtual_offset(const struct memory_reader *reader, uint64_t object,
                                int64_t *offset)
{
    uint64_t vtable;
    uint64_t found;
    if (memory_read_word(reader, object, &vtable) != CH_OK ||
        memory_read_word(reader, vtable + (uint64_t)*offset, &found) != CH_OK)
        return false;
    *offset = (int64_t)found;
    return true;
}

static void add_many_bases(const struct memory_reader *reader,
                           struct thrown_object from, struct walk *walk)
{
    uint32_t count;
    if (memory_read(reader, from.type + INFO_BASE_COUNT, &count, sizeof(count)) !=
        CH_OK)
        return;
    for (uint32_t i = 0; i < count && i < BASES_MAX; i++) {
        uint64_t at = from.type + INFO_BASES + (uint64_t)i * BASE_BYTES;
        uint64_t base;
        uint64_t flags;
        if (memory_read_word(reader, at, &base) != CH_OK ||
            memory_read_word(reader, at + 8, &flags) != CH_OK)
            return;
        int64_t offset = (int64_t)flags >> BASE_OFFSET_SHIFT;
        if ((flags & BASE_VIRTUAL) != 0 &&
            !read_virtual_offset(reader, from.object, &offset))
            continue;
        add_type(walk, base, from.object + (uint64_t)offset);
    }
}

// add_bases adds the bases of a type. Its kind of type_info tells where they are: the
// word before its vtable's functions points to the type_info of that kind.
static void add_bases(const struct memory_reader *reader, struct thrown_object from,
                      struct walk *walk)
{
    char kind[KIND_NAME_MAX];
    uint64_t vtable;
    uint64_t own_type;
    uint64_t base;
    if (memory_read_word(reader, from.type, &vtable) != CH_OK ||
        memory_read_word(reader, vtable - 8, &own_type) != CH_OK ||
        thrown_type_name(reader, own_type, kind, sizeof(kind)) != CH_OK)
        return;
    bool single = strcmp(kind, "N10__cxxabiv120__si_class_type_infoE") == 0 ||
                  strcmp(kind, "St19__iosfail_type_info") == 0; // std::__ios_failure's
    if (single &&
        memory_read_word(reader, from.type + INFO_SINGLE_BASE, &base) == CH_OK)
        add_type(walk, base, from.object);
    else if (strcmp(kind, "N10__cxxabiv121__vmi_class_type_infoE") == 0)
        add_many_bases(reader, from, walk);
}

void thrown_declared(const struct memory_reader *reader, struct thrown_object *thrown)
{
    static const char *const derived[] = { "St17_Nested_exceptionI", // libstdc++
                                           "St13__ios_failure",
                                           "NSt3__18__nestedI" }; // libc++
    struct walk bases = { .count = 0 };
    char name[EXCEPTION_TYPE_MAX];
    if (thrown_type_name(reader, thrown->type, name, sizeof(name)) != CH_OK)
        return;
    for (size_t i = 0; i < sizeof(derived) / sizeof(derived[0]); i++) {
        if (strncmp(name, derived[i], strlen(derived[i])) != 0)
            continue;
        add_bases(reader, *thrown, &bases);
        if (bases.count != 0)
            *thrown = bases.types[0];
        return;
    }
}

uint64_t thrown_nested(const struct memory_reader *reader,
                       const struct thrown_object *thrown)
{
    enum { POINTER_AT = 8 };
    struct walk walk = { .types = { *thrown }, .count = 1 };
    for (size_t i = 0; i < walk.count; i++) {
        char name[EXCEPTION_TYPE_MAX];
        uint64_t nested;
        if (thrown_type_name(reader, walk.types[i].type, name, sizeof(name)) == CH_OK &&
            strcmp(name, "St16nested_exception") == 0)
            return memory_read_word(reader, walk.types[i].object + POINTER_AT,
                                    &nested) == CH_OK
                       ? nested
                       : 0;
        add_bases(reader, walk.types[i], &walk);
    }
    return 0;
}

// read_words reads a text as far as it can be read.
static bool read_words(const struct memory_reader *reader, uint64_t address,
                       char out[static EXCEPTION_WHAT_MAX])
{
    out[0] = 0;
    enum ch_status status =
        memory_read_string(reader, address, out, EXCEPTION_WHAT_MAX);
    if (status != CH_OK && status != CH_ERR_TRUNCATED)
        out[0] = 0;
    abort_message_clean(out);
    return out[0] != 0;
}

// follow_what reads what the what() of a std::exception at object returns.
// CH_ERR_FAULT: what() cannot be read; other errors: it is not understood.
static enum ch_status follow_what(const struct memory_reader *reader,
                                  const struct thrown_code *code, uint64_t object,
                                  char out[static EXCEPTION_WHAT_MAX])
{
    const struct code_walk walk = { .arch = code->arch,
                                    .memory = reader,
                                    .is_code = code->is_code,
                                    .context = code->context };
    uint64_t vtable;
    uint64_t function;
    uint64_t text;
    if (code->is_code == NULL)
        return CH_ERR_FAULT;
    enum ch_status status = memory_read_word(reader, object, &vtable);
    if (status == CH_OK)
        status = memory_read_word(reader, vtable + WHAT_IN_VTABLE, &function);
    if (status == CH_OK)
        status = code_walk_call(&walk, function, object, &text);
    return status == CH_OK && !read_words(reader, text, out) ? CH_ERR_NOT_FOUND
                                                             : status;
}

// read_error reads the text that a std::logic_error or std::runtime_error has.
static bool read_error(const struct memory_reader *reader, uint64_t object,
                       char out[static EXCEPTION_WHAT_MAX])
{
    uint64_t text;
    return memory_read_word(reader, object + TEXT_OF_ERROR, &text) == CH_OK &&
           read_words(reader, text, out);
}

// read_thrown_what searches the bases of a class for those that have a text.
static void read_thrown_what(const struct memory_reader *reader,
                             const struct thrown_code *code,
                             const struct thrown_object *thrown,
                             char out[static EXCEPTION_WHAT_MAX])
{
    static const char stream[] = "NSt8ios_base7failureB5cxx11E";
    char of_error[EXCEPTION_WHAT_MAX] = "";
    bool below = false;
    struct walk walk = { .types = { *thrown }, .count = 1 };
    for (size_t i = 0; i < walk.count; i++) {
        char name[EXCEPTION_TYPE_MAX];
        if (thrown_type_name(reader, walk.types[i].type, name, sizeof(name)) != CH_OK)
            continue;
        // A what() that is not understood returns something else than the text below.
        // That of a stream's failure calls the one below, through a PLT.
        below = below || (i == 0 && strcmp(name, stream) == 0);
        if (strcmp(name, "St9exception") == 0 && !below &&
            follow_what(reader, code, walk.types[i].object, out) != CH_ERR_FAULT)
            return;
        if (strcmp(name, "St11logic_error") == 0 ||
            strcmp(name, "St13runtime_error") == 0)
            (void)read_error(reader, walk.types[i].object, of_error);
        add_bases(reader, walk.types[i], &walk);
    }
    memcpy(out, of_error, strlen(of_error) + 1);
}

// read_counted reads a text of a known length, which may have no end mark.
static void read_counted(const struct memory_reader *reader, uint64_t address,
                         uint64_t size, char out[static EXCEPTION_WHAT_MAX])
{
    size_t kept = size < EXCEPTION_WHAT_MAX - 1 ? (size_t)size : EXCEPTION_WHAT_MAX - 1;
    if (memory_read(reader, address, out, kept) != CH_OK)
        kept = 0;
    out[kept] = 0;
    abort_message_clean(out);
}

// read_libstdcxx_string reads a libstdc++ string: a pointer and a length.
static void read_libstdcxx_string(const struct memory_reader *reader, uint64_t object,
                                  char out[static EXCEPTION_WHAT_MAX])
{
    uint64_t text;
    uint64_t size;
    if (memory_read_word(reader, object, &text) == CH_OK &&
        memory_read_word(reader, object + 8, &size) == CH_OK)
        read_counted(reader, text, size, out);
}

// read_libcxx_string reads a libc++ string: the lowest bit of its first byte says
// whether capacity, length and a pointer follow, or the text itself.
static void read_libcxx_string(const struct memory_reader *reader, uint64_t object,
                               char out[static EXCEPTION_WHAT_MAX])
{
    uint8_t first;
    if (memory_read(reader, object, &first, sizeof(first)) != CH_OK)
        return;
    if (!(first & 1)) {
        read_counted(reader, object + 1, first >> 1, out);
        return;
    }
    uint64_t text;
    uint64_t size;
    if (memory_read_word(reader, object + 8, &size) == CH_OK &&
        memory_read_word(reader, object + 16, &text) == CH_OK)
        read_counted(reader, text, size, out);
}

static void read_text_pointer(const struct memory_reader *reader, uint64_t object,
                              char out[static EXCEPTION_WHAT_MAX])
{
    uint64_t text;
    if (memory_read_word(reader, object, &text) == CH_OK)
        (void)read_words(reader, text, out);
}

// write_number formats a number of a fundamental type (Itanium C++ ABI, section 5.1.5).
static void write_number(char type, const uint8_t bytes[static 8],
                         char out[static EXCEPTION_WHAT_MAX])
{
    float single;
    double number;
    int64_t value;
    memcpy(&single, bytes, sizeof(single));
    memcpy(&number, bytes, sizeof(number));
    memcpy(&value, bytes, sizeof(value));
    switch (type) {
    case 'b':
        snprintf(out, EXCEPTION_WHAT_MAX, "%s", bytes[0] != 0 ? "true" : "false");
        return;
    case 'f':
    case 'd':
        snprintf(out, EXCEPTION_WHAT_MAX, "%g", type == 'f' ? (double)single : number);
        return;
    case 'm':
    case 'y':
        snprintf(out, EXCEPTION_WHAT_MAX, "%" PRIu64, (uint64_t)value);
        return;
    case 'c':
    case 'a':
        value = bytes[0] - (bytes[0] > INT8_MAX ? 1 + UINT8_MAX : 0);
        break;
    case 'h':
        value = bytes[0];
        break;
    case 's':
        value = (int16_t)value;
        break;
    case 't':
        value = (uint16_t)value;
        break;
    case 'i':
        value = (int32_t)value;
        break;
    case 'j':
        value = (uint32_t)value;
        break;
    default:
        break;
    }
    snprintf(out, EXCEPTION_WHAT_MAX, "%" PRId64, value);
}

// number_bytes is the size of a fundamental type, 0 for any other.
static size_t number_bytes(const char *name)
{
    static const char *const types[] = {
        [1] = "bcah", [2] = "st", [4] = "ijf", [8] = "lmxyd"
    };
    for (size_t i = 1; i < sizeof(types) / sizeof(types[0]); i++)
        if (types[i] != NULL && name[0] != 0 && name[1] == 0 &&
            strchr(types[i], name[0]) != NULL)
            return i;
    return 0;
}

void thrown_text_read(const struct memory_reader *reader,
                      const struct thrown_code *code,
                      const struct thrown_object *thrown,
                      char out[static EXCEPTION_WHAT_MAX])
{
    static const struct {
        const char *name;
        void (*read)(const struct memory_reader *, uint64_t, char *);
    } texts[] = {
        { "PKc", read_text_pointer },
        { "Pc", read_text_pointer },
        { "NSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE",
          read_libstdcxx_string },
        { "NSt3__112basic_stringIcNS_11char_traitsIcEENS_9allocatorIcEEEE",
          read_libcxx_string },
    };
    char name[EXCEPTION_TYPE_MAX];
    uint8_t bytes[8] = { 0 };
    out[0] = 0;
    if (thrown_type_name(reader, thrown->type, name, sizeof(name)) != CH_OK)
        return;
    size_t size = number_bytes(name);
    if (size != 0) {
        if (memory_read(reader, thrown->object, bytes, size) == CH_OK)
            write_number(name[0], bytes, out);
        return;
    }
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        if (strcmp(name, texts[i].name) != 0)
            continue;
        texts[i].read(reader, thrown->object, out);
        return;
    }
    read_thrown_what(reader, code, thrown, out);
}
