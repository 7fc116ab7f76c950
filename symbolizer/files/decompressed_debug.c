// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/files/decompressed_debug.h"

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

#include "base/system/own_thread.h"
#include "base/text.h"
#include "formats/debug/decompress.h"

enum {
    SECTIONS_MAX = 32,
    ALIGNMENT = 16,
    THREADS_MAX = 4,
    THREADS_BYTES = 4 << 20, // of a file that several threads write
};

// decompressed_section is a section that is taken.
struct decompressed_section {
    uint64_t from; // offset of its bytes in the original
    uint64_t stored;
    uint32_t method;   // of decompress.h; 0: it is not compressed
    Elf64_Shdr header; // in the decompressed file
};

// decompressed is the file being written.
struct decompressed {
    const struct debug_elf *file;
    uint8_t *bytes; // as many as decompressed_whole_size
    struct decompressed_section sections[SECTIONS_MAX];
    size_t count;
    uint64_t size;      // of the file without its headers of sections
    struct text names;  // of sections
    bool compressed;    // one of them is
    atomic_size_t next; // section to be written
    atomic_int status;  // the first failure
    int processor;      // on which the first thread is; negative: not known
};

// decompressed_is_taken returns true if finding names, or values too, needs a section
// of that name.
static bool decompressed_is_taken(const char *name, bool names_only)
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

static uint64_t decompressed_align(uint64_t size)
{
    return (size + ALIGNMENT - 1) & ~(uint64_t)(ALIGNMENT - 1);
}

// decompressed_add adds a section to those taken. CH_ERR_UNSUPPORTED: it is compressed
// in another way.
static enum ch_status decompressed_add(struct decompressed *decompressed, Elf_Scn *scn,
                                       const char *name, const GElf_Shdr *header)
{
    GElf_Chdr compressed;
    struct decompressed_section section = { .from = header->sh_offset,
                                            .stored = header->sh_size };
    uint64_t size = header->sh_size;
    if (decompressed->count == SECTIONS_MAX)
        return CH_ERR_LIMIT;
    if ((header->sh_flags & SHF_COMPRESSED) != 0) {
        if (gelf_getchdr(scn, &compressed) == NULL ||
            header->sh_size < sizeof(Elf64_Chdr))
            return CH_ERR_MALFORMED;
        if (compressed.ch_type != DECOMPRESS_ZLIB &&
            compressed.ch_type != DECOMPRESS_ZSTD)
            return CH_ERR_UNSUPPORTED;
        section.method = compressed.ch_type;
        section.from += sizeof(Elf64_Chdr);
        section.stored -= sizeof(Elf64_Chdr);
        size = compressed.ch_size;
        decompressed->compressed = true;
    }
    if (size > INT64_MAX / 2 - decompressed->size)
        return CH_ERR_LIMIT;
    decompressed->size = decompressed_align(decompressed->size);
    section.header =
        (Elf64_Shdr){ .sh_name = (Elf64_Word)decompressed->names.size,
                      .sh_type = header->sh_type,
                      .sh_flags = header->sh_flags & (SHF_MERGE | SHF_STRINGS),
                      .sh_entsize = header->sh_entsize,
                      .sh_offset = decompressed->size,
                      .sh_size = size,
                      .sh_addralign = 1 };
    text_append(&decompressed->names, name, strlen(name) + 1);
    decompressed->size += size;
    decompressed->sections[decompressed->count++] = section;
    return text_ok(&decompressed->names) ? CH_OK : CH_ERR_NO_MEMORY;
}

// decompressed_list lists the sections that are taken. CH_ERR_UNSUPPORTED: there is no
// decompressed form.
static enum ch_status decompressed_list(struct decompressed *decompressed,
                                        const struct debug_elf *file, bool names_only)
{
    size_t names;
    GElf_Shdr header;
    enum ch_status status = CH_OK;
    *decompressed = (struct decompressed){ .file = file, .size = sizeof(Elf64_Ehdr) };
    text_append(&decompressed->names, "", 1);
    // What is written has 64 bits, and no values of others are found.
    if (gelf_getclass(file->elf) != ELFCLASS64 ||
        elf_getshdrstrndx(file->elf, &names) != 0)
        return CH_ERR_UNSUPPORTED;
    for (Elf_Scn *scn = elf_nextscn(file->elf, NULL); scn != NULL && status == CH_OK;
         scn = elf_nextscn(file->elf, scn)) {
        if (gelf_getshdr(scn, &header) == NULL || header.sh_type == SHT_NOBITS)
            continue;
        const char *name = elf_strptr(file->elf, names, header.sh_name);
        if (name != NULL && strcmp(name, ".gnu_debugaltlink") == 0)
            status = CH_ERR_UNSUPPORTED;
        else if (name != NULL && decompressed_is_taken(name, names_only))
            status = decompressed_add(decompressed, scn, name, &header);
    }
    return status;
}

bool decompressed_debug_is_foreign(const struct debug_elf *file)
{
    GElf_Chdr header;
    for (Elf_Scn *scn = elf_nextscn(file->elf, NULL); scn != NULL;
         scn = elf_nextscn(file->elf, scn))
        if (gelf_getchdr(scn, &header) != NULL && header.ch_type != DECOMPRESS_ZLIB)
            return true;
    return false;
}

bool decompressed_debug_is_unknown(const struct debug_elf *file)
{
    GElf_Shdr section;
    GElf_Chdr header;
    Elf_Scn *scn = debug_elf_find_section(file, ".debug_info", &section);
    return scn != NULL && gelf_getchdr(scn, &header) != NULL &&
           header.ch_type != DECOMPRESS_ZLIB && header.ch_type != DECOMPRESS_ZSTD;
}

uint64_t decompressed_debug_size(const struct debug_elf *file)
{
    struct decompressed decompressed;
    enum ch_status status = decompressed_list(&decompressed, file, false);
    text_deinit(&decompressed.names);
    return status == CH_OK && decompressed.compressed ? decompressed.size : 0;
}

// decompressed_write_section writes a section.
static enum ch_status
decompressed_write_section(const struct decompressed *decompressed,
                           const struct decompressed_section *section)
{
    size_t whole;
    const char *from = elf_rawfile(decompressed->file->elf, &whole);
    uint8_t *to = decompressed->bytes + section->header.sh_offset;
    if (from == NULL || section->from > whole ||
        section->stored > whole - section->from)
        return CH_ERR_MALFORMED;
    from += section->from;
    if (section->method != 0)
        return decompress(section->method, cursor_over(from, section->stored), to,
                          section->header.sh_size);
    memcpy(to, from, section->stored);
    return CH_OK;
}

// write_decompressed_sections writes sections until none is left; several threads may
// do so.
static void *write_decompressed_sections(void *context)
{
    struct decompressed *decompressed = context;
    enum ch_status status = (enum ch_status)atomic_load(&decompressed->status);
    size_t i;
    while (status == CH_OK &&
           (i = atomic_fetch_add(&decompressed->next, 1)) < decompressed->count)
        status = decompressed_write_section(decompressed, &decompressed->sections[i]);
    int none = CH_OK;
    if (status != CH_OK)
        (void)atomic_compare_exchange_strong(&decompressed->status, &none, (int)status);
    return NULL;
}

// write_beside is what the other threads run.
static void *write_beside(void *context)
{
    const struct decompressed *decompressed = context;
    own_thread_leave(decompressed->processor);
    return write_decompressed_sections(context);
}

// decompressed_write_sections writes all sections, those of a file that takes
// milliseconds in as many threads as there are processors, up to four.
static enum ch_status decompressed_write_sections(struct decompressed *decompressed)
{
    pthread_t others[THREADS_MAX - 1];
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    int count = 0;
    decompressed->processor = sched_getcpu();
    while (decompressed->size >= THREADS_BYTES && count < THREADS_MAX - 1 &&
           count + 1 < processors &&
           own_thread_start(&others[count], write_beside, decompressed))
        count++;
    (void)write_decompressed_sections(decompressed);
    while (count != 0)
        (void)pthread_join(others[--count], NULL);
    return (enum ch_status)atomic_load(&decompressed->status);
}

// decompressed_name_names adds the section with the names of sections; they are
// complete.
static enum ch_status decompressed_name_names(struct decompressed *decompressed,
                                              Elf64_Shdr *out)
{
    size_t name = decompressed->names.size;
    text_append(&decompressed->names, ".shstrtab", sizeof(".shstrtab"));
    *out = (Elf64_Shdr){ .sh_name = (Elf64_Word)name,
                         .sh_type = SHT_STRTAB,
                         .sh_offset = decompressed->size,
                         .sh_size = decompressed->names.size,
                         .sh_addralign = 1 };
    return text_ok(&decompressed->names) ? CH_OK : CH_ERR_NO_MEMORY;
}

// decompressed_finish writes the names and the headers of the sections, and the file's
// header, which makes it one.
static enum ch_status decompressed_finish(const struct decompressed *decompressed,
                                          const Elf64_Shdr *names)
{
    GElf_Ehdr header;
    Elf64_Shdr headers[SECTIONS_MAX + 2] = { { 0 } }; // the first is the null section
    if (gelf_getehdr(decompressed->file->elf, &header) == NULL)
        return CH_ERR_MALFORMED;
    size_t count = 1;
    for (size_t i = 0; i < decompressed->count; i++)
        headers[count++] = decompressed->sections[i].header;
    headers[count] = *names;
    header.e_phoff = 0;
    header.e_phnum = 0;
    header.e_shoff = decompressed_align(decompressed->size + decompressed->names.size);
    header.e_shentsize = sizeof(headers[0]);
    header.e_shstrndx = (Elf64_Half)count++;
    header.e_shnum = (Elf64_Half)count;
    memcpy(decompressed->bytes + decompressed->size, decompressed->names.bytes,
           decompressed->names.size);
    memcpy(decompressed->bytes + header.e_shoff, headers, count * sizeof(headers[0]));
    memcpy(decompressed->bytes, &header, sizeof(header));
    return CH_OK;
}

// decompressed_whole_size is the size of the file with everything.
static uint64_t decompressed_whole_size(const struct decompressed *decompressed)
{
    return decompressed_align(decompressed->size + decompressed->names.size) +
           (decompressed->count + 2) * sizeof(Elf64_Shdr);
}

static int largest_first(const void *left, const void *right)
{
    const struct decompressed_section *a = left;
    const struct decompressed_section *b = right;
    return a->header.sh_size > b->header.sh_size
               ? -1
               : a->header.sh_size < b->header.sh_size;
}

// decompressed_write_bytes writes everything to decompressed->bytes.
static enum ch_status decompressed_write_bytes(struct decompressed *decompressed,
                                               const Elf64_Shdr *names)
{
    qsort(decompressed->sections, decompressed->count,
          sizeof(decompressed->sections[0]), largest_first);
    enum ch_status status = decompressed_write_sections(decompressed);
    return status == CH_OK ? decompressed_finish(decompressed, names) : status;
}

// decompressed_write_file writes everything to fd. The disk space is allocated first:
// writing to a mapped file on a full disk raises SIGBUS.
static enum ch_status decompressed_write_file(struct decompressed *decompressed,
                                              const Elf64_Shdr *names, int fd)
{
    size_t size = (size_t)decompressed_whole_size(decompressed);
    int error = posix_fallocate(fd, 0, (off_t)size);
    if (error != 0) {
        errno = error;
        return CH_ERR_IO;
    }
    void *bytes = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (bytes == MAP_FAILED)
        return CH_ERR_IO;
    decompressed->bytes = bytes;
    enum ch_status status = decompressed_write_bytes(decompressed, names);
    (void)munmap(bytes, size);
    return status;
}

enum ch_status decompressed_debug_write(const struct debug_elf *file, int fd,
                                        uint64_t limit_bytes)
{
    struct decompressed decompressed;
    Elf64_Shdr names;
    enum ch_status status = decompressed_list(&decompressed, file, false);
    if (status == CH_OK && decompressed.size > limit_bytes)
        status = CH_ERR_LIMIT;
    if (status == CH_OK)
        status = decompressed_name_names(&decompressed, &names);
    if (status == CH_OK)
        status = decompressed_write_file(&decompressed, &names, fd);
    text_deinit(&decompressed.names);
    return status;
}

// decompressed_allocate allocates memory in the kernel's large pages as far as they
// fill it: there is little to do for each byte, and supplying the others took a quarter
// of the time.
static void *decompressed_allocate(size_t size)
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

// decompressed_load_all writes the file to memory.
static enum ch_status decompressed_load_all(struct decompressed *decompressed,
                                            const Elf64_Shdr *names,
                                            struct debug_elf *out)
{
    size_t size = (size_t)decompressed_whole_size(decompressed);
    decompressed->bytes = decompressed_allocate(size);
    if (decompressed->bytes == NULL)
        return CH_ERR_NO_MEMORY;
    enum ch_status status = decompressed_write_bytes(decompressed, names);
    if (status == CH_OK)
        return debug_elf_over(out, decompressed->bytes, size);
    free(decompressed->bytes);
    return status;
}

// decompressed_temporary opens a file without a name. -1: there is none.
static int decompressed_temporary(void)
{
    const char *folder = secure_getenv("TMPDIR");
    if (folder == NULL || *folder == 0)
        folder = "/var/tmp";
    return open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC | O_EXCL, 0600);
}

// decompressed_load_mapped writes what is large to a file without a name, whose pages
// the kernel can take back.
static enum ch_status decompressed_load_mapped(struct decompressed *decompressed,
                                               const Elf64_Shdr *names,
                                               struct debug_elf *out)
{
    int fd = decompressed->size >= PLAIN_DEBUG_LARGE ? decompressed_temporary() : -1;
    if (fd < 0)
        return CH_ERR_UNSUPPORTED;
    enum ch_status status = decompressed_write_file(decompressed, names, fd);
    if (status == CH_OK)
        return debug_elf_adopt(out, fd);
    close(fd);
    return status;
}

// decompressed_load has memory in place of a file that cannot be made, or has no room.
static enum ch_status decompressed_load(struct decompressed *decompressed,
                                        const Elf64_Shdr *names, struct debug_elf *out)
{
    enum ch_status status = decompressed_load_mapped(decompressed, names, out);
    if (status != CH_ERR_UNSUPPORTED && status != CH_ERR_IO)
        return status;
    return decompressed_load_all(decompressed, names, out);
}

// decompressed_load_listed has the result of decompressed_list, and releases
// decompressed.
static enum ch_status decompressed_load_listed(struct decompressed *decompressed,
                                               enum ch_status status,
                                               struct debug_elf *out)
{
    Elf64_Shdr names;
    if (status == CH_OK && decompressed->size > PLAIN_DEBUG_LOADED_MAX)
        status = CH_ERR_LIMIT;
    if (status == CH_OK)
        status = decompressed_name_names(decompressed, &names);
    if (status == CH_OK)
        status = decompressed_load(decompressed, &names, out);
    text_deinit(&decompressed->names);
    return status;
}

enum ch_status decompressed_debug_load(struct debug_elf *out,
                                       const struct debug_elf *file)
{
    struct decompressed decompressed;
    enum ch_status status = decompressed_list(&decompressed, file, true);
    // Split files are looked for from where the file itself is.
    if (status == CH_OK &&
        (!decompressed.compressed || debug_elf_section(file, ".debug_addr") != NULL))
        status = CH_ERR_UNSUPPORTED;
    return decompressed_load_listed(&decompressed, status, out);
}

enum ch_status decompressed_debug_load_foreign(struct debug_elf *out,
                                               const struct debug_elf *file)
{
    struct decompressed decompressed;
    if (!decompressed_debug_is_foreign(file))
        return CH_ERR_UNSUPPORTED;
    return decompressed_load_listed(&decompressed,
                                    decompressed_list(&decompressed, file, false), out);
}
