// SPDX-License-Identifier: Apache-2.0
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hex.h"
#include "cli/render/pen.h"
#include "cli/session/command.h"
#include "report/value/report.h"
#include "symbolizer/cache/symbol_cache.h"
#include "symbolizer/cache/symbol_cache_folder.h"
#include "symbolizer/names/image_cache.h"
#include "symbolizer/names/symbol_image.h"
#include "symbolizer/symbolizer.h"

// DEBUG_DIRS_MAX is how many --debug-dir options one call accepts.
enum { DEBUG_DIRS_MAX = 64, PRINTED_BYTES = 128 << 10 };

struct symbolize {
    const struct options *options;
    const char *debug_dirs[DEBUG_DIRS_MAX];
    size_t debug_dir_count;
    char cache_buffer[PATH_MAX];
    const char *cache_folder; // NULL: no cache is used
};

// write_report_to writes the report to fd and closes fd.
static bool write_report_to(const json_t *report, int fd)
{
    FILE *file = fdopen(fd, "w");
    bool written = file != NULL && json_dumpf(report, file, JSON_INDENT(1)) == 0 &&
                   fputc('\n', file) != EOF;
    bool closed = file != NULL ? fclose(file) == 0 : close(fd) == 0;
    return written && closed;
}

// replace_report_file replaces the file at path by the report, atomically.
static bool replace_report_file(const json_t *report, const char *path)
{
    char temporary[4096];
    int length = snprintf(temporary, sizeof(temporary), "%s.XXXXXX", path);
    int fd = -1;
    if (length > 0 && (size_t)length < sizeof(temporary))
        fd = mkstemp(temporary);
    if (fd < 0)
        return false;
    if (write_report_to(report, fd) && rename(temporary, path) == 0)
        return true;
    int error = errno;
    unlink(temporary);
    errno = error;
    return false;
}

// write_symbolized_report replaces a regular file, and writes into anything else: a
// device, a pipe, or the target of a link.
static int write_symbolized_report(const json_t *report, const char *path)
{
    struct stat there;
    bool is_file = lstat(path, &there) != 0 || S_ISREG(there.st_mode);
    int fd = is_file ? -1 : open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
    if (fd >= 0 ? write_report_to(report, fd)
                : is_file && replace_report_file(report, path))
        return COMMAND_DONE;
    return command_fail("cannot write '%s': %s", path, strerror(errno));
}

static int print_symbolized_report(const json_t *report)
{
    if (json_dumpf(report, stdout, JSON_INDENT(1)) != 0 || putchar('\n') == EOF)
        return command_fail("cannot write to stdout: %s", strerror(errno));
    return COMMAND_DONE;
}

// open_named_report puts every frame in its place. An incomplete report is treated as
// version 1: CBF and images are enough to name frames.
static enum ch_status open_named_report(json_t *report, const char *path,
                                        bool *out_packed)
{
    struct report_error error;
    const char *schema = report_string(report, "schema");
    *out_packed = schema != NULL && strcmp(schema, REPORT_SCHEMA) == 0;
    enum ch_status status = *out_packed ? report_open(report, false, &error) : CH_OK;
    if (status != CH_OK)
        (void)command_fail("cannot read report '%s': %s", path, error.text);
    return status;
}

// output_report prints the report or writes it to its file, in the version it was read
// in.
static int output_report(const json_t *report, bool packed, const char *output)
{
    json_auto_t *file =
        packed ? report_file(report) : json_incref((json_t *)(uintptr_t)report);
    if (file == NULL)
        return command_fail("cannot print the report: %s", strerror(ENOMEM));
    bool to_stdout = output == NULL || strcmp(output, "-") == 0;
    return to_stdout ? print_symbolized_report(file)
                     : write_symbolized_report(file, output);
}

static int symbolize_report(const struct symbolize *symbolize, const char *path)
{
    json_auto_t *report = NULL;
    bool packed;
    if (command_read_json(path, &report) != CH_OK ||
        open_named_report(report, path, &packed) != CH_OK)
        return COMMAND_FAILED;
    const struct symbolizer_options options = {
        .level = SYMBOLIZE_FULL,
        .debug_dirs = symbolize->debug_dirs,
        .debug_dir_count = symbolize->debug_dir_count,
        .debuginfod_url = options_value(symbolize->options, "debuginfod"),
        .home = getenv("HOME"),
        .sanitize = true,
        .cache_folder = symbolize->cache_folder,
        .swift_library = options_value(symbolize->options, "swift-library"),
    };
    enum ch_status status = symbolizer_report_guarded(report, &options);
    if (status == CH_OK) // names are part of the fingerprint
        status = report_update_fingerprint(report);
    if (status != CH_OK)
        return command_fail("cannot symbolize '%s': %s", path, ch_status_name(status));
    int result =
        output_report(report, packed, options_value(symbolize->options, "output"));
    fflush(stdout); // print the answer first: caching may take long
    symbolizer_cache_report(report, &options);
    return result;
}

static void print_string_member(const char *key, const char *value)
{
    if (value == NULL)
        return;
    printf("\"%s\":", key);
    json_print_string(value, strlen(value));
    putchar(',');
}

static void print_frame_json(const struct symbol_frame *frame)
{
    putchar('{');
    print_string_member("function", frame->function);
    print_string_member("raw_name", frame->raw_name);
    print_string_member("file", frame->file);
    if (frame->file != NULL && frame->line != 0)
        printf("\"line\":%" PRIu32 ",", frame->line);
    if (frame->file != NULL && frame->line != 0 && frame->column != 0)
        printf("\"column\":%" PRIu32 ",", frame->column);
    printf("\"inlined\":%s}", frame->inlined ? "true" : "false");
}

static void print_address_json(uint64_t address, const struct symbol_frame *frames,
                               size_t count)
{
    printf("{\"address\":\"0x%" PRIx64 "\",\"frames\":[", address);
    for (size_t i = 0; i < count; i++) {
        if (i != 0)
            putchar(',');
        print_frame_json(&frames[i]);
    }
    fputs("]}", stdout);
}

// number_before writes a number before end, with before in front of it, and returns
// where that is: several times as fast as printf.
static char *number_before(char *end, char before, uint32_t number)
{
    do
        *--end = (char)('0' + number % 10);
    while ((number /= 10) != 0);
    *--end = before;
    return end;
}

// append_line_column appends ":LINE:COLUMN".
static void append_line_column(uint32_t line, uint32_t column, struct text *out)
{
    char place[2 * 12];
    char *end = place + sizeof(place);
    *--end = '\n';
    char *at = number_before(number_before(end, ':', column), ':', line);
    text_append(out, at, (size_t)(place + sizeof(place) - at));
}

// append_address appends two lines per frame, as addr2line -fiC prints them, with
// columns.
static void append_address(const struct symbol_frame *frames, size_t count,
                           struct text *out)
{
    if (count == 0)
        text_append_string(out, "??\n??:0:0\n");
    for (size_t i = 0; i < count; i++) {
        pen_escape(frames[i].function != NULL ? frames[i].function : "??", out);
        text_append(out, "\n", 1);
        pen_escape(frames[i].file != NULL ? frames[i].file : "??", out);
        append_line_column(frames[i].line, frames[i].column, out);
    }
}

// parse_link_address parses an address as people copy it: hexadecimal, with or without
// 0x.
static bool parse_link_address(const char *text, uint64_t *out)
{
    size_t prefix = strncmp(text, "0x", 2) == 0 || strncmp(text, "0X", 2) == 0 ? 2 : 0;
    size_t digits = strspn(text + prefix, "0123456789abcdefABCDEF");
    if (digits == 0 || digits > 16 || text[prefix + digits] != 0)
        return false;
    *out = strtoull(text + prefix, NULL, 16);
    return true;
}

// printing is the state of printing one address after another.
struct printing {
    struct symbol_image *image;
    bool json;
    size_t count;
    struct text out; // what is not yet printed, unless it is JSON
    bool lost;       // memory was short for it
};

// print_appended prints what was appended.
static void print_appended(struct printing *printing)
{
    printing->lost |= !text_ok(&printing->out);
    if (printing->out.size != 0)
        fwrite(printing->out.bytes, 1, printing->out.size, stdout);
    text_clear(&printing->out);
}

static void print_address(struct printing *printing, uint64_t address)
{
    struct symbol_frame frames[SYMBOL_FRAMES_MAX];
    size_t count = symbol_image_find(printing->image, address, frames);
    if (!printing->json) {
        append_address(frames, count, &printing->out);
        if (printing->out.size >= PRINTED_BYTES)
            print_appended(printing);
        return;
    }
    fputs(printing->count++ != 0 ? ",\n" : "\n", stdout);
    print_address_json(address, frames, count);
}

static int refuse_address(const char *text)
{
    return command_misused("symbolize: '%s' is not an address in hexadecimal", text);
}

static int print_argument(struct printing *printing, const char *text)
{
    uint64_t address;
    if (!parse_link_address(text, &address))
        return refuse_address(text);
    print_address(printing, address);
    return COMMAND_DONE;
}

// read_word reads the next bytes of stdin between white space; of a longer word only as
// many as there is room for. False: there are no more.
static bool read_word(char *word, size_t room)
{
    size_t size = 0;
    int byte;
    do
        byte = getchar_unlocked();
    while (byte != EOF && isspace(byte));
    while (byte != EOF && !isspace(byte) && size + 1 < room) {
        word[size++] = (char)byte;
        byte = getchar_unlocked();
    }
    if (byte != EOF && !isspace(byte))
        (void)ungetc(byte, stdin);
    word[size] = 0;
    return size != 0;
}

// print_from_stdin reads addresses separated by white space.
static int print_from_stdin(struct printing *printing)
{
    char word[64];
    uint64_t addresses[SYMBOL_CACHE_EXPECTED_MAX];
    struct stat input;
    // Another program may wait for each answer, except when the input is a file.
    bool at_once = !printing->json &&
                   (fstat(STDIN_FILENO, &input) != 0 || !S_ISREG(input.st_mode));
    size_t most = at_once ? 1 : SYMBOL_CACHE_EXPECTED_MAX;
    for (;;) {
        size_t count = 0;
        bool more = true;
        while (count < most && (more = read_word(word, sizeof(word))) &&
               parse_link_address(word, &addresses[count]))
            count++;
        symbol_image_expect(printing->image, addresses, count);
        for (size_t i = 0; i < count; i++)
            print_address(printing, addresses[i]);
        if (at_once) {
            print_appended(printing);
            fflush(stdout);
        }
        if (count < most)
            return more ? refuse_address(word) : COMMAND_DONE;
    }
}

static int print_addresses(struct printing *printing, const struct options *options)
{
    // Many answers are hundreds of megabytes: nothing is locked for each name, as there
    // is one thread, and the kernel is called seldom.
    static char printed[PRINTED_BYTES];
    if (printing->json)
        (void)setvbuf(stdout, printed, _IOFBF, sizeof(printed));
    (void)__fsetlocking(stdout, FSETLOCKING_BYCALLER);
    int result = COMMAND_DONE;
    if (printing->json)
        putchar('[');
    for (size_t i = 0; result == COMMAND_DONE && i < options->argument_count; i++) {
        const char *text = options->arguments[i];
        result = strcmp(text, "-") == 0 ? print_from_stdin(printing)
                                        : print_argument(printing, text);
    }
    print_appended(printing);
    if (printing->json)
        puts("\n]");
    return printing->lost
               ? command_fail("cannot print all answers: %s", strerror(ENOMEM))
               : result;
}

static int symbolize_file(const struct symbolize *symbolize, const char *path)
{
    static const struct build_id any_build = { .size = 0 };
    const struct debug_search search = {
        .debug_dirs = symbolize->debug_dirs,
        .debug_dir_count = symbolize->debug_dir_count,
        .debuginfod_url = options_value(symbolize->options, "debuginfod"),
        .cache_folder = symbolize->cache_folder,
        .no_raw_names = !options_given(symbolize->options, "json"),
    };
    struct printing printing = { .json = options_given(symbolize->options, "json") };
    if (access(path, R_OK) != 0)
        return command_fail("cannot read '%s': %s", path, strerror(errno));
    if (symbol_image_open(&printing.image, path, &any_build, &search, false) != CH_OK)
        return command_fail("cannot read '%s': %s", path, strerror(ENOMEM));
    enum debug_status status = symbol_image_status(printing.image);
    int result = COMMAND_DONE;
    if (status == DEBUG_NO_FILE || status == DEBUG_DAMAGED)
        result = command_fail("cannot read '%s': %s", path,
                              status == DEBUG_DAMAGED ? "no ELF file, or a damaged one"
                                                      : "not a regular file");
    else
        result = print_addresses(&printing, symbolize->options);
    fflush(stdout); // print the answer first: caching may take long
    struct build_id id;
    symbol_image_build(printing.image, &id);
    if (status == DEBUG_FOUND && !symbol_image_is_cached(printing.image))
        image_cache_begin(path, &id, &search);
    symbol_image_close(printing.image);
    text_deinit(&printing.out);
    return result;
}

static int run_symbolize(const struct options *options)
{
    struct symbolize symbolize = { .options = options };
    const char *dir;
    while ((dir = options_value_at(options, "debug-dir", symbolize.debug_dir_count))) {
        if (symbolize.debug_dir_count == DEBUG_DIRS_MAX)
            return command_misused("symbolize: more than %d --debug-dir",
                                   DEBUG_DIRS_MAX);
        symbolize.debug_dirs[symbolize.debug_dir_count++] = dir;
    }
    if (!options_given(options, "no-cache"))
        symbolize.cache_folder = symbol_cache_folder_default(symbolize.cache_buffer);
    const char *exe = options_value(options, "exe");
    if (exe != NULL && options_given(options, "output"))
        return command_misused(
            "symbolize: --output goes with a report, not with --exe");
    if (exe != NULL)
        return symbolize_file(&symbolize, exe);
    if (options_given(options, "json"))
        return command_misused("symbolize: --json goes with --exe; reports are JSON");
    if (options->argument_count != 1)
        return command_misused(
            "symbolize: it takes one REPORT, or --exe and addresses");
    return symbolize_report(&symbolize, options->arguments[0]);
}

static const struct option symbolize_options[] = {
    { "exe", "FILE", "name link-time addresses of FILE instead of a report", 0 },
    { "json", NULL, "with --exe: print one JSON array", 0 },
    { "debug-dir", "DIR", "look for debug files in DIR first; may be repeated", 0 },
    { "debuginfod", "URL", "ask this debuginfod server for missing debug files", 0 },
    { "no-cache", NULL, "neither use nor write symbol caches", 0 },
    { "swift-library", "FILE", "demangle Swift's names with this library of root's",
      0 },
    { "output", "FILE", "write the report to FILE", 'o' },
    { 0 },
};

const struct command symbolize_command = {
    .name = "symbolize",
    .arguments = "REPORT | --exe FILE ADDRESS...|-",
    .summary = "Add names and lines to a report, or look up addresses of a file",
    .options = symbolize_options,
    .run = run_symbolize,
    .arguments_min = 1,
    .arguments_max = SIZE_MAX,
};
