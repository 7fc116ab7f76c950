// SPDX-License-Identifier: Apache-2.0
#include "agent/messages/abort_message.h"

#include <stdbool.h>
#include <string.h>

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
