// SPDX-License-Identifier: Apache-2.0
//
// Objects in a store of the S3 protocol (net/s3.h).
#include <stdlib.h>

#include "collector/database/timestamp.h"
#include "collector/objects/object_side.h"
#include "net/s3.h"

_Static_assert((int)S3_WHY_SIZE <= (int)OBJECT_WHY_SIZE, "a sentence fits");

struct object_s3 {
    struct object_side side;
    struct s3 s3;
};

static const struct s3 *s3_of(const struct object_side *side)
{
    return &((const struct object_s3 *)side)->s3;
}

static enum ch_status bucket_put(struct object_side *side, const char *name,
                                 const struct object_source *source, char *why)
{
    return s3_put(s3_of(side), name, source->file, source->size, source->sum, why);
}

static enum ch_status bucket_get(struct object_side *side, const char *name, FILE *to,
                                 char *why)
{
    return s3_get(s3_of(side), name, to, why);
}

static enum ch_status bucket_read(struct object_side *side, const char *name,
                                  uint64_t offset, size_t size, struct text *out,
                                  char *why)
{
    return s3_get_part(s3_of(side), name, offset, size, out, why);
}

static enum ch_status bucket_remove(struct object_side *side, const char *name,
                                    char *why)
{
    return s3_remove(s3_of(side), name, why);
}

// bucket_listing is the function that is called for each object of a listing.
struct bucket_listing {
    object_seen_fn *visit;
    void *context;
};

static void list_object(void *context, const struct s3_object *object)
{
    const struct bucket_listing *listing = context;
    struct object_seen seen = { .name = object->name, .size = object->size };
    // What has no time that can be read is left alone: it is new.
    if (timestamp_read(object->changed, 0, &seen.changed_ms) != CH_OK)
        seen.changed_ms = timestamp_now();
    listing->visit(listing->context, &seen);
}

static enum ch_status bucket_list(struct object_side *side, const char *folder,
                                  object_seen_fn *visit, void *context, char *why)
{
    struct bucket_listing listing = { visit, context };
    return s3_list(s3_of(side), folder, list_object, &listing, why);
}

static void bucket_close(struct object_side *side)
{
    free(side);
}

static const struct object_driver driver = {
    .close = bucket_close,
    .put = bucket_put,
    .get = bucket_get,
    .read = bucket_read,
    .remove = bucket_remove,
    .list = bucket_list,
};

enum ch_status object_s3_open(const char *address, char *why, struct object_side **out)
{
    struct object_s3 *bucket = calloc(1, sizeof(*bucket));
    if (bucket == NULL)
        return CH_ERR_NO_MEMORY;
    bucket->side.driver = &driver;
    enum ch_status status = s3_address_open(address, &bucket->s3, why);
    if (status != CH_OK) {
        free(bucket);
        return status;
    }
    bucket->s3.abandon = &bucket->side.given_up;
    bucket->s3.rest_until_ms = &bucket->side.rest_until_ms;
    *out = &bucket->side;
    return CH_OK;
}
