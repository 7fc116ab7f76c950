// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/arguments/argument_image.h"

#include <dwarf.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "symbolizer/cache/symbol_cache_folder.h"
#include "symbolizer/names/address_table.h"
#include "symbolizer/types/type_runtime.h"

static bool image_find_function(void *context, uint64_t vaddr, Dwarf_Die *out)
{
    return argument_image_function(context, vaddr, out) == CH_OK;
}

// image_find_definition is how types find what other units define.
static bool image_find_definition(void *context, const Dwarf_Die *declared,
                                  Dwarf_Die *out)
{
    const struct argument_image *image = context;
    const struct type_runtime_functions functions = { image_find_function, context };
    return type_runtime_definition(&image->types.dwarf_types, &functions, declared,
                                   out);
}

// argument_image_load opens what may take long to open, when it is first needed.
static void argument_image_load(struct argument_image *image)
{
    uint64_t base;
    if (image->loaded || !image->opened)
        return;
    image->loaded = true;
    if (type_image_load(&image->types) != CH_OK)
        return;
    image->types.dwarf_types.find_definition = image_find_definition;
    image->types.dwarf_types.context = image;
    const struct debug_elf *file = image->types.files.image.elf != NULL
                                       ? &image->types.files.image
                                       : debug_files_dwarf(&image->types.files);
    image->unindexable = image->types.dwarf == NULL ||
                         debug_elf_layout(file, &base, image->text) != CH_OK;
}

void argument_image_open(struct argument_image *image, const struct report_image *from,
                         const struct symbolizer_options *options)
{
    char buffers[2][PATH_MAX];
    struct debug_search search = symbolizer_options_search(options);
    const char *path = symbolizer_options_path(options, from->path, buffers);
    search.plain = true;
    if (image->opened)
        return;
    image->opened = true;
    image->cache_folder = options->cache_folder;
    image->id = from->id;
    if (type_image_find_files(&image->types, path, &from->id, &search) != CH_OK)
        return;
    image->bias = from->base - image->types.linked_base;
}

// argument_image_take_segment applies a program header: the image's extent, and its
// table of rules.
static void argument_image_take_segment(const struct argument_image *image,
                                        const GElf_Phdr *segment,
                                        struct unwind_image *unwind)
{
    uint64_t start = segment->p_vaddr + image->bias;
    uint64_t end = start + segment->p_memsz;
    if (segment->p_type == PT_LOAD && end > unwind->end)
        unwind->end = end;
    if (segment->p_type == PT_GNU_EH_FRAME) {
        unwind->eh_frame_hdr = start;
        unwind->eh_frame_hdr_size = segment->p_memsz;
    }
}

void argument_image_rules(const struct argument_image *image,
                          struct unwind_image *unwind)
{
    const struct debug_elf *file = &image->types.files.image;
    size_t count;
    GElf_Phdr segment;
    GElf_Shdr section;
    if (file->elf == NULL || elf_getphdrnum(file->elf, &count) != 0)
        return;
    unwind->bias = image->bias;
    for (size_t i = 0; i < count && i < INT16_MAX; i++)
        if (gelf_getphdr(file->elf, (int)i, &segment) != NULL)
            argument_image_take_segment(image, &segment, unwind);
    if (unwind->eh_frame_hdr_size == 0 &&
        debug_elf_find_section(file, ".eh_frame", &section) != NULL &&
        section.sh_flags & SHF_ALLOC) {
        unwind->eh_frame = section.sh_addr + image->bias;
        unwind->eh_frame_size = section.sh_size;
    }
}

void argument_image_debug_frame(struct argument_image *image,
                                struct unwind_image *unwind)
{
    argument_image_load(image);
    const struct debug_elf *file = debug_files_dwarf(&image->types.files);
    if (image->types.dwarf == NULL || file == NULL)
        return;
    // libdw has decompressed it if necessary.
    const Elf_Data *data = debug_elf_section(file, ".debug_frame");
    if (data == NULL || data->d_buf == NULL)
        return;
    unwind->debug_frame = data->d_buf;
    unwind->debug_frame_size = data->d_size;
}

// locals_below is where the thread locals of a program are from the thread pointer of
// x86-64.
static uint64_t locals_below(const GElf_Phdr *segment)
{
    uint64_t align = segment->p_align != 0 ? segment->p_align : 1;
    return 0 - segment->p_memsz -
           ((0 - segment->p_vaddr - segment->p_memsz) & (align - 1));
}

// locals_above is that of AArch64: they follow two words of the C library, aligned as
// the segment is.
static uint64_t locals_above(const GElf_Phdr *segment)
{
    enum { RESERVED = 16 };
    uint64_t align = segment->p_align != 0 ? segment->p_align : 1;
    uint64_t before = (0 - segment->p_vaddr) & (align - 1);
    uint64_t start = (RESERVED + align - 1) & ~(align - 1);
    return start - RESERVED < before ? start + align - before : start - before;
}

uint64_t argument_image_thread_block(const struct argument_image *image,
                                     uint64_t thread_pointer)
{
    Elf *elf = image->types.files.image.elf;
    GElf_Ehdr head;
    GElf_Phdr segment;
    size_t count;
    uint64_t distance = 0;
    if (thread_pointer == 0 || elf == NULL || gelf_getehdr(elf, &head) == NULL ||
        (head.e_machine != EM_X86_64 && head.e_machine != EM_AARCH64) ||
        elf_getphdrnum(elf, &count) != 0)
        return 0;
    bool program = head.e_type == ET_EXEC;
    for (size_t i = 0; i < count && i < INT16_MAX; i++) {
        if (gelf_getphdr(elf, (int)i, &segment) == NULL)
            return 0;
        program = program || segment.p_type == PT_INTERP;
        if (segment.p_type == PT_TLS)
            distance = head.e_machine == EM_X86_64 ? locals_below(&segment)
                                                   : locals_above(&segment);
    }
    return program && distance != 0 ? thread_pointer + distance : 0;
}

void argument_image_close(struct argument_image *image)
{
    if (!image->opened)
        return;
    for (size_t i = 0; i < image->listed_count; i++)
        unit_scopes_deinit(&image->listed[i].scopes);
    free(image->listed);
    for (size_t i = 0; i < image->scan_count; i++)
        argument_scan_destroy(image->scans[i]);
    free(image->scans);
    free(image->passed);
    free(image->called);
    free(image->found);
    if (image->plans != NULL)
        image->free_plans(image);
    symbol_table_deinit(&image->symbols);
    symbol_places_deinit(&image->places);
    symbol_places_deinit(&image->debug_places);
    address_table_deinit(&image->table);
    symbol_cache_deinit(&image->cache);
    unit_index_deinit(&image->units);
    type_image_close(&image->types);
    *image = (struct argument_image){ 0 };
}

static bool has_function(const struct argument_unit *unit, uint64_t vaddr)
{
    return address_map_find(&unit->scopes.map, vaddr) != UNIT_SCOPE_NONE;
}

static struct address_table *argument_image_table(struct argument_image *image)
{
    image->table.dwarf = image->types.dwarf;
    image->table.file = debug_files_dwarf(&image->types.files);
    return &image->table;
}

static bool tabled_unit(struct argument_image *image, uint64_t vaddr, Dwarf_Die *out)
{
    return address_table_unit(argument_image_table(image), vaddr, out);
}

// read_outer reads the outer functions of the unit with vaddr: of all of the file, if
// the unit refers to others.
static enum ch_status read_outer(struct argument_image *image, Dwarf_Die *unit,
                                 uint64_t vaddr, struct unit_scopes *out)
{
    enum ch_status status = unit_scopes_read(out, unit, image->text, UNIT_SCOPES_OUTER);
    if (status != CH_OK || !out->refers_out || image->table.whole)
        return status;
    unit_scopes_deinit(out);
    image->table.whole = true;
    if (!tabled_unit(image, vaddr, unit))
        return CH_ERR_NOT_FOUND;
    return unit_scopes_read(out, unit, image->text, UNIT_SCOPES_OUTER);
}

// add_listed adds the unit with vaddr, with its outer functions.
static struct argument_unit *add_listed(struct argument_image *image, Dwarf_Die *unit,
                                        uint64_t vaddr)
{
    if (!array_reserve(&image->listed, &image->listed_capacity, image->listed_count,
                       sizeof(image->listed[0])))
        return NULL;
    struct argument_unit *added = &image->listed[image->listed_count];
    *added = (struct argument_unit){ .die = unit->addr };
    if (read_outer(image, unit, vaddr, &added->scopes) != CH_OK)
        return NULL;
    image->listed_count++;
    return added;
}

// read_nested reads all functions of a unit if none of its outer ones has vaddr.
static void read_nested(struct argument_image *image, struct argument_unit *listed,
                        Dwarf_Die *unit, uint64_t vaddr)
{
    struct unit_scopes scopes;
    if (listed->whole || has_function(listed, vaddr))
        return;
    listed->whole = true;
    if (unit_scopes_read(&scopes, unit, image->text, UNIT_SCOPES_FUNCTIONS) != CH_OK)
        return;
    unit_scopes_deinit(&listed->scopes);
    listed->scopes = scopes;
}

static struct argument_unit *listed_unit(const struct argument_image *image,
                                         const Dwarf_Die *unit)
{
    for (size_t i = 0; i < image->listed_count; i++)
        if (image->listed[i].die == unit->addr)
            return &image->listed[i];
    return NULL;
}

// listed_scopes gives the functions of the unit that the file's address table has for
// vaddr; NULL: none. Reading all units of a large library takes longer than all the
// rest.
static const struct unit_scopes *listed_scopes(struct argument_image *image,
                                               uint64_t vaddr)
{
    Dwarf_Die unit;
    for (size_t i = 0; i < image->listed_count; i++)
        if (has_function(&image->listed[i], vaddr))
            return &image->listed[i].scopes;
    if (!tabled_unit(image, vaddr, &unit))
        return NULL;
    struct argument_unit *listed = listed_unit(image, &unit);
    if (listed == NULL)
        listed = add_listed(image, &unit, vaddr);
    if (listed == NULL)
        return NULL;
    read_nested(image, listed, &unit, vaddr);
    return &listed->scopes;
}

// indexed_scopes gives the functions of the unit whose own entry covers vaddr.
static const struct unit_scopes *indexed_scopes(struct argument_image *image,
                                                uint64_t vaddr)
{
    if (!image->indexed && !image->unindexable) {
        image->indexed = unit_index_init(&image->units, image->types.dwarf, image->text,
                                         true) == CH_OK;
        image->unindexable = !image->indexed;
    }
    const struct unit *unit =
        image->indexed ? unit_index_find(&image->units, vaddr) : NULL;
    return unit != NULL ? &unit->scopes : NULL;
}

static bool argument_image_find_function(const struct unit_scopes *scopes,
                                         uint64_t vaddr, Dwarf_Die *out)
{
    if (scopes == NULL)
        return false;
    uint32_t scope =
        unit_scopes_function(scopes, address_map_find(&scopes->map, vaddr));
    return scope != UNIT_SCOPE_NONE &&
           dwarf_offdie(scopes->dwarf, scopes->scopes[scope].die_offset, out) != NULL &&
           dwarf_tag(out) == DW_TAG_subprogram;
}

// cached_die asks the symbol cache where the function at vaddr is, without reading the
// unit up to it.
static bool cached_die(struct argument_image *image, uint64_t vaddr,
                       struct symbol_cache_die *out)
{
    const char *folder = image->cache_folder;
    image->cache_folder = NULL;
    if (folder != NULL && image->id.size != 0 &&
        symbol_cache_folder_find(&image->cache, folder, &image->id) != CH_OK)
        image->cache = (struct symbol_cache){ 0 };
    return image->cache.size != 0 && symbol_cache_find_die(&image->cache, vaddr, out);
}

// find_cached_function does so, and makes sure that this function has the address.
static bool find_cached_function(struct argument_image *image, uint64_t vaddr,
                                 Dwarf_Die *out)
{
    struct symbol_cache_die at;
    Dwarf_Die unit;
    return cached_die(image, vaddr, &at) &&
           address_table_view(argument_image_table(image), at.unit, &unit) &&
           dwarf_offdie(dwarf_cu_getdwarf(unit.cu), at.die, out) != NULL &&
           dwarf_tag(out) == DW_TAG_subprogram && dwarf_haspc(out, vaddr) > 0;
}

static enum ch_status argument_image_look_up(struct argument_image *image,
                                             uint64_t vaddr, Dwarf_Die *out)
{
    argument_image_load(image);
    if (image->types.dwarf == NULL || image->text[1] == 0)
        return CH_ERR_NOT_FOUND;
    if (find_cached_function(image, vaddr, out) ||
        argument_image_find_function(listed_scopes(image, vaddr), vaddr, out) ||
        argument_image_find_function(indexed_scopes(image, vaddr), vaddr, out))
        return CH_OK;
    return CH_ERR_NOT_FOUND;
}

enum { IMAGE_PLACES = 256 }; // in a hash table by remainder

static size_t image_place_of(uint64_t hash)
{
    return (hash * 0x9e3779b97f4a7c15) >> 32 & (IMAGE_PLACES - 1);
}

enum ch_status argument_image_function(struct argument_image *image, uint64_t vaddr,
                                       Dwarf_Die *out)
{
    if (image->found == NULL)
        image->found = calloc(IMAGE_PLACES, sizeof(image->found[0]));
    if (image->found == NULL)
        return argument_image_look_up(image, vaddr, out);
    struct argument_found *found = &image->found[image_place_of(vaddr)];
    if (!found->known || found->vaddr != vaddr) {
        found->status = argument_image_look_up(image, vaddr, &found->function);
        found->vaddr = vaddr;
        found->known = true;
    }
    if (found->status == CH_OK)
        *out = found->function;
    return found->status;
}

struct argument_passed *argument_image_passed(struct argument_image *image,
                                              const void *callee, uint64_t returns,
                                              unsigned reg)
{
    uint64_t hash = (uint64_t)(uintptr_t)callee ^ returns << 5 ^ reg;
    if (image->passed == NULL)
        image->passed = calloc(IMAGE_PLACES, sizeof(image->passed[0]));
    return image->passed != NULL ? &image->passed[image_place_of(hash)] : NULL;
}

struct argument_called *argument_image_called(struct argument_image *image,
                                              uint64_t returns)
{
    if (image->called == NULL)
        image->called = calloc(IMAGE_PLACES, sizeof(image->called[0]));
    return image->called != NULL ? &image->called[image_place_of(returns)] : NULL;
}

static void read_symbols(struct argument_image *image)
{
    const struct debug_elf *file = &image->types.files.image;
    uint64_t base;
    if (image->symbols_read || file->elf == NULL ||
        debug_elf_layout(file, &base, image->symbols.text) != CH_OK)
        return;
    image->symbols_read = true;
    if (symbol_table_add(&image->symbols, file, SHT_SYMTAB) != CH_OK ||
        image->symbols.count == 0)
        (void)!symbol_table_add(&image->symbols, file, SHT_DYNSYM);
    symbol_table_sort(&image->symbols);
}

// find_debug_symbol finds the function by the symbols of the debug file of a stripped
// image.
static bool find_debug_symbol(struct argument_image *image, uint64_t vaddr,
                              struct symbol *out)
{
    const struct debug_elf *file = &image->types.files.image;
    const struct debug_elf *debug = &image->types.files.debug;
    uint64_t text[2];
    uint64_t base;
    if (!image->debug_places_read && file->elf != NULL && debug->elf != NULL &&
        debug_elf_layout(file, &base, text) == CH_OK)
        (void)!symbol_places_read(&image->debug_places, debug, text);
    image->debug_places_read = true;
    return symbol_places_find(&image->debug_places, vaddr, out) && out->sized;
}

bool argument_image_symbol(struct argument_image *image, uint64_t vaddr,
                           struct argument_symbol *out)
{
    const struct debug_elf *file = &image->types.files.image;
    uint64_t text[2];
    uint64_t base;
    struct symbol symbol;
    if (!image->places_read && file->elf != NULL) {
        image->places_read = true;
        if (debug_elf_layout(file, &base, text) == CH_OK)
            (void)!symbol_places_read(&image->places, file, text);
    }
    if ((!symbol_places_find(&image->places, vaddr, &symbol) || !symbol.sized) &&
        !find_debug_symbol(image, vaddr, &symbol))
        return false;
    *out = (struct argument_symbol){ .name = symbol.name,
                                     .vaddr = symbol.vaddr,
                                     .size = symbol_size(&symbol) };
    return true;
}

bool argument_image_named(struct argument_image *image, const char *name,
                          uint64_t *out_vaddr)
{
    size_t count = 0;
    read_symbols(image);
    for (size_t i = 0; i < image->symbols.count; i++) {
        if (strcmp(image->symbols.symbols[i].name, name) != 0)
            continue;
        *out_vaddr = image->symbols.symbols[i].vaddr;
        count++;
    }
    return count == 1;
}

bool argument_image_named_part(struct argument_image *image, const char *name,
                               size_t length, struct argument_symbol *out)
{
    read_symbols(image);
    for (size_t i = 0; i < image->symbols.count; i++) {
        const struct symbol *symbol = &image->symbols.symbols[i];
        if (strncmp(symbol->name, name, length) != 0 || symbol->name[length] != 0)
            continue;
        *out = (struct argument_symbol){ .name = symbol->name,
                                         .vaddr = symbol->vaddr,
                                         .size = symbol_size(symbol) };
        return true;
    }
    return false;
}

bool argument_image_is_unique(struct argument_image *image, const char *name)
{
    size_t count = 0;
    read_symbols(image);
    for (size_t i = 0; i < image->symbols.count; i++)
        count += strcmp(image->symbols.symbols[i].name, name) == 0;
    return count == 1;
}

// segment_bytes gives the bytes of a loaded segment at vaddr.
static const uint8_t *segment_bytes(Elf *elf, const GElf_Phdr *segment, uint64_t vaddr,
                                    size_t *out_size)
{
    size_t size;
    const char *bytes = elf_rawfile(elf, &size);
    uint64_t at = vaddr - segment->p_vaddr;
    if (bytes == NULL || segment->p_type != PT_LOAD || at >= segment->p_filesz ||
        segment->p_offset > size || segment->p_filesz > size - segment->p_offset)
        return NULL;
    *out_size = (size_t)(segment->p_filesz - at);
    return (const uint8_t *)bytes + segment->p_offset + at;
}

const uint8_t *argument_image_bytes(const struct argument_image *image, uint64_t vaddr,
                                    bool code, size_t *out_size)
{
    Elf *elf = image->types.files.image.elf;
    size_t count;
    if (elf == NULL || elf_getphdrnum(elf, &count) != 0)
        return NULL;
    for (size_t i = 0; i < count && i < INT16_MAX; i++) {
        GElf_Phdr segment;
        if (gelf_getphdr(elf, (int)i, &segment) == NULL ||
            (code && !(segment.p_flags & PF_X)) || (!code && segment.p_flags & PF_W))
            continue;
        const uint8_t *bytes = segment_bytes(elf, &segment, vaddr, out_size);
        if (bytes != NULL)
            return bytes;
    }
    return NULL;
}

// read_code_at is an argument_code_fn.
static const uint8_t *read_code_at(void *context, uint64_t vaddr, size_t *out_size)
{
    return argument_image_bytes(context, vaddr, true, out_size);
}

static const struct argument_scan *
argument_image_find_scan(const struct argument_image *image, uint64_t vaddr)
{
    for (size_t i = 0; i < image->scan_count; i++)
        if (image->scans[i]->code.entry == vaddr)
            return image->scans[i];
    return NULL;
}

const struct argument_machine *
argument_image_machine(const struct argument_image *image)
{
    GElf_Ehdr head;
    Elf *elf = image->types.files.image.elf;
    bool is_aarch64 =
        elf != NULL && gelf_getehdr(elf, &head) != NULL && head.e_machine == EM_AARCH64;
    return is_aarch64 ? &argument_machine_aarch64 : &argument_machine_amd64;
}

const struct argument_scan *argument_image_scan(struct argument_image *image,
                                                uint64_t vaddr, uint64_t size)
{
    const struct argument_scan *found = argument_image_find_scan(image, vaddr);
    if (found != NULL)
        return found;
    // With DWARF the code can prove little more, and disassembling takes
    // time.
    if (image->types.source == TYPE_FROM_DWARF &&
        size > ARGUMENT_SCANNED_BESIDE_DWARF_MAX - image->scanned)
        return NULL;
    image->scanned += size;
    return argument_image_scan_any(image, vaddr, size);
}

const struct argument_scan *argument_image_scan_any(struct argument_image *image,
                                                    uint64_t vaddr, uint64_t size)
{
    const struct argument_scan *found = argument_image_find_scan(image, vaddr);
    if (found != NULL)
        return found;
    if (!array_reserve(&image->scans, &image->scan_capacity, image->scan_count,
                       sizeof(struct argument_scan *)))
        return NULL;
    struct argument_scan *scan = argument_scan_create(argument_image_machine(image),
                                                      vaddr, size, read_code_at, image);
    if (scan != NULL)
        image->scans[image->scan_count++] = scan;
    return scan;
}
