// SPDX-License-Identifier: Apache-2.0
#include "report/grouping/in_app.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/system/file.h"
#include "base/text.h"
#include "report/grouping/scoped_name.h"

enum {
    USER_RULES = 128,
    USER_BYTES = 8192,
    BUILD_DIGITS = 16,
    BUILDS_BYTES = 1 << 30, // of a file that lists builds
};

// in_app_builds is a sorted list of build IDs, of each the first BUILD_DIGITS digits:
// that two builds share these is no accident.
struct in_app_builds {
    uint64_t *starts;
    size_t count;
    size_t capacity;
};

// in_app_user_rule is a rule of CRASHHOOK_OWN or --own; any: of images and sources.
struct in_app_user_rule {
    struct in_app_rule rule;
    struct in_app_builds builds; // of IN_APP_BUILDS
    bool in_app;
    bool any;
};

// The rules of the user are set once at the start of a process and then only read.
static struct {
    struct in_app_user_rule rules[USER_RULES];
    size_t count;
    char bytes[USER_BYTES];
    size_t size;
} own_user;

static const char *const in_app_kind_words[IN_APP_KINDS] = {
    [IN_APP_REPORTS] = "reports",  [IN_APP_STARTS] = "starts",
    [IN_APP_PACKAGE] = "package",  [IN_APP_BUILD] = "build",
    [IN_APP_BUILDS] = "builds",    [IN_APP_IMAGE] = "image",
    [IN_APP_SOURCE] = "source",    [IN_APP_NAMESPACE] = "namespace",
    [IN_APP_RUST] = "namespace",   [IN_APP_FUNCTION] = "function",
    [IN_APP_STATIC] = "C library", [IN_APP_INTERPRETER] = "interpreter",
};

bool in_app_matches(const char *pattern, const char *text, size_t length)
{
    const char *end = text + length;
    const char *star = NULL; // the last '*' that was passed, and where it matched to
    const char *resume = text;
    while (text < end) {
        if (*pattern == '*') {
            star = pattern++;
            resume = text;
            if (*pattern == 0)
                return true;
        } else if (*pattern == *text) {
            pattern++;
            text++;
        } else if (star != NULL) {
            pattern = star + 1;
            text = memchr(resume + 1, *pattern, (size_t)(end - resume) - 1);
            if (text == NULL)
                return false;
            resume = text;
        } else {
            return false;
        }
    }
    while (*pattern == '*')
        pattern++;
    return *pattern == 0;
}

// in_app_subject is a text that patterns are compared with; bytes is NULL if a frame
// has none.
struct in_app_subject {
    const char *bytes;
    size_t length;
};

// in_app_facts is a frame with what the rules of each kind are compared with.
struct in_app_facts {
    const struct in_app_frame *frame;
    struct in_app_subject subjects[IN_APP_KINDS];
};

static bool is_rust_symbol(const char *raw_name)
{
    enum { HASH = 20 }; // "17h", 16 digits, "E"
    size_t length = strlen(raw_name);
    const char *hash = raw_name + length - HASH;
    if (strncmp(raw_name, "_R", 2) == 0)
        return true;
    return strncmp(raw_name, "_ZN", 3) == 0 && length > HASH &&
           strncmp(hash, "17h", 3) == 0 &&
           strspn(hash + 3, "0123456789abcdef") == HASH - 4;
}

// is_of_rust decides by the source file or the symbol; where both are unknown, a name
// of Rust's library is taken for one.
static bool is_of_rust(const struct in_app_frame *frame)
{
    size_t length = frame->file != NULL ? strlen(frame->file) : 0;
    if (frame->raw_name != NULL && is_rust_symbol(frame->raw_name))
        return true;
    if (length > 3)
        return strcmp(frame->file + length - 3, ".rs") == 0;
    return frame->raw_name == NULL || strncmp(frame->raw_name, "_Z", 2) != 0;
}

static struct in_app_subject in_app_subject_of(const char *text)
{
    return (struct in_app_subject){ text, text != NULL ? strlen(text) : 0 };
}

// in_app_facts_fill collects what a frame is compared by; name holds its scoped name
// where frame does not.
static void in_app_facts_fill(struct in_app_facts *facts,
                              const struct in_app_frame *frame, struct text *name)
{
    const char *scoped = frame->scoped;
    if (scoped == NULL && frame->function != NULL) {
        scoped_name(frame->function, name);
        scoped = name->size != 0 ? name->bytes : NULL;
    }
    const struct in_app_subject called = in_app_subject_of(scoped);
    *facts = (struct in_app_facts){ .frame = frame };
    facts->subjects[IN_APP_REPORTS] = called;
    facts->subjects[IN_APP_STARTS] = called;
    facts->subjects[IN_APP_PACKAGE] = in_app_subject_of(frame->package);
    facts->subjects[IN_APP_BUILD] = in_app_subject_of(frame->build_id);
    facts->subjects[IN_APP_IMAGE] = in_app_subject_of(frame->image);
    facts->subjects[IN_APP_SOURCE] = in_app_subject_of(frame->file);
    facts->subjects[IN_APP_NAMESPACE] = called;
    if (called.bytes != NULL && is_of_rust(frame))
        facts->subjects[IN_APP_RUST] = called;
    facts->subjects[IN_APP_FUNCTION] = called;
    // A stub of the PLT is the linker's, in every image; scoped names leave "@plt" out.
    if (frame->function != NULL &&
        in_app_matches("*@plt", frame->function, strlen(frame->function)))
        facts->subjects[IN_APP_FUNCTION] = in_app_subject_of(frame->function);
    // Static C libraries come without debug information: a function with a source file
    // is the program's, whatever its name.
    if (frame->is_static && frame->file == NULL)
        facts->subjects[IN_APP_STATIC] = called;
    bool is_interpreter = frame->image != NULL && frame->file == NULL;
    facts->subjects[IN_APP_INTERPRETER] =
        in_app_subject_of(is_interpreter ? file_name(frame->image) : NULL);
}

// in_app_may_match is false for most rules: the text begins with another byte.
static inline bool in_app_may_match(const struct in_app_rule *rule,
                                    const struct in_app_subject *subject)
{
    char first = rule->pattern[0];
    return subject->bytes != NULL && (first == '*' || first == subject->bytes[0]);
}

static bool in_app_rule_matches(const struct in_app_rule *rule,
                                const struct in_app_facts *facts)
{
    const struct in_app_subject *subject = &facts->subjects[rule->kind];
    if (!in_app_may_match(rule, subject))
        return false;
    // A namespace matches itself and all within it.
    if (rule->kind == IN_APP_NAMESPACE || rule->kind == IN_APP_RUST)
        return strncmp(subject->bytes, rule->pattern, strlen(rule->pattern)) == 0 &&
               subject->length > strlen(rule->pattern);
    return in_app_matches(rule->pattern, subject->bytes, subject->length);
}

static void in_app_decide(struct in_app_verdict *out, const struct in_app_rule *rule,
                          bool in_app)
{
    out->in_app = in_app;
    out->reports = rule->kind == IN_APP_REPORTS;
    out->starts = rule->kind == IN_APP_STARTS;
    (void)snprintf(out->rule, sizeof(out->rule), "%s%s %.70s", in_app ? "own " : "",
                   in_app_kind_words[rule->kind], rule->pattern);
}

// in_app_build_start reads the first digits of a build ID; false: it has fewer.
static bool in_app_build_start(const char *id, size_t length, uint64_t *out)
{
    char digits[BUILD_DIGITS + 1] = "";
    if (length < BUILD_DIGITS)
        return false;
    memcpy(digits, id, BUILD_DIGITS);
    if (strspn(digits, "0123456789abcdefABCDEF") != BUILD_DIGITS)
        return false;
    *out = strtoull(digits, NULL, 16);
    return true;
}

static int by_build_start(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

// in_app_builds_match: a program of the distribution is still its own program.
static bool in_app_builds_match(const struct in_app_user_rule *user,
                                const struct in_app_frame *frame)
{
    uint64_t start = 0;
    if (user->rule.kind != IN_APP_BUILDS || frame->build_id == NULL ||
        (frame->executable && !user->in_app) ||
        !in_app_build_start(frame->build_id, strlen(frame->build_id), &start))
        return false;
    return user->builds.count != 0 &&
           bsearch(&start, user->builds.starts, user->builds.count, sizeof(start),
                   by_build_start) != NULL;
}

static bool in_app_find_user_rule(const struct in_app_facts *facts,
                                  struct in_app_verdict *out)
{
    for (size_t i = 0; i < own_user.count; i++) {
        struct in_app_user_rule user = own_user.rules[i];
        bool matches = in_app_rule_matches(&user.rule, facts) ||
                       in_app_builds_match(&user, facts->frame);
        if (!matches && user.any) {
            user.rule.kind = IN_APP_SOURCE;
            matches = in_app_rule_matches(&user.rule, facts);
        }
        if (!matches)
            continue;
        in_app_decide(out, &user.rule, user.in_app);
        out->by_user = true;
        return true;
    }
    return false;
}

// in_app_is_home returns true if the image is the executable, or of its package.
static bool in_app_is_home(const struct in_app_frame *frame)
{
    return frame->executable ||
           (frame->package != NULL && frame->program_package != NULL &&
            strcmp(frame->package, frame->program_package) == 0);
}

// in_app_find_rule is the first rule that matches; package, if there is such, is one.
static const struct in_app_rule *in_app_find_rule(const struct in_app_facts *facts,
                                                  const struct in_app_rule *package)
{
    const bool home = in_app_is_home(facts->frame);
    for (size_t i = 0; i < in_app_rules_count; i++) {
        const struct in_app_rule *rule = &in_app_rules[i];
        if (package != NULL && rule->kind > IN_APP_PACKAGE)
            return package;
        if (!(rule->kind == IN_APP_IMAGE && home) &&
            in_app_may_match(rule, &facts->subjects[rule->kind]) &&
            in_app_rule_matches(rule, facts))
            return rule;
    }
    return NULL;
}

void in_app_judge(const struct in_app_frame *frame, struct in_app_verdict *out)
{
    struct in_app_facts facts;
    CH_CLEANUP(text_deinit) struct text name = { 0 };
    const struct in_app_rule package = { IN_APP_PACKAGE, frame->package };
    const bool foreign = frame->package != NULL && !in_app_is_home(frame);
    *out = (struct in_app_verdict){ .in_app = true };
    in_app_facts_fill(&facts, frame, &name);
    if (in_app_find_user_rule(&facts, out))
        return;
    const struct in_app_rule *rule =
        in_app_find_rule(&facts, foreign ? &package : NULL);
    if (rule != NULL)
        in_app_decide(out, rule, false);
}

bool in_app_judge_by_user(const struct in_app_frame *frame, struct in_app_verdict *out)
{
    struct in_app_facts facts;
    CH_CLEANUP(text_deinit) struct text name = { 0 };
    if (own_user.count == 0)
        return false;
    in_app_facts_fill(&facts, frame, &name);
    return in_app_find_user_rule(&facts, out);
}

// in_app_word_is compares a word of a name, whose first letter may be a capital.
static bool in_app_word_is(const char *word, size_t length, const char *wanted)
{
    if (strlen(wanted) != length)
        return false;
    return tolower((unsigned char)word[0]) == wanted[0] &&
           memcmp(word + 1, wanted + 1, length - 1) == 0;
}

bool in_app_is_failing(const char *name)
{
    const char *last = scoped_name_last(name);
    const char *at = last;
    while (*at != 0) {
        size_t length = 1;
        if (!isalpha((unsigned char)*at)) {
            at++;
            continue;
        }
        while (islower((unsigned char)at[length]))
            length++;
        for (size_t i = 0; in_app_failing_words[i] != NULL; i++) {
            const char *word = in_app_failing_words[i];
            // What begins with "throw" throws; what ends with it may not.
            if (in_app_word_is(at, length, word) &&
                (at == last ||
                 (strcmp(word, "throw") != 0 && strcmp(word, "raise") != 0)))
                return true;
        }
        at += length;
    }
    return false;
}

// in_app_read_kind takes `image:` and the like off the front of a word.
static bool in_app_read_kind(const char **word, struct in_app_user_rule *rule)
{
    for (int kind = 0; kind < IN_APP_KINDS; kind++) {
        size_t length = strlen(in_app_kind_words[kind]);
        if (kind == IN_APP_RUST || kind == IN_APP_STATIC ||
            strncmp(*word, in_app_kind_words[kind], length) != 0 ||
            (*word)[length] != ':' || (*word)[length + 1] == ':')
            continue;
        rule->rule.kind = (enum in_app_kind)kind;
        *word += length + 1;
        return true;
    }
    return false;
}

static bool in_app_add_build(struct in_app_builds *builds, const char *word,
                             size_t length)
{
    uint64_t start;
    if (!in_app_build_start(word, length, &start))
        return true; // a path, a package
    if (!array_reserve(&builds->starts, &builds->capacity, builds->count,
                       sizeof(builds->starts[0])))
        return false;
    builds->starts[builds->count++] = start;
    return true;
}

// in_app_read_line takes the build IDs of a line: all of a field Build-Ids, none of
// another field, and of a line that is no field the first word.
static bool in_app_read_line(struct in_app_builds *builds, const char *line,
                             size_t length)
{
    static const char field[] = "Build-Ids:";
    const char *end = line + length;
    bool all =
        length >= sizeof(field) - 1 && memcmp(line, field, sizeof(field) - 1) == 0;
    const char *word = all ? line + sizeof(field) - 1 : line;
    bool more = true;
    while (more && word < end) {
        size_t size = 0;
        while (word + size < end && !isspace((unsigned char)word[size]))
            size++;
        if (size != 0 && !in_app_add_build(builds, word, size))
            return false;
        more = all || size == 0;
        word += size + 1;
    }
    return true;
}

// in_app_read_builds reads a file that lists builds.
static bool in_app_read_builds(const char *path, struct in_app_builds *out)
{
    CH_CLEANUP(text_deinit) struct text bytes = { 0 };
    CH_CLEANUP(file_close) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct in_app_builds builds = { 0 };
    if (fd < 0 || text_read(&bytes, fd, BUILDS_BYTES) != CH_OK)
        return false;
    for (size_t at = 0; at < bytes.size;) {
        const char *line = bytes.bytes + at;
        const char *end = memchr(line, '\n', bytes.size - at);
        size_t length = end != NULL ? (size_t)(end - line) : bytes.size - at;
        if (!in_app_read_line(&builds, line, length)) {
            free(builds.starts);
            return false;
        }
        at += length + 1;
    }
    if (builds.count != 0)
        qsort(builds.starts, builds.count, sizeof(builds.starts[0]), by_build_start);
    *out = builds;
    return true;
}

// in_app_names_no_kind returns true if a word begins as if it named a kind, and names
// none: `fuction:abort`.
static bool in_app_names_no_kind(const char *word)
{
    const char *colon = strchr(word, ':');
    return colon != NULL && colon[1] != ':' && strchr(word, '/') == NULL;
}

static bool in_app_add_user_rule(const char *word)
{
    struct in_app_user_rule rule = { .in_app = word[0] != '!' };
    word += word[0] == '!';
    size_t length = strlen(word);
    if (!in_app_read_kind(&word, &rule)) {
        if (in_app_names_no_kind(word))
            return false;
        bool space = length > 2 && strcmp(word + length - 2, "::") == 0;
        rule.any = strchr(word, '/') != NULL;
        rule.rule.kind = rule.any ? IN_APP_IMAGE
                         : space  ? IN_APP_NAMESPACE
                                  : IN_APP_FUNCTION;
    }
    size_t size = strlen(word) + 1;
    if (size == 1 || own_user.count == USER_RULES || size > USER_BYTES - own_user.size)
        return false;
    if (rule.rule.kind == IN_APP_BUILDS && !rule.any &&
        !in_app_read_builds(word, &rule.builds))
        return false;
    rule.rule.pattern = memcpy(own_user.bytes + own_user.size, word, size);
    own_user.size += size;
    own_user.rules[own_user.count++] = rule;
    return true;
}

const char *in_app_extend(const char *rules)
{
    static char word[256];
    while (*rules != 0) {
        size_t length = strcspn(rules, " ,\t\n");
        size_t kept = length < sizeof(word) - 1 ? length : sizeof(word) - 1;
        memcpy(word, rules, kept);
        word[kept] = 0;
        if (length != 0 && (kept < length || !in_app_add_user_rule(word)))
            return word;
        rules += length;
        rules += *rules != 0;
    }
    return NULL;
}
