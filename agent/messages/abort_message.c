// SPDX-License-Identifier: Apache-2.0
#include "agent/messages/abort_message.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/memory_reader.h"

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

// glibc's struct abort_msg_s is an unsigned int followed by the text.
enum { TEXT_OFFSET = 4 };

static bool message_is_blank(char c)
{
    return (unsigned char)c <= ' ' || c == 0x7f;
}

void abort_message_clean(char *text)
{
    size_t begin = 0;
    size_t size = strlen(text);
    while (size != 0 && message_is_blank(text[size - 1]))
        size--;
    while (begin < size && message_is_blank(text[begin]))
        begin++;
    size -= begin;
    memmove(text, text + begin, size);
    text[size] = 0;
    for (size_t i = 0; i < size; i++) {
        if (message_is_blank(text[i]))
            text[i] = ' ';
    }
}

enum ch_status abort_message_read(const struct memory_reader *reader, uint64_t place,
                                  char out[static ABORT_MESSAGE_MAX])
{
    char text[ABORT_MESSAGE_MAX];
    uint64_t message;
    if (place == 0)
        return CH_ERR_NOT_FOUND;
    enum ch_status status = memory_read_word(reader, place, &message);
    if (status != CH_OK)
        return status;
    if (message == 0)
        return CH_ERR_NOT_FOUND;
    status = memory_read_string(reader, message + TEXT_OFFSET, text, sizeof(text));
    // A text that is too long or torn is still worth its beginning.
    if (status != CH_OK && text[0] == 0)
        return status;
    abort_message_clean(text);
    if (text[0] == 0)
        return CH_ERR_NOT_FOUND;
    memcpy(out, text, strlen(text) + 1);
    return CH_OK;
}
