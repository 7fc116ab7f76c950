// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/files/debug_elf.h"

#include <elfutils/libdwelf.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/system/mounts.h"

enum { PAGE_BYTES = 4096 };

// accept_elf closes any file that is not an ELF file in our byte order.
static enum ch_status accept_elf(struct debug_elf *file)
{
    GElf_Ehdr header;
    if (file->elf != NULL && elf_kind(file->elf) == ELF_K_ELF &&
        gelf_getehdr(file->elf, &header) != NULL &&
        header.e_ident[EI_DATA] == ELFDATA2LSB)
        return CH_OK;
    debug_elf_close(file);
    return CH_ERR_MALFORMED;
}

// open_regular opens the file fd, which it closes on failure.
static enum ch_status open_regular(struct debug_elf *out, int fd)
{
    struct stat info;
    if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
        close(fd);
        return CH_ERR_NOT_FOUND;
    }
    (void)elf_version(EV_CURRENT);
    *out = (struct debug_elf){ .fd = fd };
    out->elf = elf_begin(fd, ELF_C_READ_MMAP_PRIVATE, NULL);
    return accept_elf(out);
}

enum ch_status debug_elf_open(struct debug_elf *out, const char *path)
{
    int fd = reachable_open(path);
    return fd >= 0 ? open_regular(out, fd) : CH_ERR_NOT_FOUND;
}

enum ch_status debug_elf_adopt(struct debug_elf *out, int fd)
{
    enum ch_status status = open_regular(out, fd);
    // For each reader of a file's DWARF, of which each unit may have one, libdw would
    // find out where the file is.
    if (status == CH_OK)
        (void)elf_cntl(out->elf, ELF_C_FDREAD);
    return status;
}

enum ch_status debug_elf_over(struct debug_elf *out, void *bytes, size_t size)
{
    (void)elf_version(EV_CURRENT);
    *out = (struct debug_elf){ .fd = -1, .bytes = bytes };
    out->elf = elf_memory(bytes, size);
    return accept_elf(out);
}

void debug_elf_drop_pages(const struct debug_elf *file)
{
    size_t size;
    char *mapped = file->fd >= 0 ? elf_rawfile(file->elf, &size) : NULL;
    // What libelf could not map it has read into memory, which never begins a page.
    if (mapped != NULL && (uintptr_t)mapped % (uintptr_t)sysconf(_SC_PAGESIZE) == 0)
        (void)madvise(mapped, size, MADV_DONTNEED);
}

void debug_elf_detach(struct debug_elf *file)
{
    if (file->elf == NULL || file->fd < 0 || elf_cntl(file->elf, ELF_C_FDREAD) != 0)
        return;
    close(file->fd);
    file->fd = -1;
}

void debug_elf_close(struct debug_elf *file)
{
    bool opened = file->elf != NULL || file->bytes != NULL || file->fd > 0;
    if (file->elf != NULL)
        elf_end(file->elf);
    if (opened && file->fd >= 0)
        close(file->fd);
    free(file->bytes);
    *file = (struct debug_elf){ 0 };
}

struct build_id debug_elf_build_id(const struct debug_elf *file)
{
    struct build_id id = { .size = 0 };
    const void *bytes;
    ssize_t size = file->elf != NULL ? dwelf_elf_gnu_build_id(file->elf, &bytes) : 0;
    if (size > 0 && size <= BUILD_ID_MAX) {
        memcpy(id.bytes, bytes, (size_t)size);
        id.size = (size_t)size;
    }
    return id;
}

enum ch_status debug_elf_layout(const struct debug_elf *file, uint64_t *out_base,
                                uint64_t out_text[2])
{
    size_t count;
    uint64_t base = UINT64_MAX;
    uint64_t text[2] = { UINT64_MAX, 0 };
    if (elf_getphdrnum(file->elf, &count) != 0 || count > INT16_MAX)
        return CH_ERR_MALFORMED;
    for (int i = 0; i < (int)count; i++) {
        GElf_Phdr header;
        if (gelf_getphdr(file->elf, i, &header) == NULL || header.p_type != PT_LOAD)
            continue;
        uint64_t end;
        if (__builtin_add_overflow(header.p_vaddr, header.p_memsz, &end))
            return CH_ERR_MALFORMED;
        if (header.p_vaddr < base)
            base = header.p_vaddr;
        if ((header.p_flags & PF_X) == 0)
            continue;
        text[0] = header.p_vaddr < text[0] ? header.p_vaddr : text[0];
        text[1] = end > text[1] ? end : text[1];
    }
    if (base == UINT64_MAX || text[0] >= text[1])
        return CH_ERR_MALFORMED;
    *out_base = base & ~(uint64_t)(PAGE_BYTES - 1);
    out_text[0] = text[0];
    out_text[1] = text[1];
    return CH_OK;
}

Elf_Scn *debug_elf_find_section(const struct debug_elf *file, const char *name,
                                GElf_Shdr *out)
{
    size_t names;
    if (file->elf == NULL || elf_getshdrstrndx(file->elf, &names) != 0)
        return NULL;
    for (Elf_Scn *scn = elf_nextscn(file->elf, NULL); scn != NULL;
         scn = elf_nextscn(file->elf, scn)) {
        const char *its_name = gelf_getshdr(scn, out) != NULL
                                   ? elf_strptr(file->elf, names, out->sh_name)
                                   : NULL;
        if (its_name != NULL && strcmp(its_name, name) == 0)
            return scn;
    }
    return NULL;
}

Elf_Data *debug_elf_section(const struct debug_elf *file, const char *name)
{
    GElf_Shdr header;
    Elf_Scn *scn = debug_elf_find_section(file, name, &header);
    if (scn == NULL || header.sh_type == SHT_NOBITS)
        return NULL;
    return elf_rawdata(scn, NULL);
}

bool debug_elf_has_dwarf(const struct debug_elf *file)
{
    static const char *const names[] = { ".debug_info", ".zdebug_info" };
    GElf_Shdr header;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (debug_elf_find_section(file, names[i], &header) != NULL &&
            header.sh_type != SHT_NOBITS && header.sh_size != 0)
            return true;
    return false;
}

// hide_sections hides the sections of that name, in our private mapping: all of them,
// because libdw takes the next one that it can read. A section that is not compressed
// costs nothing until it is read.
static void hide_sections(const struct debug_elf *file, const char *name,
                          GElf_Xword flags)
{
    GElf_Shdr header;
    size_t names;
    if (file->elf == NULL || elf_getshdrstrndx(file->elf, &names) != 0)
        return;
    for (Elf_Scn *scn = elf_nextscn(file->elf, NULL); scn != NULL;
         scn = elf_nextscn(file->elf, scn)) {
        const char *its_name = gelf_getshdr(scn, &header) != NULL
                                   ? elf_strptr(file->elf, names, header.sh_name)
                                   : NULL;
        if (its_name == NULL || strcmp(its_name, name) != 0 ||
            (header.sh_flags & flags) != flags)
            continue;
        header.sh_type = SHT_NOBITS;
        header.sh_flags &= ~(GElf_Xword)SHF_COMPRESSED;
        (void)gelf_update_shdr(scn, &header);
    }
}

void debug_elf_hide_alternate(const struct debug_elf *file)
{
    hide_sections(file, ".gnu_debugaltlink", 0);
}

void debug_elf_hide_locations(const struct debug_elf *file)
{
    static const char *const names[] = { ".debug_loc", ".debug_loclists" };
    for (size_t i = 0; file->fd >= 0 && i < sizeof(names) / sizeof(names[0]); i++)
        hide_sections(file, names[i], SHF_COMPRESSED);
}

// sections_is_called returns true if section is `.name`, its form with GNU's old
// compression, or that of a split file.
static bool sections_is_called(const char *section, const char *name)
{
    size_t length = strlen(name);
    section += section[0] == '.';
    section += section[0] == 'z';
    return strncmp(section, name, length) == 0 &&
           (section[length] == 0 || strcmp(section + length, ".dwo") == 0);
}

// next_called gives the next section called name after scn, NULL if there is none.
static Elf_Scn *next_called(Elf *elf, Elf_Scn *scn, const char *name)
{
    size_t names;
    if (elf_getshdrstrndx(elf, &names) != 0)
        return NULL;
    while ((scn = elf_nextscn(elf, scn)) != NULL) {
        GElf_Shdr header;
        const char *its_name = gelf_getshdr(scn, &header) != NULL
                                   ? elf_strptr(elf, names, header.sh_name)
                                   : NULL;
        if (its_name != NULL && header.sh_type != SHT_NOBITS &&
            sections_is_called(its_name, name))
            return scn;
    }
    return NULL;
}

struct cursor dwarf_section(Dwarf *dwarf, const char *name)
{
    Elf_Scn *scn = next_called(dwarf_getelf(dwarf), NULL, name);
    Elf_Data *data = scn != NULL ? elf_getdata(scn, NULL) : NULL;
    if (data == NULL || data->d_buf == NULL)
        return cursor_over(NULL, 0);
    return cursor_over(data->d_buf, data->d_size);
}

const uint8_t *dwarf_section_end(Dwarf *dwarf, const uint8_t *at)
{
    Elf *elf = dwarf_getelf(dwarf);
    for (Elf_Scn *scn = next_called(elf, NULL, "debug_info"); scn != NULL;
         scn = next_called(elf, scn, "debug_info")) {
        Elf_Data *data = elf_getdata(scn, NULL);
        const uint8_t *begin = data != NULL ? data->d_buf : NULL;
        if (begin != NULL && at >= begin && at < begin + data->d_size)
            return begin + data->d_size;
    }
    return NULL;
}
