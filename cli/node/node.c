// SPDX-License-Identifier: Apache-2.0
#include "cli/node/node.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli/render/pen.h"
#include "cli/session/core_store.h"
#include "cli/session/session_spool.h"
#include "report/file/report_tree.h"
#include "report/summary/signal_name.h"

enum { SMALL_CORE_MIB = 16, FULL_CORE_MIB = 4096 };

// read_node_number reads a number of 1 to most, or takes otherwise where the option was
// not given. False: it is none.
static bool read_node_number(const struct options *options, const char *name,
                             unsigned most, unsigned otherwise, unsigned *out)
{
    const char *text = options_value(options, name);
    char *end = NULL;
    *out = otherwise;
    if (text == NULL)
        return true;
    unsigned long value = strtoul(text, &end, 10);
    *out = (unsigned)value;
    return *text >= '0' && *text <= '9' && *end == 0 && value != 0 && value <= most;
}

// read_core_kind reads --core. A stream can be passed on only once.
static bool read_core_kind(const struct options *options, struct node *node)
{
    const char *kind = options_value(options, "core");
    if (kind == NULL)
        return true;
    node->core = strcmp(kind, "full") == 0 ? NODE_CORE_FULL : NODE_CORE_SMALL;
    return node->core == NODE_CORE_FULL ? !options_given(options, "then")
                                        : strcmp(kind, "small") == 0;
}

static int open_node(const struct options *options, struct node *node)
{
    enum { RATE_MAX = 60000, HOLD_MAX_S = 600, CORE_MAX_MIB = 1 << 20 };
    unsigned rate;
    unsigned hold_s;
    unsigned core_mib;
    if (!read_node_number(options, "per-minute", RATE_MAX, NODE_RATE, &rate) ||
        !read_node_number(options, "deadline", HOLD_MAX_S, NODE_HOLD_MS / 1000,
                          &hold_s))
        return command_misused(
            "node: --per-minute takes 1 to %d, and --deadline 1 to %d", RATE_MAX,
            HOLD_MAX_S);
    if (!read_core_kind(options, node) ||
        !read_node_number(options, "core-max", CORE_MAX_MIB,
                          node->core == NODE_CORE_FULL ? FULL_CORE_MIB : SMALL_CORE_MIB,
                          &core_mib))
        return command_misused(
            "node: --core takes small or full, the latter not with --then, and "
            "--core-max 1 to %d",
            CORE_MAX_MIB);
    node->core_bytes = (uint64_t)core_mib << 20;
    session_init_quietly(&node->session, options);
    if (node->session.settings.spool == NULL)
        node->session.settings.spool = NODE_SPOOL;
    node->hold_ms = hold_s * 1000;
    node->then = options_given(options, "then");
    node->namespaces = options_value(options, "namespaces");
    node->root = options_value(options, "root");
    (void)umask(077);
    if (session_spool_open(&node->session, SPOOL_CREATE) != CH_OK)
        return COMMAND_FAILED;
    // Killed programs are counted apart: they use up no reports of crashes.
    node_rates_open(options_given(options, "watch") ? NULL : &node->session.spool, rate,
                    &node->rates);
    return COMMAND_DONE;
}

// serve_pipe reports the process whose core is on standard input.
static int serve_pipe(struct node *node, const char *number)
{
    pid_t pid;
    if (!command_parse_pid(number, &pid))
        return command_misused("node: '%s' is no process id", number);
    if (!node_is_over_rate(node, pid))
        return node_report(node, pid, STDIN_FILENO);
    struct node_then then = { .node = node, .pid = pid };
    if (node->then) {
        node_then_prepare(&then);
        node_then(&then, STDIN_FILENO, -1);
    }
    return COMMAND_DONE;
}

static int serve(const struct options *options, const char *pipe, const char *socket)
{
    struct node node = { 0 };
    core_store_fill_descriptors();
    int result = open_node(options, &node);
    if (result == COMMAND_DONE)
        result = pipe != NULL     ? serve_pipe(&node, pipe)
                 : socket != NULL ? node_listen(&node, socket)
                                  : node_watch(&node);
    node_rates_close(&node.rates);
    session_deinit(&node.session);
    return result;
}

static int run_node(const struct options *options)
{
    static const struct {
        const char *word;
        int (*run)(const struct options *options);
    } words[] = { { "install", node_install },
                  { "remove", node_remove },
                  { "status", node_status } };
    const char *pipe = options_value(options, "pipe");
    const char *socket = options_value(options, "listen");
    const char *word = options->arguments[0];
    for (size_t i = 0; word != NULL && i < sizeof(words) / sizeof(words[0]); i++) {
        if (strcmp(word, words[i].word) == 0)
            return words[i].run(options);
    }
    const int forms =
        (pipe != NULL) + (socket != NULL) + options_given(options, "watch");
    if (word != NULL || forms != 1)
        return command_misused("node: it takes install, remove or status, --pipe, "
                               "--listen or --watch");
    return serve(options, pipe, socket);
}

static const struct option node_options[] = {
    { "socket", "FILE", "install: a socket, which --listen serves (Linux 6.17)", 0 },
    { "suid", NULL, "install: also have programs that changed their user", 0 },
    { "then", NULL, "pass the core on to what core_pattern was before", 0 },
    { "core", "KIND", "keep a core, too: small, or full (the process ends later)", 0 },
    { "core-max", "MIB", "a core's size at most, in MiB (16; of a full one 4096)", 0 },
    { "per-minute", "N", "reports of a user in a minute, of a program a third (60)",
      0 },
    { "namespaces", "LIST", "of Kubernetes: only these, or with ! not these (all)", 0 },
    { "deadline", "SECONDS", "how long a process is held at most (10)", 0 },
    { "spool", "DIR", "the spool (" NODE_SPOOL ")", 0 },
    { "command", "FILE", "install: the program that the kernel starts", 0 },
    { "root", "DIR", "install, remove, status: the folder that is /", 0 },
    { "pipe", "PID", "what the kernel calls: report that process", 0 },
    { "watch", NULL, "serve: list killed programs, and those that dump no core", 0 },
    { "listen", "FILE", "serve that socket, or the one that systemd passes on", 0 },
    { 0 },
};

const struct command node_command = {
    .name = "node",
    .arguments = "[install|remove|status]",
    .summary = "Report every program of this machine that crashes",
    .options = node_options,
    .run = run_node,
    .arguments_max = 1,
};

static void print_ledger_entry(FILE *to, const json_t *entry)
{
    char when[32];
    struct tm local;
    time_t seconds = (time_t)(report_integer(entry, "time", 0) / 1000);
    int64_t signal = report_integer(entry, "signal", 0);
    int64_t rejected = report_integer(entry, "rejected", 0);
    const char *name = signal > 0 && signal < NSIG ? signal_name((int)signal) : NULL;
    const char *report = report_string(entry, "report");
    const char *why = report_string(entry, "why");
    const char *fix = report_string(entry, "fix");
    struct text CH_CLEANUP(text_deinit) program = { 0 };
    pen_escape(report_string(entry, "program") != NULL ? report_string(entry, "program")
                                                       : "?",
               &program);
    if (localtime_r(&seconds, &local) == NULL ||
        strftime(when, sizeof(when), "%F %T", &local) == 0)
        when[0] = 0;
    (void)fprintf(to, "%s  %7" PRId64 " %5" PRId64 "  %-7s %s  %s", when,
                  report_integer(entry, "pid", 0), report_integer(entry, "uid", 0),
                  name != NULL ? name + strlen("SIG") : "?", program.bytes,
                  report != NULL ? report : "no report: ");
    if (report == NULL)
        (void)fputs(why != NULL ? why : "?", to);
    if (rejected != 0)
        (void)fprintf(to, " (%" PRId64 " this minute)", rejected);
    if (report_string(entry, "core") != NULL)
        (void)fprintf(to, "  %s%s", report_string(entry, "core"),
                      json_is_true(json_object_get(entry, "core_is_cut")) ? " (cut)"
                                                                          : "");
    if (report_integer(entry, "held_ms", 0) != 0)
        (void)fprintf(to, ", held %" PRId64 " ms for its core",
                      report_integer(entry, "held_ms", 0));
    (void)fprintf(to, "\n%s%s%s", fix != NULL ? "    " : "", fix != NULL ? fix : "",
                  fix != NULL ? "\n" : "");
}

static int run_deaths(const struct options *options)
{
    struct session CH_CLEANUP(session_deinit) session = { .spool.folder_fd = -1 };
    session_init_quietly(&session, options);
    if (session.settings.spool == NULL)
        session.settings.spool = NODE_SPOOL;
    if (session_spool_open(&session, SPOOL_READ) != CH_OK)
        return COMMAND_FAILED;
    json_auto_t *all = node_ledger_read(&session.spool, 0);
    if (options_given(options, "json")) {
        (void)json_dumpf(all, stdout, JSON_INDENT(1));
        (void)putchar('\n');
        return COMMAND_DONE;
    }
    for (size_t i = 0; i < json_array_size(all); i++)
        print_ledger_entry(stdout, json_array_get(all, i));
    return COMMAND_DONE;
}

static const struct option deaths_options[] = {
    { "spool", "DIR", "the spool of the node agent (" NODE_SPOOL ")", 0 },
    { "json", NULL, "print them as JSON", 0 },
    { 0 },
};

const struct command deaths_command = {
    .name = "deaths",
    .summary = "List dead processes that the node agent saw, and why one has no report",
    .options = deaths_options,
    .run = run_deaths,
};
