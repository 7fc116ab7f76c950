// SPDX-License-Identifier: Apache-2.0
//
// The documentation of the variables. It is separate from the rules because the library
// inside the program does not need it.
#include <string.h>

#include "base/settings.h"

enum { VARIABLES_MAX = 64 };

static const struct {
    const char *name;
    const char *option;
    const char *help;
} shown[] = {
    { "CRASHHOOK_ENABLE", "enable",
      "Whether crashes are reported; tty: only when stderr is a terminal." },
    { "CRASHHOOK_URL", "url", "Where reports go; without it they stay in the spool." },
    { "CRASHHOOK_TOKEN_FILE", "token-file",
      "File that holds the bearer token of the collector." },
    { "CRASHHOOK_TOKEN", NULL, "Bearer token of the collector." },
    { "CRASHHOOK_SPOOL", "spool", "Folder where every report lands first." },
    { "CRASHHOOK_SPOOL_MAX", "spool-max",
      "What the spool holds at most, and for how many days or hours it keeps reports "
      "that were sent; the oldest sent reports go first." },
    { "CRASHHOOK_AGENT", "agent", "Path of crashhook-agent." },
    { "CRASHHOOK_SIGNALS", "signals", "Which signals are crashes." },
    { "CRASHHOOK_UNWIND", "unwind", "How stacks are unwound." },
    { "CRASHHOOK_LIMIT", "limit", "Frames per backtrace." },
    { "CRASHHOOK_TOP", "top", "How many of the frames are kept from the outer end." },
    { "CRASHHOOK_THREADS", "threads", "Which threads a report holds." },
    { "CRASHHOOK_IMAGES", "images", "Which images a report lists." },
    { "CRASHHOOK_SYMBOLIZE", "symbolize",
      "fast: function names; full: inlines and source lines too." },
    { "CRASHHOOK_HOLD", "hold", "How long the crashed process is kept." },
    { "CRASHHOOK_MODE", "mode", "daemon: an agent is started at install and waits." },
    { "CRASHHOOK_HANDLERS", "handlers",
      "Whether the program's own handlers of a fault run before it is reported, and "
      "may "
      "recover from it, or after." },
    { "CRASHHOOK_TIMEOUT", "timeout", "The process is never held longer." },
    { "CRASHHOOK_PRINT", "print",
      "Whether the report is printed on stderr; tty: when it is a terminal." },
    { "CRASHHOOK_PRESET", "preset", "How much of the report is printed." },
    { "CRASHHOOK_ARGUMENTS", "arguments",
      "Put the arguments of functions in the report." },
    { "CRASHHOOK_SANITIZE", "sanitize",
      "Mask home directories and secrets before anything is written." },
    { "CRASHHOOK_MEMORY", "memory",
      "Put memory around what the registers point to in the report." },
    { "CRASHHOOK_TAGS", "tags", "Tags put in each report." },
    { "CRASHHOOK_RELEASE", "release", "The program's release." },
    { "CRASHHOOK_ENVIRONMENT", "environment", "Where it runs: production, staging." },
    { "CRASHHOOK_RATE", "rate",
      "More crashes than this of one program are counted, not uploaded." },
    { "CRASHHOOK_FLIGHT", "flight", "Size of the flight recorder per thread." },
    { "CRASHHOOK_LOG", "log", "Where the agent's own messages go." },
};

const struct settings_variable *settings_variables(size_t *out_count)
{
    static struct settings_variable variables[VARIABLES_MAX];
    size_t count = 0;
    while (count < VARIABLES_MAX && settings_rule(count, &variables[count])) {
        struct settings_variable *variable = &variables[count++];
        for (size_t i = 0; i < sizeof(shown) / sizeof(shown[0]); i++) {
            if (strcmp(shown[i].name, variable->name) != 0)
                continue;
            variable->option = shown[i].option;
            variable->help = shown[i].help;
        }
    }
    *out_count = count;
    return variables;
}
