// SPDX-License-Identifier: Apache-2.0
#include "report/spool/spool_prune.h"

#include <stdbool.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "report/file/report_id.h"
#include "report/spool/spool_book.h"
#include "report/spool/spool_counts.h"
#include "report/spool/spool_state.h"

struct prune {
    const struct spool *spool;
    struct spool_caps caps;
    const char *keep_id;
    spool_dropped_fn *dropped;
    void *context;
    uint64_t reports; // in the spool now
    uint64_t bytes;
    uint64_t dropped_count;
};

static bool within_caps(const struct prune *prune)
{
    return prune->reports <= prune->caps.reports && prune->bytes <= prune->caps.bytes;
}

static bool settled(const struct spool *spool, const char *id)
{
    struct spool_state state;
    if (spool_state_read(spool, id, &state) != CH_OK)
        return false;
    bool result = spool_state_settled(&state);
    spool_state_deinit(&state);
    return result;
}

// remove_report deletes the report unless it is kept or locked, and marks its entry.
static void remove_report(struct prune *prune, struct spool_entry *entry, bool sent)
{
    int fd = -1;
    if (prune->keep_id != NULL && strcmp(prune->keep_id, entry->id) == 0)
        return;
    if (spool_lock(prune->spool, entry->id, &fd) != CH_OK)
        return;
    if (settled(prune->spool, entry->id) == sent &&
        spool_remove(prune->spool, entry->id) == CH_OK) {
        prune->reports--;
        prune->bytes -= entry->size;
        prune->dropped_count += !sent;
        if (!sent)
            prune->dropped(prune->context, entry->id);
        entry->id[0] = 0;
    }
    (void)close(fd);
}

// remove_old removes reports that were sent and exceed the age limit.
static void remove_old(struct prune *prune, const struct spool_listing *listing)
{
    uint64_t now_ms = (uint64_t)time(NULL) * 1000;
    for (size_t i = 0; i < listing->count && prune->caps.sent_age_s != 0; i++) {
        uint64_t made_ms = report_id_time_ms(listing->entries[i].id);
        if (made_ms < now_ms && (now_ms - made_ms) / 1000 >= prune->caps.sent_age_s)
            remove_report(prune, &listing->entries[i], true);
    }
}

static void remove_oldest(struct prune *prune, const struct spool_listing *listing,
                          bool sent)
{
    for (size_t i = 0; i < listing->count && !within_caps(prune); i++) {
        if (listing->entries[i].id[0] != 0)
            remove_report(prune, &listing->entries[i], sent);
    }
}

// count_spool counts what the spool holds now.
static enum ch_status count_spool(struct prune *prune, struct spool_listing *out)
{
    enum ch_status status = spool_list(prune->spool, out);
    if (status != CH_OK)
        return status;
    prune->reports = out->count;
    prune->bytes = 0;
    for (size_t i = 0; i < out->count; i++)
        prune->bytes += out->entries[i].size;
    return CH_OK;
}

// prune_alone prunes while no other process does.
static enum ch_status prune_alone(struct prune *prune)
{
    struct spool_book CH_CLEANUP(spool_book_close) lock = { .lock_fd = -1 };
    struct spool_listing CH_CLEANUP(spool_listing_deinit) listing = { 0 };
    enum ch_status status = spool_book_open(prune->spool, "prune", &lock);
    if (status == CH_OK)
        status = count_spool(prune, &listing);
    if (status != CH_OK)
        return status;
    remove_old(prune, &listing);
    remove_oldest(prune, &listing, true);
    remove_oldest(prune, &listing, false);
    if (prune->dropped_count != 0)
        status = spool_counts_add_dropped(prune->spool, prune->dropped_count);
    return status;
}

enum ch_status spool_prune(const struct spool *spool, struct spool_caps caps,
                           const char *keep_id, spool_dropped_fn *dropped,
                           void *context, bool *out_over)
{
    struct spool_listing CH_CLEANUP(spool_listing_deinit) listing = { 0 };
    struct prune prune = { .spool = spool,
                           .caps = caps,
                           .keep_id = keep_id,
                           .dropped = dropped,
                           .context = context };
    enum ch_status status = CH_OK;
    *out_over = false;
    if (spool->drop) // the user that collects from it keeps what it took within limits
        return CH_OK;
    status = count_spool(&prune, &listing);
    if (status == CH_OK && (caps.sent_age_s != 0 || !within_caps(&prune)))
        status = prune_alone(&prune);
    if (status == CH_OK)
        *out_over = !within_caps(&prune);
    return status;
}
