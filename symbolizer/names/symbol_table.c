// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/names/symbol_table.h"

#include <gelf.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/sorted.h"
#include "base/status.h"

enum ch_status address_list_add(struct address_list *list, uint64_t address)
{
    if (!array_reserve(&list->items, &list->capacity, list->count,
                       sizeof(list->items[0])))
        return CH_ERR_NO_MEMORY;
    list->items[list->count++] = address;
    return CH_OK;
}

static int ascending(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left;
    uint64_t b = *(const uint64_t *)right;
    return a < b ? -1 : a > b;
}

void address_list_sort(struct address_list *list)
{
    if (list->count == 0)
        return;
    qsort(list->items, list->count, sizeof(list->items[0]), ascending);
    size_t kept = 1;
    for (size_t i = 1; i < list->count; i++)
        if (list->items[i] != list->items[kept - 1])
            list->items[kept++] = list->items[i];
    list->count = kept;
}

void address_list_deinit(struct address_list *list)
{
    free(list->items);
    *list = (struct address_list){ 0 };
}

// A symbol without a size covers code up to the end of its section, at most this far:
// further code may be of functions that have no symbol.
enum { UNSIZED_MAX = 4096 };

#define REACH_MAX (UINT64_MAX >> 3)

static bool is_function(const GElf_Sym *symbol, const char *name)
{
    int type = GELF_ST_TYPE(symbol->st_info);
    if (symbol->st_shndx == SHN_UNDEF || symbol->st_shndx == SHN_ABS || name[0] == 0)
        return false;
    // Labels of assembler sources have no type; mapping symbols start with a dollar.
    return type == STT_FUNC || type == STT_GNU_IFUNC ||
           (type == STT_NOTYPE && name[0] != '$' && name[0] != '.');
}

static unsigned binding_rank(const GElf_Sym *symbol)
{
    int binding = GELF_ST_BIND(symbol->st_info);
    return binding == STB_GLOBAL ? 0 : binding == STB_WEAK ? 1 : 2;
}

static uint64_t reach_of(Elf *elf, const GElf_Sym *symbol)
{
    GElf_Shdr section;
    if (symbol->st_size != 0)
        return symbol->st_size < REACH_MAX ? symbol->st_size : REACH_MAX;
    if (gelf_getshdr(elf_getscn(elf, symbol->st_shndx), &section) == NULL ||
        symbol->st_value < section.sh_addr ||
        symbol->st_value - section.sh_addr >= section.sh_size)
        return UNSIZED_MAX;
    uint64_t left = section.sh_size - (symbol->st_value - section.sh_addr);
    return left < UNSIZED_MAX ? left : UNSIZED_MAX;
}

static struct symbol symbol_of(Elf *elf, const GElf_Sym *from, const char *name)
{
    return (struct symbol){ .vaddr = from->st_value,
                            .name = name,
                            .reach = reach_of(elf, from),
                            .sized = from->st_size != 0,
                            .rank = binding_rank(from) };
}

static enum ch_status symbol_table_add_symbol(struct symbol_table *table, Elf *elf,
                                              const GElf_Sym *from, const char *name)
{
    if (from->st_value < table->text[0] || from->st_value >= table->text[1])
        return CH_OK;
    if (!array_reserve(&table->symbols, &table->capacity, table->count,
                       sizeof(table->symbols[0])))
        return CH_ERR_NO_MEMORY;
    table->symbols[table->count++] = symbol_of(elf, from, name);
    return CH_OK;
}

static struct symbol_names read_symbol_names(Elf *elf, const GElf_Shdr *symbols)
{
    GElf_Shdr header;
    Elf_Scn *scn = elf_getscn(elf, symbols->sh_link);
    if (scn == NULL || gelf_getshdr(scn, &header) == NULL ||
        header.sh_type != SHT_STRTAB)
        return (struct symbol_names){ 0 };
    const Elf_Data *data = elf_getdata(scn, NULL);
    const char *end = data != NULL && data->d_buf != NULL
                          ? memrchr(data->d_buf, 0, data->d_size)
                          : NULL;
    if (end == NULL)
        return (struct symbol_names){ 0 };
    const char *bytes = data->d_buf;
    return (struct symbol_names){ bytes, (size_t)(end + 1 - bytes) };
}

static enum ch_status symbol_table_add_section(struct symbol_table *table, Elf *elf,
                                               Elf_Scn *scn, const GElf_Shdr *header)
{
    const struct symbol_names names = read_symbol_names(elf, header);
    Elf_Data *data = elf_getdata(scn, NULL);
    if (data == NULL || header->sh_entsize == 0)
        return CH_OK;
    size_t count = data->d_size / header->sh_entsize;
    for (size_t i = 0; i < count && i < INT32_MAX; i++) {
        GElf_Sym symbol;
        if (gelf_getsym(data, (int)i, &symbol) == NULL)
            break;
        if (symbol.st_name >= names.size)
            continue;
        const char *name = names.bytes + symbol.st_name;
        if (!is_function(&symbol, name))
            continue;
        enum ch_status status = symbol_table_add_symbol(table, elf, &symbol, name);
        if (status != CH_OK)
            return status;
    }
    return CH_OK;
}

enum ch_status symbol_table_add(struct symbol_table *table,
                                const struct debug_elf *file, uint32_t type)
{
    for (Elf_Scn *scn = elf_nextscn(file->elf, NULL); scn != NULL;
         scn = elf_nextscn(file->elf, scn)) {
        GElf_Shdr header;
        if (gelf_getshdr(scn, &header) == NULL || header.sh_type != type)
            continue;
        enum ch_status status =
            symbol_table_add_section(table, file->elf, scn, &header);
        if (status != CH_OK)
            return status;
    }
    return CH_OK;
}

// symbol_section_has looks for a symbol of that name whose size covers vaddr.
static bool symbol_section_has(Elf *elf, Elf_Scn *scn, const GElf_Shdr *header,
                               uint64_t vaddr, const char *name)
{
    Elf_Data *data = elf_getdata(scn, NULL);
    size_t count =
        data != NULL && header->sh_entsize != 0 ? data->d_size / header->sh_entsize : 0;
    GElf_Sym symbol;
    for (size_t i = 0;
         i < count && i < INT32_MAX && gelf_getsym(data, (int)i, &symbol) != NULL;
         i++) {
        if (vaddr - symbol.st_value >= symbol.st_size)
            continue;
        const char *its = elf_strptr(elf, header->sh_link, symbol.st_name);
        if (its != NULL && is_function(&symbol, its) && strcmp(its, name) == 0)
            return true;
    }
    return false;
}

bool symbol_table_has(const struct debug_elf *file, uint64_t vaddr, const char *name)
{
    GElf_Shdr header;
    if (file->elf == NULL)
        return false;
    for (Elf_Scn *scn = elf_nextscn(file->elf, NULL); scn != NULL;
         scn = elf_nextscn(file->elf, scn))
        if (gelf_getshdr(scn, &header) != NULL &&
            (header.sh_type == SHT_SYMTAB || header.sh_type == SHT_DYNSYM) &&
            symbol_section_has(file->elf, scn, &header, vaddr, name))
            return true;
    return false;
}

// better_first sorts by address, and names that people use before others.
static int better_first(const void *left, const void *right)
{
    const struct symbol *a = left;
    const struct symbol *b = right;
    if (a->vaddr != b->vaddr)
        return a->vaddr < b->vaddr ? -1 : 1;
    if (a->sized != b->sized)
        return a->sized ? -1 : 1;
    size_t a_underscores = strspn(a->name, "_");
    size_t b_underscores = strspn(b->name, "_");
    if (a_underscores != b_underscores)
        return a_underscores < b_underscores ? -1 : 1;
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    size_t a_length = strlen(a->name);
    size_t b_length = strlen(b->name);
    if (a_length != b_length)
        return a_length < b_length ? -1 : 1;
    return strcmp(a->name, b->name);
}

// slice_shift gives the logarithm of a slice's bytes, so that the text has no more
// slices than symbols, of which there are several.
static unsigned slice_shift(const struct symbol_table *table)
{
    unsigned shift = 0;
    while ((table->text[1] - table->text[0]) >> shift >= table->count)
        shift++;
    return shift;
}

static size_t symbol_slice(const struct symbol_table *table,
                           const struct symbol *symbol, unsigned shift)
{
    return (size_t)((symbol->vaddr - table->text[0]) >> shift);
}

// symbol_table_slice puts symbols into about as many slices of the text as there are
// symbols, so that few of them are left to be compared with each other. It gives the
// slices' ends, to be freed; NULL: no memory, and nothing is changed.
static size_t *symbol_table_slice(struct symbol_table *table)
{
    unsigned shift = slice_shift(table);
    size_t *ends = calloc(table->count + 1, sizeof(ends[0]));
    struct symbol *before = calloc(table->count, sizeof(before[0]));
    if (ends == NULL || before == NULL) {
        free(ends);
        free(before);
        return NULL;
    }
    memcpy(before, table->symbols, table->count * sizeof(before[0]));
    for (size_t i = 0; i < table->count; i++)
        ends[symbol_slice(table, &before[i], shift) + 1]++;
    for (size_t i = 0; i < table->count; i++)
        ends[i + 1] += ends[i];
    for (size_t i = 0; i < table->count; i++)
        table->symbols[ends[symbol_slice(table, &before[i], shift)]++] = before[i];
    free(before);
    return ends;
}

// insert_symbols sorts few symbols.
static void insert_symbols(struct symbol *symbols, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        struct symbol symbol = symbols[i];
        size_t at = i;
        for (; at > 0 && better_first(&symbol, &symbols[at - 1]) < 0; at--)
            symbols[at] = symbols[at - 1];
        symbols[at] = symbol;
    }
}

// sort_symbols leaves those that are equal in order.
static void sort_symbols(struct symbol *symbols, size_t count)
{
    enum { FEW = 64 }; // qsort takes longer to begin than to sort them
    if (count <= FEW)
        insert_symbols(symbols, count);
    else
        qsort(symbols, count, sizeof(symbols[0]), better_first);
}

void symbol_table_sort(struct symbol_table *table)
{
    if (table->count < 2)
        return;
    size_t *ends = symbol_table_slice(table);
    if (ends == NULL)
        sort_symbols(table->symbols, table->count);
    for (size_t i = 0, begin = 0; ends != NULL && i < table->count; begin = ends[i++])
        sort_symbols(&table->symbols[begin], ends[i] - begin);
    free(ends);
    size_t kept = 1;
    for (size_t i = 1; i < table->count; i++)
        if (table->symbols[i].vaddr != table->symbols[kept - 1].vaddr)
            table->symbols[kept++] = table->symbols[i];
    table->count = kept;
}

const struct symbol *symbol_table_find(const struct symbol_table *table, uint64_t vaddr)
{
    size_t after = SORTED_UP_TO(table->symbols, table->count, vaddr, vaddr);
    if (after == 0)
        return NULL;
    const struct symbol *found = &table->symbols[after - 1];
    return vaddr - found->vaddr < found->reach ? found : NULL;
}

enum ch_status symbol_table_edges(const struct symbol_table *table,
                                  struct address_list *out)
{
    enum ch_status status = CH_OK;
    for (size_t i = 0; status == CH_OK && i < table->count; i++) {
        const struct symbol *symbol = &table->symbols[i];
        status = address_list_add(out, symbol->vaddr);
        if (status == CH_OK)
            status = address_list_add(out, symbol->vaddr + symbol->reach);
    }
    return status;
}

void symbol_table_deinit(struct symbol_table *table)
{
    free(table->symbols);
    *table = (struct symbol_table){ 0 };
}

// places_symbol gives the bytes of the symbol with a number.
static const char *places_symbol(const struct symbol_places *places, size_t number)
{
    return places->bytes + number * sizeof(GElf_Sym);
}

// places_takes gives where a symbol begins. False: it is not one of code, as far as
// that can be told without its name. Most of a library's symbols are looked at only
// here.
static bool places_takes(const struct symbol_places *places, const char *symbol,
                         uint64_t *out_vaddr)
{
    uint64_t vaddr;
    uint16_t section;
    memcpy(&vaddr, symbol + offsetof(GElf_Sym, st_value), sizeof(vaddr));
    memcpy(&section, symbol + offsetof(GElf_Sym, st_shndx), sizeof(section));
    unsigned type = GELF_ST_TYPE((unsigned char)symbol[offsetof(GElf_Sym, st_info)]);
    *out_vaddr = vaddr;
    return vaddr >= places->text[0] && vaddr < places->text[1] &&
           (type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_NOTYPE) &&
           section != SHN_UNDEF && section != SHN_ABS;
}

static size_t places_slice(const struct symbol_places *places, uint64_t vaddr)
{
    return (size_t)((vaddr - places->text[0]) >> places->shift);
}

// places_note notes in which slice each symbol is, SYMBOL_SLICES for none, and counts
// those of each slice in the end of the next one.
static void places_note(const struct symbol_places *places, size_t count,
                        uint16_t *slices)
{
    const struct symbol_places p = *places; // which no write below changes
    uint64_t vaddr;
    for (size_t i = 0; i < count; i++) {
        size_t slice = SYMBOL_SLICES;
        if (places_takes(&p, places_symbol(&p, i), &vaddr)) {
            slice = places_slice(&p, vaddr);
            p.ends[slice + 1]++;
        }
        slices[i] = (uint16_t)slice;
    }
}

// places_sort puts the numbers of symbols into their slices.
static enum ch_status places_sort(struct symbol_places *places, size_t count)
{
    uint16_t *slices = malloc((count + 1) * sizeof(slices[0]));
    if (slices == NULL)
        return CH_ERR_NO_MEMORY;
    while (places_slice(places, places->text[1] - 1) >= SYMBOL_SLICES)
        places->shift++;
    uint32_t *ends = places->ends;
    places_note(places, count, slices);
    for (size_t i = 0; i < SYMBOL_SLICES; i++)
        ends[i + 1] += ends[i];
    const size_t used = ends[SYMBOL_SLICES];
    uint32_t *numbers = used != 0 ? malloc(used * sizeof(numbers[0])) : NULL;
    places->numbers = numbers;
    // The end of the slice before moves to that of its own.
    for (size_t i = 0; numbers != NULL && i < count; i++)
        if (slices[i] != SYMBOL_SLICES)
            numbers[ends[slices[i]]++] = (uint32_t)i;
    free(slices);
    if (numbers == NULL)
        return used != 0 ? CH_ERR_NO_MEMORY : CH_ERR_NOT_FOUND;
    return CH_OK;
}

// places_read_section reads the file's symbols of a type of section.
static enum ch_status places_read_section(struct symbol_places *places,
                                          const struct debug_elf *file, uint32_t type)
{
    GElf_Shdr header = { 0 };
    Elf_Scn *scn = elf_nextscn(file->elf, NULL);
    while (scn != NULL &&
           (gelf_getshdr(scn, &header) == NULL || header.sh_type != type))
        scn = elf_nextscn(file->elf, scn);
    const Elf_Data *data = scn != NULL ? elf_getdata(scn, NULL) : NULL;
    if (data == NULL || data->d_buf == NULL || header.sh_entsize != sizeof(GElf_Sym) ||
        data->d_size / sizeof(GElf_Sym) > INT32_MAX)
        return CH_ERR_NOT_FOUND;
    places->bytes = data->d_buf;
    places->names = read_symbol_names(file->elf, &header);
    return places_sort(places, data->d_size / sizeof(GElf_Sym));
}

enum ch_status symbol_places_read(struct symbol_places *out,
                                  const struct debug_elf *file, const uint64_t text[2])
{
    static const uint32_t types[] = { SHT_SYMTAB, SHT_DYNSYM };
    enum ch_status status = CH_ERR_NOT_FOUND;
    for (size_t i = 0; status == CH_ERR_NOT_FOUND && i < 2 && text[0] < text[1]; i++) {
        *out = (struct symbol_places){ .elf = file->elf, .text = { text[0], text[1] } };
        out->ends = calloc(SYMBOL_SLICES + 1, sizeof(out->ends[0]));
        status = out->ends != NULL ? places_read_section(out, file, types[i])
                                   : CH_ERR_NO_MEMORY;
        if (status != CH_OK)
            symbol_places_deinit(out);
    }
    return status;
}

// places_find_in finds in a slice the last symbol that begins at vaddr or before.
static bool places_find_in(const struct symbol_places *places, size_t slice,
                           uint64_t vaddr, struct symbol *best)
{
    bool found = false;
    for (size_t i = slice != 0 ? places->ends[slice - 1] : 0; i < places->ends[slice];
         i++) {
        GElf_Sym from;
        memcpy(&from, places_symbol(places, places->numbers[i]), sizeof(from));
        if (from.st_value > vaddr || (found && from.st_value < best->vaddr) ||
            from.st_name >= places->names.size ||
            !is_function(&from, places->names.bytes + from.st_name))
            continue;
        struct symbol symbol =
            symbol_of(places->elf, &from, places->names.bytes + from.st_name);
        if (!found || symbol.vaddr > best->vaddr || better_first(&symbol, best) < 0)
            *best = symbol;
        found = true;
    }
    return found;
}

bool symbol_places_find(const struct symbol_places *places, uint64_t vaddr,
                        struct symbol *out)
{
    struct symbol best = { 0 };
    bool found = false;
    if (places->numbers == NULL || vaddr < places->text[0])
        return false;
    size_t slice = places_slice(places, vaddr);
    slice = slice < SYMBOL_SLICES ? slice + 1 : SYMBOL_SLICES;
    while (!found && slice > 0)
        found = places_find_in(places, --slice, vaddr, &best);
    if (!found || vaddr - best.vaddr >= best.reach)
        return false;
    *out = best;
    return true;
}

void symbol_places_deinit(struct symbol_places *places)
{
    free(places->ends);
    free(places->numbers);
    *places = (struct symbol_places){ 0 };
}
