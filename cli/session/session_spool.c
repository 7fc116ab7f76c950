// SPDX-License-Identifier: Apache-2.0
#include "cli/session/session_spool.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/system/file.h"
#include "base/system/own_user.h"
#include "base/system/rights.h"
#include "cli/session/artefact.h"
#include "cli/session/collect.h"
#include "cli/session/command.h"
#include "cli/session/crash_records.h"
#include "report/spool/spool.h"
#include "report/value/report.h"

// ID_PREFIX_LEAST is the shortest beginning of an id that is accepted.
enum { ID_PREFIX_LEAST = 4 };

// open_fallback opens the folder that holds this user's reports when the spool cannot
// be used (report/spool/spool.h).
static enum ch_status open_fallback(struct session *session, enum spool_access access,
                                    const char *why)
{
    char path[PATH_MAX];
    enum ch_status status = spool_place_path(SPOOL_PLACE_TEMPORARY, &session->settings,
                                             session_getenv, path);
    if (status == CH_OK)
        status = spool_open(path, access, &session->spool);
    if (status != CH_OK)
        return status;
    (void)command_fail("cannot open spool '%s': %s; using '%s'", session->spool_path,
                       why, path);
    memcpy(session->spool_path, path, sizeof(path));
    return CH_OK;
}

// open_named opens the spool that settings and variables name. If it is missing, and
// reports wait to be moved into it, it is created.
static enum ch_status open_named(struct session *session, enum spool_access access)
{
    enum ch_status status = spool_open(session->spool_path, access, &session->spool);
    if (status == CH_ERR_IO && errno == ENOENT && collect_waits(session))
        status = spool_open(session->spool_path, SPOOL_CREATE, &session->spool);
    return status;
}

enum ch_status session_spool_open(struct session *session, enum spool_access access)
{
    enum ch_status status =
        settings_spool_path(&session->settings, session_getenv, NULL,
                            session->spool_path, sizeof(session->spool_path));
    if (status == CH_ERR_NOT_FOUND) {
        (void)command_fail(
            "cannot find a spool: neither CRASHHOOK_SPOOL nor HOME is set");
        return status;
    }
    if (status != CH_OK) {
        (void)command_fail("cannot open spool '%s': %s", session->spool_path,
                           strerror(ENAMETOOLONG));
        return status;
    }
    status = open_named(session, access);
    if (status == CH_OK)
        return CH_OK;
    const bool missing = status == CH_ERR_IO && errno == ENOENT;
    const char *why = spool_why(status);
    // A user who names a spool, or wants it created, wants no other one.
    bool any = session->settings.spool == NULL && access != SPOOL_CREATE;
    if (any && open_fallback(session, access, why) == CH_OK)
        return CH_OK;
    if (missing && access == SPOOL_READ) {
        (void)command_fail("there is no report yet: spool '%s' does not exist",
                           session->spool_path);
        return CH_END;
    }
    (void)command_fail("cannot open spool '%s': %s", session->spool_path, why);
    return status;
}

// find_id completes the beginning of an id in the spool. CH_ERR_LIMIT: several ids
// match.
static enum ch_status find_id(const struct spool *spool, const char *prefix,
                              char id[static REPORT_ID_SIZE])
{
    struct spool_listing CH_CLEANUP(spool_listing_deinit) listing = { 0 };
    enum ch_status status = spool_list(spool, &listing);
    size_t length = strlen(prefix);
    size_t found = 0;
    if (status != CH_OK)
        return status;
    for (size_t i = 0; i < listing.count; i++) {
        if (strncmp(listing.entries[i].id, prefix, length) != 0)
            continue;
        memcpy(id, listing.entries[i].id, REPORT_ID_SIZE);
        found++;
    }
    if (found == 0)
        return CH_ERR_NOT_FOUND;
    return found == 1 ? CH_OK : CH_ERR_LIMIT;
}

static bool looks_like_id(const char *argument)
{
    size_t length = strlen(argument);
    return length >= ID_PREFIX_LEAST && length < REPORT_ID_SIZE &&
           strspn(argument, "0123456789abcdef-") == length;
}

// prepare_spool opens the spool, and makes reports of what waits in it for that.
static enum ch_status prepare_spool(struct session *session)
{
    enum ch_status status =
        session->spool.folder_fd >= 0 ? CH_OK : session_spool_open(session, SPOOL_READ);
    if (status != CH_OK)
        return status;
    crash_records_take(session);
    collect_take(session);
    return CH_OK;
}

// open_newest opens the newest report of the spool.
static enum ch_status open_newest(struct session *session, int *out_fd)
{
    struct spool_listing CH_CLEANUP(spool_listing_deinit) listing = { 0 };
    enum ch_status status = prepare_spool(session);
    if (status != CH_OK)
        return status;
    status = spool_list(&session->spool, &listing);
    if (status == CH_OK && listing.count == 0)
        status = CH_ERR_NOT_FOUND;
    if (status == CH_OK)
        status =
            spool_read(&session->spool, listing.entries[listing.count - 1].id, out_fd);
    if (status == CH_ERR_NOT_FOUND)
        (void)command_fail("there is no report in spool '%s'", session->spool_path);
    else if (status != CH_OK)
        (void)command_fail("cannot read the newest report in spool '%s': %s",
                           session->spool_path, spool_why(status));
    return status;
}

// open_report opens what argument names for reading.
static enum ch_status open_report(struct session *session, const char *argument,
                                  int *out_fd)
{
    char id[REPORT_ID_SIZE];
    if (argument == NULL)
        return open_newest(session, out_fd);
    if (strcmp(argument, "-") == 0) {
        *out_fd = STDIN_FILENO;
        return CH_OK;
    }
    int fd = open(argument, O_RDONLY | O_CLOEXEC);
    if (fd >= 0 || errno != ENOENT || !looks_like_id(argument)) {
        *out_fd = fd;
        if (fd < 0)
            (void)command_fail("cannot read report '%s': %s", argument,
                               errno == ENOENT ? "it is neither a file nor an ID: see "
                                                 "crashhook list"
                                               : strerror(errno));
        return fd >= 0 ? CH_OK : CH_ERR_IO;
    }
    enum ch_status status = prepare_spool(session);
    if (status != CH_OK)
        return status;
    status = find_id(&session->spool, argument, id);
    if (status == CH_OK)
        status = spool_read(&session->spool, id, out_fd);
    if (status == CH_ERR_LIMIT)
        (void)command_fail("'%s' is the beginning of several reports in spool '%s'",
                           argument, session->spool_path);
    else if (status != CH_OK)
        (void)command_fail("cannot read report '%s' in spool '%s': %s", argument,
                           session->spool_path, spool_why(status));
    return status;
}

enum ch_status session_spool_report(struct session *session, const char *argument,
                                    json_t **out)
{
    struct report_error error;
    struct stat file;
    int CH_CLEANUP(file_close) fd = -1;
    enum ch_status status = open_report(session, argument, &fd);
    if (status != CH_OK)
        return status;
    bool artefact = is_artefact(fd);
    status = artefact
                 ? artefact_read(session, fd, argument != NULL ? argument : "-", out)
                 : report_read(fd, out, &error);
    // What it names is read with the rights of its owner, whatever it says itself.
    bool known = status == CH_OK && fstat(fd, &file) == 0;
    if (known && own_user() == 0 && file.st_uid != 0)
        report_rights_set(*out, &(const struct rights){ .user = file.st_uid,
                                                        .group = RIGHTS_NOBODY });
    if (status != CH_OK && !artefact)
        (void)command_fail("cannot read report '%s': %s",
                           argument != NULL ? argument : session->spool_path,
                           error.text);
    return status;
}
