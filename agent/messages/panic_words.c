// SPDX-License-Identifier: Apache-2.0
#include "agent/messages/panic_words.h"

#include <stdbool.h>
#include <string.h>

#include "base/text.h"

// Limits of the search, of the message and of the part before the marker. The standard
// library's buffer has 512 bytes.
enum { BELOW_BYTES = 32 << 10, ABOVE_BYTES = 8 << 10, PIECE_BYTES = 4096 };
enum { MESSAGE_BYTES = 512, THREAD_BYTES = 128 };

static const char marker[] = " panicked at ";

// read_stack copies the readable part of the stack around sp, innermost first.
static void read_stack(const struct memory_reader *reader, uint64_t sp,
                       struct text *out)
{
    static const uint8_t hole[1] = { 0 };
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
