// SPDX-License-Identifier: Apache-2.0
//
// Every function and row of the recorded files, against an independent decoder's:
// cases/formats/sframe.
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"
#include "formats/debug/sframe_file.h"
#include "support/bytes.h"
#include "support/test.h"

// read_file is a file's bytes, which the caller frees; NULL where it cannot be read.
static uint8_t *read_file(const char *path, size_t *out_size)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        return NULL;
    uint8_t *bytes = malloc(1 << 20);
    *out_size = bytes != NULL ? fread(bytes, 1, 1 << 20, file) : 0;
    fclose(file);
    return bytes;
}

static void append_rule(struct text *out, const struct sframe_section *section,
                        bool flex, struct unwind_rule rule)
{
    uint16_t sp;
    uint16_t fp;
    char reg[8];
    sframe_base_registers(section->arch, &sp, &fp);
    snprintf(reg, sizeof(reg), "r%u", rule.reg);
    const char *base = flex || (rule.reg != sp && rule.reg != fp) ? reg
                       : rule.reg == sp                           ? "sp"
                                                                  : "fp";
    if (rule.kind == UNWIND_UNDEFINED)
        text_append_string(out, "\tundef");
    else if (rule.kind == UNWIND_SAME)
        text_append_string(out, "\t-");
    else if (rule.kind == UNWIND_AT_CFA)
        text_appendf(out, "\t[cfa%+" PRId64 "]", rule.offset);
    else if (rule.kind == UNWIND_REGISTER_PLUS)
        text_appendf(out, "\t%s%+" PRId64, base, rule.offset);
    else if (rule.kind == UNWIND_AT_REGISTER)
        text_appendf(out, "\t[%s%+" PRId64 "]", base, rule.offset);
    else
        text_appendf(out, "\tcfa%+" PRId64, rule.offset);
}

// append_function reads a function's rows and, unless out is NULL, lists them in the
// notation of the .tsv files.
static enum ch_status append_function(struct text *out,
                                      const struct sframe_section *section,
                                      const struct sframe_function *f, uint64_t start)
{
    struct sframe_rows rows;
    struct unwind_row row;
    enum ch_status status;
    sframe_rows_init(&rows, section, f);
    while ((status = sframe_next_row(&rows, &row)) == CH_OK) {
        if (out == NULL)
            continue;
        text_appendf(out, "0x%" PRIx64 "\t%" PRIu32 "\t%s\t%u\t%s%s%s%s", start,
                     f->size, f->mask ? "mask" : "inc", f->rep_size, f->flex ? "F" : "",
                     f->signal ? "S" : "", f->key_b ? "B" : "",
                     f->flex || f->signal || f->key_b ? "" : ".");
        text_appendf(out, "\t%" PRIu64 "\t%" PRIu64, row.start, row.end);
        append_rule(out, section, f->flex, row.cfa);
        append_rule(out, section, f->flex, row.ra);
        append_rule(out, section, f->flex, row.fp);
        text_appendf(out, "\t%d\n", (row.flags & UNWIND_RA_MANGLED) != 0);
    }
    return status == CH_END ? CH_OK : status;
}

// list_file lists the rows of a whole file, as far as they can be read.
static enum ch_status list_file(const uint8_t *bytes, size_t size, struct text *out)
{
    struct sframe_file file;
    struct sframe_section section;
    size_t offset = 0;
    enum ch_status status = sframe_file_init(&file, bytes, size);
    if (status != CH_OK)
        return status;
    while ((status = sframe_file_next(&file, &offset, &section)) == CH_OK) {
        for (uint32_t i = 0; i < section.function_count; i++) {
            struct sframe_function f;
            struct sframe_start start;
            status = sframe_read_function(&section, i, &f);
            if (status != CH_OK)
                return status;
            sframe_file_start(&file, &section, i, &f, &start);
            status = append_function(out, &section, &f, start.vaddr);
            if (status != CH_OK)
                return status;
        }
    }
    return status == CH_END ? CH_OK : status;
}

// without_comments drops the lines that begin with #.
static void without_comments(char *text)
{
    char *to = text;
    while (*text != 0) {
        size_t length = strcspn(text, "\n");
        length += text[length] == '\n';
        if (*text != '#') {
            memmove(to, text, length);
            to += length;
        }
        text += length;
    }
    *to = 0;
}

static int compare_case(const char *path)
{
    char tsv[4096];
    size_t size = 0;
    size_t expected_size = 0;
    struct text got = { 0 };
    snprintf(tsv, sizeof(tsv), "%s.rows.tsv", path);
    uint8_t *bytes = read_file(path, &size);
    char *expected = (char *)read_file(tsv, &expected_size);
    int failed = 0;
    if (bytes == NULL || list_file(bytes, size, &got) != CH_OK)
        failed = 1;
    if (expected != NULL) {
        expected[expected_size] = 0;
        without_comments(expected);
        failed = failed || strcmp(expected, got.bytes) != 0;
    }
    free(bytes);
    free(expected);
    text_deinit(&got);
    return failed;
}

// is_symbol returns true if a symbol has this value and size.
static bool is_symbol(const struct elf_view *elf, uint64_t value, uint64_t size)
{
    struct elf_section section;
    struct elf_symbol symbol;
    if (elf_view_find_section(elf, ".symtab", &section, NULL) != CH_OK)
        return false;
    struct cursor symbols = elf_section_cursor(elf, &section);
    while (elf_next_symbol(elf, &symbols, &symbol) == CH_OK) {
        if (symbol.value == value && symbol.size == size)
            return true;
    }
    return false;
}

// count_symbols counts the functions of the file at path, and those that are symbols.
static void count_symbols(const char *path, size_t *functions, size_t *symbols)
{
    struct sframe_file file;
    struct sframe_section section;
    struct sframe_function f;
    struct sframe_start start;
    size_t size = 0;
    size_t offset = 0;
    uint8_t *bytes = read_file(path, &size);
    *functions = 0;
    *symbols = 0;
    enum ch_status status =
        bytes != NULL ? sframe_file_init(&file, bytes, size) : CH_ERR_IO;
    while (status == CH_OK &&
           (status = sframe_file_next(&file, &offset, &section)) == CH_OK) {
        for (uint32_t i = 0; sframe_read_function(&section, i, &f) == CH_OK; i++) {
            sframe_file_start(&file, &section, i, &f, &start);
            *functions += 1;
            *symbols += start.known && is_symbol(&file.elf, start.vaddr, f.size);
        }
    }
    free(bytes);
}

static int list_damaged(const uint8_t *bytes, size_t size, void *context)
{
    (void)context;
    (void)!list_file(bytes, size, NULL);
    return 0;
}

// damage_case damages the bare section, which is what the parser reads; small files,
// also as a whole.
static int damage_case(const char *path)
{
    size_t size = 0;
    struct sframe_file file;
    uint8_t *bytes = read_file(path, &size);
    int failures = bytes == NULL || sframe_file_init(&file, bytes, size) != CH_OK;
    if (failures == 0) {
        size_t section_size = cursor_left(&file.bytes);
        failures +=
            bytes_cut_everywhere(file.bytes.begin, section_size, list_damaged, NULL);
        failures +=
            bytes_flip_every_bit(file.bytes.begin, section_size, list_damaged, NULL);
    }
    if (failures == 0 && size < 4096) {
        failures += bytes_cut_everywhere(bytes, size, list_damaged, NULL);
        failures += bytes_flip_every_bit(bytes, size, list_damaged, NULL);
    }
    free(bytes);
    return failures;
}

// for_each_case visits the ELF files of all case folders: how many failed, -1 without.
static int for_each_case(int (*visit)(const char *path))
{
    struct dirent **folders = NULL;
    int failures = -1;
    int count = scandir(CASES "/sframe", &folders, NULL, alphasort);
    for (int i = 0; i < count; i++) {
        static const char *const names[] = {
            "libpub.so",  "pub_asm.o",    "pub_core.o",   "live_pub",
            "gold-v1.so", "ibtplt-v1.so", "ibtplt-v2.so", "ibtplt-v3.so",
            "ld-r-v1.o",  "lld-v1.so",    "pltonly-v3.so"
        };
        for (size_t k = 0; k < sizeof(names) / sizeof(names[0]); k++) {
            char path[4096];
            snprintf(path, sizeof(path), "%s/sframe/%s/%s", CASES, folders[i]->d_name,
                     names[k]);
            FILE *file = fopen(path, "rb");
            if (file == NULL)
                continue;
            fclose(file);
            int failed = visit(path) != 0;
            if (failed)
                print_message("%s\n", path);
            failures += failed + (failures < 0);
        }
        free(folders[i]);
    }
    free(folders);
    return failures;
}

static void every_function_and_row_is_read_as_binutils_reads_it(void **state)
{
    (void)state;
    assert_int_equal(for_each_case(compare_case), 0);
}

static void functions_start_at_their_symbols_whatever_linked_them(void **state)
{
    (void)state;
    static const char *const names[] = { "gold-v1.so", "lld-v1.so", "ld-r-v1.o" };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        char path[4096];
        size_t functions;
        size_t symbols;
        snprintf(path, sizeof(path), "%s/sframe/odd/%s", CASES, names[i]);
        count_symbols(path, &functions, &symbols);
        assert_int_equal(functions, 14);
        assert_int_equal(symbols, 14);
    }
}

static void damaged_sections_are_survived(void **state)
{
    (void)state;
    assert_int_equal(for_each_case(damage_case), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_function_and_row_is_read_as_binutils_reads_it),
        cmocka_unit_test(functions_start_at_their_symbols_whatever_linked_them),
        cmocka_unit_test(damaged_sections_are_survived),
    };
    return cmocka_run_group_tests_name("formats/sframe_cases", tests, NULL, NULL);
}
