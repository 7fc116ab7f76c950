// SPDX-License-Identifier: Apache-2.0
#include "cli/session/data_argument.h"

#include <ctype.h>
#include <string.h>

#include "base/hex.h"
#include "cli/session/command.h"

static bool argument_is_hex(const char *argument)
{
    size_t length = strspn(argument, "0123456789abcdefABCDEF");
    return argument[length] == 0 && length % 2 == 0;
}

// decode_in_place replaces hex digits, with white space between them, by their bytes.
static enum ch_status decode_in_place(struct text *text, const char *name)
{
    size_t digits = 0;
    for (size_t i = 0; i < text->size; i++) {
        if (!isspace((unsigned char)text->bytes[i]))
            text->bytes[digits++] = text->bytes[i];
    }
    size_t size = 0;
    enum ch_status status =
        hex_decode(text->bytes, digits, text->bytes, text->size, &size);
    if (status == CH_OK)
        text->size = size;
    else
        command_fail("'%s' starts as hex text but is not: a character is no hex digit, "
                     "or their number is odd",
                     name);
    return status;
}

enum ch_status data_argument_read(const char *argument, struct text *out)
{
    if (argument_is_hex(argument)) {
        text_append_string(out, argument);
        if (text_ok(out))
            return decode_in_place(out, argument);
        command_fail("'%s': out of memory", argument);
        return CH_ERR_NO_MEMORY;
    }
    enum ch_status status = command_read_file(argument, out);
    if (status == CH_OK && out->size > 0 && out->bytes[0] == '0')
        status = decode_in_place(out, argument);
    return status;
}
