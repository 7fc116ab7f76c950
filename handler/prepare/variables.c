// SPDX-License-Identifier: Apache-2.0
#include "handler/prepare/variables.h"

#include <string.h>

#include "base/settings/settings.h"
#include "shared/settings_table.h"

// What the agent is given in addition to CRASHHOOK_*: where its files are, how it
// prints, and how it reaches a server. LD_PRELOAD is never passed on: what the program
// was forced to load is not for the agent.
// clang-format off
#define PASSED_ON(ROW) \
    ROW(HOME) \
    ROW(XDG_STATE_HOME) \
    ROW(XDG_CACHE_HOME) \
    ROW(PATH) \
    ROW(LANG) \
    ROW(LC_ALL) \
    ROW(TERM) \
    ROW(NO_COLOR) \
    ROW(TZ) \
    ROW(http_proxy) \
    ROW(https_proxy) \
    ROW(HTTPS_PROXY) \
    ROW(all_proxy) \
    ROW(ALL_PROXY) \
    ROW(no_proxy) \
    ROW(NO_PROXY) \
    ROW(SSL_CERT_FILE) \
    ROW(SSL_CERT_DIR) \
    ROW(CURL_CA_BUNDLE) \
    ROW(OTEL_EXPORTER_OTLP_HEADERS) \
    ROW(OTEL_EXPORTER_OTLP_LOGS_HEADERS) \
    ROW(OTEL_EXPORTER_OTLP_PROTOCOL) \
    ROW(OTEL_EXPORTER_OTLP_LOGS_PROTOCOL) \
    ROW(OTEL_SERVICE_NAME) \
    ROW(OTEL_RESOURCE_ATTRIBUTES) \
    ROW(TRACEPARENT) \
    ROW(DEBUGINFOD_URLS) \
    ROW(DEBUGINFOD_TIMEOUT) \
    ROW(DEBUGINFOD_CACHE_PATH) \
    ROW(_CRASHHOOK_STDERR)
// clang-format on

// passed_on has each name after its length: no pointer has to be relocated, and most
// names are passed over by their length alone.
#define NAME_MEMBER(name)                                                              \
    char length_##name;                                                                \
    char text_##name[sizeof(#name)];
#define NAME_BYTES(name) sizeof(#name) - 1, #name,

static const struct {
    PASSED_ON(NAME_MEMBER)
} passed_on = { PASSED_ON(NAME_BYTES) };

// options_variables has the variable of each member of crashhook_options after size, in
// their order. Positions of the settings' table need no relocations.
static const unsigned char options_variables[] = {
    SETTING_AT_url,
    SETTING_AT_token_file,
    SETTING_AT_spool,
    SETTING_AT_agent,
    SETTING_AT_timeout_ms,
    SETTING_AT_print,
    SETTING_AT_release,
    SETTING_AT_environment,
    SETTING_AT_tags,
    SETTING_AT_token,
    SETTING_AT_spool_max_reports,
    SETTING_AT_signals,
    SETTING_AT_unwind,
    SETTING_AT_limit,
    SETTING_AT_top,
    SETTING_AT_threads,
    SETTING_AT_images,
    SETTING_AT_symbolize,
    SETTING_AT_hold,
    SETTING_AT_mode,
    SETTING_AT_handlers,
    SETTING_AT_preset,
    SETTING_AT_arguments,
    SETTING_AT_sanitize,
    SETTING_AT_memory,
    SETTING_AT_own,
    SETTING_AT_rate_count,
    SETTING_AT_log,
    SETTING_AT_kills,
    SETTING_AT_starts,
    SETTING_AT_stacks,
    SETTING_AT_output,
    SETTING_AT_format,
    SETTING_AT_registers,
    SETTING_AT_demangle,
    SETTING_AT_color,
    SETTING_AT_interactive,
    SETTING_AT_warnings,
    SETTING_AT_cache,
    SETTING_AT_descriptors,
    SETTING_AT_pii,
    SETTING_AT_user,
};
_Static_assert(sizeof(struct crashhook_options) ==
                   offsetof(struct crashhook_options, url) +
                       sizeof(options_variables) / sizeof(options_variables[0]) *
                           sizeof(const char *),
               "each member has its variable");
_Static_assert(sizeof(options_variables) + 6 == SETTING_POSITIONS,
               "each variable has a member, or crashhook.h says why not");

bool variables_options_ok(const struct crashhook_options *options)
{
    return options->size >= offsetof(struct crashhook_options, token) &&
           options->size <= sizeof(*options) && options->size % sizeof(void *) == 0;
}

static const char ours[] = "CRASHHOOK_";

static bool variable_is_ours(const struct plan_variable *variable)
{
    return variable->name_length >= sizeof(ours) &&
           memcmp(variable->name, ours, sizeof(ours) - 1) == 0;
}

// VARIABLE_PRINT is a bit for the first letter, last letter and length of a name.
#define VARIABLE_PRINT(first, last, length)                                            \
    UINT64_C(1) << ((unsigned char)(first) + 5u * (unsigned char)(last) +              \
                    3u * (length)) %                                                   \
                       64
#define NAME_PRINT(name)                                                               \
    | VARIABLE_PRINT(#name[0], #name[sizeof(#name) - 2], sizeof(#name) - 1)

// LETTER_PRINT is a bit for a letter, of which capitals have others than small ones.
#define LETTER_PRINT(letter) UINT64_C(1) << (unsigned char)(letter) % 64
#define FIRST_PRINT(name) | LETTER_PRINT(#name[0])
#define LAST_PRINT(name) | LETTER_PRINT(#name[sizeof(#name) - 2])

// may_be_wanted passes over most of a program's variables by their first letter.
static bool may_be_wanted(const char *name)
{
    const uint64_t prints = LETTER_PRINT(ours[0]) PASSED_ON(FIRST_PRINT);
    return (prints & (LETTER_PRINT(name[0]))) != 0;
}

static bool variable_is_wanted(const struct plan_variable *variable)
{
    const uint64_t prints = 0 PASSED_ON(NAME_PRINT);
    const uint64_t lasts = 0 PASSED_ON(LAST_PRINT);
    const size_t length = variable->name_length;
    if (variable_is_ours(variable))
        return true;
    // Most of a program's variables are passed over by this alone.
    if (length == 0 || (lasts & (LETTER_PRINT(variable->name[length - 1]))) == 0 ||
        (prints &
         VARIABLE_PRINT(variable->name[0], variable->name[length - 1], length)) == 0)
        return false;
    const unsigned char *at = (const unsigned char *)&passed_on;
    for (const unsigned char *end = at + sizeof(passed_on); at != end; at += 2 + *at) {
        if (*at == length && plan_variable_is(variable, (const char *)at + 1))
            return true;
    }
    return false;
}

// variable_initial is the bit in initials of a name that begins with ours.
static uint32_t variable_initial(const char *name)
{
    return UINT32_C(1) << (unsigned char)name[sizeof(ours) - 1] % 32;
}

static struct plan_variable *find_named_variable(struct variables *variables,
                                                 const char *name)
{
    for (size_t i = 0; i < variables->count; i++) {
        if (plan_variable_is(&variables->list[i], name))
            return &variables->list[i];
    }
    return NULL;
}

static void variables_add(struct variables *variables,
                          const struct plan_variable *variable)
{
    if (variables->count == VARIABLES_MAX)
        return;
    variables->list[variables->count++] = *variable;
    if (variable_is_ours(variable))
        variables->initials |= variable_initial(variable->name);
}

void variables_collect(struct variables *out, char *const *environment,
                       const struct crashhook_options *options)
{
    out->count = 0;
    out->initials = 0;
    for (; environment != NULL && *environment != NULL; environment++) {
        const char *equals = *environment;
        if (!may_be_wanted(equals))
            continue;
        while (*equals != 0 && *equals != '=')
            equals++;
        if (*equals == 0)
            continue;
        struct plan_variable variable = { .name = *environment,
                                          .name_length =
                                              (size_t)(equals - *environment),
                                          .value = equals + 1 };
        if (variable_is_wanted(&variable))
            variables_add(out, &variable);
    }
    const char *const *values = options != NULL ? &options->url : NULL;
    size_t count = options != NULL ? options->size / sizeof(*values) - 1 : 0;
    for (size_t i = 0; i < count; i++) {
        const char *name = settings_name_at(options_variables[i]);
        if (values[i] != NULL && find_named_variable(out, name) == NULL)
            variables_set(out, options_variables[i], values[i]);
    }
}

void variables_forget(char **environment)
{
    char **to = environment;
    for (; environment != NULL && *environment != NULL; environment++) {
        if (strncmp(*environment, ours, sizeof(ours) - 1) != 0)
            *to++ = *environment;
    }
    if (to != NULL)
        *to = NULL;
}

const char *variables_get(void *variables, const char *name)
{
    const struct variables *all = variables;
    // Of the settings' variables few are set.
    if (*name == *ours && (all->initials & variable_initial(name)) == 0)
        return NULL;
    struct plan_variable *found = find_named_variable(variables, name);
    if (found == NULL)
        return NULL;
    found->asked_for = true;
    return found->value;
}

void variables_set(struct variables *variables, size_t at, const char *value)
{
    const char *name = settings_name_at(at);
    const struct plan_variable wanted = { .name = name,
                                          .name_length = strlen(name),
                                          .value = value };
    struct plan_variable *found = find_named_variable(variables, name);
    if (found != NULL)
        *found = wanted;
    else
        variables_add(variables, &wanted);
}
