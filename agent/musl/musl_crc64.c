// SPDX-License-Identifier: Apache-2.0
//
// liblzma's CRC-64 for the agent built with musl, which links liblzma because libunwind
// does and never decompresses anything. The library's own asks the processor, before
// main, which instructions it has: two cpuid, each of which a hypervisor traps, took 12
// microseconds of every crash (docs/performance.md). This one is slow and asks nothing.
#include <stddef.h>
#include <stdint.h>

uint64_t lzma_crc64(const uint8_t *bytes, size_t size, uint64_t crc);

uint64_t lzma_crc64(const uint8_t *bytes, size_t size, uint64_t crc)
{
    const uint64_t polynomial = UINT64_C(0xc96c5795d7870f42); // of ECMA-182, reflected
    crc = ~crc;
    for (size_t i = 0; i < size; i++) {
        crc ^= bytes[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? polynomial : 0);
    }
    return ~crc;
}
