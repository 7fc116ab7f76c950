// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/symbolization_memo.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/hex.h"

// PLACES_MAX bounds the memory of a memo.
enum { PLACES_MAX = 1 << 17, IMAGE_KEY_SIZE = 2 * BUILD_ID_MAX + 2 + PATH_MAX };

void symbolization_memo_deinit(struct symbolization_memo *memo)
{
    json_decref(memo->images);
    *memo = (struct symbolization_memo){ 0 };
}

// image_key writes the key of an image. False: the image is not remembered.
static bool image_key(const struct report_image *image, char key[static IMAGE_KEY_SIZE])
{
    key[0] = 0;
    if (image == NULL)
        return true;
    if (image->id.size == 0)
        return false;
    size_t length = 2 * image->id.size;
    hex_encode(image->id.bytes, image->id.size, key);
    return (size_t)snprintf(key + length, IMAGE_KEY_SIZE - length, " %s", image->path) <
           IMAGE_KEY_SIZE - length;
}

json_t *symbolization_memo_image(struct symbolization_memo *memo,
                                 const struct report_image *image)
{
    char key[IMAGE_KEY_SIZE];
    if (memo == NULL || !image_key(image, key))
        return NULL;
    if (memo->images == NULL)
        memo->images = json_object();
    json_t *found = json_object_get(memo->images, key);
    if (found != NULL)
        return found;
    found = json_pack("{s:{}}", "places");
    return json_object_set_new(memo->images, key, found) == 0 ? found : NULL;
}

void symbolization_memo_count(struct symbolization_memo *memo, size_t places)
{
    memo->place_count += places;
    if (memo->place_count <= PLACES_MAX)
        return;
    (void)json_object_clear(memo->images);
    memo->place_count = 0;
}
