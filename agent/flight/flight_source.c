// SPDX-License-Identifier: Apache-2.0
#include "agent/flight/flight_source.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "agent/live/capture.h"
#include "base/array.h"
#include "base/clock.h"
#include "base/cursor.h"
#include "base/status.h"
#include "formats/debug/maps.h"
#include "formats/interchange/fdr.h"
#include "shared/counter.h"

enum ch_status flight_calls_init(struct flight_calls *calls, size_t kept)
{
    *calls = (struct flight_calls){ .kept = kept != 0 ? kept : 1 };
    calls->events = calloc(calls->kept, sizeof(*calls->events));
    return calls->events != NULL ? CH_OK : CH_ERR_NO_MEMORY;
}

void flight_calls_deinit(struct flight_calls *calls)
{
    free(calls->events);
    free(calls->open);
    *calls = (struct flight_calls){ 0 };
}

void flight_calls_clear(struct flight_calls *calls)
{
    calls->count = 0;
    calls->open_count = 0;
    calls->deeper = 0;
    calls->shallowest = 0;
    calls->cpu = 0;
}

static int64_t level_of(const struct flight_calls *calls)
{
    return calls->shallowest + (int64_t)(calls->open_count + calls->deeper);
}

static struct flight_event *place_of_call(const struct flight_calls *calls,
                                          uint64_t number)
{
    return &calls->events[number % calls->kept];
}

static enum ch_status push_call(struct flight_calls *calls,
                                const struct flight_event *entry)
{
    if (calls->open_count == FLIGHT_OPEN_MAX) {
        calls->deeper++;
        return CH_OK;
    }
    if (!array_reserve(&calls->open, &calls->open_capacity, calls->open_count,
                       sizeof(*calls->open)))
        return CH_ERR_NO_MEMORY;
    calls->open[calls->open_count++] = *entry;
    return CH_OK;
}

// pop_call closes the innermost open call of function, and the calls made from it.
// Where none is open, its entry was overwritten, and so were the entries of all calls
// open inside it.
static void pop_call(struct flight_calls *calls, uint32_t function)
{
    if (calls->deeper != 0) {
        calls->deeper--;
        return;
    }
    for (size_t i = calls->open_count; i > 0; i--) {
        if (calls->open[i - 1].function == function) {
            calls->open_count = i - 1;
            return;
        }
    }
    calls->open_count = 0;
    calls->shallowest--;
}

// note_call_argument attaches an argument to the entry just before it.
static void note_call_argument(struct flight_calls *calls, uint64_t argument)
{
    struct flight_event *last =
        calls->count != 0 ? place_of_call(calls, calls->count - 1) : NULL;
    if (last == NULL || last->action != FDR_ENTER_ARGS || last->has_argument)
        return; // a second argument, or without an entry
    last->argument = argument;
    last->has_argument = true;
    if (calls->deeper == 0 && calls->open_count != 0)
        calls->open[calls->open_count - 1] = *last;
}

static enum ch_status note_called_function(struct flight_calls *calls,
                                           const struct fdr_record *record)
{
    struct flight_event event = { .action = record->action,
                                  .function = record->function,
                                  .tsc = record->tsc,
                                  .cpu = calls->cpu };
    enum ch_status status = CH_OK;
    bool entry = record->action == FDR_ENTER || record->action == FDR_ENTER_ARGS;
    event.level = level_of(calls);
    if (entry) {
        status = push_call(calls, &event);
    } else {
        pop_call(calls, record->function);
        event.level = level_of(calls);
    }
    *place_of_call(calls, calls->count++) = event;
    return status;
}

enum ch_status flight_calls_add(struct flight_calls *calls,
                                const struct fdr_record *record)
{
    switch (record->kind) {
    case FDR_NEW_CPU:
        calls->cpu = record->cpu;
        return CH_OK;
    case FDR_CALL_ARGUMENT:
        note_call_argument(calls, record->argument);
        return CH_OK;
    case FDR_FUNCTION:
        return note_called_function(calls, record);
    default:
        return CH_OK;
    }
}

size_t flight_calls_listed(const struct flight_calls *calls)
{
    return calls->count < calls->kept ? (size_t)calls->count : calls->kept;
}

const struct flight_event *flight_calls_event(const struct flight_calls *calls,
                                              size_t index)
{
    return place_of_call(calls, calls->count - flight_calls_listed(calls) + index);
}

uint64_t flight_calls_depth(const struct flight_calls *calls,
                            const struct flight_event *event)
{
    return (uint64_t)(event->level - calls->shallowest);
}

void flight_clock_now(struct flight_clock *clock)
{
    clock->now_tsc = counter_read();
    clock->now_ns = counter_clock_ns();
}

int64_t flight_clock_ns(const struct flight_clock *clock, uint64_t tsc)
{
    uint64_t ticks = clock->now_tsc - clock->start_tsc;
    __int128 back = (int64_t)(tsc - clock->now_tsc);
    __int128 span = (int64_t)(clock->now_ns - clock->start_ns);
    if (ticks == 0 || (int64_t)ticks < 0)
        return (int64_t)clock->now_ns;
    return (int64_t)((__int128)clock->now_ns + back * span / (int64_t)ticks);
}

uint64_t flight_clock_frequency(const struct flight_clock *clock)
{
    uint64_t ns = clock->now_ns - clock->start_ns;
    unsigned __int128 ticks = clock->now_tsc - clock->start_tsc;
    return ns != 0 ? (uint64_t)(ticks * 1000000000u / ns) : 0;
}

enum ch_status flight_source_add(const struct fdr_header *header, const void *bytes,
                                 size_t size, struct flight_calls *calls,
                                 uint64_t *dropped)
{
    struct fdr_reader reader;
    struct fdr_record record;
    enum ch_status status;
    fdr_reader_init_buffer(&reader, header, bytes, size);
    while ((status = fdr_next_record(&reader, &record)) == CH_OK) {
        status = flight_calls_add(calls, &record);
        if (status != CH_OK)
            return status;
    }
    *dropped += status != CH_END;
    return CH_OK;
}

// XRay's instrumentation map in the memory of a process: the functions that its numbers
// stand for (docs/formats/fdr.md). The agent opens no files while the process is held,
// and section headers are not in memory, so the map is recognized by its entries.

enum {
    ENTRY_SIZE = 32,
    PADDING_SIZE = 13,
    FUNCTION_OFFSET = 8,
    VERSION_RELATIVE = 2,
    KIND_MAX = 5,
    VERSION_OFFSET = 18,
    ENTRIES_MIN = 2, // a function has an entry and an exit
    FUNCTION_BYTES_MAX = 16 << 20,
    MAPPING_BYTES_MAX = 64 << 20,
};

struct map_search {
    const struct target_image *image;
    uint64_t *functions;
    size_t limit;
    size_t count;
    size_t entries;    // of the run being read
    uint64_t previous; // the previous entry's function
};

static bool flight_is_in_text(const struct target_image *image, uint64_t address)
{
    return address >= image->base && address < image->end_of_text;
}

// read_map_entry decodes what may be an entry at address at. False: it is not one.
static bool read_map_entry(const struct target_image *image, const uint8_t *bytes,
                           uint64_t at, uint64_t *out_function)
{
    static const uint8_t zeros[PADDING_SIZE];
    struct cursor entry = cursor_over(bytes, ENTRY_SIZE);
    uint64_t place = at + cursor_u64(&entry);
    uint64_t function = at + FUNCTION_OFFSET + cursor_u64(&entry);
    uint8_t kind = cursor_u8(&entry);
    uint8_t always = cursor_u8(&entry);
    uint8_t version = cursor_u8(&entry);
    const uint8_t *padding = cursor_take(&entry, PADDING_SIZE);
    if (!cursor_ok(&entry) || kind > KIND_MAX || always > 1 ||
        version != VERSION_RELATIVE || memcmp(padding, zeros, PADDING_SIZE) != 0 ||
        !flight_is_in_text(image, place) || !flight_is_in_text(image, function) ||
        place < function || place - function > FUNCTION_BYTES_MAX)
        return false;
    *out_function = function;
    return true;
}

static void add_map_entry(struct map_search *search, uint64_t function)
{
    if (search->entries++ != 0 && function == search->previous)
        return;
    search->previous = function;
    if (search->count < search->limit)
        search->functions[search->count++] = function;
}

// read_map_entries reads consecutive entries from the start of bytes on.
static void read_map_entries(struct map_search *search, const uint8_t *bytes,
                             size_t size, uint64_t address)
{
    uint64_t function = 0;
    search->entries = 0;
    search->count = 0;
    for (size_t at = 0; size - at >= ENTRY_SIZE; at += ENTRY_SIZE) {
        if (!read_map_entry(search->image, bytes + at, address + at, &function))
            return;
        add_map_entry(search, function);
    }
}

// search_bytes finds the first run of entries and reads it. True: it was found. The
// search goes byte by byte because the section has no alignment.
static bool search_bytes(struct map_search *search, const uint8_t *bytes, size_t size,
                         uint64_t address)
{
    for (size_t at = 0; at + ENTRY_SIZE <= size; at++) {
        if (bytes[at + VERSION_OFFSET] != VERSION_RELATIVE)
            continue;
        read_map_entries(search, bytes + at, size - at, address + at);
        if (search->entries >= ENTRIES_MIN)
            return true;
    }
    return false;
}

static bool search_mapping(struct map_search *search, struct capture *capture,
                           const struct target_mapping *mapping)
{
    size_t size = (size_t)(mapping->end - mapping->start);
    uint8_t *bytes = size <= MAPPING_BYTES_MAX ? malloc(size) : NULL;
    if (bytes == NULL)
        return false;
    size = target_memory_copy(&capture->memory, mapping->start, bytes, size);
    bool found = search_bytes(search, bytes, size, mapping->start);
    free(bytes);
    return found;
}

// find_flight_program is the image of the program's executable.
static const struct target_image *find_flight_program(const struct capture *capture)
{
    const struct text *path = &capture->process.executable;
    for (size_t i = 0; i < capture->images.count; i++) {
        const struct target_image *image = &capture->images.images[i];
        if (path->size != 0 && image->path_size == path->size &&
            memcmp(image->path, path->bytes, path->size) == 0)
            return image;
    }
    return NULL;
}

// flight_map_find writes the addresses of functions 1, 2, ... of the program to
// functions, which has room for limit, and returns how many there are: 0 when no map is
// found.
static size_t flight_map_find(struct capture *capture, uint64_t *functions,
                              size_t limit)
{
    struct map_search search = { .image = find_flight_program(capture),
                                 .functions = functions,
                                 .limit = limit };
    const struct target_images *images = &capture->images;
    for (size_t i = 0; search.image != NULL && i < images->mapping_count; i++) {
        const struct target_mapping *mapping = &images->mappings[i];
        bool data = (mapping->permissions & MAPS_READ) != 0 &&
                    (mapping->permissions & MAPS_EXECUTE) == 0;
        if (data && mapping->start >= search.image->base &&
            mapping->start < search.image->end &&
            search_mapping(&search, capture, mapping))
            return search.count;
    }
    return 0;
}

enum {
    CHUNK_BYTES = 1 << 20,
    TIME_MAX_US = 300000,
    STEP = 16,
    // A version 5 buffer begins with the records new-buffer, wall-clock, pid and
    // new-cpu.
    PREAMBLE_SIZE = 4 * FDR_METADATA_SIZE,
    // The fields of the runtime's descriptor of a buffer: a pointer to the count of
    // bytes written, a generation, the buffer's address, its size.
    EXTENTS_BEFORE = 16,
    DESCRIPTION_SIZE = 32,
};

static const struct fdr_header header = { .version = 5, .type = 1 };

// A visit_fn is called with a piece of the process's memory at address, which
// scan->bytes holds.
typedef void visit_fn(struct flight_scan *scan, uint64_t address, size_t size);

// scan_is_late returns true if the time limit has passed; once it has, the search
// stops.
static bool scan_is_late(struct flight_scan *scan)
{
    scan->late = scan->late || capture_clock_us() > scan->deadline_us;
    return scan->late;
}

// visit_pages visits touched pages in chunks that overlap by the size of a preamble, so
// that none is missed at a boundary.
static void visit_pages(struct flight_scan *scan, uint64_t start, uint64_t end,
                        visit_fn *visit)
{
    struct target_memory *memory = &scan->capture->memory;
    const uint64_t step = CHUNK_BYTES - PREAMBLE_SIZE;
    for (uint64_t at = start; at < end && !scan_is_late(scan); at += step) {
        uint64_t left = end - at;
        size_t wanted = left < CHUNK_BYTES ? (size_t)left : CHUNK_BYTES;
        size_t size = target_memory_copy(memory, at, scan->bytes, wanted);
        visit(scan, at, size);
    }
}

static void visit_mapping(struct flight_scan *scan,
                          const struct target_mapping *mapping, visit_fn *visit)
{
    uint64_t start = mapping->start;
    uint64_t end = start;
    while (!scan_is_late(scan) &&
           touched_pages_next(&scan->pages, &start, mapping->end, &end)) {
        visit_pages(scan, start, end, visit);
        start = end;
    }
}

// visit_memory visits all anonymous writable memory that the program has touched.
static void visit_memory(struct flight_scan *scan, visit_fn *visit)
{
    const struct target_images *images = &scan->capture->images;
    for (size_t i = 0; i < images->mapping_count; i++) {
        const struct target_mapping *mapping = &images->mappings[i];
        unsigned needed = MAPS_READ | MAPS_WRITE;
        if ((mapping->permissions & needed) == needed && mapping->inode == 0 &&
            mapping->end - mapping->start <= MAPPING_BYTES_MAX)
            visit_mapping(scan, mapping, visit);
    }
}

// read_preamble decodes the records that a buffer begins with. False: this is not a
// buffer.
static bool read_preamble(const struct flight_scan *scan, const uint8_t *bytes,
                          struct flight_scan_buffer *out)
{
    struct fdr_reader reader;
    struct fdr_record records[4];
    fdr_reader_init_buffer(&reader, &header, bytes, PREAMBLE_SIZE);
    for (size_t i = 0; i < 4; i++) {
        if (fdr_next_record(&reader, &records[i]) != CH_OK)
            return false;
    }
    if (records[2].kind != FDR_PID || records[2].pid != scan->capture->stop.pid ||
        records[3].kind != FDR_NEW_CPU || records[0].tid <= 0 ||
        records[1].microseconds >= 1000000)
        return false;
    out->tid = records[0].tid;
    out->tsc = records[3].tsc;
    out->ns = records[1].seconds * 1000000000u + records[1].microseconds * 1000u;
    out->size = FLIGHT_SCAN_BUFFER_BYTES;
    return true;
}

static void find_buffers(struct flight_scan *scan, uint64_t address, size_t size)
{
    enum { NEW_BUFFER = 0x01, WALL_CLOCK = 0x09, PID = 0x13, NEW_CPU = 0x05 };
    for (size_t at = 0; at + PREAMBLE_SIZE <= size; at += STEP) {
        const uint8_t *bytes = scan->bytes + at;
        struct flight_scan_buffer buffer = { .address = address + at };
        if (bytes[0] != NEW_BUFFER || bytes[FDR_METADATA_SIZE] != WALL_CLOCK ||
            bytes[2 * FDR_METADATA_SIZE] != PID ||
            bytes[3 * FDR_METADATA_SIZE] != NEW_CPU ||
            scan->count == FLIGHT_SCAN_BUFFERS || !read_preamble(scan, bytes, &buffer))
            continue;
        // Because chunks overlap, the last buffer may be found again.
        if (scan->count == 0 ||
            scan->buffers[scan->count - 1].address != buffer.address)
            scan->buffers[scan->count++] = buffer;
    }
}

static int by_ring_address(const void *left, const void *right)
{
    const struct flight_scan_buffer *a = left;
    const struct flight_scan_buffer *b = right;
    return (a->address > b->address) - (a->address < b->address);
}

static int by_thread(const void *left, const void *right)
{
    const struct flight_scan_buffer *a = left;
    const struct flight_scan_buffer *b = right;
    if (a->tid != b->tid)
        return a->tid < b->tid ? -1 : 1;
    return (a->tsc > b->tsc) - (a->tsc < b->tsc);
}

// note_buffer_size takes the written size from a buffer's descriptor, if at, where the
// buffer's address was found, is in one.
static void note_buffer_size(struct flight_scan *scan,
                             struct flight_scan_buffer *buffer, const uint8_t *at)
{
    uint64_t words[DESCRIPTION_SIZE / sizeof(uint64_t)];
    uint64_t written = 0;
    memcpy(words, at - EXTENTS_BEFORE, sizeof(words));
    if (words[3] < PREAMBLE_SIZE || words[3] > MAPPING_BYTES_MAX ||
        memory_read_word(&scan->capture->reader, words[0], &written) != CH_OK ||
        written < PREAMBLE_SIZE || written > words[3])
        return;
    buffer->size =
        written < FLIGHT_SCAN_BUFFER_BYTES ? written : FLIGHT_SCAN_BUFFER_BYTES;
}

// find_sizes looks for the descriptors of the buffers found.
static void find_sizes(struct flight_scan *scan, uint64_t address, size_t size)
{
    uint64_t first = scan->buffers[0].address;
    uint64_t last = scan->buffers[scan->count - 1].address;
    (void)address;
    for (size_t at = EXTENTS_BEFORE; at + EXTENTS_BEFORE <= size; at += 8) {
        struct flight_scan_buffer key;
        memcpy(&key.address, scan->bytes + at, sizeof(key.address));
        if (key.address < first || key.address > last)
            continue;
        struct flight_scan_buffer *found =
            bsearch(&key, scan->buffers, scan->count, sizeof(key), by_ring_address);
        if (found != NULL)
            note_buffer_size(scan, found, scan->bytes + at);
    }
}

static void list_scanned_threads(struct flight_scan *scan)
{
    qsort(scan->buffers, scan->count, sizeof(scan->buffers[0]), by_thread);
    for (size_t i = 0; i < scan->count; i++) {
        if (i == 0 || scan->buffers[i].tid != scan->buffers[i - 1].tid)
            scan->threads[scan->thread_count++] = i;
    }
}

// read_clock sets the clock from the first buffer. Where XRay does not know the
// counter's frequency, its timestamps are nanoseconds of the real time instead.
static void read_clock(const struct flight_scan *scan, struct flight_clock *clock)
{
    const uint64_t day = UINT64_C(86400000000000);
    const struct flight_scan_buffer *buffer = &scan->buffers[0];
    flight_clock_now(clock);
    uint64_t real = clock_now_ns(CLOCK_REALTIME);
    clock->start_tsc = buffer->tsc;
    clock->start_ns = buffer->ns;
    if (buffer->tsc > real || real - buffer->tsc > day)
        return;
    clock->now_tsc = real;
    clock->start_tsc = real - 1000000000u;
    clock->start_ns = clock->now_ns - 1000000000u;
}

static bool has_thread(const struct capture *capture, pid_t tid)
{
    for (size_t i = 0; i < capture->stop.count; i++) {
        if (capture->stop.threads[i].tid == tid)
            return capture->stop.threads[i].state != STOP_GONE;
    }
    return capture->crash->tid == tid;
}

static bool scanned_thread_of(const void *context, size_t index,
                              struct flight_thread *out)
{
    const struct flight_scan *scan = context;
    pid_t tid = scan->buffers[scan->threads[index]].tid;
    *out = (struct flight_thread){ .tid = tid,
                                   .source = "xray-fdr-memory",
                                   .ended = !has_thread(scan->capture, tid) };
    return true;
}

static enum ch_status read_scanned_thread(void *context, size_t index,
                                          struct flight_calls *calls, uint64_t *dropped)
{
    struct flight_scan *scan = context;
    size_t i = scan->threads[index];
    pid_t tid = scan->buffers[i].tid;
    for (; i < scan->count && scan->buffers[i].tid == tid; i++) {
        const struct flight_scan_buffer *buffer = &scan->buffers[i];
        size_t size = target_memory_copy(&scan->capture->memory, buffer->address,
                                         scan->bytes, (size_t)buffer->size);
        enum ch_status status =
            flight_source_add(&header, scan->bytes, size, calls, dropped);
        if (status != CH_OK)
            return status;
    }
    return CH_OK;
}

static uint64_t scanned_function_of(const void *context, uint32_t number)
{
    const struct flight_scan *scan = context;
    return number != 0 && number <= scan->function_count ? scan->functions[number - 1]
                                                         : 0;
}

// search_memory finds buffers and their sizes within the time limit.
static void search_memory(struct flight_scan *scan)
{
    scan->deadline_us = capture_clock_us() + TIME_MAX_US;
    touched_pages_open(&scan->pages, scan->capture->memory.pid);
    visit_memory(scan, find_buffers);
    qsort(scan->buffers, scan->count, sizeof(scan->buffers[0]), by_ring_address);
    if (scan->count != 0)
        visit_memory(scan, find_sizes);
    touched_pages_close(&scan->pages);
    if (scan->late)
        capture_problem(scan->capture, "flight", "memory not searched to its end", 0);
}

static enum ch_status search_for_rings(struct flight_scan *scan)
{
    search_memory(scan);
    if (scan->count == 0)
        return CH_ERR_NOT_FOUND;
    list_scanned_threads(scan);
    scan->function_count =
        flight_map_find(scan->capture, scan->functions, FLIGHT_SCAN_FUNCTIONS);
    return CH_OK;
}

enum ch_status flight_scan_open(struct flight_scan *scan, struct capture *capture,
                                struct flight_source *out)
{
    *scan = (struct flight_scan){ .capture = capture };
    scan->buffers = calloc(FLIGHT_SCAN_BUFFERS, sizeof(scan->buffers[0]));
    scan->threads = calloc(FLIGHT_SCAN_BUFFERS, sizeof(scan->threads[0]));
    scan->functions = calloc(FLIGHT_SCAN_FUNCTIONS, sizeof(scan->functions[0]));
    scan->bytes = malloc(CHUNK_BYTES);
    enum ch_status status = CH_ERR_NO_MEMORY;
    if (scan->buffers != NULL && scan->threads != NULL && scan->functions != NULL &&
        scan->bytes != NULL)
        status = search_for_rings(scan);
    if (status != CH_OK) {
        flight_scan_close(scan);
        return status;
    }
    *out = (struct flight_source){ .context = scan,
                                   .count = scan->thread_count,
                                   .thread = scanned_thread_of,
                                   .read = read_scanned_thread,
                                   .function = scanned_function_of };
    read_clock(scan, &out->clock);
    return CH_OK;
}

void flight_scan_close(struct flight_scan *scan)
{
    free(scan->buffers);
    free(scan->threads);
    free(scan->functions);
    free(scan->bytes);
    *scan = (struct flight_scan){ 0 };
}
