// SPDX-License-Identifier: Apache-2.0
#include "cli/session/command.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "base/hex.h"
#include "base/utf8.h"

// find_cli_option finds the row of a long option whose name is length bytes long, or
// NULL.
static const struct option *find_cli_option(const struct option *rows, const char *name,
                                            size_t length)
{
    for (; rows != NULL && rows->name != NULL; rows++) {
        if (strlen(rows->name) == length && memcmp(rows->name, name, length) == 0)
            return rows;
    }
    return NULL;
}

static const struct option *find_letter(const struct option *rows, char letter)
{
    for (; rows != NULL && rows->name != NULL; rows++) {
        if (rows->letter != 0 && rows->letter == letter)
            return rows;
    }
    return NULL;
}

// take_option parses the option at *argv and moves *argv to the last word that it used.
// It returns why it could not, or NULL.
static const char *take_option(struct options *options, char ***argv)
{
    const char *word = **argv;
    bool is_long = word[1] == '-';
    const char *name = word + (is_long ? 2 : 1);
    const char *equals = is_long ? strchr(name, '=') : NULL;
    size_t length = equals != NULL ? (size_t)(equals - name) : strlen(name);

    const struct option *row = is_long ? find_cli_option(options->rows, name, length)
                                       : find_letter(options->rows, name[0]);
    if (row == NULL)
        return "no such option";

    const char *value = equals != NULL ? equals + 1 : NULL;
    if (!is_long && name[1] != 0)
        value = name + 1;
    if (row->value == NULL && value != NULL)
        return "this option takes no value";
    if (row->value != NULL && value == NULL) {
        value = *++*argv;
        if (value == NULL)
            return "this option needs a value: see --help";
    }
    options->uses[options->use_count++] = (struct option_use){ row, value };
    return NULL;
}

enum ch_status options_init(struct options *options, const struct option *rows,
                            bool in_order, char **argv, const char **out_why)
{
    size_t count = 0;
    while (argv[count] != NULL)
        count++;
    *options = (struct options){ .rows = rows };
    options->uses = calloc(count + 1, sizeof(options->uses[0]));
    options->arguments = calloc(count + 1, sizeof(options->arguments[0]));
    if (options->uses == NULL || options->arguments == NULL)
        return CH_ERR_NO_MEMORY;

    bool only_arguments = false;
    for (; *argv != NULL; argv++) {
        const char *word = *argv;
        if (!only_arguments && strcmp(word, "--") == 0) {
            only_arguments = true;
        } else if (only_arguments || word[0] != '-' || word[1] == 0) {
            options->arguments[options->argument_count++] = word;
            only_arguments = only_arguments || in_order;
        } else {
            *out_why = take_option(options, &argv);
            if (*out_why == NULL)
                continue;
            options->arguments[0] = word;
            return CH_ERR_MALFORMED;
        }
    }
    return CH_OK;
}

void options_deinit(struct options *options)
{
    free(options->uses);
    free(options->arguments);
    *options = (struct options){ 0 };
}

bool options_given(const struct options *options, const char *name)
{
    for (size_t i = 0; i < options->use_count; i++) {
        if (strcmp(options->uses[i].option->name, name) == 0)
            return true;
    }
    return false;
}

const char *options_value(const struct options *options, const char *name)
{
    for (size_t i = options->use_count; i > 0; i--) {
        if (strcmp(options->uses[i - 1].option->name, name) == 0)
            return options->uses[i - 1].value;
    }
    return NULL;
}

const char *options_value_at(const struct options *options, const char *name,
                             size_t index)
{
    for (size_t i = 0; i < options->use_count; i++) {
        if (strcmp(options->uses[i].option->name, name) == 0 && index-- == 0)
            return options->uses[i].value;
    }
    return NULL;
}

// print_option_row prints "  -o, --output FILE" and the help after it, on a line of its
// own if the option is long.
static void print_option_row(const struct option *row, FILE *to)
{
    enum { HELP_COLUMN = 26 };
    int width = fprintf(to, "  ");
    if (row->letter != 0)
        width += fprintf(to, "-%c, ", row->letter);
    width += fprintf(to, "--%s", row->name);
    if (row->value != NULL)
        width += fprintf(to, " %s", row->value);
    if (width >= HELP_COLUMN) {
        fputc('\n', to);
        width = 0;
    }
    fprintf(to, "%*s%s\n", HELP_COLUMN - width, "", row->help);
}

void options_print(const struct option *rows, FILE *to)
{
    static const struct option help = { "help", NULL, "show this and exit", 0 };
    fputs("\noptions:\n", to);
    for (; rows != NULL && rows->name != NULL; rows++)
        print_option_row(rows, to);
    print_option_row(&help, to);
}

static bool argument_is_hex(const char *argument)
{
    size_t length = strspn(argument, "0123456789abcdefABCDEF");
    return argument[length] == 0 && length % 2 == 0;
}

// decode_in_place replaces hex digits, with white space between them, by their bytes.
static enum ch_status decode_in_place(struct text *text, const char *name)
{
    size_t digits = 0;
    for (size_t i = 0; i < text->size; i++) {
        if (!isspace((unsigned char)text->bytes[i]))
            text->bytes[digits++] = text->bytes[i];
    }
    size_t size = 0;
    enum ch_status status =
        hex_decode(text->bytes, digits, text->bytes, text->size, &size);
    if (status == CH_OK)
        text->size = size;
    else
        command_fail("'%s' starts as hex text but is not: a character is no hex digit, "
                     "or their number is odd",
                     name);
    return status;
}

enum ch_status data_argument_read(const char *argument, struct text *out)
{
    if (argument_is_hex(argument)) {
        text_append_string(out, argument);
        if (text_ok(out))
            return decode_in_place(out, argument);
        command_fail("'%s': out of memory", argument);
        return CH_ERR_NO_MEMORY;
    }
    enum ch_status status = command_read_file(argument, out);
    if (status == CH_OK && out->size > 0 && out->bytes[0] == '0')
        status = decode_in_place(out, argument);
    return status;
}

void json_print_string(const char *bytes, size_t size)
{
    const uint8_t *at = (const uint8_t *)bytes;
    putchar('"');
    while (size > 0) {
        uint32_t character;
        size_t length = utf8_decode(at, size, &character);
        if (length == 0)
            fputs("\\ufffd", stdout);
        else if (*at == '"' || *at == '\\')
            printf("\\%c", *at);
        else if (character < 0x20 || (character >= 0x7f && character <= 0x9f))
            printf("\\u%04x", (unsigned)character); // terminals obey these, too
        else
            fwrite(at, 1, length, stdout);
        length = length != 0 ? length : 1;
        at += length;
        size -= length;
    }
    putchar('"');
}

// INPUT_MAX_BYTES is the largest input file that a command reads.
#define INPUT_MAX_BYTES ((size_t)4 << 30)

CH_PRINTF(1, 0) static void print_message(const char *format, va_list arguments)
{
    // A message must appear after the output that came before it.
    fflush(stdout);
    fputs("crashhook: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
}

FILE *command_create(const char *path)
{
    return strcmp(path, "-") == 0 ? stdout : fopen(path, "we");
}

bool command_close(FILE *file)
{
    return (file == stdout ? fflush(file) : fclose(file)) == 0;
}

int command_fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    print_message(format, arguments);
    va_end(arguments);
    return COMMAND_FAILED;
}

int command_misused(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    print_message(format, arguments);
    va_end(arguments);
    return COMMAND_USAGE;
}

const struct option *command_options(const struct command *command)
{
    return command->make_options != NULL ? command->make_options() : command->options;
}

enum ch_status command_read_file(const char *path, struct text *out)
{
    bool is_stdin = strcmp(path, "-") == 0;
    int fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    enum ch_status status = fd < 0 ? CH_ERR_IO : text_read(out, fd, INPUT_MAX_BYTES);
    if (status != CH_OK)
        command_fail("cannot read '%s': %s", path,
                     status == CH_ERR_IO      ? strerror(errno)
                     : status == CH_ERR_LIMIT ? "it is larger than 4 GiB"
                                              : "out of memory");
    if (!is_stdin && fd >= 0)
        close(fd);
    return status;
}

enum ch_status command_read_json(const char *path, json_t **out)
{
    struct text CH_CLEANUP(text_deinit) input = { 0 };
    json_error_t error;
    enum ch_status status = command_read_file(path, &input);
    if (status != CH_OK)
        return status;
    json_t *json =
        json_loadb(input.bytes != NULL ? input.bytes : "", input.size, 0, &error);
    if (json == NULL) {
        bool is_stdin = strcmp(path, "-") == 0;
        (void)command_fail("%s%s%s is not JSON: line %d: %s", is_stdin ? "" : "'",
                           is_stdin ? "stdin" : path, is_stdin ? "" : "'", error.line,
                           error.text);
        return CH_ERR_MALFORMED;
    }
    *out = json;
    return CH_OK;
}

int command_print_text(enum ch_status status, const struct text *text)
{
    if (status != CH_OK)
        return command_fail("cannot print the report: %s",
                            status == CH_ERR_LIMIT ? "it is too large"
                                                   : ch_status_name(status));
    (void)fwrite(text->bytes, 1, text->size, stdout);
    return COMMAND_DONE;
}

bool command_parse_address(const char *text, uint64_t *out)
{
    if (text[0] == '0' && (text[1] == 'x' || text[1] == 'X'))
        text += 2;
    if (text[0] == 0 || text[strspn(text, "0123456789abcdefABCDEF")] != 0)
        return false;
    errno = 0;
    unsigned long long value = strtoull(text, NULL, 16);
    if (errno != 0)
        return false;
    *out = value;
    return true;
}

bool command_parse_pid(const char *text, pid_t *out)
{
    char *end;
    errno = 0;
    long value = strtol(text, &end, 10);
    if (errno != 0 || end == text || *end != 0 || value <= 0 || value > INT_MAX)
        return false;
    *out = (pid_t)value;
    return true;
}

void shell_word_quote(const char *word, struct text *out)
{
    text_append_string(out, "'");
    while (*word != 0) {
        size_t plain = strcspn(word, "'");
        text_append(out, word, plain);
        word += plain;
        if (*word == '\'') {
            text_append_string(out, "'\\''");
            word++;
        }
    }
    text_append_string(out, "'");
}

bool temporary_folder_make(const char *name, char path[static TEMPORARY_FOLDER_SIZE])
{
    const char *where = getenv("TMPDIR");
    int size = snprintf(path, TEMPORARY_FOLDER_SIZE, "%s/crashhook-%s.XXXXXX",
                        where != NULL && where[0] == '/' ? where : "/tmp", name);
    if (size < TEMPORARY_FOLDER_SIZE)
        return mkdtemp(path) != NULL;
    errno = ENAMETOOLONG;
    return false;
}

static int remove_entry(const char *path, const struct stat *status, int type,
                        struct FTW *at)
{
    (void)status;
    (void)type;
    (void)at;
    (void)!remove(path);
    return 0;
}

void temporary_folder_remove(const char *path)
{
    enum { DESCRIPTORS = 16 };
    (void)nftw(path, remove_entry, DESCRIPTORS, FTW_DEPTH | FTW_PHYS);
}

// find_self writes the path of this program: without /proc, the one by which it was
// executed.
static bool find_self(char path[static PATH_MAX])
{
    ssize_t length = readlink("/proc/self/exe", path, PATH_MAX - 1);
    if (length <= 0)
        return realpath((const char *)getauxval(AT_EXECFN), path) != NULL;
    path[length] = 0;
    return true;
}

// find_installed writes the first existing path in places, which are relative to this
// program's folder.
static bool find_installed(const char *const *places, size_t count,
                           char path[static PATH_MAX])
{
    char self[PATH_MAX];
    char joined[PATH_MAX];
    if (!find_self(self))
        return false;
    *(strrchr(self, '/') + 1) = 0;
    for (size_t i = 0; i < count; i++) {
        int size = snprintf(joined, sizeof(joined), "%s%s", self, places[i]);
        if (size > 0 && (size_t)size < sizeof(joined) && realpath(joined, path) != NULL)
            return true;
    }
    return false;
}

bool installed_library(char path[static PATH_MAX])
{
    static const char *const places[] = { "../lib/" CRASHHOOK_SONAME,
                                          "../" CRASHHOOK_LIBDIR "/" CRASHHOOK_SONAME,
                                          "../lib64/" CRASHHOOK_SONAME };
    return find_installed(places, sizeof(places) / sizeof(places[0]), path);
}

bool installed_agent(char path[static PATH_MAX])
{
    static const char *const places[] = { "../libexec/crashhook/crashhook-agent" };
    return find_installed(places, sizeof(places) / sizeof(places[0]), path);
}

bool installed_bindings(char path[static PATH_MAX])
{
    // The second is that of a build tree.
    static const char *const places[] = { "../share/crashhook/bindings",
                                          "../../../bindings" };
    return find_installed(places, sizeof(places) / sizeof(places[0]), path);
}
