// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/fault/code_listing.h"

#include <gelf.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/hex.h"
#include "report/file/system_image.h"
#include "report/secrets/sanitize.h"
#include "report/value/report.h"
#include "symbolizer/cache/symbol_cache_folder.h"
#include "symbolizer/code/instruction.h"
#include "symbolizer/names/demangle.h"
#include "symbolizer/names/symbol_image.h"

enum { NAME_BYTES_MAX = 256, SYMBOLS_READ_MAX = 1 << 20, LISTINGS_MAX = 2 };

// A listed_code is the code of one function as it is being listed.
struct listed_code {
    const struct argument_stack *stack;
    const struct argument_call *call;
    const uint8_t *bytes; // of the file, from start on
    size_t size;
    uint64_t start; // vaddr
    uint64_t end;   // of the function, where symbols have that
    uint64_t marked;
    struct symbol_image *lines; // NULL: no source lines are known
    const char *file;           // of the listing; NULL: none yet
    json_t *listing;
    json_t *instructions;
};

static enum ch_status print_listed_code(const struct listed_code *code, uint64_t vaddr,
                                        char text[static INSTRUCTION_TEXT_MAX],
                                        size_t *out_length)
{
    size_t at = (size_t)(vaddr - code->start);
    uint64_t address = vaddr + code->call->image->bias;
    if (vaddr < code->start || at >= code->size)
        return CH_ERR_MALFORMED;
    return code->stack->arch->id == UNWIND_ARCH_AMD64
               ? instruction_print_x86_64(code->bytes + at, code->size - at, address,
                                          text, out_length)
               : instruction_print_aarch64(code->bytes + at, code->size - at, address,
                                           text, out_length);
}

// listed_length gives the length of the instruction at vaddr; 0: it is none.
static size_t listed_length(const struct listed_code *code, uint64_t vaddr)
{
    struct instruction_effects effects;
    size_t at = (size_t)(vaddr - code->start);
    if (code->stack->arch->id != UNWIND_ARCH_AMD64)
        return 4;
    return at < code->size &&
                   instruction_read_effects_x86_64(code->bytes + at, code->size - at,
                                                   vaddr, &effects) == CH_OK
               ? effects.length
               : 0;
}

// listed_first gives the vaddr of the instruction from which the listing begins.
// code->marked becomes the start of the instruction that it is in.
static uint64_t listed_first(struct listed_code *code)
{
    uint64_t last[CODE_LISTING_AROUND + 1];
    uint64_t vaddr = code->start;
    size_t count = 0;
    while (vaddr <= code->marked) {
        size_t length = listed_length(code, vaddr);
        last[count++ % (CODE_LISTING_AROUND + 1)] = vaddr;
        if (length == 0 || code->marked - vaddr < length)
            break;
        vaddr += length;
    }
    // The instruction that faulted begins at the pc, and a call ends before it.
    bool found = vaddr <= code->marked && count != 0 &&
                 (vaddr == code->marked || !code->call->frame.activation);
    if (!found)
        return code->marked;
    code->marked = vaddr;
    return count > CODE_LISTING_AROUND ? last[count % (CODE_LISTING_AROUND + 1)]
                                       : code->start;
}

// masked_file gives the path of a source file as a string.
static json_t *masked_file(const struct listed_code *code, const char *path)
{
    const struct symbolizer_options *options = code->stack->options;
    struct text CH_CLEANUP(text_deinit) masked = { 0 };
    sanitize_path(path, options->sanitize ? options->home : NULL, &masked);
    return text_ok(&masked) ? json_string(masked.bytes) : NULL;
}

// add_line adds the source line of the instruction at vaddr; files other than the
// listing's are those of inlined calls.
static void add_line(struct listed_code *code, uint64_t vaddr, json_t *instruction)
{
    struct symbol_frame frames[SYMBOL_FRAMES_MAX];
    if (code->lines == NULL || symbol_image_find(code->lines, vaddr, frames) == 0 ||
        frames[0].file == NULL || frames[0].line == 0)
        return;
    json_t *file = masked_file(code, frames[0].file);
    const char *path = json_string_value(file);
    if (code->file == NULL && path != NULL) {
        (void)json_object_set(code->listing, "file", file);
        code->file = report_string(code->listing, "file");
    }
    if (path != NULL && code->file != NULL && strcmp(path, code->file) != 0)
        (void)json_object_set(instruction, "file", file);
    (void)json_object_set_new(instruction, "line", json_integer(frames[0].line));
    json_decref(file);
}

// add_instruction adds the instruction at vaddr and gives its length; 0: it is none.
static size_t add_instruction(struct listed_code *code, uint64_t vaddr)
{
    char text[INSTRUCTION_TEXT_MAX];
    size_t length;
    if (print_listed_code(code, vaddr, text, &length) != CH_OK)
        return 0;
    json_t *instruction = json_pack(
        "{s:o, s:s}", "address",
        json_sprintf("0x%" PRIx64, vaddr + code->call->image->bias), "text", text);
    add_line(code, vaddr, instruction);
    if (vaddr == code->marked)
        (void)json_object_set_new(instruction, "current", json_true());
    (void)json_array_append_new(code->instructions, instruction);
    return length;
}

// is_code_that_ran compares the file with what was read of the process.
static bool is_code_that_ran(const json_t *report, const struct listed_code *code)
{
    const json_t *instruction =
        json_object_get(json_object_get(report, "crash"), "instruction");
    const char *digits = report_string(instruction, "bytes");
    uint8_t ran[64];
    uint64_t address;
    size_t size = 0;
    uint64_t at = code->marked - code->start;
    if (!code->call->frame.activation || digits == NULL ||
        !report_address(instruction, "address", &address) ||
        address != code->marked + code->call->image->bias)
        return true;
    return hex_decode(digits, strlen(digits), ran, sizeof(ran), &size) == CH_OK &&
           at < code->size && size <= code->size - at &&
           memcmp(code->bytes + at, ran, size) == 0;
}

struct symbol_image *code_listing_open_lines(const struct argument_stack *stack,
                                             size_t call,
                                             const struct report_images *images)
{
    const struct symbolizer_options *options = stack->options;
    const struct debug_search search = symbolizer_options_search(options);
    json_int_t index = report_integer(stack->calls[call].from, "image", -1);
    struct symbol_image *lines = NULL;
    struct symbol_cache cache;
    char buffers[2][PATH_MAX];
    if (index < 0 || (uint64_t)index >= images->count ||
        options->level != SYMBOLIZE_FULL)
        return NULL;
    const struct report_image *image = &images->items[index];
    bool cached =
        options->cache_folder != NULL && image->id.size != 0 &&
        symbol_cache_folder_find(&cache, options->cache_folder, &image->id) == CH_OK;
    if (cached)
        symbol_cache_deinit(&cache);
    if (cached || !system_image(image->path))
        (void)!symbol_image_open(&lines,
                                 symbolizer_options_path(options, image->path, buffers),
                                 &image->id, &search, false);
    return lines;
}

void code_listing_add_place(const struct argument_stack *stack, size_t call,
                            const struct report_images *images, uint64_t vaddr,
                            json_t *object)
{
    const struct listed_code code = { .stack = stack };
    struct symbol_image *lines = code_listing_open_lines(stack, call, images);
    struct symbol_frame frames[SYMBOL_FRAMES_MAX];
    if (lines != NULL && symbol_image_find(lines, vaddr, frames) != 0 &&
        frames[0].file != NULL && frames[0].line != 0) {
        (void)json_object_set_new(object, "file", masked_file(&code, frames[0].file));
        (void)json_object_set_new(object, "line", json_integer(frames[0].line));
    }
    symbol_image_close(lines);
}

// find_listed_code finds the bytes from the start of the call's function on. Without a
// start, they are those from the instruction on.
static bool find_listed_code(const json_t *report, struct listed_code *code)
{
    const struct argument_call *call = code->call;
    uint64_t vaddr = call->address - call->image->bias;
    int64_t offset = report_integer(call->from, "function_offset", -1);
    code->marked = call->vaddr;
    code->start = call->vaddr;
    if (offset > 0 && offset <= ARGUMENT_CODE_BYTES_MAX)
        code->start = vaddr - (uint64_t)offset;
    else if (offset != 0 && !call->frame.activation)
        return false; // the call before a return address begins in an unknown place
    struct argument_symbol symbol;
    code->end = UINT64_MAX;
    if (argument_image_symbol(call->image, call->vaddr, &symbol) &&
        call->vaddr - symbol.vaddr < symbol.size)
        code->end = symbol.vaddr + symbol.size;
    code->bytes = argument_image_bytes(call->image, code->start, true, &code->size);
    return code->bytes != NULL && is_code_that_ran(report, code);
}

static void list_code(const json_t *report, const struct argument_stack *stack,
                      size_t index, const struct report_images *images, json_t *out)
{
    struct listed_code code = { .stack = stack, .call = &stack->calls[index] };
    if (code.call->image == NULL || !find_listed_code(report, &code))
        return;
    uint64_t vaddr = listed_first(&code);
    if (vaddr > code.marked || (vaddr == code.marked && !code.call->frame.activation &&
                                code.marked != code.start))
        return;
    code.instructions = json_array();
    code.listing = json_pack("{s:I, s:s*, s:o}", "frame", (json_int_t)code.call->index,
                             "function", report_string(code.call->from, "function"),
                             "instructions", code.instructions);
    code.lines = code_listing_open_lines(stack, index, images);
    for (size_t after = 0; after <= CODE_LISTING_AROUND && vaddr < code.end;) {
        size_t length = add_instruction(&code, vaddr);
        if (length == 0)
            break;
        after += vaddr >= code.marked;
        vaddr += length;
    }
    symbol_image_close(code.lines);
    if (json_array_size(code.instructions) != 0)
        (void)json_array_append(out, code.listing);
    json_decref(code.listing);
}

// caller_index gives the call of the program's own code that led to the fault.
static size_t caller_index(const struct argument_stack *stack)
{
    for (size_t i = 1; i < stack->start; i++)
        if (!json_is_true(json_object_get(stack->calls[i].from, "system")))
            return i;
    return 1;
}

json_t *code_listing_make(const json_t *report, const struct argument_stack *stack,
                          const struct report_images *images)
{
    json_t *code = json_array();
    size_t caller = caller_index(stack);
    if (stack->count != 0)
        list_code(report, stack, 0, images, code);
    if (caller < stack->count)
        list_code(report, stack, caller, images, code);
    if (json_array_size(code) != 0)
        return code;
    json_decref(code);
    return NULL;
}

static bool is_listing_text(const json_t *object, const char *key, bool required)
{
    const json_t *text = json_object_get(object, key);
    return text == NULL ? !required
                        : json_is_string(text) && json_string_length(text) != 0;
}

static bool is_instruction(const json_t *instruction)
{
    uint64_t address;
    const json_t *line = json_object_get(instruction, "line");
    return report_address(instruction, "address", &address) &&
           is_listing_text(instruction, "text", true) &&
           is_listing_text(instruction, "file", false) &&
           (line == NULL || (json_is_integer(line) && json_integer_value(line) > 0));
}

bool code_listing_is_code(const json_t *code)
{
    bool right = json_is_array(code) && json_array_size(code) <= LISTINGS_MAX;
    for (size_t i = 0; right && i < json_array_size(code); i++) {
        const json_t *one = json_array_get(code, i);
        const json_t *instructions = json_object_get(one, "instructions");
        size_t count = json_array_size(instructions);
        right = report_integer(one, "frame", -1) >= 0 &&
                is_listing_text(one, "function", false) &&
                is_listing_text(one, "file", false) && count != 0 &&
                count <= 2 * CODE_LISTING_AROUND + 1;
        for (size_t k = 0; right && k < count; k++)
            right = is_instruction(json_array_get(instructions, k));
    }
    return right;
}

// A named_place is the symbol that an address is in.
struct named_place {
    const char *name; // as long as the file is open; NULL: none
    uint64_t offset;
};

static json_t *named_json(const struct named_place *place)
{
    char *plain = demangle_name(place->name);
    const char *name = plain != NULL ? plain : place->name;
    json_t *named = *name != 0 && strlen(name) < NAME_BYTES_MAX
                        ? json_pack("{s:s, s:I}", "symbol", name, "offset",
                                    (json_int_t)place->offset)
                        : NULL;
    free(plain);
    return named != NULL ? named : json_null();
}

// name_by_cache names the function at vaddr of an image that has a symbol cache, which
// has names that only the debug file has. NULL: there is none.
static json_t *name_by_cache(const struct argument_space *space, size_t index,
                             uint64_t vaddr)
{
    struct symbol_frame frames[SYMBOL_FRAMES_MAX];
    struct symbol_cache cache;
    size_t count = 0;
    const char *folder = space->options->cache_folder;
    const struct build_id *id = &space->from->items[index].id;
    if (folder == NULL || id->size == 0 ||
        symbol_cache_folder_find(&cache, folder, id) != CH_OK)
        return NULL;
    json_t *named = NULL;
    if (symbol_cache_find(&cache, vaddr, frames, &count) == CH_OK && count != 0 &&
        frames[count - 1].function != NULL) {
        const struct symbol_frame *frame = &frames[count - 1];
        const struct named_place place = { symbol_frame_public_name(frame->function),
                                           vaddr - frame->start };
        named = named_json(&place);
    }
    symbol_cache_deinit(&cache);
    return named;
}

// find_in_symbols looks for the smallest function or variable that contains vaddr.
static void find_in_symbols(const struct debug_elf *file, Elf_Scn *section,
                            const GElf_Shdr *header, uint64_t vaddr,
                            struct named_place *out)
{
    Elf_Data *data = elf_getdata(section, NULL);
    uint64_t smallest = UINT64_MAX;
    size_t count =
        data != NULL && header->sh_entsize != 0 ? data->d_size / header->sh_entsize : 0;
    for (size_t i = 0; i < count && i < SYMBOLS_READ_MAX; i++) {
        GElf_Sym symbol;
        if (gelf_getsym(data, (int)i, &symbol) == NULL)
            return;
        unsigned type = GELF_ST_TYPE(symbol.st_info);
        if ((type != STT_OBJECT && type != STT_FUNC) || symbol.st_shndx == SHN_UNDEF ||
            vaddr - symbol.st_value >= symbol.st_size || symbol.st_size >= smallest)
            continue;
        smallest = symbol.st_size;
        out->name = elf_strptr(file->elf, header->sh_link, symbol.st_name);
        out->offset = vaddr - symbol.st_value;
    }
}

static void find_in_elf(const struct debug_elf *file, uint64_t vaddr,
                        struct named_place *out)
{
    for (Elf_Scn *scn = file->elf != NULL ? elf_nextscn(file->elf, NULL) : NULL;
         scn != NULL && out->name == NULL; scn = elf_nextscn(file->elf, scn)) {
        GElf_Shdr header;
        if (gelf_getshdr(scn, &header) != NULL &&
            (header.sh_type == SHT_SYMTAB || header.sh_type == SHT_DYNSYM))
            find_in_symbols(file, scn, &header, vaddr, out);
    }
}

// image_below gives the index of the last image that begins up to address, SIZE_MAX:
// none. Its symbols tell whether the address is in it.
static size_t image_below(const struct report_images *images, uint64_t address)
{
    size_t found = SIZE_MAX;
    for (size_t i = 0; i < images->count; i++)
        if (images->items[i].base <= address && images->items[i].path[0] != 0 &&
            (found == SIZE_MAX || images->items[i].base > images->items[found].base))
            found = i;
    return found;
}

// name_pointer gives the symbol that the pointer leads into; null: none is known.
static json_t *name_pointer(const json_t *pointer, struct argument_space *space)
{
    struct named_place found = { 0 };
    const char *to = report_string(pointer, "to");
    uint64_t address;
    size_t index = report_address(pointer, "address", &address)
                       ? image_below(space->from, address)
                       : SIZE_MAX;
    if (index == SIZE_MAX || to == NULL ||
        (strcmp(to, "file") != 0 && strcmp(to, "memory") != 0))
        return json_null();
    const struct argument_image *image = argument_space_open(space, index);
    const char *permissions = report_string(pointer, "permissions");
    uint64_t vaddr = address - image->bias;
    json_t *named = permissions != NULL && strchr(permissions, 'x') != NULL
                        ? name_by_cache(space, index, vaddr)
                        : NULL;
    if (named != NULL)
        return named;
    find_in_elf(&image->types.files.image, vaddr, &found);
    // To read all symbols of a C library takes longer than the rest of a report.
    if (found.name == NULL && !system_image(space->from->items[index].path))
        find_in_elf(&image->types.files.debug, vaddr, &found);
    return found.name != NULL ? named_json(&found) : json_null();
}

json_t *code_listing_symbols(const json_t *report, struct argument_space *space)
{
    const json_t *pointers =
        json_object_get(json_object_get(report, "crash"), "pointers");
    json_t *symbols = json_array();
    for (size_t i = 0; i < json_array_size(pointers) && i < UNWIND_REGISTERS; i++)
        (void)json_array_append_new(symbols,
                                    name_pointer(json_array_get(pointers, i), space));
    return symbols;
}
