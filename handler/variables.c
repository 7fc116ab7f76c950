// SPDX-License-Identifier: Apache-2.0
#include "handler/variables.h"

#include <string.h>

// What the agent is given beside CRASHHOOK_*: where its files are, how it prints, and
// how it reaches a server. LD_PRELOAD is never passed on: what the program was forced
// to load is not for the agent. The list is one string, which needs no relocation; an
// empty name ends it.
static const char passed_on[] = "HOME\0"
                                "XDG_STATE_HOME\0"
                                "XDG_CACHE_HOME\0"
                                "PATH\0"
                                "LANG\0"
                                "LC_ALL\0"
                                "TERM\0"
                                "NO_COLOR\0"
                                "TZ\0"
                                "http_proxy\0"
                                "https_proxy\0"
                                "HTTPS_PROXY\0"
                                "all_proxy\0"
                                "ALL_PROXY\0"
                                "no_proxy\0"
                                "NO_PROXY\0"
                                "SSL_CERT_FILE\0"
                                "SSL_CERT_DIR\0"
                                "CURL_CA_BUNDLE\0"
                                "OTEL_EXPORTER_OTLP_HEADERS\0"
                                "OTEL_EXPORTER_OTLP_LOGS_HEADERS\0"
                                "DEBUGINFOD_URLS\0"
                                "DEBUGINFOD_TIMEOUT\0"
                                "DEBUGINFOD_CACHE_PATH\0";

struct option_rule {
    const char *name;
    size_t member;
};

#define OPTION(variable, member)                                                       \
    {                                                                                  \
        variable, offsetof(struct crashhook_options, member)                           \
    }

static const struct option_rule options_rules[] = {
    OPTION("CRASHHOOK_URL", url),         OPTION("CRASHHOOK_TOKEN_FILE", token_file),
    OPTION("CRASHHOOK_SPOOL", spool),     OPTION("CRASHHOOK_AGENT", agent),
    OPTION("CRASHHOOK_TIMEOUT", timeout), OPTION("CRASHHOOK_PRINT", print),
    OPTION("CRASHHOOK_RELEASE", release), OPTION("CRASHHOOK_ENVIRONMENT", environment),
    OPTION("CRASHHOOK_TAGS", tags),
};

static bool variable_is_named(const struct plan_variable *variable, const char *name)
{
    return strncmp(variable->name, name, variable->name_length) == 0 &&
           name[variable->name_length] == 0;
}

static bool variable_is_wanted(const struct plan_variable *variable)
{
    static const char ours[] = "CRASHHOOK_";
    if (variable->name_length >= sizeof(ours) &&
        memcmp(variable->name, ours, sizeof(ours) - 1) == 0)
        return true;
    for (const char *name = passed_on; *name != 0; name += strlen(name) + 1) {
        if (*name == variable->name[0] && variable_is_named(variable, name))
            return true;
    }
    return false;
}

static struct plan_variable *find_named_variable(struct variables *variables,
                                                 const char *name)
{
    for (size_t i = 0; i < variables->count; i++) {
        if (variable_is_named(&variables->list[i], name))
            return &variables->list[i];
    }
    return NULL;
}

static void variables_add(struct variables *variables,
                          const struct plan_variable *variable)
{
    if (variables->count < VARIABLES_MAX)
        variables->list[variables->count++] = *variable;
}

void variables_collect(struct variables *out, char *const *environment,
                       const struct crashhook_options *options)
{
    out->count = 0;
    for (; environment != NULL && *environment != NULL; environment++) {
        const char *equals = strchr(*environment, '=');
        if (equals == NULL)
            continue;
        struct plan_variable variable = { .name = *environment,
                                          .name_length =
                                              (size_t)(equals - *environment),
                                          .value = equals + 1 };
        if (variable_is_wanted(&variable))
            variables_add(out, &variable);
    }
    for (size_t i = 0;
         options != NULL && i < sizeof(options_rules) / sizeof(*options_rules); i++) {
        const char *name = options_rules[i].name;
        const char *value =
            *(const char *const *)((const char *)options + options_rules[i].member);
        if (value != NULL && find_named_variable(out, name) == NULL)
            variables_set(out, name, value);
    }
}

const char *variables_get(void *variables, const char *name)
{
    struct plan_variable *found = find_named_variable(variables, name);
    if (found == NULL)
        return NULL;
    found->asked_for = true;
    return found->value;
}

void variables_set(struct variables *variables, const char *name, const char *value)
{
    const struct plan_variable wanted = { .name = name,
                                          .name_length = strlen(name),
                                          .value = value };
    struct plan_variable *found = find_named_variable(variables, name);
    if (found != NULL)
        *found = wanted;
    else
        variables_add(variables, &wanted);
}
