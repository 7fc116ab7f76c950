// SPDX-License-Identifier: Apache-2.0
//
// Masks what stands on stdin, one text after the other, each ended by a NUL, and prints
// each masked, ended so too. The first byte says what it is: s a string, a the
// arguments of a command line, n a name and its value; the parts are parted by a byte
// 0x1f.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/secrets/sanitize.h"

enum { MOST_BYTES = 64 << 20 };

static void mask_arguments(char *text, struct text *out)
{
    struct sanitize_arguments line = { .home = "/home/ann" };
    for (char *rest = text; rest != NULL;) {
        char *argument = strsep(&rest, "\x1f");
        sanitize_argument(&line, argument, out);
        text_append_string(out, rest != NULL ? "\x1f" : "");
    }
}

static void mask_named(char *text, struct text *out)
{
    char *value = text;
    char *name = strsep(&value, "\x1f");
    sanitize_named(name, strlen(name), value != NULL ? value : "", "/home/ann", out);
}

static void mask(char *text, struct text *out)
{
    if (text[0] == 'a')
        mask_arguments(text + 1, out);
    else if (text[0] == 'n')
        mask_named(text + 1, out);
    else if (text[0] == 's')
        sanitize_string(text + 1, "/home/ann", out);
}

int main(int argc, char **argv)
{
    sanitize_hide_people(argc > 1 && strcmp(argv[1], "people") == 0);
    struct text input = { 0 };
    if (text_read(&input, 0, MOST_BYTES) != CH_OK || input.size == 0)
        return 1;
    for (size_t at = 0, length; at < input.size; at += length + 1) {
        struct text masked = { 0 };
        length = strlen(input.bytes + at); // strsep shortens it
        mask(input.bytes + at, &masked);
        (void)fwrite(masked.size != 0 ? masked.bytes : "", 1, masked.size, stdout);
        (void)putchar(0);
        text_deinit(&masked);
    }
    text_deinit(&input);
    return 0;
}
