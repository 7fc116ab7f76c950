// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/types/type_image.h"

#include <ctype.h>
#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "symbolizer/files/decompressed_debug.h"
#include "symbolizer/types/type_ctf.h"
#include "symbolizer/types/type_dwarf.h"
#include "symbolizer/types/type_name.h"
#include "symbolizer/types/type_table.h"

enum { WORDS_MAX = 160, POINTERS_MAX = 4 };

static enum ch_status type_image_open_dwarf(struct type_image *image)
{
    const struct debug_elf *file = debug_files_dwarf(&image->files);
    if (file == NULL)
        return CH_ERR_NOT_FOUND;
    image->dwarf = dwarf_begin_elf(file->elf, DWARF_C_READ, NULL);
    if (image->dwarf == NULL)
        return CH_ERR_NOT_FOUND;
    type_dwarf_init(&image->dwarf_types, image->dwarf, &image->table);
    image->source = TYPE_FROM_DWARF;
    return CH_OK;
}

// open_compact loads the CTF of the image, or else its BTF.
static enum ch_status open_compact(struct type_image *image)
{
    size_t size;
    const char *bytes = image->files.image.elf != NULL
                            ? elf_rawfile(image->files.image.elf, &size)
                            : NULL;
    if (bytes == NULL)
        return CH_OK;
    enum type_source source = TYPE_FROM_CTF;
    enum ch_status status = type_ctf_load(&image->ctf, &image->table, bytes, size);
    if (status == CH_ERR_NOT_FOUND) {
        const struct type_bytes file = { bytes, size };
        const struct type_bytes none = { NULL, 0 };
        source = TYPE_FROM_BTF;
        status = type_btf_load(&image->table, &file, &none);
    }
    if (status == CH_ERR_NO_MEMORY)
        return status;
    if (status == CH_OK)
        image->source = source;
    image->damaged = status != CH_OK && status != CH_ERR_NOT_FOUND;
    return CH_OK;
}

enum ch_status type_image_find_files(struct type_image *image, const char *path,
                                     const struct build_id *id,
                                     const struct debug_search *search)
{
    uint64_t text[2];
    *image = (struct type_image){ .source = TYPE_FROM_EITHER };
    enum ch_status status = type_table_init(&image->table);
    if (status != CH_OK)
        return status;
    debug_files_open(&image->files, path, id, search);
    const struct debug_elf *dwarf = debug_files_dwarf(&image->files);
    if (image->files.image.elf != NULL)
        (void)!debug_elf_layout(&image->files.image, &image->linked_base, text);
    else if (dwarf != NULL)
        (void)!debug_elf_layout(dwarf, &image->linked_base, text);
    return CH_OK;
}

enum ch_status type_image_load(struct type_image *image)
{
    return type_image_open_dwarf(image) == CH_OK ? CH_OK : open_compact(image);
}

enum ch_status type_image_open(struct type_image *image, const char *path,
                               const struct build_id *id,
                               const struct debug_search *search)
{
    enum ch_status status = type_image_find_files(image, path, id, search);
    return status == CH_OK ? type_image_load(image) : status;
}

const char *type_image_missing(const struct type_image *image)
{
    enum { UNITS_READ = 64 };
    const struct debug_elf *file = debug_files_dwarf(&image->files);
    Dwarf_CU *unit = NULL;
    Dwarf_Die split;
    uint8_t kind;
    if (image->dwarf == NULL || file == NULL)
        return NULL;
    if (debug_elf_section(file, ".gnu_debugaltlink") != NULL &&
        dwarf_getalt(image->dwarf) == NULL)
        return "the debug information that it shares with other files (dwz) is missing";
    for (int i = 0; i < UNITS_READ && dwarf_get_units(image->dwarf, unit, &unit, NULL,
                                                      &kind, NULL, &split) == 0;
         i++)
        if (kind == DW_UT_skeleton && split.addr == NULL)
            return "its split debug information (.dwo or .dwp files) is missing";
    return NULL;
}

void type_image_close(struct type_image *image)
{
    type_dwarf_deinit(&image->dwarf_types);
    type_table_deinit(&image->table);
    type_ctf_unload(&image->ctf);
    if (image->dwarf != NULL)
        dwarf_end(image->dwarf);
    debug_files_close(&image->files);
    *image = (struct type_image){ 0 };
}

const char *type_match_reason(enum type_match match)
{
    static const char *const reasons[] = {
        [TYPE_MATCHED] = "",
        [TYPE_NO_TYPES] = "no-types",
        [TYPE_DAMAGED] = "ctf-damaged",
        [TYPE_NOT_FOUND] = "no-type",
        [TYPE_OTHER_SIZE] = "other-size",
        [TYPE_AMBIGUOUS] = "ambiguous-type",
    };
    return reasons[match];
}

// words is a parsed type name: `struct session **` is struct, "session", 2.
struct words {
    enum type_kind tag; // TYPE_UNKNOWN: a name without a keyword
    char name[WORDS_MAX];
    int pointers;
};

// drop_name_word removes word from the front of *text, if it is there.
static bool drop_name_word(const char **text, const char *word)
{
    size_t length = strlen(word);
    if (strncmp(*text, word, length) != 0 || !isspace((unsigned char)(*text)[length]))
        return false;
    *text += length;
    while (isspace((unsigned char)**text))
        (*text)++;
    return true;
}

const char *type_usual_name(const char *name)
{
    static const char *const names[][2] = {
        { "unsigned", "unsigned int" },
        { "signed", "int" },
        { "signed int", "int" },
        { "signed long", "long int" },
        { "signed long int", "long int" },
        { "signed long long", "long long int" },
        { "signed long long int", "long long int" },
        { "signed short", "short int" },
        { "signed short int", "short int" },
        { "long", "long int" },
        { "unsigned long", "long unsigned int" },
        { "unsigned long int", "long unsigned int" },
        { "long long", "long long int" },
        { "unsigned long long", "long long unsigned int" },
        { "unsigned long long int", "long long unsigned int" },
        { "short", "short int" },
        { "unsigned short", "short unsigned int" },
        { "unsigned short int", "short unsigned int" },
        { "bool", "_Bool" },
    };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strcmp(name, names[i][0]) == 0)
            return names[i][1];
    return name;
}

static bool take_words(const char *text, struct words *out)
{
    *out = (struct words){ .tag = TYPE_UNKNOWN };
    while (isspace((unsigned char)*text) || drop_name_word(&text, "const") ||
           drop_name_word(&text, "volatile"))
        text += isspace((unsigned char)*text) != 0;
    if (drop_name_word(&text, "struct"))
        out->tag = TYPE_STRUCT;
    else if (drop_name_word(&text, "union"))
        out->tag = TYPE_UNION;
    else if (drop_name_word(&text, "enum"))
        out->tag = TYPE_ENUM;
    size_t length = strlen(text);
    while (length > 0 &&
           (text[length - 1] == '*' || isspace((unsigned char)text[length - 1])))
        out->pointers += text[--length] == '*';
    if (length == 0 || length >= sizeof(out->name) || out->pointers > POINTERS_MAX)
        return false;
    memcpy(out->name, text, length);
    const char *usual =
        out->tag == TYPE_UNKNOWN ? type_usual_name(out->name) : out->name;
    if (usual != out->name)
        memcpy(out->name, usual, strlen(usual) + 1); // none is longer than the buffer
    return true;
}

static bool type_image_is_named(const struct type *type, const struct words *words)
{
    bool kind = words->tag != TYPE_UNKNOWN
                    ? type->kind == words->tag
                    : type->kind == TYPE_TYPEDEF || type->kind == TYPE_INTEGER ||
                          type->kind == TYPE_FLOAT || type->kind == TYPE_STRUCT;
    return kind && strcmp(type->name, words->name) == 0;
}

static bool same_type_name(const struct type_table *table, uint32_t a, uint32_t b)
{
    CH_CLEANUP(text_deinit) struct text left = { 0 };
    CH_CLEANUP(text_deinit) struct text right = { 0 };
    return type_name(table, a, &left) == CH_OK &&
           type_name(table, b, &right) == CH_OK && strcmp(left.bytes, right.bytes) == 0;
}

// same_shape returns true if two types look the same: each unit of a program has its
// own copy of a type.
static bool same_shape(const struct type_table *table, uint32_t a, uint32_t b)
{
    a = type_strip(table, a);
    b = type_strip(table, b);
    const struct type *left = &table->types[a];
    const struct type *right = &table->types[b];
    if (left->kind != right->kind || left->size != right->size ||
        left->part_count != right->part_count || !same_type_name(table, a, b))
        return false;
    for (uint32_t i = 0; i < left->part_count; i++) {
        const struct type_part *mine = &table->parts[left->first_part + i];
        const struct type_part *other = &table->parts[right->first_part + i];
        if (strcmp(mine->name, other->name) != 0 || mine->value != other->value ||
            mine->base != other->base || mine->offset_bits != other->offset_bits ||
            !same_type_name(table, mine->type, other->type))
            return false;
    }
    return true;
}

// note_candidate adds a type to the candidates unless one that looks the same is there.
static void note_candidate(const struct type_table *table, struct type_search *search,
                           uint32_t index)
{
    for (uint32_t i = 0; i < search->candidate_count; i++)
        if (same_shape(table, search->candidates[i], index))
            return;
    if (search->candidate_count < TYPE_CANDIDATES_MAX)
        search->candidates[search->candidate_count++] = index;
}

static void list_candidates(const struct type_table *table, const struct words *words,
                            struct type_search *search)
{
    uint64_t size;
    for (uint32_t i = TYPE_UNKNOWN_INDEX + 1; i < table->count; i++)
        if (type_image_is_named(&table->types[i], words) &&
            type_size(table, i, &size) == CH_OK)
            note_candidate(table, search, i);
}

// choose_type selects the only candidate with the size.
static enum type_match choose_type(const struct type_table *table,
                                   struct type_search *search, uint64_t size)
{
    uint32_t fitting = 0;
    for (uint32_t i = 0; i < search->candidate_count; i++) {
        uint64_t candidate = 0;
        if (type_size(table, search->candidates[i], &candidate) != CH_OK ||
            candidate != size)
            continue;
        search->found = search->candidates[i];
        fitting++;
    }
    if (search->candidate_count == 0)
        return TYPE_NOT_FOUND;
    if (fitting == 0)
        return TYPE_OTHER_SIZE;
    return fitting == 1 ? TYPE_MATCHED : TYPE_AMBIGUOUS;
}

// point_to wraps the found type in as many pointers as the words have.
static enum type_match point_to(struct type_table *table, struct type_search *search,
                                int pointers)
{
    for (int i = 0; i < pointers; i++) {
        const struct type pointer = { .kind = TYPE_POINTER,
                                      .name = "",
                                      .size = sizeof(uint64_t),
                                      .target = search->found };
        if (type_table_add(table, &pointer, &search->found) != CH_OK)
            return TYPE_NOT_FOUND;
    }
    return TYPE_MATCHED;
}

// choose_pointee selects the type that pointers point to, whose size is not known.
static enum type_match choose_pointee(struct type_table *table,
                                      struct type_search *search, int pointers)
{
    if (search->candidate_count == 0)
        return TYPE_NOT_FOUND;
    if (search->candidate_count > 1)
        return TYPE_AMBIGUOUS;
    if (search->size != sizeof(uint64_t))
        return TYPE_OTHER_SIZE;
    search->found = search->candidates[0];
    return point_to(table, search, pointers);
}

static enum type_match match_type(struct type_image *image, const struct words *words,
                                  struct type_search *search)
{
    // DWARF has no entry for void.
    static const struct type nothing = { .kind = TYPE_INTEGER,
                                         .name = "void",
                                         .encoding = TYPE_SIGNED };
    search->candidate_count = 0;
    list_candidates(&image->table, words, search);
    if (search->candidate_count == 0 && words->tag == TYPE_UNKNOWN &&
        words->pointers != 0 && strcmp(words->name, "void") == 0 &&
        type_table_add(&image->table, &nothing, &search->candidates[0]) == CH_OK)
        search->candidate_count = 1;
    return words->pointers == 0
               ? choose_type(&image->table, search, search->size)
               : choose_pointee(&image->table, search, words->pointers);
}

// find_in_unit searches the unit of the code that gave the name, as its own meaning of
// the name counts.
static enum type_match find_in_unit(struct type_image *image, const struct words *words,
                                    struct type_search *search)
{
    Dwarf_Die unit;
    if (search->vaddr == 0 ||
        dwarf_addrdie(image->dwarf, search->vaddr, &unit) == NULL ||
        type_dwarf_add_unit(&image->dwarf_types, &unit, words->name) != CH_OK)
        return TYPE_NOT_FOUND;
    return match_type(image, words, search);
}

enum type_match type_image_find(struct type_image *image, struct type_search *search)
{
    struct words words;
    if (image->source == TYPE_FROM_EITHER)
        return image->damaged ? TYPE_DAMAGED : TYPE_NO_TYPES;
    if (!take_words(search->name, &words))
        return TYPE_NOT_FOUND;
    if (image->source != TYPE_FROM_DWARF)
        return match_type(image, &words, search);
    if (find_in_unit(image, &words, search) == TYPE_MATCHED)
        return TYPE_MATCHED;
    if (type_dwarf_add_all(&image->dwarf_types, words.name) != CH_OK)
        return TYPE_NOT_FOUND;
    return match_type(image, &words, search);
}

struct type_file {
    struct type_table table;
    enum type_source source;
    struct type_ctf ctf;
    Elf *elf;
    struct debug_elf plain; // if libelf may be unable to decompress elf
    Dwarf *dwarf;
};

static enum ch_status read_dwarf(struct type_file *file, const void *bytes, size_t size,
                                 const char *name)
{
    (void)elf_version(EV_CURRENT);
    file->source = TYPE_FROM_DWARF;
    file->elf = elf_memory((char *)(uintptr_t)bytes, size); // it is only read
    if (file->elf == NULL || elf_kind(file->elf) != ELF_K_ELF)
        return CH_ERR_MALFORMED;
    const Elf64_Ehdr *header = elf64_getehdr(file->elf);
    if (header == NULL || header->e_type == ET_REL)
        return CH_ERR_UNSUPPORTED; // an object's DWARF is not relocated yet
    const struct debug_elf whole = { .fd = -1, .elf = file->elf };
    bool replaced = decompressed_debug_load_foreign(&file->plain, &whole) == CH_OK;
    Elf *elf = replaced ? file->plain.elf : file->elf;
    file->dwarf = dwarf_begin_elf(elf, DWARF_C_READ, NULL);
    if (file->dwarf == NULL)
        return CH_ERR_NOT_FOUND;
    struct type_dwarf types;
    type_dwarf_init(&types, file->dwarf, &file->table);
    enum ch_status status = type_dwarf_add_all(&types, name);
    type_dwarf_deinit(&types);
    return status;
}

static enum ch_status read_types(struct type_file *file, const struct type_bytes *bytes,
                                 const struct type_bytes *base, enum type_source wanted,
                                 const char *name)
{
    enum ch_status status = type_table_init(&file->table);
    if (status != CH_OK)
        return status;
    if (wanted == TYPE_FROM_EITHER || wanted == TYPE_FROM_BTF) {
        // Bytes that are no ELF file may be a section of CTF.
        file->source = TYPE_FROM_BTF;
        status = type_btf_load(&file->table, bytes, base);
        if (status != CH_ERR_NOT_FOUND || wanted == TYPE_FROM_BTF)
            return status;
    }
    if (wanted == TYPE_FROM_DWARF)
        return read_dwarf(file, bytes->bytes, bytes->size, name);
    file->source = TYPE_FROM_CTF;
    status = type_ctf_load(&file->ctf, &file->table, bytes->bytes, bytes->size);
    if (status != CH_ERR_NOT_FOUND || wanted == TYPE_FROM_CTF)
        return status;
    return read_dwarf(file, bytes->bytes, bytes->size, name);
}

enum ch_status type_file_open(struct type_file **out, const struct type_bytes *bytes,
                              const struct type_bytes *base, enum type_source wanted,
                              const char *name)
{
    struct type_file *file = calloc(1, sizeof(*file));
    if (file == NULL)
        return CH_ERR_NO_MEMORY;
    enum ch_status status = read_types(file, bytes, base, wanted, name);
    if (status == CH_OK)
        *out = file;
    else
        type_file_close(file);
    return status;
}

const char *type_source_name(enum type_source source)
{
    static const char *const names[] = {
        [TYPE_FROM_CTF] = "ctf", [TYPE_FROM_BTF] = "btf", [TYPE_FROM_DWARF] = "dwarf"
    };
    return source != TYPE_FROM_EITHER ? names[source] : "";
}

void type_file_close(struct type_file *file)
{
    if (file == NULL)
        return;
    type_table_deinit(&file->table);
    type_ctf_unload(&file->ctf);
    if (file->dwarf != NULL)
        dwarf_end(file->dwarf);
    debug_elf_close(&file->plain);
    if (file->elf != NULL)
        elf_end(file->elf);
    free(file);
}

const struct type_table *type_file_table(const struct type_file *file)
{
    return &file->table;
}

enum type_source type_file_source(const struct type_file *file)
{
    return file->source;
}
