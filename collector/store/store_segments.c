// SPDX-License-Identifier: Apache-2.0
//
// Packing has three parts: what is to be packed is listed and read, the segment is
// written and read back, and references are committed, in steps that uploads wait for
// one of. None of them holds a connection while it waits for the store of objects.
#include "collector/store/store_segments.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/database/timestamp.h"
#include "collector/store/store_bodies.h"
#include "collector/store/store_internal.h"
#include "report/file/report_id.h"

enum {
    MINUTE_MS = 60000,
    LEASE_MS = MINUTE_MS,  // of the one collector that packs
    SEGMENT_BODIES = 8192, // most in one segment
    BODIES_A_STEP = 128,
    BODIES_A_LOOK = 256, // that one connection reads before others have it
};

// packed_body is a body on its way into a segment.
struct packed_body {
    int64_t report;
    int64_t revision;
    size_t start;
    size_t length;
};

// packing is one segment in the making.
struct packing {
    const struct store_packing *when;
    struct packed_body *bodies;
    size_t count;
    size_t read;  // how many of them were read
    size_t bytes; // of what is listed
    int64_t week;
    int64_t oldest_ms;
    bool full; // or its week is over
    struct text segment;
    char name[OBJECT_NAME_SIZE];
    char sum[SHA256_HEX_SIZE];
    int64_t number; // of its row
    size_t step;    // the first body of the current step
};

static void take_staged(void *context, const struct sql_row *row)
{
    struct packing *packing = context;
    int64_t received_ms = sql_column_number(row, "received");
    int64_t week = received_ms / STORE_WEEK_MS;
    if (packing->count == 0) {
        packing->week = week;
        packing->oldest_ms = received_ms;
    }
    packing->full = packing->full || week != packing->week;
    if (packing->full)
        return;
    packing->bodies[packing->count++] =
        (struct packed_body){ .report = sql_column_number(row, "report"),
                              .revision = sql_column_number(row, "revision") };
    packing->bytes += (size_t)sql_column_number(row, "length");
    packing->full = packing->bytes >= packing->when->segment_bytes ||
                    packing->count == SEGMENT_BODIES;
}

// list_segment lists what goes into the next segment, and returns whether it is time to
// pack it.
static enum ch_status list_segment(struct store *store, struct packing *packing,
                                   bool *out_due)
{
    const struct store_packing *when = packing->when;
    // What came in a minute that is over: less is packed twice when reports are sent
    // again, named or replaced.
    int64_t closed_ms = when->patience_ms < MINUTE_MS
                            ? when->now_ms - when->patience_ms + 1
                            : when->now_ms - when->now_ms % MINUTE_MS;
    struct sql_value values[] = { sql_number(closed_ms), sql_number(SEGMENT_BODIES) };
    packing->count = 0;
    packing->bytes = 0;
    packing->full = false;
    enum ch_status status =
        store_ask(store, STORE_STAGED_LIST, values, 2, take_staged, packing);
    *out_due =
        packing->count != 0 &&
        (packing->full || packing->oldest_ms <= when->now_ms - when->patience_ms);
    return status;
}

// append_staged appends a body that is still there to the segment.
static void append_staged(void *context, const struct sql_row *row)
{
    struct packing *packing = context;
    struct packed_body *body = &packing->bodies[packing->read];
    const void *bytes = sql_column_bytes(row, "bytes", &body->length);
    text_appendf(&packing->segment, "%s %lld %lld %zu\n", sql_column_text(row, "id"),
                 (long long)body->revision,
                 (long long)sql_column_number(row, "encoding"), body->length);
    body->start = packing->segment.size;
    text_append(&packing->segment, bytes, body->length);
    packing->read++;
}

// read_staged_bodies reads bodies from *at on, as many as one connection reads at once.
// Bodies that are gone leave the list.
static enum ch_status read_staged_bodies(struct store *store, struct packing *packing,
                                         size_t *at)
{
    enum ch_status status = CH_OK;
    struct sql *reader = store_borrow(store);
    size_t end = *at + BODIES_A_LOOK;
    for (; status == CH_OK && *at < packing->count && *at < end; ++*at) {
        struct packed_body body = packing->bodies[*at];
        struct sql_value values[] = { sql_number(body.report),
                                      sql_number(body.revision) };
        packing->bodies[packing->read] = body;
        status = sql_ask(reader, STORE_STAGED_READ, values, 2, append_staged, packing);
    }
    store_return(store, reader);
    return status == CH_OK && !text_ok(&packing->segment) ? CH_ERR_NO_MEMORY : status;
}

static enum ch_status fill_segment(struct store *store, struct packing *packing)
{
    enum ch_status status = CH_OK;
    packing->read = 0;
    for (size_t at = 0; status == CH_OK && at < packing->count;)
        status = read_staged_bodies(store, packing, &at);
    packing->count = packing->read;
    return status;
}

// read_back compares what the store of objects holds with what it was given.
static enum ch_status read_back(struct object_store *objects,
                                const struct packing *packing,
                                char why[OBJECT_WHY_SIZE])
{
    char *bytes = NULL;
    size_t size = 0;
    char sum[SHA256_HEX_SIZE] = "";
    FILE *file = open_memstream(&bytes, &size);
    if (file == NULL)
        return CH_ERR_NO_MEMORY;
    enum ch_status status = object_store_get(objects, packing->name, file, why);
    (void)fclose(file);
    if (bytes != NULL)
        sha256_hex(bytes, size, sum);
    free(bytes);
    if (status == CH_OK &&
        (size != packing->segment.size || strcmp(sum, packing->sum) != 0)) {
        (void)snprintf(why, OBJECT_WHY_SIZE, "segment '%.100s' is not what was written",
                       packing->name);
        status = CH_ERR_IO;
    }
    return status == CH_ERR_NOT_FOUND ? CH_ERR_IO : status;
}

// write_segment writes the segment under a name that nobody has.
static enum ch_status write_segment(struct store *store, struct packing *packing,
                                    char error[STORE_ERROR_SIZE])
{
    char why[OBJECT_WHY_SIZE] = "out of memory";
    char random[REPORT_ID_SIZE];
    report_id_make((uint64_t)packing->when->now_ms, random);
    (void)snprintf(packing->name, sizeof(packing->name), "bodies/%s/%lld/%s",
                   store->objects_id, (long long)packing->week, random);
    sha256_hex(packing->segment.bytes, packing->segment.size, packing->sum);
    struct object_source source = { .size = packing->segment.size };
    (void)snprintf(source.sum, sizeof(source.sum), "%s", packing->sum);
    source.file = fmemopen(packing->segment.bytes, packing->segment.size, "r");
    enum ch_status status = CH_ERR_NO_MEMORY;
    if (source.file != NULL) {
        status = object_store_put(store->objects, packing->name, &source, why);
        (void)fclose(source.file);
    }
    if (status == CH_OK)
        status = read_back(store->objects, packing, why);
    if (status != CH_OK)
        (void)snprintf(error, STORE_ERROR_SIZE, "cannot pack bodies: %.200s", why);
    return status;
}

// keep_segment makes the row of the segment. No report refers to it yet.
static enum ch_status keep_segment(struct sql *sql, void *context)
{
    struct packing *packing = context;
    const struct sql_value values[] = {
        sql_text(packing->name),
        sql_number(packing->week),
        sql_number((int64_t)packing->segment.size),
        sql_text(packing->sum),
        sql_number(packing->when->now_ms),
    };
    return sql_ask(sql, STORE_SEGMENT_ADD, values, 5, sql_take_number,
                   &packing->number);
}

// refer_some gives the bodies of one step their references.
static enum ch_status refer_some(struct sql *sql, void *context)
{
    const struct packing *packing = context;
    struct text CH_CLEANUP(text_deinit) list = { 0 };
    for (size_t i = packing->step;
         i < packing->count && i < packing->step + BODIES_A_STEP; i++) {
        const struct packed_body *body = &packing->bodies[i];
        text_appendf(&list, "%s[%lld,%lld,%zu,%zu]", i == packing->step ? "[" : ",",
                     (long long)body->report, (long long)body->revision, body->start,
                     body->length);
    }
    text_append_string(&list, "]");
    if (!text_ok(&list))
        return CH_ERR_NO_MEMORY;
    const struct sql_value values[] = { sql_text(list.bytes),
                                        sql_number(packing->number) };
    return sql_ask(sql, STORE_STAGED_REFER, values, 2, NULL, NULL);
}

static enum ch_status commit_segment(struct store *store, struct packing *packing,
                                     char error[STORE_ERROR_SIZE])
{
    struct store_job keep = { .what = "keep a segment of bodies",
                              .work = keep_segment,
                              .context = packing };
    struct store_job step = { .what = "refer to a segment of bodies",
                              .work = refer_some,
                              .context = packing };
    enum ch_status status = store_transact(store, &keep, error);
    for (packing->step = 0; status == CH_OK && packing->step < packing->count;
         packing->step += BODIES_A_STEP)
        status = store_transact(store, &step, error);
    return status;
}

// leasing is an attempt to be the one collector that packs.
struct leasing {
    const struct store *store;
    int64_t now_ms;
    int64_t until_ms; // 0: another one does
};

static enum ch_status lease_packing(struct sql *sql, void *context)
{
    struct leasing *leasing = context;
    const struct sql_value values[] = { sql_text(leasing->store->objects_owner),
                                        sql_number(leasing->now_ms + LEASE_MS),
                                        sql_number(leasing->now_ms) };
    leasing->until_ms = 0;
    return sql_ask(sql, STORE_OBJECTS_LEASE, values, 3, sql_take_number,
                   &leasing->until_ms);
}

// pack_listed packs what is due, unless somebody else does.
static enum ch_status pack_listed(struct store *store, struct packing *packing,
                                  char error[STORE_ERROR_SIZE])
{
    bool due = false;
    struct leasing leasing = { .store = store, .now_ms = timestamp_now() };
    struct store_job lease = { .what = "begin to pack bodies",
                               .work = lease_packing,
                               .context = &leasing };
    enum ch_status status = store_transact(store, &lease, error);
    if (status == CH_OK && leasing.until_ms == 0)
        packing->count = 0;
    if (status != CH_OK || leasing.until_ms == 0)
        return status;
    // Somebody else may have packed it before the lease was ours.
    (void)snprintf(error, STORE_ERROR_SIZE, "cannot read the bodies to be packed");
    status = list_segment(store, packing, &due);
    if (status == CH_OK && !due)
        packing->count = 0;
    if (status == CH_OK)
        status = fill_segment(store, packing);
    if (status != CH_OK || packing->count == 0)
        return status;
    status = write_segment(store, packing, error);
    return status == CH_OK ? commit_segment(store, packing, error) : status;
}

enum ch_status store_pack(struct store *store, const struct store_packing *when,
                          size_t *out_packed, char error[STORE_ERROR_SIZE])
{
    bool due = false;
    struct packing packing = { .when = when };
    *out_packed = 0;
    if (store->objects == NULL)
        return CH_OK;
    packing.bodies = calloc(SEGMENT_BODIES, sizeof(*packing.bodies));
    enum ch_status status = packing.bodies != NULL ? CH_OK : CH_ERR_NO_MEMORY;
    (void)snprintf(error, STORE_ERROR_SIZE, "cannot list the bodies to be packed");
    if (status == CH_OK)
        status = list_segment(store, &packing, &due);
    if (status == CH_OK && due)
        status = pack_listed(store, &packing, error);
    if (status == CH_OK && due)
        *out_packed = packing.count;
    text_deinit(&packing.segment);
    free(packing.bodies);
    return status;
}

static void take_staged_totals(void *context, const struct sql_row *row)
{
    struct store_staged *staged = context;
    staged->count = sql_column_number(row, "bodies");
    staged->oldest_ms = sql_column_number(row, "oldest");
}

static void take_segment_totals(void *context, const struct sql_row *row)
{
    struct store_staged *staged = context;
    staged->segments = sql_column_number(row, "segments");
    staged->bytes = sql_column_number(row, "bytes");
}

enum ch_status store_staged_of(struct store *store, struct store_staged *out)
{
    *out = (struct store_staged){ 0 };
    enum ch_status status =
        store_ask(store, STORE_STAGED_COUNT, NULL, 0, take_staged_totals, out);
    return status == CH_OK ? store_ask(store, STORE_SEGMENTS_COUNT, NULL, 0,
                                       take_segment_totals, out)
                           : status;
}
