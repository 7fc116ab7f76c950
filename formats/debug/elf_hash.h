// SPDX-License-Identifier: Apache-2.0
//
// The hash table of an image's dynamic symbols (.gnu.hash): it finds a symbol in
// memory, where there are no section headers. The GNU gABI supplement does not describe
// it, nor does docs/formats; this follows what binutils' elflink.c writes and glibc's
// dl-lookup.c reads. 64-bit files only.
//
// The table is in the memory of a crashed process. The caller fetches the few words
// that are needed, one after the other, and limits the number of steps.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

enum { ELF_HASH_HEADER_BYTES = 16, ELF_HASH_SYMBOL_BYTES = 24 };

struct elf_hash_table {
    uint32_t bucket_count;
    uint32_t first_symbol; // symbols before it are not in the table
    uint32_t bloom_words;
};

struct elf_hash_symbol {
    uint32_t name; // offset in the string table
    bool defined;
    uint64_t value;
    uint64_t size;
};

// elf_hash_name is the hash of a symbol's name.
uint32_t elf_hash_name(const char *name);

// elf_hash_read_table reads a table's header. CH_ERR_MALFORMED: it has no buckets.
CH_CHECKED enum ch_status elf_hash_read_table(const void *bytes, size_t size,
                                              bool big_endian,
                                              struct elf_hash_table *out);

// elf_hash_bucket and elf_hash_chain give the offset in the table of the word of a
// hash's bucket, and of that of a symbol's number. A bucket's word is the number of its
// first symbol; a symbol's word is its hash, with the lowest bit set in the last one of
// the bucket.
uint64_t elf_hash_bucket(const struct elf_hash_table *table, uint32_t hash);
uint64_t elf_hash_chain(const struct elf_hash_table *table, uint32_t symbol);

// elf_hash_read_symbol reads an entry of the symbol table.
CH_CHECKED enum ch_status elf_hash_read_symbol(const void *bytes, size_t size,
                                               bool big_endian,
                                               struct elf_hash_symbol *out);
