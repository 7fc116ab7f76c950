// SPDX-License-Identifier: Apache-2.0
//
// A command is one file or folder of cli/ and one row of the table in main.c.
//
// Data goes to stdout, messages to stderr: one line that says what failed, about what,
// and why. main.c parses the options, prints --help from the same rows, and checks at
// the end that stdout accepted everything.
#pragma once
#include <jansson.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "base/status.h"
#include "base/text.h"

// Options: one table row per option of a command drives parsing and --help.
//
// Long options take their value as `--name VALUE` or `--name=VALUE`, letters as
// `-o VALUE` or `-oVALUE`. Options and arguments may be mixed; `--` ends the options,
// and `-` alone is an argument. The strings are those of argv and are not copied.

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

// command_result is what a command returns, and the exit code of the process.
// `crashhook run` exits with the code of the command that it ran, so it may return any
// number.
enum command_result {
    COMMAND_DONE = 0,
    COMMAND_FAILED = 1, // after one line on stderr that says why
    COMMAND_USAGE = 2,
};

struct command {
    const char *name;             // "show", or two words: "cbf decode"
    const char *arguments;        // as --help shows them after the name; NULL: none
    const char *summary;          // one sentence without its full stop
    const struct option *options; // NULL: none
    const struct option *(*make_options)(void); // if they are not constant
    int (*run)(const struct options *options);
    size_t arguments_min; // how many arguments it requires
    size_t arguments_max; // SIZE_MAX: no limit
    bool in_order;        // its first argument ends its options
    bool hidden;          // not listed: other parts of crashhook call it
};

// command_table is the table of commands, in the order in which --help lists them.
const struct command *const *command_table(size_t *out_count);

// command_options is the command's options, or NULL if it has none.
const struct option *command_options(const struct command *command);

// command_create creates the file at path, or gives standard output for `-`. NULL:
// errno says why. command_close closes it; false: not everything was written.
FILE *command_create(const char *path);
bool command_close(FILE *file);

// command_fail prints "crashhook: " and the message, and returns COMMAND_FAILED.
int command_fail(const char *format, ...) CH_PRINTF(1, 2);

// command_misused is command_fail for wrong usage: it returns COMMAND_USAGE.
int command_misused(const char *format, ...) CH_PRINTF(1, 2);

// command_read_file appends all of the file at path, "-" for stdin, to out. It reports
// a failure itself: `cannot read 'x': No such file or directory`.
CH_CHECKED enum ch_status command_read_file(const char *path, struct text *out);

// command_read_json parses the file at path, "-" for stdin, as JSON. It reports a
// failure itself. The caller owns *out.
CH_CHECKED enum ch_status command_read_json(const char *path, json_t **out);

// command_print_text prints text, a report's JSON, if status is CH_OK; otherwise it
// reports why there is none.
int command_print_text(enum ch_status status, const struct text *text);

// command_parse_address parses an address in hex, with or without 0x; false: it is
// none.
bool command_parse_address(const char *text, uint64_t *out);

// command_parse_pid parses a process id in decimal; false: it is none.
bool command_parse_pid(const char *text, pid_t *out);

extern const struct command attach_command;
extern const struct command cbf_decode_command;
extern const struct command ci_command;
extern const struct command core_command;
extern const struct command deaths_command;
extern const struct command debug_command;
extern const struct command describe_command;
extern const struct command doctor_command;
extern const struct command cbf_encode_command;
extern const struct command images_decode_command;
extern const struct command images_encode_command;
extern const struct command record_command;
extern const struct command sframe_dump_command;
extern const struct command sframe_lookup_command;
extern const struct command sframe_make_command;
extern const struct command sframe_verify_command;
extern const struct command symbolize_command;
extern const struct command export_command;
extern const struct command group_command;
extern const struct command fdr_account_command;
extern const struct command fdr_convert_command;
extern const struct command fdr_dump_command;
extern const struct command fdr_extract_command;
extern const struct command fdr_graph_command;
extern const struct command fdr_stack_command;
extern const struct command finish_command;
extern const struct command gate_command;
extern const struct command groups_command;
extern const struct command heap_command;
extern const struct command reports_command;
extern const struct command resolve_command;
extern const struct command reopen_command;
extern const struct command ignore_command;
extern const struct command assign_command;
extern const struct command comment_command;
extern const struct command merge_command;
extern const struct command split_command;
extern const struct command erase_command;
extern const struct command releases_command;
extern const struct command releases_commits_command;
extern const struct command init_command;
extern const struct command list_command;
extern const struct command mcp_command;
extern const struct command minidump_command;
extern const struct command node_command;
extern const struct command run_command;
extern const struct command show_command;
extern const struct command types_diff_command;
extern const struct command types_dump_command;
extern const struct command symbols_index_command;
extern const struct command symbols_missing_command;
extern const struct command symbols_upload_command;
extern const struct command upload_command;

// JSON that is printed as it is made, for listings too long to be built in memory.
//
// It is only for commands, which print to standard output; the caller is responsible
// for commas and brackets. Nothing is allocated, and there is no limit.

// json_print_string prints size bytes as a JSON string. Bytes that are not UTF-8, which
// Linux paths may hold, become U+FFFD.
void json_print_string(const char *bytes, size_t size);

// The argument HEX|FILE|- of the commands that decode small binary formats.
//
// An even number of hex digits is the data itself. Anything else is a file, whose
// content is hex text if it starts with ASCII '0' (the formats start with a byte of 00
// to 02) and the data itself otherwise.

// data_argument_read appends the data that argument names to out. It reports a failure
// itself.
CH_CHECKED enum ch_status data_argument_read(const char *argument, struct text *out);

// shell_word_quote appends word in single quotes: a shell that runs the command takes
// it as one word and expands nothing.
void shell_word_quote(const char *word, struct text *out);

// A temporary folder is for files that a command needs while it runs. No other user may
// enter it, and it is removed with its content.
//
// TEMPORARY_FOLDER_SIZE leaves room for the names of what is in it.
enum { TEMPORARY_FOLDER_SIZE = PATH_MAX - 64 };

// temporary_folder_make makes a new folder for the caller alone in $TMPDIR, or in /tmp
// where that is no absolute path, and writes its path, which begins with
// crashhook-NAME. False: errno is set.
bool temporary_folder_make(const char *name, char path[static TEMPORARY_FOLDER_SIZE]);

// temporary_folder_remove removes it with all that is in it, without following links.
// What cannot be removed is left.
void temporary_folder_remove(const char *path);

// Where the other parts of this installation are, relative to the folder of this
// program, so that the build tree, any prefix and a moved folder all work. A part that
// is not in its place is not searched for elsewhere: parts of different versions do not
// fit together.

// installed_library writes the path of the handler's library; false: it is not there.
bool installed_library(char path[static PATH_MAX]);

// installed_agent writes the path of crashhook-agent; false: it is not there.
bool installed_agent(char path[static PATH_MAX]);

// installed_bindings writes the folder of the bindings; false: it is not there.
bool installed_bindings(char path[static PATH_MAX]);
