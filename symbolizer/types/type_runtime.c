// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/types/type_runtime.h"

#include <dwarf.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"
#include "symbolizer/files/die_walk.h"

enum {
    GO_TYPE = 0x2904, // the attribute that has the offset of Go's description
    GO_TYPES_MAX = 1 << 20,
    BASES_MAX = 8,
    CHAIN_MAX = 4, // entries of one function
};

// A runtime_symbols is the symbols of a file, as they are gone through.
struct runtime_symbols {
    Elf_Data *data;
    size_t strings; // the section of their names
    size_t count;
};

static bool runtime_symbols_find(Elf *elf, struct runtime_symbols *out)
{
    Elf_Scn *section = NULL;
    GElf_Shdr header;
    while ((section = elf_nextscn(elf, section)) != NULL) {
        if (gelf_getshdr(section, &header) == NULL || header.sh_type != SHT_SYMTAB)
            continue;
        out->data = elf_getdata(section, NULL);
        out->strings = header.sh_link;
        out->count = out->data != NULL ? out->data->d_size / sizeof(Elf64_Sym) : 0;
        return out->count <= INT32_MAX;
    }
    return false;
}

// runtime_symbol finds the value of a symbol. False: the file has none of that name.
static bool runtime_symbol(Elf *elf, const char *name, uint64_t *out)
{
    struct runtime_symbols all;
    GElf_Sym symbol;
    if (!runtime_symbols_find(elf, &all))
        return false;
    for (size_t i = 0; i < all.count && gelf_getsym(all.data, (int)i, &symbol) != NULL;
         i++) {
        const char *found = elf_strptr(elf, all.strings, symbol.st_name);
        if (found != NULL && strcmp(found, name) == 0) {
            *out = symbol.st_value;
            return true;
        }
    }
    return false;
}

// runtime_is_folded returns true if several functions of a file begin at vaddr: a
// linker makes one of those that have the same code. Where the symbols are not there,
// that is not known either.
static bool runtime_is_folded(Elf *elf, uint64_t vaddr)
{
    struct runtime_symbols all;
    GElf_Sym symbol;
    size_t count = 0;
    if (!runtime_symbols_find(elf, &all))
        return true;
    for (size_t i = 0; i < all.count && gelf_getsym(all.data, (int)i, &symbol) != NULL;
         i++)
        count += symbol.st_value == vaddr && GELF_ST_TYPE(symbol.st_info) == STT_FUNC;
    return count != 1;
}

static bool runtime_is_class(Dwarf_Die *die)
{
    return dwarf_tag(die) == DW_TAG_class_type ||
           dwarf_tag(die) == DW_TAG_structure_type;
}

static int compare_go_types(const void *a, const void *b)
{
    const struct type_dwarf_go *one = a;
    const struct type_dwarf_go *other = b;
    return (one->offset > other->offset) - (one->offset < other->offset);
}

// runtime_read_go lists the types of a unit that Go describes.
static void runtime_read_go(struct type_dwarf *types, Dwarf_Die *unit)
{
    Dwarf_Die child;
    Dwarf_Attribute attribute;
    Dwarf_Addr offset;
    for (int more = dwarf_child(unit, &child); more == 0;
         more = die_walk_next(&child)) {
        if (dwarf_attr(&child, GO_TYPE, &attribute) == NULL ||
            dwarf_formaddr(&attribute, &offset) != 0 || offset == 0)
            continue;
        if (types->go_count == GO_TYPES_MAX ||
            !array_reserve(&types->go, &types->go_capacity, types->go_count,
                           sizeof(types->go[0])))
            return;
        types->go[types->go_count++] = (struct type_dwarf_go){ offset, child };
    }
}

// runtime_read_all_go does so in the unit of Go's runtime, in which the linker puts
// all types.
static void runtime_read_all_go(struct type_dwarf *types)
{
    Dwarf_CU *unit = NULL;
    Dwarf_Die die;
    types->go_read = true;
    if (!runtime_symbol(dwarf_getelf(types->dwarf), "runtime.types", &types->go_base))
        return;
    while (dwarf_get_units(types->dwarf, unit, &unit, NULL, NULL, &die, NULL) == 0) {
        const char *name = dwarf_diename(&die);
        if (dwarf_srclang(&die) == DW_LANG_Go && name != NULL &&
            strcmp(name, "runtime") == 0)
            runtime_read_go(types, &die);
    }
    if (types->go_count != 0)
        qsort(types->go, types->go_count, sizeof(types->go[0]), compare_go_types);
}

uint32_t type_runtime_of_go(struct type_dwarf *types, uint64_t vaddr)
{
    uint32_t index;
    if (!types->go_read)
        runtime_read_all_go(types);
    const struct type_dwarf_go wanted = { .offset = vaddr - types->go_base };
    struct type_dwarf_go *found = types->go_count != 0
                                      ? bsearch(&wanted, types->go, types->go_count,
                                                sizeof(wanted), compare_go_types)
                                      : NULL;
    return found != NULL && type_dwarf_add_entry(types, &found->die, TYPE_DWARF_VALUE,
                                                 &index) == CH_OK
               ? index
               : TYPE_UNKNOWN_INDEX;
}

// runtime_class_around gives the class that declares a function. False: none does.
static bool runtime_class_around(const Dwarf_Die *function, Dwarf_Die *out)
{
    Dwarf_Die die = *function;
    Dwarf_Attribute attribute;
    for (int i = 0; i < CHAIN_MAX; i++)
        if ((dwarf_attr(&die, DW_AT_abstract_origin, &attribute) != NULL ||
             dwarf_attr(&die, DW_AT_specification, &attribute) != NULL) &&
            dwarf_formref_die(&attribute, &die) == NULL)
            return false;
    return die_walk_parent(&die, out) && runtime_is_class(out);
}

bool type_runtime_class_of(const struct type_dwarf *types, const Dwarf_Die *function,
                           struct type_runtime_class *out)
{
    Dwarf_Die die = *function;
    Dwarf_Addr entry;
    if (dwarf_entrypc(&die, &entry) != 0 ||
        runtime_is_folded(dwarf_getelf(types->dwarf), entry) ||
        !runtime_class_around(function, &out->die))
        return false;
    out->name = dwarf_diename(&out->die);
    return out->name != NULL;
}

// runtime_prefix makes what follows _ZN or _ZNK in the names of a class's functions.
// False: no other unit can define the class, or it is a template's.
static bool runtime_prefix(Dwarf_Die *class, struct text *out)
{
    enum { SCOPES_MAX = 16 };
    Dwarf_Die scopes[SCOPES_MAX] = { *class };
    int count = 1;
    while (count < SCOPES_MAX && die_walk_parent(&scopes[count - 1], &scopes[count]))
        count++;
    bool named = count > 1 && count < SCOPES_MAX;
    for (int i = count - 2; named && i >= 0; i--) {
        const char *name = dwarf_diename(&scopes[i]);
        bool space = dwarf_tag(&scopes[i]) == DW_TAG_namespace;
        named = name != NULL && (space || runtime_is_class(&scopes[i])) &&
                strchr(name, '<') == NULL;
        if (named && space && i == count - 2 && strcmp(name, "std") == 0)
            text_append_string(out, "St");
        else if (named)
            text_appendf(out, "%zu%s", strlen(name), name);
    }
    return named && text_ok(out);
}

// runtime_is_member returns true if a symbol is a function of the class with the prefix
// that one unit alone defines.
static bool runtime_is_member(const GElf_Sym *symbol, const char *name,
                              const struct text *prefix)
{
    if (name == NULL || strncmp(name, "_ZN", 3) != 0 || symbol->st_shndx == SHN_UNDEF ||
        GELF_ST_TYPE(symbol->st_info) != STT_FUNC ||
        GELF_ST_BIND(symbol->st_info) != STB_GLOBAL)
        return false;
    name += name[3] == 'K' ? 4 : 3;
    return strncmp(name, prefix->bytes, prefix->size) == 0;
}

bool type_runtime_definition(const struct type_dwarf *types,
                             const struct type_runtime_functions *functions,
                             const Dwarf_Die *declared, Dwarf_Die *out)
{
    enum { FUNCTIONS_MAX = 16 };
    struct text CH_CLEANUP(text_deinit) prefix = { 0 };
    struct runtime_symbols all;
    Dwarf_Die die = *declared;
    Dwarf_Die function;
    GElf_Sym symbol;
    int tried = 0;
    if (!runtime_is_class(&die) || !runtime_prefix(&die, &prefix))
        return false;
    Elf *elf = dwarf_getelf(types->dwarf);
    if (!runtime_symbols_find(elf, &all))
        return false;
    for (size_t i = 0; i < all.count && tried < FUNCTIONS_MAX &&
                       gelf_getsym(all.data, (int)i, &symbol) != NULL;
         i++) {
        const char *name = elf_strptr(elf, all.strings, symbol.st_name);
        if (!runtime_is_member(&symbol, name, &prefix))
            continue;
        tried++;
        if (functions->find(functions->context, symbol.st_value, &function) &&
            runtime_class_around(&function, out) && dwarf_diename(out) != NULL &&
            strcmp(dwarf_diename(out), dwarf_diename(&die)) == 0 &&
            !dwarf_hasattr(out, DW_AT_declaration))
            return true;
    }
    return false;
}

uint32_t type_runtime_argument(struct type_dwarf *types,
                               const struct type_runtime_class *class, uint32_t index)
{
    Dwarf_Die die = class->die;
    Dwarf_Die child;
    uint32_t type;
    for (int more = dwarf_child(&die, &child); more == 0;
         more = die_walk_next(&child)) {
        if (dwarf_tag(&child) != DW_TAG_template_type_parameter || index-- != 0)
            continue;
        return type_dwarf_add_type_of(types, &child, TYPE_DWARF_VALUE, &type) == CH_OK
                   ? type
                   : TYPE_UNKNOWN_INDEX;
    }
    return TYPE_UNKNOWN_INDEX;
}

bool type_runtime_constant(const struct type_runtime_class *class, const char *name,
                           uint64_t *out)
{
    Dwarf_Die die = class->die;
    for (int depth = 0; depth < BASES_MAX; depth++) {
        Dwarf_Die child;
        Dwarf_Die base = { 0 };
        Dwarf_Attribute attribute;
        Dwarf_Word value;
        for (int more = dwarf_child(&die, &child); more == 0;
             more = die_walk_next(&child)) {
            const char *found = dwarf_diename(&child);
            if (dwarf_tag(&child) == DW_TAG_inheritance && base.addr == NULL &&
                dwarf_attr(&child, DW_AT_type, &attribute) != NULL)
                (void)dwarf_formref_die(&attribute, &base);
            if (found != NULL && strcmp(found, name) == 0 &&
                dwarf_attr(&child, DW_AT_const_value, &attribute) != NULL &&
                dwarf_formudata(&attribute, &value) == 0) {
                *out = value;
                return true;
            }
        }
        if (base.addr == NULL)
            return false;
        die = base;
    }
    return false;
}

int type_runtime_line(const struct type_dwarf *types, uint32_t index)
{
    int line = 0;
    if (index >= types->die_count || types->dies[index].addr == NULL)
        return 0;
    Dwarf_Die die = types->dies[index];
    return dwarf_decl_line(&die, &line) == 0 ? line : 0;
}
