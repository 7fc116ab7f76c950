// SPDX-License-Identifier: Apache-2.0
#include "agent/exception.h"

#include <stdbool.h>
#include <string.h>

#include "agent/abort_message.h"
#include "base/text.h"

// A layout describes struct __cxa_exception (unwind-cxx.h, cxa_exception.h), which
// precedes the thrown object, on 64-bit machines. libc++abi's begins with two more
// words. A dependent exception, which stands for one that an exception_ptr kept, has a
// pointer to the thrown object: libstdc++ has it in the place of the type, libc++abi in
// the second word.
static const struct layout {
    uint64_t class;    // the exception class as a number, its last byte 0; a dependent
                       // one's is 1
    uint64_t class_at; // offsets from the header's beginning
    uint64_t type_at;
    uint64_t object_at; // of a dependent one
    uint64_t size;
    bool dependent_has_type;
} layouts[] = {
    { UINT64_C(0x474e5543432b2b00), 80, 0, 0, 112, false }, // "GNUCC++"
    { UINT64_C(0x434c4e47432b2b00), 96, 16, 8, 128, true }, // "CLNGC++"
};

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

// Limits of the stack search, and how far into terminate a call can be.
enum { STACK_BYTES = 64 * 1024, STACK_WORDS = 64, TERMINATE_BYTES = 31 };

enum { TEXT_OF_ERROR = 8, TYPES_MAX = 32, BASES_MAX = 16, KIND_NAME_MAX = 64 };

struct thrown {
    uint64_t type;
    uint64_t object;
};

static enum ch_status read_type_name(const struct memory_reader *reader, uint64_t type,
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

// is_in_terminate is whether address is in a function that calls the terminate handler.
// That is std::terminate, or the unexported function that a noexcept function ends in:
// libstdc++ has it just before std::set_terminate, libc++abi just after
// std::get_terminate, which itself calls nothing. All are short.
static bool is_in_terminate(const struct exception_place *place, uint64_t address)
{
    return (place->terminate != 0 &&
            address - place->terminate - 1 < TERMINATE_BYTES) ||
           (place->set_terminate != 0 &&
            place->set_terminate - address - 1 < TERMINATE_BYTES) ||
           (place->get_terminate != 0 &&
            address - place->get_terminate - 1 < TERMINATE_BYTES);
}

// in_terminate is whether a call made by terminate has not returned. No older frame
// leaves such an address on a stack, because the program ends there.
static bool in_terminate(const struct memory_reader *reader,
                         const struct exception_place *place)
{
    uint64_t words[STACK_WORDS];
    for (size_t read = 0; read < STACK_BYTES; read += sizeof(words)) {
        if (memory_read(reader, place->sp + read, words, sizeof(words)) != CH_OK)
            return false;
        for (size_t i = 0; i < STACK_WORDS; i++) {
            if (is_in_terminate(place, words[i]))
                return true;
        }
    }
    return false;
}

// find_by reads an exception of this layout. CH_ERR_UNSUPPORTED: it has another one.
static enum ch_status find_by(const struct memory_reader *reader, uint64_t header,
                              const struct layout *layout, struct thrown *out)
{
    uint64_t class;
    uint64_t type = 0;
    uint64_t object = header + layout->size;
    enum ch_status status = memory_read_word(reader, header + layout->class_at, &class);
    if (status != CH_OK)
        return status;
    bool dependent = class == layout->class + 1;
    if (class != layout->class && !dependent)
        return CH_ERR_UNSUPPORTED;
    if (dependent)
        status = memory_read_word(reader, header + layout->object_at, &object);
    // A dependent exception without a type has it in the object's own header.
    uint64_t from =
        dependent && !layout->dependent_has_type ? object - layout->size : header;
    if (status == CH_OK)
        status = memory_read_word(reader, from + layout->type_at, &type);
    if (status == CH_OK)
        *out = (struct thrown){ .type = type, .object = object };
    return status;
}

static enum ch_status find_thrown(const struct memory_reader *reader, uint64_t header,
                                  struct thrown *out)
{
    enum ch_status status = CH_ERR_UNSUPPORTED;
    for (size_t i = 0; status != CH_OK && i < sizeof(layouts) / sizeof(layouts[0]); i++)
        status = find_by(reader, header, &layouts[i], out);
    return status;
}

// A walk is the types still to be visited: the type itself and its bases, nearest
// first.
struct walk {
    struct thrown types[TYPES_MAX];
    size_t count;
};

static void add_type(struct walk *walk, uint64_t type, uint64_t object)
{
    if (walk->count < TYPES_MAX)
        walk->types[walk->count++] = (struct thrown){ type, object };
}

static void add_many_bases(const struct memory_reader *reader, struct thrown from,
                           struct walk *walk)
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
        if ((flags & BASE_VIRTUAL) == 0)
            add_type(walk, base,
                     from.object + (uint64_t)((int64_t)flags >> BASE_OFFSET_SHIFT));
    }
}

// add_bases adds the bases of a type. Its kind of type_info tells where they are: the
// word before its vtable's functions points to the type_info of that kind.
static void add_bases(const struct memory_reader *reader, struct thrown from,
                      struct walk *walk)
{
    char kind[KIND_NAME_MAX];
    uint64_t vtable;
    uint64_t own_type;
    uint64_t base;
    if (memory_read_word(reader, from.type, &vtable) != CH_OK ||
        memory_read_word(reader, vtable - 8, &own_type) != CH_OK ||
        read_type_name(reader, own_type, kind, sizeof(kind)) != CH_OK)
        return;
    if (strcmp(kind, "N10__cxxabiv120__si_class_type_infoE") == 0 &&
        memory_read_word(reader, from.type + INFO_SINGLE_BASE, &base) == CH_OK)
        add_type(walk, base, from.object);
    else if (strcmp(kind, "N10__cxxabiv121__vmi_class_type_infoE") == 0)
        add_many_bases(reader, from, walk);
}

static void read_what(const struct memory_reader *reader, struct thrown thrown,
                      char out[static EXCEPTION_WHAT_MAX])
{
    struct walk walk = { .types = { thrown }, .count = 1 };
    for (size_t i = 0; i < walk.count; i++) {
        char name[EXCEPTION_TYPE_MAX];
        uint64_t text;
        if (read_type_name(reader, walk.types[i].type, name, sizeof(name)) != CH_OK)
            continue;
        if (strcmp(name, "St11logic_error") != 0 &&
            strcmp(name, "St13runtime_error") != 0) {
            add_bases(reader, walk.types[i], &walk);
            continue;
        }
        out[0] = 0;
        enum ch_status status =
            memory_read_word(reader, walk.types[i].object + TEXT_OF_ERROR, &text);
        if (status == CH_OK)
            status = memory_read_string(reader, text, out, EXCEPTION_WHAT_MAX);
        if (status != CH_OK && status != CH_ERR_TRUNCATED)
            out[0] = 0;
        abort_message_clean(out);
        return;
    }
}

enum ch_status exception_read(const struct memory_reader *reader,
                              const struct exception_place *place,
                              struct exception *out)
{
    struct exception found = { 0 };
    struct thrown thrown;
    uint64_t header;
    if (place->globals == 0)
        return CH_ERR_NOT_FOUND;
    enum ch_status status = memory_read_word(reader, place->globals, &header);
    if (status != CH_OK)
        return status;
    if (header == 0 || !in_terminate(reader, place))
        return CH_ERR_NOT_FOUND;
    status = find_thrown(reader, header, &thrown);
    if (status == CH_OK)
        status = read_type_name(reader, thrown.type, found.type, sizeof(found.type));
    if (status != CH_OK)
        return status;
    abort_message_clean(found.type);
    if (found.type[0] == 0)
        return CH_ERR_MALFORMED;
    exception_type_name(found.type);
    read_what(reader, thrown, found.what);
    *out = found;
    return CH_OK;
}

// next_name moves one length-prefixed name from text to out.
static bool next_name(const char **text, struct text *out)
{
    size_t length = 0;
    const char *at = *text;
    for (; *at >= '0' && *at <= '9' && length < EXCEPTION_TYPE_MAX; at++)
        length = length * 10 + (size_t)(*at - '0');
    if (length == 0 || length > strlen(at))
        return false;
    if (length >= strlen("_GLOBAL__N_") && strncmp(at, "_GLOBAL__N_", 11) == 0)
        text_append_string(out, "(anonymous namespace)");
    else
        text_append(out, at, length);
    *text = at + length;
    return true;
}

// next_part moves a name from text to out, with the ABI tags by which libstdc++ marks
// its newer types.
static bool next_part(const char **text, struct text *out)
{
    if (!next_name(text, out))
        return false;
    while (**text == 'B') {
        ++*text;
        text_append_string(out, "[abi:");
        if (!next_name(text, out))
            return false;
        text_append_string(out, "]");
    }
    return true;
}

// read_plain_name demangles a nested name (Itanium C++ ABI, section 5.1.2). It succeeds
// only when all of name is consumed.
static bool read_plain_name(const char *name, struct text *out)
{
    bool nested = *name == 'N';
    const char *at = name + nested;
    if (strncmp(at, "St", 2) == 0) {
        text_append_string(out, "std::");
        at += 2;
    }
    if (!next_part(&at, out))
        return false;
    while (nested && *at != 'E') {
        text_append_string(out, "::");
        if (!next_part(&at, out))
            return false;
    }
    return at[nested] == 0;
}

void exception_type_name(char name[static EXCEPTION_TYPE_MAX])
{
    static const char *const others[][2] = {
        { "i", "int" },
        { "PKc", "char const*" },
        { "NSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE", "std::string" },
    };
    struct text out = { .limit_bytes = EXCEPTION_TYPE_MAX - 1 };
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        if (strcmp(name, others[i][0]) == 0) {
            memcpy(name, others[i][1], strlen(others[i][1]) + 1);
            return;
        }
    }
    if (read_plain_name(name, &out) && text_ok(&out))
        memcpy(name, out.bytes, out.size + 1);
    text_deinit(&out);
}
