// SPDX-License-Identifier: Apache-2.0
//
// Objects in the database, in parts of a megabyte, each stored by a transaction of its
// own: uploads of reports wait for one part at most. What is broken off is a stray.
#include <stdlib.h>
#include <string.h>

#include "collector/database/timestamp.h"
#include "collector/objects/object_side.h"
#include "collector/store/store_internal.h"

enum { ROW_BYTES = 1 << 20 };

struct object_rows {
    struct object_side side;
    struct store *store;
};

static struct store *store_of(struct object_side *side)
{
    return ((struct object_rows *)side)->store;
}

static enum ch_status rows_put(struct object_side *side, const char *name,
                               const struct object_source *source, char *why)
{
    enum ch_status status = CH_OK;
    char *bytes = malloc(ROW_BYTES);
    int64_t part = 0;
    size_t size = 0;
    if (bytes == NULL)
        return CH_ERR_NO_MEMORY;
    for (size_t left = source->size; left != 0 && status == CH_OK; left -= size) {
        size = fread(bytes, 1, left < ROW_BYTES ? left : ROW_BYTES, source->file);
        const struct sql_value values[] = { sql_text(name), sql_number(part++),
                                            sql_bytes(bytes, size),
                                            sql_number(timestamp_now()) };
        const struct store_step step = { STORE_PART_ADD, values, 4, NULL };
        status = size != 0
                     ? store_change(store_of(side), "store an object", &step, 1, why)
                     : CH_ERR_IO;
    }
    free(bytes);
    return status;
}

// rows_reading is what of an object is wanted.
struct rows_reading {
    uint64_t offset; // into the next part
    size_t left;
    FILE *to; // NULL: to text
    struct text *text;
    bool found;
    bool failed;
};

static void take_part(void *context, const struct sql_row *row)
{
    struct rows_reading *reading = context;
    size_t size = 0;
    const char *bytes = sql_column_bytes(row, "bytes", &size);
    reading->found = true;
    if (reading->offset >= size) {
        reading->offset -= size;
        return;
    }
    size -= reading->offset;
    size = size < reading->left ? size : reading->left;
    if (reading->to != NULL)
        reading->failed =
            fwrite(bytes + reading->offset, 1, size, reading->to) != size ||
            reading->failed;
    else
        text_append(reading->text, bytes + reading->offset, size);
    reading->offset = 0;
    reading->left -= size;
}

// read_parts reads part after part, each with a connection of its own.
static enum ch_status read_parts(struct object_side *side, const char *name,
                                 int64_t part, struct rows_reading *reading)
{
    enum ch_status status = CH_OK;
    bool any = false;
    for (bool more = true; more && status == CH_OK && reading->left != 0; part++) {
        const struct sql_value values[] = { sql_text(name), sql_number(part) };
        reading->found = false;
        status =
            store_ask(store_of(side), STORE_PART_READ, values, 2, take_part, reading);
        more = reading->found;
        any = any || more;
    }
    if (status == CH_OK && reading->failed)
        status = CH_ERR_IO;
    return status == CH_OK && !any ? CH_ERR_NOT_FOUND : status;
}

static enum ch_status rows_get(struct object_side *side, const char *name, FILE *to,
                               char *why)
{
    struct rows_reading reading = { .left = SIZE_MAX, .to = to };
    (void)snprintf(why, OBJECT_WHY_SIZE, "cannot read object '%.100s'", name);
    return read_parts(side, name, 0, &reading);
}

static enum ch_status rows_read(struct object_side *side, const char *name,
                                uint64_t offset, size_t size, struct text *out,
                                char *why)
{
    struct rows_reading reading = { .offset = offset % ROW_BYTES,
                                    .left = size,
                                    .text = out };
    (void)snprintf(why, OBJECT_WHY_SIZE, "cannot read object '%.100s'", name);
    enum ch_status status =
        read_parts(side, name, (int64_t)(offset / ROW_BYTES), &reading);
    return status == CH_OK && (reading.left != 0 || !text_ok(out)) ? CH_ERR_IO : status;
}

static enum ch_status rows_remove(struct object_side *side, const char *name, char *why)
{
    const struct sql_value value = sql_text(name);
    const struct store_step step = { STORE_PARTS_REMOVE, &value, 1, NULL };
    return store_change(store_of(side), "remove an object", &step, 1, why);
}

// rows_listing is the visitor of a listing.
struct rows_listing {
    object_seen_fn *visit;
    void *context;
    struct text names; // each with its NUL, size and time
};

// rows_seen is what of an object stands in a listing's text before its name.
struct rows_seen {
    uint64_t size;
    int64_t changed_ms;
};

static void keep_seen(void *context, const struct sql_row *row)
{
    struct rows_listing *listing = context;
    const char *name = sql_column_text(row, "name");
    const struct rows_seen seen = { (uint64_t)sql_column_number(row, "size"),
                                    sql_column_number(row, "added") };
    text_append(&listing->names, &seen, sizeof(seen));
    text_append(&listing->names, name, strlen(name) + 1);
}

static enum ch_status rows_list(struct object_side *side, const char *folder,
                                object_seen_fn *visit, void *context, char *why)
{
    struct rows_listing listing = { .visit = visit, .context = context };
    char end[OBJECT_NAME_SIZE + 2];
    (void)snprintf(end, sizeof(end), "%s0", folder); // '0' comes after '/'
    const struct sql_value values[] = { sql_text(folder), sql_text(end) };
    (void)snprintf(why, OBJECT_WHY_SIZE, "cannot list objects");
    enum ch_status status =
        store_ask(store_of(side), STORE_PARTS_LIST, values, 2, keep_seen, &listing);
    // Visitors may ask the store: they are called when the connection is back.
    for (size_t at = 0; status == CH_OK && at < listing.names.size;) {
        struct rows_seen seen;
        memcpy(&seen, listing.names.bytes + at, sizeof(seen));
        at += sizeof(seen);
        const struct object_seen object = { listing.names.bytes + at, seen.size,
                                            seen.changed_ms };
        at += strlen(object.name) + 1;
        visit(context, &object);
    }
    text_deinit(&listing.names);
    return status;
}

static void rows_close(struct object_side *side)
{
    free(side);
}

static const struct object_driver driver = {
    .close = rows_close,
    .put = rows_put,
    .get = rows_get,
    .read = rows_read,
    .remove = rows_remove,
    .list = rows_list,
};

enum ch_status object_rows_open(struct store *store, struct object_side **out)
{
    struct object_rows *rows = calloc(1, sizeof(*rows));
    if (rows == NULL)
        return CH_ERR_NO_MEMORY;
    rows->side.driver = &driver;
    rows->store = store;
    *out = &rows->side;
    return CH_OK;
}
