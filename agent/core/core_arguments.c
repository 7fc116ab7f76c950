// SPDX-License-Identifier: Apache-2.0
#include "agent/core/core_arguments.h"

#include <string.h>

enum {
    WORD = 8,
    VECTOR_SEARCH_BYTES = 64 << 10, // AT_RANDOM's bytes lie this near after the vector
    ENVIRONMENT_MAX = 16 << 10,     // variables
    ARGUMENTS_MAX = 4096,
    ARGUMENT_BYTES = 4096,
    ARGUMENTS_LIMIT_BYTES = 128 << 10,
    AT_RANDOM = 25,
};

// find_vector finds the auxiliary vector in memory. It searches downwards from the
// AT_RANDOM bytes, which the kernel puts shortly after the vector.
static bool find_vector(const struct core_file *core,
                        const struct memory_reader *memory, uint64_t *out)
{
    uint8_t bytes[2 * WORD];
    struct cursor vector = core->auxv;
    uint64_t random;
    const uint8_t *wanted = cursor_take(&vector, sizeof(bytes));
    if (wanted == NULL || core_file_auxv(core, AT_RANDOM, &random) != CH_OK)
        return false;
    uint64_t at = random & ~(uint64_t)(WORD - 1);
    for (uint64_t skip = 0; skip < VECTOR_SEARCH_BYTES && skip <= at; skip += WORD) {
        if (memory_read(memory, at - skip, bytes, sizeof(bytes)) != CH_OK)
            continue;
        if (memcmp(bytes, wanted, sizeof(bytes)) == 0) {
            *out = at - skip;
            return true;
        }
    }
    return false;
}

// back_over moves at back over a list of at most count pointers, to the word before the
// first, and returns how many there were. That word is the list's length where counted,
// otherwise NULL.
static bool back_over(const struct memory_reader *memory, uint64_t *at, uint64_t count,
                      bool counted, uint64_t *out_count)
{
    for (uint64_t i = 0; i <= count; i++) {
        uint64_t word;
        if (memory_read_word(memory, *at - WORD, &word) != CH_OK)
            return false;
        *at -= WORD;
        // envp is preceded by argv's NULL, and argv by argc, its length.
        if (counted ? word == i : word == 0) {
            *out_count = i;
            return true;
        }
    }
    return false;
}

// find_process_arguments finds argv. The stack holds argc, argv, NULL, envp, NULL and
// then the auxiliary vector.
static bool find_process_arguments(const struct core_file *core,
                                   const struct memory_reader *memory, uint64_t *out_at,
                                   uint64_t *out_count)
{
    uint64_t at;
    uint64_t variables;
    if (!find_vector(core, memory, &at) || at < WORD)
        return false;
    at -= WORD; // the NULL after envp
    if (!back_over(memory, &at, ENVIRONMENT_MAX, false, &variables) ||
        !back_over(memory, &at, ARGUMENTS_MAX, true, out_count))
        return false;
    *out_at = at + WORD;
    return true;
}

static bool append_arguments(const struct memory_reader *memory, uint64_t at,
                             uint64_t count, struct text *out)
{
    for (uint64_t i = 0; i < count && out->size < ARGUMENTS_LIMIT_BYTES; i++) {
        char argument[ARGUMENT_BYTES];
        uint64_t address;
        if (memory_read_word(memory, at + i * WORD, &address) != CH_OK)
            return false;
        // A longer argument is cut.
        enum ch_status status =
            memory_read_string(memory, address, argument, sizeof(argument));
        if (status != CH_OK && status != CH_ERR_TRUNCATED)
            return false;
        text_append(out, argument, strlen(argument) + 1);
    }
    return true;
}

void core_arguments_read(const struct core_file *core,
                         const struct memory_reader *memory, struct text *out)
{
    uint64_t at;
    uint64_t count;
    if (find_process_arguments(core, memory, &at, &count) && count != 0 &&
        append_arguments(memory, at, count, out))
        return;
    text_clear(out);
    const char *words = core->process.arguments;
    for (words += strspn(words, " "); *words != 0; words += strspn(words, " ")) {
        size_t size = strcspn(words, " ");
        text_append(out, words, size);
        text_append(out, "", 1);
        words += size;
    }
}
