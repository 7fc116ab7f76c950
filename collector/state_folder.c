// SPDX-License-Identifier: Apache-2.0
#include "collector/state_folder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/system/file.h"

enum { STATE_SIZE = STATE_PATH_SIZE - 64 };

// state_folder writes the path of the folder for lasting state, and makes missing
// folders.
static bool state_folder(char out[STATE_SIZE])
{
    const char *state = getenv("XDG_STATE_HOME");
    const char *home = getenv("HOME");
    char *folder = out;
    int length = 0;
    if (geteuid() == 0)
        length = snprintf(folder, STATE_SIZE, "/var/lib/crashhook-collector");
    else if (state != NULL && state[0] == '/')
        length = snprintf(folder, STATE_SIZE, "%s/crashhook-collector", state);
    else if (home != NULL && home[0] == '/')
        length =
            snprintf(folder, STATE_SIZE, "%s/.local/state/crashhook-collector", home);
    if (length <= 0 || length >= STATE_SIZE)
        return false;
    (void)file_make_parents(folder, 0755);
    mkdir(folder, 0700);
    return true;
}

bool state_default_store(char out[STATE_PATH_SIZE])
{
    char folder[STATE_SIZE];
    if (!state_folder(folder))
        return false;
    snprintf(out, STATE_PATH_SIZE, "sqlite:%s/collector.db", folder);
    return true;
}

bool state_default_symbols(const char *store, char out[STATE_PATH_SIZE])
{
    char folder[STATE_SIZE];
    if (strncmp(store, "sqlite:", 7) == 0) {
        snprintf(out, STATE_PATH_SIZE, "%.*s.symbols", STATE_PATH_SIZE - 16, store + 7);
        return true;
    }
    if (!state_folder(folder))
        return false;
    snprintf(out, STATE_PATH_SIZE, "%s/symbols", folder);
    return true;
}
