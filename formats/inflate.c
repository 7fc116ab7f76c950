// SPDX-License-Identifier: Apache-2.0
#include "formats/inflate.h"

#include <stdbool.h>
#include <string.h>

enum {
    LENGTH_MAX = 15, // bits of a code
    FAST_BITS = 10,  // codes up to this length are found by one lookup
    LITERALS = 288,
    DISTANCES = 32,
    CODE_LENGTHS = 19,
    END_OF_BLOCK = 256,
};

// A code is a canonical Huffman code (RFC 1951, section 3.2.2).
struct code {
    uint16_t fast[1 << FAST_BITS]; // by the next bits: symbol << 4 | length; 0: longer
    uint16_t count[LENGTH_MAX + 1];
    uint16_t symbol[LITERALS]; // in the order of their codes
};

// An inflater is a stream being decompressed. Bits are taken from the low end of held.
struct inflater {
    struct cursor input;
    uint64_t held;
    unsigned held_bits;
    uint8_t *out;
    size_t size;
    size_t used;
    struct code literals;
    struct code distances;
};

// inflate_fill makes 57 bits available, or what is left of the input: after its end all
// bits are zeros, which inflate_drop refuses to pass over.
static void inflate_fill(struct inflater *z)
{
    while (z->held_bits <= 56 && cursor_left(&z->input) != 0) {
        z->held |= (uint64_t)cursor_u8(&z->input) << z->held_bits;
        z->held_bits += 8;
    }
}

// inflate_drop passes over bits; false: the input does not have them.
static bool inflate_drop(struct inflater *z, unsigned bits)
{
    if (bits > z->held_bits)
        return false;
    z->held >>= bits;
    z->held_bits -= bits;
    return true;
}

static enum ch_status inflate_bits(struct inflater *z, unsigned bits, uint32_t *out)
{
    inflate_fill(z);
    uint32_t value = (uint32_t)(z->held & ((UINT64_C(1) << bits) - 1));
    if (!inflate_drop(z, bits))
        return CH_ERR_TRUNCATED;
    *out = value;
    return CH_OK;
}

// reverse_bits reverses the order of a code's bits: codes are stored with their first
// bit in the lowest place.
static unsigned reverse_bits(unsigned code, unsigned bits)
{
    unsigned reversed = 0;
    for (unsigned i = 0; i < bits; i++)
        reversed |= (code >> i & 1) << (bits - 1 - i);
    return reversed;
}

// code_add_fast fills every place of the table that begins with the code's bits.
static void code_add_fast(struct code *code, unsigned symbol, unsigned bits,
                          unsigned value)
{
    if (bits > FAST_BITS)
        return;
    unsigned step = 1u << bits;
    for (unsigned i = reverse_bits(value, bits); i < 1u << FAST_BITS; i += step)
        code->fast[i] = (uint16_t)(symbol << 4 | bits);
}

// code_build makes the code of which symbol i has lengths[i] bits; 0: it is not used.
// CH_ERR_MALFORMED: there are more codes of a length than fit. Codes with unused room,
// such as one of a single distance, are allowed.
static enum ch_status code_build(struct code *code, const uint8_t *lengths,
                                 unsigned symbols)
{
    uint16_t next[LENGTH_MAX + 2] = { 0 };
    uint16_t offset[LENGTH_MAX + 2] = { 0 };
    int left = 1;
    memset(code->fast, 0, sizeof(code->fast));
    memset(code->count, 0, sizeof(code->count));
    for (unsigned i = 0; i < symbols; i++)
        code->count[lengths[i]]++;
    code->count[0] = 0;
    for (unsigned bits = 1; bits <= LENGTH_MAX; bits++) {
        left = 2 * left - code->count[bits];
        if (left < 0)
            return CH_ERR_MALFORMED;
        next[bits + 1] = (uint16_t)((next[bits] + code->count[bits]) << 1);
        offset[bits + 1] = (uint16_t)(offset[bits] + code->count[bits]);
    }
    for (unsigned i = 0; i < symbols; i++) {
        if (lengths[i] == 0)
            continue;
        code->symbol[offset[lengths[i]]++] = (uint16_t)i;
        code_add_fast(code, i, lengths[i], next[lengths[i]]++);
    }
    return CH_OK;
}

// code_read_long reads a symbol bit by bit. Codes of one length are consecutive
// numbers.
static enum ch_status code_read_long(struct inflater *z, const struct code *code,
                                     unsigned *out)
{
    unsigned value = 0;
    unsigned first = 0;
    unsigned index = 0;
    for (unsigned bits = 1; bits <= LENGTH_MAX; bits++) {
        value |= z->held >> (bits - 1) & 1;
        unsigned count = code->count[bits];
        if (value - first < count) {
            *out = code->symbol[index + (value - first)];
            return inflate_drop(z, bits) ? CH_OK : CH_ERR_TRUNCATED;
        }
        index += count;
        first = (first + count) << 1;
        value <<= 1;
    }
    return CH_ERR_MALFORMED;
}

static enum ch_status code_read(struct inflater *z, const struct code *code,
                                unsigned *out)
{
    inflate_fill(z);
    unsigned found = code->fast[z->held & ((1u << FAST_BITS) - 1)];
    if (found == 0)
        return code_read_long(z, code, out);
    *out = found >> 4;
    return inflate_drop(z, found & 15) ? CH_OK : CH_ERR_TRUNCATED;
}

// inflate_stored copies a block that is not compressed; it begins at a whole byte.
static enum ch_status inflate_stored(struct inflater *z)
{
    uint32_t length;
    uint32_t check;
    if (!inflate_drop(z, z->held_bits % 8))
        return CH_ERR_TRUNCATED;
    enum ch_status status = inflate_bits(z, 16, &length);
    if (status == CH_OK)
        status = inflate_bits(z, 16, &check);
    if (status != CH_OK)
        return status;
    if (length != (~check & 0xffff) || length > z->size - z->used)
        return CH_ERR_MALFORMED;
    for (; length != 0 && z->held_bits != 0; length--) {
        z->out[z->used++] = (uint8_t)z->held;
        (void)inflate_drop(z, 8);
    }
    const uint8_t *bytes = cursor_take(&z->input, length);
    if (bytes == NULL)
        return CH_ERR_TRUNCATED;
    memcpy(z->out + z->used, bytes, length);
    z->used += length;
    return CH_OK;
}

// inflate_copy repeats bytes that were written distance bytes ago.
static enum ch_status inflate_copy(struct inflater *z, size_t length, size_t distance)
{
    if (distance > z->used || length > z->size - z->used)
        return CH_ERR_MALFORMED;
    for (; length != 0; length--, z->used++)
        z->out[z->used] = z->out[z->used - distance];
    return CH_OK;
}

// inflate_match reads the rest of a repetition, whose length has this symbol.
static enum ch_status inflate_match(struct inflater *z, unsigned symbol)
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
    unsigned index = symbol - END_OF_BLOCK - 1;
    unsigned distance;
    uint32_t more_length;
    uint32_t more_distance;
    if (index >= sizeof(length_bits))
        return CH_ERR_MALFORMED;
    enum ch_status status = inflate_bits(z, length_bits[index], &more_length);
    if (status == CH_OK)
        status = code_read(z, &z->distances, &distance);
    if (status != CH_OK)
        return status;
    if (distance >= sizeof(distances) / sizeof(distances[0]))
        return CH_ERR_MALFORMED;
    status = inflate_bits(z, distance < 2 ? 0 : distance / 2 - 1, &more_distance);
    if (status != CH_OK)
        return status;
    return inflate_copy(z, lengths[index] + more_length,
                        distances[distance] + more_distance);
}

static enum ch_status inflate_symbols(struct inflater *z)
{
    for (;;) {
        unsigned symbol;
        enum ch_status status = code_read(z, &z->literals, &symbol);
        if (status != CH_OK)
            return status;
        if (symbol == END_OF_BLOCK)
            return CH_OK;
        if (symbol > END_OF_BLOCK)
            status = inflate_match(z, symbol);
        else if (z->used == z->size)
            return CH_ERR_MALFORMED;
        else
            z->out[z->used++] = (uint8_t)symbol;
        if (status != CH_OK)
            return status;
    }
}

static enum ch_status inflate_fixed(struct inflater *z)
{
    uint8_t lengths[LITERALS];
    memset(lengths, 8, 144);
    memset(lengths + 144, 9, 256 - 144);
    memset(lengths + 256, 7, 280 - 256);
    memset(lengths + 280, 8, LITERALS - 280);
    enum ch_status status = code_build(&z->literals, lengths, LITERALS);
    memset(lengths, 5, DISTANCES);
    if (status == CH_OK)
        status = code_build(&z->distances, lengths, DISTANCES);
    return status == CH_OK ? inflate_symbols(z) : status;
}

// inflate_lengths reads count code lengths, which are compressed by the code in
// z->literals: 16 repeats the last one, 17 and 18 are runs of zeros.
static enum ch_status inflate_lengths(struct inflater *z, uint8_t *lengths,
                                      unsigned count)
{
    for (unsigned i = 0; i < count;) {
        static const uint8_t bits[] = { 2, 3, 7 };
        static const uint8_t least[] = { 3, 3, 11 };
        unsigned symbol;
        uint32_t more;
        enum ch_status status = code_read(z, &z->literals, &symbol);
        if (status != CH_OK)
            return status;
        if (symbol < 16) {
            lengths[i++] = (uint8_t)symbol;
            continue;
        }
        if (symbol == 16 && i == 0)
            return CH_ERR_MALFORMED;
        status = inflate_bits(z, bits[symbol - 16], &more);
        if (status != CH_OK)
            return status;
        more += least[symbol - 16];
        if (more > count - i)
            return CH_ERR_MALFORMED;
        memset(lengths + i, symbol == 16 ? lengths[i - 1] : 0, more);
        i += more;
    }
    return CH_OK;
}

static enum ch_status inflate_dynamic(struct inflater *z)
{
    static const uint8_t order[CODE_LENGTHS] = { 16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
                                                 11, 4,  12, 3, 13, 2, 14, 1, 15 };
    uint8_t lengths[LITERALS + DISTANCES] = { 0 };
    uint32_t counts;
    enum ch_status status = inflate_bits(z, 14, &counts);
    if (status != CH_OK)
        return status;
    unsigned literals = 257 + (counts & 31);
    unsigned distances = 1 + (counts >> 5 & 31);
    unsigned codes = 4 + (counts >> 10);
    if (literals > LITERALS - 2)
        return CH_ERR_MALFORMED;
    for (unsigned i = 0; i < codes && status == CH_OK; i++) {
        uint32_t length = 0;
        status = inflate_bits(z, 3, &length);
        lengths[order[i]] = (uint8_t)length;
    }
    if (status == CH_OK)
        status = code_build(&z->literals, lengths, CODE_LENGTHS);
    memset(lengths, 0, sizeof(lengths));
    if (status == CH_OK)
        status = inflate_lengths(z, lengths, literals + distances);
    if (status == CH_OK)
        status = code_build(&z->literals, lengths, literals);
    if (status == CH_OK)
        status = code_build(&z->distances, lengths + literals, distances);
    return status == CH_OK ? inflate_symbols(z) : status;
}

static enum ch_status inflate_block(struct inflater *z, bool *out_last)
{
    uint32_t head;
    enum ch_status status = inflate_bits(z, 3, &head);
    if (status != CH_OK)
        return status;
    *out_last = head & 1;
    switch (head >> 1) {
    case 0:
        return inflate_stored(z);
    case 1:
        return inflate_fixed(z);
    case 2:
        return inflate_dynamic(z);
    default:
        return CH_ERR_MALFORMED;
    }
}

static uint32_t adler32_of(const uint8_t *bytes, size_t size)
{
    enum { BASE = 65521, RUN = 5552 }; // sums over that many bytes cannot overflow
    uint32_t low = 1;
    uint32_t high = 0;
    while (size != 0) {
        size_t run = size < RUN ? size : RUN;
        size -= run;
        for (; run != 0; run--) {
            low += *bytes++;
            high += low;
        }
        low %= BASE;
        high %= BASE;
    }
    return high << 16 | low;
}

// inflate_check compares the checksum after the last block, which begins at a byte.
static enum ch_status inflate_check(struct inflater *z)
{
    uint32_t sum = 0;
    if (z->used != z->size || !inflate_drop(z, z->held_bits % 8))
        return CH_ERR_MALFORMED;
    for (int i = 0; i < 4; i++) {
        uint32_t byte;
        enum ch_status status = inflate_bits(z, 8, &byte);
        if (status != CH_OK)
            return status;
        sum = sum << 8 | byte;
    }
    return sum == adler32_of(z->out, z->size) ? CH_OK : CH_ERR_MALFORMED;
}

enum ch_status inflate_zlib(struct cursor stream, uint8_t *out, size_t size)
{
    enum { DEFLATE = 8, HAS_DICTIONARY = 0x20 };
    struct inflater z = { .input = stream, .out = out, .size = size };
    uint8_t method = cursor_u8(&z.input);
    uint8_t flags = cursor_u8(&z.input);
    bool last = false;
    if (!cursor_ok(&z.input))
        return CH_ERR_TRUNCATED;
    if ((method & 15) != DEFLATE || (method << 8 | flags) % 31 != 0)
        return CH_ERR_MALFORMED;
    if (flags & HAS_DICTIONARY)
        return CH_ERR_UNSUPPORTED;
    while (!last) {
        enum ch_status status = inflate_block(&z, &last);
        if (status != CH_OK)
            return status;
    }
    return inflate_check(&z);
}
