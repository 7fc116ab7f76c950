// SPDX-License-Identifier: Apache-2.0
//
// Settings are the values of the CRASHHOOK_* variables. One table row per variable
// (shared/settings_table.h) drives parsing, the options of `crashhook run`, --help, the
// man page and what doctor says about them.
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

// `crashhook run --via trace` sets this variable for the program, so that a handler
// that it links is not installed. It is no setting: it counts in a process that is
// traced alone.
#define SETTINGS_TRACED "CRASHHOOK_TRACED"

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
enum setting_heap { HEAP_NO, HEAP_SAMPLE, HEAP_EVERY };
enum setting_kills { KILLS_NO, KILLS_YES, KILLS_SEIZE };
enum setting_format { FORMAT_TEXT, FORMAT_JSON };
enum setting_registers {
    REGISTERS_AUTO,
    REGISTERS_NONE,
    REGISTERS_CRASHED,
    REGISTERS_ALL
};
enum setting_descriptors { DESCRIPTORS_AUTO, DESCRIPTORS_YES, DESCRIPTORS_NO };
enum setting_preset { PRESET_AUTO, PRESET_FRIENDLY, PRESET_MEDIUM, PRESET_FULL };

// SETTINGS_DROP_FOLDER is where programs that cannot use their spool leave reports for
// root to collect: a folder owned by root, mode 1733. SETTINGS_OWN_FOLDER and the
// user's number name the folder that is used where there is no drop folder. A report
// that is sent may also be in SETTINGS_MEMORY_FOLDER (docs/reference/spool.md).
#ifndef SETTINGS_DROP_FOLDER
#define SETTINGS_DROP_FOLDER "/var/lib/crashhook-drop"
#endif
#define SETTINGS_OWN_FOLDER "/tmp/crashhook-"
#define SETTINGS_MEMORY_FOLDER "/dev/shm/crashhook-"

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
    const char *agent;        // NULL: found next to the library
    uint64_t signals;         // bit N: signal N is a crash
    enum setting_unwind unwind;
    uint32_t limit; // frames per backtrace, SETTING_NO_LIMIT: all
    uint32_t top;   // how many of them are the outermost ones
    enum setting_threads threads;
    enum setting_images images;
    enum setting_symbolize symbolize;
    enum setting_switch cache; // whether symbol caches are used
    enum setting_hold hold;
    enum setting_mode mode;
    enum setting_handlers handlers; // order of the program's handlers and our report
    uint64_t timeout_ms;
    enum setting_kills kills; // whether an end that no handler sees is reported
    enum setting_switch print;
    enum setting_preset preset;
    const char *output; // NULL: stderr, as print says; or a path, stdout or stderr
    enum setting_format format;
    enum setting_registers registers;
    enum setting_switch demangle;
    enum setting_switch color;
    enum setting_switch interactive;
    enum setting_switch warnings;
    enum setting_switch arguments; // whether frames have their functions' arguments
    enum setting_switch sanitize;
    enum setting_switch throws; // whether stacks of thrown exceptions are kept
    enum setting_switch memory; // whether memory around register values is shown
    enum setting_switch stacks; // whether the memory of stacks is kept
    enum setting_descriptors descriptors; // whether open descriptors are listed
    enum setting_switch pii;              // whether what identifies people is shown
    enum setting_switch starts;           // whether starts and ends are counted
    const char *tags;                     // k=v,k=v; NULL: none
    const char *user;                     // the tag `user`; NULL: none
    const char *release;
    const char *environment;
    const char *own; // rules of what is the program's own (report/grouping/in_app.h);
                     // NULL: none
    uint64_t rate_count; // at most rate_count uploads in rate_ms
    uint64_t rate_ms;
    uint64_t flight_bytes; // per thread; 0: no flight recorder
    enum setting_heap heap;
    uint32_t heap_rate;  // one in so many allocations is guarded
    uint32_t heap_slots; // allocations that are guarded at a time
    const char *log;     // NULL: none; "stderr" or a path
};

// A settings_get_fn looks up a variable, as getenv does; NULL: not set.
typedef const char *settings_get_fn(void *context, const char *variable);

// A settings_complain_fn receives an invalid value.
typedef void settings_complain_fn(void *context, const char *variable,
                                  const char *value, const char *accepted);

// A setting_kind is how the value of a variable is parsed and stored.
enum setting_kind {
    SETTING_WORD,     // one of the row's words, as the enum's value
    SETTING_STRING,   // anything not empty
    SETTING_PATH,     // the same, of a file or folder
    SETTING_LOG,      // a path, or stderr
    SETTING_OUTPUT,   // a path, stdout or stderr
    SETTING_SIGNALS,  // SEGV,BUS,...
    SETTING_FRAMES,   // a number or none
    SETTING_DURATION, // 30s, 500ms, 2m, 1h
    SETTING_CAPS,     // 64,256M or 64,256M,30d
    SETTING_RATE,     // 10/1m
    SETTING_SIZE,     // no, or 64K
    SETTING_PAIRS,    // k=v,k=v
    SETTING_URLS,     // http://... sentry+https://...
};

// A settings_variable is a variable as documents and --help show it. Its strings are
// empty where it has none of that kind.
struct settings_variable {
    const char *name;     // CRASHHOOK_LIMIT
    const char *option;   // the option of `crashhook run`: limit; NULL: none
    const char *fallback; // the default as a user would type it
    const char *accepted; // what is accepted, as messages say it
    const char *help;     // one sentence
    enum setting_kind kind;
    size_t member; // where in struct settings its value is
};

// settings_variables gives the table, in the order in which documents list it.
const struct settings_variable *settings_variables(size_t *out_count);

// settings_name_at is the name of the variable at a position (shared/settings_table.h).
const char *settings_name_at(size_t position);

// settings_is_path returns true if value, given to this variable, names a file or a
// folder.
bool settings_is_path(const struct settings_variable *variable, const char *value);

// settings_path is the path that the variable has in settings; NULL: none.
const char *settings_path(const struct settings *settings,
                          const struct settings_variable *variable);

// settings_read fills out from the variables that get finds, and from the defaults of
// the others. complain may be NULL.
void settings_read(struct settings *out, settings_get_fn *get,
                   settings_complain_fn *complain, void *context);

// A settings_terminal_fn returns true if the descriptor is a terminal.
typedef bool settings_terminal_fn(int fd);

// settings_output_fd is the descriptor that reports are printed on; -1: none, because
// they are not printed, or go to the file or folder in output.
int settings_output_fd(const struct settings *settings,
                       settings_terminal_fn *is_terminal);

// settings_kept_files gives the descriptors of the program that an agent needs, to
// print, to ask and to log on. Bit N: descriptor N.
uint32_t settings_kept_files(const struct settings *settings,
                             settings_terminal_fn *is_terminal);

// settings_spool_path writes the spool folder that these settings and variables select
// to path. CH_ERR_NOT_FOUND: no variable names a home. CH_ERR_LIMIT: it does not fit.
CH_CHECKED enum ch_status settings_spool_path(const struct settings *settings,
                                              settings_get_fn *get, void *context,
                                              char *path, size_t size);
