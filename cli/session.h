// SPDX-License-Identifier: Apache-2.0
//
// What the commands that work with reports share: the settings, the spool they name,
// and what is done with a report. Where a function fails it has said why on stderr.
#pragma once
#include <jansson.h>
#include <limits.h>

#include "base/settings.h"
#include "base/status.h"
#include "base/text.h"
#include "cli/options.h"
#include "report/spool.h"

struct session {
    struct settings settings;
    char spool_path[PATH_MAX];
    struct spool spool;    // folder_fd is -1 until session_spool_open
    const char *sysroot;   // as symbolizer_options has them; NULL: none
    const char *exe;       //
    const char *debug_dir; // looked in before the usual places; NULL: none
    const struct symbolizer_held_image *held_images; // as symbolizer_options has them
    size_t held_image_count;
};

// session_options_understood is whether the options that stand for variables have
// values that those take; where not it has said so, for the command of that name.
bool session_options_understood(const struct options *options, const char *command);

// session_init reads the settings; what an option of the same name says goes first. A
// value that is not understood is said on stderr and its default is used.
void session_init(struct session *session, const struct options *options);

// session_init_quietly is session_init where the program that crashed has been told.
void session_init_quietly(struct session *session, const struct options *options);
void session_deinit(struct session *session);

// session_getenv is getenv in the form of settings_get_fn.
const char *session_getenv(void *context, const char *variable);

// session_symbolize adds names to a report as the settings say, notes how long that
// took, and computes its fingerprint anew. What went wrong is among its problems.
void session_symbolize(const struct session *session, json_t *report);

// session_add_values adds what can be made of held, a held_file, as the settings say.
void session_add_values(const struct session *session, json_t *report, const void *held,
                        size_t size);

// session_cache_symbols writes the symbol caches that session_symbolize did not find,
// in the background. It is called when the report has been answered.
void session_cache_symbols(const struct session *session, json_t *report);

// session_print_raw symbolizes a report as the agent writes it, with what was held of
// the process, and prints it on stdout, as JSON or for reading. The result is the
// command's.
int session_print_raw(const struct session *session, const struct text *raw,
                      const struct text *held, bool as_json);
