// SPDX-License-Identifier: Apache-2.0
//
// Writes what is generated from the table of commands and the table of variables:
// manual pages from their templates, and completion for bash and zsh. The build calls
// it.
//
// A template is a manual page in which a line `@WORD ARGUMENT` stands for a part that
// the tables provide; every other line is copied.
#include <stdio.h>
#include <string.h>

#include "base/settings/settings.h"
#include "cli/completion.h"
#include "cli/session/command.h"

// print_roff writes text with the characters escaped that roff would interpret.
static void print_roff(const char *text)
{
    for (; *text != 0; text++) {
        if (*text == '\\')
            fputs("\\(rs", stdout);
        else if (*text == '-')
            fputs("\\-", stdout);
        else if (*text == '\'')
            fputs("\\(aq", stdout);
        else if (*text == '`')
            fputs("\\(ga", stdout);
        else
            putchar(*text);
    }
}

static const struct command *find_described_command(const char *name)
{
    size_t count;
    const struct command *const *commands = command_table(&count);
    for (size_t i = 0; i < count; i++) {
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
    }
    return NULL;
}

static void write_manual_head(const char *title)
{
    printf(".TH %s \"\" \"crashhook " CRASHHOOK_VERSION "\" \"crashhook\"\n", title);
}

// write_manual_name writes the page's NAME; the command's words are joined by dashes,
// as in names of pages.
static void write_manual_name(const struct command *command)
{
    fputs(".SH NAME\ncrashhook", stdout);
    for (const char *at = command->name; *at != 0; at++) {
        if (at == command->name || *at == ' ')
            fputs("\\-", stdout);
        if (*at != ' ')
            putchar(*at);
    }
    fputs(" \\- ", stdout);
    print_roff(command->summary);
    putchar('\n');
}

static void write_synopsis(const struct command *command)
{
    printf("\\fBcrashhook %s\\fR", command->name);
    if (command_options(command) != NULL)
        fputs(" [\\fIOPTION\\fR...]", stdout);
    if (command->arguments != NULL) {
        fputs(" \\fI", stdout);
        print_roff(command->arguments);
        fputs("\\fR", stdout);
    }
    putchar('\n');
}

static void write_options(const struct command *command)
{
    const struct option *row = command_options(command);
    for (; row != NULL && row->name != NULL; row++) {
        fputs(".TP\n", stdout);
        if (row->letter != 0)
            printf("\\fB\\-%c\\fR, ", row->letter);
        fputs("\\fB\\-\\-", stdout);
        print_roff(row->name);
        fputs("\\fR", stdout);
        if (row->value != NULL) {
            fputs(" \\fI", stdout);
            print_roff(row->value);
            fputs("\\fR", stdout);
        }
        putchar('\n');
        print_roff(row->help);
        fputs(".\n", stdout);
    }
    fputs(".TP\n\\fB\\-\\-help\\fR\nshow the options and exit.\n", stdout);
}

// write_page writes the beginning of the page of one command.
static void write_page(const struct command *command)
{
    write_manual_name(command);
    fputs(".SH SYNOPSIS\n", stdout);
    write_synopsis(command);
}

static void write_commands(void)
{
    size_t count;
    const struct command *const *commands = command_table(&count);
    for (size_t i = 0; i < count; i++) {
        if (commands[i]->hidden)
            continue;
        printf(".TP\n\\fBcrashhook %s\\fR\n", commands[i]->name);
        print_roff(commands[i]->summary);
        fputs(".\n", stdout);
    }
}

static void write_variables(void)
{
    size_t count;
    const struct settings_variable *variables = settings_variables(&count);
    for (size_t i = 0; i < count; i++) {
        printf(".TP\n\\fB%s\\fR\n", variables[i].name);
        print_roff(variables[i].help);
        fputs("\nAccepted: ", stdout);
        print_roff(variables[i].accepted);
        if (variables[i].fallback[0] != 0) {
            fputs("; default: ", stdout);
            print_roff(variables[i].fallback);
        }
        fputs(".\n", stdout);
    }
}

// write_manual_part writes the part that a directive stands for; false: there is no
// such part.
static bool write_manual_part(const char *word, const char *argument)
{
    const struct command *command = find_described_command(argument);
    if (strcmp(word, "head") == 0)
        write_manual_head(argument);
    else if (strcmp(word, "commands") == 0)
        write_commands();
    else if (strcmp(word, "variables") == 0)
        write_variables();
    else if (strcmp(word, "command") == 0 && command != NULL)
        write_page(command);
    else if (strcmp(word, "synopsis") == 0 && command != NULL)
        write_synopsis(command);
    else if (strcmp(word, "options") == 0 && command != NULL)
        write_options(command);
    else
        return false;
    return true;
}

static int write_manual(const char *path)
{
    struct text CH_CLEANUP(text_deinit) template = { 0 };
    if (command_read_file(path, &template) != CH_OK)
        return COMMAND_FAILED;
    text_append(&template, "", 1);
    if (!text_ok(&template))
        return command_fail("cannot read '%s': it is too long", path);

    char *rest = template.bytes;
    for (char *line = strsep(&rest, "\n"); rest != NULL; line = strsep(&rest, "\n")) {
        if (line[0] != '@') {
            puts(line);
            continue;
        }
        char *argument = line + 1;
        const char *word = strsep(&argument, " ");
        if (!write_manual_part(word, argument != NULL ? argument : ""))
            return command_fail("%s: there is no '@%s %s'", path, word,
                                argument != NULL ? argument : "");
    }
    return COMMAND_DONE;
}

static int run_describe(const struct options *options)
{
    const char *what = options->arguments[0];
    const char *path = options->arguments[1];
    if (strcmp(what, "manual") == 0 && path != NULL)
        return write_manual(path);
    if (strcmp(what, "bash") == 0 && path == NULL)
        return completion_write_bash();
    if (strcmp(what, "zsh") == 0 && path == NULL)
        return completion_write_zsh();
    return command_misused("describe: it takes manual TEMPLATE, bash or zsh");
}

const struct command describe_command = {
    .name = "describe",
    .arguments = "manual TEMPLATE|bash|zsh",
    .summary = "Write a manual page or a shell's completion",
    .run = run_describe,
    .arguments_min = 1,
    .arguments_max = 2,
    .hidden = true,
};
