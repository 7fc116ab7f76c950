// SPDX-License-Identifier: Apache-2.0
#include "agent/messages/panics.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "agent/messages/abort_message.h"
#include "base/memory_reader.h"
#include "base/text.h"
#include "languages/go_runtime.h"

// Offsets in runtime.g, runtime._panic and the description of a type.
enum {
    PANIC = 32,
    PANIC_TYPE = 8,
    PANIC_DATA = 16,
    TYPE_SIZE = 0,
    TYPE_KIND = 23,
};

// The kinds of types that are read (runtime/typekind.go), and the bits of a kind.
enum { KIND_INT = 2, KIND_STRING = 24, KIND_MASK = 31 };

enum { STRING_MAX = ABORT_MESSAGE_MAX / 2 };

static enum ch_status read_go_string(const struct memory_reader *reader, uint64_t data,
                                     char out[static ABORT_MESSAGE_MAX])
{
    uint64_t at;
    uint64_t size;
    enum ch_status status = memory_read_word(reader, data, &at);
    if (status == CH_OK)
        status = memory_read_word(reader, data + 8, &size);
    if (status != CH_OK)
        return status;
    if (size == 0)
        return CH_ERR_NOT_FOUND;
    int used = snprintf(out, ABORT_MESSAGE_MAX, "panic: ");
    size_t kept = size < STRING_MAX ? (size_t)size : STRING_MAX;
    status = memory_read(reader, at, out + used, kept);
    if (status == CH_OK)
        out[(size_t)used + kept] = 0;
    return status;
}

enum ch_status go_panic_read(const struct memory_reader *reader,
                             uint64_t thread_pointer,
                             char out[static ABORT_MESSAGE_MAX])
{
    uint64_t panic;
    uint64_t type;
    uint64_t data;
    uint64_t size;
    uint64_t number;
    uint8_t kind;
    char text[ABORT_MESSAGE_MAX] = "";
    uint64_t g = go_runtime_goroutine(reader, thread_pointer);
    if (g == 0 || memory_read_word(reader, g + PANIC, &panic) != CH_OK || panic == 0)
        return CH_ERR_NOT_FOUND;
    enum ch_status status = memory_read_word(reader, panic + PANIC_TYPE, &type);
    if (status == CH_OK)
        status = memory_read_word(reader, panic + PANIC_DATA, &data);
    if (status == CH_OK)
        status = memory_read(reader, type + TYPE_KIND, &kind, sizeof(kind));
    if (status == CH_OK)
        status = memory_read_word(reader, type + TYPE_SIZE, &size);
    if (status != CH_OK)
        return status;
    if ((kind & KIND_MASK) == KIND_STRING && size == 16)
        status = read_go_string(reader, data, text);
    else if ((kind & KIND_MASK) == KIND_INT && size == sizeof(number) &&
             memory_read_word(reader, data, &number) == CH_OK)
        snprintf(text, sizeof(text), "panic: %" PRId64, (int64_t)number);
    else
        status = CH_ERR_NOT_FOUND;
    if (status != CH_OK)
        return status;
    abort_message_clean(text);
    memcpy(out, text, strlen(text) + 1);
    return CH_OK;
}

// Limits of the search, of the message and of the part before the marker. The standard
// library's buffer has 512 bytes.
enum { BELOW_BYTES = 32 << 10, ABOVE_BYTES = 8 << 10, PIECE_BYTES = 4096 };
enum { MESSAGE_BYTES = 512, THREAD_BYTES = 128 };

static const char marker[] = " panicked at ";

// read_stack copies the readable part of the stack around sp, innermost first.
static void read_stack(const struct memory_reader *reader, uint64_t sp,
                       struct text *out)
{
    static const uint8_t hole[8] = { 0 }; // words stay aligned
    uint64_t page = (sp - BELOW_BYTES) & ~(uint64_t)(PIECE_BYTES - 1);
    for (; page < sp + ABOVE_BYTES; page += PIECE_BYTES) {
        uint8_t piece[PIECE_BYTES];
        size_t size = reader->read(reader->source, page, piece, sizeof(piece));
        text_append(out, size != 0 ? piece : hole, size != 0 ? size : sizeof(hole));
    }
}

// find_last_panic finds the last marker; earlier ones are deeper and thus stale.
static const char *find_last_panic(const struct text *stack)
{
    for (size_t at = stack->size; at >= strlen(marker); at--) {
        const char *from = stack->bytes + at - strlen(marker);
        // Few bytes are followed by this letter: most need no call.
        if (from[1] == marker[1] && memcmp(from, marker, strlen(marker)) == 0)
            return from;
    }
    return NULL;
}

// find_panic_begin searches backwards for "thread '", with which the message begins.
static const char *find_panic_begin(const struct text *stack, const char *at)
{
    static const char begin[] = "thread '";
    for (size_t i = 0; i < THREAD_BYTES && at - i > stack->bytes; i++) {
        if (memcmp(at - i, begin, strlen(begin)) == 0)
            return at - i;
    }
    return NULL;
}

static bool is_printable(char c)
{
    return (unsigned char)c >= ' ' || c == '\n' || c == '\t';
}

enum ch_status panic_words_read(const struct memory_reader *reader, uint64_t sp,
                                char out[static ABORT_MESSAGE_MAX])
{
    struct text CH_CLEANUP(text_deinit) stack = { 0 };
    read_stack(reader, sp, &stack);
    if (!text_ok(&stack) || stack.bytes == NULL)
        return CH_ERR_NO_MEMORY;
    const char *at = find_last_panic(&stack);
    const char *begin = at != NULL ? find_panic_begin(&stack, at) : NULL;
    if (begin == NULL)
        return CH_ERR_NOT_FOUND;
    size_t size = 0;
    size_t left = stack.size - (size_t)(begin - stack.bytes);
    while (size < left && size < MESSAGE_BYTES && is_printable(begin[size]))
        size++;
    memcpy(out, begin, size);
    out[size] = 0;
    char *note = strstr(out, "\nnote: ");
    if (note != NULL)
        *note = 0;
    abort_message_clean(out);
    return CH_OK;
}

enum {
    STACK_WORDS = 1024,
    FILE_BYTES = 256,
    TEXT_BYTES = 512,
    // The sizes of the payloads that hold text: &'static str and String.
    SLICE_BYTES = 16,
    STRING_BYTES = 24,
    LINES_MAX = 10000000,
    COLUMNS_MAX = 100000,
};

// The stack of a thread is within this many bytes.
#define STACK_REACH (UINT64_C(16) << 20)

// A panic_place is where the panic was, from a Location.
struct panic_place {
    char file[FILE_BYTES];
    uint32_t line;
    uint32_t column;
};

static uint64_t distance_from_sp(const struct panic_search *search, uint64_t word)
{
    return word > search->sp ? word - search->sp : search->sp - word;
}

// may_be_constant returns true if a word may be the address of what the compiler has
// made: aligned, not on the stack, and in an image. It spares reading what most words
// point to.
static bool may_be_constant(const struct panic_search *search, uint64_t word)
{
    return word % sizeof(word) == 0 && word > UINT16_MAX && word >> 48 == 0 &&
           distance_from_sp(search, word) > STACK_REACH &&
           search->is_constant(search->context, word);
}

// read_panic_text reads text of that length, or its beginning. False: it is none.
static bool read_panic_text(const struct memory_reader *reader, uint64_t from,
                            uint64_t size, char *out, size_t out_size)
{
    size_t kept = size < out_size ? (size_t)size : out_size - 1;
    if (size == 0 || size > UINT32_MAX || memory_read(reader, from, out, kept) != CH_OK)
        return false;
    for (size_t i = 0; i < kept; i++)
        if ((unsigned char)out[i] < ' ' && out[i] != '\n' && out[i] != '\t')
            return false;
    out[kept] = 0;
    return true;
}

static bool read_panic_place(const struct memory_reader *reader, uint64_t at,
                             struct panic_place *out)
{
    static const char ending[] = ".rs";
    struct {
        uint64_t file;
        uint64_t size;
        uint32_t line;
        uint32_t column;
    } location;
    if (memory_read(reader, at, &location, sizeof(location)) != CH_OK ||
        location.size < sizeof(ending) || location.size >= FILE_BYTES ||
        location.line == 0 || location.line > LINES_MAX || location.column == 0 ||
        location.column > COLUMNS_MAX ||
        !read_panic_text(reader, location.file, location.size, out->file, FILE_BYTES))
        return false;
    out->line = location.line;
    out->column = location.column;
    return strcmp(out->file + location.size - strlen(ending), ending) == 0;
}

// read_heap_string reads the text of a String, which is on the heap. The order of its
// capacity and pointer is the compiler's choice; its length is the last.
static bool read_heap_string(const struct memory_reader *reader,
                             const struct panic_search *search, const uint64_t words[3],
                             char out[static TEXT_BYTES])
{
    bool pointer_first = words[0] > words[1];
    uint64_t from = words[pointer_first ? 0 : 1];
    uint64_t capacity = words[pointer_first ? 1 : 0];
    return words[2] <= capacity && capacity <= UINT32_MAX &&
           distance_from_sp(search, from) > STACK_REACH &&
           read_panic_text(reader, from, words[2], out, TEXT_BYTES);
}

// read_payload_text reads the text that a payload holds. False: it holds none.
static bool read_payload_text(const struct memory_reader *reader,
                              const struct panic_search *search, uint64_t data,
                              uint64_t size, char out[static TEXT_BYTES])
{
    uint64_t words[STRING_BYTES / sizeof(uint64_t)];
    if ((size != SLICE_BYTES && size != STRING_BYTES) ||
        memory_read(reader, data, words, (size_t)size) != CH_OK)
        return false;
    return size == SLICE_BYTES
               ? read_panic_text(reader, words[0], words[1], out, TEXT_BYTES)
               : read_heap_string(reader, search, words, out);
}

// is_payload returns true if a vtable and an object go together, and gives the object's
// size: a vtable begins with the destructor (0: none), size and alignment.
static bool is_payload(const struct memory_reader *reader, uint64_t data,
                       uint64_t vtable, uint64_t *out_size)
{
    enum { SIZE_MAX_BYTES = 4096 };
    uint64_t head[3];
    if (data == 0 || memory_read(reader, vtable, head, sizeof(head)) != CH_OK)
        return false;
    bool is_power = head[2] != 0 && (head[2] & (head[2] - 1)) == 0;
    *out_size = head[1];
    return is_power && head[2] <= 16 && head[1] <= SIZE_MAX_BYTES &&
           (head[0] == 0 || head[0] > UINT16_MAX);
}

// read_formatted reads the runtime's payload of a formatted message: a String and,
// before or after it, the address of the message's parts, or of that address. The parts
// are on the stack, and begin with the address of what the compiler has made.
static bool read_formatted(const struct memory_reader *reader,
                           const struct panic_search *search, const uint64_t *words,
                           size_t count, uint64_t parts, char out[static TEXT_BYTES])
{
    uint64_t first = (parts - search->sp) / sizeof(parts);
    if (first >= count || !search->is_constant(search->context, words[first]))
        return false;
    for (size_t i = 3; i + 3 < count; i++) {
        uint64_t at = (words[i] - search->sp) / sizeof(words[i]);
        if ((words[i] == parts || (at < count && words[at] == parts)) &&
            (read_heap_string(reader, search, words + i - 3, out) ||
             read_heap_string(reader, search, words + i + 1, out)))
            return true;
    }
    return false;
}

// read_panic_literal reads a message that is a literal, where the compiler inlined the
// hook: its address and size, and the Location. The runtime passes it on, so the first
// two are on the stack once more; the names of thread and file are there, too.
static bool read_panic_literal(const struct memory_reader *reader,
                               const struct panic_search *search, const uint64_t *words,
                               size_t count, struct panic_place *out_place,
                               char out[static TEXT_BYTES])
{
    bool again = false;
    if (!may_be_constant(search, words[2]) ||
        !search->is_constant(search->context, words[0]))
        return false;
    for (size_t i = 3; i + 1 < count && !again; i++)
        again = words[i] == words[0] && words[i + 1] == words[1];
    return again && read_panic_place(reader, words[2], out_place) &&
           read_panic_text(reader, words[0], words[1], out, TEXT_BYTES) &&
           strcmp(out, search->thread) != 0 && strcmp(out, out_place->file) != 0;
}

// find_hook_info finds the payload with its vtable before a Location; older versions
// have the message's parts between them. Where the compiler inlined the hook, there is
// only PanicInfo: the address of the parts and the Location.
static bool find_hook_info(const struct memory_reader *reader,
                           const struct panic_search *search, const uint64_t *words,
                           size_t count, struct panic_place *out_place,
                           char out_text[static TEXT_BYTES])
{
    for (size_t i = 0; i + 3 < count; i++) {
        uint64_t size;
        if (!may_be_constant(search, words[i + 1]))
            continue;
        if (read_formatted(reader, search, words, count, words[i], out_text) &&
            read_panic_place(reader, words[i + 1], out_place))
            return true;
        size_t place = may_be_constant(search, words[i + 2]) ? i + 2 : i + 3;
        if (!may_be_constant(search, words[place]) ||
            !is_payload(reader, words[i], words[i + 1], &size) ||
            !read_panic_place(reader, words[place], out_place))
            continue;
        if (read_payload_text(reader, search, words[i], size, out_text))
            return true;
    }
    for (size_t i = 0; i + 3 < count; i++)
        if (read_panic_literal(reader, search, words + i, count - i, out_place,
                               out_text))
            return true;
    return false;
}

// is_second returns true if the panic is one of the runtime's, for another panic that
// could not unwind.
static bool is_second(const char *text)
{
    return strncmp(text, "panic in a function that cannot unwind", 38) == 0 ||
           strncmp(text, "panic in a destructor during cleanup", 36) == 0;
}

// read_in_flight reads the text of the panic whose exception is at address: the
// unwinder's part begins with Rust's class and has four words; since 1.61 a word of the
// runtime's own comes before the payload.
static bool read_in_flight(const struct memory_reader *reader,
                           const struct panic_search *search, uint64_t address,
                           char out[static TEXT_BYTES])
{
    // "MOZ\0RUST"; older versions have its bytes in the other order.
    static const uint64_t classes[] = { UINT64_C(0x54535552005a4f4d),
                                        UINT64_C(0x4d4f5a0052555354) };
    uint64_t words[7];
    if (memory_read(reader, address, words, sizeof(words)) != CH_OK ||
        (words[0] != classes[0] && words[0] != classes[1]))
        return false;
    for (size_t i = 5; i >= 4; i--) {
        uint64_t size;
        if (may_be_constant(search, words[i + 1]) &&
            is_payload(reader, words[i], words[i + 1], &size) &&
            read_payload_text(reader, search, words[i], size, out))
            return true;
    }
    return false;
}

// append_first appends what the panics said that were under way when the runtime gave
// up. The stack has pointers to their exceptions, also where it was used before.
static void append_first(const struct memory_reader *reader,
                         const struct panic_search *search, char *out)
{
    struct text CH_CLEANUP(text_deinit) stack = { 0 };
    char text[TEXT_BYTES];
    read_stack(reader, search->sp, &stack);
    for (size_t at = stack.size & ~(size_t)7; text_ok(&stack) && at >= 8; at -= 8) {
        uint64_t word;
        memcpy(&word, stack.bytes + at - 8, sizeof(word));
        if (word % 16 != 0 || word <= UINT16_MAX || word >> 48 != 0 ||
            distance_from_sp(search, word) < ABOVE_BYTES + BELOW_BYTES ||
            !read_in_flight(reader, search, word, text) || strstr(out, text) != NULL)
            continue;
        size_t size = strlen(out);
        (void)snprintf(out + size, ABORT_MESSAGE_MAX - size, "; panic under way: %s",
                       text);
    }
}

enum ch_status panic_hook_read(const struct memory_reader *reader,
                               const struct panic_search *search,
                               char out[static ABORT_MESSAGE_MAX])
{
    uint64_t words[STACK_WORDS];
    struct panic_place place;
    char text[TEXT_BYTES];
    size_t size = memory_read_part(reader, search->sp, words, sizeof(words));
    if (!find_hook_info(reader, search, words, size / sizeof(words[0]), &place, text))
        return CH_ERR_NOT_FOUND;
    (void)snprintf(out, ABORT_MESSAGE_MAX,
                   "thread '%s' panicked at %s:%" PRIu32 ":%" PRIu32 ": %s",
                   search->thread, place.file, place.line, place.column, text);
    if (is_second(text))
        append_first(reader, search, out);
    abort_message_clean(out);
    return CH_OK;
}
