// SPDX-License-Identifier: Apache-2.0
#include "formats/adler32.h"

#include <endian.h>
#include <string.h>

enum { ADLER_WORD = 8 };

// adler32_run adds 16 words of 8 bytes. Even and odd bytes are summed in lanes of 16
// bits, as are the sums after each word: byte i of a word counts once for each word
// from its own on, eightfold, less i.
static void adler32_run(const uint8_t *bytes, uint32_t *low, uint32_t *high)
{
    enum { WORDS = 16 };
    const uint64_t even = UINT64_C(0x00ff00ff00ff00ff);
    uint64_t sums[2] = { 0, 0 };
    uint64_t sums_of_sums[2] = { 0, 0 };
    for (int i = 0; i < WORDS; i++) {
        uint64_t word;
        memcpy(&word, bytes + i * ADLER_WORD, sizeof(word));
        word = le64toh(word);
        sums[0] += word & even;
        sums[1] += word >> 8 & even;
        sums_of_sums[0] += sums[0];
        sums_of_sums[1] += sums[1];
    }
    *high += *low * (WORDS * ADLER_WORD);
    for (unsigned i = 0; i < ADLER_WORD; i++) {
        uint32_t sum = sums[i % 2] >> 16 * (i / 2) & 0xffff;
        *high += ADLER_WORD * (uint32_t)(sums_of_sums[i % 2] >> 16 * (i / 2) & 0xffff);
        *high -= i * sum;
        *low += sum;
    }
}

uint32_t adler32_add(uint32_t sum, const uint8_t *bytes, size_t size)
{
    enum { RUN = 16 * ADLER_WORD, RUNS = 43 }; // that many cannot overflow
    uint32_t low = sum & 0xffff;
    uint32_t high = sum >> 16;
    while (size >= RUN) {
        for (int i = 0; i < RUNS && size >= RUN; i++, bytes += RUN, size -= RUN)
            adler32_run(bytes, &low, &high);
        low %= ADLER32_BASE;
        high %= ADLER32_BASE;
    }
    for (; size != 0; size--) {
        low += *bytes++;
        high += low;
    }
    return high % ADLER32_BASE << 16 | low % ADLER32_BASE;
}
