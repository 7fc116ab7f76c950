// SPDX-License-Identifier: Apache-2.0
//
// The variables as documents and options need them. It is apart from the rules because
// the library inside the program does not need it.
#include <string.h>

#include "base/settings/settings.h"
#include "shared/settings_table.h"

#define SETTING_VARIABLE(name, option, kind, member, fallback, accepted, help)         \
    { name,                                                                            \
      option,                                                                          \
      fallback,                                                                        \
      sizeof(accepted) == 1 ? SETTING_ACCEPTED : (accepted),                           \
      help,                                                                            \
      SETTING_##kind,                                                                  \
      offsetof(struct settings, member) },

static const struct settings_variable variables[] = { SETTINGS(SETTING_VARIABLE) };

const struct settings_variable *settings_variables(size_t *out_count)
{
    *out_count = sizeof(variables) / sizeof(variables[0]);
    return variables;
}

bool settings_is_path(const struct settings_variable *variable, const char *value)
{
    return variable->kind == SETTING_PATH ||
           ((variable->kind == SETTING_LOG || variable->kind == SETTING_OUTPUT) &&
            strcmp(value, "stderr") != 0 && strcmp(value, "stdout") != 0);
}

const char *settings_path(const struct settings *settings,
                          const struct settings_variable *variable)
{
    if (variable->kind != SETTING_PATH && variable->kind != SETTING_LOG &&
        variable->kind != SETTING_OUTPUT)
        return NULL;
    const char *member = (const char *)settings + variable->member;
    const char *path = *(const char *const *)member;
    return path != NULL && settings_is_path(variable, path) ? path : NULL;
}
