// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/system/program_start.h"
#include "base/text.h"
#include "cli/session/command.h"
#include "cli/session/session.h"

// commands is the table of commands, in the order in which --help lists them, one per
// line.
// clang-format off
static const struct command *const commands[] = {
    &run_command,
    &attach_command,
    &heap_command,
    &core_command,
    &node_command,
    &deaths_command,
    &minidump_command,
    &list_command,
    &show_command,
    &debug_command,
    &groups_command,
    &reports_command,
    &resolve_command,
    &reopen_command,
    &ignore_command,
    &assign_command,
    &comment_command,
    &merge_command,
    &split_command,
    &erase_command,
    &releases_commits_command,
    &releases_command,
    &upload_command,
    &export_command,
    &group_command,
    &cbf_decode_command,
    &cbf_encode_command,
    &images_decode_command,
    &images_encode_command,
    &sframe_dump_command,
    &sframe_lookup_command,
    &sframe_make_command,
    &sframe_verify_command,
    &fdr_dump_command,
    &fdr_convert_command,
    &fdr_account_command,
    &fdr_stack_command,
    &fdr_graph_command,
    &fdr_extract_command,
    &types_dump_command,
    &types_diff_command,
    &symbolize_command,
    &symbols_upload_command,
    &symbols_index_command,
    &symbols_missing_command,
    &doctor_command,
    &init_command,
    &ci_command,
    &gate_command,
    &mcp_command,
    &finish_command,
    &record_command,
    &describe_command,
};
// clang-format on
enum { COMMAND_COUNT = sizeof(commands) / sizeof(commands[0]) };

// word_count is how many words of argv name the command: 0 if they name another one.
static size_t word_count(const struct command *command, char **argv)
{
    const char *space = strchr(command->name, ' ');
    size_t length = space != NULL ? (size_t)(space - command->name) : 0;
    if (space == NULL)
        return argv[0] != NULL && strcmp(argv[0], command->name) == 0 ? 1 : 0;
    if (argv[0] == NULL || argv[1] == NULL || strlen(argv[0]) != length ||
        memcmp(argv[0], command->name, length) != 0)
        return 0;
    return strcmp(argv[1], space + 1) == 0 ? 2 : 0;
}

// command_in_group returns true if word is the first of the command's two words.
static bool command_in_group(const struct command *command, const char *word)
{
    size_t length = strlen(word);
    return strncmp(command->name, word, length) == 0 && command->name[length] == ' ';
}

// print_list lists the commands of a group, or all when group is NULL.
static void print_list(const char *group, FILE *to)
{
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        const struct command *command = commands[i];
        if (!command->hidden && (group == NULL || command_in_group(command, group)))
            fprintf(to, "  %-16s %s\n", command->name, command->summary);
    }
}

static void print_overview(FILE *to)
{
    fputs("usage: crashhook COMMAND [OPTION...] [ARGUMENT...]\n\n"
          "Crash reports for Linux programs.\n\ncommands:\n",
          to);
    print_list(NULL, to);
    fputs("\n`crashhook COMMAND --help` says more; `crashhook --version` which this "
          "is.\n",
          to);
}

const struct command *const *command_table(size_t *out_count)
{
    *out_count = COMMAND_COUNT;
    return commands;
}

static void print_command_help(const struct command *command)
{
    printf("usage: crashhook %s", command->name);
    if (command_options(command) != NULL)
        fputs(" [OPTION...]", stdout);
    if (command->arguments != NULL)
        printf(" %s", command->arguments);
    printf("\n\n%s.\n", command->summary);
    options_print(command_options(command), stdout);
}

// wants_help returns true if --help is among the words that can be options.
static bool wants_help(const struct command *command, char **argv)
{
    for (; *argv != NULL && strcmp(*argv, "--") != 0; argv++) {
        if (strcmp(*argv, "--help") == 0 || strcmp(*argv, "-h") == 0)
            return true;
        if (command->in_order && (*argv)[0] != '-')
            return false;
    }
    return false;
}

static int run_row(const struct command *command, char **argv)
{
    if (wants_help(command, argv)) {
        print_command_help(command);
        return COMMAND_DONE;
    }

    CH_CLEANUP(options_deinit) struct options options;
    const char *why = NULL;
    enum ch_status status =
        options_init(&options, command_options(command), command->in_order, argv, &why);
    if (status == CH_ERR_MALFORMED)
        return command_misused("%s: %s: %s", command->name, options.arguments[0], why);
    if (status != CH_OK)
        return command_fail("%s: %s", command->name, strerror(ENOMEM));
    if (options.argument_count < command->arguments_min)
        return command_misused("%s: too few arguments: it takes %s", command->name,
                               command->arguments);
    if (options.argument_count > command->arguments_max)
        return command_misused("%s: '%s' is one argument too many", command->name,
                               options.arguments[command->arguments_max]);
    if (!session_options_understood(&options, command->name))
        return COMMAND_USAGE;
    session_extend_in_app(&options);
    // While SIGCHLD is ignored, the exit status of a child is lost. The program that
    // run starts must inherit the action, so run changes it itself.
    if (command != &run_command)
        (void)signal(SIGCHLD, SIG_DFL);
    return command->run(&options);
}

// misspelled reports that there is no command word, and which one is like it.
static int misspelled(const char *word)
{
    enum { DISTANCE_MAX = 2 };
    size_t fewest = DISTANCE_MAX + 1;
    const char *nearest = NULL;
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        char name[EDIT_DISTANCE_BYTES];
        (void)snprintf(name, sizeof(name), "%.*s", (int)strcspn(commands[i]->name, " "),
                       commands[i]->name);
        size_t distance = edit_distance(word, name);
        if (commands[i]->hidden || distance >= fewest)
            continue;
        fewest = distance;
        nearest = commands[i]->name;
    }
    if (nearest == NULL || fewest >= strlen(word))
        return command_misused("there is no command '%s': see crashhook --help", word);
    return command_misused("there is no command '%s': did you mean '%.*s'?", word,
                           (int)strcspn(nearest, " "), nearest);
}

// run_words finds the command that argv names and runs it.
static int run_words(char **argv)
{
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        size_t words = word_count(commands[i], argv);
        if (words != 0)
            return run_row(commands[i], argv + words);
    }
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        if (!command_in_group(commands[i], argv[0]))
            continue;
        bool help = argv[1] != NULL &&
                    (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0);
        FILE *to = help ? stdout : stderr;
        fprintf(to, "usage: crashhook COMMAND, where COMMAND is one of\n");
        print_list(argv[0], to);
        return help ? COMMAND_DONE : COMMAND_USAGE;
    }
    return misspelled(argv[0]);
}

static bool is_one_of(const char *word, const char *a, const char *b, const char *c)
{
    return strcmp(word, a) == 0 || strcmp(word, b) == 0 || strcmp(word, c) == 0;
}

static void print_version(void)
{
    static const char contact[] = CRASHHOOK_CONTACT;
    puts("crashhook " CRASHHOOK_VERSION);
    if (contact[0] != 0)
        puts(contact);
}

static int run_crashhook(int argc, char **argv)
{
    int result = COMMAND_DONE;
    standard_files_hold();
    if (argc < 2) {
        print_overview(stderr);
        return COMMAND_USAGE;
    }
    if (is_one_of(argv[1], "--help", "-h", "help"))
        print_overview(stdout);
    else if (is_one_of(argv[1], "--version", "-V", "version"))
        print_version();
    else
        result = run_words(argv + 1);

    if (fflush(stdout) != 0 || ferror(stdout))
        return command_fail("cannot write to stdout: %s", strerror(errno));
    return result;
}

int main(int argc, char **argv)
{
    return ample_stack_run(run_crashhook, argc, argv);
}
