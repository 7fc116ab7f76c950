// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "cli/doctor/doctor.h"
#include "cli/run/run_program.h"
#include "cli/session/command.h"
#include "cli/session/program_kind.h"
#include "handler/crash/crash_trust.h"
#include "shared/agent_places.h"

// note_privileges reports which privileges the file grants, whoever starts it.
static void note_privileges(const char *path, struct text *line)
{
    struct stat file;
    if (stat(path, &file) != 0)
        return;
    if ((file.st_mode & S_ISUID) != 0)
        text_appendf(line, "; it is setuid to user %u", file.st_uid);
    if ((file.st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP))
        text_appendf(line, "; it is setgid to group %u", file.st_gid);
    if (getxattr(path, "security.capability", NULL, 0) > 0)
        text_append_string(line, "; it has file capabilities");
}

// has_handler returns true if the program contains the handler, so that it needs no
// `run`.
static bool has_handler(const struct program *program)
{
    static const char *const names[] = { "libcrashhook.so", CRASHHOOK_SONAME,
                                         "crashhook_install", NULL };
    return program->linked || program_has_name(program, names);
}

// note_sanitizer says of a runtime that tells nobody what it finds.
static void note_sanitizer(const struct program *program, struct text *line)
{
    if (program->hidden != NULL)
        text_appendf(
            line,
            "; what %s finds is not reported, because its runtime is linked in: "
            "link that as a shared library, or use `run --stderr-tail`",
            program->hidden);
}

static void note_handlers(const struct program *program, struct text *line)
{
    static const char *const names[] = { "sigaction",     "signal",  "sigset",
                                         "bsd_signal",    "ssignal", "sysv_signal",
                                         "__sysv_signal", NULL };
    if (program_has_name(program, names))
        text_append_string(line, "; it may set handlers of its own, which it keeps: a "
                                 "fault that they recover from is no crash");
}

static const char *way_words(const struct program *program, enum run_way way)
{
    if (way == RUN_WAY_TRACE)
        return "`crashhook run` traces it";
    if (way == RUN_WAY_UNWATCHED)
        return "tracing would take its privileges from it, so `crashhook run` leaves "
               "it unwatched, and the handler does nothing in it";
    return program->runtime[0] != 0
               ? "`crashhook run` preloads the handler after the sanitizer's runtime"
               : "`crashhook run` preloads the handler";
}

// find_library writes the path of the handler that the dynamic linker finds for a
// program. False: none. With this variable glibc's linker lists the libraries and ends.
static bool find_library(const struct program *program, char path[static PATH_MAX])
{
    enum { LIST_MAX = 1 << 20 };
    static const char arrow[] = " => ";
    struct text CH_CLEANUP(text_deinit) list = { 0 };
    int ends[2];
    if ((program->kind != PROGRAM_DYNAMIC && program->kind != PROGRAM_SANITIZED) ||
        pipe2(ends, O_CLOEXEC) != 0)
        return false;
    pid_t pid = fork();
    if (pid == 0) {
        (void)dup2(ends[1], STDOUT_FILENO);
        (void)dup2(open("/dev/null", O_RDWR | O_CLOEXEC), STDERR_FILENO);
        (void)setenv("LD_TRACE_LOADED_OBJECTS", "1", 1);
        execl(program->path, program->path, (char *)NULL);
        _exit(127);
    }
    (void)close(ends[1]);
    (void)!text_read(&list, ends[0], LIST_MAX);
    (void)close(ends[0]);
    (void)doctor_await(pid);
    const char *at = list.bytes != NULL ? strstr(list.bytes, "libcrashhook.so") : NULL;
    at = at != NULL ? strstr(at, arrow) : NULL;
    if (at == NULL)
        return false;
    at += sizeof(arrow) - 1;
    (void)snprintf(path, PATH_MAX, "%.*s", (int)strcspn(at, " \n"), at);
    return path[0] == '/';
}

static bool can_start(const char *agent)
{
    return access(agent, X_OK) == 0 && crash_trusts(agent) && doctor_agent_runs(agent);
}

bool doctor_find_agent(const char *root, const char *folder,
                       bool (*fits)(const char *path))
{
    static const char *const places[] = AGENT_PLACES_BESIDE;
    static const char installed[] = AGENT_PLACES_INSTALLED;
    char path[2 * PATH_MAX];
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        (void)snprintf(path, sizeof(path), "%s%s%s", root, folder, places[i]);
        if (fits(path))
            return true;
    }
    for (const char *at = installed; at < installed + sizeof(installed);
         at += strlen(at) + 1) {
        (void)snprintf(path, sizeof(path), "%s%s", root, at);
        if (fits(path))
            return true;
    }
    return false;
}

// has_static_agent returns true if an agent is where libcrashhook.a in a program looks
// for one.
static bool has_static_agent(const struct program *program, const char *chosen)
{
    char folder[PATH_MAX];
    if (chosen != NULL && doctor_agent_runs(chosen))
        return true;
    if (realpath(program->path, folder) == NULL)
        return true; // not known
    *(strrchr(folder, '/') + 1) = 0;
    return doctor_find_agent("", folder, can_start);
}

// finds_agent returns true if the handler that the program holds finds an agent that
// makes a report. The agent beside this command may be another.
static bool finds_agent(const struct program *program, const char *chosen,
                        struct text *line)
{
    char library[PATH_MAX];
    if (find_library(program, library))
        return doctor_library_reports(library, line);
    if (!program->linked || has_static_agent(program, chosen))
        return true;
    text_append_string(line, "; no agent is beside it or where it is installed, so "
                             "its crashes leave records at best");
    return false;
}

// note_program describes a program that can be executed.
static enum doctor_verdict note_program(const struct program *program,
                                        const struct doctor *doctor,
                                        struct doctor_finding *out)
{
    enum run_way way = run_way_of(program);
    bool linked = has_handler(program) && way != RUN_WAY_UNWATCHED;
    text_appendf(&out->line, "'%s': %s; %s", program->path,
                 program_kind_words(program->kind),
                 linked ? "it holds the handler" : way_words(program, way));
    note_privileges(program->path, &out->line);
    note_handlers(program, &out->line);
    note_sanitizer(program, &out->line);
    if (doctor->session->settings.heap != HEAP_NO && program_has_allocator(program))
        text_append_string(&out->line, "; it has an allocator of its own, so "
                                       "CRASHHOOK_HEAP has no effect in it");
    if (way == RUN_WAY_UNWATCHED) {
        text_append_string(&out->fix, "crashhook-core-pattern install "
                                      "# its cores are reported by the kernel's way\n");
        return DOCTOR_TROUBLE;
    }
    if (linked && finds_agent(program, doctor->session->settings.agent, &out->line))
        return DOCTOR_FINE;
    if (linked) {
        text_append_string(&out->fix, "export CRASHHOOK_AGENT=FILE "
                                      "# that only root and its user can change\n");
        return DOCTOR_TROUBLE;
    }
    text_append_string(&out->line, "; without `run` nothing of it is reported");
    text_append_string(&out->fix, "crashhook run -- ");
    shell_word_quote(doctor->program, &out->fix);
    text_append_string(&out->fix, "\n");
    return DOCTOR_NOTE;
}

enum doctor_verdict doctor_program(struct doctor *doctor, struct doctor_finding *out)
{
    struct program program;
    program_look(doctor->program, &program);
    if (program.path[0] == 0 || access(program.path, F_OK) != 0)
        text_appendf(&out->line, "'%s' is not found", doctor->program);
    else if (access(program.path, X_OK) != 0)
        text_appendf(&out->line, "'%s' cannot be executed", program.path);
    else if (program.kind == PROGRAM_UNKNOWN)
        text_appendf(&out->line, "'%s' is no program that can be read", program.path);
    else
        return note_program(&program, doctor, out);
    return DOCTOR_TROUBLE;
}
