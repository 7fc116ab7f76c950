// SPDX-License-Identifier: Apache-2.0
//
// Decodes the frames of a backtrace from Compact Backtrace Format, one after another,
// and encodes them.
#include "backtrace/frame_list.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"
#include "formats/interchange/cbf.h"

// position is the layout behind the opaque crashhook_frames.
struct position {
    struct cbf_reader reader;
    struct cbf_frame frame; // times is how many are still to be returned
    uint32_t given;
    bool ended;
};

_Static_assert(sizeof(struct position) <= sizeof(struct crashhook_frames),
               "a position fits into what the header promises");

struct crashhook_frames
crashhook_backtrace_frames(const struct crashhook_backtrace *backtrace)
{
    struct crashhook_frames frames = { { 0 } };
    struct position position = { .ended = false };
    position.ended =
        cbf_reader_init(&position.reader, backtrace->cbf, backtrace->cbf_size) != CH_OK;
    memcpy(&frames, &position, sizeof(position));
    return frames;
}

// truncate_here ends the sequence with a frame that says that it is truncated.
static void truncate_here(struct position *position, struct crashhook_frame *out)
{
    *out = (struct crashhook_frame){ .kind = CRASHHOOK_FRAME_TRUNCATED };
    position->ended = true;
}

// read_listed_frame reads the next frame into position->frame; false: the sequence has
// ended.
static bool read_listed_frame(struct position *position)
{
    if (position->frame.times != 0)
        return true;
    enum ch_status status = cbf_next_frame(&position->reader, &position->frame);
    if (status == CH_END)
        position->ended = true;
    if (status != CH_OK && status != CH_END)
        position->frame = (struct cbf_frame){ .kind = CBF_TRUNC, .times = 1 };
    return !position->ended;
}

static void give_frame(struct position *position, struct crashhook_frame *out)
{
    const struct cbf_frame *frame = &position->frame;
    switch (frame->kind) {
    case CBF_TRUNC:
        truncate_here(position, out);
        return;
    case CBF_OMIT:
        *out = (struct crashhook_frame){ .kind = CRASHHOOK_FRAME_OMITTED,
                                         .omitted = frame->value };
        break;
    default:
        *out = (struct crashhook_frame){
            .kind = (enum crashhook_frame_kind)(frame->kind - CBF_PC),
            .address = crashhook_address_make(frame->value, position->reader.word_bits),
        };
        break;
    }
    position->frame.times--;
    position->given++;
}

bool crashhook_frames_next(struct crashhook_frames *frames, struct crashhook_frame *out)
{
    struct position position;
    memcpy(&position, frames, sizeof(position));
    bool more = !position.ended && read_listed_frame(&position);
    if (more && position.given == CRASHHOOK_FRAMES_MAX)
        truncate_here(&position, out);
    else if (more)
        give_frame(&position, out);
    memcpy(frames, &position, sizeof(position));
    return more;
}

// write_listed_frame adds one frame of the writer's address width.
static enum ch_status write_listed_frame(struct cbf_writer *writer,
                                         const struct crashhook_frame *frame)
{
    switch (frame->kind) {
    case CRASHHOOK_FRAME_TRUNCATED:
        return cbf_write_frame(writer, CBF_TRUNC, 0);
    case CRASHHOOK_FRAME_OMITTED:
        if (frame->omitted == 0)
            return CH_ERR_MALFORMED;
        return cbf_write_frame(writer, CBF_OMIT, frame->omitted);
    case CRASHHOOK_FRAME_PROGRAM_COUNTER:
    case CRASHHOOK_FRAME_RETURN_ADDRESS:
    case CRASHHOOK_FRAME_ASYNC_RESUME_POINT:
        if (frame->address.width != writer->word_bits)
            return CH_ERR_MALFORMED;
        return cbf_write_frame(writer, CBF_PC + (unsigned)frame->kind,
                               frame->address.bits);
    }
    return CH_ERR_MALFORMED;
}

// frames_width is the width of the first address; 64 if there is none.
static unsigned frames_width(const struct crashhook_frame *frames, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (frames[i].kind < CRASHHOOK_FRAME_OMITTED)
            return frames[i].address.width;
    return 64;
}

static enum ch_status write_listed_frames(const struct crashhook_frame *frames,
                                          size_t count, struct cbf_writer *writer)
{
    enum ch_status status = CH_OK;
    for (size_t i = 0; status == CH_OK && i < count; i++) {
        status =
            writer->ended ? CH_ERR_MALFORMED : write_listed_frame(writer, &frames[i]);
    }
    if (status == CH_OK)
        cbf_write_end(writer);
    return status;
}

enum ch_status frame_list_encode(const struct crashhook_frame *frames, size_t count,
                                 uint8_t **out, size_t *out_size)
{
    struct cbf_writer writer;
    if (count > CRASHHOOK_FRAMES_MAX)
        return CH_ERR_LIMIT;
    size_t capacity = CBF_OVERHEAD + count * CBF_FRAME_MAX;
    uint8_t *bytes = malloc(capacity);
    if (bytes == NULL)
        return CH_ERR_NO_MEMORY;
    enum ch_status status = cbf_writer_init(&writer, frames_width(frames, count),
                                            CBF_SPECIFIED, bytes, capacity);
    if (status == CH_OK)
        status = write_listed_frames(frames, count, &writer);
    if (status != CH_OK) {
        free(bytes);
        return status;
    }
    *out = bytes;
    *out_size = writer.size;
    return CH_OK;
}

enum ch_status frame_list_decode(const struct crashhook_backtrace *backtrace,
                                 size_t extra, struct crashhook_frame **out,
                                 size_t *out_count)
{
    struct crashhook_frame *frames = NULL;
    size_t count = 0;
    size_t capacity = 0;
    struct crashhook_frames position = crashhook_backtrace_frames(backtrace);
    do {
        if (extra == SIZE_MAX || !array_reserve_many(&frames, &capacity, count,
                                                     extra + 1, sizeof(*frames))) {
            free(frames);
            return CH_ERR_NO_MEMORY;
        }
    } while (crashhook_frames_next(&position, &frames[count]) && ++count != 0);
    *out = frames;
    *out_count = count;
    return CH_OK;
}

int crashhook_backtrace_from_frames(const char *architecture,
                                    const struct crashhook_frame *frames, size_t count,
                                    struct crashhook_images *images,
                                    struct crashhook_backtrace **out)
{
    uint8_t *cbf;
    size_t size;
    enum ch_status status = frame_list_encode(frames, count, &cbf, &size);
    if (status != CH_OK)
        return stored_errno(status);
    status = stored_create(architecture, cbf, size, images, out);
    free(cbf);
    return stored_errno(status);
}

int crashhook_backtrace_from_addresses(const uint64_t *addresses, size_t count,
                                       enum crashhook_frame_kind first,
                                       struct crashhook_backtrace **out)
{
    if (count > CRASHHOOK_FRAMES_MAX || first > CRASHHOOK_FRAME_RETURN_ADDRESS)
        return EINVAL;
    struct crashhook_frame *frames = calloc(count + 1, sizeof(*frames));
    if (frames == NULL)
        return ENOMEM;
    for (size_t i = 0; i < count; i++)
        frames[i] = (struct crashhook_frame){
            .kind = i == 0 ? first : CRASHHOOK_FRAME_RETURN_ADDRESS,
            .address = crashhook_address_make(addresses[i], 64),
        };
    int error =
        crashhook_backtrace_from_frames(STORED_NATIVE, frames, count, NULL, out);
    free(frames);
    return error;
}

uint64_t frame_list_number_after(uint64_t number, const struct crashhook_frame *frame)
{
    uint64_t count = frame->kind == CRASHHOOK_FRAME_OMITTED ? frame->omitted : 1;
    return count > UINT64_MAX - number ? UINT64_MAX : number + count;
}

void frame_list_describe_images(const struct crashhook_images *images, struct text *out)
{
    text_append_string(out, "\n\nImages:\n");
    for (size_t i = 0; i < images->count; i++) {
        char *line = crashhook_image_description(&images->items[i]);
        text_appendf(out, "\n%zu\t%s", i, line != NULL ? line : "");
        free(line);
    }
}

char *crashhook_backtrace_description(const struct crashhook_backtrace *backtrace)
{
    struct crashhook_frames position = crashhook_backtrace_frames(backtrace);
    struct crashhook_frame frame;
    struct text lines = { 0 };
    uint64_t number = 0;
    text_appendf(&lines, "Architecture: %s\n", backtrace->architecture);
    while (crashhook_frames_next(&position, &frame)) {
        char *line = crashhook_frame_description(&frame);
        text_appendf(&lines, "\n%llu\t%s", (unsigned long long)number,
                     line != NULL ? line : "");
        free(line);
        number = frame_list_number_after(number, &frame);
    }
    if (backtrace->images != NULL)
        frame_list_describe_images(backtrace->images, &lines);
    if (text_ok(&lines))
        return lines.bytes;
    text_deinit(&lines);
    return NULL;
}
