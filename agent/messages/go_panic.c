// SPDX-License-Identifier: Apache-2.0
#include "agent/messages/go_panic.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

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
