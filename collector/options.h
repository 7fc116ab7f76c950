// SPDX-License-Identifier: Apache-2.0
//
// The collector's command line: one table row per option drives parsing and --help.
// Values are checked where they are used; strings live as long as argv. Only main reads
// it.
#pragma once
#include <stdbool.h>

struct options {
    const char *listen;
    const char *store;
    const char *symbols;         // NULL: beside the store
    const char *body_store;      // where bodies are packed to; NULL: nowhere
    const char *body_segments;   // how they are; NULL: 8M/10m
    const char *symbol_store;    // where debug files are kept; NULL: in symbols
    const char *symbol_cache;    // room in symbols then; NULL: 10G
    const char *symbol_keep;     // how long unused ones are; NULL: for ever
    const char *debuginfod_urls; // servers upstream; NULL: none
    const char *token_file;      // NULL: none
    const char *user_header;     // by which a proxy names users; NULL: none does
    const char *groups_header;   // by which it names their groups; NULL: none
    const char *trusted_proxy;   // its address
    const char *keep;            // NULL: for ever
    const char *keep_per_group;  // NULL: all of them
    const char *keep_size;       // NULL: any
    const char *backup;          // where a copy of the store is put; NULL: nowhere
    const char *rate;            // NULL: no limit
    const char *workers;         // processes that name reports; NULL: 2
    const char *search_without;  // fields that reports are not found by; NULL: none
    const char *own;             // rules of what is a program's own; NULL: none
    const char *webhook_file;    // receivers of alerts; NULL: none
    const char *mail_file;       // the same by mail; NULL: none
    const char *public_url;      // where people reach the pages; NULL: not known
    const char *source_url;      // of a line of the program's sources; NULL: none
    const char *source_root;     // folder that they were built in; NULL: any
    const char *issue_url;       // of a new issue; NULL: none
    const char *users;           // `plain`: names are stored; NULL: pseudonyms
    const char *ticket_file;     // secrets of issue trackers; NULL: none
    const char *log;             // NULL: only failures
    const char *time_zone;       // that pages show times in; NULL: UTC
    const char *read_only;       // `yes`; NULL: no
};

enum options_result { OPTIONS_RUN, OPTIONS_DONE, OPTIONS_WRONG };

// options_parse fills out from argv; it prints the text of --help and --version
// (OPTIONS_DONE), or one line about a usage error (OPTIONS_WRONG).
enum options_result options_parse(int argc, char **argv, struct options *out);

// Where a collector keeps what no option names a place for: in /var/lib for root,
// otherwise in the user's folder for lasting state (XDG Base Directory Specification).

enum { STATE_PATH_SIZE = 4096 };

// state_default_store writes the name of a SQLite store in the folder for lasting
// state, and makes missing folders. False, here and below: there is no such folder.
bool state_default_store(char out[STATE_PATH_SIZE]);

// state_default_symbols writes the path of a folder beside the store's file, or, where
// the store is not a file, in the folder for lasting state.
bool state_default_symbols(const char *store, char out[STATE_PATH_SIZE]);
