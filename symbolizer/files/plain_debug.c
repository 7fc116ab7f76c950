// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/files/plain_debug.h"

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

// plain_section is a section that is taken.
struct plain_section {
    uint64_t from; // offset of its bytes in the original
    uint64_t stored;
    uint32_t method;   // of decompress.h; 0: it is not compressed
    Elf64_Shdr header; // in the plain file
};

// plain is the file being written.
struct plain {
    const struct debug_elf *file;
    uint8_t *bytes; // as many as plain_whole_size
    struct plain_section sections[SECTIONS_MAX];
    size_t count;
    uint64_t size;      // of the file without its headers of sections
    struct text names;  // of sections
    bool compressed;    // one of them is
    atomic_size_t next; // section to be written
    atomic_int status;  // the first failure
    int processor;      // on which the first thread is; negative: not known
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
    *plain = (struct plain){ .file = file, .size = sizeof(Elf64_Ehdr) };
    text_append(&plain->names, "", 1);
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
        else if (name != NULL && plain_is_taken(name, names_only))
            status = plain_add(plain, scn, name, &header);
    }
    return status;
}

bool plain_debug_is_foreign(const struct debug_elf *file)
{
    GElf_Chdr header;
    for (Elf_Scn *scn = elf_nextscn(file->elf, NULL); scn != NULL;
         scn = elf_nextscn(file->elf, scn))
        if (gelf_getchdr(scn, &header) != NULL && header.ch_type != DECOMPRESS_ZLIB)
            return true;
    return false;
}

bool plain_debug_is_unknown(const struct debug_elf *file)
{
    GElf_Shdr section;
    GElf_Chdr header;
    Elf_Scn *scn = debug_elf_find_section(file, ".debug_info", &section);
    return scn != NULL && gelf_getchdr(scn, &header) != NULL &&
           header.ch_type != DECOMPRESS_ZLIB && header.ch_type != DECOMPRESS_ZSTD;
}

uint64_t plain_debug_size(const struct debug_elf *file)
{
    struct plain plain;
    enum ch_status status = plain_list(&plain, file, false);
    text_deinit(&plain.names);
    return status == CH_OK && plain.compressed ? plain.size : 0;
}

// plain_write_section writes a section.
static enum ch_status plain_write_section(const struct plain *plain,
                                          const struct plain_section *section)
{
    size_t whole;
    const char *from = elf_rawfile(plain->file->elf, &whole);
    uint8_t *to = plain->bytes + section->header.sh_offset;
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

// write_plain_sections writes sections until none is left; several threads may do so.
static void *write_plain_sections(void *context)
{
    struct plain *plain = context;
    enum ch_status status = (enum ch_status)atomic_load(&plain->status);
    size_t i;
    while (status == CH_OK && (i = atomic_fetch_add(&plain->next, 1)) < plain->count)
        status = plain_write_section(plain, &plain->sections[i]);
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

// plain_write_sections writes all sections, those of a file that takes milliseconds in
// as many threads as there are processors, up to four.
static enum ch_status plain_write_sections(struct plain *plain)
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
static enum ch_status plain_finish(const struct plain *plain, const Elf64_Shdr *names)
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
    memcpy(plain->bytes + plain->size, plain->names.bytes, plain->names.size);
    memcpy(plain->bytes + header.e_shoff, headers, count * sizeof(headers[0]));
    memcpy(plain->bytes, &header, sizeof(header));
    return CH_OK;
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

// plain_write_bytes writes everything to plain->bytes.
static enum ch_status plain_write_bytes(struct plain *plain, const Elf64_Shdr *names)
{
    qsort(plain->sections, plain->count, sizeof(plain->sections[0]), largest_first);
    enum ch_status status = plain_write_sections(plain);
    return status == CH_OK ? plain_finish(plain, names) : status;
}

// plain_write_file writes everything to fd. The disk space is allocated first: writing
// to a mapped file on a full disk raises SIGBUS.
static enum ch_status plain_write_file(struct plain *plain, const Elf64_Shdr *names,
                                       int fd)
{
    size_t size = (size_t)plain_whole_size(plain);
    int error = posix_fallocate(fd, 0, (off_t)size);
    if (error != 0) {
        errno = error;
        return CH_ERR_IO;
    }
    void *bytes = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (bytes == MAP_FAILED)
        return CH_ERR_IO;
    plain->bytes = bytes;
    enum ch_status status = plain_write_bytes(plain, names);
    (void)munmap(bytes, size);
    return status;
}

enum ch_status plain_debug_write(const struct debug_elf *file, int fd,
                                 uint64_t limit_bytes)
{
    struct plain plain;
    Elf64_Shdr names;
    enum ch_status status = plain_list(&plain, file, false);
    if (status == CH_OK && plain.size > limit_bytes)
        status = CH_ERR_LIMIT;
    if (status == CH_OK)
        status = plain_name_names(&plain, &names);
    if (status == CH_OK)
        status = plain_write_file(&plain, &names, fd);
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
    enum ch_status status = plain_write_bytes(plain, names);
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

// plain_load_mapped writes what is large to a file without a name, whose pages the
// kernel can take back.
static enum ch_status plain_load_mapped(struct plain *plain, const Elf64_Shdr *names,
                                        struct debug_elf *out)
{
    int fd = plain->size >= PLAIN_DEBUG_LARGE ? plain_temporary() : -1;
    if (fd < 0)
        return CH_ERR_UNSUPPORTED;
    enum ch_status status = plain_write_file(plain, names, fd);
    if (status == CH_OK)
        return debug_elf_adopt(out, fd);
    close(fd);
    return status;
}

// plain_load has memory in place of a file that cannot be made, or has no room.
static enum ch_status plain_load(struct plain *plain, const Elf64_Shdr *names,
                                 struct debug_elf *out)
{
    enum ch_status status = plain_load_mapped(plain, names, out);
    if (status != CH_ERR_UNSUPPORTED && status != CH_ERR_IO)
        return status;
    return plain_load_all(plain, names, out);
}

// plain_load_listed has the result of plain_list, and releases plain.
static enum ch_status plain_load_listed(struct plain *plain, enum ch_status status,
                                        struct debug_elf *out)
{
    Elf64_Shdr names;
    if (status == CH_OK && plain->size > PLAIN_DEBUG_LOADED_MAX)
        status = CH_ERR_LIMIT;
    if (status == CH_OK)
        status = plain_name_names(plain, &names);
    if (status == CH_OK)
        status = plain_load(plain, &names, out);
    text_deinit(&plain->names);
    return status;
}

enum ch_status plain_debug_load(struct debug_elf *out, const struct debug_elf *file)
{
    struct plain plain;
    enum ch_status status = plain_list(&plain, file, true);
    // Split files are looked for from where the file itself is.
    if (status == CH_OK &&
        (!plain.compressed || debug_elf_section(file, ".debug_addr") != NULL))
        status = CH_ERR_UNSUPPORTED;
    return plain_load_listed(&plain, status, out);
}

enum ch_status plain_debug_load_foreign(struct debug_elf *out,
                                        const struct debug_elf *file)
{
    struct plain plain;
    if (!plain_debug_is_foreign(file))
        return CH_ERR_UNSUPPORTED;
    return plain_load_listed(&plain, plain_list(&plain, file, false), out);
}
