// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "fuzz/fuzz.h"
#include "report/secrets/sanitize.h"
#include "report/summary/readable_name.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct sanitize_arguments line = { .home = "/home/ann" };
    struct text input = { 0 };
    struct text out = { .limit_bytes = 1 << 22 };
    text_append(&input, bytes, size);
    text_append(&input, "", 1);
    const char *word = input.bytes;
    sanitize_path(word, line.home, &out);
    readable_name_short(word, &out);
    sanitize_named("tag", 3, word, line.home, &out);
    for (; word < input.bytes + input.size; word += strlen(word) + 1)
        sanitize_argument(&line, word, &out);
    text_deinit(&input);
    text_deinit(&out);
    return 0;
}
