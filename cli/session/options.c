// SPDX-License-Identifier: Apache-2.0
#include "cli/session/options.h"

#include <stdlib.h>
#include <string.h>

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
            return "this option needs a value";
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
