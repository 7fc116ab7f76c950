// SPDX-License-Identifier: Apache-2.0
#include "collector/requests/receivers.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/server/rate.h"
#include "collector/server/setting_line.h"
#include "report/file/digest.h"

static const char server_word[] = "server=";

enum { FILE_BYTES = 64 << 10, HOUR_MINUTES = 60, DAY_HOURS = 24 };

static const struct setting_flag kinds[] = {
    { "new", RECEIVER_NEW },
    { "regressed", RECEIVER_REGRESSED },
    { "rising", RECEIVER_RISING },
};
enum { KIND_COUNT = sizeof(kinds) / sizeof(kinds[0]) };

// read_minute reads `07:00`.
static bool read_minute(const char *text, int *out)
{
    static const char digits[] = "0123456789";
    if (strspn(text, digits) != 2 || text[2] != ':' || strspn(text + 3, digits) != 2 ||
        text[5] != 0)
        return false;
    int hour = (text[0] - '0') * 10 + text[1] - '0';
    int minute = (text[3] - '0') * 10 + text[4] - '0';
    *out = hour * HOUR_MINUTES + minute;
    return hour < DAY_HOURS && minute < HOUR_MINUTES;
}

// take_setting takes one setting of a receiver, and returns what is wrong with it.
static const char *take_setting(struct receiver *receiver, const char *key,
                                const char *value)
{
    if (strcmp(key, "on") == 0)
        return setting_flags_read(value, kinds, KIND_COUNT, &receiver->kinds)
                   ? NULL
                   : "on= takes new, regressed and rising, with commas";
    if (strcmp(key, "digest") == 0)
        return read_minute(value, &receiver->digest_minute)
                   ? NULL
                   : "digest= takes a time such as 07:00 (UTC)";
    if (strcmp(key, "count") == 0) {
        (void)snprintf(receiver->rule, sizeof(receiver->rule), "%s", value);
        return strlen(value) < sizeof(receiver->rule) &&
                       rate_parse(value, &receiver->limit) == CH_OK
                   ? NULL
                   : "count= takes a number in a time such as 100/1h";
    }
    if (strcmp(key, "project") == 0)
        receiver->project = value;
    else if (strcmp(key, "secret") == 0 && !receiver->mail)
        receiver->secret = value;
    else
        return "there is no such setting";
    return NULL;
}

static const char *take_server_setting(struct message_server *server, const char *key,
                                       const char *value)
{
    if (strcmp(key, "from") == 0)
        server->from = value;
    else if (strcmp(key, "user") == 0)
        server->user = value;
    else if (strcmp(key, "password") == 0)
        server->password = value;
    else
        return "there is no such setting of the server";
    return NULL;
}

// is_address keeps out what could end a header or name a second address.
static bool is_address(const char *text)
{
    const char *at = strchr(text, '@');
    return at != NULL && at != text && at[1] != 0 &&
           strpbrk(text, "<>,;:\"\\()[]") == NULL;
}

static bool is_web_address(const char *text)
{
    return strncmp(text, "https://", 8) == 0 || strncmp(text, "http://", 7) == 0;
}

// take_receiver takes a line that begins with a URL or an address.
static const char *take_receiver(struct receivers *receivers,
                                 const struct setting_line *line, bool mail)
{
    char sum[SHA256_HEX_SIZE];
    if (mail ? !is_address(line->word) : !is_web_address(line->word))
        return mail ? "the line does not begin with an address or server="
                    : "the line does not begin with http:// or https://";
    if (receivers->count == RECEIVERS_MAX)
        return "there are more than 32 receivers";
    struct receiver *receiver = &receivers->list[receivers->count];
    *receiver =
        (struct receiver){ .target = line->word, .mail = mail, .digest_minute = -1 };
    for (size_t i = 0; i < line->count; i++) {
        const char *wrong =
            take_setting(receiver, line->pairs[i].key, line->pairs[i].value);
        if (wrong != NULL)
            return wrong;
    }
    // Without a choice of their own they get what happens seldom.
    if (receiver->kinds == 0 && receiver->rule[0] == 0 && receiver->digest_minute < 0)
        receiver->kinds = RECEIVER_NEW | RECEIVER_REGRESSED;
    sha256_hex(line->word, strlen(line->word), sum);
    memcpy(receiver->id, sum, RECEIVER_ID_SIZE - 1);
    for (size_t i = 0; i < receivers->count; i++) {
        if (strcmp(receivers->list[i].id, receiver->id) == 0)
            return "this receiver stands in another line too";
    }
    receivers->ids[receivers->count++] = receiver->id;
    return NULL;
}

static const char *take_line(struct receivers *receivers, char *text, bool mail)
{
    struct setting_line line;
    enum ch_status status = setting_line_read(text, &line);
    if (status == CH_ERR_NOT_FOUND)
        return NULL;
    if (status != CH_OK)
        return "the line is not a receiver and key=value, separated by blanks";
    if (!mail || strncmp(line.word, server_word, sizeof(server_word) - 1) != 0)
        return take_receiver(receivers, &line, mail);
    receivers->server.url = line.word + sizeof(server_word) - 1;
    for (size_t i = 0; i < line.count; i++) {
        const char *wrong = take_server_setting(&receivers->server, line.pairs[i].key,
                                                line.pairs[i].value);
        if (wrong != NULL)
            return wrong;
    }
    return NULL;
}

static enum ch_status read_receiver_file(const char *path, bool mail,
                                         struct receivers *out, char *why, size_t size)
{
    struct text *text = &out->files[mail];
    enum ch_status status = setting_file_read(path, FILE_BYTES, text);
    if (status != CH_OK) {
        (void)snprintf(why, size, "cannot read '%.200s': %s", path,
                       status == CH_ERR_LIMIT ? "it is longer than 64 KiB"
                                              : strerror(errno));
        return status;
    }
    int number = 0;
    for (char *at = text->size != 0 ? text->bytes : NULL; at != NULL;) {
        char *end = strchr(at, '\n');
        if (end != NULL)
            *end = 0;
        number++;
        const char *wrong = take_line(out, at, mail);
        if (wrong != NULL) {
            (void)snprintf(why, size, "'%.200s', line %d: %s", path, number, wrong);
            return CH_ERR_MALFORMED;
        }
        at = end != NULL ? end + 1 : NULL;
    }
    return CH_OK;
}

// check_server says what mail lacks.
static const char *check_server(const struct message_server *server)
{
    if (server->url == NULL || (strncmp(server->url, "smtp://", 7) != 0 &&
                                strncmp(server->url, "smtps://", 8) != 0))
        return "a line server=smtp://HOST or smtps://HOST is missing";
    if (server->from == NULL || !is_address(server->from))
        return "from=ADDRESS is missing beside server=";
    if ((server->user == NULL) != (server->password == NULL))
        return "user= and password= come together";
    return NULL;
}

enum ch_status receivers_read(const char *hooks, const char *mail,
                              struct receivers *out, char *why, size_t size)
{
    enum ch_status status = CH_OK;
    *out = (struct receivers){ 0 };
    if (hooks != NULL)
        status = read_receiver_file(hooks, false, out, why, size);
    if (status == CH_OK && mail != NULL)
        status = read_receiver_file(mail, true, out, why, size);
    const char *wrong =
        status == CH_OK && mail != NULL ? check_server(&out->server) : NULL;
    if (wrong != NULL) {
        (void)snprintf(why, size, "'%.200s': %s", mail, wrong);
        status = CH_ERR_MALFORMED;
    }
    if (status != CH_OK)
        receivers_deinit(out);
    return status;
}

void receivers_deinit(struct receivers *receivers)
{
    text_deinit(&receivers->files[0]);
    text_deinit(&receivers->files[1]);
    receivers->count = 0;
}

void receiver_write_name(const struct receiver *receiver, struct text *out)
{
    const char *host = strstr(receiver->target, "://");
    size_t length = strlen(receiver->target);
    if (host != NULL)
        length = (size_t)(host + 3 - receiver->target) + strcspn(host + 3, "/?#");
    text_append(out, receiver->target, length);
    if (length < strlen(receiver->target))
        text_append_string(out, "/\u2026");
}
