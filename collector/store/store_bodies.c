// SPDX-License-Identifier: Apache-2.0
#include "collector/store/store_bodies.h"

#include <stdio.h>
#include <string.h>

void store_body_read(const struct sql_row *row, struct store_body_found *found)
{
    const char *name = sql_column_text(row, "segment_name");
    int64_t start = sql_column_number(row, "start");
    int64_t length = sql_column_number(row, "length");
    found->body.encoding = (enum decode_encoding)sql_column_number(row, "encoding");
    if (name[0] == 0) {
        found->body.bytes = sql_column_bytes(row, "bytes", &found->body.size);
        found->away = false;
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
}
