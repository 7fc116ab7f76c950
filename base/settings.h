// SPDX-License-Identifier: Apache-2.0
//
// Settings are the values of the CRASHHOOK_* variables. One table row per variable
// (name, default, what is accepted, help) drives parsing, the options of `crashhook
// run`, --help and the man page.
//
// The handler reads them once at install (never in crash context) and passes the
// variables on; the agent and the commands read the same variables the same way. An
// invalid value is reported once and its default is used. Strings are not copied: they
// live as long as the environment they came from.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

enum setting_switch { SETTING_NO, SETTING_YES, SETTING_TTY };
enum setting_unwind {
    SETTING_UNWIND_AUTO,
    SETTING_UNWIND_FAST,
    SETTING_UNWIND_PRECISE,
    SETTING_UNWIND_SFRAME,
    SETTING_UNWIND_DWARF,
    SETTING_UNWIND_FP,
    SETTING_UNWIND_LIBUNWIND,
};
enum setting_threads { THREADS_ALL, THREADS_CRASHED };
enum setting_images { IMAGES_ALL, IMAGES_NONE, IMAGES_MENTIONED };
enum setting_symbolize { SYMBOLIZE_FULL, SYMBOLIZE_FAST, SYMBOLIZE_OFF };
enum setting_hold { HOLD_AUTO, HOLD_CAPTURE, HOLD_REPORT, HOLD_UPLOAD };
enum setting_handlers { HANDLERS_FIRST, HANDLERS_LAST };
enum setting_mode { MODE_SPAWN, MODE_DAEMON };
enum setting_preset { PRESET_AUTO, PRESET_FRIENDLY, PRESET_MEDIUM, PRESET_FULL };

// SETTINGS_DROP_FOLDER is where programs that cannot use their spool leave reports for
// root to collect: a folder owned by root, mode 1733. SETTINGS_OWN_FOLDER and the
// user's number name the folder that is used where there is no drop folder
// (docs/reports.md).
#ifndef SETTINGS_DROP_FOLDER
#define SETTINGS_DROP_FOLDER "/var/lib/crashhook-drop"
#endif
#define SETTINGS_OWN_FOLDER "/tmp/crashhook-"

// SETTING_NO_LIMIT is the word `none` where a number of frames is expected.
#define SETTING_NO_LIMIT UINT32_MAX

struct settings {
    enum setting_switch enable;
    const char *url;        // targets separated by spaces; NULL: spool only
    const char *token_file; // NULL: none
    const char *token;      // NULL: none
    const char *spool;      // NULL: settings_spool_path decides
    uint64_t spool_max_reports;
    uint64_t spool_max_bytes;
    uint64_t spool_max_age_s; // of reports that were sent; 0: any
    const char *agent;        // NULL: found beside the library
    uint64_t signals;         // bit N: signal N is a crash
    enum setting_unwind unwind;
    uint32_t limit; // frames per backtrace, SETTING_NO_LIMIT: all
    uint32_t top;   // how many of them are the outermost ones
    enum setting_threads threads;
    enum setting_images images;
    enum setting_symbolize symbolize;
    enum setting_hold hold;
    enum setting_mode mode;
    enum setting_handlers handlers; // order of the program's handlers and our report
    uint64_t timeout_ms;
    enum setting_switch print;
    enum setting_preset preset;
    enum setting_switch arguments; // whether frames have their functions' arguments
    enum setting_switch sanitize;
    enum setting_switch memory; // whether memory around register values is shown
    const char *tags;           // k=v,k=v; NULL: none
    const char *release;
    const char *environment;
    uint64_t rate_count; // at most rate_count uploads in rate_ms
    uint64_t rate_ms;
    uint64_t flight_bytes; // per thread; 0: no flight recorder
    const char *log;       // NULL: none; "stderr" or a path
};

// A settings_get_fn looks up a variable, as getenv does; NULL: not set.
typedef const char *settings_get_fn(void *context, const char *variable);

// A settings_complain_fn is told of an invalid value.
typedef void settings_complain_fn(void *context, const char *variable,
                                  const char *value, const char *accepted);

// A settings_variable is a variable as documents and --help show it.
struct settings_variable {
    const char *name;     // CRASHHOOK_LIMIT
    const char *option;   // the option of `crashhook run`: limit
    const char *fallback; // the default as a user would type it; NULL: none
    const char *accepted; // what is accepted, as messages say it
    const char *help;     // one sentence
    const char *words;    // the only values accepted: "no yes tty"; NULL: others
};

// settings_rule gives variable index without its option and help. false: there are no
// more.
bool settings_rule(size_t index, struct settings_variable *out);

// settings_variables gives the table, in the order in which documents list it.
const struct settings_variable *settings_variables(size_t *out_count);

// settings_read fills out from the variables that get finds, and from the defaults of
// the others. complain may be NULL.
void settings_read(struct settings *out, settings_get_fn *get,
                   settings_complain_fn *complain, void *context);

// settings_spool_path writes the spool folder that these settings and variables select
// to path. CH_ERR_NOT_FOUND: no variable names a home. CH_ERR_LIMIT: it does not fit.
CH_CHECKED enum ch_status settings_spool_path(const struct settings *settings,
                                              settings_get_fn *get, void *context,
                                              char *path, size_t size);
