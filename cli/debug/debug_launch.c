// SPDX-License-Identifier: Apache-2.0
#include "cli/debug/debug_launch.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hex.h"
#include "base/system/file.h"
#include "base/text.h"
#include "cli/render/render.h"
#include "cli/session/command.h"
#include "report/value/report.h"

enum { SHOWN_MAX_BYTES = 64 << 10 };

static bool write_launch_file(const char *path, int flags, const char *bytes,
                              size_t size)
{
    if (file_put(path, flags, bytes, size))
        return true;
    (void)command_fail("cannot write '%s': %s", path, strerror(errno));
    return false;
}

bool debug_launch_scripts(const struct debug_launch *launch)
{
    static const struct {
        const char *ending;
        const char *before;
        const char *after;
    } scripts[] = {
        { "gdb", "python print(bytes.fromhex(\"",
          "\").decode(\"utf-8\", \"replace\"))\n" },
        { "lldb",
          "settings set interpreter.echo-commands false\nscript print(bytes.fromhex(\"",
          "\").decode(\"utf-8\", \"replace\"))\n"
          "settings set interpreter.echo-commands true\n" },
    };
    static const struct render_style style = { .preset = PRESET_MEDIUM };
    struct text CH_CLEANUP(text_deinit) shown = { 0 };
    (void)render_report_text(launch->report, &style, SHOWN_MAX_BYTES, &shown);
    char *digits = malloc(2 * shown.size + 1);
    bool done = digits != NULL && text_ok(&shown);
    if (!done)
        (void)command_fail("cannot show the report: %s", strerror(ENOMEM));
    else
        hex_encode(shown.bytes, shown.size, digits);
    for (size_t i = 0; done && i < sizeof(scripts) / sizeof(scripts[0]); i++) {
        struct text CH_CLEANUP(text_deinit) script = { 0 };
        char path[PATH_MAX];
        (void)snprintf(path, sizeof(path), "%s.%s", launch->core, scripts[i].ending);
        text_appendf(&script, "%s%s%s", scripts[i].before, digits, scripts[i].after);
        done = text_ok(&script) &&
               write_launch_file(path, O_TRUNC, script.bytes, script.size);
    }
    free(digits);
    return done;
}

// configurations_json is what editors call a launch configuration: one for the C/C++
// extension, and one for lldb-dap.
static json_t *configurations_json(const struct debug_launch *launch)
{
    char gdb[PATH_MAX + 32];
    char lldb[PATH_MAX + 32];
    char name[128];
    const char *id = report_string(launch->report, "id");
    (void)snprintf(gdb, sizeof(gdb), "source %s.gdb", launch->core);
    (void)snprintf(lldb, sizeof(lldb), "command source %s.lldb", launch->core);
    (void)snprintf(name, sizeof(name), "crashhook %.36s", id != NULL ? id : "report");
    return json_pack("[{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:[{s:s, s:b}]},"
                     " {s:s, s:s, s:s, s:s, s:s, s:[s]}]",
                     "name", name, "type", "cppdbg", "request", "launch", "program",
                     launch->program, "coreDumpPath", launch->core, "cwd",
                     "${workspaceFolder}", "MIMode", "gdb", "setupCommands", "text",
                     gdb, "ignoreFailures", 1, "name", name, "type", "lldb-dap",
                     "request", "attach", "program", launch->program, "coreFile",
                     launch->core, "postRunCommands", lldb);
}

// is_launch_path returns true if an editor takes the path as it is: it replaces ${...},
// and runs commands for some of them.
static bool is_launch_path(const char *path)
{
    return strchr(path, '$') == NULL && strchr(path, '\n') == NULL;
}

bool debug_launch_vscode(const struct debug_launch *launch)
{
    static const char path[] = ".vscode/launch.json";
    if (launch->program == NULL) {
        (void)command_fail("cannot write a launch configuration: the program's file is"
                           " not here");
        return false;
    }
    if (!is_launch_path(launch->program) || !is_launch_path(launch->core)) {
        (void)command_fail("cannot write a launch configuration: editors replace the $"
                           " in '%s' or '%s'",
                           launch->program, launch->core);
        return false;
    }
    json_auto_t *attach =
        json_pack("{s:s, s:s}", "program", launch->program, "coreFile", launch->core);
    json_auto_t *list = configurations_json(launch);
    json_auto_t *all =
        json_pack("{s:s, s:O}", "version", "0.2.0", "configurations", list);
    char *attach_text = json_dumps(attach, JSON_ENSURE_ASCII);
    char *text = json_dumps(all, JSON_INDENT(4) | JSON_ENSURE_ASCII);
    bool exists = access(path, F_OK) == 0;
    bool done = attach_text != NULL && text != NULL;
    if (!done) {
        (void)command_fail("cannot write a launch configuration: %s", strerror(ENOMEM));
    } else if (exists) {
        (void)fprintf(stderr,
                      "crashhook: '%s' exists; add these configurations to it\n", path);
        (void)printf("%s\n", text);
    } else {
        (void)mkdir(".vscode", 0755);
        done = write_launch_file(path, O_EXCL, text, strlen(text));
        if (done)
            (void)printf("%s\n", path);
    }
    if (done)
        (void)printf("gdb -i=dap, attach: %s\n", attach_text);
    free(attach_text);
    free(text);
    return done;
}
