// SPDX-License-Identifier: Apache-2.0
#include "agent/core/small_core.h"

#include <elf.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/sorted.h"
#include "base/system/file.h"
#include "base/text.h"
#include "formats/debug/maps.h"
#include "images/link_map.h"

enum {
    LOADS_MAX = 0xfff0, // an ELF header counts program headers in 16 bits
    PROBES_MAX = 32,
    SEEN_SHARE = 4, // entries of the table for each page that may be copied
};

// A copying is the process that pages are copied from.
struct copying {
    struct small_core *to;
    struct core_capture *from;
    uint64_t low; // the range that segments are in
    uint64_t span;
};

static bool is_complete(const struct core_segment *segment)
{
    return segment->stated == segment->end - segment->start;
}

// mark_seen returns true if the page was not tried before.
static bool mark_seen(struct small_core *to, uint64_t page)
{
    uint64_t at = page / to->page_bytes * UINT64_C(0x9e3779b97f4a7c15) >> 20;
    for (unsigned i = 0; i < PROBES_MAX; i++) {
        uint64_t *entry = &to->seen[(at + i) & (to->seen_size - 1)];
        if (*entry == page + 1)
            return false;
        if (*entry == 0) {
            *entry = page + 1;
            return true;
        }
    }
    return false; // so many were tried that this one is left out
}

// take_page copies the page that holds address, if the kernel would dump it.
static void take_page(struct copying *copying, uint64_t address)
{
    struct small_core *to = copying->to;
    uint64_t page = address & ~(to->page_bytes - 1);
    const struct core_segment *segment =
        core_file_segment(&copying->from->core, address);
    if (to->count == to->limit || segment == NULL || page < segment->start ||
        page - segment->start >= segment->stated || !mark_seen(to, page))
        return;
    if (target_memory_copy(&copying->from->capture.memory, page,
                           to->bytes + to->count * to->page_bytes,
                           to->page_bytes) != to->page_bytes)
        return;
    to->pages[to->count] = (struct small_page){ page, to->count };
    to->count++;
}

// take_pages copies the pages of size bytes at address.
static void take_pages(struct copying *copying, uint64_t address, uint64_t size)
{
    const uint64_t page_bytes = copying->to->page_bytes;
    uint64_t skipped = address & (page_bytes - 1);
    for (uint64_t at = 0; at < size + skipped; at += page_bytes)
        take_page(copying, address - skipped + at);
}

// take_pointed copies the pages that the words of a copied page point into.
static void take_pointed(struct copying *copying, size_t number)
{
    const struct small_core *to = copying->to;
    const uint8_t *bytes = to->bytes + number * to->page_bytes;
    for (uint64_t at = 0; at < to->page_bytes; at += sizeof(uint64_t)) {
        uint64_t word;
        memcpy(&word, bytes + at, sizeof(word));
        if (word - copying->low < copying->span)
            take_page(copying, word);
    }
}

// take_headers copies the first pages of mapped files, and the vDSO.
static void take_headers(struct copying *copying)
{
    const struct core_file *core = &copying->from->core;
    uint64_t vdso;
    for (size_t i = 0; i < core->segment_count; i++) {
        const struct core_segment *segment = &core->segments[i];
        if (!is_complete(segment))
            take_pages(copying, segment->start, segment->stated);
    }
    if (core_file_auxv(core, CORE_AT_SYSINFO_EHDR, &vdso) != CH_OK)
        return;
    const struct core_segment *segment = core_file_segment(core, vdso);
    if (segment != NULL)
        take_pages(copying, segment->start, segment->stated);
}

// read_and_take is a memory_read_fn that copies the pages that are read.
static size_t read_and_take(void *source, uint64_t address, void *to, size_t length)
{
    struct copying *copying = source;
    size_t got =
        target_memory_copy(&copying->from->capture.memory, address, to, length);
    take_pages(copying, address, got);
    return got;
}

static enum ch_status read_link_name(void *reader, const struct link_map_entry *entry)
{
    char path[PATH_MAX];
    (void)!memory_read_string(reader, entry->name, path, sizeof(path));
    return CH_OK;
}

// take_linker_list copies what leads a debugger to the libraries.
static void take_linker_list(struct copying *copying)
{
    struct memory_reader reader = { .read = read_and_take, .source = copying };
    struct core_capture *from = copying->from;
    uint64_t headers;
    if (core_file_auxv(&from->core, CORE_AT_PHDR, &headers) != CH_OK)
        return;
    const struct target_image *program = images_find(&from->capture.images, headers);
    if (program != NULL && program->dynamic != 0)
        (void)!link_map_walk(&reader, program->dynamic, read_link_name, &reader);
}

// stack_segment is the segment of a stack pointer. That of a stack that overflowed is
// below its segment.
static const struct core_segment *stack_segment(const struct core_file *core,
                                                uint64_t sp)
{
    enum { BELOW_MAX = 1 << 20 };
    size_t after = SORTED_UP_TO(core->segments, core->segment_count, start, sp);
    const struct core_segment *next = &core->segments[after];
    if (after != 0 && sp < next[-1].end && next[-1].stated != 0)
        return &next[-1];
    return after < core->segment_count && next->start - sp < BELOW_MAX ? next : NULL;
}

static void take_stack(struct copying *copying, const struct stopped_thread *thread,
                       uint64_t most)
{
    const struct capture *capture = &copying->from->capture;
    uint64_t sp = thread->registers.value[capture->arch->sp] - TARGET_BELOW_STACK;
    const struct core_segment *segment = stack_segment(&copying->from->core, sp);
    if (segment == NULL)
        return;
    uint64_t start = sp > segment->start ? sp : segment->start;
    uint64_t size = segment->end - start;
    take_pages(copying, start, size < most ? size : most);
}

static void take_registers(struct copying *copying, const struct stopped_thread *thread)
{
    const struct unwind_arch *arch = copying->from->capture.arch;
    for (size_t i = 0; i < arch->register_count; i++)
        take_page(copying, thread->registers.value[i]);
    // Thread-local variables are below the thread pointer on x86-64, and above it on
    // AArch64; the C library's description of the thread is on the other side.
    if (thread->thread_pointer != 0)
        take_pages(copying, thread->thread_pointer - copying->to->page_bytes,
                   3 * copying->to->page_bytes);
}

// take_stacks copies stacks, and what registers point to, of the crashed thread first.
// That may have half of all pages, and the others share a quarter.
static void take_stacks(struct copying *copying)
{
    const struct stop *stop = &copying->from->capture.stop;
    const uint64_t all = copying->to->limit * copying->to->page_bytes;
    const uint64_t share = all / 4 / (stop->count + 1) + 1;
    for (int others = 0; others < 2; others++) {
        for (size_t i = 0; i < stop->count; i++) {
            const struct stopped_thread *thread = &stop->threads[i];
            bool crashed = thread->tid == copying->from->crash.tid;
            if (crashed == (others != 0))
                continue;
            take_stack(copying, thread, crashed ? all / 2 : share);
            take_registers(copying, thread);
        }
    }
}

// take_data copies what the process wrote of mapped files: the data of images, which
// has static variables. It may have a quarter of all pages.
static void take_data(struct copying *copying)
{
    const struct target_images *images = &copying->from->capture.images;
    size_t left = copying->to->limit / 4;
    for (size_t i = 0; i < images->mapping_count; i++) {
        const struct target_mapping *mapping = &images->mappings[i];
        uint64_t size = mapping->end - mapping->start;
        size_t before = copying->to->count;
        if (mapping->path_size == 0 || (mapping->permissions & MAPS_WRITE) == 0)
            continue;
        take_pages(copying, mapping->start,
                   size / copying->to->page_bytes < left
                       ? size
                       : left * copying->to->page_bytes);
        left -= copying->to->count - before;
    }
}

static enum ch_status make_page_tables(struct small_core *out, uint64_t limit_bytes)
{
    out->page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
    out->limit = (size_t)(limit_bytes / out->page_bytes);
    if (out->from->segment_count >= LOADS_MAX / 2)
        return CH_ERR_UNSUPPORTED;
    if (out->limit > LOADS_MAX - out->from->segment_count)
        out->limit = LOADS_MAX - out->from->segment_count;
    for (out->seen_size = 1; out->seen_size < SEEN_SHARE * out->limit;)
        out->seen_size *= 2;
    out->pages = calloc(out->limit + 1, sizeof(*out->pages));
    out->bytes = malloc((out->limit + 1) * out->page_bytes);
    out->seen = calloc(out->seen_size, sizeof(*out->seen));
    return out->pages != NULL && out->bytes != NULL && out->seen != NULL
               ? CH_OK
               : CH_ERR_NO_MEMORY;
}

enum ch_status small_core_copy(struct core_capture *from, uint64_t limit_bytes,
                               struct small_core *out)
{
    *out = (struct small_core){ .from = &from->core };
    struct copying copying = { .to = out, .from = from };
    enum ch_status status = make_page_tables(out, limit_bytes);
    if (status != CH_OK || out->from->segment_count == 0)
        return status;
    copying.low = out->from->segments[0].start;
    copying.span = out->from->segments[out->from->segment_count - 1].end - copying.low;
    take_headers(&copying);
    take_linker_list(&copying);
    size_t next = out->count; // the first page whose words are followed
    take_stacks(&copying);
    for (size_t end = out->count; next < end; next++)
        take_pointed(&copying, next);
    take_data(&copying);
    for (; next < out->count; next++)
        take_pointed(&copying, next);
    return CH_OK;
}

void small_core_deinit(struct small_core *core)
{
    free(core->pages);
    free(core->bytes);
    free(core->seen);
    *core = (struct small_core){ 0 };
}

static int compare_small_pages(const void *a, const void *b)
{
    const struct small_page *first = a;
    const struct small_page *second = b;
    return (first->address > second->address) - (first->address < second->address);
}

// add_load appends the program header of a range whose first page_count pages, from
// number on, are in the file.
static void add_load(const struct small_core *core, const struct core_segment *range,
                     size_t number, size_t page_count, struct text *out)
{
    const Elf64_Phdr load = { .p_type = PT_LOAD,
                              .p_flags = range->flags,
                              .p_offset = number * core->page_bytes,
                              .p_vaddr = range->start,
                              .p_filesz = page_count * core->page_bytes,
                              .p_memsz = range->end - range->start,
                              .p_align = core->page_bytes };
    text_append(out, &load, sizeof(load));
}

// add_segment_loads appends the program headers of a segment: a whole one is cut into
// runs of pages that are there. The pages, of which next is the next, are by address.
static void add_segment_loads(const struct small_core *core,
                              const struct core_segment *segment, size_t *next,
                              struct text *out)
{
    struct core_segment range = *segment;
    bool whole = is_complete(segment);
    size_t at = *next;
    if (!whole && (at == core->count || core->pages[at].address != segment->start))
        add_load(core, segment, at, 0, out);
    while (at < core->count && core->pages[at].address < segment->end) {
        size_t first = at++;
        range.start = core->pages[first].address;
        while (at < core->count && core->pages[at].address < segment->end &&
               core->pages[at].address ==
                   core->pages[at - 1].address + core->page_bytes)
            at++;
        if (whole)
            range.end = range.start + (at - first) * core->page_bytes;
        if (whole || range.start == segment->start)
            add_load(core, &range, first, at - first, out);
    }
    *next = at;
}

// write_core_head writes headers and notes, and moves fd to where the pages begin.
static enum ch_status write_core_head(const struct small_core *core, struct text *loads,
                                      int fd)
{
    const struct core_file *from = core->from;
    const size_t count = loads->size / sizeof(Elf64_Phdr) + 1;
    const uint64_t notes_at = sizeof(Elf64_Ehdr) + count * sizeof(Elf64_Phdr);
    const uint64_t page = core->page_bytes;
    const uint64_t pages_at = (notes_at + from->notes.size + page - 1) / page * page;
    const Elf64_Ehdr head = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB,
                                           EV_CURRENT },
                              .e_type = ET_CORE,
                              .e_machine = from->machine,
                              .e_version = EV_CURRENT,
                              .e_phoff = sizeof(Elf64_Ehdr),
                              .e_ehsize = sizeof(Elf64_Ehdr),
                              .e_phentsize = sizeof(Elf64_Phdr),
                              .e_phnum = (Elf64_Half)count };
    const Elf64_Phdr notes = { .p_type = PT_NOTE,
                               .p_offset = notes_at,
                               .p_filesz = from->notes.size,
                               .p_align = 4 };
    for (size_t i = 0; i + 1 < count; i++) {
        Elf64_Phdr load;
        char *place = loads->bytes + i * sizeof(load);
        memcpy(&load, place, sizeof(load));
        load.p_offset += pages_at;
        memcpy(place, &load, sizeof(load));
    }
    bool done = file_write_all(fd, &head, sizeof(head)) &&
                file_write_all(fd, &notes, sizeof(notes)) &&
                file_write_all(fd, loads->bytes, loads->size) &&
                file_write_all(fd, from->notes.bytes, from->notes.size) &&
                lseek(fd, (off_t)pages_at, SEEK_SET) >= 0;
    return done ? CH_OK : CH_ERR_IO;
}

enum ch_status small_core_write(struct small_core *core, int fd)
{
    const struct core_file *from = core->from;
    struct text CH_CLEANUP(text_deinit) loads = { 0 };
    size_t next = 0;
    if (core->count == 0)
        return CH_ERR_UNSUPPORTED; // nothing of it could be read
    qsort(core->pages, core->count, sizeof(*core->pages), compare_small_pages);
    for (size_t i = 0; i < from->segment_count; i++)
        add_segment_loads(core, &from->segments[i], &next, &loads);
    if (!text_ok(&loads))
        return CH_ERR_NO_MEMORY;
    enum ch_status status = write_core_head(core, &loads, fd);
    for (size_t i = 0; status == CH_OK && i < core->count; i++) {
        const uint8_t *page = core->bytes + core->pages[i].number * core->page_bytes;
        if (!file_write_all(fd, page, core->page_bytes))
            status = CH_ERR_IO;
    }
    return status;
}
