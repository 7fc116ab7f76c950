// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/names/plt_stubs.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/sorted.h"
#include "base/status.h"
#include "symbolizer/names/demangle.h"

#ifndef R_AARCH64_IRELATIVE // musl 1.2.3
#define R_AARCH64_IRELATIVE 1032
#endif

enum { STUB_BYTES = 16, STUBS_MAX = 1 << 20 };

// What the first stub of a lazy PLT jumps to. It has no relocation: the dynamic linker
// puts that address into the global offset table.
static const char binder[] = "_dl_runtime_resolve";

// A plt_slot is a word of the global offset table that the dynamic linker fills in.
struct plt_slot {
    uint64_t address;
    const char *name; // of the function, as the linker has it
};

// A plt_reading is the relocations of a file while its stubs are read.
struct plt_reading {
    const struct debug_elf *file;
    const struct symbol_table *table;
    bool is_aarch64;
    struct plt_slot *slots; // by address, after all were read
    size_t count;
    size_t capacity;
    const char **lazy; // names by the number that a lazy stub pushes
    size_t lazy_count;
    struct plt_stubs *out;
};

static void plt_reading_deinit(struct plt_reading *reading)
{
    free(reading->slots);
    free(reading->lazy);
}

// plt_slot_name gives the name of the function that a relocation puts into its slot;
// NULL: it puts something else there.
static const char *plt_slot_name(const struct plt_reading *reading, Elf_Data *symbols,
                                 size_t strings, const GElf_Rela *rela)
{
    const bool arm = reading->is_aarch64;
    const uint32_t type = (uint32_t)GELF_R_TYPE(rela->r_info);
    const uint32_t chosen = arm ? R_AARCH64_IRELATIVE : R_X86_64_IRELATIVE;
    if (type == chosen) {
        const struct symbol *found =
            symbol_table_find(reading->table, (uint64_t)rela->r_addend);
        return found != NULL && found->vaddr == (uint64_t)rela->r_addend ? found->name
                                                                         : NULL;
    }
    if (type != (arm ? R_AARCH64_JUMP_SLOT : R_X86_64_JUMP_SLOT) &&
        type != (arm ? R_AARCH64_GLOB_DAT : R_X86_64_GLOB_DAT))
        return NULL;
    GElf_Sym symbol;
    const uint32_t number = (uint32_t)GELF_R_SYM(rela->r_info);
    if (symbols == NULL || number > INT32_MAX ||
        gelf_getsym(symbols, (int)number, &symbol) == NULL)
        return NULL;
    const char *name = elf_strptr(reading->file->elf, strings, symbol.st_name);
    return name != NULL && name[0] != 0 && strlen(name) <= DEMANGLE_INPUT_MAX ? name
                                                                              : NULL;
}

static bool read_plt_relocations(struct plt_reading *reading, Elf_Scn *scn,
                                 const GElf_Shdr *header, bool lazy)
{
    GElf_Shdr linked = { 0 };
    Elf *elf = reading->file->elf;
    Elf_Scn *symbols = elf_getscn(elf, header->sh_link);
    Elf_Data *names =
        gelf_getshdr(symbols, &linked) != NULL &&
                (linked.sh_type == SHT_DYNSYM || linked.sh_type == SHT_SYMTAB)
            ? elf_getdata(symbols, NULL)
            : NULL;
    Elf_Data *data = elf_getdata(scn, NULL);
    size_t count =
        data != NULL && header->sh_entsize != 0 ? data->d_size / header->sh_entsize : 0;
    count = count < STUBS_MAX ? count : STUBS_MAX;
    if (lazy && reading->lazy == NULL && count != 0) {
        reading->lazy = calloc(count, sizeof(reading->lazy[0]));
        reading->lazy_count = reading->lazy != NULL ? count : 0;
    }
    GElf_Rela rela;
    for (size_t i = 0; i < count && gelf_getrela(data, (int)i, &rela) != NULL; i++) {
        const char *name = plt_slot_name(reading, names, linked.sh_link, &rela);
        if (name == NULL)
            continue;
        if (!array_reserve(&reading->slots, &reading->capacity, reading->count,
                           sizeof(reading->slots[0])))
            return false;
        reading->slots[reading->count++] = (struct plt_slot){ rela.r_offset, name };
        if (lazy && i < reading->lazy_count)
            reading->lazy[i] = name;
    }
    return true;
}

static const char *name_of_slot(const struct plt_reading *reading, uint64_t address)
{
    size_t at = SORTED_BEFORE(reading->slots, reading->count, address, address);
    return at < reading->count && reading->slots[at].address == address
               ? reading->slots[at].name
               : NULL;
}

static void add_stub(struct plt_stubs *out, uint64_t start, uint64_t end,
                     const char *name)
{
    struct plt_stub stub = { .start = start, .end = end };
    if (!array_reserve(&out->items, &out->capacity, out->count,
                       sizeof(out->items[0])) ||
        asprintf(&stub.raw_name, "%s@plt", name) < 0)
        return;
    char *demangled = demangle_name(name);
    if (demangled == NULL || asprintf(&stub.function, "%s@plt", demangled) < 0)
        stub.function = NULL;
    free(demangled);
    out->items[out->count++] = stub;
}

// lazy_name gives the name where a stub pushes its relocation's number after endbr64:
// such a stub jumps to the dynamic linker, and another section has the jump by the
// slot.
static const char *lazy_name(const struct plt_reading *reading, const uint8_t *code)
{
    static const uint8_t begin[] = { 0xf3, 0x0f, 0x1e, 0xfa, 0x68 };
    uint32_t number;
    if (memcmp(code, begin, sizeof(begin)) != 0)
        return NULL;
    memcpy(&number, code + sizeof(begin), sizeof(number));
    return number < reading->lazy_count ? reading->lazy[number] : NULL;
}

// plt_name_x86_64 gives the name of the slot that the code of a stub jumps by:
// `jmp *slot(%rip)` is in it, at a place that depends on the linker.
static const char *plt_name_x86_64(const struct plt_reading *reading,
                                   const uint8_t *code, size_t size, uint64_t address)
{
    enum { JUMP_BYTES = 6 };
    const char *name = NULL;
    for (size_t at = 0; name == NULL && at + JUMP_BYTES <= size; at++) {
        int32_t distance;
        if (code[at] != 0xff || code[at + 1] != 0x25)
            continue;
        memcpy(&distance, code + at + 2, sizeof(distance));
        name = name_of_slot(reading,
                            address + at + JUMP_BYTES + (uint64_t)(int64_t)distance);
    }
    return name == NULL && size == STUB_BYTES ? lazy_name(reading, code) : name;
}

static void read_stubs_x86_64(struct plt_reading *reading, const uint8_t *code,
                              const GElf_Shdr *section, size_t size)
{
    const size_t stub = section->sh_entsize == 8 ? 8 : STUB_BYTES;
    if (size >= STUB_BYTES && code[0] == 0xff && code[1] == 0x35) // push MAP(%rip)
        add_stub(reading->out, section->sh_addr, section->sh_addr + STUB_BYTES, binder);
    for (size_t at = 0; at + stub <= size; at += stub) {
        const uint64_t address = section->sh_addr + at;
        const char *name = plt_name_x86_64(reading, code + at, stub, address);
        if (name != NULL)
            add_stub(reading->out, address, address + stub, name);
    }
}

// read_stubs_aarch64 looks for `adrp x16, PAGE; ldr x17, [x16, OFFSET]`. A stub goes on
// to its `br x17`, and may begin with `bti c`.
static void read_stubs_aarch64(struct plt_reading *reading, const uint8_t *code,
                               const GElf_Shdr *section, size_t size)
{
    enum { WORD = 4, WORDS_AFTER = 6 };
    const uint32_t bti_c = 0xd503245f;
    const uint32_t push = 0xa9bf7bf0; // stp x16, x30, [sp, #-16]!
    const uint32_t jump = 0xd61f0220; // br x17
    uint32_t words[WORDS_AFTER];
    uint32_t before = 0;
    for (size_t at = 0; at + sizeof(words[0]) * 2 <= size; at += WORD) {
        size_t left = size - at < sizeof(words) ? size - at : sizeof(words);
        memset(words, 0, sizeof(words));
        memcpy(words, code + at, left);
        if ((words[0] & 0x9f00001f) == 0x90000010 &&
            (words[1] & 0xffc003ff) == 0xf9400211) {
            const uint64_t address = section->sh_addr + at;
            const uint32_t pages = (words[0] >> 29 & 3) | (words[0] >> 3 & 0x1ffffc);
            const uint64_t sign = 1 << 20;
            const uint64_t page =
                (address >> 12) + ((pages ^ sign) - sign); // sign-extended
            const uint64_t offset = (uint64_t)(words[1] >> 10 & 0xfff) * 8;
            const char *name =
                before == push ? binder : name_of_slot(reading, (page << 12) + offset);
            size_t end = 2;
            while (end < WORDS_AFTER && words[end - 1] != jump)
                end++;
            if (name != NULL)
                add_stub(reading->out,
                         address - (before == bti_c || before == push ? WORD : 0),
                         address + end * WORD, name);
        }
        before = words[0];
    }
}

static int by_slot(const void *left, const void *right)
{
    const struct plt_slot *a = left;
    const struct plt_slot *b = right;
    return a->address < b->address ? -1 : a->address > b->address;
}

static int by_stub(const void *left, const void *right)
{
    const struct plt_stub *a = left;
    const struct plt_stub *b = right;
    return a->start < b->start ? -1 : a->start > b->start;
}

// read_all_relocations returns false if the file has no stubs that can be named.
static bool read_all_relocations(struct plt_reading *reading, size_t names)
{
    GElf_Shdr header;
    Elf *elf = reading->file->elf;
    for (Elf_Scn *scn = elf_nextscn(elf, NULL); scn != NULL;
         scn = elf_nextscn(elf, scn)) {
        if (gelf_getshdr(scn, &header) == NULL || header.sh_type != SHT_RELA ||
            !(header.sh_flags & SHF_ALLOC))
            continue;
        const char *name = elf_strptr(elf, names, header.sh_name);
        if (!read_plt_relocations(reading, scn, &header,
                                  name != NULL && strcmp(name, ".rela.plt") == 0))
            return false;
    }
    if (reading->count == 0)
        return false;
    if (reading->count != 0)
        qsort(reading->slots, reading->count, sizeof(reading->slots[0]), by_slot);
    return true;
}

void plt_stubs_read(struct plt_stubs *out, const struct debug_elf *file,
                    const struct symbol_table *table)
{
    CH_CLEANUP(plt_reading_deinit)
    struct plt_reading reading = { .file = file, .table = table, .out = out };
    GElf_Ehdr header;
    GElf_Shdr section;
    size_t names;
    *out = (struct plt_stubs){ 0 };
    if (file->elf == NULL || gelf_getehdr(file->elf, &header) == NULL ||
        elf_getshdrstrndx(file->elf, &names) != 0 ||
        (header.e_machine != EM_X86_64 && header.e_machine != EM_AARCH64))
        return;
    reading.is_aarch64 = header.e_machine == EM_AARCH64;
    if (!read_all_relocations(&reading, names))
        return;
    for (Elf_Scn *scn = elf_nextscn(file->elf, NULL); scn != NULL;
         scn = elf_nextscn(file->elf, scn)) {
        const char *name = gelf_getshdr(scn, &section) != NULL
                               ? elf_strptr(file->elf, names, section.sh_name)
                               : NULL;
        if (name == NULL || section.sh_type != SHT_PROGBITS ||
            (strncmp(name, ".plt", 4) != 0 && strcmp(name, ".iplt") != 0))
            continue;
        const Elf_Data *code = elf_rawdata(scn, NULL);
        if (code == NULL || code->d_buf == NULL)
            continue;
        if (reading.is_aarch64)
            read_stubs_aarch64(&reading, code->d_buf, &section, code->d_size);
        else
            read_stubs_x86_64(&reading, code->d_buf, &section, code->d_size);
    }
    if (out->count != 0)
        qsort(out->items, out->count, sizeof(out->items[0]), by_stub);
}

const struct plt_stub *plt_stubs_find(const struct plt_stubs *stubs, uint64_t vaddr)
{
    size_t after = SORTED_UP_TO(stubs->items, stubs->count, start, vaddr);
    return after != 0 && vaddr < stubs->items[after - 1].end ? &stubs->items[after - 1]
                                                             : NULL;
}

void plt_stubs_deinit(struct plt_stubs *stubs)
{
    for (size_t i = 0; i < stubs->count; i++) {
        free(stubs->items[i].raw_name);
        free(stubs->items[i].function);
    }
    free(stubs->items);
    *stubs = (struct plt_stubs){ 0 };
}
