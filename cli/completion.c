// SPDX-License-Identifier: Apache-2.0
#include "cli/completion.h"

#include <stdio.h>
#include <string.h>

#include "cli/session/command.h"

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

int completion_write_bash(void)
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
          "        if ((COMP_CWORD == 2)); then\n"
          "            COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
          "            return\n"
          "        fi\n"
          "        command+=\" ${COMP_WORDS[2]}\" words=\n"
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
    if (group && strncmp(last, command->name, first_word + 1) == 0)
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

int completion_write_zsh(void)
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
          "  if (( CURRENT == 2 )); then\n"
          "    _describe command inner\n"
          "    return\n"
          "  fi\n"
          "  command+=\" $words[2]\"\n"
          "  shift words\n"
          "  (( CURRENT-- ))\n"
          "fi\n"
          "case $command in\n",
          stdout);
    for_each(zsh_arguments);
    fputs("esac\n", stdout);
    return COMMAND_DONE;
}
