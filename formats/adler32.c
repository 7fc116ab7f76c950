// SPDX-License-Identifier: Apache-2.0
#include "formats/adler32.h"

#include <stdbool.h>
#include <string.h>

enum {
    ADLER_LANES = 8,
    ADLER_VECTOR = 2 * ADLER_LANES, // bytes
    ADLER_VECTORS = 16,             // whose sums of sums fit into 16 bits
    ADLER_RUN = ADLER_VECTORS * ADLER_VECTOR,
    ADLER_RUNS = 21, // whose sums of sums, with those before, fit into 32 bits
};

// adler_sums are the sums of vectors' even and odd bytes, and the sums of those sums
// after each vector.
struct adler_sums {
    uint32_t __attribute__((vector_size(4 * ADLER_LANES))) bytes[2];
    uint32_t __attribute__((vector_size(4 * ADLER_LANES))) sums[2];
};

// adler32_run adds 16 vectors of 16 bytes, in lanes of 16 bits before those of 32.
static void adler32_run(struct adler_sums *to, const uint8_t *from)
{
    uint16_t __attribute__((vector_size(ADLER_VECTOR))) part;
    uint16_t __attribute__((vector_size(ADLER_VECTOR))) bytes[2] = { { 0 }, { 0 } };
    uint16_t __attribute__((vector_size(ADLER_VECTOR))) sums[2] = { { 0 }, { 0 } };
    for (int i = 0; i < ADLER_VECTORS; i++) {
        memcpy(&part, from + i * ADLER_VECTOR, sizeof(part));
        bytes[0] += part & 0xff;
        bytes[1] += part >> 8;
        sums[0] += bytes[0];
        sums[1] += bytes[1];
    }
    for (int i = 0; i < 2; i++) {
        to->sums[i] += to->bytes[i] * ADLER_VECTORS +
                       __builtin_convertvector(sums[i], __typeof__(to->sums[i]));
        to->bytes[i] += __builtin_convertvector(bytes[i], __typeof__(to->bytes[i]));
    }
}

// adler32_add_runs adds runs: byte i of a vector counts once for each vector from its
// own on, sixteenfold, less i.
static void adler32_add_runs(const uint8_t *from, size_t runs, uint32_t *low,
                             uint32_t *high)
{
    const bool big_endian_host = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
    struct adler_sums all = { { { 0 } }, { { 0 } } };
    for (size_t i = 0; i < runs; i++)
        adler32_run(&all, from + i * ADLER_RUN);
    *high += *low * (uint32_t)(runs * ADLER_RUN);
    for (unsigned i = 0; i < ADLER_VECTOR; i++) {
        unsigned odd = (i % 2) ^ big_endian_host;
        uint32_t sum = all.bytes[odd][i / 2];
        *high += ADLER_VECTOR * all.sums[odd][i / 2] - i * sum;
        *low += sum;
    }
    *low %= ADLER32_BASE;
    *high %= ADLER32_BASE;
}

uint32_t adler32_add(uint32_t sum, const uint8_t *bytes, size_t size)
{
    uint32_t low = sum & 0xffff;
    uint32_t high = sum >> 16;
    while (size >= ADLER_RUN) {
        size_t runs = size / ADLER_RUN < ADLER_RUNS ? size / ADLER_RUN : ADLER_RUNS;
        adler32_add_runs(bytes, runs, &low, &high);
        bytes += runs * ADLER_RUN;
        size -= runs * ADLER_RUN;
    }
    for (; size != 0; size--) {
        low += *bytes++;
        high += low;
    }
    return high % ADLER32_BASE << 16 | low % ADLER32_BASE;
}
