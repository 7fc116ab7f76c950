// SPDX-License-Identifier: Apache-2.0
//
// How it works: an image is opened by its cache if there is one, else by its files. An
// address is looked up in the cache; or in debug information (find_in_dwarf), without
// which ELF symbols, stubs of the PLT and cold parts give the function's name alone.
// Invariants: symbols, stubs, .eh_frame and units are read when first needed (need_*);
// an image whose cache is damaged opens its files once and goes on without the cache.
#include "symbolizer/names/symbol_image.h"

#include <elfutils/libdw.h>
#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/sorted.h"
#include "base/status.h"
#include "symbolizer/cache/symbol_cache_folder.h"
#include "symbolizer/files/debug_elf.h"
#include "symbolizer/files/debug_files.h"
#include "symbolizer/files/decompressed_debug.h"
#include "symbolizer/names/demangle.h"
#include "symbolizer/names/plt_stubs.h"
#include "symbolizer/names/symbol_table.h"
#include "symbolizer/names/unit_index.h"
#include "unwind/cfi_index.h"

void unit_dies_deinit(struct unit_dies *dies)
{
    free(dies->items);
    *dies = (struct unit_dies){ 0 };
}

static enum ch_status add_die(struct unit_dies *dies, const struct unit_die *die)
{
    if (!array_reserve(&dies->items, &dies->capacity, dies->count,
                       sizeof(dies->items[0])))
        return CH_ERR_NO_MEMORY;
    dies->items[dies->count++] = *die;
    return CH_OK;
}

// add_unit_dies adds the functions of a unit, each where its code begins, and where it
// goes on after another one's.
static enum ch_status add_unit_dies(struct unit_dies *dies, const struct unit *unit)
{
    const struct unit_scopes *scopes = &unit->scopes;
    uint32_t before = UNIT_SCOPE_NONE;
    enum ch_status status = CH_OK;
    for (size_t i = 0; status == CH_OK && i < scopes->map.segment_count; i++) {
        uint32_t function = unit_scopes_function(scopes, scopes->map.owners[i]);
        if (function != before && function != UNIT_SCOPE_NONE)
            status = add_die(
                dies, &(struct unit_die){ .start = scopes->map.starts[i],
                                          .unit = unit->offset,
                                          .die = scopes->scopes[function].die_offset });
        before = function;
    }
    return status;
}

static int by_start(const void *left, const void *right)
{
    const struct unit_die *a = left;
    const struct unit_die *b = right;
    return a->start < b->start ? -1 : a->start > b->start;
}

// unit_dies_read lists the functions of all units of index that were opened, as
// unit_index_edges does, and that refer to no other unit and are not split.
static enum ch_status unit_dies_read(struct unit_dies *out,
                                     const struct unit_index *index)
{
    enum ch_status status = CH_OK;
    *out = (struct unit_dies){ 0 };
    for (size_t i = 0; status == CH_OK && i < index->count; i++) {
        const struct unit *unit = &index->units[i];
        if (!unit->split && !unit->scopes.refers_out)
            status = add_unit_dies(out, unit);
    }
    if (status != CH_OK)
        unit_dies_deinit(out);
    else if (out->count != 0)
        qsort(out->items, out->count, sizeof(out->items[0]), by_start);
    return status;
}

// Names for code that a compiler split off a function because it is rarely executed.
// gcc calls it `f.cold`, by a local symbol, which a stripped library lacks.
//
// Such a part has call frame information of its own, by which the stack is not as it is
// at a function's entry when the part begins: it is jumped to. It gets its name where
// all jumps to it are in one function that has a name. x86-64 only.

struct cold_part {
    uint64_t start;
    uint64_t end;
    uint64_t entry; // of its function
    char *raw_name; // NULL: not known whose it is
    char *function; // demangled; NULL: raw_name is not mangled
};

// A cold_parts is the parts of one file that were looked up so far.
struct cold_parts {
    struct cfi_index frames;
    bool indexed;
    uint64_t scanned_bytes; // of code, in all
    struct cold_part *parts;
    size_t count;
    size_t capacity;
};

// Limits of the .eh_frame that is read, and of the code that is scanned for jumps.
enum { FRAMES_BYTES_MAX = 4 << 20, SCAN_BYTES_MAX = 64 << 20 };

static const struct cfi_processor amd64 = { .register_count = 17,
                                            .fp = UNWIND_AMD64_FP };

// index_frames reads .eh_frame when it is first needed. Without it there are no parts.
static void index_frames(struct cold_parts *parts, const struct debug_elf *file)
{
    GElf_Ehdr header;
    GElf_Shdr section;
    parts->indexed = true;
    if (gelf_getehdr(file->elf, &header) == NULL || header.e_machine != EM_X86_64)
        return;
    Elf_Scn *scn = debug_elf_find_section(file, ".eh_frame", &section);
    const Elf_Data *data = scn != NULL ? elf_rawdata(scn, NULL) : NULL;
    if (data == NULL || data->d_buf == NULL || data->d_size > FRAMES_BYTES_MAX)
        return;
    const struct cfi_section frames = { .kind = CFI_EH_FRAME,
                                        .address = section.sh_addr };
    (void)!cfi_index_init(&parts->frames, &frames, data->d_buf, data->d_size);
}

// begins_inside returns true if the stack is not as a call leaves it where a part
// begins.
static bool begins_inside(const struct cfi_index *frames, uint64_t start)
{
    struct unwind_row row;
    return cfi_index_find(frames, &amd64, start, &row) == CH_OK &&
           row.cfa.kind == UNWIND_REGISTER_PLUS &&
           (row.cfa.reg != UNWIND_AMD64_SP || row.cfa.offset > 8);
}

// A branch is what may be a call or a jump in the bytes of a section.
struct branch {
    uint64_t from;
    uint64_t to;
    bool is_call;
};

// read_branch decodes the size bytes at code, of which from is the address, as call,
// jmp or a conditional jump to a distant place.
static bool read_branch(const uint8_t *code, size_t size, uint64_t from,
                        struct branch *out)
{
    int32_t distance;
    size_t opcode = code[0] == 0x0f && size > 1 && code[1] >> 4 == 8 ? 2 : 1;
    if (size < opcode + sizeof(distance) ||
        (opcode == 1 && code[0] != 0xe8 && code[0] != 0xe9))
        return false;
    memcpy(&distance, code + opcode, sizeof(distance));
    *out = (struct branch){ .from = from,
                            .to = from + opcode + sizeof(distance) +
                                  (uint64_t)(int64_t)distance,
                            .is_call = code[0] == 0xe8 };
    return true;
}

// find_jumping finds the one function in a section of code that jumps to a part. False:
// somebody else jumps there as well, or calls it.
static bool find_jumping(const struct cold_part *part, const struct symbol_table *table,
                         const Elf_Data *code, uint64_t address,
                         const struct symbol **out)
{
    const uint8_t *bytes = code->d_buf;
    struct branch branch;
    for (size_t i = 0; i < code->d_size; i++) {
        if (!read_branch(bytes + i, code->d_size - i, address + i, &branch) ||
            branch.to - part->start >= part->end - part->start ||
            branch.from - part->start < part->end - part->start)
            continue;
        const struct symbol *from = symbol_table_find(table, branch.from);
        if (branch.is_call || from == NULL || !from->sized ||
            (*out != NULL && *out != from))
            return false;
        *out = from;
    }
    return true;
}

// find_part_owner scans all code of file. NULL: it is not known whose the part is.
static const struct symbol *find_part_owner(struct cold_parts *parts,
                                            const struct cold_part *part,
                                            const struct debug_elf *file,
                                            const struct symbol_table *table)
{
    const struct symbol *owner = NULL;
    GElf_Shdr section;
    for (Elf_Scn *scn = elf_nextscn(file->elf, NULL); scn != NULL;
         scn = elf_nextscn(file->elf, scn)) {
        if (gelf_getshdr(scn, &section) == NULL || section.sh_type != SHT_PROGBITS ||
            !(section.sh_flags & SHF_EXECINSTR))
            continue;
        const Elf_Data *code = elf_rawdata(scn, NULL);
        if (code == NULL || code->d_buf == NULL)
            return NULL;
        parts->scanned_bytes += code->d_size;
        if (parts->scanned_bytes > SCAN_BYTES_MAX ||
            !find_jumping(part, table, code, section.sh_addr, &owner))
            return NULL;
    }
    return owner;
}

static void name_part(struct cold_parts *parts, struct cold_part *part,
                      const struct debug_elf *file, const struct symbol_table *table)
{
    const struct symbol *owner = begins_inside(&parts->frames, part->start)
                                     ? find_part_owner(parts, part, file, table)
                                     : NULL;
    if (owner == NULL || strlen(owner->name) > DEMANGLE_INPUT_MAX ||
        asprintf(&part->raw_name, "%s.cold", owner->name) < 0) {
        part->raw_name = NULL;
        return;
    }
    part->entry = owner->vaddr;
    part->function = demangle_name(part->raw_name);
}

// cold_parts_find gives the part of file at vaddr, which no symbol of table covers.
// NULL: there is none whose function is known. It is valid until the next call.
static const struct cold_part *cold_parts_find(struct cold_parts *parts,
                                               const struct debug_elf *file,
                                               const struct symbol_table *table,
                                               uint64_t vaddr)
{
    if (!parts->indexed)
        index_frames(parts, file);
    const struct cfi_index *frames = &parts->frames;
    size_t after = SORTED_UP_TO(frames->entries, frames->count, start, vaddr);
    if (after == 0 || vaddr >= frames->entries[after - 1].end)
        return NULL;
    struct cold_part part = { .start = frames->entries[after - 1].start,
                              .end = frames->entries[after - 1].end };
    for (size_t i = 0; i < parts->count; i++)
        if (parts->parts[i].start == part.start)
            return parts->parts[i].raw_name != NULL ? &parts->parts[i] : NULL;
    if (!array_reserve(&parts->parts, &parts->capacity, parts->count,
                       sizeof(parts->parts[0])))
        return NULL;
    name_part(parts, &part, file, table);
    parts->parts[parts->count++] = part;
    return part.raw_name != NULL ? &parts->parts[parts->count - 1] : NULL;
}

// cold_parts_deinit frees what parts holds; a zeroed one is empty.
static void cold_parts_deinit(struct cold_parts *parts)
{
    for (size_t i = 0; i < parts->count; i++) {
        free(parts->parts[i].raw_name);
        free(parts->parts[i].function);
    }
    free(parts->parts);
    cfi_index_deinit(&parts->frames);
    *parts = (struct cold_parts){ 0 };
}

struct symbol_image {
    struct debug_files files;
    Dwarf *dwarf; // NULL: none
    struct unit_index units;
    bool symbols_read;
    enum ch_status symbols_status; // of reading them
    struct symbol_table symbols;
    struct cold_parts cold;
    bool stubs_read;
    struct plt_stubs stubs;
    char **demangled; // of symbols, by index; NULL: not yet, or not mangled
    uint64_t base;    // its lowest page-aligned vaddr
    uint64_t text[2];
    bool usable;
    bool names_only;
    char *path; // with the search, for when the cache proves damaged
    const struct debug_search *search;
    struct build_id id;
    bool cached;               // the cache is used
    struct symbol_cache cache; // its strings may be in use until image is closed
};

// symbol_image_add_symbols merges the tables of all files. A full .symtab includes the
// symbols of .dynsym, which is therefore read only where there is no .symtab.
static enum ch_status symbol_image_add_symbols(struct symbol_image *image)
{
    const struct debug_elf *whole[] = { &image->files.image, &image->files.debug,
                                        &image->files.mini };
    struct symbol_table *table = &image->symbols;
    enum ch_status status = CH_OK;
    for (size_t i = 0; status == CH_OK && i < sizeof(whole) / sizeof(whole[0]); i++)
        if (whole[i]->elf != NULL)
            status = symbol_table_add(table, whole[i], SHT_SYMTAB);
    if (status == CH_OK && image->files.image.elf != NULL &&
        (table->count == 0 || image->files.mini.elf != NULL))
        status = symbol_table_add(table, &image->files.image, SHT_DYNSYM);
    symbol_table_sort(table);
    if (table->count != 0)
        image->demangled = calloc(table->count, sizeof(image->demangled[0]));
    if (image->demangled == NULL)
        table->count = 0;
    return status;
}

// need_symbols reads the symbols when they are first needed: most addresses have all of
// their names in debug information, and sorting the symbols of a large program takes
// longer than finding one of its addresses there. On failure there are fewer of them.
static enum ch_status need_symbols(struct symbol_image *image)
{
    if (!image->symbols_read)
        image->symbols_status = symbol_image_add_symbols(image);
    image->symbols_read = true;
    return image->symbols_status;
}

// symbol_image_dwarf_file gives the file with debug information, decompressed here if
// that is possible; NULL: there is none.
static const struct debug_elf *symbol_image_dwarf_file(struct symbol_image *image)
{
    const struct debug_elf *file = debug_files_dwarf(&image->files);
    struct debug_elf plain;
    if (file == NULL || decompressed_debug_load(&plain, file) != CH_OK)
        return file;
    debug_elf_close(&image->files.plain);
    image->files.plain = plain;
    return &image->files.plain;
}

static void symbol_image_open_dwarf(struct symbol_image *image)
{
    const struct debug_elf *file = symbol_image_dwarf_file(image);
    if (file == NULL)
        return;
    debug_elf_hide_locations(file);
    if (image->search->alone)
        debug_elf_hide_alternate(file);
    image->dwarf = dwarf_begin_elf(file->elf, DWARF_C_READ, NULL);
    // Some versions of libdw open a file whose .debug_info they cannot decompress.
    if (image->dwarf == NULL || decompressed_debug_is_unknown(file) ||
        unit_index_init(&image->units, image->dwarf, image->text, image->names_only) !=
            CH_OK)
        image->files.status =
            decompressed_debug_is_foreign(file) ? DEBUG_COMPRESSED : DEBUG_DAMAGED;
}

static void open_files(struct symbol_image *image)
{
    debug_files_open(&image->files, image->path, &image->id, image->search);
    const struct debug_elf *laid_out =
        image->files.image.elf != NULL ? &image->files.image : &image->files.debug;
    if (laid_out->elf == NULL)
        return;
    if (debug_elf_layout(laid_out, &image->base, image->text) != CH_OK) {
        image->files.status = DEBUG_DAMAGED;
        return;
    }
    memcpy(image->symbols.text, image->text, sizeof(image->text));
    symbol_image_open_dwarf(image);
    image->usable = true;
}

// symbol_image_find_id finds the build ID of an image of which only the path is known,
// because caches are found by build ID.
static void symbol_image_find_id(struct symbol_image *image)
{
    struct debug_elf file;
    if (image->id.size != 0 || debug_elf_open(&file, image->path) != CH_OK)
        return;
    image->id = debug_elf_build_id(&file);
    debug_elf_close(&file);
}

// open_cache returns true if a cache is used in place of the files.
static bool open_cache(struct symbol_image *image)
{
    const char *folder = image->search->cache_folder;
    if (folder == NULL || image->names_only || image->search->anew)
        return false;
    symbol_image_find_id(image);
    if (symbol_cache_folder_find(&image->cache, folder, &image->id) != CH_OK)
        return false;
    image->cache.no_linker_names = image->search->no_raw_names;
    image->cached = true;
    image->usable = true;
    image->base = image->cache.base;
    memcpy(image->text, image->cache.text, sizeof(image->text));
    image->files.status = DEBUG_FOUND;
    return true;
}

enum ch_status symbol_image_open(struct symbol_image **out, const char *path,
                                 const struct build_id *id,
                                 const struct debug_search *search, bool names_only)
{
    struct symbol_image *image = calloc(1, sizeof(*image));
    if (image == NULL)
        return CH_ERR_NO_MEMORY;
    image->names_only = names_only;
    image->id = *id;
    image->search = search;
    image->path = strdup(path);
    if (image->path == NULL) {
        free(image);
        return CH_ERR_NO_MEMORY;
    }
    if (!open_cache(image))
        open_files(image);
    *out = image;
    return CH_OK;
}

void symbol_image_detach(struct symbol_image *image)
{
    debug_elf_detach(&image->files.image);
    debug_elf_detach(&image->files.debug);
    debug_elf_detach(&image->files.plain);
}

void symbol_image_close(struct symbol_image *image)
{
    if (image == NULL)
        return;
    for (size_t i = 0; i < image->symbols.count; i++)
        free(image->demangled[i]);
    free(image->demangled);
    symbol_table_deinit(&image->symbols);
    cold_parts_deinit(&image->cold);
    plt_stubs_deinit(&image->stubs);
    unit_index_deinit(&image->units);
    if (image->dwarf != NULL)
        dwarf_end(image->dwarf);
    debug_files_close(&image->files);
    symbol_cache_deinit(&image->cache);
    free(image->path);
    free(image);
}

void symbol_image_build(const struct symbol_image *image, struct build_id *out)
{
    *out = image->id;
    if (out->size == 0 && image->files.image.elf != NULL)
        *out = debug_elf_build_id(&image->files.image);
}

bool symbol_image_is_cached(const struct symbol_image *image)
{
    return image->cached;
}

enum debug_status symbol_image_status(const struct symbol_image *image)
{
    return image->files.status;
}

enum debug_status symbol_image_why(struct symbol_image *image, uint64_t vaddr)
{
    char package[PATH_MAX];
    bool indexed = !image->cached && image->usable && image->dwarf != NULL;
    const struct unit *unit = indexed ? unit_index_find(&image->units, vaddr) : NULL;
    if (unit == NULL || !unit->halved)
        return image->files.status;
    int length = snprintf(package, sizeof(package), "%s.dwp", image->path);
    bool fits = length > 0 && (size_t)length < sizeof(package);
    return fits && access(package, F_OK) == 0 ? DEBUG_SPLIT_PACKAGE
                                              : DEBUG_NO_SPLIT_FILE;
}

uint64_t symbol_image_base(const struct symbol_image *image)
{
    return image->base;
}

static const char *symbol_name(struct symbol_image *image, const struct symbol *symbol)
{
    char **name = &image->demangled[symbol - image->symbols.symbols];
    if (*name == NULL)
        *name = demangle_name(symbol->name);
    return *name != NULL ? *name : symbol->name;
}

// find_cold_part names code that no symbol covers. Caches have no such names, and are
// made of files with debug information.
static size_t find_cold_part(struct symbol_image *image, uint64_t vaddr,
                             struct symbol_frame *out)
{
    const struct debug_elf *file = &image->files.image;
    if (image->dwarf != NULL || file->elf == NULL)
        return 0;
    const struct cold_part *part =
        cold_parts_find(&image->cold, file, &image->symbols, vaddr);
    if (part == NULL)
        return 0;
    *out = (struct symbol_frame){ .function = part->function != NULL ? part->function
                                                                     : part->raw_name,
                                  .raw_name = part->raw_name,
                                  .entry = part->entry,
                                  .start = part->start };
    return 1;
}

// need_stubs reads the stubs of the PLT when an address is looked up that no symbol
// covers.
static const struct plt_stubs *need_stubs(struct symbol_image *image)
{
    if (!image->stubs_read)
        plt_stubs_read(&image->stubs, &image->files.image, &image->symbols);
    image->stubs_read = true;
    return &image->stubs;
}

// find_unlisted names code that no symbol covers: a stub of the PLT or a cold part.
static size_t find_unlisted(struct symbol_image *image, uint64_t vaddr,
                            struct symbol_frame *out)
{
    const struct plt_stub *stub = plt_stubs_find(need_stubs(image), vaddr);
    if (stub == NULL)
        return find_cold_part(image, vaddr, out);
    *out = (struct symbol_frame){
        .function = stub->function != NULL ? stub->function : stub->raw_name,
        .raw_name = stub->raw_name,
        .entry = stub->start,
        .start = stub->start,
    };
    return 1;
}

static size_t symbol_image_find_symbol(struct symbol_image *image, uint64_t vaddr,
                                       struct symbol_frame *out)
{
    (void)!need_symbols(image);
    const struct symbol *symbol = symbol_table_find(&image->symbols, vaddr);
    if (symbol == NULL)
        return find_unlisted(image, vaddr, out);
    *out = (struct symbol_frame){ .function = symbol_name(image, symbol),
                                  .raw_name = symbol->name,
                                  .entry = symbol->vaddr,
                                  .start = symbol->vaddr };
    return 1;
}

// set_frame_line sets the innermost frame's line from the line table's row for vaddr.
static void set_frame_line(struct symbol_image *image, struct unit *unit,
                           uint64_t vaddr, struct symbol_frame *frame)
{
    const struct line_row *row = unit_line(&image->units, unit, vaddr);
    if (row == NULL)
        return;
    frame->file = line_table_file(&unit->lines, row->file);
    frame->file_md5 = line_table_md5(&unit->lines, row->file);
    frame->line = row->line;
    frame->column = row->line != 0 ? row->column : 0;
}

// name_scope names the frame of scope, and gives its call site: that is an attribute of
// the inlined call, but belongs to the frame after it.
static bool name_scope(struct symbol_image *image, struct unit *unit, uint32_t scope,
                       struct symbol_frame *frame, struct symbol_frame *out_caller)
{
    const struct unit_site *site = unit_site_of(&image->units, unit, scope);
    if (site == NULL)
        return false;
    frame->raw_name = site->raw_name;
    frame->of_source = site->of_source;
    frame->function = site->name != NULL ? site->name : site->raw_name;
    frame->inlined = unit->scopes.scopes[scope].inlined;
    *out_caller = (struct symbol_frame){ .file = site->call_file,
                                         .file_md5 = site->call_file_md5,
                                         .line = site->call_line,
                                         .column = site->call_column,
                                         .entry = frame->entry,
                                         .start = frame->start };
    return true;
}

// find_scopes walks from the innermost inlined call out to the function.
static size_t find_scopes(struct symbol_image *image, struct unit *unit, uint64_t vaddr,
                          struct symbol_frame frames[SYMBOL_FRAMES_MAX])
{
    size_t count = 0;
    uint32_t scope = address_map_find(&unit->scopes.map, vaddr);
    struct symbol_frame caller;
    while (scope != UNIT_SCOPE_NONE &&
           name_scope(image, unit, scope, &frames[count], &caller)) {
        struct symbol_frame *frame = &frames[count++];
        if (!frame->inlined) {
            struct unit_function function;
            unit_function_start(unit, scope, vaddr, &function);
            frame->entry = function.entry;
            frame->start = function.start;
            return count;
        }
        if (count == SYMBOL_FRAMES_MAX) {
            frame->inlined = false; // the last frame never is inlined
            return count;
        }
        frames[count] = caller;
        scope = unit->scopes.scopes[scope].parent;
    }
    // Damaged files have inlined calls outside of any function; its name is then not
    // known here.
    return count != 0 ? count + 1 : 0;
}

static size_t find_in_dwarf(struct symbol_image *image, uint64_t vaddr,
                            struct symbol_frame frames[SYMBOL_FRAMES_MAX])
{
    struct unit *unit = unit_index_find(&image->units, vaddr);
    if (unit == NULL)
        return 0;
    frames[0] = (struct symbol_frame){ .entry = vaddr, .start = vaddr };
    if (!image->names_only)
        set_frame_line(image, unit, vaddr, &frames[0]);
    size_t count = find_scopes(image, unit, vaddr, frames);
    if (count != 0)
        return count;
    // Assembler sources have lines but no functions: the symbol names them.
    struct symbol_frame named;
    if (symbol_image_find_symbol(image, vaddr, &named) != 0) {
        frames[0].function = named.function;
        frames[0].raw_name = named.raw_name;
        frames[0].entry = named.entry;
        frames[0].start = named.start;
        return 1;
    }
    return frames[0].file != NULL;
}

// name_function gets the linker's name of a function from the symbol table if its entry
// has none: that name includes the parameter types.
static void name_function(struct symbol_image *image, struct symbol_frame *frame)
{
    struct symbol_frame named;
    bool complete = frame->function != NULL && !frame->of_source;
    if (complete || frame->inlined ||
        symbol_image_find_symbol(image, frame->entry, &named) == 0)
        return;
    frame->function = named.function;
    frame->raw_name = named.raw_name;
    frame->of_source = false;
}

static size_t find_in_files(struct symbol_image *image, uint64_t vaddr,
                            struct symbol_frame frames[SYMBOL_FRAMES_MAX])
{
    if (!image->usable || vaddr < image->text[0] || vaddr >= image->text[1])
        return 0;
    if (image->names_only && symbol_image_find_symbol(image, vaddr, &frames[0]) != 0)
        return 1;
    size_t count = find_in_dwarf(image, vaddr, frames);
    if (count == 0)
        return symbol_image_find_symbol(image, vaddr, &frames[0]);
    name_function(image, &frames[count - 1]);
    return count;
}

void symbol_image_expect(struct symbol_image *image, const uint64_t *vaddrs,
                         size_t count)
{
    if (image->cached)
        symbol_cache_expect(&image->cache, vaddrs, count);
}

size_t symbol_image_find(struct symbol_image *image, uint64_t vaddr,
                         struct symbol_frame frames[SYMBOL_FRAMES_MAX])
{
    size_t count;
    if (image->cached &&
        symbol_cache_find(&image->cache, vaddr, frames, &count) == CH_OK)
        return count;
    if (image->cached) { // and damaged: the files are opened after all
        symbol_cache_folder_forget(image->search->cache_folder, &image->id);
        image->cached = false;
        image->usable = false;
        open_files(image);
    }
    return find_in_files(image, vaddr, frames);
}

void symbol_image_text(const struct symbol_image *image, uint64_t out[2])
{
    memcpy(out, image->text, sizeof(image->text));
}

// symbol_image_is_whole returns true if nothing is missing that could provide a name.
static bool symbol_image_is_whole(const struct symbol_image *image)
{
    const struct debug_elf *file = debug_files_dwarf(&image->files);
    if (file == NULL || image->dwarf == NULL || !image->usable || image->names_only ||
        image->files.status != DEBUG_FOUND)
        return false;
    return debug_elf_section(file, ".gnu_debugaltlink") == NULL ||
           dwarf_getalt(image->dwarf) != NULL;
}

enum ch_status symbol_image_edges(struct symbol_image *image, struct address_list *out)
{
    if (!symbol_image_is_whole(image))
        return CH_ERR_UNSUPPORTED;
    enum ch_status status = need_symbols(image);
    if (status == CH_OK)
        status = unit_index_edges(&image->units, out);
    if (status == CH_OK)
        status = symbol_table_edges(&image->symbols, out);
    const struct plt_stubs *stubs = need_stubs(image);
    for (size_t i = 0; status == CH_OK && i < stubs->count; i++) {
        status = address_list_add(out, stubs->items[i].start);
        if (status == CH_OK)
            status = address_list_add(out, stubs->items[i].end);
    }
    for (size_t i = 0; status == CH_OK && i < 2; i++)
        status = address_list_add(out, image->text[i]);
    address_list_sort(out);
    return status;
}

enum ch_status symbol_image_dies(const struct symbol_image *image,
                                 struct unit_dies *out)
{
    return unit_dies_read(out, &image->units);
}
