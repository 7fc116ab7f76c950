// SPDX-License-Identifier: Apache-2.0
//
// bench_cbf FILE...: the cost and the savings of CBF on recorded stacks. A file has one
// stack per line, as addresses in hex, innermost first; lines that begin with # are
// comments.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "bench/bench_time.h"
#include "formats/interchange/cbf.h"

enum {
    FRAMES_MAX = 1 << 16,
    STACKS_MAX = 1 << 12,
    ENCODED_MAX = FRAMES_MAX * CBF_FRAME_MAX,
    BATCH_FRAMES = 1 << 15, // short, so that other load disturbs few batches
    BATCHES = 301,          // the median of them is reported
};

struct stacks {
    uint64_t addresses[FRAMES_MAX];
    size_t starts[STACKS_MAX + 1]; // index of each stack's first address
    size_t count;
};

static uint8_t encoded[ENCODED_MAX];
static size_t encoded_starts[STACKS_MAX + 1];

// read_stacks reads a file; false: it cannot be read.
static bool read_stacks(const char *path, struct stacks *out)
{
    static char line[1 << 20];
    FILE *file = fopen(path, "r");
    size_t frames = 0;
    out->count = 0;
    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        char *at = line;
        char *end = line;
        if (line[0] == '#')
            continue;
        for (;; at = end) {
            uint64_t address = strtoull(at, &end, 16);
            if (end == at || frames == FRAMES_MAX)
                break;
            out->addresses[frames++] = address;
        }
        out->starts[++out->count] = frames;
    }
    if (file != NULL)
        fclose(file);
    return out->count > 0;
}

static size_t encode_stack(const uint64_t *addresses, size_t count, uint8_t *to)
{
    struct cbf_writer writer;
    enum ch_status status =
        cbf_writer_init(&writer, 64, CBF_SPECIFIED, to, count * CBF_FRAME_MAX + 2);
    for (size_t i = 0; i < count && status == CH_OK; i++)
        status = cbf_write_frame(&writer, i == 0 ? CBF_PC : CBF_RETURN_ADDRESS,
                                 addresses[i]);
    cbf_write_end(&writer);
    return status == CH_OK ? writer.size : 0;
}

static void encode_all(const struct stacks *stacks)
{
    size_t size = 0;
    for (size_t i = 0; i < stacks->count; i++) {
        size_t start = stacks->starts[i];
        size += encode_stack(stacks->addresses + start, stacks->starts[i + 1] - start,
                             encoded + size);
        encoded_starts[i + 1] = size;
    }
}

static uint64_t decode_all(const struct stacks *stacks)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < stacks->count; i++) {
        struct cbf_reader reader;
        struct cbf_frame frame;
        size_t size = encoded_starts[i + 1] - encoded_starts[i];
        enum ch_status status =
            cbf_reader_init(&reader, encoded + encoded_starts[i], size);
        while (status == CH_OK && (status = cbf_next_frame(&reader, &frame)) == CH_OK)
            sum += frame.value * frame.times;
    }
    return sum;
}

static size_t zstd_size(const struct stacks *stacks)
{
    static uint8_t to[ZSTD_COMPRESSBOUND(FRAMES_MAX * 8)];
    size_t size = 0;
    for (size_t i = 0; i < stacks->count; i++) {
        size_t start = stacks->starts[i];
        size += ZSTD_compress(to, sizeof(to), stacks->addresses + start,
                              (stacks->starts[i + 1] - start) * sizeof(uint64_t), 3);
    }
    return size;
}

// measure prints the nanoseconds per frame of encoding or of decoding.
static void measure(const struct stacks *stacks, bool decode)
{
    static volatile uint64_t sink;
    static double ns[BATCHES];
    size_t frames = stacks->starts[stacks->count];
    size_t rounds = BATCH_FRAMES / frames + 1;
    for (size_t batch = 0; batch < BATCHES; batch++) {
        double start = bench_now_ns();
        for (size_t i = 0; i < rounds; i++) {
            if (decode)
                sink = decode_all(stacks);
            else
                encode_all(stacks);
        }
        ns[batch] = (bench_now_ns() - start) / (double)(rounds * frames);
    }
    (void)sink;
    qsort(ns, BATCHES, sizeof(ns[0]), bench_compare_doubles);
    printf("  %s %.1f ns/frame (fastest tenth of batches %.1f)\n",
           decode ? "decode" : "encode", ns[BATCHES / 2], ns[BATCHES / 10]);
}

int main(int argc, char **argv)
{
    static struct stacks stacks;
    for (int i = 1; i < argc; i++) {
        if (!read_stacks(argv[i], &stacks)) {
            fprintf(stderr, "cannot read stacks from '%s'\n", argv[i]);
            return 1;
        }
        double frames = (double)stacks.starts[stacks.count];
        printf("%s: %zu stacks, %.0f frames\n", argv[i], stacks.count, frames);
        measure(&stacks, false);
        measure(&stacks, true);
        uint64_t sum = 0;
        for (size_t k = 0; k < stacks.starts[stacks.count]; k++)
            sum += stacks.addresses[k];
        if (decode_all(&stacks) != sum) {
            fprintf(stderr, "'%s' does not decode to itself\n", argv[i]);
            return 1;
        }
        printf("  bytes/frame: CBF %.2f, zstd -3 of raw addresses %.2f, raw 8\n",
               (double)encoded_starts[stacks.count] / frames,
               (double)zstd_size(&stacks) / frames);
    }
    return 0;
}
