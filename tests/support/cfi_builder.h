// SPDX-License-Identifier: Apache-2.0
//
// Call frame information built byte by byte, for tests that read it: one CIE and FDEs
// of the test's instructions, in .eh_frame's layout, with 8-byte absolute addresses
// unless a test says otherwise.
#pragma once
#include <assert.h>
#include <stdint.h>
#include <string.h>

enum { CFI_BUILDER_BYTES = 4096 };

struct cfi_builder {
    uint8_t bytes[CFI_BUILDER_BYTES];
    size_t size;
    size_t entry; // where the open entry begins
};

static inline void cfi_put(struct cfi_builder *b, const void *bytes, size_t size)
{
    assert(size <= sizeof(b->bytes) - b->size);
    if (size != 0)
        memcpy(b->bytes + b->size, bytes, size);
    b->size += size;
}

static inline void cfi_put_u8(struct cfi_builder *b, uint8_t value)
{
    cfi_put(b, &value, 1);
}

static inline void cfi_put_u32(struct cfi_builder *b, uint32_t value)
{
    cfi_put(b, &value, 4);
}

static inline void cfi_put_u64(struct cfi_builder *b, uint64_t value)
{
    cfi_put(b, &value, 8);
}

// cfi_open begins an entry with its identifying field.
static inline void cfi_open(struct cfi_builder *b, uint32_t id)
{
    b->entry = b->size;
    cfi_put_u32(b, 0);
    cfi_put_u32(b, id);
}

static inline void cfi_close(struct cfi_builder *b)
{
    uint32_t length = (uint32_t)(b->size - b->entry - 4);
    memcpy(b->bytes + b->entry, &length, 4);
}

// cfi_cie appends a CIE for amd64: code in bytes, data in -8, return address in 16.
// The initial rules are CFA = rsp + 8 and the return address below it.
static inline void cfi_cie(struct cfi_builder *b, const char *augmentation,
                           const void *data, size_t data_size)
{
    static const uint8_t initial[] = { 0x0c, 7, 8, 0x90, 1 };
    cfi_open(b, 0);
    cfi_put_u8(b, 1);
    cfi_put(b, augmentation, strlen(augmentation) + 1);
    cfi_put_u8(b, 1);
    cfi_put_u8(b, 0x78);
    cfi_put_u8(b, 16);
    if (augmentation[0] == 'z')
        cfi_put_u8(b, (uint8_t)data_size);
    cfi_put(b, data, data_size);
    cfi_put(b, initial, sizeof(initial));
    cfi_close(b);
}

// cfi_fde appends an FDE of the CIE at offset cie for size bytes of code at start.
static inline void cfi_fde(struct cfi_builder *b, size_t cie, uint64_t start,
                           uint64_t size, const void *instructions, size_t count)
{
    cfi_open(b, (uint32_t)(b->size + 4 - cie));
    cfi_put_u64(b, start);
    cfi_put_u64(b, size);
    cfi_put(b, instructions, count);
    cfi_close(b);
}
