// SPDX-License-Identifier: Apache-2.0
#include "cli/doctor/shell_word.h"

#include <string.h>

void shell_word_quote(const char *word, struct text *out)
{
    text_append_string(out, "'");
    while (*word != 0) {
        size_t plain = strcspn(word, "'");
        text_append(out, word, plain);
        word += plain;
        if (*word == '\'') {
            text_append_string(out, "'\\''");
            word++;
        }
    }
    text_append_string(out, "'");
}
