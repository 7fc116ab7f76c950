// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/doctor/doctor.h"
#include "cli/session/command.h"
#include "cli/session/program_kind.h"
#include "report/spool/spool.h"

enum { DIED_BY_SEGV = 128 + SIGSEGV };

// A doctor_trial is a test crash: `crashhook doctor test-crash`, with a spool of its
// own.
struct doctor_trial {
    const char *self;
    const char *spool;
    const char *user;    // that it becomes; NULL: none
    const char *library; // that is preloaded; NULL: `crashhook run` preloads its own
    struct text said;    // on standard error
};

// is_static returns true for a program that nothing can be preloaded into, as the
// tarball's crashhook.
static bool is_static(const char *self)
{
    struct program program;
    program_look(self, &program);
    return program.kind == PROGRAM_STATIC;
}

static void become_test_crash(const struct doctor_trial *trial, int said)
{
    const char *self = trial->self;
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    dup2(null, STDOUT_FILENO);
    dup2(said, STDERR_FILENO);
    unsetenv("CRASHHOOK_URL");
    if (trial->library == NULL) {
        execl(self, "crashhook", "run", "--enable", "yes", "--signals", "SEGV",
              "--spool", trial->spool, "--symbolize", "fast", "--via",
              is_static(self) ? "trace" : "preload", "--", self, "doctor",
              trial->user != NULL ? "--user" : "test-crash", trial->user, "test-crash",
              (char *)NULL);
        _exit(127);
    }
    (void)setenv("LD_PRELOAD", trial->library, 1);
    (void)setenv("CRASHHOOK_ENABLE", "yes", 1);
    (void)setenv("CRASHHOOK_SIGNALS", "SEGV", 1);
    (void)setenv("CRASHHOOK_SPOOL", trial->spool, 1);
    (void)setenv("CRASHHOOK_PRINT", "no", 1);
    (void)setenv("CRASHHOOK_HOLD", "report", 1); // its report is complete then
    execl(self, "crashhook", "doctor", "test-crash", (char *)NULL);
    _exit(127);
}

// run_test_crash returns its exit code.
static int run_test_crash(struct doctor_trial *trial)
{
    enum { SAID_MAX = 4096 };
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return -1;
    pid_t pid = fork();
    if (pid == 0)
        become_test_crash(trial, ends[1]);
    (void)close(ends[1]);
    (void)!text_read(&trial->said, ends[0], SAID_MAX);
    (void)close(ends[0]);
    return pid > 0 ? doctor_await(pid) : -1;
}

// note_said adds what the handler said, if it did, to a line.
static bool note_said(const struct doctor_trial *trial, struct text *line)
{
    static const char handler[] = "crashhook: ";
    const char *at =
        trial->said.bytes != NULL ? strstr(trial->said.bytes, handler) : NULL;
    if (at == NULL)
        return false;
    at += sizeof(handler) - 1;
    text_append_string(line, "; it says: ");
    text_append(line, at, strcspn(at, "\n"));
    return true;
}

static size_t count_reports(const char *folder)
{
    struct spool spool;
    struct spool_listing listing = { 0 };
    if (spool_open(folder, SPOOL_WRITE, &spool) != CH_OK)
        return 0;
    enum ch_status status = spool_list(&spool, &listing);
    size_t count = status == CH_OK ? listing.count : 0;
    spool_listing_deinit(&listing);
    spool_close(&spool);
    return count;
}

// find_new_fallback writes the path of the folder where the user's reports go when the
// spool is not the user's. False: there is no user, or the folder is there already.
static bool find_new_fallback(const char *user, char path[static PATH_MAX])
{
    uid_t id;
    gid_t group;
    if (user == NULL || !doctor_find_user(user, &id, &group))
        return false;
    spool_place_of_user(id, path);
    return access(path, F_OK) != 0;
}

enum doctor_verdict doctor_crash(struct doctor *doctor, struct doctor_finding *out)
{
    char folder[TEMPORARY_FOLDER_SIZE];
    char self[PATH_MAX];
    char fallback[PATH_MAX];
    // Only root can try another user.
    const char *user = geteuid() == 0 ? doctor->user : NULL;
    bool is_new = find_new_fallback(user, fallback);
    ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
    if (length <= 0 || !temporary_folder_make("doctor", folder)) {
        text_appendf(&out->line, "cannot be tried: %s", strerror(errno));
        return DOCTOR_TROUBLE;
    }
    self[length] = 0;
    uint64_t begin_ms = clock_now_ms(CLOCK_MONOTONIC);
    struct doctor_trial trial = { .self = self, .spool = folder, .user = user };
    int code = run_test_crash(&trial);
    uint64_t took_ms = clock_now_ms(CLOCK_MONOTONIC) - begin_ms;
    size_t reports = count_reports(folder);
    temporary_folder_remove(folder);
    if (is_new)
        (void)rmdir(fallback);
    text_appendf(&out->line, "a program%s%s ", user != NULL ? " that became " : "",
                 user != NULL ? user : "");
    if (code != DIED_BY_SEGV || reports != 1) {
        text_appendf(&out->line,
                     "which crashes ended with %d and left %zu reports (expected: %d "
                     "and 1)",
                     code, reports, DIED_BY_SEGV);
        (void)note_said(&trial, &out->line);
        text_deinit(&trial.said);
        return DOCTOR_TROUBLE;
    }
    text_appendf(&out->line, "crashed and was reported within %llu ms",
                 (unsigned long long)took_ms);
    bool said = note_said(&trial, &out->line);
    text_deinit(&trial.said);
    return said ? DOCTOR_NOTE : DOCTOR_FINE;
}

bool doctor_library_reports(const char *library, struct text *line)
{
    char folder[TEMPORARY_FOLDER_SIZE];
    char self[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
    if (length <= 0)
        return true; // not known; the test crash says so
    self[length] = 0;
    if (is_static(self) || !temporary_folder_make("doctor", folder))
        return true;
    struct doctor_trial trial = { .self = self, .spool = folder, .library = library };
    int code = run_test_crash(&trial);
    bool reported = code == DIED_BY_SEGV && count_reports(folder) == 1;
    temporary_folder_remove(folder);
    text_appendf(line,
                 reported ? "; '%s', which it loads, finds an agent"
                          : "; a crash with '%s', which it loads, leaves no report",
                 library);
    (void)note_said(&trial, line);
    text_deinit(&trial.said);
    return reported;
}
