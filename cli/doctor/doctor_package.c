// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/doctor/doctor.h"
#include "cli/run/run_program.h"
#include "cli/session/program_kind.h"

enum { LIST_MAX_BYTES = 4 << 20, NAMED_MAX = 5 };

// package_ways counts a package's programs by how each would be watched.
struct package_ways {
    size_t preloaded, traced, unwatched, linked;
    struct text unwatched_names;
    size_t named;
};

// read_package_list asks dpkg for the files of a package.
static bool read_package_list(const char *package, struct text *out)
{
    int files[2];
    if (pipe(files) != 0)
        return false;
    pid_t pid = fork();
    if (pid == 0) {
        int null = open("/dev/null", O_RDWR | O_CLOEXEC);
        dup2(null, STDERR_FILENO);
        dup2(files[1], STDOUT_FILENO);
        close(files[0]);
        execlp("dpkg-query", "dpkg-query", "-L", "--", package, (char *)NULL);
        _exit(127);
    }
    (void)close(files[1]);
    bool whole = text_read(out, files[0], LIST_MAX_BYTES) == CH_OK;
    (void)close(files[0]);
    return pid > 0 && doctor_await(pid) == 0 && whole && out->size != 0;
}

static bool is_program_file(const char *path)
{
    struct stat file;
    return stat(path, &file) == 0 && S_ISREG(file.st_mode) &&
           (file.st_mode & S_IXUSR) != 0 && strstr(path, ".so") == NULL;
}

static void count_package_program(const char *path, struct package_ways *ways)
{
    struct program program;
    if (!is_program_file(path))
        return;
    program_look(path, &program);
    if (program.kind == PROGRAM_UNKNOWN)
        return;
    enum run_way way = run_way_of(&program);
    ways->linked += program.linked;
    ways->preloaded += !program.linked && way == RUN_WAY_PRELOAD;
    ways->traced += !program.linked && way == RUN_WAY_TRACE;
    ways->unwatched += way == RUN_WAY_UNWATCHED;
    if (way == RUN_WAY_UNWATCHED && ways->named++ < NAMED_MAX)
        text_appendf(&ways->unwatched_names, " %s", path);
}

enum doctor_verdict doctor_package(struct doctor *doctor, struct doctor_finding *out)
{
    struct text CH_CLEANUP(text_deinit) list = { 0 };
    struct package_ways ways = { 0 };
    if (!read_package_list(doctor->package, &list)) {
        text_appendf(&out->line, "'%s' is no installed package of dpkg's",
                     doctor->package);
        return DOCTOR_TROUBLE;
    }
    for (char *at = list.bytes; at != NULL && *at != 0;) {
        char *end = strchr(at, '\n');
        if (end != NULL)
            *end = 0;
        count_package_program(at, &ways);
        at = end != NULL ? end + 1 : NULL;
    }
    text_appendf(&out->line,
                 "%s: under `crashhook run` the handler is preloaded into %zu of its "
                 "programs and %zu are traced; %zu hold it",
                 doctor->package, ways.preloaded, ways.traced, ways.linked);
    if (ways.unwatched != 0)
        text_appendf(&out->line, "; %zu gain privileges and are left unwatched:%s%s",
                     ways.unwatched,
                     ways.unwatched_names.size != 0 ? ways.unwatched_names.bytes : "",
                     ways.named > NAMED_MAX ? " ..." : "");
    text_deinit(&ways.unwatched_names);
    if (ways.unwatched == 0)
        return DOCTOR_FINE;
    text_append_string(&out->fix, "crashhook-core-pattern install "
                                  "# their cores are reported by the kernel's way\n");
    return DOCTOR_NOTE;
}
