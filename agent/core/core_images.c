// SPDX-License-Identifier: Apache-2.0
//
// How it works (core_images_find):
// 1. core_mappings_read makes the list of mappings from the core's segments and its
//    table of mapped files (NT_FILE).
// 2. With a table, use_table goes through its runs of mappings of one file
//    (next_image_run) and opens the file of each. Without one (qemu-user),
//    follow_pointers finds the program by its program headers, the libraries by the
//    dynamic linker's list, and names their mappings (core_mappings_name).
// 3. A file is used only if image_is_wanted accepts it: its build ID must be that in
//    the core's memory, where there is one, and the program's entry point must be
//    AT_ENTRY. core_memory_add then supplies from the file what the core lacks.
//
// core_memory reads the core first and the added regions second, so a file never
// overrides what the core has.
//
// Invariants: mappings are sorted and do not overlap (drop_mapping_overlaps). Names and
// files that images refer to live until core_images_deinit (keep_name, keep_file). A
// file that is refused is reported by `say`, and the core is read without it.
#include "agent/core/core_images.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/core/core_file.h"
#include "base/array.h"
#include "base/hex.h"
#include "base/sorted.h"
#include "formats/debug/elf.h"
#include "formats/debug/maps.h"
#include "images/image_outline.h"
#include "images/images.h"
#include "images/link_map.h"

enum ch_status core_memory_init(struct core_memory *memory,
                                const struct core_file *core)
{
    *memory = (struct core_memory){ .core = core };
    return file_blocks_init(&memory->blocks);
}

void core_memory_deinit(struct core_memory *memory)
{
    file_blocks_deinit(&memory->blocks);
    free(memory->regions);
    *memory = (struct core_memory){ 0 };
}

// place_segment is the index of the first region that starts after address.
static size_t place_segment(const struct core_memory *memory, uint64_t address)
{
    return SORTED_UP_TO(memory->regions, memory->count, start, address);
}

enum ch_status core_memory_add(struct core_memory *memory,
                               const struct core_region *region)
{
    if (!array_reserve(&memory->regions, &memory->capacity, memory->count,
                       sizeof(*memory->regions)))
        return CH_ERR_NO_MEMORY;
    size_t at = place_segment(memory, region->start);
    struct core_region *to = &memory->regions[at];
    memmove(to + 1, to, (memory->count - at) * sizeof(*to));
    *to = *region;
    memory->count++;
    return CH_OK;
}

static size_t read_core_region(struct core_memory *memory, uint64_t address, void *to,
                               size_t length)
{
    size_t at = place_segment(memory, address);
    if (at == 0 || address >= memory->regions[at - 1].end)
        return 0;
    const struct core_region *region = &memory->regions[at - 1];
    uint64_t left = region->end - address;
    return file_blocks_read(&memory->blocks, region->fd,
                            region->offset + (address - region->start), to,
                            left < length ? (size_t)left : length);
}

static size_t read_core_memory(void *source, uint64_t address, void *to, size_t length)
{
    struct core_memory *memory = source;
    size_t count = core_file_read(memory->core, &memory->blocks, address, to, length);
    return count != 0 ? count : read_core_region(memory, address, to, length);
}

struct memory_reader core_memory_reader(struct core_memory *memory)
{
    return (struct memory_reader){ .read = read_core_memory,
                                   .source = memory,
                                   .big_endian = memory->core->big_endian };
}

// The memory map of a core: its segments, with the files that the core's table of
// mapped files names for them.

enum { MAPPINGS_MAX = 1 << 18 };

static int by_mapping_start(const void *left, const void *right)
{
    const struct target_mapping *a = left;
    const struct target_mapping *b = right;
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    return 0;
}

// file_mapping converts an entry of the table of files. Consecutive equal paths are one
// file; a running number replaces the inode.
static struct target_mapping file_mapping(const struct core_mapping *from,
                                          const struct target_mapping *before)
{
    static const char suffix[] = " (deleted)";
    size_t size = strlen(from->path);
    struct target_mapping mapping = {
        .start = from->start,
        .end = from->end,
        .permissions = MAPS_READ | MAPS_EXECUTE,
        .offset = from->offset,
        .path = from->path,
    };
    if (size > sizeof(suffix) - 1 &&
        strcmp(from->path + size - (sizeof(suffix) - 1), suffix) == 0) {
        mapping.deleted = true;
        size -= sizeof(suffix) - 1;
    }
    mapping.path_size = size;
    bool same = before != NULL && before->path_size == size &&
                before->deleted == mapping.deleted &&
                memcmp(before->path, from->path, size) == 0;
    mapping.inode = before != NULL ? before->inode + !same : 1;
    return mapping;
}

// read_mapped_files lists the table's mappings, sorted.
static size_t read_mapped_files(const struct core_file *core,
                                struct target_mapping *out, size_t room)
{
    struct core_files files = core->files;
    struct core_mapping mapping;
    size_t count = 0;
    while (core->has_files && count < room) {
        enum ch_status status = core_files_next(&files, &mapping);
        if (status == CH_END || status == CH_ERR_TRUNCATED)
            break;
        if (status != CH_OK)
            continue;
        out[count] = file_mapping(&mapping, count != 0 ? &out[count - 1] : NULL);
        count++;
    }
    qsort(out, count, sizeof(*out), by_mapping_start);
    return count;
}

// find_mapping is the file mapped at address, or NULL.
static const struct target_mapping *find_mapping(const struct target_mapping *files,
                                                 size_t count, uint64_t address)
{
    size_t after = SORTED_UP_TO(files, count, start, address);
    return after != 0 && address < files[after - 1].end ? &files[after - 1] : NULL;
}

static struct target_mapping segment_mapping(const struct core_segment *segment,
                                             const struct target_mapping *file)
{
    uint32_t flags = segment->flags;
    struct target_mapping mapping = { .start = segment->start,
                                      .end = segment->end,
                                      .permissions =
                                          (flags & ELF_PF_R ? MAPS_READ : 0u) |
                                          (flags & ELF_PF_W ? MAPS_WRITE : 0u) |
                                          (flags & ELF_PF_X ? MAPS_EXECUTE : 0u) };
    if (file == NULL)
        return mapping;
    mapping.inode = file->inode;
    mapping.offset = file->offset + (segment->start - file->start);
    mapping.path = file->path;
    mapping.path_size = file->path_size;
    mapping.deleted = file->deleted;
    return mapping;
}

// drop_mapping_overlaps cuts mappings that reach into the next one; only a damaged core
// has such.
static void drop_mapping_overlaps(struct target_images *images)
{
    for (size_t i = 1; i < images->mapping_count; i++) {
        struct target_mapping *before = &images->mappings[i - 1];
        if (before->end > images->mappings[i].start)
            before->end = images->mappings[i].start;
    }
}

// name_special gives the mappings that the kernel made, as far as the auxiliary vector
// says where they are, the names that they have in /proc/PID/maps. The program's name
// is on the first thread's stack.
static void name_special(const struct core_file *core, struct target_images *images)
{
    static const struct {
        uint64_t type;
        const char *name;
    } specials[] = { { CORE_AT_SYSINFO_EHDR, "[vdso]" },
                     { CORE_AT_EXECFN, "[stack]" } };
    for (size_t i = 0; i < sizeof(specials) / sizeof(specials[0]); i++) {
        uint64_t address;
        if (core_file_auxv(core, specials[i].type, &address) != CH_OK)
            continue;
        size_t after =
            SORTED_UP_TO(images->mappings, images->mapping_count, start, address);
        struct target_mapping *mapping =
            after != 0 ? &images->mappings[after - 1] : NULL;
        if (mapping == NULL || address >= mapping->end || mapping->inode != 0)
            continue;
        mapping->path = specials[i].name;
        mapping->path_size = strlen(specials[i].name);
    }
}

// add_unsaved_parts adds what the core's segments do not have of a file's mapping from
// address on: a minidump has pieces of memory within a mapping. It returns the end.
static uint64_t add_unsaved_parts(const struct core_file *core,
                                  const struct target_mapping *file, uint64_t from,
                                  struct target_images *out)
{
    const struct core_segment *segments = core->segments;
    uint64_t at = file->start > from ? file->start : from;
    size_t i = SORTED_UP_TO(segments, core->segment_count, start, at);
    for (i -= i != 0; at < file->end; i++) {
        bool last = i >= core->segment_count || segments[i].start >= file->end;
        uint64_t end = last ? file->end : segments[i].start;
        struct target_mapping part = *file;
        part.start = at;
        part.end = end;
        part.offset += at - file->start;
        if (end > at)
            out->mappings[out->mapping_count++] = part;
        end = last ? file->end : segments[i].end;
        at = end > at ? end : at;
    }
    return at;
}

// core_mappings_read fills out->mappings, sorted by start, without overlaps. Paths
// point into the core's notes. A mapping that is only in the table has unknown
// permissions and counts as code; gcore leaves such mappings out of the dump.
CH_CHECKED static enum ch_status core_mappings_read(const struct core_file *core,
                                                    struct target_images *out)
{
    size_t segments = core->segment_count;
    size_t room = core->has_files && core->files.count < MAPPINGS_MAX
                      ? (size_t)core->files.count
                      : MAPPINGS_MAX;
    if (!core->has_files)
        room = 0;
    struct target_mapping *files = calloc(room + 1, sizeof(*files));
    out->mappings = calloc(2 * segments + room + 1, sizeof(*out->mappings));
    if (files == NULL || out->mappings == NULL) {
        free(files);
        return CH_ERR_NO_MEMORY;
    }
    size_t count = read_mapped_files(core, files, room);
    for (size_t i = 0; i < segments; i++) {
        const struct core_segment *segment = &core->segments[i];
        out->mappings[out->mapping_count++] =
            segment_mapping(segment, find_mapping(files, count, segment->start));
    }
    uint64_t done = 0;
    for (size_t i = 0; i < count; i++)
        done = add_unsaved_parts(core, &files[i], done, out);
    free(files);
    qsort(out->mappings, out->mapping_count, sizeof(*out->mappings), by_mapping_start);
    drop_mapping_overlaps(out);
    name_special(core, out);
    return CH_OK;
}

// core_mappings_name records that the file at path is mapped from start to end.
static void core_mappings_name(struct target_images *images, const char *path,
                               uint64_t start, uint64_t end)
{
    // The start address serves as the inode: no other file has it, and it is not 0.
    for (size_t i = 0; i < images->mapping_count; i++) {
        struct target_mapping *mapping = &images->mappings[i];
        if (mapping->start < start || mapping->start >= end || mapping->inode != 0)
            continue;
        mapping->inode = start;
        mapping->offset = mapping->start - start;
        mapping->path = path;
        mapping->path_size = strlen(path);
    }
}

enum {
    FILES_MAX = 1 << 16,
    SHOWN_ID_BYTES = 8,
    SHOWN_ID_SIZE = 2 * SHOWN_ID_BYTES + 1
};
_Static_assert((int)IMAGE_BUILD_ID_MAX <= (int)OUTLINE_BUILD_ID_MAX, "a build ID fits");

// A wanted is an image whose file is to be found, as the core describes it.
struct wanted {
    const char *path; // as the core has it
    bool program;
    uint8_t build_id[OUTLINE_BUILD_ID_MAX];
    size_t build_id_size; // 0: the core does not have it
};

// keep_name copies a string that images refer to; NULL: out of memory.
static const char *keep_name(struct core_images *all, const char *name, size_t size)
{
    if (!array_reserve(&all->names, &all->name_capacity, all->name_count,
                       sizeof(*all->names)))
        return NULL;
    char *copy = strndup(name, size);
    if (copy != NULL)
        all->names[all->name_count++] = copy;
    return copy;
}

// keep_file keeps an open file until core_images_deinit. False: the table is full or
// memory is short, and fd is closed.
static bool keep_file(struct core_images *all, const char *path, int fd)
{
    if (all->file_count == FILES_MAX ||
        !array_reserve(&all->files, &all->file_capacity, all->file_count,
                       sizeof(*all->files))) {
        close(fd);
        return false;
    }
    all->files[all->file_count++] = (struct core_image_file){ .path = path, .fd = fd };
    return true;
}

// show_id writes enough of a build ID to distinguish two builds.
static void show_id(const uint8_t *id, size_t size, char out[static SHOWN_ID_SIZE])
{
    if (size == 0)
        (void)snprintf(out, SHOWN_ID_SIZE, "none");
    else
        hex_encode(id, size < SHOWN_ID_BYTES ? size : SHOWN_ID_BYTES, out);
}

// image_is_wanted compares the file with the core's bytes of the image, and reports a
// difference.
static bool image_is_wanted(const struct core_images *all, const struct wanted *wanted,
                            const char *file, const struct image_outline *outline)
{
    char theirs[SHOWN_ID_SIZE];
    char its[SHOWN_ID_SIZE];
    if (outline->machine != all->core->machine) {
        all->say(all->say_context, "'%s' is of another machine than the core", file);
        return false;
    }
    if (wanted->build_id_size == 0)
        return true;
    if (outline->build_id_size == wanted->build_id_size &&
        memcmp(outline->build_id, wanted->build_id, wanted->build_id_size) == 0)
        return true;
    show_id(wanted->build_id, wanted->build_id_size, theirs);
    show_id(outline->build_id, outline->build_id_size, its);
    all->say(all->say_context,
             "'%s' is another build than the core's '%s': its build ID begins with %s, "
             "the core's with %s",
             file, wanted->path, its, theirs);
    return false;
}

// try_file opens file if it is the wanted image, else reports why it is not used.
static bool try_file(struct core_images *all, const struct wanted *wanted,
                     const char *file, struct image_outline *outline, int *fd)
{
    enum ch_status status = image_outline_open(file, outline, fd);
    if (status == CH_ERR_IO) {
        all->say(all->say_context, "cannot open '%s': %s", file, strerror(errno));
        return false;
    }
    if (status != CH_OK) {
        all->say(all->say_context, "'%s' is no program or library that can be read",
                 file);
        return false;
    }
    if (image_is_wanted(all, wanted, file, outline))
        return true;
    close(*fd);
    return false;
}

// open_made opens the unwind tables that were made for an image.
static bool open_made(const struct core_images *all, const struct wanted *wanted,
                      struct image_outline *outline, int *fd)
{
    char id[2 * OUTLINE_BUILD_ID_MAX + 1];
    char file[PATH_MAX];
    const char *const *made = all->places->made;
    if (made == NULL || wanted->build_id_size == 0)
        return false;
    hex_encode(wanted->build_id, wanted->build_id_size, id);
    for (; *made != NULL; made++) {
        int length =
            snprintf(file, sizeof(file), "%s/.build-id/%.2s/%s.sym", *made, id, id + 2);
        if (length > 0 && (size_t)length < sizeof(file) &&
            image_outline_open(file, outline, fd) == CH_OK)
            return true;
    }
    return false;
}

// find_image_file opens the file of an image: --exe for the program, otherwise the
// core's path under the sysroot. out_path is the image's name from then on.
static bool find_image_file(struct core_images *all, const struct wanted *wanted,
                            struct image_outline *outline, int *fd,
                            const char **out_path)
{
    const struct core_places *places = all->places;
    char file[PATH_MAX];
    *out_path = wanted->path;
    if (wanted->program && places->exe != NULL &&
        try_file(all, wanted, places->exe, outline, fd)) {
        *out_path = places->exe;
        return keep_file(all, *out_path, *fd);
    }
    if (open_made(all, wanted, outline, fd))
        return keep_file(all, *out_path, *fd);
    // A relative path was relative to a folder that is not known here.
    if (wanted->path[0] != '/')
        return false;
    int length = snprintf(file, sizeof(file), "%s%s",
                          places->sysroot != NULL ? places->sysroot : "", wanted->path);
    if (length <= 0 || (size_t)length >= sizeof(file) ||
        !try_file(all, wanted, file, outline, fd))
        return false;
    return keep_file(all, *out_path, *fd);
}

// A run is a sequence of adjacent mappings of one file.
struct run {
    size_t begin;
    size_t end;
    bool has_code;
};

static struct run next_image_run(const struct target_images *images, size_t at)
{
    const struct target_mapping *mappings = images->mappings;
    struct run run = { .begin = at, .end = at };
    for (; run.end < images->mapping_count; run.end++) {
        const struct target_mapping *mapping = &mappings[run.end];
        // Anonymous memory within an image (its .bss) belongs to it.
        if (mapping->inode == 0)
            continue;
        if (mapping->inode != mappings[run.begin].inode)
            break;
        run.has_code = run.has_code || (mapping->permissions & MAPS_EXECUTE);
    }
    return run;
}

// deny_code clears a guessed execute permission. Where the core has only the name of a
// mapping's file, core_mappings_read assumed code; the file's program headers say.
static void deny_code(const struct core_images *all, struct target_mapping *mapping,
                      const struct image_outline *outline, uint64_t bias)
{
    if (!all->core->has_files || core_file_segment(all->core, mapping->start) != NULL)
        return;
    for (size_t i = 0; i < outline->load_count; i++) {
        const struct elf_segment *load = &outline->loads[i];
        uint64_t start = bias + load->vaddr;
        if (load->flags & ELF_PF_X && start < mapping->end &&
            start + load->memory_size > mapping->start)
            return;
    }
    mapping->permissions &= ~(unsigned)MAPS_EXECUTE;
}

static enum ch_status add_image_run(struct core_images *all, const struct run *run,
                                    int fd, const char *path,
                                    const struct image_outline *outline)
{
    const struct target_mapping *first = &all->images->mappings[run->begin];
    uint64_t bias = first->start - first->offset - outline->low;
    for (size_t i = run->begin; i < run->end; i++) {
        struct target_mapping *mapping = &all->images->mappings[i];
        if (mapping->inode == 0)
            continue;
        mapping->path = path;
        mapping->path_size = strlen(path);
        deny_code(all, mapping, outline, bias);
        if (mapping->permissions & MAPS_WRITE)
            continue;
        enum ch_status status =
            core_memory_add(all->memory, &(struct core_region){
                                             .start = mapping->start,
                                             .end = mapping->end,
                                             .offset = mapping->offset,
                                             .fd = fd,
                                         });
        if (status != CH_OK)
            return status;
    }
    return CH_OK;
}

// is_image_entry checks the program's entry point against AT_ENTRY. The check also
// works where there is no build ID to compare.
static bool is_image_entry(const struct core_images *all,
                           const struct image_outline *outline, uint64_t bias,
                           const char *file)
{
    uint64_t entry;
    if (core_file_auxv(all->core, CORE_AT_ENTRY, &entry) != CH_OK ||
        entry == outline->entry + bias)
        return true;
    all->say(all->say_context,
             "'%s' is not the program of the core: it starts elsewhere", file);
    return false;
}

static enum ch_status use_run(struct core_images *all, const struct run *run)
{
    const struct target_mapping *first = &all->images->mappings[run->begin];
    const struct target_image *image = images_find(all->images, first->start);
    uint64_t headers;
    const char *path = keep_name(all, first->path, first->path_size);
    struct wanted wanted = { .path = path };
    struct image_outline outline;
    int fd;
    if (path == NULL)
        return CH_ERR_NO_MEMORY;
    if (core_file_auxv(all->core, CORE_AT_PHDR, &headers) == CH_OK)
        wanted.program = headers >= first->start &&
                         headers < all->images->mappings[run->end - 1].end;
    if (wanted.program)
        all->executable = path;
    if (image != NULL) {
        memcpy(wanted.build_id, image->build_id, image->build_id_size);
        wanted.build_id_size = image->build_id_size;
    }
    if (first->deleted && wanted.build_id_size == 0) {
        all->say(all->say_context, "'%s' was deleted", path);
        return CH_OK;
    }
    if (!find_image_file(all, &wanted, &outline, &fd, &path))
        return CH_OK;
    if (wanted.program &&
        !is_image_entry(all, &outline, first->start - outline.low, path))
        return CH_OK;
    if (wanted.program)
        all->executable = path;
    return add_image_run(all, run, fd, path, &outline);
}

// use_table opens the files that the core's own table names.
static enum ch_status use_table(struct core_images *all)
{
    // Headers and notes of images that are in the core identify the files.
    enum ch_status status = images_build(all->images, &all->reader);
    for (size_t i = 0; status == CH_OK && i < all->images->mapping_count;) {
        struct run run = { .end = i + 1 };
        if (all->images->mappings[i].inode != 0)
            run = next_image_run(all->images, i);
        if (run.has_code)
            status = use_run(all, &run);
        i = run.end;
    }
    return status;
}

// A found is an image found by following pointers.
struct found {
    struct wanted wanted;
    struct image_outline outline; // from its file, otherwise from the core's memory
    uint64_t bias;
};

// use_found names the mappings of an image and backs them with its file.
static enum ch_status use_found(struct core_images *all, const struct found *found,
                                const char *path, int fd)
{
    const struct image_outline *outline = &found->outline;
    core_mappings_name(all->images, path, found->bias + outline->low,
                       found->bias + outline->high);
    for (size_t i = 0; fd >= 0 && i < outline->load_count; i++) {
        const struct elf_segment *load = &outline->loads[i];
        uint64_t skip = load->vaddr & (OUTLINE_PAGE_BYTES - 1);
        uint64_t start = found->bias + load->vaddr - skip;
        if (load->flags & ELF_PF_W || load->offset < skip ||
            start + skip + load->file_size < start)
            continue;
        enum ch_status status = core_memory_add(
            all->memory, &(struct core_region){ .start = start,
                                                .end = start + skip + load->file_size,
                                                .offset = load->offset - skip,
                                                .fd = fd });
        if (status != CH_OK)
            return status;
    }
    return CH_OK;
}

// want_header reads the image's header from the core's memory, if it is there, and
// makes its build ID the wanted one.
static bool want_header(const struct core_images *all, uint64_t base,
                        struct found *found, struct image_outline *in_core)
{
    if (image_outline_read(&all->reader, base, true, in_core) != CH_OK)
        return false;
    found->bias = base - in_core->low;
    memcpy(found->wanted.build_id, in_core->build_id, in_core->build_id_size);
    found->wanted.build_id_size = in_core->build_id_size;
    return true;
}

// program_path is the program's path according to the core: AT_EXECFN, otherwise the
// name in the process's note.
static const char *program_path(struct core_images *all)
{
    char path[PATH_MAX];
    uint64_t address;
    if (core_file_auxv(all->core, CORE_AT_EXECFN, &address) == CH_OK &&
        memory_read_string(&all->reader, address, path, sizeof(path)) == CH_OK &&
        path[0] != 0)
        return keep_name(all, path, strlen(path));
    const char *name = all->core->process.name;
    return keep_name(all, name, strlen(name));
}

// find_core_program finds the program by the address of its program headers.
// CH_ERR_NOT_FOUND: nothing more can be found without it, and that has been reported.
static enum ch_status find_core_program(struct core_images *all, struct found *out)
{
    struct image_outline in_core;
    uint64_t headers;
    const char *path = program_path(all);
    int fd = -1;
    *out = (struct found){ .wanted = { .path = path, .program = true } };
    if (path == NULL)
        return CH_ERR_NO_MEMORY;
    all->executable = path;
    if (core_file_auxv(all->core, CORE_AT_PHDR, &headers) != CH_OK) {
        all->say(all->say_context,
                 "the core has neither a table of files nor the address of the "
                 "program's headers");
        return CH_ERR_NOT_FOUND;
    }
    uint64_t page = headers & ~(uint64_t)(OUTLINE_PAGE_BYTES - 1);
    bool has_header = want_header(all, page, out, &in_core);
    if (find_image_file(all, &out->wanted, &out->outline, &fd, &path)) {
        out->bias = headers - out->outline.headers;
        if (!is_image_entry(all, &out->outline, out->bias, path))
            fd = -1;
    }
    if (fd < 0 && !has_header) {
        all->say(all->say_context,
                 "the program's headers are not in the core: name its file by --exe");
        return CH_ERR_NOT_FOUND;
    }
    if (fd < 0)
        out->outline = in_core;
    else
        all->executable = path;
    return use_found(all, out, all->executable, fd);
}

// use_entry handles one image of the dynamic linker's list.
static enum ch_status use_entry(void *context, const struct link_map_entry *entry)
{
    struct core_images *all = context;
    struct image_outline in_core;
    struct found found = { .bias = entry->bias };
    char name[PATH_MAX];
    const char *path;
    int fd = -1;
    // The program has an empty name here, and the vDSO's has no slash.
    if (memory_read_string(&all->reader, entry->name, name, sizeof(name)) != CH_OK ||
        name[0] != '/')
        return CH_OK;
    const struct target_mapping *mapping = images_mapping(all->images, entry->bias);
    if (mapping == NULL || mapping->inode != 0)
        return CH_OK;
    path = keep_name(all, name, strlen(name));
    if (path == NULL)
        return CH_ERR_NO_MEMORY;
    found.wanted.path = path;
    bool has_header = want_header(all, entry->bias, &found, &in_core);
    bool has_file = find_image_file(all, &found.wanted, &found.outline, &fd, &path);
    if (has_file && found.outline.dynamic + found.bias != entry->dynamic) {
        all->say(all->say_context, "'%s' is another build than the core's", path);
        has_file = false;
    }
    if (!has_file && !has_header)
        return CH_OK;
    if (!has_file) {
        found.outline = in_core;
        fd = -1;
    }
    return use_found(all, &found, path, fd);
}

// follow_pointers finds the images of a core without a table of files.
static enum ch_status follow_pointers(struct core_images *all)
{
    struct found program;
    enum ch_status status = find_core_program(all, &program);
    if (status == CH_ERR_NOT_FOUND)
        return CH_OK;
    if (status != CH_OK || program.outline.dynamic == 0)
        return status;
    status = link_map_walk(&all->reader, program.bias + program.outline.dynamic,
                           use_entry, all);
    if (status == CH_ERR_NO_MEMORY || status == CH_ERR_NOT_FOUND)
        return status == CH_ERR_NOT_FOUND ? CH_OK : status;
    if (status != CH_OK)
        all->say(all->say_context, "the dynamic linker's list of images is damaged: %s",
                 ch_status_name(status));
    return CH_OK;
}

enum ch_status core_images_find(struct core_images *all)
{
    all->reader = core_memory_reader(all->memory);
    enum ch_status status = CH_OK;
    bool listed = all->core->has_files || all->images->mapping_count != 0;
    if (all->images->mapping_count == 0)
        status = core_mappings_read(all->core, all->images);
    if (status == CH_OK)
        status = listed ? use_table(all) : follow_pointers(all);
    if (status == CH_OK)
        status = images_build(all->images, &all->reader);
    if (status == CH_ERR_LIMIT) {
        all->say(all->say_context, "there are more images than can be listed");
        status = CH_OK;
    }
    if (status == CH_OK)
        status = images_list_for_unwinder(all->images);
    return status;
}

void core_images_deinit(struct core_images *all)
{
    for (size_t i = 0; i < all->file_count; i++) {
        close(all->files[i].fd);
        text_deinit(&all->files[i].bytes);
    }
    for (size_t i = 0; i < all->name_count; i++)
        free(all->names[i]);
    free(all->files);
    free(all->names);
    *all = (struct core_images){ 0 };
}
