// SPDX-License-Identifier: Apache-2.0
//
// What the commands that work with reports share: the settings, the spool, and what is
// done with a report. Each function reports its failure on stderr itself.
#pragma once
#include <jansson.h>
#include <limits.h>

#include "base/cursor.h"
#include "base/settings/settings.h"
#include "base/status.h"
#include "base/text.h"
#include "cli/session/command.h"
#include "report/spool/spool.h"

struct session {
    struct settings settings;
    char spool_path[PATH_MAX];
    struct spool spool;        // folder_fd is -1 until session_spool_open
    const char *sysroot;       // as in symbolizer_options; NULL: none
    const char *exe;           //
    const char *debug_dirs[2]; // searched before the usual places; NULL: none
    const struct symbolizer_held_image *held_images; // as in symbolizer_options
    size_t held_image_count;
    struct cursor artefact;  // that the report is in; empty: in none
    const char *artefact_id; // the beginning of a report's id there; NULL: the newest
    struct symbolizer_held_image *artefact_images; // its programs, in held_images too
    struct symbolization_memo *memo;               // as in symbolizer_options
    bool confined; // reports are completed in a child that is confined as a reader
};

// session_options_understood returns true if the options that stand for variables have
// valid values; if not, it reports that, for the command of that name.
bool session_options_understood(const struct options *options, const char *command);

// session_extend_in_app adds the rules of CRASHHOOK_OWN, or of the option that stands
// for it, to what is a program's own. It is called once.
void session_extend_in_app(const struct options *options);

// session_init reads the settings; an option takes precedence over the variable of the
// same name. An invalid value is reported on stderr, and its default is used.
void session_init(struct session *session, const struct options *options);

// session_init_quietly does the same where the crashed program has reported invalid
// values.
void session_init_quietly(struct session *session, const struct options *options);
void session_deinit(struct session *session);

// session_getenv is getenv in the form of settings_get_fn.
const char *session_getenv(void *context, const char *variable);

// session_symbolize adds names to a report as the settings say, records how long that
// took, and computes its fingerprint again. Failures become problems of the report.
void session_symbolize(const struct session *session, json_t *report);

// session_add_values adds the values that held, a held_file, allows, as the settings
// say.
void session_add_values(const struct session *session, json_t *report, const void *held,
                        size_t size);

// A session_files is what completes a raw report beyond its names.
struct session_files {
    const void *held;              // a held_file, as session_add_values takes it
    size_t held_size;              // 0: none
    const struct settings *attach; // how to read attachments too; NULL: not at all
};

// session_complete does session_symbolize and what files says. The files of a process
// that has fewer rights than we have are read with its own, in
// session_symbolize alone too. False: a confined child did it, and no cache may be
// written.
bool session_complete(const struct session *session, json_t *report,
                      const struct session_files *files);

// session_cache_symbols writes the symbol caches that session_symbolize did not find,
// in the background. It is called after the report was delivered.
void session_cache_symbols(const struct session *session, json_t *report);

// session_print_raw symbolizes a report as the agent writes it, with what was held of
// the process, and prints it on stdout, as JSON or as text. The result is the
// command's.
int session_print_raw(const struct session *session, const struct text *raw,
                      const struct text *held, bool as_json);

// The files that a program registered as attachments (crashhook_attach_file): the raw
// report names them, and the free phase adds the last part of each.

// attachments_fill reads the files that the report's attachments name, each up to its
// own limit, and adds their text, masked as the settings say, or their bytes as base64.
// A file that cannot be read gets the reason. Links are not followed, and only regular
// files are read.
void attachments_fill(json_t *report, const struct settings *settings);
