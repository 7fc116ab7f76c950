// SPDX-License-Identifier: Apache-2.0
#include "agent/messages/exception.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>

#include "agent/follow/code_walk.h"
#include "agent/live/capture.h"
#include "agent/messages/abort_message.h"
#include "agent/messages/thrown_text.h"
#include "base/cursor.h"
#include "base/text.h"
#include "base/utf8.h"
#include "images/image_frames.h"
#include "images/image_symbol.h"
#include "shared/throw_ring.h"

enum {
    CODE_BYTES = 64,
    // The thread's descriptor (Drepper's TLS ABI) has a pointer to the table of its
    // modules' blocks (the DTV), whose entries are two words, the first being the
    // block's address.
    TABLE_OFFSET = 8,
    TABLE_ENTRY_BYTES = 16,
    MODULES_MAX = 1 << 16,
};

static const char library[] = "/libstdc++.so";

static bool image_has_path(const struct target_image *image, const char *part)
{
    return memmem(image->path, image->path_size, part, strlen(part)) != NULL;
}

// find_in_static_program is the address of a symbol of a static program, which alone
// its file tells; 0: the program is not static, or is stripped.
static uint64_t find_in_static_program(const struct capture *capture, const char *name)
{
    struct target_image *program = NULL;
    struct elf_view file;
    if (!capture_is_process(capture) || capture->narrow)
        return 0;
    for (size_t i = 0; i < capture->images.count; i++) {
        struct target_image *image = &capture->images.images[i];
        if (image_has_path(image, "/libc.so") || image_has_path(image, "/ld-"))
            return 0;
        if (program == NULL && image->path_size != 0 && image->path[0] == '/')
            program = image;
    }
    if (program == NULL || image_frames_open(program, &file) != CH_OK)
        return 0;
    uint64_t vaddr = image_symbol_in_file(&file, name);
    return vaddr != 0 ? program->bias + vaddr : 0;
}

uint64_t runtime_find_abort_message(const struct capture *capture)
{
    uint64_t found = image_symbol_find_in(&capture->reader, &capture->images,
                                          "/libc.so", "__abort_msg");
    return found != 0 ? found : find_in_static_program(capture, "__abort_msg");
}

uint64_t runtime_find_streams(const struct capture *capture)
{
    uint64_t found = image_symbol_find_in(&capture->reader, &capture->images,
                                          "/libc.so", "_IO_list_all");
    return found != 0 ? found : find_in_static_program(capture, "_IO_list_all");
}

uint64_t runtime_find_assert_fail(const struct capture *capture)
{
    static const char *const libraries[] = { "/libc.so", "/ld-musl-" };
    uint64_t found = 0;
    for (size_t i = 0; found == 0 && i < sizeof(libraries) / sizeof(libraries[0]); i++)
        found = image_symbol_find_in(&capture->reader, &capture->images, libraries[i],
                                     "__assert_fail");
    return found != 0 ? found : find_in_static_program(capture, "__assert_fail");
}

// A pattern is the bytes of an instruction before its 32-bit operand.
struct pattern {
    const char *bytes;
    size_t size;
};

// find_pattern finds the first match of any of count patterns from at on, and its
// operand.
static bool find_pattern(const uint8_t code[static CODE_BYTES], size_t at,
                         const struct pattern *patterns, size_t count, size_t *out_end,
                         int32_t *out_value)
{
    for (; at < CODE_BYTES; at++) {
        for (size_t i = 0; i < count; i++) {
            size_t end = at + patterns[i].size + sizeof(*out_value);
            if (end > CODE_BYTES ||
                memcmp(code + at, patterns[i].bytes, patterns[i].size) != 0)
                continue;
            memcpy(out_value, code + end - sizeof(*out_value), sizeof(*out_value));
            *out_end = end;
            return true;
        }
    }
    return false;
}

// module_block is where the thread has a module's thread-local variables.
static bool module_block(const struct capture *capture, uint64_t module, uint64_t *out)
{
    const struct memory_reader *reader = &capture->reader;
    uint64_t table;
    return module != 0 && module < MODULES_MAX &&
           memory_read_word(reader, capture->crash->thread_pointer + TABLE_OFFSET,
                            &table) == CH_OK &&
           memory_read_word(reader, table + module * TABLE_ENTRY_BYTES, out) == CH_OK &&
           *out != UINT64_MAX; // not yet allocated for this thread
}

// follow_globals follows __cxa_get_globals at get. What it calls to find where the
// thread has the variable does as little as it does.
static uint64_t follow_globals(const struct capture *capture, uint64_t get)
{
    const struct code_walk walk = { .arch = capture->arch->id,
                                    .thread = capture->crash->thread_pointer,
                                    .memory = &capture->reader,
                                    .is_code = images_is_code,
                                    .context = (void *)(uintptr_t)&capture->images };
    uint64_t globals;
    return code_walk_call(&walk, get, 0, &globals) == CH_OK ? globals : 0;
}

// find_globals computes what __cxa_get_globals at get would return. On x86-64, linkers
// relax one TLS form into another, so the code has one of the forms they know: `mov
// %fs:0,%rax`, or `lea X(%rip),%rdi; call __tls_get_addr`, then an `add` or `lea` with
// the offset.
static uint64_t find_globals(const struct capture *capture, uint64_t get)
{
    static const struct pattern thread[] = { { "\x64\x48\x8b\x04\x25", 5 } };
    static const struct pattern index[] = { { "\x48\x8d\x3d", 3 } };
    static const struct pattern add[] = { { "\x48\x05", 2 }, { "\x48\x8d\x80", 3 } };
    const struct memory_reader *reader = &capture->reader;
    uint8_t code[CODE_BYTES];
    uint64_t words[2];
    uint64_t block;
    size_t end = 0;
    int32_t value = 0;
    int32_t distance = 0;
    if (get == 0 || capture->crash->thread_pointer == 0)
        return 0;
    if (capture->arch->id == UNWIND_ARCH_AARCH64)
        return follow_globals(capture, get);
    if (capture->arch->id != UNWIND_ARCH_AMD64 ||
        memory_read(reader, get, code, sizeof(code)) != CH_OK)
        return 0;
    if (find_pattern(code, 0, thread, 1, &end, &value)) {
        if (!find_pattern(code, end, add, 2, &end, &distance))
            return 0;
        return capture->crash->thread_pointer + (uint64_t)(int64_t)distance;
    }
    if (!find_pattern(code, 0, index, 1, &end, &value))
        return 0;
    uint64_t place = get + end + (uint64_t)(int64_t)value;
    (void)find_pattern(code, end, add, 2, &end, &distance);
    if (memory_read_word(reader, place, &words[0]) != CH_OK ||
        memory_read_word(reader, place + 8, &words[1]) != CH_OK ||
        !module_block(capture, words[0], &block))
        return 0;
    return block + words[1] + (uint64_t)(int64_t)distance;
}

static uint64_t find_runtime_symbol(const struct capture *capture, const char *name)
{
    return image_symbol_find_in(&capture->reader, &capture->images, library, name);
}

void runtime_find_exceptions(const struct capture *capture,
                             struct exception_place *place)
{
    uint64_t get = capture->crash->get_globals;
    if (place->terminate == 0)
        place->terminate = find_runtime_symbol(capture, "_ZSt9terminatev");
    if (place->set_terminate == 0)
        place->set_terminate = find_runtime_symbol(capture, "_ZSt13set_terminatePFvvE");
    if (place->globals == 0)
        place->globals = find_globals(
            capture,
            get != 0 ? get : find_runtime_symbol(capture, "__cxa_get_globals"));
}

// read_newest takes the newest entry of one ring for the object, if it is newer than
// *time_ns.
static void read_newest(const struct throw_ring *ring, uint64_t object,
                        uint64_t *time_ns, struct thrown_stack *out)
{
    for (size_t i = 0; i < THROW_ENTRIES; i++) {
        const struct throw_entry *entry = &ring->entries[i];
        if (entry->object != object || entry->size == 0 ||
            entry->size > sizeof(entry->cbf) ||
            (out->size != 0 && entry->time_ns <= *time_ns))
            continue;
        memcpy(out->cbf, entry->cbf, entry->size);
        out->size = entry->size;
        out->tid = (pid_t)entry->tid;
        *time_ns = entry->time_ns;
    }
}

void thrown_stack_read(const struct memory_reader *reader, uint64_t state,
                       uint64_t object, struct thrown_stack *out)
{
    uint64_t time_ns = 0;
    for (size_t i = 0; object != 0 && i < THROW_RINGS; i++) {
        struct throw_ring ring;
        uint64_t at = state + offsetof(struct throw_state, rings) + i * sizeof(ring);
        uint32_t head[2];
        if (memory_read(reader, at, head, sizeof(head)) != CH_OK)
            return;
        bool is_used = head[1] != 0; // it has entries
        if (is_used && memory_read(reader, at, &ring, sizeof(ring)) == CH_OK)
            read_newest(&ring, object, &time_ns, out);
    }
}

void thrown_stack_find(struct capture *capture, uint64_t object,
                       struct thrown_stack *out)
{
    size_t at = 0;
    uint64_t state;
    out->size = 0;
    while (out->size == 0 &&
           capture_next_place(capture, PLACE_THROWS, sizeof(struct throw_state), &at,
                              &state))
        thrown_stack_read(&capture->reader, state, object, out);
}

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

// Limits of the stack search, and how far into terminate a call can be.
enum {
    STACK_BYTES = 64 * 1024,
    SEARCHED_BYTES = 8192, // where there are no symbols
    STACK_WORDS = 64,
    TERMINATE_BYTES = 31,
    BEFORE_BYTES = 96, // libstdc++'s function that calls the handler, before terminate
    CALLER_BYTES = 32, // the same on AArch64, where terminate's code leads to it
};

// find_handler_caller finds that function of AArch64: std::terminate ends in a call of
// it. 0: it was not found.
static uint64_t find_handler_caller(const struct memory_reader *reader,
                                    const struct exception_place *place)
{
    enum { CALL = 0x94000000, CALL_MASK = 0xfc000000, DISTANCE = 0x03ffffff };
    uint64_t from = place->unexpected != 0 ? place->unexpected : place->terminate;
    uint32_t code[TERMINATE_BYTES / 4];
    if (place->code.arch != UNWIND_ARCH_AARCH64 || from == 0 ||
        memory_read(reader, from, code, sizeof(code)) != CH_OK)
        return 0;
    for (size_t i = sizeof(code) / sizeof(code[0]); i-- > 0;) {
        // The distance is a signed number of words, of 26 bits.
        int64_t bytes = (int64_t)(int32_t)((code[i] & DISTANCE) << 6) >> 4;
        if ((code[i] & CALL_MASK) == CALL)
            return from + i * 4 + (uint64_t)bytes;
    }
    return 0;
}

// is_in_terminate returns true if address is in a function that calls the terminate
// handler. That is std::terminate, or the unexported function that a noexcept function
// ends in: libstdc++ has it just before std::set_terminate, libc++abi just after
// std::get_terminate, which itself calls nothing. All are short.
static bool is_in_terminate(const struct exception_place *place, uint64_t address)
{
    return (place->unexpected != 0 && address - (place->unexpected - BEFORE_BYTES) <
                                          BEFORE_BYTES + TERMINATE_BYTES) ||
           (place->terminate != 0 &&
            address - place->terminate - 1 < TERMINATE_BYTES) ||
           (place->set_terminate != 0 &&
            place->set_terminate - address - 1 < TERMINATE_BYTES) ||
           (place->get_terminate != 0 &&
            address - place->get_terminate - 1 < TERMINATE_BYTES);
}

// in_terminate returns true if a call made by terminate has not returned. No older
// frame leaves such an address on a stack, because the program ends there.
static bool in_terminate(const struct memory_reader *reader,
                         const struct exception_place *place)
{
    uint64_t words[STACK_WORDS];
    uint64_t caller = find_handler_caller(reader, place);
    for (size_t read = 0; read < STACK_BYTES; read += sizeof(words)) {
        if (memory_read(reader, place->sp + read, words, sizeof(words)) != CH_OK)
            return false;
        for (size_t i = 0; i < STACK_WORDS; i++) {
            uint64_t word = place->code.arch == UNWIND_ARCH_AARCH64
                                ? unwind_arch_address(&unwind_arch_aarch64, words[i])
                                : words[i];
            if (is_in_terminate(place, word) ||
                (caller != 0 && word - caller - 1 < CALLER_BYTES))
                return true;
        }
    }
    return false;
}

// read_exception_by reads an exception of this layout. CH_ERR_UNSUPPORTED: it has
// another one.
static enum ch_status read_exception_by(const struct memory_reader *reader,
                                        uint64_t header, const struct layout *layout,
                                        struct thrown_object *out)
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
        *out = (struct thrown_object){ .type = type, .object = object };
    return status;
}

static enum ch_status find_thrown(const struct memory_reader *reader, uint64_t header,
                                  struct thrown_object *out)
{
    enum ch_status status = CH_ERR_UNSUPPORTED;
    for (size_t i = 0; status != CH_OK && i < sizeof(layouts) / sizeof(layouts[0]); i++)
        status = read_exception_by(reader, header, &layouts[i], out);
    return status;
}

// is_handler_call returns true if address is a return address of libstdc++'s
// __cxa_call_terminate (eh_call.cc), which takes the terminate handler out of an
// exception's header: `mov -56(%REGISTER),%rdi; call`.
static bool is_handler_call(const struct memory_reader *reader,
                            const struct thrown_code *code, uint64_t address)
{
    enum { MOVE_AND_CALL = 9 };
    uint8_t bytes[MOVE_AND_CALL];
    return code->arch == UNWIND_ARCH_AMD64 && code->is_code != NULL &&
           code->is_code(code->context, address) &&
           memory_read(reader, address - sizeof(bytes), bytes, sizeof(bytes)) ==
               CH_OK &&
           (bytes[0] & 0xfe) == 0x48 && bytes[1] == 0x8b && (bytes[2] & 0xf8) == 0x78 &&
           bytes[3] == 0xc8 && bytes[4] == 0xe8;
}

// in_handler_call returns true if such a call has not returned. The function does not
// return, as std::terminate does not; since gcc 14 the linker may place it far from
// that.
static bool in_handler_call(const struct memory_reader *reader,
                            const struct exception_place *place)
{
    uint64_t words[STACK_WORDS];
    for (size_t read = 0; read < SEARCHED_BYTES; read += sizeof(words)) {
        if (memory_read(reader, place->sp + read, words, sizeof(words)) != CH_OK)
            return false;
        for (size_t i = 0; i < STACK_WORDS; i++)
            if (is_handler_call(reader, &place->code, words[i]))
                return true;
    }
    return false;
}

// is_uncaught returns true if the exception whose header has that layout was passed to
// std::terminate. libstdc++ has that function's address in the header, as the handler
// for unexpected exceptions. With libc++abi the exception counts as caught, but no
// landing pad was found for it, whose address the personality routine would have
// stored.
static bool is_uncaught(const struct memory_reader *reader,
                        const struct exception_place *place, uint64_t header,
                        const struct layout *layout)
{
    enum { UNEXPECTED_AT = 16, HANDLERS_AT = 40, LANDING_PAD_AT = 64 };
    uint64_t words[LANDING_PAD_AT / 8 + 1]; // from the type's place on
    struct exception_place found = { .sp = place->sp, .code = place->code };
    uint64_t class;
    if (memory_read_word(reader, header + layout->class_at, &class) != CH_OK ||
        (class & ~UINT64_C(1)) != layout->class ||
        memory_read(reader, header + layout->type_at, words, sizeof(words)) != CH_OK ||
        (int32_t)words[HANDLERS_AT / 8] <= 0)
        return false;
    if (layout->dependent_has_type) // libc++abi
        return words[LANDING_PAD_AT / 8] == 0;
    found.unexpected = words[UNEXPECTED_AT / 8];
    return in_terminate(reader, &found) || in_handler_call(reader, place);
}

// leads_to_uncaught reads the exception that word is a pointer to, if it was passed to
// std::terminate.
static bool leads_to_uncaught(const struct memory_reader *reader,
                              const struct exception_place *place, uint64_t word,
                              const struct layout *layout, struct thrown_object *out)
{
    enum { LOWEST_ADDRESS = 0x10000 };
    const uint64_t before[] = { 0, layout->class_at, layout->size };
    if (word < LOWEST_ADDRESS || word % sizeof(word) != 0 || word >> 48 != 0)
        return false;
    for (size_t i = 0; i < sizeof(before) / sizeof(before[0]); i++)
        if (is_uncaught(reader, place, word - before[i], layout))
            return read_exception_by(reader, word - before[i], layout, out) == CH_OK;
    return false;
}

// find_on_stack finds the exception where no symbol tells the runtime's variables, as
// in a stripped program that the runtime was linked into: the functions that throw keep
// pointers to the object, to its header, and to the unwinder's part of that.
static enum ch_status find_on_stack(const struct memory_reader *reader,
                                    const struct exception_place *place,
                                    struct thrown_object *out)
{
    uint64_t words[STACK_WORDS];
    for (size_t read = 0; read < SEARCHED_BYTES; read += sizeof(words)) {
        if (memory_read(reader, place->sp + read, words, sizeof(words)) != CH_OK)
            return CH_ERR_NOT_FOUND;
        for (size_t i = 0; i < STACK_WORDS * 2; i++)
            if (leads_to_uncaught(reader, place, words[i / 2], &layouts[i % 2], out))
                return CH_OK;
    }
    return CH_ERR_NOT_FOUND;
}

// find_uncaught finds the exception for which the thread is in std::terminate.
static enum ch_status find_uncaught(const struct memory_reader *reader,
                                    const struct exception_place *place,
                                    struct thrown_object *out)
{
    uint64_t header;
    if (place->globals == 0 || (place->terminate == 0 && place->set_terminate == 0 &&
                                place->get_terminate == 0))
        return find_on_stack(reader, place, out);
    enum ch_status status = memory_read_word(reader, place->globals, &header);
    if (status != CH_OK)
        return status;
    if (header == 0 || !in_terminate(reader, place))
        return CH_ERR_NOT_FOUND;
    return find_thrown(reader, header, out);
}

// read_described reads the type and the text of an exception.
static enum ch_status read_described(const struct memory_reader *reader,
                                     const struct thrown_code *code,
                                     struct thrown_object thrown,
                                     char type[static EXCEPTION_TYPE_MAX],
                                     char what[static EXCEPTION_WHAT_MAX])
{
    thrown_declared(reader, &thrown);
    enum ch_status status =
        thrown_type_name(reader, thrown.type, type, EXCEPTION_TYPE_MAX);
    if (status != CH_OK)
        return status;
    abort_message_clean(type);
    if (type[0] == 0)
        return CH_ERR_MALFORMED;
    thrown_text_read(reader, code, &thrown, what);
    exception_type_name(type);
    // That a bad_alloc is "std::bad_alloc" says nothing twice.
    if (strcmp(what, type) == 0)
        what[0] = 0;
    return CH_OK;
}

// find_kept_exception finds the exception that a std::exception_ptr keeps the object
// of, by the header in front of it.
static bool find_kept_exception(const struct memory_reader *reader, uint64_t object,
                                struct thrown_object *out)
{
    for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++)
        if (read_exception_by(reader, object - layouts[i].size, &layouts[i], out) ==
                CH_OK &&
            out->object == object)
            return true;
    return false;
}

// read_thrown_with reads what the exception was thrown with.
static void read_thrown_with(const struct memory_reader *reader,
                             const struct thrown_code *code,
                             struct thrown_object thrown, struct exception *out)
{
    while (out->nested_count < CRASH_NESTED_MAX) {
        struct exception_nested *nested = &out->nested[out->nested_count];
        char what[EXCEPTION_WHAT_MAX];
        uint64_t kept = thrown_nested(reader, &thrown);
        if (kept == 0 || kept == thrown.object ||
            !find_kept_exception(reader, kept, &thrown) ||
            read_described(reader, code, thrown, nested->type, what) != CH_OK)
            return;
        size_t size = utf8_cut(what, strlen(what), sizeof(nested->what) - 1);
        memcpy(nested->what, what, size);
        nested->what[size] = 0;
        out->nested_count++;
    }
}

enum ch_status exception_read(const struct memory_reader *reader,
                              const struct exception_place *place,
                              struct exception *out)
{
    struct exception found = { 0 };
    struct thrown_object thrown;
    enum ch_status status = find_uncaught(reader, place, &thrown);
    if (status == CH_OK)
        status = read_described(reader, &place->code, thrown, found.type, found.what);
    if (status != CH_OK)
        return status;
    read_thrown_with(reader, &place->code, thrown, &found);
    found.object = thrown.object;
    *out = found;
    return CH_OK;
}

// demangle_next_name moves one length-prefixed name from text to out.
static bool demangle_next_name(const char **text, struct text *out)
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

// demangle_next_part moves a name from text to out, with the ABI tags by which
// libstdc++ marks its newer types.
static bool demangle_next_part(const char **text, struct text *out)
{
    if (!demangle_next_name(text, out))
        return false;
    while (**text == 'B') {
        ++*text;
        text_append_string(out, "[abi:");
        if (!demangle_next_name(text, out))
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
    if (!demangle_next_part(&at, out))
        return false;
    while (nested && *at != 'E') {
        text_append_string(out, "::");
        if (!demangle_next_part(&at, out))
            return false;
    }
    return at[nested] == 0;
}

void exception_type_name(char name[static EXCEPTION_TYPE_MAX])
{
    static const char *const others[][2] = {
        { "b", "bool" },
        { "c", "char" },
        { "a", "signed char" },
        { "h", "unsigned char" },
        { "s", "short" },
        { "t", "unsigned short" },
        { "i", "int" },
        { "j", "unsigned int" },
        { "l", "long" },
        { "m", "unsigned long" },
        { "x", "long long" },
        { "y", "unsigned long long" },
        { "f", "float" },
        { "d", "double" },
        { "Pc", "char*" },
        { "PKc", "char const*" },
        { "NSt3__112basic_stringIcNS_11char_traitsIcEENS_9allocatorIcEEEE",
          "std::string" },
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
