// SPDX-License-Identifier: Apache-2.0
//
// A line of a file that people write: a word, then settings as key=value, separated by
// blanks. Users: the files of tokens and of receivers.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "base/text.h"

enum { SETTING_PAIRS = 16 };

struct setting_line {
    const char *word;
    struct {
        const char *key;
        const char *value;
    } pairs[SETTING_PAIRS];
    size_t count;
};

// setting_line_read cuts line, in place, and points out into it. CH_ERR_NOT_FOUND: the
// line is empty or a comment. CH_ERR_MALFORMED: what follows the word is no setting.
// CH_ERR_LIMIT: there are too many.
CH_CHECKED enum ch_status setting_line_read(char *line, struct setting_line *out);

// setting_file_read reads a whole file of at most limit_bytes, NUL-terminated.
CH_CHECKED enum ch_status setting_file_read(const char *path, size_t limit_bytes,
                                            struct text *out);

// setting_flag is a word of a list such as `new,regressed`.
struct setting_flag {
    const char *name;
    unsigned flag;
};

// setting_flags_read reads a list of at least one of the count words of a table.
bool setting_flags_read(const char *text, const struct setting_flag *table,
                        size_t count, unsigned *out);

// Sizes as people write them: 64K, 8M, 10G, 2T. A size is more than 0 and has at most
// six digits and one unit, of 1024; bytes alone are none. Users: options of the command
// line, and settings of projects.

// size_read parses a size in bytes.
CH_CHECKED enum ch_status size_read(const char *text, int64_t *out);
