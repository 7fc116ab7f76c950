// SPDX-License-Identifier: Apache-2.0
#include "base/settings/settings.h"

#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/system/own_user.h"
#include "shared/settings_table.h"

// rule_texts is the three texts of each rule, one after another. The rules are in the
// library inside the program, where each pointer costs a relocation that is longer than
// most of these strings.
#define SETTING_TEXTS(name, option, kind, member, fallback, accepted, help)            \
    name "\0" fallback "\0" accepted "\0"

static const char rule_texts[] = SETTINGS(SETTING_TEXTS);

// A text_places is where the texts of each rule begin.
#define SETTING_PLACE(name, option, kind, member, fallback, accepted, help)            \
    char member[sizeof(SETTING_TEXTS(name, option, kind, member, fallback, accepted,   \
                                     help)) -                                          \
                1];

struct text_places {
    SETTINGS(SETTING_PLACE)
};

// A variable_rule is how a variable's value is parsed and where it goes.
struct variable_rule {
    uint32_t kind : 5; // enum setting_kind
    uint32_t member : 11;
    uint32_t texts : 16; // offset in rule_texts
};

_Static_assert(sizeof(struct settings) < 1 << 11 && sizeof(rule_texts) < 1 << 16,
               "they fit");

#define MEMBER(name) offsetof(struct settings, name)
#define SETTING_RULE(name, option, kind, member, fallback, accepted, help)             \
    { SETTING_##kind, MEMBER(member), offsetof(struct text_places, member) },

static const struct variable_rule rules[] = { SETTINGS(SETTING_RULE) };

// next_rule_text returns the text at *at, and moves *at past it.
static const char *next_rule_text(const char **at)
{
    const char *text = *at;
    *at += strlen(text) + 1;
    return text;
}

const char *settings_name_at(size_t position)
{
    return rule_texts + rules[position].texts;
}

enum { RULE_COUNT = sizeof(rules) / sizeof(rules[0]) };

// length_to_comma gives how many bytes precede a comma or the end.
static size_t length_to_comma(const char *value)
{
    size_t length = 0;
    while (value[length] != 0 && value[length] != ',')
        length++;
    return length;
}

// word_index gives the position of value among the words of a text such as
// "no, yes or tty", or -1.
static int word_index(const char *text, const char *value)
{
    const size_t length = strlen(value);
    for (int index = 0;; index++) {
        size_t word = 0;
        while (text[word] >= 'a')
            word++;
        if (word == length && memcmp(text, value, word) == 0)
            return index;
        text += word;
        if (*text == 0)
            return -1;
        text += *text == ',' ? strlen(", ") : strlen(" or ");
    }
}

static bool read_setting_word(const char *accepted, const char *value, void *member)
{
    int index = word_index(accepted, value);
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
        char unit[4]; // no pointer, which would be relocated in every program
        uint32_t ms;
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

// signal_of_word gives the number of the signal that can be a crash and has this name;
// 0: there is none.
static int signal_of_word(const char *word, size_t length)
{
    for (int number = 1; number < SIGNALS_END; number++) {
        if (signal_in(SIGNALS_CRASH, number) &&
            strlen(signal_words[number]) == length &&
            memcmp(signal_words[number], word, length) == 0)
            return number;
    }
    return 0;
}

static bool read_signals(const char *value, uint64_t *out)
{
    uint64_t signals = 0;
    for (;;) {
        if (strncmp(value, "SIG", 3) == 0)
            value += 3;
        size_t length = length_to_comma(value);
        int number = signal_of_word(value, length);
        if (number == 0)
            return false;
        signals |= UINT64_C(1) << number;
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
    size_t length = length_to_comma(value);
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
        size_t length = length_to_comma(value);
        const char *equals = memchr(value, '=', length);
        if (equals == NULL || equals == value)
            return false;
        if (value[length] == 0)
            return true;
        value += length + 1;
    }
}

// setting_text_ok checks a value that is kept as it is.
static bool setting_text_ok(enum setting_kind kind, const char *value)
{
    if (kind == SETTING_PAIRS)
        return pairs_ok(value);
    // One of the words must be a URL. Uploaders parse them all, report those that are
    // none and use the others; code for that here would be part of every program.
    if (kind == SETTING_URLS)
        return strstr(value, "http://") != NULL || strstr(value, "https://") != NULL;
    // The program's stdout is data for others, and a file of that name would be a
    // typing mistake.
    return kind != SETTING_LOG || strcmp(value, "stdout") != 0;
}

static bool read_setting_value(const struct variable_rule *rule, const char *accepted,
                               const char *value, struct settings *out)
{
    char *member = (char *)out + rule->member;
    switch (rule->kind) {
    case SETTING_WORD:
        return read_setting_word(accepted, value, member);
    case SETTING_SIGNALS:
        return read_signals(value, &out->signals);
    case SETTING_FRAMES:
        return read_frame_limit(value, rule->member == MEMBER(limit),
                                (uint32_t *)member);
    case SETTING_DURATION:
        return read_duration(value, (uint64_t *)member);
    case SETTING_CAPS:
        return read_caps(value, out);
    case SETTING_RATE:
        return read_rate(value, &out->rate_count, &out->rate_ms);
    case SETTING_SIZE:
        if (strcmp(value, "no") != 0)
            return read_setting_size(value, (uint64_t *)member);
        *(uint64_t *)member = 0;
        return true;
    default:
        if (!setting_text_ok((enum setting_kind)rule->kind, value))
            return false;
        *(const char **)member = value;
        return true;
    }
}

void settings_read(struct settings *out, settings_get_fn *get,
                   settings_complain_fn *complain, void *context)
{
    const char *warnings = get(context, settings_name_at(SETTING_AT_warnings));
    if (warnings != NULL && strcmp(warnings, "no") == 0)
        complain = NULL;
    *out = (struct settings){ 0 };
    for (size_t i = 0; i < RULE_COUNT; i++) {
        const struct variable_rule *rule = &rules[i];
        const char *at = rule_texts + rule->texts;
        const char *name = next_rule_text(&at);
        const char *fallback = next_rule_text(&at);
        const char *accepted = *at != 0 ? at : SETTING_ACCEPTED;
        const char *value = get(context, name);
        if (*fallback != 0)
            (void)read_setting_value(rule, accepted, fallback, out);
        // An empty variable counts as unset, as after a shell's VAR= command.
        if (value == NULL || *value == 0 ||
            read_setting_value(rule, accepted, value, out))
            continue;
        if (complain != NULL)
            complain(context, name, value, accepted);
    }
}

int settings_output_fd(const struct settings *settings,
                       settings_terminal_fn *is_terminal)
{
    const char *output = settings->output;
    int fd = output != NULL && strcmp(output, "stdout") == 0 ? 1 : 2;
    if (settings->print == SETTING_NO)
        return -1;
    if (output != NULL)
        return fd == 1 || strcmp(output, "stderr") == 0 ? fd : -1;
    return settings->print == SETTING_YES || is_terminal(fd) ? fd : -1;
}

uint32_t settings_kept_files(const struct settings *settings,
                             settings_terminal_fn *is_terminal)
{
    enum { STDERR = 2 };
    int fd = settings_output_fd(settings, is_terminal);
    uint32_t kept = fd >= 0 ? UINT32_C(1) << fd : 0;
    bool logs = settings->log != NULL && strcmp(settings->log, "stderr") == 0;
    if (logs || (settings->interactive == SETTING_YES && is_terminal(STDERR)))
        kept |= UINT32_C(1) << STDERR;
    return kept;
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
    if (own_user() == 0)
        return join_spool_path(path, size, "/var/lib/crashhook", "");
    if (state != NULL && state[0] == '/')
        return join_spool_path(path, size, state, "/crashhook");
    if (home != NULL && home[0] == '/')
        return join_spool_path(path, size, home, "/.local/state/crashhook");
    return CH_ERR_NOT_FOUND;
}
