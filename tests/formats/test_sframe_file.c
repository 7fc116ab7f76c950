// SPDX-License-Identifier: Apache-2.0
#include "formats/debug/sframe_file.h"

#include "support/elf_builder.h"
#include "support/sframe_builder.h"
#include "support/test.h"

static void build_section(struct sframe_builder *s)
{
    *s = (struct sframe_builder){
        .version = 3,
        .flags = SFRAME_SORTED | SFRAME_START_PCREL,
        .arch = SFRAME_AMD64,
        .fixed_ra = -8,
        .functions = { { 0x100, 0x20, 0, 0, 0, 1, "\x00\x03\x08", 3 } },
        .function_count = 1,
    };
    sframe_builder_build(s);
}

static struct elf_builder file_with(const char *name, uint32_t type,
                                    const struct sframe_builder *s)
{
    struct elf_builder e = { .is_64 = true,
                             .type = ELF_DYN,
                             .section = name,
                             .section_type = type,
                             .bytes = s->out.bytes,
                             .size = s->out.size };
    elf_builder_build(&e);
    return e;
}

static void sframe_file_finds_the_section_by_name_and_by_type(void **state)
{
    (void)state;
    struct sframe_builder s;
    struct sframe_file file;
    struct sframe_section section;
    size_t offset = 0;
    build_section(&s);
    struct elf_builder by_name = file_with(".sframe", ELF_SHT_PROGBITS, &s);
    struct elf_builder by_type = file_with(".other", ELF_SHT_GNU_SFRAME, &s);
    struct elf_builder neither = file_with(".other", ELF_SHT_PROGBITS, &s);

    assert_int_equal(sframe_file_init(&file, by_name.out.bytes, by_name.out.size),
                     CH_OK);
    assert_int_equal(sframe_file_next(&file, &offset, &section), CH_OK);
    assert_int_equal(section.vaddr, file.vaddr);
    assert_int_equal(sframe_file_next(&file, &offset, &section), CH_END);
    assert_int_equal(sframe_file_init(&file, by_type.out.bytes, by_type.out.size),
                     CH_OK);
    assert_int_equal(sframe_file_init(&file, neither.out.bytes, neither.out.size),
                     CH_ERR_NOT_FOUND);
}

static void sframe_file_takes_a_bare_section_for_what_it_is(void **state)
{
    (void)state;
    struct sframe_builder s;
    struct sframe_file file;
    struct sframe_section section;
    size_t offset = 0;
    build_section(&s);
    assert_int_equal(sframe_file_init(&file, s.out.bytes, s.out.size), CH_OK);
    assert_int_equal(sframe_file_next(&file, &offset, &section), CH_OK);
    assert_int_equal(section.vaddr, 0);
}

static void sframe_file_says_when_an_object_names_no_start(void **state)
{
    (void)state;
    struct sframe_builder s;
    struct sframe_file file;
    struct sframe_section section;
    struct sframe_function function;
    struct sframe_start start;
    size_t offset = 0;
    build_section(&s);
    struct elf_builder object = file_with(".sframe", ELF_SHT_PROGBITS, &s);
    object.type = ELF_REL;
    elf_builder_build(&object);
    assert_int_equal(sframe_file_init(&file, object.out.bytes, object.out.size), CH_OK);
    assert_int_equal(sframe_file_next(&file, &offset, &section), CH_OK);
    assert_int_equal(sframe_read_function(&section, 0, &function), CH_OK);
    sframe_file_start(&file, &section, 0, &function, &start);
    assert_false(start.known);
}

static void sframe_file_refuses_old_sections_of_linkers_that_know_none(void **state)
{
    (void)state;
    struct sframe_builder s;
    struct sframe_file file;
    struct sframe_section section;
    size_t offset = 0;
    build_section(&s);
    s.version = 2;
    s.flags = 0;
    sframe_builder_build(&s);
    struct elf_builder e = file_with(".sframe", ELF_SHT_PROGBITS, &s);
    assert_int_equal(sframe_file_init(&file, e.out.bytes, e.out.size), CH_OK);
    assert_int_equal(sframe_file_next(&file, &offset, &section), CH_ERR_UNSUPPORTED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sframe_file_finds_the_section_by_name_and_by_type),
        cmocka_unit_test(sframe_file_takes_a_bare_section_for_what_it_is),
        cmocka_unit_test(sframe_file_says_when_an_object_names_no_start),
        cmocka_unit_test(sframe_file_refuses_old_sections_of_linkers_that_know_none),
    };
    return cmocka_run_group_tests_name("formats/sframe_file", tests, NULL, NULL);
}
