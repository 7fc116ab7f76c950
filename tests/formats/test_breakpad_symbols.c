// SPDX-License-Identifier: Apache-2.0
#include "formats/interchange/breakpad_symbols.h"

#include "formats/debug/cfi.h"
#include "formats/debug/elf.h"
#include "support/bytes.h"
#include "support/test.h"

static const uint8_t build_id[20] = { 0xab, 0xcd };

static const char amd64[] =
    "MODULE Linux x86_64 1122334455667788990011223344556670 shop\r\n"
    "INFO CODE_ID ABCD\n"
    "FILE 0 shop.c\n"
    "FUNC m 1000 20 0 price_of(int, char const*)\n"
    "1000 20 7 0\n"
    "PUBLIC 1100 0 total\n"
    "STACK CFI INIT 1000 20 .cfa: $rsp 8 + .ra: .cfa -8 + ^\n"
    "STACK CFI 1004 .cfa: $rsp 16 + $rbp: .cfa -16 + ^ $rbx: $rcx $r12: $r12\n"
    "STACK CFI 1008 .cfa: $rbp 8 - ^ $rbx: .cfa 4 * $r13: $rax ^\n"
    "STACK CFI 100c .cfa: $xmm0 8 +\n"
    "STACK WIN 4 1 2 3\n";

static const char aarch64[] = "MODULE Linux arm64 0 shop\n"
                              "STACK CFI INIT 40 10 .cfa: sp 0 + .ra: x30\n"
                              "STACK CFI 44 .cfa: sp 32 + .ra: .cfa -24 + ^ x29: .cfa "
                              "-32 + ^\n";

// find_row gives the rules at pc of the file that text becomes; false: there are none.
static bool find_row(const char *text, uint16_t machine, uint64_t pc, struct text *file,
                     struct unwind_row *row)
{
    const struct cfi_section section = { .kind = CFI_DEBUG_FRAME };
    const struct cfi_processor amd = { .register_count = 17, .fp = UNWIND_AMD64_FP };
    const struct cfi_processor arm = { .register_count = 32, .fp = UNWIND_AARCH64_FP };
    struct elf_view view;
    struct elf_section frames;
    struct cfi_entry entry;
    struct cfi_cie cie;
    struct cfi_fde fde;
    uint64_t at = 0;
    text_clear(file);
    if (breakpad_symbols_to_elf(cursor_over(text, strlen(text)), machine, build_id,
                                sizeof(build_id), file) != CH_OK ||
        elf_view_init(&view, file->bytes, file->size) != CH_OK ||
        elf_view_find_section(&view, ".debug_frame", &frames, NULL) != CH_OK)
        return false;
    struct cursor bytes = elf_section_cursor(&view, &frames);
    while (cfi_next_entry(&section, &bytes, at, &entry) == CH_OK) {
        at = cursor_offset(&bytes);
        if (entry.is_cie && cfi_read_cie(&section, &entry, &cie) != CH_OK)
            return false;
        if (!entry.is_cie && cfi_read_fde(&section, &entry, &cie, &fde) == CH_OK &&
            pc >= fde.start && pc < fde.end)
            return cfi_find_row(&section, machine == ELF_AARCH64 ? &arm : &amd, &cie,
                                &fde, pc, row) == CH_OK;
    }
    return false;
}

static void rules_become_those_of_dwarf(void **state)
{
    (void)state;
    struct text file = { 0 };
    struct unwind_row first;
    struct unwind_row second;
    struct unwind_row arm;
    bool found = find_row(amd64, ELF_X86_64, 0x1003, &file, &first) &&
                 find_row(amd64, ELF_X86_64, 0x1004, &file, &second) &&
                 find_row(aarch64, ELF_AARCH64, 0x4f, &file, &arm);
    text_deinit(&file);
    assert_true(found);
    assert_int_equal(first.cfa.kind, UNWIND_REGISTER_PLUS);
    assert_int_equal(first.cfa.reg, UNWIND_AMD64_SP);
    assert_int_equal(first.cfa.offset, 8);
    assert_int_equal(first.ra.kind, UNWIND_AT_CFA);
    assert_int_equal(first.ra.offset, -8);
    assert_int_equal(second.cfa.offset, 16);
    assert_int_equal(second.fp.offset, -16);
    assert_int_equal(second.other_count, 1);
    assert_int_equal(second.others[0].rule.kind, UNWIND_REGISTER_PLUS);
    assert_int_equal(second.others[0].rule.reg, 2); // rcx
    assert_int_equal(arm.cfa.offset, 32);
    assert_int_equal(arm.ra.offset, -24);
    assert_int_equal(arm.fp.offset, -32);
}

static void other_rules_become_expressions_or_undefined(void **state)
{
    (void)state;
    struct text file = { 0 };
    struct unwind_row row;
    static const uint8_t cfa[] = { 0x76, 0, 0x11, 8, 0x1c, 0x06 };
    bool found = find_row(amd64, ELF_X86_64, 0x1008, &file, &row);
    bool equal = found && row.cfa.kind == UNWIND_EXPRESSION &&
                 row.cfa.expression_size == sizeof(cfa) &&
                 memcmp(row.cfa.expression, cfa, sizeof(cfa)) == 0;
    unsigned kinds = 0;
    for (uint32_t i = 0; found && i < row.other_count; i++)
        if (row.others[i].reg == 3) // rbx
            kinds = row.others[i].rule.kind;
    // Its CFA is of a register without a number, so no other holds.
    found = found && find_row(amd64, ELF_X86_64, 0x100c, &file, &row);
    text_deinit(&file);
    assert_true(found);
    assert_true(equal);
    assert_int_equal(kinds, UNWIND_EXPRESSION);
    assert_int_equal(row.cfa.kind, UNWIND_EXPRESSION);
    assert_int_equal(row.cfa.expression_size, 0);
}

static void functions_become_symbols(void **state)
{
    (void)state;
    struct text file = { 0 };
    struct elf_view view;
    struct elf_section symbols;
    struct elf_section names;
    struct elf_symbol symbol;
    struct text all = { 0 };
    const uint8_t *id = NULL;
    size_t id_size = 0;
    enum ch_status status =
        breakpad_symbols_to_elf(cursor_over(amd64, sizeof(amd64) - 1), ELF_X86_64,
                                build_id, sizeof(build_id), &file);
    if (status == CH_OK)
        status = elf_view_init(&view, file.bytes, file.size);
    if (status == CH_OK)
        status = elf_view_find_section(&view, ".symtab", &symbols, NULL);
    if (status == CH_OK)
        status = elf_view_find_section(&view, ".strtab", &names, NULL);
    if (status == CH_OK)
        status = elf_view_build_id(&view, &id, &id_size);
    struct cursor c = elf_section_cursor(&view, &symbols);
    while (status == CH_OK && elf_next_symbol(&view, &c, &symbol) == CH_OK)
        text_appendf(&all, "%llx+%llx %s;", (unsigned long long)symbol.value,
                     (unsigned long long)symbol.size,
                     file.bytes + names.offset + symbol.name);
    bool equal = all.size != 0 && strcmp(all.bytes, "0+0 ;1000+20 price_of(int, char "
                                                    "const*);1100+0 total;") == 0;
    bool same_id = id_size == sizeof(build_id) && memcmp(id, build_id, id_size) == 0;
    text_deinit(&all);
    text_deinit(&file);
    assert_int_equal(status, CH_OK);
    assert_true(equal);
    assert_true(same_id);
}

static void a_file_is_known_by_its_first_line(void **state)
{
    (void)state;
    const struct cursor text = cursor_over(amd64, sizeof(amd64) - 1);
    assert_true(breakpad_symbols_are_of(text, "1122334455667788990011223344556670"));
    assert_false(breakpad_symbols_are_of(text, "1122334455667788990011223344556671"));
    assert_false(breakpad_symbols_are_of(cursor_over("MODULE", 6), "1"));
    assert_false(breakpad_symbols_are_of(cursor_over("", 0), "1"));
}

static void the_build_is_that_of_the_code_id(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint16_t machine; // 0: refused
        size_t size;
    } cases[] = {
        { "MODULE Linux x86_64 A0 a\nINFO CODE_ID A1b2 a\n", ELF_X86_64, 2 },
        { "MODULE Linux arm64 A0 a\nINFO CODE_ID A1B2C3\n", ELF_AARCH64, 3 },
        { "MODULE Linux x86 A0 a\nINFO CODE_ID A1B2\n", 0, 0 },
        { "MODULE windows x86_64 A0 a\nINFO CODE_ID A1B2\n", 0, 0 },
        { "MODULE Linux x86_64 A0 a\nINFO CODE_ID A1B\n", 0, 0 },
        { "MODULE Linux x86_64 A0 a\nINFO CODE_ID \n", 0, 0 },
        { "MODULE Linux x86_64 A0 a\nPUBLIC 0 0 INFO CODE_ID A1B2\n", 0, 0 },
        { "", 0, 0 },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        uint8_t id[BREAKPAD_BUILD_ID_MAX];
        uint16_t machine = 0;
        size_t size = 0;
        const struct cursor text = cursor_over(cases[i].text, strlen(cases[i].text));
        bool found = breakpad_symbols_build(text, &machine, id, &size);
        assert_int_equal(found, cases[i].machine != 0);
        if (!found)
            continue;
        assert_int_equal(machine, cases[i].machine);
        assert_int_equal(size, cases[i].size);
        assert_memory_equal(id, "\xa1\xb2\xc3", size);
    }
}

static int survive(const uint8_t *bytes, size_t size, void *context)
{
    struct text file = { 0 };
    const uint16_t *machine = context;
    enum ch_status status = breakpad_symbols_to_elf(cursor_over(bytes, size), *machine,
                                                    build_id, sizeof(build_id), &file);
    text_deinit(&file);
    return status != CH_OK && status != CH_ERR_MALFORMED;
}

static void damage_is_survived_everywhere(void **state)
{
    (void)state;
    uint16_t machine = ELF_X86_64;
    const uint8_t *bytes = (const uint8_t *)amd64;
    assert_int_equal(bytes_cut_everywhere(bytes, sizeof(amd64) - 1, survive, &machine),
                     0);
    assert_int_equal(bytes_flip_every_bit(bytes, sizeof(amd64) - 1, survive, &machine),
                     0);
    machine = ELF_AARCH64;
    bytes = (const uint8_t *)aarch64;
    assert_int_equal(
        bytes_flip_every_bit(bytes, sizeof(aarch64) - 1, survive, &machine), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rules_become_those_of_dwarf),
        cmocka_unit_test(other_rules_become_expressions_or_undefined),
        cmocka_unit_test(functions_become_symbols),
        cmocka_unit_test(a_file_is_known_by_its_first_line),
        cmocka_unit_test(the_build_is_that_of_the_code_id),
        cmocka_unit_test(damage_is_survived_everywhere),
    };
    return cmocka_run_group_tests_name("formats/breakpad_symbols", tests, NULL, NULL);
}
