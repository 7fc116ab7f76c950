// SPDX-License-Identifier: Apache-2.0
//
// Input is read here by pointers and not by cursors, eight bytes at a time: the fast
// loop runs while that many are left, and while any symbol's bytes have room.
#include "formats/inflate.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "formats/inflate_table.h"

enum {
    LITERALS_MAX = 286,
    DISTANCES_MAX = 30,
    CODE_LENGTHS = 19,
    END_OF_BLOCK = 256,
    WINDOW = 32 << 10, // how far back a repetition may reach
    MATCH_MAX = 258,
    WORD = 8,
    REFILLED = 56, // bits that are there after a refill: a repetition has 48 at most
    LITERALS_AT_ONCE = 2, // whose codes, found in the first table, have 33 bits at most
    FAST_INPUT = 2 * WORD,
    FAST_ROOM = LITERALS_AT_ONCE + MATCH_MAX + 2 * WORD,
    PIPE_INPUT = 128 << 10,
    PIPE_OUTPUT = 128 << 10,
};

// inflate_bits is the place in the stream. Bits are taken from the low end of held,
// which has count of them; above those may be more of the next byte's. In a stream that
// has ended count may become negative, for bits that were not there.
struct inflate_bits {
    const uint8_t *at;
    const uint8_t *end;
    uint64_t held;
    int count;
};

// An inflater is a stream being decompressed.
struct inflater {
    struct inflate_bits bits;
    uint8_t *begin; // repetitions reach back to here
    uint8_t *done;  // before it, bytes are in the checksum, and were written
    uint8_t *out;
    uint8_t *out_end;
    uint64_t left; // bytes that may be done
    uint32_t sum;
    const struct inflate_pipe *pipe; // NULL: all of the stream and of out is in memory
    uint8_t *input;                  // of pipe
    bool input_ended;
    uint32_t literals[INFLATE_LITERAL_ENTRIES];
    uint32_t distances[INFLATE_DISTANCE_ENTRIES];
};

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
        memcpy(&word, bytes + i * WORD, sizeof(word));
        word = le64toh(word);
        sums[0] += word & even;
        sums[1] += word >> 8 & even;
        sums_of_sums[0] += sums[0];
        sums_of_sums[1] += sums[1];
    }
    *high += *low * (WORDS * WORD);
    for (unsigned i = 0; i < WORD; i++) {
        uint32_t sum = sums[i % 2] >> 16 * (i / 2) & 0xffff;
        *high += WORD * (uint32_t)(sums_of_sums[i % 2] >> 16 * (i / 2) & 0xffff);
        *high -= i * sum;
        *low += sum;
    }
}

// adler32_add continues a checksum (RFC 1950, section 8.2).
static uint32_t adler32_add(uint32_t sum, const uint8_t *bytes, size_t size)
{
    enum { BASE = 65521, RUN = 16 * WORD, RUNS = 43 }; // that many cannot overflow
    uint32_t low = sum & 0xffff;
    uint32_t high = sum >> 16;
    while (size >= RUN) {
        for (int i = 0; i < RUNS && size >= RUN; i++, bytes += RUN, size -= RUN)
            adler32_run(bytes, &low, &high);
        low %= BASE;
        high %= BASE;
    }
    for (; size != 0; size--) {
        low += *bytes++;
        high += low;
    }
    return high % BASE << 16 | low % BASE;
}

// inflate_flush adds what was made to the checksum and, of a pipe, writes it and makes
// room for more after what repetitions may reach.
static enum ch_status inflate_flush(struct inflater *z)
{
    size_t made = (size_t)(z->out - z->done);
    if (made > z->left)
        return CH_ERR_MALFORMED;
    z->left -= made;
    z->sum = adler32_add(z->sum, z->done, made);
    z->done = z->out;
    if (z->pipe == NULL || made == 0)
        return CH_OK;
    if (!z->pipe->write(z->pipe->context, z->out - made, made))
        return CH_ERR_IO;
    size_t kept = (size_t)(z->out - z->begin);
    kept = kept < WINDOW ? kept : WINDOW;
    memmove(z->begin, z->out - kept, kept);
    z->done = z->out = z->begin + kept;
    return CH_OK;
}

// inflate_need_room makes room for a symbol's bytes.
static enum ch_status inflate_need_room(struct inflater *z, size_t size)
{
    if ((size_t)(z->out_end - z->out) >= size)
        return CH_OK;
    return z->pipe != NULL ? inflate_flush(z) : CH_ERR_MALFORMED;
}

// inflate_read reads more of a pipe's stream: at least what the fast loop takes at
// once, in as many pieces as it comes, but at its end.
static void inflate_read(struct inflater *z)
{
    if (z->pipe == NULL || z->input_ended)
        return;
    size_t kept = (size_t)(z->bits.end - z->bits.at);
    memmove(z->input, z->bits.at, kept);
    while (!z->input_ended && kept < FAST_INPUT) {
        size_t got =
            z->pipe->read(z->pipe->context, z->input + kept, PIPE_INPUT - kept);
        z->input_ended = got == 0;
        kept += got;
    }
    z->bits.at = z->input;
    z->bits.end = z->input + kept;
}

// inflate_fill makes as many bits available as a refill does, or what is left of the
// stream: after its end all bits are zeros, and are counted when they are taken.
static void inflate_fill(struct inflater *z)
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

// bits_entry gives the entry of the symbol that comes next. Of bits, no more than those
// that a first table has are taken.
static inline uint32_t bits_entry(struct inflate_bits *b, const uint32_t *table,
                                  unsigned root)
{
    uint32_t entry = table[b->held & ((1u << root) - 1)];
    if ((entry & INFLATE_FURTHER) != 0) {
        bits_drop(b, root);
        entry = table[(entry >> 16) + (b->held & ((1u << (entry >> 8 & 15)) - 1))];
    }
    return entry;
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
static enum ch_status inflate_number(struct inflater *z, unsigned bits, uint32_t *out)
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
static void inflate_align(struct inflater *z)
{
    bits_drop(&z->bits, (unsigned)z->bits.count % 8);
}

// inflate_stored_part copies bytes of a block that is not compressed: as many as are
// there, and have room.
static enum ch_status inflate_stored_part(struct inflater *z, uint32_t *length)
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
static enum ch_status inflate_stored(struct inflater *z)
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

// copy_match repeats bytes of distance before out, words at a time; what it writes
// after the last of them is overwritten.
static inline uint8_t *copy_match(uint8_t *out, unsigned length, unsigned distance)
{
    uint8_t *end = out + length;
    const uint8_t *from = out - distance;
    if (distance >= 2 * WORD) {
        do {
            memcpy(out, from, (size_t)2 * WORD);
            out += 2 * WORD;
            from += 2 * WORD;
        } while (out < end);
        return end;
    }
    unsigned step = distance < WORD ? distance : WORD;
    do {
        uint64_t word; // of which step bytes are right
        memcpy(&word, from, sizeof(word));
        memcpy(out, &word, sizeof(word));
        out += step;
        from += step;
    } while (out < end);
    return end;
}

// match_distance reads the distance of a repetition. CH_ERR_MALFORMED: it is not one,
// or reaches too far back.
static inline enum ch_status match_distance(const struct inflater *z,
                                            struct inflate_bits *b, const uint8_t *out,
                                            unsigned *out_distance)
{
    uint32_t entry = bits_entry(b, z->distances, INFLATE_DISTANCE_BITS);
    unsigned distance = bits_value(b, entry);
    if ((entry & INFLATE_SPECIAL) != 0 || distance > (size_t)(out - z->begin))
        return CH_ERR_MALFORMED;
    *out_distance = distance;
    return CH_OK;
}

// inflate_fast decodes symbols while there are enough of the stream and of room for any
// of them. CH_END: the block has ended.
static enum ch_status inflate_fast(struct inflater *z)
{
    struct inflate_bits b = z->bits;
    uint8_t *out = z->out;
    enum ch_status status = CH_OK;
    while (b.end - b.at >= FAST_INPUT && z->out_end - out >= FAST_ROOM) {
        bits_refill(&b);
        uint32_t entry = bits_entry(&b, z->literals, INFLATE_LITERAL_BITS);
        for (int i = 0; i < LITERALS_AT_ONCE && (entry & INFLATE_LITERAL) != 0; i++) {
            *out++ = (uint8_t)(entry >> 16);
            bits_drop(&b, entry & 63);
            entry = bits_entry(&b, z->literals, INFLATE_LITERAL_BITS);
        }
        if ((entry & INFLATE_LITERAL) != 0) {
            *out++ = (uint8_t)(entry >> 16);
            bits_drop(&b, entry & 63);
            continue;
        }
        unsigned value = bits_value(&b, entry);
        unsigned distance;
        if ((entry & INFLATE_SPECIAL) != 0)
            status = (entry & INFLATE_END) != 0 ? CH_END : CH_ERR_MALFORMED;
        bits_refill(&b);
        if (status == CH_OK)
            status = match_distance(z, &b, out, &distance);
        if (status != CH_OK)
            break;
        out = copy_match(out, value, distance);
    }
    z->bits = b;
    z->out = out;
    return status;
}

// inflate_symbol decodes one symbol anywhere. CH_END: the block has ended.
static enum ch_status inflate_symbol(struct inflater *z)
{
    inflate_fill(z);
    enum ch_status status = inflate_need_room(z, MATCH_MAX);
    if (status == CH_ERR_MALFORMED && z->pipe == NULL)
        status = CH_OK; // less than for any symbol, but perhaps enough for this one
    if (status != CH_OK)
        return status;
    uint32_t entry = bits_entry(&z->bits, z->literals, INFLATE_LITERAL_BITS);
    unsigned value = bits_value(&z->bits, entry);
    unsigned distance = 0;
    if ((entry & INFLATE_LITERAL) == 0 && (entry & INFLATE_SPECIAL) == 0)
        status = match_distance(z, &z->bits, z->out, &distance);
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

static enum ch_status inflate_symbols(struct inflater *z)
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
static enum ch_status inflate_build(struct inflater *z, const uint8_t *lengths,
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

static enum ch_status inflate_fixed(struct inflater *z)
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
static enum ch_status inflate_lengths(struct inflater *z, const uint32_t *table,
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

static enum ch_status inflate_dynamic(struct inflater *z)
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

static enum ch_status inflate_block(struct inflater *z, bool *out_last)
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

// inflate_begin reads the stream's header.
static enum ch_status inflate_begin(struct inflater *z)
{
    enum { DEFLATE = 8, WINDOW_BITS_MAX = 7, HAS_DICTIONARY = 0x20 };
    uint32_t head;
    enum ch_status status = inflate_number(z, 16, &head);
    if (status != CH_OK)
        return status;
    unsigned method = head & 0xff;
    unsigned flags = head >> 8;
    if ((method & 15) != DEFLATE || method >> 4 > WINDOW_BITS_MAX ||
        (method << 8 | flags) % 31 != 0)
        return CH_ERR_MALFORMED;
    return flags & HAS_DICTIONARY ? CH_ERR_UNSUPPORTED : CH_OK;
}

// inflate_finish compares the size, and the checksum after the last block, which begins
// at a whole byte.
static enum ch_status inflate_finish(struct inflater *z)
{
    uint32_t sum;
    enum ch_status status = inflate_flush(z);
    if (status != CH_OK)
        return status;
    inflate_align(z);
    status = inflate_number(z, 32, &sum);
    if (status != CH_OK)
        return status;
    return z->left == 0 && be32toh(htole32(sum)) == z->sum ? CH_OK : CH_ERR_MALFORMED;
}

static enum ch_status inflate_all(struct inflater *z)
{
    bool last = false;
    enum ch_status status = inflate_begin(z);
    while (status == CH_OK && !last)
        status = inflate_block(z, &last);
    return status == CH_OK ? inflate_finish(z) : status;
}

enum ch_status inflate_zlib(struct cursor stream, uint8_t *out, size_t size)
{
    struct inflater z;
    size_t stored = cursor_left(&stream);
    z.bits = (struct inflate_bits){ .at = stream.at,
                                    .end = stored != 0 ? stream.end : stream.at };
    z.begin = z.done = z.out = out;
    z.out_end = out + size;
    z.left = size;
    z.sum = 1;
    z.pipe = NULL;
    return inflate_all(&z);
}

enum ch_status inflate_zlib_pipe(const struct inflate_pipe *pipe, uint64_t size)
{
    struct inflater z;
    uint8_t *buffer = malloc(PIPE_INPUT + WINDOW + PIPE_OUTPUT);
    if (buffer == NULL)
        return CH_ERR_NO_MEMORY;
    z.input = buffer;
    z.input_ended = false;
    z.bits = (struct inflate_bits){ .at = buffer, .end = buffer };
    z.begin = z.done = z.out = buffer + PIPE_INPUT;
    z.out_end = z.begin + WINDOW + PIPE_OUTPUT;
    z.left = size;
    z.sum = 1;
    z.pipe = pipe;
    enum ch_status status = inflate_all(&z);
    free(buffer);
    return status;
}
