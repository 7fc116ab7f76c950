// SPDX-License-Identifier: Apache-2.0
#include "base/memory_reader.h"

#include <endian.h>
#include <string.h>

// read_some calls the source once, and treats a count beyond the request as a fault.
static size_t read_some(const struct memory_reader *reader, uint64_t address, void *to,
                        size_t length)
{
    size_t count = reader->read(reader->source, address, to, length);
    return count <= length ? count : 0;
}

size_t memory_read_part(const struct memory_reader *reader, uint64_t address, void *to,
                        size_t length)
{
    uint8_t *bytes = to;
    size_t done = 0;
    while (done < length) {
        size_t count = read_some(reader, address + done, bytes + done, length - done);
        if (count == 0)
            break;
        done += count;
    }
    return done;
}

enum ch_status memory_read(const struct memory_reader *reader, uint64_t address,
                           void *to, size_t length)
{
    if (length != 0 && address + (length - 1) < address)
        return CH_ERR_FAULT;
    return memory_read_part(reader, address, to, length) == length ? CH_OK
                                                                   : CH_ERR_FAULT;
}

// read_narrow_word reads a little-endian word of 4 bytes.
static enum ch_status read_narrow_word(const struct memory_reader *reader,
                                       uint64_t address, uint64_t *out)
{
    uint32_t word;
    enum ch_status status = memory_read(reader, address, &word, sizeof(word));
    if (status == CH_OK)
        *out = le32toh(word);
    return status;
}

enum ch_status memory_read_word(const struct memory_reader *reader, uint64_t address,
                                uint64_t *out)
{
    // Every step of every walk reads words, so this does without a cursor.
    const bool big_endian_host = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
    uint64_t word;
    const struct memory_window *window = reader->window;
    if (reader->narrow)
        return read_narrow_word(reader, address, out);
    if (window != NULL && window->size >= sizeof(word) &&
        address - window->address <= window->size - sizeof(word))
        memcpy(&word, window->bytes + (address - window->address), sizeof(word));
    else if (reader->read(reader->source, address, &word, sizeof(word)) !=
             sizeof(word)) {
        enum ch_status status = memory_read(reader, address, &word, sizeof(word));
        if (status != CH_OK)
            return status;
    }
    *out = reader->big_endian != big_endian_host ? __builtin_bswap64(word) : word;
    return CH_OK;
}

enum ch_status memory_read_string(const struct memory_reader *reader, uint64_t address,
                                  char *to, size_t size)
{
    if (size == 0)
        return CH_ERR_TRUNCATED;

    size_t done = 0;
    while (done < size - 1) {
        size_t wanted = size - 1 - done;
        // Pieces are short, because the string may end just before a hole.
        if (wanted > 256)
            wanted = 256;
        size_t count = read_some(reader, address + done, to + done, wanted);
        if (count == 0)
            break;
        if (memchr(to + done, 0, count) != NULL)
            return CH_OK;
        done += count;
    }
    to[done] = 0;
    return done == size - 1 ? CH_ERR_TRUNCATED : CH_ERR_FAULT;
}
