// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/names/plain_debug.h"

#include <errno.h>
#include <gelf.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "base/text.h"

enum {
    SECTIONS_MAX = 32,
    ALIGNMENT = 16,
    PIECE_BYTES = 128 << 10, // read or written at a time
};

// plain_section is a section that is taken.
struct plain_section {
    uint64_t from; // offset of its bytes in the original
    uint64_t stored;
    bool compressed;
    Elf64_Shdr header; // in the plain file
};

// plain is the file being written.
struct plain {
    const struct debug_elf *file;
    int fd;
    struct plain_section sections[SECTIONS_MAX];
    size_t count;
    uint64_t size;     // of the file without its headers of sections
    struct text names; // of sections
    bool compressed;   // one of them is
    atomic_uint next;  // section to be written
    atomic_int status; // the first failure
};

// plain_is_taken says whether finding names and values needs a section of that name.
static bool plain_is_taken(const char *name)
{
    static const char *const taken[] = {
        ".note.gnu.build-id", ".debug_info",        ".debug_types",  ".debug_abbrev",
        ".debug_str",         ".debug_line_str",    ".debug_addr",   ".debug_aranges",
        ".debug_loc",         ".debug_loclists",    ".debug_ranges", ".debug_rnglists",
        ".debug_frame",       ".debug_str_offsets", ".debug_line"
    };
    for (size_t i = 0; i < sizeof(taken) / sizeof(taken[0]); i++)
        if (strcmp(name, taken[i]) == 0)
            return true;
    return false;
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
    plain->size = (plain->size + ALIGNMENT - 1) & ~(uint64_t)(ALIGNMENT - 1);
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
static enum ch_status plain_list(struct plain *plain, const struct debug_elf *file)
{
    size_t names;
    GElf_Shdr header;
    enum ch_status status = CH_OK;
    *plain = (struct plain){ .file = file, .size = sizeof(Elf64_Ehdr) };
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
        else if (name != NULL && plain_is_taken(name))
            status = plain_add(plain, scn, name, &header);
    }
    return status;
}

uint64_t plain_debug_size(const struct debug_elf *file)
{
    struct plain plain;
    enum ch_status status = plain_list(&plain, file);
    text_deinit(&plain.names);
    return status == CH_OK && plain.compressed ? plain.size : 0;
}

static bool plain_write_at(int fd, const void *bytes, size_t size, uint64_t at)
{
    while (size > 0) {
        ssize_t written = pwrite(fd, bytes, size, (off_t)at);
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

// plain_read_piece reads the next piece of what is stored of a section. It returns its
// size, 0 at the end or if it cannot be read.
static size_t plain_read_piece(const struct plain *plain,
                               const struct plain_section *section, uint64_t at,
                               void *to)
{
    uint64_t left = section->stored - at;
    size_t size = left < PIECE_BYTES ? (size_t)left : PIECE_BYTES;
    ssize_t got;
    do
        got = pread(plain->file->fd, to, size, (off_t)(section->from + at));
    while (got < 0 && errno == EINTR);
    return got > 0 ? (size_t)got : 0;
}

// plain_copy writes a section that is not compressed.
static enum ch_status plain_copy(const struct plain *plain,
                                 const struct plain_section *section, uint8_t *piece)
{
    for (uint64_t at = 0; at < section->stored;) {
        size_t size = plain_read_piece(plain, section, at, piece);
        if (size == 0)
            return CH_ERR_MALFORMED;
        if (!plain_write_at(plain->fd, piece, size, section->header.sh_offset + at))
            return CH_ERR_IO;
        at += size;
    }
    return CH_OK;
}

// inflating is a section being decompressed.
struct inflating {
    const struct plain *plain;
    const struct plain_section *section;
    z_stream stream;
    uint64_t taken;   // bytes of what is stored
    uint64_t written; // bytes of the section
    uint8_t *in;
    uint8_t *out;
};

// plain_inflate_piece writes what the stream makes of the bytes it has until it needs
// more. CH_END: the stream has ended.
static enum ch_status plain_inflate_piece(struct inflating *f)
{
    int result = Z_OK;
    do {
        f->stream.next_out = f->out;
        f->stream.avail_out = PIECE_BYTES;
        result = inflate(&f->stream, Z_NO_FLUSH);
        size_t made = PIECE_BYTES - f->stream.avail_out;
        if ((result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR) ||
            made > f->section->header.sh_size - f->written)
            return CH_ERR_MALFORMED;
        if (!plain_write_at(f->plain->fd, f->out, made,
                            f->section->header.sh_offset + f->written))
            return CH_ERR_IO;
        f->written += made;
    } while (result == Z_OK && f->stream.avail_out == 0);
    return result == Z_STREAM_END ? CH_END : CH_OK;
}

// plain_inflate writes a section that is compressed, which has to have the size that
// its header says.
static enum ch_status plain_inflate(const struct plain *plain,
                                    const struct plain_section *section, uint8_t *piece)
{
    struct inflating f = {
        .plain = plain, .section = section, .in = piece, .out = piece + PIECE_BYTES
    };
    enum ch_status status = CH_OK;
    if (inflateInit(&f.stream) != Z_OK)
        return CH_ERR_NO_MEMORY;
    while (status == CH_OK) {
        size_t size = plain_read_piece(plain, section, f.taken, f.in);
        f.stream.next_in = f.in;
        f.stream.avail_in = (uInt)size;
        f.taken += size;
        status = size != 0 ? plain_inflate_piece(&f) : CH_ERR_MALFORMED;
    }
    (void)inflateEnd(&f.stream);
    if (status != CH_END)
        return status;
    return f.written == section->header.sh_size ? CH_OK : CH_ERR_MALFORMED;
}

// write_plain_sections writes sections until none is left; several threads may do so.
static void *write_plain_sections(void *context)
{
    struct plain *plain = context;
    uint8_t *pieces = malloc((size_t)2 * PIECE_BYTES);
    enum ch_status status = pieces != NULL ? CH_OK : CH_ERR_NO_MEMORY;
    while (status == CH_OK && atomic_load(&plain->status) == CH_OK) {
        unsigned index = atomic_fetch_add(&plain->next, 1);
        if (index >= plain->count)
            break;
        const struct plain_section *section = &plain->sections[index];
        status = section->compressed ? plain_inflate(plain, section, pieces)
                                     : plain_copy(plain, section, pieces);
    }
    int none = CH_OK;
    if (status != CH_OK)
        (void)atomic_compare_exchange_strong(&plain->status, &none, (int)status);
    free(pieces);
    return NULL;
}

// start_plain_worker starts a thread that writes sections too. A program that looks up
// names of its own must not find its signals in that thread. False: there is none.
static bool start_plain_worker(struct plain *plain, pthread_t *out)
{
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    if (pthread_sigmask(SIG_SETMASK, &all, &before) != 0)
        return false;
    bool started = pthread_create(out, NULL, write_plain_sections, plain) == 0;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return started;
}

// plain_write_sections writes all sections: for a large file in two threads, as one
// section has more than half of it and is written first.
static enum ch_status plain_write_sections(struct plain *plain)
{
    pthread_t other;
    bool started =
        plain->size >= PLAIN_DEBUG_LARGE && start_plain_worker(plain, &other);
    (void)write_plain_sections(plain);
    if (started)
        (void)pthread_join(other, NULL);
    return (enum ch_status)atomic_load(&plain->status);
}

// plain_finish writes the names and the headers of the sections, and the file's header,
// which makes it one.
static enum ch_status plain_finish(struct plain *plain)
{
    GElf_Ehdr from;
    Elf64_Shdr headers[SECTIONS_MAX + 2] = { { 0 } }; // the first is the null section
    if (gelf_getehdr(plain->file->elf, &from) == NULL)
        return CH_ERR_MALFORMED;
    size_t count = 1;
    for (size_t i = 0; i < plain->count; i++)
        headers[count++] = plain->sections[i].header;
    size_t name = plain->names.size;
    text_append(&plain->names, ".shstrtab", sizeof(".shstrtab"));
    if (!text_ok(&plain->names))
        return CH_ERR_NO_MEMORY;
    headers[count] = (Elf64_Shdr){ .sh_name = (Elf64_Word)name,
                                   .sh_type = SHT_STRTAB,
                                   .sh_offset = plain->size,
                                   .sh_size = plain->names.size,
                                   .sh_addralign = 1 };
    uint64_t at =
        (plain->size + plain->names.size + ALIGNMENT - 1) & ~(uint64_t)(ALIGNMENT - 1);
    Elf64_Ehdr header = from;
    header.e_phoff = 0;
    header.e_phnum = 0;
    header.e_shoff = at;
    header.e_shentsize = sizeof(headers[0]);
    header.e_shstrndx = (Elf64_Half)count++;
    header.e_shnum = (Elf64_Half)count;
    bool written =
        plain_write_at(plain->fd, plain->names.bytes, plain->names.size, plain->size) &&
        plain_write_at(plain->fd, headers, count * sizeof(headers[0]), at) &&
        plain_write_at(plain->fd, &header, sizeof(header), 0);
    return written ? CH_OK : CH_ERR_IO;
}

static int largest_first(const void *left, const void *right)
{
    const struct plain_section *a = left;
    const struct plain_section *b = right;
    return a->header.sh_size > b->header.sh_size
               ? -1
               : a->header.sh_size < b->header.sh_size;
}

enum ch_status plain_debug_write(const struct debug_elf *file, int fd,
                                 uint64_t limit_bytes)
{
    struct plain plain;
    enum ch_status status = plain_list(&plain, file);
    plain.fd = fd;
    if (status == CH_OK && plain.size > limit_bytes)
        status = CH_ERR_LIMIT;
    qsort(plain.sections, plain.count, sizeof(plain.sections[0]), largest_first);
    if (status == CH_OK)
        status = plain_write_sections(&plain);
    if (status == CH_OK)
        status = plain_finish(&plain);
    text_deinit(&plain.names);
    return status;
}
