// SPDX-License-Identifier: Apache-2.0
#include "base/settings.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/checked.h"

// value_kind is how the value of a variable is parsed and stored.
enum value_kind {
    VALUE_WORD,     // one of the rule's words, as the enum's value
    VALUE_STRING,   // anything not empty
    VALUE_SIGNALS,  // SEGV,BUS,...
    VALUE_FRAMES,   // a number or none
    VALUE_DURATION, // 30s, 500ms, 2m, 1h
    VALUE_CAPS,     // 64,256M or 64,256M,30d
    VALUE_RATE,     // 10/1m
    VALUE_SIZE,     // no, or 64K
    VALUE_PAIRS,    // k=v,k=v
    VALUE_URLS,     // http://... sentry+https://...
};

// rule_part is a part of a rule's text. The rules are in the library inside the
// program, where each pointer costs a relocation that is longer than most of these
// strings; so the four parts are concatenated, and an empty part means none.
enum rule_part { RULE_NAME, RULE_FALLBACK, RULE_ACCEPTED, RULE_WORDS };

struct variable_rule {
    const char *text;
    enum value_kind kind;
    size_t member;
};

#define MEMBER(name) offsetof(struct settings, name)

// clang-format off
static const struct variable_rule rules[] = {
    { "CRASHHOOK_ENABLE\0" "yes\0" "yes, no or tty\0"
      "no yes tty",
      VALUE_WORD, MEMBER(enable) },
    { "CRASHHOOK_URL\0" "\0"
      "http, sentry+http or otlp+http URLs\0",
      VALUE_URLS, MEMBER(url) },
    { "CRASHHOOK_TOKEN_FILE\0" "\0" "a path\0",
      VALUE_STRING, MEMBER(token_file) },
    { "CRASHHOOK_TOKEN\0" "\0" "a token\0",
      VALUE_STRING, MEMBER(token) },
    { "CRASHHOOK_SPOOL\0" "\0" "a path\0",
      VALUE_STRING, MEMBER(spool) },
    { "CRASHHOOK_SPOOL_MAX\0" "64,256M\0"
      "REPORTS,BYTES or REPORTS,BYTES,AGE such as 64,256M,30d\0",
      VALUE_CAPS, MEMBER(spool_max_reports) },
    { "CRASHHOOK_AGENT\0" "\0" "a path\0",
      VALUE_STRING, MEMBER(agent) },
    { "CRASHHOOK_SIGNALS\0" "SEGV,BUS,ILL,FPE,ABRT,TRAP,SYS\0"
      "names, by commas: SEGV BUS ILL FPE ABRT TRAP SYS "
      "QUIT XCPU XFSZ\0",
      VALUE_SIGNALS, MEMBER(signals) },
    { "CRASHHOOK_UNWIND\0" "auto\0"
      "auto, fast, precise, sframe, dwarf, fp or libunwind\0"
      "auto fast precise sframe dwarf fp libunwind",
      VALUE_WORD, MEMBER(unwind) },
    { "CRASHHOOK_LIMIT\0" "64\0" "a number of frames from 1, or none\0",
      VALUE_FRAMES, MEMBER(limit) },
    { "CRASHHOOK_TOP\0" "16\0" "a number of frames, or none\0",
      VALUE_FRAMES, MEMBER(top) },
    { "CRASHHOOK_THREADS\0" "all\0" "all or crashed\0"
      "all crashed",
      VALUE_WORD, MEMBER(threads) },
    { "CRASHHOOK_IMAGES\0" "all\0" "all, none or mentioned\0"
      "all none mentioned",
      VALUE_WORD, MEMBER(images) },
    { "CRASHHOOK_SYMBOLIZE\0" "full\0" "off, fast or full\0"
      "full fast off",
      VALUE_WORD, MEMBER(symbolize) },
    { "CRASHHOOK_HOLD\0" "auto\0" "auto, capture, report or upload\0"
      "auto capture report upload",
      VALUE_WORD, MEMBER(hold) },
    { "CRASHHOOK_MODE\0" "spawn\0" "spawn or daemon\0"
      "spawn daemon",
      VALUE_WORD, MEMBER(mode) },
    { "CRASHHOOK_HANDLERS\0" "first\0" "first or last\0"
      "first last",
      VALUE_WORD, MEMBER(handlers) },
    { "CRASHHOOK_TIMEOUT\0" "30s\0" "a duration such as 30s, 500ms or 2m\0",
      VALUE_DURATION, MEMBER(timeout_ms) },
    { "CRASHHOOK_PRINT\0" "tty\0" "no, yes or tty\0"
      "no yes tty",
      VALUE_WORD, MEMBER(print) },
    { "CRASHHOOK_PRESET\0" "auto\0" "auto, friendly, medium or full\0"
      "auto friendly medium full",
      VALUE_WORD, MEMBER(preset) },
    { "CRASHHOOK_ARGUMENTS\0" "yes\0" "yes or no\0"
      "no yes",
      VALUE_WORD, MEMBER(arguments) },
    { "CRASHHOOK_SANITIZE\0" "yes\0" "yes or no\0"
      "no yes",
      VALUE_WORD, MEMBER(sanitize) },
    { "CRASHHOOK_MEMORY\0" "no\0" "yes or no\0"
      "no yes",
      VALUE_WORD, MEMBER(memory) },
    { "CRASHHOOK_TAGS\0" "\0" "k=v,k=v\0",
      VALUE_PAIRS, MEMBER(tags) },
    { "CRASHHOOK_RELEASE\0" "\0" "a text\0",
      VALUE_STRING, MEMBER(release) },
    { "CRASHHOOK_ENVIRONMENT\0" "\0" "a text\0",
      VALUE_STRING, MEMBER(environment) },
    { "CRASHHOOK_RATE\0" "10/1m\0" "COUNT/DURATION such as 10/1m\0",
      VALUE_RATE, MEMBER(rate_count) },
    { "CRASHHOOK_FLIGHT\0" "no\0" "no, or a size such as 64K\0",
      VALUE_SIZE, MEMBER(flight_bytes) },
    { "CRASHHOOK_LOG\0" "\0" "a file, or stderr\0",
      VALUE_STRING, MEMBER(log) },
};
// clang-format on

static const char *part_of(const struct variable_rule *rule, enum rule_part part)
{
    const char *text = rule->text;
    for (int i = RULE_NAME; i < (int)part; i++)
        text += strlen(text) + 1;
    return *text != 0 ? text : NULL;
}

enum { RULE_COUNT = sizeof(rules) / sizeof(rules[0]) };

// word_index gives the position of value among the words of list, or -1.
static int word_index(const char *list, const char *value, size_t length)
{
    int index = 0;
    while (*list != 0) {
        size_t word = strcspn(list, " ");
        if (word == length && memcmp(list, value, length) == 0)
            return index;
        list += word + (list[word] == ' ');
        index++;
    }
    return -1;
}

static bool read_setting_word(const char *words, const char *value, void *member)
{
    int index = word_index(words, value, strlen(value));
    if (index < 0)
        return false;
    memcpy(member, &(unsigned){ (unsigned)index }, sizeof(unsigned));
    return true;
}

// read_setting_number reads decimal digits and moves *text past them.
static bool read_setting_number(const char **text, uint64_t *out)
{
    const char *at = *text;
    uint64_t value = 0;
    if (*at < '0' || *at > '9')
        return false;
    for (; *at >= '0' && *at <= '9'; at++) {
        if (!checked_mul_u64(value, 10, &value) ||
            !checked_add_u64(value, (uint64_t)(*at - '0'), &value))
            return false;
    }
    *text = at;
    *out = value;
    return true;
}

static bool read_frame_limit(const char *value, uint32_t least, uint32_t *out)
{
    uint64_t number;
    if (strcmp(value, "none") == 0) {
        *out = SETTING_NO_LIMIT;
        return true;
    }
    if (!read_setting_number(&value, &number) || *value != 0 || number < least ||
        number >= SETTING_NO_LIMIT)
        return false;
    *out = (uint32_t)number;
    return true;
}

static bool read_duration(const char *value, uint64_t *out_ms)
{
    static const struct {
        const char *unit;
        uint64_t ms;
    } units[] = { { "ms", 1 }, { "s", 1000 }, { "m", 60000 }, { "h", 3600000 } };
    uint64_t number;

    if (!read_setting_number(&value, &number))
        return false;
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        if (strcmp(value, units[i].unit) != 0)
            continue;
        // A deadline is kept in nanoseconds; a day is more than enough.
        if (number == 0 || number > 86400000 / units[i].ms)
            return false;
        *out_ms = number * units[i].ms;
        return true;
    }
    return false;
}

static bool read_setting_size(const char *value, uint64_t *out)
{
    static const char suffixes[] = "KMGT";
    uint64_t number;
    if (!read_setting_number(&value, &number))
        return false;
    const char *suffix = *value != 0 ? strchr(suffixes, *value) : NULL;
    if (*value != 0 && (suffix == NULL || value[1] != 0))
        return false;
    uint64_t unit = suffix == NULL ? 1 : UINT64_C(1) << (10 * (suffix - suffixes + 1));
    return checked_mul_u64(number, unit, out);
}

static bool read_signals(const char *value, uint64_t *out)
{
    static const char words[] = "SEGV BUS ILL FPE ABRT TRAP SYS QUIT XCPU XFSZ";
    static const int numbers[] = { SIGSEGV, SIGBUS, SIGILL,  SIGFPE,  SIGABRT,
                                   SIGTRAP, SIGSYS, SIGQUIT, SIGXCPU, SIGXFSZ };
    uint64_t signals = 0;
    for (;;) {
        if (strncmp(value, "SIG", 3) == 0)
            value += 3;
        size_t length = strcspn(value, ",");
        int index = word_index(words, value, length);
        if (index < 0)
            return false;
        signals |= UINT64_C(1) << numbers[index];
        value += length;
        if (*value == 0)
            break;
        value++;
    }
    *out = signals;
    return true;
}

// read_age reads days or hours: 30d, 12h.
static bool read_age(const char *value, uint64_t *out_s)
{
    enum { AGE_MAX = 36500 };
    uint64_t number;
    if (!read_setting_number(&value, &number) || number == 0 || number > AGE_MAX)
        return false;
    if (strcmp(value, "d") != 0 && strcmp(value, "h") != 0)
        return false;
    *out_s = number * (*value == 'd' ? 86400 : 3600);
    return true;
}

static bool read_caps(const char *value, struct settings *out)
{
    char size[24];
    uint64_t reports;
    uint64_t bytes;
    uint64_t age_s = 0;
    if (!read_setting_number(&value, &reports) || *value != ',')
        return false;
    value++;
    size_t length = strcspn(value, ",");
    if (length >= sizeof(size))
        return false;
    memcpy(size, value, length);
    size[length] = 0;
    if (!read_setting_size(size, &bytes) || reports == 0 || bytes == 0)
        return false;
    if (value[length] != 0 && !read_age(value + length + 1, &age_s))
        return false;
    out->spool_max_reports = reports;
    out->spool_max_bytes = bytes;
    out->spool_max_age_s = age_s;
    return true;
}

static bool read_rate(const char *value, uint64_t *out_count, uint64_t *out_ms)
{
    uint64_t count;
    uint64_t ms;
    if (!read_setting_number(&value, &count) || *value != '/' ||
        !read_duration(value + 1, &ms))
        return false;
    *out_count = count;
    *out_ms = ms;
    return true;
}

// pairs_ok checks that each piece between commas is a non-empty key, '=' and a value.
static bool pairs_ok(const char *value)
{
    for (;;) {
        size_t length = strcspn(value, ",");
        const char *equals = memchr(value, '=', length);
        if (equals == NULL || equals == value)
            return false;
        if (value[length] == 0)
            return true;
        value += length + 1;
    }
}

// urls_ok checks that one of the words is a URL. Uploaders parse them all, report those
// that are none and use the others; code for that here would be part of every program.
static bool urls_ok(const char *value)
{
    return strstr(value, "http://") != NULL || strstr(value, "https://") != NULL;
}

static bool read_setting_value(const struct variable_rule *rule, const char *value,
                               struct settings *out)
{
    char *member = (char *)out + rule->member;
    switch (rule->kind) {
    case VALUE_WORD:
        return read_setting_word(part_of(rule, RULE_WORDS), value, member);
    case VALUE_SIGNALS:
        return read_signals(value, &out->signals);
    case VALUE_FRAMES:
        return read_frame_limit(value, rule->member == MEMBER(limit),
                                (uint32_t *)member);
    case VALUE_DURATION:
        return read_duration(value, (uint64_t *)member);
    case VALUE_CAPS:
        return read_caps(value, out);
    case VALUE_RATE:
        return read_rate(value, &out->rate_count, &out->rate_ms);
    case VALUE_SIZE:
        if (strcmp(value, "no") == 0) {
            *(uint64_t *)member = 0;
            return true;
        }
        return read_setting_size(value, (uint64_t *)member);
    case VALUE_PAIRS:
        if (!pairs_ok(value))
            return false;
        break;
    case VALUE_URLS:
        if (!urls_ok(value))
            return false;
        break;
    case VALUE_STRING:
        // The program's stdout is data for others, and a file of that name would be a
        // typing mistake.
        if (rule->member == MEMBER(log) && strcmp(value, "stdout") == 0)
            return false;
        break;
    }
    *(const char **)member = value;
    return true;
}

bool settings_rule(size_t index, struct settings_variable *out)
{
    if (index >= RULE_COUNT)
        return false;
    *out = (struct settings_variable){
        .name = part_of(&rules[index], RULE_NAME),
        .fallback = part_of(&rules[index], RULE_FALLBACK),
        .accepted = part_of(&rules[index], RULE_ACCEPTED),
        .words = part_of(&rules[index], RULE_WORDS),
    };
    return true;
}

void settings_read(struct settings *out, settings_get_fn *get,
                   settings_complain_fn *complain, void *context)
{
    *out = (struct settings){ 0 };
    for (size_t i = 0; i < RULE_COUNT; i++) {
        const struct variable_rule *rule = &rules[i];
        const char *value = get(context, part_of(rule, RULE_NAME));
        const char *fallback = part_of(rule, RULE_FALLBACK);
        if (fallback != NULL)
            (void)read_setting_value(rule, fallback, out);
        // An empty variable counts as unset, as after a shell's VAR= command.
        if (value == NULL || *value == 0 || read_setting_value(rule, value, out))
            continue;
        if (complain != NULL)
            complain(context, part_of(rule, RULE_NAME), value,
                     part_of(rule, RULE_ACCEPTED));
    }
}

// join_spool_path concatenates the two pieces.
static enum ch_status join_spool_path(char *path, size_t size, const char *first,
                                      const char *second)
{
    size_t first_length = strlen(first);
    size_t second_length = strlen(second);
    if (first_length + second_length + 1 > size)
        return CH_ERR_LIMIT;
    memcpy(path, first, first_length);
    memcpy(path + first_length, second, second_length + 1);
    return CH_OK;
}

enum ch_status settings_spool_path(const struct settings *settings,
                                   settings_get_fn *get, void *context, char *path,
                                   size_t size)
{
    if (settings->spool != NULL)
        return join_spool_path(path, size, settings->spool, "");

    const char *state = get(context, "XDG_STATE_HOME");
    const char *home = get(context, "HOME");
    if (geteuid() == 0)
        return join_spool_path(path, size, "/var/lib/crashhook", "");
    if (state != NULL && state[0] == '/')
        return join_spool_path(path, size, state, "/crashhook");
    if (home != NULL && home[0] == '/')
        return join_spool_path(path, size, home, "/.local/state/crashhook");
    return CH_ERR_NOT_FOUND;
}
