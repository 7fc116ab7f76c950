// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/names/plain_debug.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/file.h"
#include "base/own_thread.h"
#include "base/text.h"
#include "symbolizer/names/inflate_parts.h"

enum {
    SECTIONS_MAX = 32,
    ALIGNMENT = 16,
    PIECE_BYTES = 64 << 10,  // copied at a time
    WRITTEN_BYTES = 1 << 20, // at a time
    THREADS_MAX = 4,
    THREADS_BYTES = 4 << 20, // of a file that several threads write
    PART_BYTES = 8 << 20,    // of a section that several threads decompress
    PARTED_BYTES = 4 * PART_BYTES,
};

// plain_section is a section that is taken.
struct plain_section {
    uint64_t from; // offset of its bytes in the original
    uint64_t stored;
    bool compressed;
    Elf64_Shdr header; // in the plain file
};

// plain_stream is a section on its way into the plain file.
struct plain_stream {
    const struct plain *plain;
    const struct plain_section *section;
    struct inflate_source source;
    struct inflate_parts *parts; // NULL: it is not compressed
    atomic_bool copied;          // then: a thread does so
};

// plain is the file being written.
struct plain {
    const struct debug_elf *file;
    int fd;         // -1: it is written to bytes
    uint8_t *bytes; // of which there are as many as plain_whole_size says
    struct plain_section sections[SECTIONS_MAX];
    size_t count;
    uint64_t size;     // of the file without its headers of sections
    struct text names; // of sections
    bool compressed;   // one of them is
    struct plain_stream streams[SECTIONS_MAX];
    atomic_int status; // the first failure
    int processor;     // on which the first thread is; negative: not known
};

// plain_is_taken says whether finding names, or values too, needs a section of that
// name.
static bool plain_is_taken(const char *name, bool names_only)
{
    static const char *const taken[] = {
        ".note.gnu.build-id", ".debug_info",     ".debug_types", ".debug_abbrev",
        ".debug_str",         ".debug_line_str", ".debug_addr",  ".debug_aranges",
        ".debug_ranges",      ".debug_rnglists", ".debug_line",  ".debug_str_offsets",
        ".debug_loc",         ".debug_loclists", ".debug_frame",
    };
    enum { TAKEN = sizeof(taken) / sizeof(taken[0]), FOR_VALUES = 3 };
    for (size_t i = 0; i < TAKEN - (names_only ? FOR_VALUES : 0); i++)
        if (strcmp(name, taken[i]) == 0)
            return true;
    return false;
}

static uint64_t plain_align(uint64_t size)
{
    return (size + ALIGNMENT - 1) & ~(uint64_t)(ALIGNMENT - 1);
}

// plain_add adds a section to those taken. CH_ERR_UNSUPPORTED: it is compressed in
// another way.
static enum ch_status plain_add(struct plain *plain, Elf_Scn *scn, const char *name,
                                const GElf_Shdr *header)
{
    GElf_Chdr compressed;
    struct plain_section section = { .from = header->sh_offset,
                                     .stored = header->sh_size };
    uint64_t size = header->sh_size;
    if (plain->count == SECTIONS_MAX)
        return CH_ERR_LIMIT;
    section.compressed = (header->sh_flags & SHF_COMPRESSED) != 0;
    if (section.compressed) {
        if (gelf_getchdr(scn, &compressed) == NULL ||
            header->sh_size < sizeof(Elf64_Chdr))
            return CH_ERR_MALFORMED;
        if (compressed.ch_type != ELFCOMPRESS_ZLIB)
            return CH_ERR_UNSUPPORTED;
        section.from += sizeof(Elf64_Chdr);
        section.stored -= sizeof(Elf64_Chdr);
        size = compressed.ch_size;
        plain->compressed = true;
    }
    if (size > INT64_MAX / 2 - plain->size)
        return CH_ERR_LIMIT;
    plain->size = plain_align(plain->size);
    section.header =
        (Elf64_Shdr){ .sh_name = (Elf64_Word)plain->names.size,
                      .sh_type = header->sh_type,
                      .sh_flags = header->sh_flags & (SHF_MERGE | SHF_STRINGS),
                      .sh_entsize = header->sh_entsize,
                      .sh_offset = plain->size,
                      .sh_size = size,
                      .sh_addralign = 1 };
    text_append(&plain->names, name, strlen(name) + 1);
    plain->size += size;
    plain->sections[plain->count++] = section;
    return text_ok(&plain->names) ? CH_OK : CH_ERR_NO_MEMORY;
}

// plain_list lists the sections that are taken. CH_ERR_UNSUPPORTED: there is no plain
// form.
static enum ch_status plain_list(struct plain *plain, const struct debug_elf *file,
                                 bool names_only)
{
    size_t names;
    GElf_Shdr header;
    enum ch_status status = CH_OK;
    *plain = (struct plain){ .file = file, .fd = -1, .size = sizeof(Elf64_Ehdr) };
    text_append(&plain->names, "", 1);
    // What is written has 64 bits, and no values of others are found.
    if (file->fd < 0 || gelf_getclass(file->elf) != ELFCLASS64 ||
        elf_getshdrstrndx(file->elf, &names) != 0)
        return CH_ERR_UNSUPPORTED;
    for (Elf_Scn *scn = elf_nextscn(file->elf, NULL); scn != NULL && status == CH_OK;
         scn = elf_nextscn(file->elf, scn)) {
        if (gelf_getshdr(scn, &header) == NULL || header.sh_type == SHT_NOBITS)
            continue;
        const char *name = elf_strptr(file->elf, names, header.sh_name);
        if (name != NULL && strcmp(name, ".gnu_debugaltlink") == 0)
            status = CH_ERR_UNSUPPORTED;
        else if (name != NULL && plain_is_taken(name, names_only))
            status = plain_add(plain, scn, name, &header);
    }
    return status;
}

uint64_t plain_debug_size(const struct debug_elf *file)
{
    struct plain plain;
    enum ch_status status = plain_list(&plain, file, false);
    text_deinit(&plain.names);
    return status == CH_OK && plain.compressed ? plain.size : 0;
}

// plain_write_at writes bytes of the file, which has room for them.
static bool plain_write_at(const struct plain *plain, const void *bytes, size_t size,
                           uint64_t at)
{
    if (plain->fd < 0)
        memcpy(plain->bytes + at, bytes, size);
    while (plain->fd >= 0 && size > 0) {
        size_t piece = size < WRITTEN_BYTES ? size : WRITTEN_BYTES;
        ssize_t written = pwrite(plain->fd, bytes, piece, (off_t)at);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return false;
        bytes = (const char *)bytes + written;
        size -= (size_t)written;
        at += (uint64_t)written;
    }
    return true;
}

// plain_read_at reads at most size bytes of what is stored: 0 at the end, or if it
// cannot be read.
static size_t plain_read_at(void *context, void *to, size_t size, uint64_t at)
{
    const struct plain_stream *s = context;
    uint64_t left = s->section->stored - at;
    size_t part = left < size ? (size_t)left : size;
    return file_read_at(s->plain->file->fd, to, part, s->section->from + at);
}

// plain_write_some writes bytes of the section.
static bool plain_write_some(void *context, const void *from, size_t size, uint64_t at)
{
    const struct plain_stream *s = context;
    return plain_write_at(s->plain, from, size, s->section->header.sh_offset + at);
}

// plain_copy writes a section that is not compressed.
static enum ch_status plain_copy(struct plain_stream *s)
{
    uint8_t piece[PIECE_BYTES];
    size_t size;
    for (uint64_t at = 0; at < s->section->stored; at += size) {
        size = plain_read_at(s, piece, sizeof(piece), at);
        if (size == 0)
            return CH_ERR_MALFORMED;
        if (!plain_write_some(s, piece, size, at))
            return CH_ERR_IO;
    }
    return CH_OK;
}

// write_plain_sections writes sections until none is left; several threads may do so.
// All begin with the largest, of which each writes parts.
static void *write_plain_sections(void *context)
{
    struct plain *plain = context;
    enum ch_status status = CH_OK;
    for (size_t i = 0; i < plain->count && status == CH_OK; i++) {
        struct plain_stream *stream = &plain->streams[i];
        if (stream->parts != NULL)
            status = inflate_parts_work(stream->parts);
        else if (!atomic_exchange(&stream->copied, true))
            status = plain_copy(stream);
        if (status == CH_OK)
            status = (enum ch_status)atomic_load(&plain->status);
    }
    int none = CH_OK;
    if (status != CH_OK)
        (void)atomic_compare_exchange_strong(&plain->status, &none, (int)status);
    return NULL;
}

// write_beside is what the other threads run.
static void *write_beside(void *context)
{
    const struct plain *plain = context;
    own_thread_leave(plain->processor);
    return write_plain_sections(context);
}

// plain_use_threads writes all sections, those of a file that takes milliseconds in as
// many threads as there are processors, up to four.
static enum ch_status plain_use_threads(struct plain *plain)
{
    pthread_t others[THREADS_MAX - 1];
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    int count = 0;
    plain->processor = sched_getcpu();
    while (plain->size >= THREADS_BYTES && count < THREADS_MAX - 1 &&
           count + 1 < processors &&
           own_thread_start(&others[count], write_beside, plain))
        count++;
    (void)write_plain_sections(plain);
    while (count != 0)
        (void)pthread_join(others[--count], NULL);
    return (enum ch_status)atomic_load(&plain->status);
}

// plain_open_streams prepares the sections. One that is compressed has to have the size
// that its header says.
static enum ch_status plain_open_streams(struct plain *plain)
{
    enum ch_status status = CH_OK;
    for (size_t i = 0; i < plain->count && status == CH_OK; i++) {
        const struct plain_section *section = &plain->sections[i];
        struct plain_stream *s = &plain->streams[i];
        s->plain = plain;
        s->section = section;
        atomic_store(&s->copied, false);
        s->source = (struct inflate_source){ plain_read_at, plain_write_some, s };
        uint64_t part = section->stored >= PARTED_BYTES ? PART_BYTES : UINT64_MAX;
        if (section->compressed)
            status = inflate_parts_create(&s->parts, &s->source, section->stored,
                                          section->header.sh_size, part);
    }
    return status;
}

// plain_write_sections writes all sections.
static enum ch_status plain_write_sections(struct plain *plain)
{
    enum ch_status status = plain_open_streams(plain);
    if (status == CH_OK)
        status = plain_use_threads(plain);
    for (size_t i = 0; i < plain->count; i++) {
        struct inflate_parts *parts = plain->streams[i].parts;
        if (status == CH_OK && parts != NULL)
            status = inflate_parts_check(parts);
        inflate_parts_destroy(parts);
        plain->streams[i].parts = NULL;
    }
    return status;
}

// plain_name_names adds the section with the names of sections; they are complete.
static enum ch_status plain_name_names(struct plain *plain, Elf64_Shdr *out)
{
    size_t name = plain->names.size;
    text_append(&plain->names, ".shstrtab", sizeof(".shstrtab"));
    *out = (Elf64_Shdr){ .sh_name = (Elf64_Word)name,
                         .sh_type = SHT_STRTAB,
                         .sh_offset = plain->size,
                         .sh_size = plain->names.size,
                         .sh_addralign = 1 };
    return text_ok(&plain->names) ? CH_OK : CH_ERR_NO_MEMORY;
}

// plain_finish writes the names and the headers of the sections, and the file's header,
// which makes it one.
static enum ch_status plain_finish(struct plain *plain, const Elf64_Shdr *names)
{
    GElf_Ehdr header;
    Elf64_Shdr headers[SECTIONS_MAX + 2] = { { 0 } }; // the first is the null section
    if (gelf_getehdr(plain->file->elf, &header) == NULL)
        return CH_ERR_MALFORMED;
    size_t count = 1;
    for (size_t i = 0; i < plain->count; i++)
        headers[count++] = plain->sections[i].header;
    headers[count] = *names;
    header.e_phoff = 0;
    header.e_phnum = 0;
    header.e_shoff = plain_align(plain->size + plain->names.size);
    header.e_shentsize = sizeof(headers[0]);
    header.e_shstrndx = (Elf64_Half)count++;
    header.e_shnum = (Elf64_Half)count;
    bool written =
        plain_write_at(plain, plain->names.bytes, plain->names.size, plain->size) &&
        plain_write_at(plain, headers, count * sizeof(headers[0]), header.e_shoff) &&
        plain_write_at(plain, &header, sizeof(header), 0);
    return written ? CH_OK : CH_ERR_IO;
}

// plain_whole_size is the size of the file with everything.
static uint64_t plain_whole_size(const struct plain *plain)
{
    return plain_align(plain->size + plain->names.size) +
           (plain->count + 2) * sizeof(Elf64_Shdr);
}

static int largest_first(const void *left, const void *right)
{
    const struct plain_section *a = left;
    const struct plain_section *b = right;
    return a->header.sh_size > b->header.sh_size
               ? -1
               : a->header.sh_size < b->header.sh_size;
}

// plain_reserve takes the room on the disk at once, which is quicker than with each
// write, and tells early where there is none. Not every file system can.
static enum ch_status plain_reserve(const struct plain *plain)
{
    off_t size = (off_t)plain_whole_size(plain);
    return fallocate(plain->fd, 0, 0, size) != 0 && errno == ENOSPC ? CH_ERR_IO : CH_OK;
}

// plain_write_all writes everything to where plain says.
static enum ch_status plain_write_all(struct plain *plain, const Elf64_Shdr *names)
{
    qsort(plain->sections, plain->count, sizeof(plain->sections[0]), largest_first);
    enum ch_status status = plain->fd >= 0 ? plain_reserve(plain) : CH_OK;
    if (status == CH_OK)
        status = plain_write_sections(plain);
    return status == CH_OK ? plain_finish(plain, names) : status;
}

enum ch_status plain_debug_write(const struct debug_elf *file, int fd,
                                 uint64_t limit_bytes)
{
    struct plain plain;
    Elf64_Shdr names;
    enum ch_status status = plain_list(&plain, file, false);
    plain.fd = fd;
    if (status == CH_OK && plain.size > limit_bytes)
        status = CH_ERR_LIMIT;
    if (status == CH_OK)
        status = plain_name_names(&plain, &names);
    if (status == CH_OK)
        status = plain_write_all(&plain, &names);
    text_deinit(&plain.names);
    return status;
}

// plain_allocate allocates memory in the kernel's large pages as far as they fill it:
// there is little to do for each byte, and supplying the others took a quarter of the
// time.
static void *plain_allocate(size_t size)
{
    enum { HUGE_PAGE = 2 << 20 };
    void *bytes = NULL;
    if (posix_memalign(&bytes, size < HUGE_PAGE ? sizeof(max_align_t) : HUGE_PAGE,
                       size) != 0)
        return NULL;
    if (size >= HUGE_PAGE)
        (void)madvise(bytes, size / HUGE_PAGE * HUGE_PAGE, MADV_HUGEPAGE);
    return bytes;
}

// plain_load_all writes the file to memory.
static enum ch_status plain_load_all(struct plain *plain, const Elf64_Shdr *names,
                                     struct debug_elf *out)
{
    size_t size = (size_t)plain_whole_size(plain);
    plain->bytes = plain_allocate(size);
    if (plain->bytes == NULL)
        return CH_ERR_NO_MEMORY;
    enum ch_status status = plain_write_all(plain, names);
    if (status == CH_OK)
        return debug_elf_over(out, plain->bytes, size);
    free(plain->bytes);
    return status;
}

// plain_temporary opens a file without a name. -1: there is none.
static int plain_temporary(void)
{
    const char *folder = secure_getenv("TMPDIR");
    if (folder == NULL || *folder == 0)
        folder = "/var/tmp";
    return open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC | O_EXCL, 0600);
}

// plain_load_mapped writes what is large to a file without a name, of which only the
// pages that are looked at take memory.
static enum ch_status plain_load_mapped(struct plain *plain, const Elf64_Shdr *names,
                                        struct debug_elf *out)
{
    plain->fd = plain->size >= PLAIN_DEBUG_LARGE ? plain_temporary() : -1;
    if (plain->fd < 0)
        return CH_ERR_UNSUPPORTED;
    enum ch_status status = plain_write_all(plain, names);
    if (status == CH_OK)
        return debug_elf_adopt(out, plain->fd);
    close(plain->fd);
    return status;
}

// plain_load has memory in place of a file that cannot be made, or has no room.
static enum ch_status plain_load(struct plain *plain, const Elf64_Shdr *names,
                                 struct debug_elf *out)
{
    enum ch_status status = plain_load_mapped(plain, names, out);
    if (status != CH_ERR_UNSUPPORTED && status != CH_ERR_IO)
        return status;
    plain->fd = -1;
    atomic_store(&plain->status, CH_OK);
    return plain_load_all(plain, names, out);
}

enum ch_status plain_debug_load(struct debug_elf *out, const struct debug_elf *file)
{
    struct plain plain;
    Elf64_Shdr names;
    enum ch_status status = plain_list(&plain, file, true);
    // Split files are looked for from where the file itself is.
    if (status == CH_OK &&
        (!plain.compressed || debug_elf_section(file, ".debug_addr") != NULL))
        status = CH_ERR_UNSUPPORTED;
    if (status == CH_OK && plain.size > PLAIN_DEBUG_LOADED_MAX)
        status = CH_ERR_LIMIT;
    if (status == CH_OK)
        status = plain_name_names(&plain, &names);
    if (status == CH_OK)
        status = plain_load(&plain, &names, out);
    text_deinit(&plain.names);
    return status;
}
