// SPDX-License-Identifier: Apache-2.0
//
// The collector's command line: one table row per option drives parsing and --help.
// Values are checked by whoever uses them; strings live as long as argv. Read by main.
#pragma once
#include <stdbool.h>

struct options {
    const char *listen;
    const char *store;
    const char *symbols;        // NULL: beside the store
    const char *token_file;     // NULL: none
    const char *keep;           // NULL: for ever
    const char *keep_per_group; // NULL: all
    const char *rate;           // NULL: no limit
    const char *log;            // NULL: failures alone
};

enum options_result { OPTIONS_RUN, OPTIONS_DONE, OPTIONS_WRONG };

// options_parse fills out from argv; it prints what --help and --version ask for
// (OPTIONS_DONE), and one line about a wrong use (OPTIONS_WRONG).
enum options_result options_parse(int argc, char **argv, struct options *out);
