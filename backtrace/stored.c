// SPDX-License-Identifier: Apache-2.0
#include "backtrace/stored.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "formats/interchange/cbf.h"

enum { USUAL_CBF_BYTES = CBF_OVERHEAD + 64 * CBF_FRAME_MAX };

int stored_errno(enum ch_status status)
{
    switch (status) {
    case CH_OK:
        return 0;
    case CH_ERR_NO_MEMORY:
        return ENOMEM;
    case CH_ERR_IO:
        return EIO;
    default:
        return EINVAL;
    }
}

// stored_width gives the address width of CBF data. CH_ERR_UNSUPPORTED: not CBF.
static enum ch_status stored_width(const void *cbf, size_t cbf_size, unsigned *out)
{
    struct cbf_reader reader;
    enum ch_status status = cbf_reader_init(&reader, cbf, cbf_size);
    if (status == CH_OK)
        *out = reader.word_bits;
    return status;
}

// stored_make makes a backtrace that has the caller's reference to images.
static enum ch_status stored_make(const char *architecture, unsigned width,
                                  const void *cbf, size_t cbf_size,
                                  struct crashhook_images *images,
                                  struct crashhook_backtrace **out)
{
    size_t length = strlen(architecture);
    if (length >= STORED_ARCHITECTURE_SIZE)
        return CH_ERR_LIMIT;
    struct crashhook_backtrace *made = malloc(sizeof(*made) + cbf_size);
    if (made == NULL)
        return CH_ERR_NO_MEMORY;
    made->width = width;
    made->images = images;
    made->cbf_size = cbf_size;
    made->cbf = made->stored;
    memcpy(made->stored, cbf, cbf_size);
    memcpy(made->architecture, architecture, length + 1);
    *out = made;
    return CH_OK;
}

enum ch_status stored_create(const char *architecture, const void *cbf, size_t cbf_size,
                             struct crashhook_images *images,
                             struct crashhook_backtrace **out)
{
    unsigned width;
    enum ch_status status = stored_width(cbf, cbf_size, &width);
    if (status == CH_OK)
        status = stored_make(architecture, width, cbf, cbf_size, images, out);
    if (status == CH_OK && images != NULL)
        crashhook_images_retain(images);
    return status;
}

static enum ch_status write_stored_entry(struct cbf_writer *writer,
                                         const struct backtrace_entry *entry)
{
    switch (entry->kind) {
    case BACKTRACE_OMITTED:
        return cbf_write_frame(writer, CBF_OMIT, entry->omitted);
    case BACKTRACE_TRUNCATED:
        return cbf_write_frame(writer, CBF_TRUNC, 0);
    default:
        return cbf_write_frame(
            writer, entry->frame.kind == UNWIND_KIND_PC ? CBF_PC : CBF_RETURN_ADDRESS,
            entry->frame.address);
    }
}

static enum ch_status encode_stored(const struct backtrace_limit *limit, uint8_t *bytes,
                                    size_t capacity, size_t *out_size)
{
    struct cbf_writer writer;
    size_t count = backtrace_limit_count(limit);
    enum ch_status status =
        cbf_writer_init(&writer, 64, CBF_SPECIFIED, bytes, capacity);
    for (size_t i = 0; status == CH_OK && i < count; i++) {
        struct backtrace_entry entry = backtrace_limit_entry(limit, i);
        status = write_stored_entry(&writer, &entry);
    }
    if (status == CH_OK)
        cbf_write_end(&writer);
    *out_size = writer.size;
    return status;
}

enum ch_status stored_from_addresses(const uint64_t *addresses, const uint8_t *kinds,
                                     size_t count, struct crashhook_images *images,
                                     struct crashhook_backtrace **out)
{
    uint8_t bytes[CBF_OVERHEAD + STORED_ADDRESSES_MAX * CBF_FRAME_MAX];
    struct cbf_writer writer;
    enum ch_status status =
        cbf_writer_init(&writer, 64, CBF_SPECIFIED, bytes, sizeof(bytes));
    for (size_t i = 0; status == CH_OK && i < count;) {
        const uint8_t *pc = memchr(kinds + i, UNWIND_KIND_PC, count - i);
        size_t calls = pc != NULL ? (size_t)(pc - kinds) - i : count - i;
        status = calls != 0 ? cbf_write_calls(&writer, addresses + i, calls)
                            : cbf_write_frame(&writer, CBF_PC, addresses[i]);
        i += calls != 0 ? calls : 1;
    }
    if (status != CH_OK)
        return status;
    cbf_write_end(&writer);
    return stored_make(STORED_NATIVE, 64, bytes, writer.size, images, out);
}

enum ch_status stored_from_walk(const struct backtrace_limit *limit,
                                struct crashhook_images *images,
                                struct crashhook_backtrace **out)
{
    uint8_t usual[USUAL_CBF_BYTES];
    size_t size = 0;
    size_t capacity = CBF_OVERHEAD + backtrace_limit_count(limit) * CBF_FRAME_MAX;
    if (limit->failed)
        return CH_ERR_NO_MEMORY;
    uint8_t *bytes = capacity <= sizeof(usual) ? usual : malloc(capacity);
    if (bytes == NULL)
        return CH_ERR_NO_MEMORY;
    enum ch_status status = encode_stored(limit, bytes, capacity, &size);
    if (status == CH_OK)
        status = stored_create(STORED_NATIVE, bytes, size, images, out);
    if (bytes != usual)
        free(bytes);
    return status;
}

int crashhook_backtrace_from_cbf(const uint8_t *cbf, size_t size,
                                 struct crashhook_images *images,
                                 struct crashhook_backtrace **out)
{
    return stored_errno(stored_create(STORED_NATIVE, cbf, size, images, out));
}

void crashhook_backtrace_destroy(struct crashhook_backtrace *backtrace)
{
    if (backtrace == NULL)
        return;
    crashhook_images_release(backtrace->images);
    if (backtrace->cbf != backtrace->stored)
        free(backtrace->cbf);
    free(backtrace);
}

void stored_replace(struct crashhook_backtrace *backtrace, uint8_t *cbf,
                    size_t cbf_size)
{
    if (backtrace->cbf != backtrace->stored)
        free(backtrace->cbf);
    backtrace->cbf = cbf;
    backtrace->cbf_size = cbf_size;
}

const char *
crashhook_backtrace_architecture(const struct crashhook_backtrace *backtrace)
{
    return backtrace->architecture;
}

struct crashhook_images *
crashhook_backtrace_images(const struct crashhook_backtrace *backtrace)
{
    return backtrace->images;
}

const uint8_t *crashhook_backtrace_cbf(const struct crashhook_backtrace *backtrace,
                                       size_t *out_size)
{
    *out_size = backtrace->cbf_size;
    return backtrace->cbf;
}
