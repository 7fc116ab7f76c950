// SPDX-License-Identifier: Apache-2.0
#include "agent/core/minidump_core.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/hex.h"
#include "base/system/file.h"
#include "base/text.h"
#include "formats/debug/core_writer.h"
#include "formats/debug/maps.h"
#include "formats/interchange/minidump.h"
#include "images/image_outline.h"

enum {
    SEGMENTS_MAX = 60000, // fewer than what an ELF header can count
    MODULES_MAX = 4096,
    PAGE = CORE_PAGE,
    HEADER_BYTES = PAGE, // of an image that has no file
};
#define FILE_MAX_BYTES ((uint64_t)4 << 30)

// A piece is a segment of the core: bytes of the minidump, or a made-up header.
struct piece {
    uint64_t start;
    uint64_t size;
    uint64_t offset; // in the minidump; of headers, in the text of headers
    bool is_header;
};

// An access is what the program could do with a range of addresses.
struct access {
    uint64_t start;
    uint64_t end;
    uint32_t flags; // PF_R and so on
};

struct making {
    struct minidump dump;
    const struct minidump_places *places;
    struct piece *pieces;
    size_t count;
    size_t capacity;
    struct access *accesses;
    size_t access_count;
    size_t access_capacity;
    struct text notes;
    struct text headers; // HEADER_BYTES each
    struct core_table files;
    char program[PATH_MAX]; // the first module
    uint64_t program_base;
};

static void add_core_piece(struct making *m, struct piece piece)
{
    if (piece.size == 0 || m->count == SEGMENTS_MAX ||
        !array_reserve(&m->pieces, &m->capacity, m->count, sizeof(*m->pieces)))
        return;
    m->pieces[m->count++] = piece;
}

static void add_access(struct making *m, uint64_t start, uint64_t end, uint32_t flags)
{
    if (m->access_count < SEGMENTS_MAX &&
        array_reserve(&m->accesses, &m->access_capacity, m->access_count,
                      sizeof(*m->accesses)))
        m->accesses[m->access_count++] = (struct access){ start, end, flags };
}

// add_maps takes the accesses from the process's memory map, where the minidump has it.
static void add_maps(struct making *m)
{
    struct maps_entry entry;
    struct cursor text = m->dump.streams[MINIDUMP_MAPS];
    enum ch_status status;
    while ((status = maps_next(&text, &entry)) != CH_END) {
        unsigned has = status == CH_OK ? entry.permissions : 0;
        if (status == CH_OK)
            add_access(m, entry.start, entry.end,
                       (has & MAPS_READ ? PF_R : 0u) | (has & MAPS_WRITE ? PF_W : 0u) |
                           (has & MAPS_EXECUTE ? PF_X : 0u));
        else if (status != CH_ERR_MALFORMED)
            break;
    }
}

// piece_access is what may be done with a piece. Memory of which nothing is known is
// mostly a stack.
static uint32_t piece_access(const struct making *m, const struct piece *piece)
{
    for (size_t i = 0; i < m->access_count && !piece->is_header; i++)
        if (piece->start >= m->accesses[i].start && piece->start < m->accesses[i].end)
            return m->accesses[i].flags;
    return piece->is_header ? PF_R | PF_X : PF_R | PF_W;
}

static void add_memory(struct making *m)
{
    static const enum minidump_stream streams[] = { MINIDUMP_MEMORY,
                                                    MINIDUMP_MEMORY64 };
    struct minidump_range range;
    struct core_thread thread;
    for (size_t i = 0; i < sizeof(streams) / sizeof(streams[0]); i++) {
        struct minidump_list list = minidump_list(&m->dump, streams[i]);
        while (minidump_next_range(&list, &range))
            add_core_piece(
                m, (struct piece){ range.start, range.size, range.offset, false });
    }
    struct minidump_list list = minidump_list(&m->dump, MINIDUMP_THREADS);
    while (minidump_next_thread(&list, &thread, &range))
        add_core_piece(m,
                       (struct piece){ range.start, range.size, range.offset, false });
}

static int by_piece(const void *a, const void *b)
{
    const struct piece *x = a;
    const struct piece *y = b;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    // The longer one first, and memory before what is made up.
    if (x->is_header != y->is_header)
        return x->is_header ? 1 : -1;
    return x->size > y->size ? -1 : x->size < y->size;
}

// sort_pieces sorts pieces and cuts from each what an earlier one has.
static void sort_pieces(struct making *m)
{
    uint64_t end = 0;
    size_t kept = 0;
    if (m->count == 0)
        return;
    qsort(m->pieces, m->count, sizeof(*m->pieces), by_piece);
    for (size_t i = 0; i < m->count; i++) {
        struct piece piece = m->pieces[i];
        uint64_t known = piece.start < end ? end - piece.start : 0;
        if (known >= piece.size)
            continue;
        piece.start += known;
        piece.offset += known;
        piece.size -= known;
        end = piece.start + piece.size;
        m->pieces[kept++] = piece;
    }
    m->count = kept;
}

static bool has_memory(const struct making *m, uint64_t address)
{
    for (size_t i = 0; i < m->count; i++)
        if (address >= m->pieces[i].start &&
            address - m->pieces[i].start < m->pieces[i].size)
            return true;
    return false;
}

// add_threads appends all threads, the crashed one first, and its signal.
static void add_threads(struct making *m)
{
    struct core_thread crashed;
    struct core_thread thread;
    struct minidump_range stack;
    struct core_signal signal = { 0 };
    bool has = minidump_exception(&m->dump, &crashed, &signal);
    if (has) {
        core_put_thread(&m->notes, m->dump.machine, &crashed);
        // As a code, 0 says that a process sent the signal. LLDB means that it knows
        // none.
        if (signal.code != 0 || cursor_left(&m->dump.streams[MINIDUMP_CRASHPAD]) != 0)
            core_put_signal(&m->notes, signal.signal, signal.code,
                            signal.code > 0 ? signal.address : 0);
    }
    struct minidump_list list = minidump_list(&m->dump, MINIDUMP_THREADS);
    for (size_t i = 0;
         i < CORE_THREADS_MAX && minidump_next_thread(&list, &thread, &stack); i++)
        if (!has || thread.tid != crashed.tid)
            core_put_thread(&m->notes, m->dump.machine, &thread);
}

// is_build returns true if a build ID is the module's. Of some dumps only the first 16
// bytes are known, as bytes or as the words of a GUID.
static bool is_build(const struct minidump_module *module, const uint8_t *id,
                     size_t size)
{
    bool words = size >= sizeof(minidump_guid);
    if (!module->build_id_cut)
        return size == module->build_id_size && memcmp(id, module->build_id, size) == 0;
    for (size_t i = 0; words && i < sizeof(minidump_guid); i++)
        words = id[minidump_guid[i]] == module->build_id[i];
    return words || (size >= sizeof(minidump_guid) &&
                     memcmp(id, module->build_id, sizeof(minidump_guid)) == 0);
}

// A module_file is the best file of a module that was found.
struct module_file {
    enum { FILE_NONE, FILE_WITHOUT_CODE, FILE_OF_SYMBOLS, FILE_FOUND } kind;
    struct image_outline outline;
    char path[PATH_MAX]; // without the sysroot, which readers of the core put in front
};

// has_code returns false for a debug file, which has no unwind tables either.
static bool has_code(const struct image_outline *outline)
{
    for (size_t i = 0; i < outline->load_count; i++)
        if (outline->loads[i].flags & PF_X && outline->loads[i].file_size != 0)
            return true;
    return false;
}

// try_dumped_file takes the file at path below root if it is the module's build, and
// better than the best so far.
static void try_dumped_file(const struct making *m,
                            const struct minidump_module *module, const char *root,
                            const char *path, struct module_file *best)
{
    struct module_file file = { .kind = FILE_WITHOUT_CODE };
    const char *suffix = strrchr(path, '.');
    char full[2 * PATH_MAX];
    int fd;
    (void)snprintf(full, sizeof(full), "%s%s", root, path);
    (void)snprintf(file.path, sizeof(file.path), "%s", path);
    if (best->kind == FILE_FOUND ||
        image_outline_open(full, &file.outline, &fd) != CH_OK)
        return;
    (void)close(fd);
    if (has_code(&file.outline))
        file.kind = FILE_FOUND;
    else if (suffix != NULL && strcmp(suffix, ".sym") == 0)
        file.kind = FILE_OF_SYMBOLS;
    if (file.kind > best->kind && file.outline.machine == m->dump.machine &&
        is_build(module, file.outline.build_id, file.outline.build_id_size))
        *best = file;
}

// try_named_builds tries the files of a folder of build IDs whose hexadecimal digits
// begin with id: xx/yyy, xx/yyy.debug or, with tables made of Breakpad's symbols,
// xx/yyy.sym.
static void try_named_builds(const struct making *m,
                             const struct minidump_module *module, const char *root,
                             const char *folder, const char *id,
                             struct module_file *best)
{
    char path[PATH_MAX];
    const struct dirent *entry;
    (void)snprintf(path, sizeof(path), "%s%s/%.2s", root, folder, id);
    DIR *entries = opendir(path);
    while (entries != NULL && (entry = readdir(entries)) != NULL) {
        const char *suffix = entry->d_name + strspn(entry->d_name, "0123456789abcdef");
        if (strncmp(entry->d_name, id + 2, strlen(id + 2)) == 0 &&
            (*suffix == 0 || strcmp(suffix, ".debug") == 0 ||
             strcmp(suffix, ".sym") == 0) &&
            snprintf(path, sizeof(path), "%s/%.2s/%s", folder, id, entry->d_name) <
                (int)sizeof(path))
            try_dumped_file(m, module, root, path, best);
    }
    if (entries != NULL)
        (void)closedir(entries);
}

// try_builds looks in a folder for a module's build. A build ID of which only 16 bytes
// are known may stand there in either order.
static void try_builds(const struct making *m, const struct minidump_module *module,
                       const char *root, const char *folder, struct module_file *best)
{
    uint8_t bytes[sizeof(minidump_guid)];
    char id[2 * MINIDUMP_BUILD_ID_MAX + 1];
    hex_encode(module->build_id, module->build_id_size, id);
    try_named_builds(m, module, root, folder, id, best);
    if (!module->build_id_cut)
        return;
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[minidump_guid[i]] = module->build_id[i];
    hex_encode(bytes, sizeof(bytes), id);
    try_named_builds(m, module, root, folder, id, best);
}

// find_module_file finds the file of a module.
static void find_module_file(const struct making *m,
                             const struct minidump_module *module,
                             struct module_file *best)
{
    const struct minidump_places *places = m->places;
    const char *root = places->sysroot != NULL ? places->sysroot : "";
    char path[PATH_MAX];
    *best = (struct module_file){ .kind = FILE_NONE };
    if (module->build_id_size == 0)
        return;
    for (size_t i = 0; places->builds != NULL && places->builds[i] != NULL; i++)
        try_builds(m, module, root, places->builds[i], best);
    if (places->builds != NULL)
        return;
    if (module->name[0] == '/')
        try_dumped_file(m, module, root, module->name, best);
    if (places->sysroot != NULL)
        return;
    if (places->exe != NULL && strcmp(module->name, m->program) == 0) {
        try_dumped_file(m, module, "", places->exe, best);
    } else if (places->symbols != NULL) {
        (void)snprintf(path, sizeof(path), "%s/%s", places->symbols,
                       file_name(module->name));
        try_dumped_file(m, module, "", path, best);
        (void)snprintf(path, sizeof(path), "%s/.build-id", places->symbols);
        try_builds(m, module, "", path, best);
    }
}

// add_loads lists the parts of a file that its program headers map.
static void add_loads(struct making *m, const struct minidump_module *module,
                      const struct image_outline *outline, const char *path)
{
    uint64_t bias = module->base - outline->low;
    for (size_t i = 0; i < outline->load_count; i++) {
        const struct elf_segment *load = &outline->loads[i];
        uint64_t skip = load->vaddr % PAGE;
        uint64_t end = load->vaddr + load->file_size;
        if (load->file_size == 0 || load->offset < skip || end < load->vaddr ||
            end > UINT64_MAX - 2 * PAGE - bias)
            continue;
        add_access(m, bias + load->vaddr - skip, bias + end, load->flags);
        core_table_add(&m->files, bias + load->vaddr - skip,
                       bias + (end + PAGE - 1) / PAGE * PAGE, load->offset - skip,
                       path);
    }
}

// module_end is one past a module's last address. LLDB gives the size of its first
// segment alone, so the memory map counts where the minidump has it.
static uint64_t module_end(const struct making *m, const struct minidump_module *module)
{
    struct maps_entry entry;
    struct cursor text = m->dump.streams[MINIDUMP_MAPS];
    uint64_t end = module->base + module->size;
    enum ch_status status;
    while ((status = maps_next(&text, &entry)) == CH_OK || status == CH_ERR_MALFORMED)
        if (status == CH_OK && entry.start >= module->base && entry.end > end &&
            entry.path_size == strlen(module->name) &&
            memcmp(entry.path, module->name, entry.path_size) == 0)
            end = entry.end;
    return (end + PAGE - 1) / PAGE * PAGE;
}

// add_made_header makes up the header of a module without a file: its size and build
// ID.
static void add_made_header(struct making *m, const struct minidump_module *module,
                            const char *path)
{
    const uint64_t note_at = CORE_ELF_BYTES + 2 * CORE_SEGMENT_BYTES;
    const uint64_t end = module_end(m, module);
    const size_t at = m->headers.size;
    if (has_memory(m, module->base) || end <= module->base || module->base % PAGE != 0)
        return;
    const struct core_range load = { .type = PT_LOAD,
                                     .flags = PF_R | PF_X,
                                     .size = end - module->base,
                                     .in_file = end - module->base };
    const struct core_range note = { .type = PT_NOTE,
                                     .flags = PF_R,
                                     .start = note_at,
                                     .offset = note_at,
                                     .size = 16 + module->build_id_size,
                                     .in_file = 16 + module->build_id_size };
    core_put_elf(&m->headers, ET_DYN, m->dump.machine,
                 module->build_id_size != 0 ? 2 : 1);
    core_put_range(&m->headers, &load);
    core_put_range(&m->headers, &note);
    PACK(&m->headers, "444", 4, module->build_id_size, NT_GNU_BUILD_ID);
    text_append(&m->headers, "GNU", 4);
    text_append(&m->headers, module->build_id, module->build_id_size);
    (void)pack_align(&m->headers, HEADER_BYTES);
    add_core_piece(m, (struct piece){ module->base, HEADER_BYTES, at, true });
    core_table_add(&m->files, module->base, module->base + PAGE, 0, path);
    if (end - module->base > PAGE)
        core_table_add(&m->files, module->base + PAGE, end, PAGE, path);
}

// has_made_tables returns true if unwind tables were made for a module.
static bool has_made_tables(const struct making *m,
                            const struct minidump_module *module)
{
    char id[2 * MINIDUMP_BUILD_ID_MAX + 1];
    char path[PATH_MAX];
    const char *const *made = m->places->made;
    if (module->build_id_size == 0)
        return false;
    hex_encode(module->build_id, module->build_id_size, id);
    for (; made != NULL && *made != NULL; made++) {
        (void)snprintf(path, sizeof(path), "%s/.build-id/%.2s/%s.sym", *made, id,
                       id + 2);
        if (access(path, R_OK) == 0)
            return true;
    }
    return false;
}

// say_missing_file reports why frames of a module are guessed. The vDSO has no file.
static void say_missing_file(const struct making *m,
                             const struct minidump_module *module,
                             const struct module_file *file)
{
    if (module->name[0] != '/')
        return;
    m->places->say(m->places->context,
                   module->build_id_size == 0
                       ? "the minidump has no build ID of '%s': its file is not used"
                   : file->kind == FILE_WITHOUT_CODE
                       ? "the file of '%s' has debug information without unwind "
                         "tables: its frames are guessed"
                       : "no file of the minidump's build of '%s': its frames are "
                         "guessed",
                   module->name);
}

// add_module lists a module with its file, or with what the minidump knows of it.
static void add_module(struct making *m, struct minidump_module *module)
{
    const struct minidump_places *places = m->places;
    struct module_file file;
    find_module_file(m, module, &file);
    const bool found = file.kind == FILE_FOUND;
    // Of some modules the minidump has a part of the build ID.
    if (file.kind != FILE_NONE && places->builds != NULL && module->build_id_cut) {
        module->build_id_size = file.outline.build_id_size;
        memcpy(module->build_id, file.outline.build_id, file.outline.build_id_size);
    }
    if (!found && !has_made_tables(m, module))
        say_missing_file(m, module, &file);
    // A path that is not absolute is never opened.
    if (!found && places->builds != NULL)
        (void)snprintf(file.path, sizeof(file.path), "module-%" PRIx64, module->base);
    else if (!found)
        (void)snprintf(file.path, sizeof(file.path), "%s", module->name);
    if (places->builds != NULL)
        places->named(places->context, file.path, module->name);
    if (found)
        add_loads(m, module, &file.outline, file.path);
    else
        add_made_header(m, module, file.path);
}

static void add_modules(struct making *m)
{
    struct minidump_module module;
    struct minidump_list list = minidump_list(&m->dump, MINIDUMP_MODULES);
    for (size_t i = 0; i < MODULES_MAX && minidump_next_module(&list, &module); i++) {
        if (m->program[0] == 0) {
            (void)snprintf(m->program, sizeof(m->program), "%s", module.name);
            m->program_base = module.base;
        }
        add_module(m, &module);
    }
    if (m->files.count != 0)
        core_put_table(&m->notes, &m->files);
}

// add_vector appends the auxiliary vector. Crashpad writes none; what leads to the
// program is then made up of its module.
static void add_vector(struct making *m)
{
    const uint64_t made[] = { AT_PHDR, m->program_base + sizeof(Elf64_Ehdr), AT_NULL,
                              0 };
    struct cursor vector = m->dump.streams[MINIDUMP_AUXV];
    size_t size = cursor_left(&vector);
    const void *bytes = cursor_take(&vector, size);
    if (size != 0 && bytes != NULL)
        core_put_note(&m->notes, NT_AUXV, bytes, size);
    else if (m->program[0] != 0)
        core_put_note(&m->notes, NT_AUXV, made, sizeof(made));
}

// write_headers appends the core's headers. The minidump follows at offset after them.
static void write_headers(const struct making *m, struct text *out,
                          uint64_t *out_offset)
{
    uint64_t notes_at = CORE_ELF_BYTES + (m->count + 1) * CORE_SEGMENT_BYTES;
    uint64_t headers_at = notes_at + m->notes.size;
    *out_offset = (headers_at + m->headers.size + PAGE - 1) / PAGE * PAGE;
    core_put_elf(out, ET_CORE, m->dump.machine, m->count + 1);
    core_put_range(out, &(struct core_range){ .type = PT_NOTE,
                                              .offset = notes_at,
                                              .in_file = m->notes.size });
    for (size_t i = 0; i < m->count; i++) {
        const struct piece *piece = &m->pieces[i];
        core_put_range(out, &(struct core_range){
                                .type = PT_LOAD,
                                .flags = piece_access(m, piece),
                                .start = piece->start,
                                .size = piece->size,
                                .in_file = piece->size,
                                .offset = piece->offset +
                                          (piece->is_header ? headers_at : *out_offset),
                            });
    }
    text_append(out, m->notes.bytes, m->notes.size);
    text_append(out, m->headers.bytes, m->headers.size);
}

static enum ch_status write_core(struct making *m, int fd)
{
    struct text CH_CLEANUP(text_deinit) head = { 0 };
    uint64_t offset;
    const struct timespec times[2] = { { .tv_nsec = UTIME_NOW },
                                       { .tv_sec = (time_t)m->dump.time } };
    const uint8_t *bytes = m->dump.file.begin;
    size_t left = (size_t)(m->dump.file.end - bytes);
    sort_pieces(m);
    add_threads(m);
    core_put_process(&m->notes, m->dump.pid, m->program,
                     m->dump.streams[MINIDUMP_ARGUMENTS]);
    add_vector(m);
    write_headers(m, &head, &offset);
    if (!text_ok(&head) || !text_ok(&m->notes) || !text_ok(&m->headers))
        return CH_ERR_NO_MEMORY;
    if (!file_write_all(fd, head.bytes, head.size) ||
        lseek(fd, (off_t)offset, SEEK_SET) < 0 || !file_write_all(fd, bytes, left))
        return CH_ERR_IO;
    (void)futimens(fd, times); // the report's time
    return CH_OK;
}

static void making_deinit(struct making *m)
{
    free(m->pieces);
    free(m->accesses);
    text_deinit(&m->notes);
    core_table_deinit(&m->files);
    text_deinit(&m->headers);
}

// make_core makes the core of the size bytes of a minidump.
static enum ch_status make_core(const struct minidump_places *places, const void *bytes,
                                size_t size, int *out_fd, const char **out_why)
{
    struct making CH_CLEANUP(making_deinit) m = { .places = places };
    enum ch_status status = minidump_open(&m.dump, bytes, size, out_why);
    if (status != CH_OK)
        return status;
    add_memory(&m);
    add_maps(&m);
    add_modules(&m);
    if (m.files.count == 0 && places->builds != NULL) {
        // Names of files would be taken from its memory.
        *out_why = "it lists no modules";
        return CH_ERR_UNSUPPORTED;
    }
    *out_fd = memfd_create("crashhook-minidump", MFD_CLOEXEC);
    status = *out_fd >= 0 ? write_core(&m, *out_fd) : CH_ERR_IO;
    if (status != CH_OK && *out_fd >= 0)
        (void)close(*out_fd);
    return status;
}

enum ch_status minidump_to_core(int fd, const struct minidump_places *places,
                                int *out_fd, const char **out_why)
{
    struct stat info;
    *out_why = "it is empty, or larger than 4 GiB";
    if (fstat(fd, &info) != 0)
        return CH_ERR_IO;
    if (info.st_size <= 0 || (uint64_t)info.st_size > FILE_MAX_BYTES)
        return CH_ERR_UNSUPPORTED;
    void *bytes = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (bytes == MAP_FAILED)
        return CH_ERR_IO;
    enum ch_status status =
        make_core(places, bytes, (size_t)info.st_size, out_fd, out_why);
    (void)munmap(bytes, (size_t)info.st_size);
    return status;
}
