// SPDX-License-Identifier: Apache-2.0
#include "collector/store/store_bodies.h"

#include <stdio.h>
#include <string.h>

#include "collector/entry/body_prefixes.h"

// expand_body leaves what does not match its prefix as it is, which decode_body
// refuses.
static void expand_body(const struct sql_row *row, struct store_body_found *found)
{
    struct text_part prefix = { 0 };
    const struct text_part compressed = { found->body.bytes, found->body.size };
    prefix.bytes = sql_column_bytes(row, "prefix", &prefix.size);
    text_clear(&found->expanded);
    if (prefix.size == 0 ||
        body_prefix_expand(&compressed, &prefix, &found->expanded) != CH_OK)
        return;
    found->body = (struct store_body){ .bytes = found->expanded.bytes,
                                       .size = found->expanded.size };
}

void store_body_read(const struct sql_row *row, struct store_body_found *found)
{
    const char *name = sql_column_text(row, "segment_name");
    int64_t start = sql_column_number(row, "start");
    int64_t length = sql_column_number(row, "length");
    found->body.encoding = (enum decode_encoding)sql_column_number(row, "encoding");
    if (name[0] == 0) {
        found->body.bytes = sql_column_bytes(row, "bytes", &found->body.size);
        found->away = false;
        expand_body(row, found);
        return;
    }
    bool known = found->away && strcmp(name, found->name) == 0 &&
                 start == found->start && (size_t)length == found->length &&
                 found->fetched.size == found->length && text_ok(&found->fetched);
    found->body.bytes = found->fetched.bytes;
    found->body.size = found->fetched.size;
    found->away = !known;
    (void)snprintf(found->name, sizeof(found->name), "%s", name);
    found->start = start;
    found->length = (size_t)length;
    if (known)
        expand_body(row, found);
}

enum ch_status store_body_fetch(struct store *store, struct store_body_found *found)
{
    char why[OBJECT_WHY_SIZE];
    text_clear(&found->fetched);
    if (store->objects == NULL)
        return CH_ERR_IO;
    return object_store_read(store->objects, found->name, (uint64_t)found->start,
                             found->length, &found->fetched, why);
}

void store_body_found_deinit(struct store_body_found *found)
{
    text_deinit(&found->fetched);
    text_deinit(&found->expanded);
}

#include "collector/entry/body_prefixes.h"