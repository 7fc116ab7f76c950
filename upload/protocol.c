// SPDX-License-Identifier: Apache-2.0
#include "upload/protocol.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "report/secrets/sanitize.h"
#include "upload/sentry.h"

enum { TARGETS_MAX = 16 };

// match_url returns the http(s) URL that follows prefix in word, or NULL.
static const char *match_url(const char *word, const char *prefix)
{
    size_t length = strlen(prefix);
    if (strncmp(word, prefix, length) != 0)
        return NULL;
    const char *host = NULL;
    if (strncmp(word + length, "http://", 7) == 0)
        host = word + length + 7;
    else if (strncmp(word + length, "https://", 8) == 0)
        host = word + length + 8;
    return host != NULL && *host != 0 && *host != '/' ? word + length : NULL;
}

static char *without_slash(const char *url)
{
    size_t length = strlen(url);
    while (length > 0 && url[length - 1] == '/')
        length--;
    return strndup(url, length);
}

// masked copies word without user and password.
static char *masked(const char *word)
{
    struct text text = { 0 };
    sanitize_string(word, NULL, &text);
    if (!text_ok(&text))
        text_deinit(&text);
    return text.bytes;
}

static bool is_known_scheme(const struct target_list *list, const char *shown)
{
    for (size_t i = 0; i < list->count; i++) {
        if (strcmp(list->targets[i].shown, shown) == 0)
            return true;
    }
    return false;
}

static void target_deinit(struct target *target)
{
    free(target->url);
    free(target->shown);
    free(target->key);
    free(target->project);
}

static bool plain_word(const char *text)
{
    static const char letters[] = "0123456789abcdefghijklmnopqrstuvwxyz"
                                  "ABCDEFGHIJKLMNOPQRSTUVWXYZ-_.";
    return *text != 0 && text[strspn(text, letters)] == 0;
}

// split_dsn extracts key and project from a DSN's URL:
// SCHEME://KEY[:SECRET]@REST/PROJECT becomes SCHEME://REST. Old DSNs have a secret,
// which no server asks for any more.
static enum ch_status split_dsn(struct target *target)
{
    char *authority = strstr(target->url, "://") + 3;
    char *at = strchr(authority, '@');
    char *slash = strrchr(authority, '/');
    // The last slash, because the server may be below a path.
    if (at == NULL || slash == NULL || slash < at || slash == at + 1)
        return CH_ERR_MALFORMED;
    target->key = strndup(authority, strcspn(authority, ":@"));
    target->project = strdup(slash + 1);
    if (target->key == NULL || target->project == NULL)
        return CH_ERR_NO_MEMORY;
    if (!plain_word(target->key) || !plain_word(target->project))
        return CH_ERR_MALFORMED;
    *slash = 0;
    memmove(authority, at + 1, strlen(at + 1) + 1);
    return CH_OK;
}

// parse_word parses one word; out must be deinited whatever it returns.
// CH_ERR_MALFORMED: the word is not a target.
static enum ch_status parse_word(const char *word, struct target *out)
{
    for (int kind = 0; kind < TARGET_KINDS; kind++) {
        const char *url = match_url(word, protocol_of((enum target_kind)kind)->prefix);
        if (url == NULL)
            continue;
        out->kind = (enum target_kind)kind;
        // A minidump goes to the address itself, where a slash may matter.
        out->url = kind == TARGET_KIND_MINIDUMP ? strdup(url) : without_slash(url);
        if (out->url == NULL)
            return CH_ERR_NO_MEMORY;
        return out->kind == TARGET_KIND_SENTRY ? split_dsn(out) : CH_OK;
    }
    return CH_ERR_MALFORMED;
}

static enum ch_status add_target_word(struct target_list *list, const char *word,
                                      target_refuse_fn *refuse, void *context)
{
    struct target target = { .shown = masked(word) };
    if (target.shown == NULL)
        return CH_ERR_NO_MEMORY;
    enum ch_status status = parse_word(word, &target);
    if (status == CH_OK && list->count < TARGETS_MAX &&
        !is_known_scheme(list, target.shown)) {
        list->targets[list->count++] = target;
        return CH_OK;
    }
    if (status == CH_ERR_MALFORMED || (status == CH_OK && list->count == TARGETS_MAX))
        refuse(context, target.shown);
    target_deinit(&target);
    return status == CH_ERR_NO_MEMORY ? status : CH_OK;
}

enum ch_status target_list_parse(const char *list, target_refuse_fn *refuse,
                                 void *context, struct target_list *out)
{
    struct target_list targets = { .targets =
                                       calloc(TARGETS_MAX, sizeof(struct target)) };
    char *words = strdup(list != NULL ? list : "");
    enum ch_status status =
        words != NULL && targets.targets != NULL ? CH_OK : CH_ERR_NO_MEMORY;
    char *rest = words;

    while (status == CH_OK && rest != NULL) {
        char *word = strsep(&rest, " \t\n");
        if (*word != 0)
            status = add_target_word(&targets, word, refuse, context);
    }
    free(words);
    if (status != CH_OK) {
        target_list_deinit(&targets);
        return status;
    }
    *out = targets;
    return CH_OK;
}

void target_list_deinit(struct target_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        target_deinit(&list->targets[i]);
    free(list->targets);
    *list = (struct target_list){ 0 };
}

static const struct protocol protocols[TARGET_KINDS] = {
    [TARGET_KIND_COLLECTOR] = { .prefix = "",
                                .name = "collector",
                                .words = "error",
                                .send = collector_send,
                                .ask = collector_ask,
                                .refuses_questions = true,
                                .refusal = "id is not a UUID" },
    // Old servers do not know the item that is sent, but say so only after they checked
    // the key.
    [TARGET_KIND_SENTRY] = { .prefix = "sentry+",
                             .name = "Sentry",
                             .words = "detail",
                             .send = sentry_send,
                             .ask = sentry_ask,
                             .takes_questions = true,
                             .refuses_questions = true },
    [TARGET_KIND_OTLP] = { .prefix = "otlp+",
                           .name = "log intake",
                           .words = "message",
                           .send = otlp_send,
                           .ask = otlp_ask,
                           .takes_questions = true },
    [TARGET_KIND_MINIDUMP] = { .prefix = "minidump+",
                               .name = "server of minidumps",
                               .send = minidump_send,
                               .ask = minidump_ask,
                               .takes_questions = true,
                               .refuses_questions = true },
};

const struct protocol *protocol_of(enum target_kind kind)
{
    return &protocols[kind];
}
