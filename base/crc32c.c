// SPDX-License-Identifier: Apache-2.0
#include "base/crc32c.h"

#include <endian.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#if defined(__aarch64__)
#include <arm_acle.h>
#include <sys/auxv.h>
#elif defined(__x86_64__) && __has_include(<sys/platform/x86.h>)
#include <sys/platform/x86.h>
#define CRC32C_ASKS_LIBC 1
#endif

// The polynomial 0x1edc6f41 with its bits reversed, as bytes are taken from the lowest
// bit on.
#define POLYNOMIAL UINT32_C(0x82f63b78)

enum { WORD_BYTES = 8 };

static uint64_t crc_word(const uint8_t *bytes)
{
    uint64_t word;
    memcpy(&word, bytes, sizeof(word));
    return le64toh(word);
}

// tables[k][b] is the checksum of byte b followed by k bytes of zero, so that eight
// bytes take eight independent look-ups.
static uint32_t tables[WORD_BYTES][256];
static pthread_once_t tables_once = PTHREAD_ONCE_INIT;

static void make_tables(void)
{
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t crc = byte;
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? POLYNOMIAL : 0);
        tables[0][byte] = crc;
    }
    for (int k = 1; k < WORD_BYTES; k++)
        for (int byte = 0; byte < 256; byte++)
            tables[k][byte] =
                tables[k - 1][byte] >> 8 ^ tables[0][tables[k - 1][byte] & 0xff];
}

static uint32_t crc32c_by_tables(uint32_t crc, const uint8_t *bytes, size_t size)
{
    (void)pthread_once(&tables_once, make_tables);
    for (; size >= WORD_BYTES; size -= WORD_BYTES, bytes += WORD_BYTES) {
        uint64_t word = crc_word(bytes) ^ crc;
        crc = 0;
        for (int k = 0; k < WORD_BYTES; k++)
            crc ^= tables[WORD_BYTES - 1 - k][word >> 8 * k & 0xff];
    }
    for (; size > 0; size--)
        crc = crc >> 8 ^ tables[0][(crc ^ *bytes++) & 0xff];
    return crc;
}

#if defined(CRC32C_ASKS_LIBC)

// has_instruction asks the C library: cpuid would be trapped by a hypervisor.
static bool has_instruction(void)
{
    return CPU_FEATURE_ACTIVE(SSE4_2);
}

__attribute__((target("sse4.2"))) static uint32_t
crc32c_by_instruction(uint32_t crc, const uint8_t *bytes, size_t size)
{
    uint64_t word = crc;
    for (; size >= WORD_BYTES; size -= WORD_BYTES, bytes += WORD_BYTES)
        word = __builtin_ia32_crc32di(word, crc_word(bytes));
    for (; size > 0; size--)
        word = __builtin_ia32_crc32qi((uint32_t)word, *bytes++);
    return (uint32_t)word;
}

#elif defined(__aarch64__)

static bool has_instruction(void)
{
    enum { CRC32_CAPABILITY = 1 << 7 }; // HWCAP_CRC32
    return (getauxval(AT_HWCAP) & CRC32_CAPABILITY) != 0;
}

__attribute__((target("+crc"))) static uint32_t
crc32c_by_instruction(uint32_t crc, const uint8_t *bytes, size_t size)
{
    for (; size >= WORD_BYTES; size -= WORD_BYTES, bytes += WORD_BYTES)
        crc = __crc32cd(crc, crc_word(bytes));
    for (; size > 0; size--)
        crc = __crc32cb(crc, *bytes++);
    return crc;
}

#else

static bool has_instruction(void)
{
    return false;
}

static uint32_t crc32c_by_instruction(uint32_t crc, const uint8_t *bytes, size_t size)
{
    return crc32c_by_tables(crc, bytes, size);
}

#endif

uint32_t crc32c(const void *bytes, size_t size)
{
    uint32_t crc = has_instruction() ? crc32c_by_instruction(UINT32_MAX, bytes, size)
                                     : crc32c_by_tables(UINT32_MAX, bytes, size);
    return ~crc;
}

uint32_t crc32c_without_instruction(const void *bytes, size_t size)
{
    return ~crc32c_by_tables(UINT32_MAX, bytes, size);
}
