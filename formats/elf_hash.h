// SPDX-License-Identifier: Apache-2.0
//
// The hash table of an image's dynamic symbols (.gnu.hash): how a symbol is found in
// memory, where no section header is. docs/formats has no page of it, the GNU gABI
// supplement neither: it is as binutils' elflink.c writes it and glibc's dl-lookup.c
// reads it. 64-bit files.
//
// The table is in a process that crashed; who looks something up fetches the few words
// that are needed, one after the other, and bounds the steps.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

enum { ELF_HASH_HEADER_BYTES = 16, ELF_HASH_SYMBOL_BYTES = 24 };

struct elf_hash_table {
    uint32_t bucket_count;
    uint32_t first_symbol; // those before it are not in the table
    uint32_t bloom_words;
};

struct elf_hash_symbol {
    uint32_t name; // offset in the string table
    bool defined;
    uint64_t value;
};

// elf_hash_name is the hash of a symbol's name.
uint32_t elf_hash_name(const char *name);

// elf_hash_read_table reads a table's header. CH_ERR_MALFORMED: it has no buckets.
CH_CHECKED enum ch_status elf_hash_read_table(const void *bytes, size_t size,
                                              bool big_endian,
                                              struct elf_hash_table *out);

// elf_hash_bucket and elf_hash_chain are where, from the table's start, the word of a
// hash's bucket and that of a symbol's number lie. The word of a bucket is the number
// of its first symbol, that of a symbol its hash; its lowest bit ends the bucket.
uint64_t elf_hash_bucket(const struct elf_hash_table *table, uint32_t hash);
uint64_t elf_hash_chain(const struct elf_hash_table *table, uint32_t symbol);

// elf_hash_read_symbol reads an entry of the symbol table.
CH_CHECKED enum ch_status elf_hash_read_symbol(const void *bytes, size_t size,
                                               bool big_endian,
                                               struct elf_hash_symbol *out);
