// SPDX-License-Identifier: Apache-2.0
//
// Records the stack of a live process's first thread as a test case: its registers, its
// images, and every byte that the unwinder reads with any of its methods.
// tests/cases/unwind describes the folder that this makes.
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "agent/live/capture.h"
#include "base/array.h"
#include "cli/session/command.h"
#include "cli/session/session.h"

// BLOCK_BYTES: memory is stored in blocks of this size, so that a future unwinder that
// reads a little further still finds its bytes.
enum { BLOCK_BYTES = 256, BLOCKS_MAX = 1 << 16 };

// recorder is a memory_reader that remembers what was read through it.
struct recorder {
    const struct memory_reader *memory;
    uint64_t *blocks; // their addresses, unsorted and with duplicates
    size_t count;
    size_t capacity;
    bool failed;
};

static void note_block(struct recorder *r, uint64_t address)
{
    if (r->count != 0 && r->blocks[r->count - 1] == address)
        return;
    if (!array_reserve(&r->blocks, &r->capacity, r->count, sizeof(r->blocks[0]))) {
        r->failed = true;
        return;
    }
    r->blocks[r->count++] = address;
}

static size_t record_read(void *source, uint64_t address, void *to, size_t length)
{
    struct recorder *r = source;
    size_t count = r->memory->read(r->memory->source, address, to, length);
    for (uint64_t at = address & ~(uint64_t)(BLOCK_BYTES - 1); at < address + count;
         at += BLOCK_BYTES)
        note_block(r, at);
    return count;
}

static int by_page_address(const void *a, const void *b)
{
    uint64_t one = *(const uint64_t *)a;
    uint64_t other = *(const uint64_t *)b;
    return (one > other) - (one < other);
}

static bool ignore_frame(void *context, const struct unwind_frame *frame,
                         const struct unwind_state *state)
{
    (void)state;
    (void)context;
    (void)frame;
    return true;
}

// walk_every_way reads everything that the unwinder reads of this thread.
static enum ch_status walk_every_way(struct recorder *r, struct capture *capture,
                                     const struct unwind_registers *registers)
{
    static const enum setting_unwind ways[] = {
        SETTING_UNWIND_AUTO,   SETTING_UNWIND_PRECISE, SETTING_UNWIND_FAST,
        SETTING_UNWIND_SFRAME, SETTING_UNWIND_DWARF,   SETTING_UNWIND_FP,
    };
    struct memory_reader reader = { .read = record_read,
                                    .source = r,
                                    .big_endian = r->memory->big_endian };
    struct unwind_space *space;
    enum ch_status status = unwind_space_create(
        capture->arch, &reader, capture->images.unwind, capture->images.count, &space);
    if (status != CH_OK)
        return status;
    unwind_space_set_code(space, images_is_code, &capture->images);
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
        (void)unwind_walk(space, registers, ways[i], ignore_frame, NULL);
    unwind_space_destroy(space);
    return r->failed ? CH_ERR_NO_MEMORY : CH_OK;
}

static json_t *hex(uint64_t value)
{
    return json_sprintf("0x%" PRIx64, value);
}

// append_record_memory writes the blocks to file, adjacent ones as one piece, and lists
// the pieces.
static enum ch_status append_record_memory(const struct recorder *r, FILE *file,
                                           json_t *list)
{
    uint8_t bytes[BLOCK_BYTES];
    uint64_t previous = 0;
    uint64_t offset = 0;
    json_t *piece = NULL;
    for (size_t i = 0; i < r->count; i++) {
        uint64_t address = r->blocks[i];
        if ((i != 0 && address == previous) || offset / BLOCK_BYTES == BLOCKS_MAX ||
            memory_read(r->memory, address, bytes, sizeof(bytes)) != CH_OK)
            continue;
        if (piece == NULL || address != previous + BLOCK_BYTES) {
            piece = json_pack("{s:o, s:s, s:I, s:I}", "address", hex(address), "file",
                              "memory.bin", "offset", (json_int_t)offset, "size",
                              (json_int_t)0);
            if (json_array_append_new(list, piece) != 0)
                return CH_ERR_NO_MEMORY;
        }
        json_int_t size = json_integer_value(json_object_get(piece, "size"));
        json_object_set_new(piece, "size", json_integer(size + BLOCK_BYTES));
        if (fwrite(bytes, sizeof(bytes), 1, file) != 1)
            return CH_ERR_IO;
        previous = address;
        offset += BLOCK_BYTES;
    }
    return CH_OK;
}

static void add_images(const struct capture *capture, json_t *list, json_t *code)
{
    for (size_t i = 0; i < capture->images.count; i++) {
        const struct unwind_image *image = &capture->images.unwind[i];
        json_array_append_new(
            list, json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "start",
                            hex(image->start), "end", hex(image->end), "bias",
                            hex(image->bias), "entry", hex(image->entry), "sframe",
                            hex(image->sframe), "sframe_size", hex(image->sframe_size),
                            "eh_frame_hdr", hex(image->eh_frame_hdr),
                            "eh_frame_hdr_size", hex(image->eh_frame_hdr_size)));
    }
    for (size_t i = 0; i < capture->images.mapping_count; i++) {
        const struct target_mapping *mapping = &capture->images.mappings[i];
        if (images_is_code((void *)&capture->images, mapping->start))
            json_array_append_new(
                code, json_pack("[o, o]", hex(mapping->start), hex(mapping->end)));
    }
}

static FILE *create_record_file(const char *folder, const char *name)
{
    struct text CH_CLEANUP(text_deinit) path = { 0 };
    text_appendf(&path, "%s/%s", folder, name);
    if (path.failed)
        return NULL;
    return fopen(path.bytes, "wb");
}

static enum ch_status write_case(struct recorder *r, const struct capture *capture,
                                 const struct unwind_registers *registers,
                                 const char *folder)
{
    json_t *values = json_array();
    json_t *memory = json_array();
    json_t *images = json_array();
    json_t *code = json_array();
    for (unsigned i = 0; i < capture->arch->register_count; i++)
        json_array_append_new(values, hex(registers->value[i]));
    add_images(capture, images, code);
    qsort(r->blocks, r->count, sizeof(*r->blocks), by_page_address);

    FILE *file = create_record_file(folder, "memory.bin");
    enum ch_status status =
        file != NULL ? append_record_memory(r, file, memory) : CH_ERR_IO;
    if (file != NULL && fclose(file) != 0)
        status = CH_ERR_IO;
    json_t *all =
        json_pack("{s:s, s:b, s:o, s:o, s:o, s:o}", "arch", capture->arch->name,
                  "big_endian", r->memory->big_endian, "registers", values, "memory",
                  memory, "code", code, "images", images);
    file = status == CH_OK ? create_record_file(folder, "case.json") : NULL;
    if (status == CH_OK && (file == NULL || json_dumpf(all, file, JSON_INDENT(1)) != 0))
        status = CH_ERR_IO;
    if (file != NULL && fclose(file) != 0)
        status = CH_ERR_IO;
    json_decref(all);
    return status;
}

// record_thread records the first thread of a stopped process.
static enum ch_status record_thread(struct capture *capture, const char *folder)
{
    struct recorder r = { .memory = &capture->reader };
    const struct stopped_thread *thread = &capture->stop.threads[0];
    if (capture->stop.count == 0 || thread->state != STOP_STOPPED)
        return CH_ERR_NOT_FOUND;
    enum ch_status status = walk_every_way(&r, capture, &thread->registers);
    if (status == CH_OK && mkdir(folder, 0777) != 0 && errno != EEXIST)
        status = CH_ERR_IO;
    if (status == CH_OK)
        status = write_case(&r, capture, &thread->registers, folder);
    free(r.blocks);
    return status;
}

static int run_record(const struct options *options)
{
    struct session CH_CLEANUP(session_deinit) session = { .spool.folder_fd = -1 };
    struct capture capture = { 0 };
    const char *text = options->arguments[0];
    pid_t pid;
    if (!command_parse_pid(text, &pid))
        return command_misused("record: '%s' is no process id", text);

    session_init(&session, options);
    capture.settings = &session.settings;
    enum ch_status status = capture_take(&capture, pid);
    if (status == CH_OK)
        status = record_thread(&capture, options->arguments[1]);
    int error = errno;
    capture_release(&capture);
    capture_deinit(&capture);
    if (status != CH_OK)
        return command_fail("cannot record process %d: %s", pid,
                            status == CH_ERR_IO ? strerror(error)
                                                : ch_status_name(status));
    return COMMAND_DONE;
}

const struct command record_command = {
    .name = "record",
    .arguments = "PID FOLDER",
    .summary = "Record a stack as a test case of the unwinder",
    .run = run_record,
    .arguments_min = 2,
    .arguments_max = 2,
    .hidden = true,
};
