// SPDX-License-Identifier: Apache-2.0
//
// Input is read here by pointers and not by cursors, eight bytes at a time: the fast
// loop runs while that many are left, and while any symbol's bytes have room.
#include "formats/inflate_stream.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "formats/adler32.h"
#include "formats/inflate_table.h"

enum {
    LITERALS_MAX = 286,
    DISTANCES_MAX = 30,
    CODE_LENGTHS = 19,
    END_OF_BLOCK = 256,
    MATCH_MAX = 258,
    WORD = 8,
    REFILLED = 56, // bits that are there after a refill: a repetition has 48 at most
    LITERALS_AT_ONCE = 2, // whose codes, found in the first table, have 33 bits at most
    FAST_INPUT = 2 * WORD,
    FAST_ROOM = LITERALS_AT_ONCE + MATCH_MAX + 2 * WORD,
    PIPE_INPUT = 128 << 10,
    PIPE_FIRST = 4 << 10, // of which less is read when a place is often left at once
    PIPE_OUTPUT = 128 << 10,
};

// inflate_stream_flush adds what was made to the checksum and, of a pipe, writes it and
// makes room for more after what repetitions may reach.
enum ch_status inflate_stream_flush(struct inflate_stream *z)
{
    size_t made = (size_t)(z->out - z->done);
    if (made > z->left)
        return CH_ERR_MALFORMED;
    z->left -= made;
    z->sum = adler32_add(z->sum, z->done, made);
    z->done = z->out;
    if (!z->passes || made == 0)
        return CH_OK;
    if (!z->pipe->write(z->pipe->context, z->out - made, made))
        return CH_ERR_IO;
    size_t kept = (size_t)(z->out - z->begin);
    kept = kept < INFLATE_WINDOW ? kept : INFLATE_WINDOW;
    memmove(z->begin, z->out - kept, kept);
    z->done = z->out = z->begin + kept;
    return CH_OK;
}

// inflate_need_room makes room for a symbol's bytes.
static enum ch_status inflate_need_room(struct inflate_stream *z, size_t size)
{
    if ((size_t)(z->out_end - z->out) >= size)
        return CH_OK;
    return z->passes ? inflate_stream_flush(z) : CH_ERR_MALFORMED;
}

// inflate_read reads more of a pipe's stream: at least what the fast loop takes at
// once, in as many pieces as it comes, but at its end.
static void inflate_read(struct inflate_stream *z)
{
    if (z->pipe == NULL || z->input_ended)
        return;
    size_t kept = (size_t)(z->bits.end - z->bits.at);
    memmove(z->input, z->bits.at, kept);
    while (!z->input_ended && kept < FAST_INPUT) {
        size_t room = (z->taken == 0 ? PIPE_FIRST : PIPE_INPUT) - kept;
        size_t got = z->pipe->read(z->pipe->context, z->input + kept, room);
        z->input_ended = got == 0;
        z->taken += got;
        kept += got;
    }
    z->bits.at = z->input;
    z->bits.end = z->input + kept;
}

// inflate_fill makes as many bits available as a refill does, or what is left of the
// stream: after its end all bits are zeros, and are counted when they are taken.
static void inflate_fill(struct inflate_stream *z)
{
    if (z->bits.end - z->bits.at < FAST_INPUT)
        inflate_read(z);
    while (z->bits.count < REFILLED && z->bits.at != z->bits.end) {
        z->bits.held |= (uint64_t)*z->bits.at++ << z->bits.count;
        z->bits.count += 8;
    }
}

// bits_refill does so while eight bytes are left. Bits that are there already are
// written again.
static inline void bits_refill(struct inflate_bits *b)
{
    uint64_t word;
    memcpy(&word, b->at, sizeof(word));
    b->held |= le64toh(word) << b->count;
    b->at += (63 - (unsigned)b->count) / 8;
    b->count |= REFILLED;
}

static inline void bits_drop(struct inflate_bits *b, unsigned bits)
{
    b->held >>= bits;
    b->count -= (int)bits;
}

// bits_peek gives the entry of the next bits in a first table.
static inline uint32_t bits_peek(const struct inflate_bits *b, const uint32_t *table,
                                 unsigned root)
{
    return table[b->held & ((1u << root) - 1)];
}

// bits_further gives the entry of the symbol that comes next, of which entry is what
// the first table has.
static inline uint32_t bits_further(struct inflate_bits *b, const uint32_t *table,
                                    unsigned root, uint32_t entry)
{
    if (__builtin_expect((entry & INFLATE_FURTHER) == 0, 1))
        return entry;
    bits_drop(b, root);
    return table[(entry >> 16) + (b->held & ((1u << (entry >> 8 & 15)) - 1))];
}

// bits_entry gives the entry of the symbol that comes next. Of bits, no more than those
// that a first table has are taken.
static inline uint32_t bits_entry(struct inflate_bits *b, const uint32_t *table,
                                  unsigned root)
{
    return bits_further(b, table, root, bits_peek(b, table, root));
}

// bits_value takes a symbol, and the number that follows it, and gives the literal, or
// the length or distance.
static inline unsigned bits_value(struct inflate_bits *b, uint32_t entry)
{
    unsigned bits = entry & 63;
    unsigned number = (unsigned)b->held & ((1u << bits) - 1);
    bits_drop(b, bits);
    return (entry >> 16 & 0x7fff) + (number >> (entry >> 8 & 15));
}

// inflate_number takes a number of 1 to 32 bits.
static enum ch_status inflate_number(struct inflate_stream *z, unsigned bits,
                                     uint32_t *out)
{
    inflate_fill(z);
    uint32_t number = (uint32_t)(z->bits.held & ((UINT64_C(1) << bits) - 1));
    bits_drop(&z->bits, bits);
    if (z->bits.count < 0)
        return CH_ERR_TRUNCATED;
    *out = number;
    return CH_OK;
}

// inflate_align passes over the bits up to a whole byte.
static void inflate_align(struct inflate_stream *z)
{
    bits_drop(&z->bits, (unsigned)z->bits.count % 8);
}

// inflate_stored_part copies bytes of a block that is not compressed: as many as are
// there, and have room.
static enum ch_status inflate_stored_part(struct inflate_stream *z, uint32_t *length)
{
    enum ch_status status = inflate_need_room(z, 1);
    if (status != CH_OK)
        return status;
    if (z->bits.at == z->bits.end)
        inflate_read(z);
    size_t part = (size_t)(z->bits.end - z->bits.at);
    size_t room = (size_t)(z->out_end - z->out);
    part = part < *length ? part : *length;
    part = part < room ? part : room;
    if (part == 0)
        return CH_ERR_TRUNCATED;
    memcpy(z->out, z->bits.at, part);
    z->out += part;
    z->bits.at += part;
    *length -= (uint32_t)part;
    return CH_OK;
}

// inflate_stored copies a block that is not compressed; it begins at a whole byte, and
// some of it may be held already.
static enum ch_status inflate_stored(struct inflate_stream *z)
{
    uint32_t length;
    uint32_t check;
    inflate_align(z);
    enum ch_status status = inflate_number(z, 16, &length);
    if (status == CH_OK)
        status = inflate_number(z, 16, &check);
    if (status == CH_OK && length != (~check & 0xffff))
        status = CH_ERR_MALFORMED;
    for (; status == CH_OK && length != 0 && z->bits.count != 0; length--) {
        status = inflate_need_room(z, 1);
        if (status != CH_OK)
            break;
        *z->out++ = (uint8_t)z->bits.held;
        bits_drop(&z->bits, 8);
    }
    if (z->bits.count == 0)
        z->bits.held = 0; // what is above the bits that count is copied, not taken
    while (status == CH_OK && length != 0)
        status = inflate_stored_part(z, &length);
    return status;
}

static inline void copy_word(uint8_t *to, const uint8_t *from)
{
    uint64_t word;
    memcpy(&word, from, sizeof(word));
    memcpy(to, &word, sizeof(word));
}

// copy_match repeats bytes of distance before out, words at a time; what it writes
// after the last of them is overwritten.
static inline uint8_t *copy_match(uint8_t *out, unsigned length, unsigned distance)
{
    uint8_t *end = out + length;
    const uint8_t *from = out - distance;
    if (__builtin_expect(distance >= WORD, 1)) {
        copy_word(out, from);
        copy_word(out + WORD, from + WORD);
        out += 2 * WORD;
        from += 2 * WORD;
        while (__builtin_expect(out < end, 0)) {
            copy_word(out, from);
            copy_word(out + WORD, from + WORD);
            out += 2 * WORD;
            from += 2 * WORD;
        }
        return end;
    }
    do {
        copy_word(out, from); // of which distance bytes are right
        out += distance;
        from += distance;
    } while (out < end);
    return end;
}

// match_distance reads the distance of a repetition, of which entry is what the first
// table has. CH_ERR_MALFORMED: it is not one, or reaches too far back.
static inline enum ch_status match_distance(const struct inflate_stream *z,
                                            struct inflate_bits *b, const uint8_t *out,
                                            uint32_t entry, unsigned *out_distance)
{
    entry = bits_further(b, z->distances, INFLATE_DISTANCE_BITS, entry);
    unsigned distance = bits_value(b, entry);
    if ((entry & INFLATE_SPECIAL) != 0 || distance > (size_t)(out - z->begin))
        return CH_ERR_MALFORMED;
    *out_distance = distance;
    return CH_OK;
}

// inflate_is_roomy says whether the fast loop can go on.
static inline bool inflate_is_roomy(const struct inflate_stream *z,
                                    const struct inflate_bits *b, const uint8_t *out)
{
    return b->end - b->at >= FAST_INPUT && z->out_end - out >= FAST_ROOM;
}

// fast_literals writes literals whose codes are in the first table, entry being the
// first symbol's, and gives the entry of the symbol after them.
static inline uint32_t fast_literals(const struct inflate_stream *z,
                                     struct inflate_bits *b, uint8_t **out,
                                     uint32_t entry)
{
    for (int i = 0; i < LITERALS_AT_ONCE && (entry & INFLATE_LITERAL) != 0; i++) {
        bits_drop(b, entry & 63);
        *(*out)++ = (uint8_t)(entry >> 16);
        entry = bits_peek(b, z->literals, INFLATE_LITERAL_BITS);
    }
    return entry;
}

// inflate_fast decodes symbols while there are enough of the stream and of room for any
// of them. The entry of the next symbol is looked up before the bytes of one are
// written, and before a refill, which it need not wait for: of REFILLED bits, 33 at
// most are taken by literals and 4 more by the last one's further table, or 42 by two
// literals and a length, or 28 by a distance. CH_END: the block has ended.
static enum ch_status inflate_fast(struct inflate_stream *z)
{
    struct inflate_bits b = z->bits;
    uint8_t *out = z->out;
    enum ch_status status = CH_OK;
    if (!inflate_is_roomy(z, &b, out))
        return CH_OK;
    bits_refill(&b);
    uint32_t entry = bits_peek(&b, z->literals, INFLATE_LITERAL_BITS);
    while (inflate_is_roomy(z, &b, out)) {
        entry = fast_literals(z, &b, &out, entry);
        if ((entry & INFLATE_LITERAL) == 0)
            entry = bits_further(&b, z->literals, INFLATE_LITERAL_BITS, entry);
        if ((entry & INFLATE_LITERAL) != 0) {
            bits_drop(&b, entry & 63);
            *out++ = (uint8_t)(entry >> 16);
            entry = bits_peek(&b, z->literals, INFLATE_LITERAL_BITS);
            bits_refill(&b);
            continue;
        }
        unsigned length = bits_value(&b, entry);
        unsigned distance;
        if (__builtin_expect((entry & INFLATE_SPECIAL) != 0, 0)) {
            status = (entry & INFLATE_END) != 0 ? CH_END : CH_ERR_MALFORMED;
            break;
        }
        entry = bits_peek(&b, z->distances, INFLATE_DISTANCE_BITS);
        bits_refill(&b);
        status = match_distance(z, &b, out, entry, &distance);
        if (__builtin_expect(status != CH_OK, 0))
            break;
        entry = bits_peek(&b, z->literals, INFLATE_LITERAL_BITS);
        bits_refill(&b);
        out = copy_match(out, length, distance);
    }
    z->bits = b;
    z->out = out;
    return status;
}

// inflate_symbol decodes one symbol anywhere. CH_END: the block has ended.
static enum ch_status inflate_symbol(struct inflate_stream *z)
{
    inflate_fill(z);
    enum ch_status status = inflate_need_room(z, MATCH_MAX);
    if (status == CH_ERR_MALFORMED && !z->passes)
        status = CH_OK; // less than for any symbol, but perhaps enough for this one
    if (status != CH_OK)
        return status;
    uint32_t entry = bits_entry(&z->bits, z->literals, INFLATE_LITERAL_BITS);
    unsigned value = bits_value(&z->bits, entry);
    unsigned distance = 0;
    if ((entry & INFLATE_LITERAL) == 0 && (entry & INFLATE_SPECIAL) == 0)
        status = match_distance(
            z, &z->bits, z->out,
            bits_peek(&z->bits, z->distances, INFLATE_DISTANCE_BITS), &distance);
    if (z->bits.count < 0)
        return CH_ERR_TRUNCATED;
    if ((entry & INFLATE_SPECIAL) != 0)
        return (entry & INFLATE_END) != 0 ? CH_END : CH_ERR_MALFORMED;
    size_t room = (size_t)(z->out_end - z->out);
    if (status != CH_OK || room < (distance != 0 ? value : 1))
        return CH_ERR_MALFORMED;
    if (distance == 0)
        *z->out++ = (uint8_t)value;
    for (; distance != 0 && value != 0; value--, z->out++)
        *z->out = *(z->out - distance);
    return CH_OK;
}

static enum ch_status inflate_symbols(struct inflate_stream *z)
{
    enum ch_status status = CH_OK;
    while (status == CH_OK) {
        status = inflate_fast(z);
        if (status == CH_OK)
            status = inflate_symbol(z);
    }
    return status == CH_END ? CH_OK : status;
}

// inflate_build makes the tables of a block. Nothing could end one without a code for
// its end.
static enum ch_status inflate_build(struct inflate_stream *z, const uint8_t *lengths,
                                    unsigned literals, unsigned distances)
{
    if (lengths[END_OF_BLOCK] == 0)
        return CH_ERR_MALFORMED;
    enum ch_status status =
        inflate_table_build(z->literals, INFLATE_LITERALS, lengths, literals);
    if (status != CH_OK)
        return status;
    return inflate_table_build(z->distances, INFLATE_DISTANCES, lengths + literals,
                               distances);
}

static enum ch_status inflate_fixed(struct inflate_stream *z)
{
    enum { LITERALS = 288, DISTANCES = 32 }; // two of each have codes but no meaning
    uint8_t lengths[LITERALS + DISTANCES];
    memset(lengths, 8, 144);
    memset(lengths + 144, 9, 256 - 144);
    memset(lengths + 256, 7, 280 - 256);
    memset(lengths + 280, 8, LITERALS - 280);
    memset(lengths + LITERALS, 5, DISTANCES);
    enum ch_status status = inflate_build(z, lengths, LITERALS, DISTANCES);
    return status == CH_OK ? inflate_symbols(z) : status;
}

// inflate_lengths reads count code lengths: 16 repeats the last one, 17 and 18 are runs
// of zeros.
static enum ch_status inflate_lengths(struct inflate_stream *z, const uint32_t *table,
                                      uint8_t *lengths, unsigned count)
{
    static const uint8_t bits[] = { 2, 3, 7 };
    static const uint8_t least[] = { 3, 3, 11 };
    for (unsigned i = 0; i < count;) {
        uint32_t more;
        inflate_fill(z);
        unsigned symbol =
            bits_value(&z->bits, bits_entry(&z->bits, table, INFLATE_LENGTH_BITS));
        if (z->bits.count < 0)
            return CH_ERR_TRUNCATED;
        if (symbol < 16) {
            lengths[i++] = (uint8_t)symbol;
            continue;
        }
        if (symbol == 16 && i == 0)
            return CH_ERR_MALFORMED;
        enum ch_status status = inflate_number(z, bits[symbol - 16], &more);
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

static enum ch_status inflate_dynamic(struct inflate_stream *z)
{
    static const uint8_t order[CODE_LENGTHS] = { 16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
                                                 11, 4,  12, 3, 13, 2, 14, 1, 15 };
    uint8_t lengths[LITERALS_MAX + DISTANCES_MAX] = { 0 };
    uint32_t counts;
    uint32_t table[INFLATE_LENGTH_ENTRIES];
    enum ch_status status = inflate_number(z, 14, &counts);
    if (status != CH_OK)
        return status;
    unsigned literals = 257 + (counts & 31);
    unsigned distances = 1 + (counts >> 5 & 31);
    unsigned codes = 4 + (counts >> 10);
    if (literals > LITERALS_MAX || distances > DISTANCES_MAX)
        return CH_ERR_MALFORMED;
    for (unsigned i = 0; i < codes && status == CH_OK; i++) {
        uint32_t length = 0;
        status = inflate_number(z, 3, &length);
        lengths[order[i]] = (uint8_t)length;
    }
    if (status == CH_OK)
        status = inflate_table_build(table, INFLATE_LENGTHS, lengths, CODE_LENGTHS);
    memset(lengths, 0, sizeof(lengths));
    if (status == CH_OK)
        status = inflate_lengths(z, table, lengths, literals + distances);
    if (status == CH_OK)
        status = inflate_build(z, lengths, literals, distances);
    return status == CH_OK ? inflate_symbols(z) : status;
}

enum ch_status inflate_stream_block(struct inflate_stream *z, bool *out_last)
{
    uint32_t head;
    enum ch_status status = inflate_number(z, 3, &head);
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

enum ch_status inflate_stream_head(struct inflate_stream *z)
{
    enum { DEFLATE = 8, INFLATE_WINDOW_BITS_MAX = 7, HAS_DICTIONARY = 0x20 };
    uint32_t head;
    enum ch_status status = inflate_number(z, 16, &head);
    if (status != CH_OK)
        return status;
    unsigned method = head & 0xff;
    unsigned flags = head >> 8;
    if ((method & 15) != DEFLATE || method >> 4 > INFLATE_WINDOW_BITS_MAX ||
        (method << 8 | flags) % 31 != 0)
        return CH_ERR_MALFORMED;
    return flags & HAS_DICTIONARY ? CH_ERR_UNSUPPORTED : CH_OK;
}

enum ch_status inflate_stream_check(struct inflate_stream *z)
{
    uint32_t sum;
    enum ch_status status = inflate_stream_flush(z);
    if (status != CH_OK)
        return status;
    inflate_align(z);
    status = inflate_number(z, 32, &sum);
    if (status != CH_OK)
        return status;
    return z->left == 0 && be32toh(htole32(sum)) == z->sum ? CH_OK : CH_ERR_MALFORMED;
}

void inflate_stream_over(struct inflate_stream *z, struct cursor stream, uint8_t *out,
                         size_t size)
{
    size_t stored = cursor_left(&stream);
    z->bits = (struct inflate_bits){ .at = stream.at,
                                     .end = stored != 0 ? stream.end : stream.at };
    z->begin = z->done = z->out = out;
    z->out_end = out + size;
    z->left = size;
    z->sum = 1;
    z->pipe = NULL;
    z->passes = false;
    z->input = NULL;
}

enum ch_status inflate_stream_open(struct inflate_stream *z,
                                   const struct inflate_pipe *pipe)
{
    z->pipe = pipe;
    z->input = malloc(PIPE_INPUT + INFLATE_WINDOW + PIPE_OUTPUT);
    return z->input != NULL ? CH_OK : CH_ERR_NO_MEMORY;
}

void inflate_stream_close(struct inflate_stream *z)
{
    free(z->input);
    z->input = NULL;
}

void inflate_stream_place(struct inflate_stream *z, unsigned bit,
                          struct inflate_window before, uint64_t left)
{
    z->input_ended = false;
    z->taken = 0;
    z->bits = (struct inflate_bits){ .at = z->input, .end = z->input };
    z->begin = z->input + PIPE_INPUT;
    z->out_end = z->begin + INFLATE_WINDOW + PIPE_OUTPUT;
    if (before.size != 0)
        memcpy(z->begin, before.bytes, before.size);
    z->done = z->out = z->begin + before.size;
    z->left = left;
    z->sum = 1;
    z->passes = true;
    inflate_fill(z);
    bits_drop(&z->bits, bit);
}

size_t inflate_stream_keep(struct inflate_stream *z, uint8_t *memory, size_t size)
{
    struct inflate_window before = inflate_stream_window(z);
    memcpy(memory, before.bytes, before.size);
    z->begin = memory;
    z->out_end = memory + size;
    z->done = z->out = memory + before.size;
    z->sum = 1;
    z->passes = false;
    return before.size;
}

uint64_t inflate_stream_bit(const struct inflate_stream *z)
{
    uint64_t bytes = z->taken - (uint64_t)(z->bits.end - z->bits.at);
    return 8 * bytes - (uint64_t)z->bits.count;
}

struct inflate_window inflate_stream_window(const struct inflate_stream *z)
{
    size_t size = (size_t)(z->out - z->begin);
    size = size < INFLATE_WINDOW ? size : INFLATE_WINDOW;
    return (struct inflate_window){ .bytes = z->out - size, .size = size };
}
