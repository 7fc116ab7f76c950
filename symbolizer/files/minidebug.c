// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/files/minidebug.h"

#include <lzma.h>
#include <stdlib.h>

enum { FIRST_SIZE = 1 << 18, DECODER_MEMORY_MAX = 128 << 20 };

// output is the decoder's growing output.
struct output {
    uint8_t *bytes;
    size_t capacity;
};

static bool minidebug_grow(struct output *output, lzma_stream *stream)
{
    size_t used = output->capacity - stream->avail_out;
    size_t capacity = output->capacity != 0 ? output->capacity * 2 : FIRST_SIZE;
    if (capacity > MINIDEBUG_MAX)
        return false;
    uint8_t *bytes = realloc(output->bytes, capacity);
    if (bytes == NULL)
        return false;
    *output = (struct output){ .bytes = bytes, .capacity = capacity };
    stream->next_out = bytes + used;
    stream->avail_out = capacity - used;
    return true;
}

// minidebug_decode runs the decoder to the end of its stream.
static bool minidebug_decode(lzma_stream *stream, struct output *output)
{
    lzma_ret result = LZMA_OK;
    while (result == LZMA_OK) {
        if (stream->avail_out == 0 && !minidebug_grow(output, stream))
            return false;
        result = lzma_code(stream, LZMA_FINISH);
    }
    return result == LZMA_STREAM_END;
}

enum ch_status minidebug_open(struct debug_elf *out, const struct debug_elf *image)
{
    Elf_Data *data = debug_elf_section(image, ".gnu_debugdata");
    if (data == NULL || data->d_size == 0)
        return CH_ERR_NOT_FOUND;
    lzma_stream stream = LZMA_STREAM_INIT;
    if (lzma_stream_decoder(&stream, DECODER_MEMORY_MAX, 0) != LZMA_OK)
        return CH_ERR_NO_MEMORY;
    stream.next_in = data->d_buf;
    stream.avail_in = data->d_size;
    struct output output = { 0 };
    bool whole = minidebug_decode(&stream, &output);
    size_t size = (size_t)stream.total_out;
    lzma_end(&stream);
    if (!whole) {
        free(output.bytes);
        return CH_ERR_MALFORMED;
    }
    return debug_elf_over(out, output.bytes, size);
}
