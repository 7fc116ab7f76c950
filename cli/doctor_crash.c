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
#include "cli/doctor.h"
#include "cli/temporary_folder.h"
#include "report/spool_places.h"

enum { DIED_BY_SEGV = 128 + SIGSEGV };

// run_test_crash runs `crashhook run -- crashhook doctor test-crash` with a spool of
// its own and returns its exit code.
static int run_test_crash(const char *self, const char *spool, const char *user)
{
    pid_t pid = fork();
    if (pid == 0) {
        int null = open("/dev/null", O_RDWR | O_CLOEXEC);
        dup2(null, STDOUT_FILENO);
        dup2(null, STDERR_FILENO);
        unsetenv("CRASHHOOK_URL");
        execl(self, "crashhook", "run", "--enable", "yes", "--signals", "SEGV",
              "--spool", spool, "--symbolize", "fast", "--via", "preload", "--", self,
              "doctor", user != NULL ? "--user" : "test-crash", user, "test-crash",
              (char *)NULL);
        _exit(127);
    }
    return pid > 0 ? doctor_await(pid) : -1;
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
    int code = run_test_crash(self, folder, user);
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
        return DOCTOR_TROUBLE;
    }
    text_appendf(&out->line, "crashed and was reported within %llu ms",
                 (unsigned long long)took_ms);
    return DOCTOR_FINE;
}
