// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "cli/doctor.h"
#include "cli/program_kind.h"
#include "cli/run_program.h"
#include "cli/shell_word.h"

// note_privileges says which privileges the file grants, whoever starts it.
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

// has_handler says whether the program contains the handler, so that it needs no `run`.
static bool has_handler(const struct program *program)
{
    static const char *const names[] = { "libcrashhook.so", CRASHHOOK_SONAME,
                                         "crashhook_install", NULL };
    return program->kind == PROGRAM_HAS_HANDLER || program_has_name(program, names);
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

// note_program describes a program that can be executed.
static enum doctor_verdict note_program(const struct program *program,
                                        const char *command, struct doctor_finding *out)
{
    enum run_way way = run_way_of(program);
    bool linked = has_handler(program) && way != RUN_WAY_UNWATCHED;
    text_appendf(&out->line, "'%s': %s; %s", program->path,
                 program_kind_words(program->kind),
                 linked ? "it holds the handler" : way_words(program, way));
    note_privileges(program->path, &out->line);
    note_handlers(program, &out->line);
    note_sanitizer(program, &out->line);
    if (way == RUN_WAY_UNWATCHED) {
        text_append_string(&out->fix, "crashhook-core-pattern install "
                                      "# its cores are reported by the kernel's way\n");
        return DOCTOR_TROUBLE;
    }
    if (linked)
        return DOCTOR_FINE;
    text_append_string(&out->line, "; without `run` nothing of it is reported");
    text_append_string(&out->fix, "crashhook run -- ");
    shell_word_quote(command, &out->fix);
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
        return note_program(&program, doctor->program, out);
    return DOCTOR_TROUBLE;
}
