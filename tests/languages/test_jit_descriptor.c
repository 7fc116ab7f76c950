// SPDX-License-Identifier: Apache-2.0
#include "languages/jit_descriptor.h"

#include <elf.h>

#include "support/bytes.h"
#include "support/cfi_builder.h"
#include "support/test.h"
#include "unwind/rule_cache.h"

enum { CODE = 0x7000, FRAME_AT = 0x8000, CFA = 0x58 };
enum { NONE, TEXT, FRAME, RELOCATIONS, SYMBOLS, NAMES, SECTIONS };

// A jit_bytes is an ELF file as LLVM leaves it in memory: one function, whose start in
// .eh_frame a relocation fills in.
struct jit_bytes {
    Elf64_Ehdr header;
    Elf64_Shdr sections[SECTIONS];
    Elf64_Sym symbols[2];
    Elf64_Rela relocations[1];
    struct cfi_builder frame;
    char names[64];
};

static void set_section(struct jit_bytes *file, unsigned number, uint32_t name,
                        const void *bytes, size_t size)
{
    file->sections[number].sh_name = name;
    file->sections[number].sh_offset =
        (uint64_t)((const char *)bytes - (const char *)file);
    file->sections[number].sh_size = size;
}

static void build_jit_file(struct jit_bytes *file)
{
    static const char names[] = "\0.text\0.eh_frame\0.rela\0.symtab\0.names\0f";
    static const uint8_t encoding[] = { 0x1c };      // pcrel, 8 bytes
    static const uint8_t rules[] = { 0, 0x0e, CFA }; // the CFA is rsp + CFA
    *file = (struct jit_bytes){ 0 };
    memcpy(file->header.e_ident, ELFMAG "\2\1\1", 7);
    file->header.e_type = ET_REL;
    file->header.e_machine = EM_X86_64;
    file->header.e_version = 1;
    file->header.e_shoff = sizeof(file->header);
    file->header.e_shentsize = sizeof(file->sections[0]);
    file->header.e_shnum = SECTIONS;
    file->header.e_shstrndx = NAMES;
    cfi_cie(&file->frame, "zR", encoding, sizeof(encoding));
    size_t at = file->frame.size + 8;
    cfi_fde(&file->frame, 0, 0, 0x20, rules, sizeof(rules));
    set_section(file, TEXT, 1, file, 0x20);
    file->sections[TEXT].sh_type = SHT_NOBITS;
    file->sections[TEXT].sh_addr = CODE;
    set_section(file, FRAME, 7, file->frame.bytes, file->frame.size);
    file->sections[FRAME].sh_addr = FRAME_AT;
    set_section(file, RELOCATIONS, 17, file->relocations, sizeof(file->relocations));
    file->sections[RELOCATIONS].sh_type = SHT_RELA;
    file->sections[RELOCATIONS].sh_link = SYMBOLS;
    file->sections[RELOCATIONS].sh_info = FRAME;
    set_section(file, SYMBOLS, 23, file->symbols, sizeof(file->symbols));
    file->sections[SYMBOLS].sh_link = NAMES;
    file->sections[SYMBOLS].sh_entsize = sizeof(file->symbols[0]);
    set_section(file, NAMES, 31, file->names, sizeof(file->names));
    memcpy(file->names, names, sizeof(names));
    file->symbols[1] = (Elf64_Sym){
        .st_name = 38, .st_info = STT_FUNC, .st_shndx = TEXT, .st_size = 0x20
    };
    file->relocations[0] =
        (Elf64_Rela){ .r_offset = at, .r_info = ELF64_R_INFO(1, R_X86_64_PC64) };
}

// A held_file is a file that compiled code is described by.
struct held_file {
    void *bytes;
    size_t size;
    struct unwind_section sections[JIT_FILE_SECTIONS];
};

// held_sections is an unwind_sections_fn.
static size_t held_sections(void *context, const struct unwind_section **out)
{
    struct held_file *file = context;
    *out = file->sections;
    return jit_file_sections(file->bytes, file->size, file->sections);
}

// cfa_at is how far the CFA is from the stack pointer at pc; 0: there is no rule.
static int64_t cfa_at(void *bytes, size_t size, uint64_t pc)
{
    static const struct memory_reader nothing;
    struct held_file file = { .bytes = bytes, .size = size };
    struct compiled_cfi cfi;
    struct unwind_row row;
    compiled_cfi_init(&cfi, &unwind_arch_amd64, &nothing);
    compiled_cfi_set_sections(&cfi, held_sections, &file);
    int64_t cfa = compiled_cfi_find(&cfi, pc, &row) == CH_OK ? row.cfa.offset : 0;
    compiled_cfi_deinit(&cfi);
    return cfa;
}

static void a_relocated_section_has_rules_for_its_code_alone(void **state)
{
    (void)state;
    struct jit_bytes file;
    build_jit_file(&file);
    int64_t before = cfa_at(&file, sizeof(file), CODE - 1);
    build_jit_file(&file); // relocations are done in the bytes
    int64_t inside = cfa_at(&file, sizeof(file), CODE + 0x1f);
    build_jit_file(&file);
    int64_t after = cfa_at(&file, sizeof(file), CODE + 0x20);
    assert_int_equal(before, 0);
    assert_int_equal(inside, CFA);
    assert_int_equal(after, 0);
}

static void the_same_file_names_the_code(void **state)
{
    (void)state;
    struct jit_bytes file;
    struct jitted jitted = { 0 };
    build_jit_file(&file);
    jitted_want(&jitted, CODE + 8);
    jitted_sort(&jitted);
    jit_file_name(&file, sizeof(file), &jitted);
    const struct jitted_code *code = jitted_find(&jitted, CODE + 8);
    int same = code != NULL && strcmp(code->name.bytes, "f") == 0;
    jitted_deinit(&jitted);
    assert_true(same);
}

static void a_relocation_outside_of_its_section_does_nothing(void **state)
{
    (void)state;
    static const uint64_t offsets[] = { UINT64_MAX, UINT64_MAX - 7, 0x10000 };
    struct jit_bytes file;
    struct jit_bytes before;
    for (size_t i = 0; i < sizeof(offsets) / sizeof(offsets[0]); i++) {
        build_jit_file(&file);
        file.relocations[0].r_offset = offsets[i];
        before = file;
        (void)cfa_at(&file, sizeof(file), CODE);
        assert_memory_equal(&file, &before, sizeof(file));
    }
    build_jit_file(&file);
    file.relocations[0].r_offset = file.frame.size - 7; // one byte too far
    before = file;
    (void)cfa_at(&file, sizeof(file), CODE);
    assert_memory_equal(&file, &before, sizeof(file));
}

// read_damaged is a bytes_visit_fn.
static int read_damaged(const uint8_t *bytes, size_t size, void *context)
{
    struct jitted jitted = { 0 };
    uint8_t *copy = malloc(size != 0 ? size : 1);
    (void)context;
    if (copy == NULL)
        return 1;
    if (size != 0)
        memcpy(copy, bytes, size);
    jitted_want(&jitted, CODE);
    jit_file_name(copy, size, &jitted);
    (void)cfa_at(copy, size, CODE);
    free(copy);
    jitted_deinit(&jitted);
    return 0;
}

static void damaged_files_are_survived(void **state)
{
    (void)state;
    struct jit_bytes file;
    build_jit_file(&file);
    // The builder's unused room is left out.
    size_t unused = sizeof(file.frame) - file.frame.size;
    size_t head = offsetof(struct jit_bytes, frame) + file.frame.size;
    uint8_t *bytes = (uint8_t *)&file;
    memmove(bytes + head, bytes + head + unused, sizeof(file) - head - unused);
    file.sections[NAMES].sh_offset -= unused;
    size_t size = sizeof(file) - unused;
    int cut = bytes_cut_everywhere(bytes, size, read_damaged, NULL);
    int flipped = bytes_flip_every_bit(bytes, size, read_damaged, NULL);
    assert_int_equal(cut, 0);
    assert_int_equal(flipped, 0);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_relocated_section_has_rules_for_its_code_alone),
        cmocka_unit_test(the_same_file_names_the_code),
        cmocka_unit_test(a_relocation_outside_of_its_section_does_nothing),
        cmocka_unit_test(damaged_files_are_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
