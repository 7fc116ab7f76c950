// SPDX-License-Identifier: Apache-2.0
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/system/bounded_write.h"
#include "base/text.h"
#include "cli/doctor/doctor.h"
#include "cli/session/command.h"

#define OURS "CRASHHOOK_"

enum { SLIPS_MAX = 3 };

// nearest_variable is the variable that name may have been meant to be, and whether it
// is the same; NULL: none.
static const char *nearest_variable(const char *name, bool *out_same)
{
    size_t count;
    size_t fewest = SLIPS_MAX + 1;
    const char *found = NULL;
    const struct settings_variable *variables = settings_variables(&count);
    for (size_t i = 0; i < count; i++) {
        size_t distance = edit_distance(name, variables[i].name);
        if (distance < fewest) {
            fewest = distance;
            found = variables[i].name;
        }
    }
    *out_same = fewest == 0;
    return found;
}

static void begin_note(struct doctor_finding *out)
{
    text_append_string(&out->line, out->line.size != 0 ? "; " : "");
}

// note_unknown notes a variable that does not exist. true: another one was meant, and
// its value is lost.
static bool note_unknown(const char *variable, struct doctor_finding *out)
{
    char name[2 * EDIT_DISTANCE_BYTES];
    bool same;
    size_t length = strcspn(variable, "=");
    if (length >= sizeof(name))
        length = sizeof(name) - 1;
    memcpy(name, variable, length);
    name[length] = 0;
    const char *meant = nearest_variable(name, &same);
    if (same)
        return false;
    begin_note(out);
    text_appendf(&out->line, "there is no %s", name);
    if (meant == NULL)
        return false;
    text_appendf(&out->line, " (%s?)", meant);
    if (name[strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_")] ==
        0)
        text_appendf(&out->fix, "export %s=\"$%s\"; unset %s\n", meant, name, name);
    return true;
}

static void note_misunderstood(void *context, const char *variable, const char *value,
                               const char *accepted)
{
    struct doctor_finding *out = context;
    begin_note(out);
    text_appendf(&out->line, "%s='%s' is not understood: it takes %s", variable, value,
                 accepted);
}

static void note_relative(const struct settings_variable *variable, const char *path,
                          struct doctor_finding *out)
{
    if (path == NULL || path[0] == '/')
        return;
    begin_note(out);
    text_appendf(&out->line,
                 "%s='%s' means another file in each folder that a program "
                 "is started in",
                 variable->name, path);
    text_appendf(&out->fix, "export %s=\"$PWD\"/", variable->name);
    shell_word_quote(path, &out->fix);
    text_append_string(&out->fix, "\n");
}

static void note_paths(const struct settings *settings, struct doctor_finding *out)
{
    size_t count;
    const struct settings_variable *variables = settings_variables(&count);
    for (size_t i = 0; i < count; i++)
        note_relative(&variables[i], settings_path(settings, &variables[i]), out);
}

// note_unwritten notes that the file that a variable names is not written to, if it
// exists and is no folder.
static void note_unwritten(const char *variable, const char *path,
                           struct doctor_finding *out)
{
    struct stat file;
    if (path == NULL || strcmp(path, "stderr") == 0 || strcmp(path, "stdout") == 0 ||
        stat(path, &file) != 0 || S_ISDIR(file.st_mode))
        return;
    int fd = log_file_open(path);
    if (fd >= 0) {
        (void)close(fd);
        return;
    }
    begin_note(out);
    text_appendf(&out->line,
                 "%s='%s' is not written to: it is another user's, a link, has a "
                 "second name, or cannot be opened",
                 variable, path);
}

enum doctor_verdict doctor_variables(struct doctor *doctor, struct doctor_finding *out)
{
    struct settings settings;
    bool lost = false;
    for (char **at = environ; *at != NULL; at++) {
        if (strncmp(*at, OURS, sizeof(OURS) - 1) == 0)
            lost = note_unknown(*at, out) || lost;
    }
    settings_read(&settings, session_getenv, note_misunderstood, out);
    note_paths(&doctor->session->settings, out);
    note_unwritten("CRASHHOOK_LOG", doctor->session->settings.log, out);
    note_unwritten("CRASHHOOK_OUTPUT", doctor->session->settings.output, out);
    if (out->line.size != 0)
        return lost ? DOCTOR_TROUBLE : DOCTOR_NOTE;
    text_append_string(&out->line, "all that are set are understood");
    return DOCTOR_FINE;
}
