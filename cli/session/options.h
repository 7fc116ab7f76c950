// SPDX-License-Identifier: Apache-2.0
//
// Options: one table row per option of a command drives parsing and --help.
//
// Long options take their value as `--name VALUE` or `--name=VALUE`, letters as
// `-o VALUE` or `-oVALUE`. Options and arguments may be mixed; `--` ends the options,
// and `-` alone is an argument. The strings are those of argv and are not copied.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/status.h"

// option is a row of a command's table; a row without a name ends the table.
struct option {
    const char *name;  // without its dashes: "json"
    const char *value; // what --help calls its value: "FILE"; NULL: it takes none
    const char *help;  // a few words
    char letter;       // the short form; 0: none
};

// option_use is one option as the user gave it.
struct option_use {
    const struct option *option;
    const char *value; // NULL: it takes none
};

struct options {
    const struct option *rows;
    struct option_use *uses;
    size_t use_count;
    const char **arguments; // words that are not options, then NULL
    size_t argument_count;
};

// options_init splits argv into options of rows and arguments. in_order: the first
// argument ends the options, because it is a command with options of its own. On
// CH_ERR_MALFORMED the first argument is the word that is wrong and out_why says why.
// The options must be deinited whatever it returns.
CH_CHECKED enum ch_status options_init(struct options *options,
                                       const struct option *rows, bool in_order,
                                       char **argv, const char **out_why);

// options_deinit frees what options_init allocated.
void options_deinit(struct options *options);

// options_given returns true if the option with that name was given.
bool options_given(const struct options *options, const char *name);

// options_value is the last value given for name, or NULL.
const char *options_value(const struct options *options, const char *name);

// options_value_at is the index'th value given for name, or NULL if there are fewer.
const char *options_value_at(const struct options *options, const char *name,
                             size_t index);

// options_print lists rows as --help shows them.
void options_print(const struct option *rows, FILE *to);
