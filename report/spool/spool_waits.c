// SPDX-License-Identifier: Apache-2.0
#include "report/spool/spool_waits.h"

#include "report/spool/spool_book.h"

#define BOOK_NAME "waits"

static struct spool_wait read_wait(const json_t *target, const char *key)
{
    const json_t *pair = json_object_get(target, key);
    return (struct spool_wait){
        .noted = json_integer_value(json_array_get(pair, 0)),
        .until = json_integer_value(json_array_get(pair, 1)),
    };
}

static struct spool_waits read_target_wait(const json_t *target)
{
    return (struct spool_waits){ .reports = read_wait(target, "reports"),
                                 .attachments = read_wait(target, "attachments"),
                                 .tables = read_wait(target, "tables") };
}

static json_t *print_target_wait(const struct spool_waits *waits)
{
    return json_pack("{s:[I,I], s:[I,I], s:[I,I]}", "reports",
                     (json_int_t)waits->reports.noted, (json_int_t)waits->reports.until,
                     "attachments", (json_int_t)waits->attachments.noted,
                     (json_int_t)waits->attachments.until, "tables",
                     (json_int_t)waits->tables.noted, (json_int_t)waits->tables.until);
}

struct spool_waits spool_waits_read(const struct spool *spool, const char *url)
{
    json_t *content = spool_book_read(spool, BOOK_NAME);
    const struct spool_waits waits =
        read_target_wait(json_object_get(json_object_get(content, "targets"), url));
    json_decref(content);
    return waits;
}

static bool over(const struct spool_waits *waits, int64_t now)
{
    return spool_wait_over(&waits->reports, now) &&
           spool_wait_over(&waits->attachments, now) &&
           spool_wait_over(&waits->tables, now);
}

static void forget_what_is_over(json_t *targets, int64_t now)
{
    const char *url;
    json_t *target;
    void *next;
    json_object_foreach_safe(targets, next, url, target)
    {
        const struct spool_waits waits = read_target_wait(target);
        if (over(&waits, now))
            (void)json_object_del(targets, url);
    }
}

enum ch_status spool_waits_write(const struct spool *spool, const char *url,
                                 const struct spool_waits *waits, int64_t now)
{
    struct spool_book CH_CLEANUP(spool_book_close) book;
    enum ch_status status = spool_book_open(spool, BOOK_NAME, &book);
    if (status != CH_OK)
        return status;
    if (!json_is_object(json_object_get(book.content, "targets")) &&
        json_object_set_new(book.content, "targets", json_object()) != 0)
        return CH_ERR_NO_MEMORY;
    json_t *targets = json_object_get(book.content, "targets");
    if (json_object_set_new(targets, url, print_target_wait(waits)) != 0)
        return CH_ERR_NO_MEMORY;
    forget_what_is_over(targets, now);
    return spool_book_write(&book);
}
