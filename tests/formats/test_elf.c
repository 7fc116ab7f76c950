// SPDX-License-Identifier: Apache-2.0
#include "formats/debug/elf.h"

#include "support/bytes.h"
#include "support/elf_builder.h"
#include "support/test.h"

static void build(struct elf_builder *e, bool is_64, bool big_endian)
{
    *e = (struct elf_builder){ .is_64 = is_64,
                               .big_endian = big_endian,
                               .type = ELF_DYN,
                               .section = ".sframe",
                               .section_type = ELF_SHT_PROGBITS,
                               .bytes = "abc",
                               .size = 3 };
    elf_builder_build(e);
}

static void elf_reads_both_classes_in_both_orders(void **state)
{
    (void)state;
    for (int kind = 0; kind < 4; kind++) {
        struct elf_builder e;
        struct elf_view file;
        struct elf_segment note;
        struct elf_section section;
        build(&e, kind & 1, kind & 2);
        assert_int_equal(elf_view_init(&file, e.out.bytes, e.out.size), CH_OK);
        assert_int_equal(file.header.is_64, kind & 1);
        assert_int_equal(file.header.type, ELF_DYN);
        assert_int_equal(file.header.machine, ELF_X86_64);
        assert_int_equal(file.header.entry, 0x1234);
        assert_int_equal(elf_view_find_segment(&file, ELF_PT_NOTE, &note), CH_OK);
        assert_int_equal(note.flags, ELF_PF_R);
        assert_int_equal(note.vaddr, 0x1000 + note.offset);
        assert_int_equal(elf_view_find_section(&file, ".sframe", &section, NULL),
                         CH_OK);
        struct cursor c = elf_section_cursor(&file, &section);
        assert_int_equal(cursor_left(&c), 3);
        assert_memory_equal(c.at, "abc", 3);
    }
}

static void elf_finds_the_build_id_by_segments_and_by_sections(void **state)
{
    (void)state;
    static const uint8_t expected[] = { 1, 2, 3, 4 };
    const uint8_t *id;
    size_t size;
    for (int kind = 0; kind < 4; kind++) {
        struct elf_builder e;
        struct elf_view file;
        build(&e, kind & 1, kind & 2);
        assert_int_equal(elf_view_init(&file, e.out.bytes, e.out.size), CH_OK);
        file.header.segment_count = kind < 2 ? 1 : 0;
        assert_int_equal(elf_view_build_id(&file, &id, &size), CH_OK);
        assert_int_equal(size, sizeof(expected));
        assert_memory_equal(id, expected, sizeof(expected));
        assert_int_equal(elf_view_loaded_build_id(&file, &id, &size),
                         kind < 2 ? CH_OK : CH_ERR_NOT_FOUND);
    }
}

static void elf_reads_a_program_header_table_out_of_memory(void **state)
{
    (void)state;
    struct elf_builder e;
    struct elf_header header;
    struct elf_segment segment;
    build(&e, true, false);
    assert_int_equal(elf_read_header(e.out.bytes, ELF_HEADER_SIZE, &header), CH_OK);
    const uint8_t *table = e.out.bytes + header.segment_offset;
    assert_int_equal(elf_read_segment(&header, table, ELF_SEGMENT_SIZE, 0, &segment),
                     CH_OK);
    assert_int_equal(segment.type, ELF_PT_NOTE);
    assert_int_equal(elf_read_segment(&header, table, ELF_SEGMENT_SIZE, 1, &segment),
                     CH_ERR_NOT_FOUND);
    assert_int_equal(
        elf_read_segment(&header, table, ELF_SEGMENT_SIZE - 1, 0, &segment),
        CH_ERR_TRUNCATED);
}

static void elf_refuses_what_is_none(void **state)
{
    (void)state;
    struct elf_builder e;
    struct elf_header header;
    build(&e, true, false);
    assert_int_equal(elf_read_header("#!/bin/sh\nexit 0\n", 17, &header),
                     CH_ERR_MALFORMED);
    e.out.bytes[4] = 3;
    assert_int_equal(elf_read_header(e.out.bytes, e.out.size, &header),
                     CH_ERR_UNSUPPORTED);
}

static void elf_takes_counts_too_large_for_the_header_from_section_0(void **state)
{
    (void)state;
    struct elf_builder e;
    struct elf_view file;
    build(&e, true, false);
    size_t zero = e.out.size - 4 * 64;
    memset(e.out.bytes + 56, 0xff, 2); // e_phnum: PN_XNUM
    memset(e.out.bytes + 60, 0, 2);    // e_shnum
    memset(e.out.bytes + 62, 0xff, 2); // e_shstrndx: SHN_XINDEX
    e.out.bytes[zero + 32] = 4;        // sh_size
    e.out.bytes[zero + 40] = 2;        // sh_link
    e.out.bytes[zero + 44] = 1;        // sh_info
    assert_int_equal(elf_view_init(&file, e.out.bytes, e.out.size), CH_OK);
    assert_int_equal(file.header.segment_count, 1);
    assert_int_equal(file.header.section_count, 4);
    assert_int_equal(file.header.section_names, 2);
}

static void elf_refuses_header_sizes_that_would_not_advance(void **state)
{
    (void)state;
    struct elf_builder e;
    struct elf_view file;
    struct elf_segment segment;
    struct elf_section section;
    build(&e, true, false);
    assert_int_equal(elf_view_init(&file, e.out.bytes, e.out.size), CH_OK);
    file.header.segment_size = 0;
    file.header.section_size = 0;
    assert_int_equal(elf_view_segment(&file, 0, &segment), CH_ERR_MALFORMED);
    assert_int_equal(elf_view_section(&file, 0, &section), CH_ERR_MALFORMED);
}

// explore asks everything of damaged bytes: only the sanitizers can object.
static int explore(const uint8_t *bytes, size_t size, void *context)
{
    struct elf_view file;
    struct elf_section section;
    struct elf_relocation relocation;
    const uint8_t *id;
    size_t id_size;
    (void)context;
    if (elf_view_init(&file, bytes, size) != CH_OK)
        return 0;
    (void)!elf_view_build_id(&file, &id, &id_size);
    for (uint32_t i = 0; elf_view_section(&file, i, &section) == CH_OK; i++) {
        struct cursor c = elf_section_cursor(&file, &section);
        while (elf_next_relocation(&file, i & 1, &c, &relocation) == CH_OK)
            ;
    }
    return 0;
}

static void elf_survives_every_cut_and_flipped_bit(void **state)
{
    (void)state;
    for (int kind = 0; kind < 4; kind++) {
        struct elf_builder e;
        build(&e, kind & 1, kind & 2);
        const uint8_t *bytes = e.out.bytes;
        assert_int_equal(bytes_cut_everywhere(bytes, e.out.size, explore, NULL), 0);
        assert_int_equal(bytes_flip_every_bit(bytes, e.out.size, explore, NULL), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(elf_reads_both_classes_in_both_orders),
        cmocka_unit_test(elf_finds_the_build_id_by_segments_and_by_sections),
        cmocka_unit_test(elf_reads_a_program_header_table_out_of_memory),
        cmocka_unit_test(elf_refuses_what_is_none),
        cmocka_unit_test(elf_takes_counts_too_large_for_the_header_from_section_0),
        cmocka_unit_test(elf_refuses_header_sizes_that_would_not_advance),
        cmocka_unit_test(elf_survives_every_cut_and_flipped_bit),
    };
    return cmocka_run_group_tests_name("formats/elf", tests, NULL, NULL);
}
