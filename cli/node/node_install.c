// SPDX-License-Identifier: Apache-2.0
//
// Three settings of the kernel: core_pattern, core_pipe_limit and fs.suid_dumpable. The
// values from before the first installation are files in NODE_STATE; a file in
// /etc/sysctl.d sets ours at each boot.
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/system/file.h"
#include "cli/node/node.h"
#include "images/read_file.h"

#define BOOT_FILE "/etc/sysctl.d/61-crashhook-node.conf"
enum { PATTERN_MAX = 127, VALUE_SIZE = 256 };

// A setting is one of the kernel's.
struct setting {
    const char *name;   // of the file that keeps the value from before
    const char *kernel; // its file
    const char *sysctl;
};

static const struct setting settings[] = {
    { "core_pipe_limit", "/proc/sys/kernel/core_pipe_limit", "kernel.core_pipe_limit" },
    { "suid_dumpable", "/proc/sys/fs/suid_dumpable", "fs.suid_dumpable" },
    { "core_pattern", "/proc/sys/kernel/core_pattern", "kernel.core_pattern" },
};
enum { SETTINGS = sizeof(settings) / sizeof(settings[0]), PATTERN = SETTINGS - 1 };

// A value_set has a value for each setting; an empty one is left as it is.
struct value_set {
    char values[SETTINGS][VALUE_SIZE];
};

static const char *root_of(const struct options *options)
{
    const char *root = options_value(options, "root");
    return root != NULL ? root : "";
}

static bool read_setting(const char *root, const char *file, char *out, size_t size)
{
    char path[PATH_MAX];
    struct text CH_CLEANUP(text_deinit) text = { 0 };
    (void)snprintf(path, sizeof(path), "%s%s", root, file);
    if (read_file(path, size - 1, &text) != CH_OK || text.bytes == NULL)
        return false;
    (void)snprintf(out, size, "%.*s", (int)strcspn(text.bytes, "\n"), text.bytes);
    return true;
}

// write_setting replaces the file by a line, with one write as the kernel wants it.
static bool write_setting(const char *root, const char *file, const char *value)
{
    char path[PATH_MAX];
    char line[VALUE_SIZE + 1];
    (void)snprintf(path, sizeof(path), "%s%s", root, file);
    int size = snprintf(line, sizeof(line), "%s\n", value);
    if (file_put(path, O_TRUNC | O_NOFOLLOW, line, (size_t)size))
        return true;
    return command_fail("cannot write '%s' to '%s': %s", value, path,
                        strerror(errno)) == COMMAND_DONE;
}

bool node_before(const char *root, const char *name, char *out, size_t size)
{
    char file[PATH_MAX];
    (void)snprintf(file, sizeof(file), NODE_STATE "/%s", name);
    return read_setting(root != NULL ? root : "", file, out, size);
}

// is_node_pattern returns true if a core_pattern leads to the node agent.
static bool is_node_pattern(const char *pattern)
{
    return (*pattern == '|' && strstr(pattern, "/crashhook node --pipe %P") != NULL) ||
           (strncmp(pattern, "@@", 2) == 0 && strstr(pattern, "crashhook") != NULL);
}

bool node_is_installed(const char *root)
{
    char now[VALUE_SIZE];
    return read_setting(root != NULL ? root : "", settings[PATTERN].kernel, now,
                        sizeof(now)) &&
           is_node_pattern(now);
}

static bool has_coredump_socket(void)
{
    struct utsname names;
    char *end = names.release;
    if (uname(&names) != 0)
        return false;
    long major = strtol(names.release, &end, 10);
    long minor = *end == '.' ? strtol(end + 1, NULL, 10) : 0;
    return major > 6 || (major == 6 && minor >= 17);
}

// The values that a process which reports is given.
static const char *const passed[] = { "per-minute", "deadline",   "core",
                                      "core-max",   "namespaces", "spool" };

// make_pipe_pattern writes the pattern for a pipe. False: it is too long, or holds what
// the kernel would split.
static bool make_pipe_pattern(const struct options *options, char *out, size_t size)
{
    struct text CH_CLEANUP(text_deinit) all = { 0 };
    char self[PATH_MAX] = { 0 };
    const char *command = options_value(options, "command");
    if (command == NULL && readlink("/proc/self/exe", self, sizeof(self) - 1) > 0)
        command = self;
    if (command == NULL || strcmp(file_name(command), "crashhook") != 0 ||
        access(command, X_OK) != 0)
        return command_fail("node: '%s' is no program named crashhook",
                            command != NULL ? command : "?") == COMMAND_DONE;
    text_appendf(&all, "|%s node --pipe %%P", command);
    size_t fixed = all.size;
    if (options_given(options, "then"))
        text_append_string(&all, " --then");
    for (size_t i = 0; i < sizeof(passed) / sizeof(passed[0]); i++) {
        const char *value = options_value(options, passed[i]);
        if (value != NULL)
            text_appendf(&all, " --%s=%s", passed[i], value);
        fixed += value != NULL && strpbrk(value, " \t\n%") != NULL ? PATTERN_MAX : 0;
    }
    if (all.size > PATTERN_MAX || fixed > PATTERN_MAX ||
        strpbrk(command, " \t\n%") != NULL)
        return command_fail("node: '%s' is longer than the kernel's %d bytes, or has a "
                            "blank or a %% in a path",
                            all.bytes, PATTERN_MAX) == COMMAND_DONE;
    (void)snprintf(out, size, "%s", all.bytes);
    return true;
}

static bool make_socket_pattern(const struct options *options, char *out, size_t size)
{
    const char *path = options_value(options, "socket");
    const char *other = options_given(options, "then") ? "then" : NULL;
    for (size_t i = 0; i < sizeof(passed) / sizeof(passed[0]); i++)
        other = options_given(options, passed[i]) ? passed[i] : other;
    if (other != NULL)
        return command_fail("node: with --socket, --%s is for the service that listens",
                            other) == COMMAND_DONE;
    if (!has_coredump_socket())
        return command_fail("node: this kernel has no socket for cores (it takes Linux "
                            "6.17): leave out --socket") == COMMAND_DONE;
    (void)snprintf(out, size, "@@%s", path);
    if (*path == '/' && strlen(out) <= PATTERN_MAX && strstr(path, "crashhook") != NULL)
        return true;
    return command_fail("node: '%s' is no absolute path of at most %d bytes with the "
                        "word crashhook in it",
                        path, PATTERN_MAX - 2) == COMMAND_DONE;
}

// save_before keeps what was set before the first installation.
static bool save_before(const char *root)
{
    char path[PATH_MAX];
    char value[VALUE_SIZE];
    (void)snprintf(path, sizeof(path), "%s" NODE_STATE "/core_pattern", root);
    if (!file_make_parents(path, 0700))
        return command_fail("cannot make the folder of '%s': %s", path,
                            strerror(errno)) == COMMAND_DONE;
    for (size_t i = 0; i < SETTINGS; i++) {
        char file[PATH_MAX];
        (void)snprintf(file, sizeof(file), NODE_STATE "/%s", settings[i].name);
        if (read_setting(root, settings[i].kernel, value, sizeof(value)) &&
            !write_setting(root, file, value))
            return false;
    }
    return true;
}

static bool write_boot_file(const char *root, const struct value_set *set)
{
    char path[PATH_MAX];
    (void)snprintf(path, sizeof(path), "%s" BOOT_FILE, root);
    FILE *file = file_make_parents(path, 0755) ? fopen(path, "we") : NULL;
    if (file == NULL)
        return command_fail("cannot write '%s': %s", path, strerror(errno)) ==
               COMMAND_DONE;
    (void)fputs("# Written by `crashhook node install`; remove takes it away.\n", file);
    for (size_t i = 0; i < SETTINGS; i++) {
        if (set->values[i][0] != 0)
            (void)fprintf(file, "%s=%s\n", settings[i].sysctl, set->values[i]);
    }
    if (fclose(file) == 0)
        return true;
    return command_fail("cannot write '%s': %s", path, strerror(errno)) == COMMAND_DONE;
}

static bool may_set(const char *root)
{
    if (*root != 0 || geteuid() == 0)
        return true;
    return command_fail("node: only root can change the kernel's settings") ==
           COMMAND_DONE;
}

int node_install(const struct options *options)
{
    const char *root = root_of(options);
    struct value_set set = { 0 };
    char before[VALUE_SIZE];
    char *pattern = set.values[PATTERN];
    if (!may_set(root))
        return COMMAND_FAILED;
    if (!read_setting(root, settings[PATTERN].kernel, before, sizeof(before)))
        return command_fail("cannot read %s%s: %s", root, settings[PATTERN].kernel,
                            strerror(errno));
    if (options_given(options, "socket")
            ? !make_socket_pattern(options, pattern, VALUE_SIZE)
            : !make_pipe_pattern(options, pattern, VALUE_SIZE))
        return COMMAND_FAILED;
    // Without a limit above 0 the kernel does not wait for a small core to be read.
    (void)snprintf(set.values[0], VALUE_SIZE, "%d", NODE_WORKERS);
    if (options_given(options, "suid"))
        (void)snprintf(set.values[1], VALUE_SIZE, "2");
    if (!is_node_pattern(before) && !save_before(root))
        return COMMAND_FAILED;
    bool done = write_boot_file(root, &set);
    for (size_t i = 0; done && i < SETTINGS; i++)
        done = set.values[i][0] == 0 ||
               write_setting(root, settings[i].kernel, set.values[i]);
    if (!done)
        return COMMAND_FAILED;
    (void)printf("installed: %s\n", pattern);
    if (!options_given(options, "suid"))
        (void)puts("fs.suid_dumpable is unchanged: with 0 the kernel passes on no "
                   "program that changed its user; --suid sets 2, by which root alone "
                   "gets those");
    return COMMAND_DONE;
}

int node_remove(const struct options *options)
{
    const char *root = root_of(options);
    char path[PATH_MAX];
    char now[VALUE_SIZE] = { 0 };
    char before[VALUE_SIZE];
    bool done = may_set(root);
    if (!done)
        return COMMAND_FAILED;
    (void)read_setting(root, settings[PATTERN].kernel, now, sizeof(now));
    if (!is_node_pattern(now))
        (void)command_fail("the kernel's core_pattern is not the node agent's and "
                           "stays: %s",
                           now);
    for (size_t i = SETTINGS; is_node_pattern(now) && i-- > 0;) {
        bool known = node_before(root, settings[i].name, before, sizeof(before));
        if (known || i == PATTERN)
            done &= write_setting(root, settings[i].kernel, known ? before : "core");
    }
    if (!done)
        return COMMAND_FAILED; // what was before is still needed
    (void)snprintf(path, sizeof(path), "%s" BOOT_FILE, root);
    (void)unlink(path);
    for (size_t i = 0; i < SETTINGS; i++) {
        (void)snprintf(path, sizeof(path), "%s" NODE_STATE "/%s", root,
                       settings[i].name);
        (void)unlink(path);
    }
    return COMMAND_DONE;
}

int node_status(const struct options *options)
{
    const char *root = root_of(options);
    char now[VALUE_SIZE] = { 0 };
    char before[VALUE_SIZE];
    (void)read_setting(root, settings[PATTERN].kernel, now, sizeof(now));
    (void)printf("%s: %s\n", is_node_pattern(now) ? "installed" : "not installed", now);
    for (size_t i = 0; is_node_pattern(now) && i < SETTINGS; i++) {
        if (node_before(root, settings[i].name, before, sizeof(before)))
            (void)printf("%s before: %s\n", settings[i].name, before);
    }
    return is_node_pattern(now) ? COMMAND_DONE : COMMAND_FAILED;
}
