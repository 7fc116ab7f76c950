// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/names/inflate_parts.h"

#include <endian.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "formats/adler32.h"
#include "formats/inflate_stream.h"

enum {
    SEARCHED = 128 << 10, // bytes for the first block; zlib's have half of it at most
    LOOKED_AT = 16,       // bytes from a bit on
    TRIES_MAX = 300,      // of what looks like a block
    HEAD_MAX = 2 << 20,   // bytes of contents that may depend on what is before
    KEPT_PARTS = 3,       // contents that are decoded ahead, in bytes of a part
};

struct inflate_parts {
    const struct inflate_source *source;
    uint64_t stored;
    uint64_t size;
    uint64_t part_bytes;
    uint64_t count;
    pthread_mutex_t mutex; // of the following, up to sums
    pthread_cond_t turned; // turn or status has changed
    uint64_t next;         // part to be taken
    uint64_t turn;         // part whose beginning is known
    enum ch_status status; // the first failure
    uint64_t sums[2];      // of the contents, as far as they were decoded
    // Where the part whose turn it is begins; only the thread that has it changes this.
    uint64_t bit;
    uint64_t made; // bytes of contents before it
    bool ended;    // there was a last block
    size_t window_size;
    uint8_t window[INFLATE_WINDOW]; // contents before it
};

// A part_end is where one of a thread's decoders reads and writes.
struct part_end {
    const struct inflate_parts *parts;
    uint64_t from;    // byte of the stream that is read next
    uint64_t to;      // byte of the contents that is written next
    uint64_t written; // bytes
    bool dropped;     // contents are not kept
};

// A part_decoder decodes from some bit on.
struct part_decoder {
    struct inflate_stream stream;
    struct inflate_pipe pipe;
    struct part_end end;
    uint64_t origin; // bit of the stream from which its own bits are counted
};

// A part_ahead is the end of a block up to which a part was decoded ahead.
struct part_ahead {
    uint64_t bit;
    size_t size; // of what is kept
    uint32_t sum;
    bool ended;
};

// A part_thread is what a thread works with.
struct part_thread {
    struct inflate_parts *parts;
    struct part_decoder decoders[2];
    uint64_t start;  // bit at which its part seems to begin
    uint64_t head;   // bytes of contents from there that have to be decoded again
    uint8_t *kept;   // contents after those, and the window before them
    size_t kept_max; // bytes of both
    struct part_ahead ahead;
    uint8_t before[INFLATE_WINDOW]; // the window at start
    size_t before_size;
};

static size_t part_read(void *context, void *to, size_t size)
{
    struct part_end *end = context;
    uint64_t left = end->parts->stored - end->from;
    const struct inflate_source *source = end->parts->source;
    size_t part = left < size ? (size_t)left : size;
    size_t got = part != 0 ? source->read_at(source->context, to, part, end->from) : 0;
    end->from += got;
    return got;
}

static bool part_write(void *context, const void *from, size_t size)
{
    struct part_end *end = context;
    const struct inflate_source *source = end->parts->source;
    if (!end->dropped &&
        !source->write_at(source->context, from, size, end->to + end->written))
        return false;
    end->written += size;
    return true;
}

static enum ch_status part_decoder_init(struct part_decoder *d)
{
    d->pipe = (struct inflate_pipe){ part_read, part_write, &d->end };
    return inflate_stream_open(&d->stream, &d->pipe);
}

// part_place has a decoder go on at a bit of the stream, and write at byte to of the
// contents.
static void part_place(struct part_decoder *d, const struct inflate_parts *parts,
                       uint64_t bit, struct inflate_window before, uint64_t to)
{
    d->origin = bit / 8 * 8;
    d->end = (struct part_end){ .parts = parts, .from = bit / 8, .to = to };
    inflate_stream_place(&d->stream, bit % 8, before, parts->size - to);
}

static uint64_t part_bit(const struct part_decoder *d)
{
    return d->origin + inflate_stream_bit(&d->stream);
}

// part_block decodes a block and writes it.
static enum ch_status part_block(struct part_decoder *d, bool *out_last)
{
    enum ch_status status = inflate_stream_block(&d->stream, out_last);
    return status == CH_OK ? inflate_stream_flush(&d->stream) : status;
}

// bits_at gives 57 bits or more; seven bytes after the first are there.
static uint64_t bits_at(const uint8_t *bytes, size_t bit)
{
    uint64_t word;
    memcpy(&word, bytes + bit / 8, sizeof(word));
    return le64toh(word) >> bit % 8;
}

// part_is_plausible says whether a block with codes of its own, and not the last, may
// begin at a bit (RFC 1951, section 3.2.7): the code of code lengths has to be whole.
static bool part_is_plausible(const uint8_t *bytes, size_t bit)
{
    enum { DYNAMIC = 4, HEAD_BITS = 17, MAX = 29, LEAST = 4, WHOLE = 128 };
    uint64_t head = bits_at(bytes, bit);
    if ((head & 7) != DYNAMIC || (head >> 3 & 31) > MAX || (head >> 8 & 31) > MAX)
        return false;
    unsigned used = 0;
    uint64_t lengths = bits_at(bytes, bit + HEAD_BITS);
    for (unsigned left = LEAST + (head >> 13 & 15); left != 0; left--, lengths >>= 3)
        used += (lengths & 7) != 0 ? WHOLE >> (lengths & 7) : 0;
    return used == WHOLE;
}

// part_is_clean says whether nothing that repetitions may reach depends on the window
// at the start, of which each byte was different for both decoders.
static bool part_is_clean(const struct part_thread *t)
{
    struct inflate_window a = inflate_stream_window(&t->decoders[0].stream);
    struct inflate_window b = inflate_stream_window(&t->decoders[1].stream);
    return a.size == INFLATE_WINDOW && memcmp(a.bytes, b.bytes, INFLATE_WINDOW) == 0;
}

// part_try_head decodes from a bit on until contents do not depend any more on what is
// before. False: that is no block, or *budget, bytes of contents, is used up.
static bool part_try_head(struct part_thread *t, uint64_t bit, uint64_t *budget)
{
    static const uint8_t zeros[INFLATE_WINDOW] = { 0 };
    const struct inflate_window before[] = { { zeros, INFLATE_WINDOW },
                                             { t->before, INFLATE_WINDOW } };
    memset(t->before, 0xff, INFLATE_WINDOW);
    for (int i = 0; i < 2; i++) {
        part_place(&t->decoders[i], t->parts, bit, before[i], 0);
        t->decoders[i].end.dropped = true;
    }
    bool found = true;
    bool clean = false;
    const uint64_t *made = &t->decoders[0].end.written;
    while (found && !clean && *made < *budget) {
        bool last = false;
        for (int i = 0; i < 2 && found; i++)
            found = part_block(&t->decoders[i], &last) == CH_OK && !last;
        clean = found && part_is_clean(t);
    }
    t->start = bit;
    t->head = *made;
    *budget -= *made < *budget ? *made : *budget;
    return clean;
}

// part_find_start looks for the first block from a byte on, and decodes its head.
static bool part_find_start(struct part_thread *t, uint64_t from)
{
    enum { BYTES = SEARCHED + LOOKED_AT };
    struct part_end end = { .parts = t->parts, .from = from };
    uint8_t *bytes = t->kept; // which is not used yet
    size_t size = 0;
    size_t got;
    while (size < BYTES && (got = part_read(&end, bytes + size, BYTES - size)) != 0)
        size += got;
    uint64_t budget = HEAD_MAX;
    unsigned tries = 0;
    for (size_t bit = 0; bit / 8 + LOOKED_AT <= size; bit++) {
        if (!part_is_plausible(bytes, bit))
            continue;
        if (part_try_head(t, 8 * from + bit, &budget))
            return true;
        if (budget == 0 || ++tries == TRIES_MAX)
            return false;
    }
    return false;
}

// part_make_room makes room for what is kept.
static bool part_make_room(struct part_thread *t)
{
    uint64_t room =
        t->parts->part_bytes * KEPT_PARTS + SEARCHED + LOOKED_AT + INFLATE_WINDOW;
    if (t->kept == NULL && room <= SIZE_MAX)
        t->kept = malloc((size_t)room);
    t->kept_max = (size_t)room;
    return t->kept != NULL;
}

// part_go_ahead decodes a part before its turn, up to the first block's end from bit
// until on, or as far as it can. False: it could not begin.
static bool part_go_ahead(struct part_thread *t, uint64_t from, uint64_t until)
{
    struct part_decoder *d = &t->decoders[0];
    struct part_ahead ahead = { .sum = 1 };
    if (!part_make_room(t) || !part_find_start(t, from / 8))
        return false;
    const uint8_t *begin =
        t->kept + inflate_stream_keep(&d->stream, t->kept, t->kept_max);
    do {
        struct inflate_window window = inflate_stream_window(&d->stream);
        ahead.bit = part_bit(d);
        ahead.size = (size_t)(window.bytes + window.size - begin);
        ahead.sum = d->stream.sum;
        t->ahead = ahead;
    } while (!ahead.ended && ahead.bit < until && part_block(d, &ahead.ended) == CH_OK);
    return true;
}

static void parts_fail(struct inflate_parts *p, enum ch_status status)
{
    pthread_mutex_lock(&p->mutex);
    if (p->status == CH_OK)
        p->status = status;
    pthread_cond_broadcast(&p->turned);
    pthread_mutex_unlock(&p->mutex);
}

// parts_take takes the next part. CH_END: there is none.
static enum ch_status parts_take(struct inflate_parts *p, uint64_t *out_part,
                                 bool *out_is_turn)
{
    pthread_mutex_lock(&p->mutex);
    enum ch_status status = p->status;
    if (status == CH_OK && p->next == p->count)
        status = CH_END;
    *out_part = p->next;
    *out_is_turn = p->next == p->turn;
    p->next += status == CH_OK;
    pthread_mutex_unlock(&p->mutex);
    return status;
}

// parts_await waits until it is a part's turn.
static enum ch_status parts_await(struct inflate_parts *p, uint64_t part)
{
    pthread_mutex_lock(&p->mutex);
    while (p->status == CH_OK && p->turn != part)
        pthread_cond_wait(&p->turned, &p->mutex);
    enum ch_status status = p->status;
    pthread_mutex_unlock(&p->mutex);
    return status;
}

// parts_pass has the next part's turn come.
static void parts_pass(struct inflate_parts *p)
{
    pthread_mutex_lock(&p->mutex);
    p->turn++;
    pthread_cond_broadcast(&p->turned);
    pthread_mutex_unlock(&p->mutex);
}

// parts_move sets where the next blocks begin.
static void parts_move(struct inflate_parts *p, uint64_t bit, uint64_t made, bool ended,
                       struct inflate_window window)
{
    p->bit = bit;
    p->made = made;
    p->ended = ended;
    p->window_size = window.size;
    memcpy(p->window, window.bytes, window.size);
}

// parts_add_sum adds the checksum of some of the contents. In that of all, the first
// half counts each byte once, the second each byte once for itself and for each that
// follows it.
static void parts_add_sum(struct inflate_parts *p, uint64_t at, uint64_t size,
                          uint32_t sum)
{
    uint64_t low = ((sum & 0xffff) + ADLER32_BASE - 1) % ADLER32_BASE;
    uint64_t high = (sum >> 16) + ADLER32_BASE - size % ADLER32_BASE;
    uint64_t after = (p->size - at - size) % ADLER32_BASE;
    pthread_mutex_lock(&p->mutex);
    p->sums[0] = (p->sums[0] + low) % ADLER32_BASE;
    p->sums[1] = (p->sums[1] + high + after * low) % ADLER32_BASE;
    pthread_mutex_unlock(&p->mutex);
}

// part_continue decodes from where the part in front ended.
static enum ch_status part_continue(struct part_thread *t, uint64_t until)
{
    struct inflate_parts *p = t->parts;
    struct part_decoder *d = &t->decoders[0];
    enum ch_status status = CH_OK;
    bool ended = false;
    if (p->ended || p->bit >= until)
        return CH_OK;
    part_place(d, p, p->bit, (struct inflate_window){ p->window, p->window_size },
               p->made);
    if (p->bit == 0)
        status = inflate_stream_head(&d->stream);
    while (status == CH_OK && !ended && part_bit(d) < until)
        status = inflate_stream_block(&d->stream, &ended);
    if (status == CH_OK)
        status = inflate_stream_flush(&d->stream);
    if (status != CH_OK)
        return status;
    parts_add_sum(p, p->made, d->end.written, d->stream.sum);
    parts_move(p, part_bit(d), p->made + d->end.written, ended,
               inflate_stream_window(&d->stream));
    return CH_OK;
}

// part_repeat_head decodes again, and writes, what was decoded without knowing what was
// before. It may reach back further than there is something.
static enum ch_status part_repeat_head(struct part_thread *t, uint64_t to)
{
    struct part_decoder *d = &t->decoders[1];
    enum ch_status status = CH_OK;
    bool last = false;
    part_place(d, t->parts, t->start,
               (struct inflate_window){ t->before, t->before_size }, to);
    while (status == CH_OK && d->end.written < t->head)
        status = part_block(d, &last);
    if (status == CH_OK)
        parts_add_sum(t->parts, to, t->head, d->stream.sum);
    return status;
}

// part_commit writes what was decoded ahead, which begins where the part in front
// ended.
static enum ch_status part_commit(struct part_thread *t, uint64_t until)
{
    struct inflate_parts *p = t->parts;
    const struct part_ahead *ahead = &t->ahead;
    uint64_t at = p->made;
    uint64_t left = p->size - at;
    if (t->head > left || ahead->size > left - t->head)
        return CH_ERR_MALFORMED;
    memcpy(t->before, p->window, p->window_size);
    t->before_size = p->window_size;
    parts_move(p, ahead->bit, at + t->head + ahead->size, ahead->ended,
               (struct inflate_window){ t->kept + ahead->size, INFLATE_WINDOW });
    enum ch_status status = part_continue(t, until);
    if (status != CH_OK)
        return status;
    parts_pass(p);
    parts_add_sum(p, at + t->head, ahead->size, ahead->sum);
    if (ahead->size != 0 &&
        !p->source->write_at(p->source->context, t->kept + INFLATE_WINDOW, ahead->size,
                             at + t->head))
        return CH_ERR_IO;
    return part_repeat_head(t, at);
}

static enum ch_status part_work(struct part_thread *t, uint64_t part, bool is_turn)
{
    struct inflate_parts *p = t->parts;
    uint64_t from = 8 * part * p->part_bytes;
    uint64_t until = part + 1 < p->count ? from + 8 * p->part_bytes : UINT64_MAX;
    bool ahead = !is_turn && part_go_ahead(t, from, until);
    enum ch_status status = parts_await(p, part);
    if (status != CH_OK)
        return status;
    if (ahead && !p->ended && p->bit == t->start)
        return part_commit(t, until);
    status = part_continue(t, until);
    if (status == CH_OK)
        parts_pass(p);
    return status;
}

static enum ch_status part_thread_init(struct part_thread *t,
                                       struct inflate_parts *parts)
{
    enum ch_status status = CH_OK;
    t->parts = parts;
    for (int i = 0; i < 2 && status == CH_OK; i++)
        status = part_decoder_init(&t->decoders[i]);
    return status;
}

static void part_thread_destroy(struct part_thread *t)
{
    for (int i = 0; i < 2; i++)
        inflate_stream_close(&t->decoders[i].stream);
    free(t->kept);
    free(t);
}

enum ch_status inflate_parts_work(struct inflate_parts *parts)
{
    uint64_t part;
    bool is_turn;
    struct part_thread *t = calloc(1, sizeof(*t));
    enum ch_status status = t != NULL ? part_thread_init(t, parts) : CH_ERR_NO_MEMORY;
    while (status == CH_OK) {
        status = parts_take(parts, &part, &is_turn);
        if (status == CH_OK)
            status = part_work(t, part, is_turn);
    }
    if (t != NULL)
        part_thread_destroy(t);
    if (status == CH_END)
        return CH_OK;
    parts_fail(parts, status);
    return status;
}

enum ch_status inflate_parts_create(struct inflate_parts **out,
                                    const struct inflate_source *source,
                                    uint64_t stored, uint64_t size, uint64_t part_bytes)
{
    struct inflate_parts *p = calloc(1, sizeof(*p));
    if (p == NULL)
        return CH_ERR_NO_MEMORY;
    p->source = source;
    p->stored = stored;
    p->size = size;
    p->part_bytes = part_bytes;
    p->count = stored != 0 ? (stored - 1) / part_bytes + 1 : 1;
    pthread_mutex_init(&p->mutex, NULL);
    pthread_cond_init(&p->turned, NULL);
    *out = p;
    return CH_OK;
}

void inflate_parts_destroy(struct inflate_parts *parts)
{
    if (parts == NULL)
        return;
    pthread_cond_destroy(&parts->turned);
    pthread_mutex_destroy(&parts->mutex);
    free(parts);
}

enum ch_status inflate_parts_check(const struct inflate_parts *parts)
{
    uint8_t bytes[4];
    uint64_t at = (parts->bit + 7) / 8;
    const struct inflate_source *source = parts->source;
    size_t size = 0;
    size_t got = 1;
    if (parts->status != CH_OK)
        return parts->status;
    if (!parts->ended || parts->made != parts->size)
        return CH_ERR_MALFORMED;
    for (; size < sizeof(bytes) && at + size < parts->stored && got != 0; size += got) {
        uint64_t left = parts->stored - at - size;
        size_t part = left < sizeof(bytes) - size ? (size_t)left : sizeof(bytes) - size;
        got = source->read_at(source->context, bytes + size, part, at + size);
    }
    if (size != sizeof(bytes))
        return CH_ERR_TRUNCATED;
    uint32_t sum = (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 |
                   (uint32_t)bytes[2] << 8 | bytes[3];
    uint64_t low = (1 + parts->sums[0]) % ADLER32_BASE;
    uint64_t high = (parts->size + parts->sums[1]) % ADLER32_BASE;
    return sum == (high << 16 | low) ? CH_OK : CH_ERR_MALFORMED;
}
