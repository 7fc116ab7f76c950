// SPDX-License-Identifier: Apache-2.0
#include "report/file/held_file.h"

#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"

// record_kind begins a record: its kind, the number of bytes that follow, then the
// bytes. Numbers are little-endian, which is also the order of the cursor.
enum record_kind {
    RECORD_MEMORY = 0x4d454d,
    RECORD_WATCH = 0x57415443,
    RECORD_THREAD = 0x54485244,
    RECORD_VECTORS = 0x56454354, // of the thread before
    RECORD_POINTER = 0x54505452, // likewise: its thread pointer
    RECORD_MAPPING = 0x4d415050,
};

static void append_held_u64(struct text *out, uint64_t value)
{
    value = htole64(value);
    text_append(out, &value, sizeof(value));
}

void held_file_add_memory(struct text *out, uint64_t address, const void *bytes,
                          size_t size)
{
    append_held_u64(out, RECORD_MEMORY);
    append_held_u64(out, size + sizeof(address));
    append_held_u64(out, address);
    text_append(out, bytes, size);
}

void held_file_add_watch(struct text *out, const struct held_watch *watch)
{
    size_t strings = strlen(watch->name) + 1 + strlen(watch->type) + 1;
    append_held_u64(out, RECORD_WATCH);
    append_held_u64(out, 4 * sizeof(uint64_t) + strings);
    append_held_u64(out, watch->address);
    append_held_u64(out, watch->size);
    append_held_u64(out, watch->caller);
    append_held_u64(out, watch->cut);
    text_append(out, watch->name, strlen(watch->name) + 1);
    text_append(out, watch->type, strlen(watch->type) + 1);
}

void held_file_add_thread(struct text *out, const struct held_thread *thread)
{
    enum { HEAD = 4 }; // words before the registers
    unsigned count = thread->arch->register_count;
    uint64_t words[HEAD + UNWIND_REGISTERS] = { htole64(RECORD_THREAD),
                                                htole64((2 + count) * sizeof(uint64_t)),
                                                htole64(thread->tid),
                                                htole64(thread->arch->elf_machine) };
    for (unsigned i = 0; i < count; i++)
        words[HEAD + i] = htole64(thread->registers.value[i]);
    text_append(out, words, (HEAD + count) * sizeof(words[0]));
    if (thread->thread_pointer == 0)
        return;
    append_held_u64(out, RECORD_POINTER);
    append_held_u64(out, sizeof(thread->thread_pointer));
    append_held_u64(out, thread->thread_pointer);
}

void held_file_add_mapping(struct text *out, const struct held_mapping *mapping)
{
    const uint64_t words[] = { htole64(RECORD_MAPPING), htole64(3 * sizeof(uint64_t)),
                               htole64(mapping->start), htole64(mapping->end),
                               htole64(mapping->flags) };
    text_append(out, words, sizeof(words));
}

void held_file_add_vectors(struct text *out, const uint8_t *bytes, size_t count)
{
    append_held_u64(out, RECORD_VECTORS);
    append_held_u64(out, count * HELD_VECTOR_BYTES);
    text_append(out, bytes, count * HELD_VECTOR_BYTES);
}

static enum ch_status read_held_vectors(struct held_file *file, struct cursor *record)
{
    size_t count = cursor_left(record) / HELD_VECTOR_BYTES;
    if (file->thread_count == 0)
        return CH_ERR_MALFORMED;
    struct held_thread *thread = &file->threads[file->thread_count - 1];
    thread->vectors = cursor_take(record, count * HELD_VECTOR_BYTES);
    thread->vector_count = count;
    return CH_OK;
}

static enum ch_status read_held_pointer(struct held_file *file, struct cursor *record)
{
    uint64_t pointer = cursor_u64(record);
    if (!cursor_ok(record))
        return CH_ERR_TRUNCATED;
    if (file->thread_count == 0)
        return CH_ERR_MALFORMED;
    file->threads[file->thread_count - 1].thread_pointer = pointer;
    return CH_OK;
}

static enum ch_status read_held_thread(struct held_file *file, struct cursor *record)
{
    struct held_thread *thread = &file->threads[file->thread_count];
    thread->tid = cursor_u64(record);
    uint64_t machine = cursor_u64(record);
    thread->arch = machine <= UINT16_MAX ? unwind_arch_find((uint16_t)machine) : NULL;
    if (thread->arch == NULL)
        return CH_ERR_MALFORMED;
    for (unsigned i = 0; i < thread->arch->register_count; i++)
        thread->registers.value[i] = cursor_u64(record);
    if (!cursor_ok(record))
        return CH_ERR_TRUNCATED;
    file->thread_count++;
    return CH_OK;
}

static enum ch_status read_watch(struct held_file *file, struct cursor *record)
{
    struct held_watch watch = { .address = cursor_u64(record) };
    watch.size = cursor_u64(record);
    watch.caller = cursor_u64(record);
    watch.cut = cursor_u64(record);
    watch.name = cursor_string(record);
    watch.type = cursor_string(record);
    if (!cursor_ok(record))
        return CH_ERR_TRUNCATED;
    file->watches[file->watch_count++] = watch;
    return CH_OK;
}

static enum ch_status read_held_memory(struct held_file *file, struct cursor *record)
{
    struct held_memory piece = { .address = cursor_u64(record) };
    piece.size = cursor_left(record);
    piece.bytes = cursor_take(record, piece.size);
    if (!cursor_ok(record) || piece.address + piece.size < piece.address)
        return CH_ERR_MALFORMED;
    file->pieces[file->piece_count++] = piece;
    return CH_OK;
}

static int by_held_address(const void *left, const void *right)
{
    const struct held_memory *a = left;
    const struct held_memory *b = right;
    if (a->address != b->address)
        return a->address < b->address ? -1 : 1;
    return a->size > b->size ? -1 : a->size < b->size;
}

static int by_tid(const void *left, const void *right)
{
    const struct held_thread *a = left;
    const struct held_thread *b = right;
    return (a->tid > b->tid) - (a->tid < b->tid);
}

// separate_held_parts removes from each piece what the pieces before it cover.
static void separate_held_parts(struct held_file *file)
{
    uint64_t end = 0;
    size_t kept = 0;
    qsort(file->pieces, file->piece_count, sizeof(file->pieces[0]), by_held_address);
    for (size_t i = 0; i < file->piece_count; i++) {
        struct held_memory piece = file->pieces[i];
        uint64_t known = end > piece.address ? end - piece.address : 0;
        if (known >= piece.size)
            continue;
        piece.address += known;
        piece.bytes += known;
        piece.size -= known;
        end = piece.address + piece.size;
        file->pieces[kept++] = piece;
    }
    file->piece_count = kept;
}

static enum ch_status read_held_mapping(struct held_file *file, struct cursor *record)
{
    size_t count = file->mapping_count;
    uint64_t before = count != 0 ? file->mappings[count - 1].end : 0;
    struct held_mapping mapping = { .start = cursor_u64(record) };
    mapping.end = cursor_u64(record);
    mapping.flags = cursor_u64(record);
    if (!cursor_ok(record) || mapping.end < mapping.start || mapping.start < before)
        return CH_ERR_MALFORMED;
    file->mappings[file->mapping_count++] = mapping;
    return CH_OK;
}

// read_records reads all records; the arrays have room for all of them.
static enum ch_status read_records(struct held_file *file, struct cursor c)
{
    while (cursor_left(&c) > 0) {
        uint64_t kind = cursor_u64(&c);
        uint64_t size = cursor_u64(&c);
        struct cursor record = cursor_child(&c, size);
        enum ch_status status = CH_ERR_MALFORMED;
        if (!cursor_ok(&record))
            return CH_ERR_TRUNCATED;
        if (kind == RECORD_MEMORY)
            status = read_held_memory(file, &record);
        if (kind == RECORD_WATCH)
            status = read_watch(file, &record);
        if (kind == RECORD_THREAD)
            status = read_held_thread(file, &record);
        if (kind == RECORD_VECTORS)
            status = read_held_vectors(file, &record);
        if (kind == RECORD_POINTER)
            status = read_held_pointer(file, &record);
        if (kind == RECORD_MAPPING)
            status = read_held_mapping(file, &record);
        if (status != CH_OK)
            return status;
    }
    return CH_OK;
}

// count_held_records is an upper bound of the number of records.
static size_t count_held_records(struct cursor c)
{
    size_t count = 0;
    for (; cursor_left(&c) > 0; count++) {
        cursor_skip(&c, sizeof(uint64_t));
        cursor_skip(&c, cursor_u64(&c));
    }
    return count;
}

enum ch_status held_file_init(struct held_file *file, const void *bytes, size_t size)
{
    *file = (struct held_file){ 0 };
    struct cursor c = cursor_over(bytes, size);
    size_t count = count_held_records(c);
    file->pieces = calloc(count + 1, sizeof(file->pieces[0]));
    file->watches = calloc(count + 1, sizeof(file->watches[0]));
    file->threads = calloc(count + 1, sizeof(file->threads[0]));
    file->mappings = calloc(count + 1, sizeof(file->mappings[0]));
    enum ch_status status = CH_ERR_NO_MEMORY;
    if (file->pieces != NULL && file->watches != NULL && file->threads != NULL &&
        file->mappings != NULL)
        status = read_records(file, c);
    if (status == CH_OK)
        qsort(file->threads, file->thread_count, sizeof(file->threads[0]), by_tid);
    if (status == CH_OK)
        separate_held_parts(file);
    else
        held_file_deinit(file);
    return status;
}

void held_file_deinit(struct held_file *file)
{
    free(file->pieces);
    free(file->watches);
    free(file->threads);
    free(file->mappings);
    *file = (struct held_file){ 0 };
}

const struct held_thread *held_file_thread(const struct held_file *file, uint64_t tid)
{
    const struct held_thread wanted = { .tid = tid };
    return file->thread_count != 0 ? bsearch(&wanted, file->threads, file->thread_count,
                                             sizeof(wanted), by_tid)
                                   : NULL;
}

const struct held_mapping *held_file_mapping(const struct held_file *file,
                                             uint64_t address)
{
    size_t first = 0;
    size_t end = file->mapping_count;
    while (first < end) {
        size_t middle = first + (end - first) / 2;
        const struct held_mapping *mapping = &file->mappings[middle];
        if (address >= mapping->start && address < mapping->end)
            return mapping;
        if (address < mapping->start)
            end = middle;
        else
            first = middle + 1;
    }
    return NULL;
}

bool held_file_is_mapped(const struct held_file *file, uint64_t address)
{
    return file->mapping_count == 0 || held_file_mapping(file, address) != NULL;
}

// read_piece is a memory_read_fn.
static size_t read_piece(void *source, uint64_t address, void *to, size_t length)
{
    const struct held_file *file = source;
    size_t low = 0;
    size_t high = file->piece_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct held_memory *piece = &file->pieces[middle];
        if (address < piece->address) {
            high = middle;
        } else if (address - piece->address >= piece->size) {
            low = middle + 1;
        } else {
            size_t at = (size_t)(address - piece->address);
            size_t size = length < piece->size - at ? length : piece->size - at;
            memcpy(to, piece->bytes + at, size);
            return size;
        }
    }
    return 0;
}

struct memory_reader held_file_reader(struct held_file *file)
{
    return (struct memory_reader){ .read = read_piece, .source = file };
}
