// SPDX-License-Identifier: Apache-2.0
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "fuzz/fuzz.h"
#include "symbolizer/names/inflate_parts.h"

enum { TEXT = 400000, PACKED = TEXT + TEXT / 50 + 1024, OUT = TEXT + 1024, WORDS = 64 };

static uint8_t packed[PACKED];
static uint8_t ours[OUT];
static uint8_t theirs[OUT];
static size_t stored;

static size_t read_packed(void *context, void *to, size_t size, uint64_t at)
{
    (void)context;
    size_t part = at < stored ? stored - at : 0;
    part = part < size ? part : size;
    memcpy(to, packed + at, part);
    return part;
}

static bool write_ours(void *context, const void *from, size_t size, uint64_t at)
{
    const size_t *wanted = context;
    if (at > *wanted || size > *wanted - at)
        abort();
    memcpy(ours + at, from, size);
    return true;
}

static void *work(void *parts)
{
    (void)!inflate_parts_work(parts);
    return NULL;
}

// Makes a stream of words that are replaced one after the other.
static void make_stream(unsigned seed, int level)
{
    uint8_t words[WORDS][8] = { { 0 } };
    uLongf size = PACKED;
    srand(seed);
    for (size_t i = 0; i < TEXT; i += 8) {
        unsigned word = (unsigned)rand() % WORDS;
        if (rand() % 2 == 0)
            words[word][rand() % 8] = (uint8_t)rand();
        memcpy(theirs + i, words[word], 8);
    }
    if (compress2(packed, &size, theirs, TEXT, level) != Z_OK)
        abort();
    stored = size;
}

// Four bytes say how many threads there are, how large parts are, and what the stream
// is; in threes, the others say where it is damaged and how. What is accepted is what
// zlib makes of it.
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    if (size < 4)
        return 0;
    make_stream(bytes[2], bytes[3] % 10);
    for (size_t i = 4; i + 3 <= size; i += 3)
        packed[((size_t)bytes[i] << 16 | (size_t)bytes[i + 1] << 8) % stored] ^=
            bytes[i + 2];
    uLongf made = OUT;
    size_t wanted = TEXT;
    uLong read = stored;
    bool right = uncompress2(theirs, &made, packed, &read) == Z_OK && made == wanted;
    const struct inflate_source source = { read_packed, write_ours, &wanted };
    struct inflate_parts *parts;
    if (inflate_parts_create(&parts, &source, stored, wanted,
                             1000 + 500 * (uint64_t)bytes[1]) != CH_OK)
        abort();
    pthread_t threads[3];
    int count = 0;
    while (count < 1 + bytes[0] % 3 &&
           pthread_create(&threads[count], NULL, work, parts) == 0)
        count++;
    while (count != 0)
        pthread_join(threads[--count], NULL);
    bool accepted = inflate_parts_check(parts) == CH_OK;
    inflate_parts_destroy(parts);
    if (accepted != right || (right && memcmp(ours, theirs, wanted) != 0))
        abort();
    return 0;
}
