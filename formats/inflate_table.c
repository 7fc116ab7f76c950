// SPDX-License-Identifier: Apache-2.0
#include "formats/inflate_table.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

enum { CODE_BITS_MAX = 15, END_OF_BLOCK = 256 };

// code_order is the symbols of a code in the order of their codes.
struct code_order {
    uint16_t count[CODE_BITS_MAX + 1]; // of symbols with so many bits
    uint16_t symbols[INFLATE_SYMBOLS_MAX];
    unsigned longest;
};

// inflate_meaning is what an entry says of a symbol, but for the bits of its code.
static uint32_t inflate_meaning(enum inflate_alphabet alphabet, unsigned symbol)
{
    static const uint16_t lengths[] = { 3,  4,  5,  6,   7,   8,   9,   10,  11, 13,
                                        15, 17, 19, 23,  27,  31,  35,  43,  51, 59,
                                        67, 83, 99, 115, 131, 163, 195, 227, 258 };
    static const uint8_t length_bits[] = { 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2,
                                           2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0 };
    static const uint16_t distances[] = { 1,    2,    3,    4,     5,     7,
                                          9,    13,   17,   25,    33,    49,
                                          65,   97,   129,  193,   257,   385,
                                          513,  769,  1025, 1537,  2049,  3073,
                                          4097, 6145, 8193, 12289, 16385, 24577 };
    if (alphabet == INFLATE_LENGTHS)
        return symbol << 16;
    if (alphabet == INFLATE_DISTANCES) {
        if (symbol >= sizeof(distances) / sizeof(distances[0]))
            return INFLATE_SPECIAL;
        return (uint32_t)distances[symbol] << 16 | (symbol < 2 ? 0 : symbol / 2 - 1);
    }
    if (symbol < END_OF_BLOCK)
        return INFLATE_LITERAL | symbol << 16;
    if (symbol == END_OF_BLOCK)
        return INFLATE_SPECIAL | INFLATE_END;
    symbol -= END_OF_BLOCK + 1;
    if (symbol >= sizeof(length_bits))
        return INFLATE_SPECIAL;
    return (uint32_t)lengths[symbol] << 16 | length_bits[symbol];
}

// code_order_make sorts symbols by their codes. *out_unused: not all bits have a
// meaning.
static enum ch_status code_order_make(struct code_order *order, const uint8_t *lengths,
                                      unsigned symbols, bool *out_unused)
{
    uint16_t place[CODE_BITS_MAX + 2] = { 0 };
    int left = 1; // codes of so many bits that are free
    *order = (struct code_order){ .longest = 0 };
    for (unsigned i = 0; i < symbols; i++)
        order->count[lengths[i]]++;
    for (unsigned bits = 1; bits <= CODE_BITS_MAX; bits++) {
        left = 2 * left - order->count[bits];
        if (left < 0)
            return CH_ERR_MALFORMED;
        if (order->count[bits] != 0)
            order->longest = bits;
        place[bits + 1] = (uint16_t)(place[bits] + order->count[bits]);
    }
    for (unsigned i = 0; i < symbols; i++)
        if (lengths[i] != 0)
            order->symbols[place[lengths[i]]++] = (uint16_t)i;
    *out_unused = left > 0;
    return CH_OK;
}

// code_after gives the code after one of so many bits. Codes are stored with their
// first bit lowest, so this adds one with the carry going down.
static unsigned code_after(unsigned code, unsigned bits)
{
    unsigned bit = 1u << (bits - 1);
    while ((code & bit) != 0)
        bit >>= 1;
    return bit != 0 ? (code & (bit - 1)) | bit : 0;
}

// further_bits gives the index bits of the table for codes of at least so many bits
// that begin alike: as many as it takes until those to come fill it.
static unsigned further_bits(const struct code_order *order, unsigned bits,
                             unsigned root, unsigned done)
{
    unsigned index = bits - root;
    int left = (1 << index) - (order->count[bits] - (int)done);
    while (left > 0 && index + root < order->longest) {
        index++;
        left = 2 * left - order->count[index + root];
    }
    return index;
}

// spread_entry writes entry at every index of a table that begins with the code.
static void spread_entry(uint32_t *table, unsigned code, unsigned bits, unsigned index,
                         uint32_t entry)
{
    for (unsigned i = code; i < 1u << index; i += 1u << bits)
        table[i] = entry;
}

// filling is a first table and those after it. Longer codes that begin alike follow
// each other, so that one further table is filled at a time.
struct filling {
    uint32_t *table;
    unsigned root;    // index bits of the first
    unsigned entries; // that there is room for
    unsigned prefix;  // index in the first at which the further table is found
    unsigned first;   // where that begins
    unsigned end;     // of all tables
    unsigned index;   // index bits of the further table
};

// fill_begin_further begins the table of codes with the first bits of code, of which
// there are as many as further_bits says.
static enum ch_status fill_begin_further(struct filling *f, unsigned prefix,
                                         unsigned index)
{
    f->prefix = prefix;
    f->index = index;
    f->first = f->end;
    f->end += 1u << index;
    if (f->end > f->entries)
        return CH_ERR_MALFORMED;
    f->table[prefix] =
        f->first << 16 | INFLATE_SPECIAL | INFLATE_FURTHER | index << 8 | f->root;
    return CH_OK;
}

// fill_symbol writes the entry of one symbol, the done'th of those with so many bits.
static enum ch_status fill_symbol(struct filling *f, const struct code_order *order,
                                  uint32_t meaning, unsigned code, unsigned bits,
                                  unsigned done)
{
    unsigned prefix = code & ((1u << f->root) - 1);
    if (bits <= f->root) {
        f->table[code] = meaning + (bits << 8 | bits);
        return CH_OK;
    }
    enum ch_status status = CH_OK;
    if (prefix != f->prefix)
        status =
            fill_begin_further(f, prefix, further_bits(order, bits, f->root, done));
    bits -= f->root;
    if (status == CH_OK)
        spread_entry(f->table + f->first, code >> f->root, bits, f->index,
                     meaning + (bits << 8 | bits));
    return status;
}

// fill_double gives the first table one more index bit: what has been filled repeats,
// as codes of fewer bits do not depend on it.
static void fill_double(struct filling *f, unsigned bits)
{
    size_t half = (size_t)1 << (bits - 1);
    memcpy(f->table + half, f->table, half * sizeof(f->table[0]));
}

// fill_tables writes the entries of all symbols. What has no code is special.
static enum ch_status fill_tables(struct filling *f, enum inflate_alphabet alphabet,
                                  const struct code_order *order)
{
    const uint16_t *symbol = order->symbols;
    unsigned code = 0;
    f->table[0] = INFLATE_SPECIAL;
    for (unsigned bits = 1; bits <= order->longest || bits <= f->root; bits++) {
        if (bits <= f->root)
            fill_double(f, bits);
        for (unsigned i = 0; i < order->count[bits]; i++) {
            enum ch_status status = fill_symbol(
                f, order, inflate_meaning(alphabet, *symbol++), code, bits, i);
            if (status != CH_OK)
                return status;
            code = code_after(code, bits);
        }
    }
    return CH_OK;
}

enum ch_status inflate_table_build(uint32_t *table, enum inflate_alphabet alphabet,
                                   const uint8_t *lengths, unsigned symbols)
{
    static const struct {
        unsigned root;
        unsigned entries;
    } sizes[] = {
        [INFLATE_LITERALS] = { INFLATE_LITERAL_BITS, INFLATE_LITERAL_ENTRIES },
        [INFLATE_DISTANCES] = { INFLATE_DISTANCE_BITS, INFLATE_DISTANCE_ENTRIES },
        [INFLATE_LENGTHS] = { INFLATE_LENGTH_BITS, INFLATE_LENGTH_ENTRIES },
    };
    struct code_order order;
    bool unused;
    enum ch_status status = code_order_make(&order, lengths, symbols, &unused);
    if (status != CH_OK)
        return status;
    if (unused && (alphabet == INFLATE_LENGTHS || order.longest > 1))
        return CH_ERR_MALFORMED;
    struct filling filling = { .table = table,
                               .root = sizes[alphabet].root,
                               .entries = sizes[alphabet].entries,
                               .prefix = UINT32_MAX,
                               .end = 1u << sizes[alphabet].root };
    return fill_tables(&filling, alphabet, &order);
}
