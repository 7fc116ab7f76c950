// SPDX-License-Identifier: Apache-2.0
//
// Checks this machine, a program, and the user of a service, and prints what would
// prevent a report.
#include "cli/doctor/doctor.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "cli/render/pen.h"
#include "cli/render/render.h"
#include "cli/session/command.h"
#include "report/secrets/sanitize.h"

// TEST_CRASH is a hidden argument: the test crash is another run of this program.
#define TEST_CRASH "test-crash"

static const struct {
    const char *name;
    doctor_check_fn *check;
    size_t asked; // offset of the member of struct doctor that requests it; 0: always
} checks[] = {
    { "ptrace", doctor_ptrace, 0 },
    { "confinement", doctor_confinement, 0 },
    { "variables", doctor_variables, 0 },
    { "library", doctor_library, 0 },
    { "agent", doctor_agent, 0 },
    { "spool", doctor_spool, 0 },
    { "container", doctor_container, 0 },
    { "user", doctor_user, offsetof(struct doctor, user) },
    { "targets", doctor_targets, 0 },
    { "core dumps", doctor_core, 0 },
    { "program", doctor_program, offsetof(struct doctor, program) },
    { "package", doctor_package, offsetof(struct doctor, package) },
    { "process", doctor_process, offsetof(struct doctor, pid) },
    { "test crash", doctor_crash, 0 },
};

// doctor_print is how findings are printed.
struct doctor_print {
    struct pen pen;
    bool fixes;    // print only the commands
    json_t *found; // collects the findings instead of printing lines; NULL: print lines
};

static const char *const verdict_words[] = { "ok", "note", "trouble" };

static const char *doctor_text_of(const struct text *text)
{
    return text->size != 0 ? text->bytes : "";
}

static void print_line(const struct pen *pen, const char *name,
                       enum doctor_verdict verdict, const char *line)
{
    static const char *const words[] = { "ok", "note", "TROUBLE" };
    static const enum pen_colour colours[] = { PEN_NAME, PEN_PLAIN, PEN_ALARM };
    pen_set(pen, colours[verdict]);
    pen_plain(pen, "%-8s", words[verdict]);
    pen_set(pen, PEN_PLAIN);
    pen_plain(pen, "%-12s ", name);
    pen_text(pen, line);
    pen_plain(pen, "\n");
    fflush(pen->to);
}

// print_fix prints the commands below a comment, so that a shell can run the output.
static void print_fix(const struct pen *pen, const char *name,
                      const struct doctor_finding *finding)
{
    if (finding->fix.size == 0)
        return;
    pen_plain(pen, "# %s: ", name);
    pen_text(pen, doctor_text_of(&finding->line));
    pen_plain(pen, "\n%s", finding->fix.bytes);
}

static void add_finding(json_t *found, const char *name, enum doctor_verdict verdict,
                        const struct doctor_finding *finding)
{
    json_t *fix = json_array();
    for (const char *at = doctor_text_of(&finding->fix); *at != 0;) {
        size_t length = strcspn(at, "\n");
        (void)json_array_append_new(fix, json_stringn(at, length));
        at += length + (at[length] != 0);
    }
    (void)json_array_append_new(found,
                                json_pack("{s:s, s:s, s:s, s:o}", "name", name,
                                          "verdict", verdict_words[verdict], "text",
                                          doctor_text_of(&finding->line), "fix", fix));
}

static void print_finding(struct doctor_print *print, const char *name,
                          enum doctor_verdict verdict,
                          const struct doctor_finding *finding)
{
    if (print->found != NULL)
        add_finding(print->found, name, verdict, finding);
    else if (print->fixes)
        print_fix(&print->pen, name, finding);
    else
        print_line(&print->pen, name, verdict, doctor_text_of(&finding->line));
}

// print_settings lists the variables that are set.
static void print_settings(const struct pen *pen)
{
    size_t count;
    bool any = false;
    const struct settings_variable *variables = settings_variables(&count);
    for (size_t i = 0; i < count; i++) {
        struct text CH_CLEANUP(text_deinit) masked = { 0 };
        const char *value = getenv(variables[i].name);
        if (value == NULL || *value == 0)
            continue;
        if (!any)
            pen_plain(pen, "\nvariables that are set:\n");
        any = true;
        sanitize_named(variables[i].name, strlen(variables[i].name), value, NULL,
                       &masked);
        pen_plain(pen, "  %s=", variables[i].name);
        pen_text(pen, doctor_text_of(&masked));
        pen_plain(pen, "\n");
    }
}

// crash_now is the test crash: it becomes user, if there is one, raises SIGSEGV and
// leaves no core.
static int crash_now(const char *user)
{
    struct rlimit none = { 0, 0 };
    uid_t id;
    gid_t group;
    if (user != NULL &&
        (!doctor_find_user(user, &id, &group) || !doctor_become(id, group)))
        return COMMAND_USAGE;
    setrlimit(RLIMIT_CORE, &none);
    raise(SIGSEGV);
    return COMMAND_FAILED;
}

static size_t run_checks(struct doctor *doctor, struct doctor_print *print)
{
    size_t troubles = 0;
    for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++) {
        struct doctor_finding finding = { 0 };
        const char *asked = NULL;
        memcpy(&asked, (const char *)doctor + checks[i].asked, sizeof(asked));
        if (checks[i].asked != 0 && asked == NULL)
            continue;
        enum doctor_verdict verdict = checks[i].check(doctor, &finding);
        print_finding(print, checks[i].name, verdict, &finding);
        troubles += verdict == DOCTOR_TROUBLE;
        text_deinit(&finding.line);
        text_deinit(&finding.fix);
    }
    return troubles;
}

// print_doctor_end prints what comes after the findings; false: stdout did not accept
// it.
static bool print_doctor_end(struct doctor_print *print, size_t troubles)
{
    if (print->found == NULL) {
        if (!print->fixes)
            print_settings(&print->pen);
        return true;
    }
    json_t *all = json_pack("{s:b, s:O}", "ok", troubles == 0, "checks", print->found);
    bool done = all != NULL && json_dumpf(all, stdout, JSON_INDENT(2)) == 0;
    (void)putchar('\n');
    json_decref(all);
    json_decref(print->found);
    return done;
}

static int run_doctor(const struct options *options)
{
    struct session CH_CLEANUP(session_deinit) session = { .spool.folder_fd = -1 };
    struct render_style style = render_style_for(stdout, PRESET_AUTO);
    struct doctor doctor = { .session = &session,
                             .program = options->arguments[0],
                             .user = options_value(options, "user"),
                             .pid = options_value(options, "pid"),
                             .at = options_value(options, "at"),
                             .package = options_value(options, "package"),
                             .kernel_log = options_value(options, "kernel-log") };
    struct doctor_print print = { .pen = { .to = stdout, .colour = style.colour },
                                  .fixes = options_given(options, "fix") };
    if (doctor.program != NULL && strcmp(doctor.program, TEST_CRASH) == 0)
        return crash_now(doctor.user);
    if (doctor.at != NULL && doctor.pid == NULL)
        return command_misused("doctor: --at says when the process of --pid died");
    if (options_given(options, "json"))
        print.found = json_array();
    session_init_quietly(&session, options);
    size_t troubles = run_checks(&doctor, &print);
    if (!print_doctor_end(&print, troubles))
        return command_fail("doctor: cannot write what was found");
    if (troubles != 0)
        return command_fail("doctor: %zu of these would stop a report", troubles);
    return COMMAND_DONE;
}

static const struct option doctor_options[] = {
    { "spool", "DIR", "the spool to check", 0 },
    { "url", "URL", "the targets to check", 0 },
    { "user", "NAME", "the user that a service becomes after its start", 0 },
    { "pid", "PID", "a process that lives, or one that left no report", 0 },
    { "at", "TIME", "when that process died: 12:31, 2026-11-22T12:31", 0 },
    { "package", "NAME", "a package of Debian's, whose programs to check", 0 },
    { "kernel-log", "FILE", "records of /dev/kmsg, in place of it", 0 },
    { "fix", NULL, "print the commands that put right what can be", 0 },
    { "json", NULL, "print what was found as JSON", 0 },
    { 0 },
};

const struct command doctor_command = {
    .name = "doctor",
    .arguments = "[-- PROGRAM [ARGUMENT...]]",
    .summary = "Check what would stop a report on this machine",
    .options = doctor_options,
    .run = run_doctor,
    .arguments_max = SIZE_MAX,
    .in_order = true,
};
