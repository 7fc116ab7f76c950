// SPDX-License-Identifier: Apache-2.0
#include "agent/messages/sanitizer_words.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

// size_before is the length of the line at text up to words, or of all of it.
static int size_before(const char *text, const char *words)
{
    size_t size = strcspn(text, "\n");
    const char *at = strstr(text, words);
    if (at != NULL && (size_t)(at - text) < size)
        size = (size_t)(at - text);
    return (int)size;
}

enum ch_status sanitizer_words_read(const struct memory_reader *reader, uint64_t place,
                                    char out[static ABORT_MESSAGE_MAX])
{
    // "==7==ERROR: AddressSanitizer: heap-use-after-free on address 0x1 at pc 0x2 ...",
    // and on the next line "READ of size 4 at 0x1 thread T0".
    static const char before[] = "ERROR: AddressSanitizer: ";
    char text[ABORT_MESSAGE_MAX] = "";
    if (place == 0)
        return CH_ERR_NOT_FOUND;
    enum ch_status status = memory_read_string(reader, place, text, sizeof(text));
    if (status != CH_OK && text[0] == 0)
        return status;
    const char *first = strstr(text, before);
    if (first == NULL)
        return CH_ERR_NOT_FOUND;
    const char *second = strchr(first, '\n');
    bool access = second != NULL && (strncmp(second + 1, "READ of ", 8) == 0 ||
                                     strncmp(second + 1, "WRITE of ", 9) == 0);
    // The backtrace has the addresses of code, so they are cut here.
    int size = size_before(first, " at pc ");
    int size_of_signal = size_before(first, " (pc ");
    (void)snprintf(out, ABORT_MESSAGE_MAX, "%.*s%s%.*s",
                   size < size_of_signal ? size : size_of_signal, first,
                   access ? ", " : "", access ? size_before(second + 1, " at 0x") : 0,
                   access ? second + 1 : "");
    abort_message_clean(out);
    return CH_OK;
}
