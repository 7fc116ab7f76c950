// SPDX-License-Identifier: Apache-2.0
#include "report/grouping/own.h"

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

// own_builds is a sorted list of build IDs, of each the first BUILD_DIGITS digits: that
// two builds share these does not happen by chance.
struct own_builds {
    uint64_t *starts;
    size_t count;
    size_t capacity;
};

// own_user_rule is a rule of CRASHHOOK_OWN or --own; any: of images and sources.
struct own_user_rule {
    struct own_rule rule;
    struct own_builds builds; // of OWN_BUILDS
    bool own;
    bool any;
};

// The rules of the user are set once at the start of a process and then only read.
static struct {
    struct own_user_rule rules[USER_RULES];
    size_t count;
    char bytes[USER_BYTES];
    size_t size;
} own_user;

static const char *const own_kind_words[OWN_KINDS] = {
    [OWN_REPORTS] = "reports",         [OWN_STARTS] = "starts",
    [OWN_PACKAGE] = "package",         [OWN_BUILD] = "build",
    [OWN_BUILDS] = "builds",           [OWN_IMAGE] = "image",
    [OWN_SOURCE] = "source",           [OWN_NAMESPACE] = "namespace",
    [OWN_RUST] = "namespace",          [OWN_FUNCTION] = "function",
    [OWN_INTERPRETER] = "interpreter",
};

bool own_matches(const char *pattern, const char *text, size_t length)
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

// own_subject is a text that patterns are compared with; bytes is NULL if a frame has
// none.
struct own_subject {
    const char *bytes;
    size_t length;
};

// own_facts is a frame with what the rules of each kind are compared with.
struct own_facts {
    const struct own_frame *frame;
    struct own_subject subjects[OWN_KINDS];
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
static bool is_of_rust(const struct own_frame *frame)
{
    size_t length = frame->file != NULL ? strlen(frame->file) : 0;
    if (frame->raw_name != NULL && is_rust_symbol(frame->raw_name))
        return true;
    if (length > 3)
        return strcmp(frame->file + length - 3, ".rs") == 0;
    return frame->raw_name == NULL || strncmp(frame->raw_name, "_Z", 2) != 0;
}

static struct own_subject own_subject_of(const char *text)
{
    return (struct own_subject){ text, text != NULL ? strlen(text) : 0 };
}

// own_interpreter is the file name of an image, for a frame without a source file.
static const char *own_interpreter(const struct own_frame *frame)
{
    return frame->image != NULL && frame->file == NULL ? file_name(frame->image) : NULL;
}

// own_facts_fill collects what a frame is compared by; name holds its scoped name where
// frame does not.
static void own_facts_fill(struct own_facts *facts, const struct own_frame *frame,
                           struct text *name)
{
    const char *scoped = frame->scoped;
    if (scoped == NULL && frame->function != NULL) {
        scoped_name(frame->function, name);
        scoped = name->size != 0 ? name->bytes : NULL;
    }
    const struct own_subject called = own_subject_of(scoped);
    *facts = (struct own_facts){ .frame = frame };
    facts->subjects[OWN_REPORTS] = called;
    facts->subjects[OWN_STARTS] = called;
    facts->subjects[OWN_PACKAGE] = own_subject_of(frame->package);
    facts->subjects[OWN_BUILD] = own_subject_of(frame->build_id);
    facts->subjects[OWN_IMAGE] = own_subject_of(frame->image);
    facts->subjects[OWN_SOURCE] = own_subject_of(frame->file);
    facts->subjects[OWN_NAMESPACE] = called;
    if (called.bytes != NULL && is_of_rust(frame))
        facts->subjects[OWN_RUST] = called;
    facts->subjects[OWN_FUNCTION] = called;
    facts->subjects[OWN_INTERPRETER] = own_subject_of(own_interpreter(frame));
}

// own_may_match is false for most rules: the text begins with another byte.
static inline bool own_may_match(const struct own_rule *rule,
                                 const struct own_subject *subject)
{
    char first = rule->pattern[0];
    return subject->bytes != NULL && (first == '*' || first == subject->bytes[0]);
}

static bool own_rule_matches(const struct own_rule *rule, const struct own_facts *facts)
{
    const struct own_subject *subject = &facts->subjects[rule->kind];
    if (!own_may_match(rule, subject))
        return false;
    // A namespace matches itself and all within it.
    if (rule->kind == OWN_NAMESPACE || rule->kind == OWN_RUST)
        return strncmp(subject->bytes, rule->pattern, strlen(rule->pattern)) == 0 &&
               subject->length > strlen(rule->pattern);
    return own_matches(rule->pattern, subject->bytes, subject->length);
}

static void own_decide(struct own_verdict *out, const struct own_rule *rule, bool own)
{
    out->own = own;
    out->reports = rule->kind == OWN_REPORTS;
    out->starts = rule->kind == OWN_STARTS;
    (void)snprintf(out->rule, sizeof(out->rule), "%s%s %.70s", own ? "own " : "",
                   own_kind_words[rule->kind], rule->pattern);
}

// own_build_start reads the first digits of a build ID; false: it has fewer.
static bool own_build_start(const char *id, size_t length, uint64_t *out)
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

// own_builds_match: a program of the distribution is still its own program.
static bool own_builds_match(const struct own_user_rule *user,
                             const struct own_frame *frame)
{
    uint64_t start = 0;
    if (user->rule.kind != OWN_BUILDS || frame->build_id == NULL ||
        (frame->executable && !user->own) ||
        !own_build_start(frame->build_id, strlen(frame->build_id), &start))
        return false;
    return user->builds.count != 0 &&
           bsearch(&start, user->builds.starts, user->builds.count, sizeof(start),
                   by_build_start) != NULL;
}

static bool own_find_user_rule(const struct own_facts *facts, struct own_verdict *out)
{
    for (size_t i = 0; i < own_user.count; i++) {
        struct own_user_rule user = own_user.rules[i];
        bool matches = own_rule_matches(&user.rule, facts) ||
                       own_builds_match(&user, facts->frame);
        if (!matches && user.any) {
            user.rule.kind = OWN_SOURCE;
            matches = own_rule_matches(&user.rule, facts);
        }
        if (!matches)
            continue;
        own_decide(out, &user.rule, user.own);
        out->by_user = true;
        return true;
    }
    return false;
}

static bool own_same_package(const struct own_frame *frame)
{
    return frame->package != NULL && frame->program_package != NULL &&
           strcmp(frame->package, frame->program_package) == 0;
}

// own_find_rule is the first rule that matches; package, if there is such, is one.
static const struct own_rule *own_find_rule(const struct own_facts *facts,
                                            const struct own_rule *package)
{
    const bool home = facts->frame->executable || own_same_package(facts->frame);
    for (size_t i = 0; i < own_rules_count; i++) {
        const struct own_rule *rule = &own_rules[i];
        if (package != NULL && rule->kind > OWN_PACKAGE)
            return package;
        if (!(rule->kind == OWN_IMAGE && home) &&
            own_may_match(rule, &facts->subjects[rule->kind]) &&
            own_rule_matches(rule, facts))
            return rule;
    }
    return NULL;
}

void own_judge(const struct own_frame *frame, struct own_verdict *out)
{
    struct own_facts facts;
    CH_CLEANUP(text_deinit) struct text name = { 0 };
    const struct own_rule package = { OWN_PACKAGE, frame->package };
    const bool foreign = frame->package != NULL && !own_same_package(frame);
    *out = (struct own_verdict){ .own = true };
    own_facts_fill(&facts, frame, &name);
    if (own_find_user_rule(&facts, out))
        return;
    const struct own_rule *rule = own_find_rule(&facts, foreign ? &package : NULL);
    if (rule != NULL)
        own_decide(out, rule, false);
}

bool own_judge_by_user(const struct own_frame *frame, struct own_verdict *out)
{
    struct own_facts facts;
    CH_CLEANUP(text_deinit) struct text name = { 0 };
    if (own_user.count == 0)
        return false;
    own_facts_fill(&facts, frame, &name);
    return own_find_user_rule(&facts, out);
}

// own_word_is compares a word of a name, whose first letter may be a capital.
static bool own_word_is(const char *word, size_t length, const char *wanted)
{
    if (strlen(wanted) != length)
        return false;
    return tolower((unsigned char)word[0]) == wanted[0] &&
           memcmp(word + 1, wanted + 1, length - 1) == 0;
}

// own_fails_first is true for a verb that says so at the beginning of a name alone: a
// function that begins with "throw" throws, one that ends with it may not.
static bool own_fails_first(const char *word)
{
    return strcmp(word, "throw") == 0 || strcmp(word, "raise") == 0;
}

bool own_is_failing(const char *name)
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
        for (size_t i = 0; own_failing_words[i] != NULL; i++) {
            if (own_word_is(at, length, own_failing_words[i]) &&
                (at == last || !own_fails_first(own_failing_words[i])))
                return true;
        }
        at += length;
    }
    return false;
}

// own_read_kind takes `image:` and the like off the front of a word.
static bool own_read_kind(const char **word, struct own_user_rule *rule)
{
    for (int kind = 0; kind < OWN_KINDS; kind++) {
        size_t length = strlen(own_kind_words[kind]);
        if (kind == OWN_RUST || strncmp(*word, own_kind_words[kind], length) != 0 ||
            (*word)[length] != ':' || (*word)[length + 1] == ':')
            continue;
        rule->rule.kind = (enum own_kind)kind;
        *word += length + 1;
        return true;
    }
    return false;
}

static bool own_add_build(struct own_builds *builds, const char *word, size_t length)
{
    uint64_t start;
    if (!own_build_start(word, length, &start))
        return true; // a path, a package
    if (!array_reserve(&builds->starts, &builds->capacity, builds->count,
                       sizeof(builds->starts[0])))
        return false;
    builds->starts[builds->count++] = start;
    return true;
}

// own_read_line takes the build IDs of a line: all of a field Build-Ids, none of
// another field, and of a line that is no field the first word.
static bool own_read_line(struct own_builds *builds, const char *line, size_t length)
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
        if (size != 0 && !own_add_build(builds, word, size))
            return false;
        more = all || size == 0;
        word += size + 1;
    }
    return true;
}

// own_read_builds reads a file that lists builds.
static bool own_read_builds(const char *path, struct own_builds *out)
{
    CH_CLEANUP(text_deinit) struct text bytes = { 0 };
    CH_CLEANUP(file_close) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct own_builds builds = { 0 };
    if (fd < 0 || text_read(&bytes, fd, BUILDS_BYTES) != CH_OK)
        return false;
    for (size_t at = 0; at < bytes.size;) {
        const char *line = bytes.bytes + at;
        const char *end = memchr(line, '\n', bytes.size - at);
        size_t length = end != NULL ? (size_t)(end - line) : bytes.size - at;
        if (!own_read_line(&builds, line, length)) {
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

// own_names_no_kind says whether a word begins as if it named a kind, and names none:
// `fuction:abort`.
static bool own_names_no_kind(const char *word)
{
    const char *colon = strchr(word, ':');
    return colon != NULL && colon[1] != ':' && strchr(word, '/') == NULL;
}

static bool own_add_user_rule(const char *word)
{
    struct own_user_rule rule = { .own = word[0] != '!' };
    word += word[0] == '!';
    size_t length = strlen(word);
    if (!own_read_kind(&word, &rule)) {
        if (own_names_no_kind(word))
            return false;
        bool space = length > 2 && strcmp(word + length - 2, "::") == 0;
        rule.any = strchr(word, '/') != NULL;
        rule.rule.kind = rule.any ? OWN_IMAGE : space ? OWN_NAMESPACE : OWN_FUNCTION;
    }
    size_t size = strlen(word) + 1;
    if (size == 1 || own_user.count == USER_RULES || size > USER_BYTES - own_user.size)
        return false;
    if (rule.rule.kind == OWN_BUILDS && !rule.any &&
        !own_read_builds(word, &rule.builds))
        return false;
    rule.rule.pattern = memcpy(own_user.bytes + own_user.size, word, size);
    own_user.size += size;
    own_user.rules[own_user.count++] = rule;
    return true;
}

const char *own_extend(const char *rules)
{
    static char word[256];
    while (*rules != 0) {
        size_t length = strcspn(rules, " ,\t\n");
        size_t kept = length < sizeof(word) - 1 ? length : sizeof(word) - 1;
        memcpy(word, rules, kept);
        word[kept] = 0;
        if (length != 0 && (kept < length || !own_add_user_rule(word)))
            return word;
        rules += length;
        rules += *rules != 0;
    }
    return NULL;
}
