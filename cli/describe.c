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
#include "cli/session/command.h"

// Completion of the crashhook command for bash and zsh, generated from the table of
// commands, so that new commands and options need no further code.
//
// An option's value is completed where the table says what it is: FILE and DIR are
// paths, `no|yes|tty` is one of its words.

// each_fn is called for every command that is not hidden.
typedef void each_fn(const struct command *command, size_t first_word);

// for_each calls write for each command; first_word is the length of its first word.
static void for_each(each_fn *write)
{
    size_t count;
    const struct command *const *commands = command_table(&count);
    for (size_t i = 0; i < count; i++) {
        if (!commands[i]->hidden)
            write(commands[i], strcspn(commands[i]->name, " "));
    }
}

static const char *second_word(const struct command *command, size_t first_word)
{
    return command->name[first_word] == ' ' ? command->name + first_word + 1 : NULL;
}

// print_words prints `no|yes|tty` with spaces in place of the bars.
static void print_words(const char *words)
{
    for (; *words != 0; words++)
        putchar(*words == '|' ? ' ' : *words);
}

static bool is_words(const struct option *row)
{
    return row->value != NULL && strchr(row->value, '|') != NULL;
}

static bool is_path(const struct option *row)
{
    return row->value != NULL &&
           (strcmp(row->value, "FILE") == 0 || strcmp(row->value, "DIR") == 0);
}

static void bash_word(const struct command *command, size_t first_word)
{
    printf(" %.*s", (int)first_word, command->name);
}

static void bash_second(const struct command *command, size_t first_word)
{
    const char *second = second_word(command, first_word);
    if (second != NULL)
        printf("    %.*s) words+=' %s' ;;&\n", (int)first_word, command->name, second);
}

static void bash_options(const struct command *command, size_t first_word)
{
    (void)first_word;
    printf("    '%s') words='--help", command->name);
    const struct option *row = command_options(command);
    for (; row != NULL && row->name != NULL; row++)
        printf(" --%s", row->name);
    fputs("' ;;\n", stdout);
}

static void bash_values(const struct command *command, size_t first_word)
{
    (void)first_word;
    const struct option *row = command_options(command);
    for (; row != NULL && row->name != NULL; row++) {
        if (row->value == NULL)
            continue;
        printf("    '%s --%s') words='", command->name, row->name);
        if (is_words(row))
            print_words(row->value);
        printf("' kind=%s ;;\n", is_path(row) ? "path" : "words");
    }
}

// completion_write_bash prints a script that bash sources; it returns COMMAND_DONE.
static int completion_write_bash(void)
{
    fputs("# SPDX-License-Identifier: Apache-2.0\n"
          "# Completion of crashhook for bash; written from the table of commands.\n"
          "_crashhook() {\n"
          "    local current=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]}\n"
          "    local words= kind=path inner=\n"
          "    COMPREPLY=()\n"
          "    if ((COMP_CWORD == 1)); then\n"
          "        COMPREPLY=($(compgen -W '--help --version",
          stdout);
    for_each(bash_word);
    fputs("' -- \"$current\"))\n"
          "        return\n"
          "    fi\n"
          "    case $command in\n",
          stdout);
    for_each(bash_second);
    fputs("    esac\n"
          "    if [[ $words ]]; then\n"
          "        if ((COMP_CWORD == 2)) && [[ $current != -* ]]; then\n"
          "            COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
          "            return\n"
          "        fi\n"
          "        [[ \" $words \" == *\" ${COMP_WORDS[2]} \"* ]] &&\n"
          "            command+=\" ${COMP_WORDS[2]}\"\n"
          "        words=\n"
          "    fi\n"
          "    case \"$command ${COMP_WORDS[COMP_CWORD - 1]}\" in\n",
          stdout);
    for_each(bash_values);
    fputs("    *) inner=yes ;;\n"
          "    esac\n"
          "    if [[ $inner && $current == -* ]]; then\n"
          "        kind=words\n"
          "        case $command in\n",
          stdout);
    for_each(bash_options);
    fputs("        esac\n"
          "    fi\n"
          "    if [[ $kind == words ]]; then\n"
          "        COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
          "    elif [[ $inner && $command == run ]]; then\n"
          "        COMPREPLY=($(compgen -c -f -- \"$current\"))\n"
          "    fi\n"
          "}\n"
          "complete -o default -o bashdefault -F _crashhook crashhook\n",
          stdout);
    return COMMAND_DONE;
}

// zsh_quoted prints text for use in single quotes and in a description's brackets.
static void zsh_quoted(const char *text)
{
    for (; *text != 0; text++) {
        if (*text == '\'')
            fputs("'\\''", stdout);
        else if (strchr("[]:\\", *text) != NULL)
            printf("\\%c", *text);
        else
            putchar(*text);
    }
}

// zsh_word lists a command, or once the group whose commands share their first word.
static void zsh_word(const struct command *command, size_t first_word)
{
    static const char *last = "";
    bool group = second_word(command, first_word) != NULL;
    if (group && strncmp(last, command->name, first_word) == 0 &&
        strcspn(last, " ") == first_word)
        return;
    last = command->name;
    printf("    '%.*s:", (int)first_word, command->name);
    zsh_quoted(command->summary);
    fputs(group ? " and more'\n" : "'\n", stdout);
}

static void zsh_second(const struct command *command, size_t first_word)
{
    const char *second = second_word(command, first_word);
    if (second == NULL)
        return;
    printf("  %.*s) inner+=('%s:", (int)first_word, command->name, second);
    zsh_quoted(command->summary);
    fputs("') ;|\n", stdout);
}

static void zsh_option(const struct option *row)
{
    printf(" \\\n      '--%s[", row->name);
    zsh_quoted(row->help);
    putchar(']');
    if (row->value != NULL) {
        putchar(':');
        zsh_quoted(row->value);
        putchar(':');
    }
    if (is_words(row)) {
        putchar('(');
        print_words(row->value);
        putchar(')');
    } else if (is_path(row)) {
        fputs("_files", stdout);
    }
    putchar('\'');
}

static void zsh_arguments(const struct command *command, size_t first_word)
{
    (void)first_word;
    printf("  '%s')\n    _arguments '--help[show this and exit]'", command->name);
    const struct option *row = command_options(command);
    for (; row != NULL && row->name != NULL; row++)
        zsh_option(row);
    puts(command->in_order ? " \\\n      '*::command:_normal' ;;"
                           : " \\\n      '*:argument:_files' ;;");
}

// completion_write_zsh prints the function file _crashhook for zsh and returns
// COMMAND_DONE.
static int completion_write_zsh(void)
{
    fputs("#compdef crashhook\n"
          "# SPDX-License-Identifier: Apache-2.0\n"
          "# Completion of crashhook for zsh; written from the table of commands.\n"
          "local -a commands inner\n"
          "local command=$words[2]\n"
          "if (( CURRENT == 2 )); then\n"
          "  commands=(\n",
          stdout);
    for_each(zsh_word);
    fputs("  )\n"
          "  _describe command commands\n"
          "  return\n"
          "fi\n"
          "shift words\n"
          "(( CURRENT-- ))\n"
          "case $command in\n",
          stdout);
    for_each(zsh_second);
    fputs("esac\n"
          "if (( $#inner )); then\n"
          "  if (( CURRENT == 2 )) && [[ $words[2] != -* ]]; then\n"
          "    _describe command inner\n"
          "    return\n"
          "  fi\n"
          "  if [[ -n ${(M)inner:#$words[2]:*} ]]; then\n"
          "    command+=\" $words[2]\"\n"
          "    shift words\n"
          "    (( CURRENT-- ))\n"
          "  fi\n"
          "fi\n"
          "case $command in\n",
          stdout);
    for_each(zsh_arguments);
    fputs("esac\n", stdout);
    return COMMAND_DONE;
}

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
        printf(".TH %s \"\" \"crashhook " CRASHHOOK_VERSION "\" \"crashhook\"\n",
               argument);
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
