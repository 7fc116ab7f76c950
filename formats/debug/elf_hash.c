// SPDX-License-Identifier: Apache-2.0
#include "formats/debug/elf_hash.h"

#include "base/cursor.h"

enum { WORD = 4, BLOOM_WORD = 8 };

uint32_t elf_hash_name(const char *name)
{
    uint32_t hash = 5381; // and * 33: Bernstein's hash, as in .gnu.hash
    for (; *name != 0; name++)
        hash = hash * 33 + (unsigned char)*name;
    return hash;
}

enum ch_status elf_hash_read_table(const void *bytes, size_t size, bool big_endian,
                                   struct elf_hash_table *out)
{
    struct elf_hash_table table;
    struct cursor c = cursor_over(bytes, size);
    c.big_endian = big_endian;
    table.bucket_count = cursor_u32(&c);
    table.first_symbol = cursor_u32(&c);
    table.bloom_words = cursor_u32(&c);
    cursor_skip(&c, WORD); // the Bloom filter's shift
    if (!cursor_ok(&c))
        return CH_ERR_TRUNCATED;
    if (table.bucket_count == 0)
        return CH_ERR_MALFORMED;
    *out = table;
    return CH_OK;
}

static uint64_t buckets(const struct elf_hash_table *table)
{
    return ELF_HASH_HEADER_BYTES + (uint64_t)table->bloom_words * BLOOM_WORD;
}

uint64_t elf_hash_bucket(const struct elf_hash_table *table, uint32_t hash)
{
    return buckets(table) + (uint64_t)(hash % table->bucket_count) * WORD;
}

uint64_t elf_hash_chain(const struct elf_hash_table *table, uint32_t symbol)
{
    return buckets(table) + (uint64_t)table->bucket_count * WORD +
           ((uint64_t)symbol - table->first_symbol) * WORD;
}

enum ch_status elf_hash_read_symbol(const void *bytes, size_t size, bool big_endian,
                                    struct elf_hash_symbol *out)
{
    struct elf_hash_symbol symbol;
    struct cursor c = cursor_over(bytes, size);
    c.big_endian = big_endian;
    symbol.name = cursor_u32(&c);
    cursor_skip(&c, 2); // st_info, st_other
    symbol.defined = cursor_u16(&c) != 0;
    symbol.value = cursor_u64(&c);
    symbol.size = cursor_u64(&c);
    if (!cursor_ok(&c))
        return CH_ERR_TRUNCATED;
    *out = symbol;
    return CH_OK;
}
