// SPDX-License-Identifier: Apache-2.0
//
// What a service can still do after it gave up root: a child process becomes that user,
// with the variables that the service starts with, and tries.
#include <errno.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/doctor/doctor.h"
#include "cli/session/command.h"
#include "report/file/report_id.h"
#include "report/spool/spool.h"

bool doctor_find_user(const char *name, uid_t *out_user, gid_t *out_group)
{
    char *end;
    struct passwd *found = getpwnam(name);
    unsigned long number = strtoul(name, &end, 10);
    if (found == NULL && *name >= '0' && *name <= '9' && *end == 0) {
        found = getpwuid((uid_t)number);
        *out_user = (uid_t)number;
        *out_group = (gid_t)number;
        if (found == NULL)
            return true; // a user without a name, as in containers
    }
    if (found == NULL)
        return false;
    *out_user = found->pw_uid;
    *out_group = found->pw_gid;
    return true;
}

bool doctor_become(uid_t user, gid_t group)
{
    if (user == geteuid())
        return true;
    return setgroups(0, NULL) == 0 && setgid(group) == 0 && setuid(user) == 0;
}

// try_place_as_user writes to a place, as the agent would, and notes a failure.
static bool try_place_as_user(const struct settings *settings, enum spool_place place,
                              struct text *line)
{
    char path[PATH_MAX];
    char id[REPORT_ID_SIZE];
    struct spool spool;
    int fd = -1;
    enum ch_status status = spool_place_path(place, settings, session_getenv, path);
    if (status != CH_OK && place == SPOOL_PLACE_CONFIGURED)
        text_append_string(line, "no spool is named; ");
    if (status != CH_OK)
        return false;
    bool is_new = access(path, F_OK) != 0;
    report_id_make((uint64_t)time(NULL) * 1000, id);
    status = spool_place_open(place, path, &spool);
    if (status == CH_OK) {
        status = spool_create(&spool, id, &fd);
        if (status == CH_OK) {
            spool_discard(&spool, id);
            (void)close(fd);
        }
        spool_close(&spool);
        if (is_new)
            (void)rmdir(path);
    }
    if (status != CH_OK)
        text_appendf(line, "'%s' cannot be written to (%s); ", path, spool_why(status));
    else
        text_appendf(line, "reports go to '%s'%s", path,
                     place == SPOOL_PLACE_DROP ? ", from which root collects them"
                                               : "");
    return status == CH_OK;
}

// try_places_as_user is what the child does: it writes its text to line; its result is
// the exit code.
static enum doctor_verdict try_places_as_user(const struct settings *settings,
                                              struct text *line)
{
    char path[PATH_MAX];
    const char *agent = settings->agent;
    int place = SPOOL_PLACE_CONFIGURED;
    while (place < SPOOL_PLACES &&
           !try_place_as_user(settings, (enum spool_place)place, line))
        place++;
    if (agent == NULL && installed_agent(path))
        agent = path;
    bool runs = agent != NULL && doctor_agent_runs(agent);
    if (!runs)
        text_appendf(line, "%sthe agent cannot be run: %s",
                     place < SPOOL_PLACES ? "; " : "", strerror(errno));
    if (place == SPOOL_PLACES || !runs)
        return DOCTOR_TROUBLE;
    return place >= SPOOL_PLACE_TEMPORARY ? DOCTOR_NOTE : DOCTOR_FINE;
}

static void try_as_child(const struct settings *settings, uid_t user, gid_t group,
                         int fd)
{
    struct text line = { 0 };
    enum doctor_verdict verdict = DOCTOR_TROUBLE;
    if (doctor_become(user, group))
        verdict = try_places_as_user(settings, &line);
    else
        text_appendf(&line, "cannot become that user: %s", strerror(errno));
    if (line.size != 0)
        (void)!write(fd, line.bytes, line.size);
    _exit((int)verdict);
}

enum doctor_verdict doctor_user(struct doctor *doctor, struct doctor_finding *out)
{
    enum { WORDS_MAX = 4096 };
    uid_t user;
    gid_t group;
    int words[2];
    if (!doctor_find_user(doctor->user, &user, &group)) {
        text_appendf(&out->line, "there is no user '%s'", doctor->user);
        return DOCTOR_TROUBLE;
    }
    text_appendf(&out->line, "%s: ", doctor->user);
    if (geteuid() != 0 && geteuid() != user) {
        text_append_string(&out->line, "only root can try what another user can do");
        return DOCTOR_NOTE;
    }
    if (pipe(words) != 0) {
        text_appendf(&out->line, "cannot be tried: %s", strerror(errno));
        return DOCTOR_TROUBLE;
    }
    pid_t pid = fork();
    if (pid == 0)
        try_as_child(&doctor->session->settings, user, group, words[1]);
    (void)close(words[1]);
    (void)!text_read(&out->line, words[0], WORDS_MAX);
    (void)close(words[0]);
    int verdict = pid > 0 ? doctor_await(pid) : -1;
    if (verdict != DOCTOR_FINE && access(SETTINGS_DROP_FOLDER, F_OK) != 0)
        // As an installed package makes it.
        text_append_string(
            &out->fix, "install -d -m 1733 -o root -g root " SETTINGS_DROP_FOLDER "\n");
    return verdict >= DOCTOR_FINE && verdict <= DOCTOR_TROUBLE
               ? (enum doctor_verdict)verdict
               : DOCTOR_TROUBLE;
}
