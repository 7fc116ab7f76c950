// SPDX-License-Identifier: Apache-2.0
#include "formats/debug/core_notes.h"

#include "formats/debug/elf.h"
#include "support/bytes.h"
#include "support/core_builder.h"
#include "support/test.h"

static struct cursor notes_of(const struct core_builder *b)
{
    return cursor_over(b->notes.bytes, b->notes.size);
}

// visit reads all notes and the tables in them, and returns how many there were.
static int visit(const uint8_t *bytes, size_t size, uint16_t machine)
{
    struct cursor notes = cursor_over(bytes, size);
    int count = 0;
    for (;;) {
        struct core_note note;
        struct core_mapping mapping;
        uint64_t type;
        uint64_t value;
        enum ch_status status = core_notes_next(&notes, machine, &note);
        if (status == CH_END || status == CH_ERR_TRUNCATED)
            return count;
        if (status != CH_OK)
            continue;
        count++;
        while (note.kind == CORE_NOTE_FILES &&
               core_files_next(&note.files, &mapping) == CH_OK)
            ;
        while (note.kind == CORE_NOTE_AUXV &&
               core_auxv_next(&note.auxv, &type, &value) == CH_OK)
            ;
    }
}

static int survive(const uint8_t *bytes, size_t size, void *context)
{
    enum { LEAST_BYTES = 12 }; // of any note
    const uint16_t *machine = context;
    return (size_t)visit(bytes, size, *machine) > size / LEAST_BYTES;
}

static void core_notes_put_x86_registers_in_the_order_of_dwarf(void **state)
{
    (void)state;
    struct core_builder b = { .machine = ELF_X86_64 };
    struct core_note note;
    uint64_t registers[27];
    for (size_t i = 0; i < 27; i++)
        registers[i] = 100 + i;
    registers[15] = UINT64_MAX; // orig_rax: in no system call
    core_builder_thread(&b, 4242, 11, registers);
    struct cursor notes = notes_of(&b);
    enum ch_status status = core_notes_next(&notes, ELF_X86_64, &note);
    core_builder_deinit(&b);

    assert_int_equal(status, CH_OK);
    assert_int_equal(note.kind, CORE_NOTE_THREAD);
    assert_int_equal(note.thread.tid, 4242);
    assert_int_equal(note.thread.signal, 11);
    assert_int_equal(note.thread.state, 'R');
    assert_int_equal(note.thread.registers[0], 110);   // rax
    assert_int_equal(note.thread.registers[6], 104);   // rbp
    assert_int_equal(note.thread.registers[7], 119);   // rsp
    assert_int_equal(note.thread.registers[8], 109);   // r8
    assert_int_equal(note.thread.registers[15], 100);  // r15
    assert_int_equal(note.thread.registers[16], 116);  // rip
    assert_int_equal(note.thread.thread_pointer, 121); // fs_base
    assert_int_equal(note.thread.gs_base, 122);
    assert_int_equal(note.thread.flags, 118);
}

static void core_notes_read_aarch64_registers_as_they_stand(void **state)
{
    (void)state;
    struct core_builder b = { .machine = ELF_AARCH64 };
    struct core_note note;
    uint64_t registers[34];
    for (size_t i = 0; i < 34; i++)
        registers[i] = 100 + i;
    core_builder_thread(&b, 7, 6, registers);
    struct cursor notes = notes_of(&b);
    enum ch_status status = core_notes_next(&notes, ELF_AARCH64, &note);
    core_builder_deinit(&b);

    assert_int_equal(status, CH_OK);
    assert_int_equal(note.thread.registers[30], 130);
    assert_int_equal(note.thread.registers[31], 131); // sp
    assert_int_equal(note.thread.registers[32], 132); // pc
    assert_int_equal(note.thread.flags, 133);
    assert_int_equal(note.thread.state, 0);
}

static void
core_notes_have_the_thread_pointer_of_aarch64_in_a_note_of_its_own(void **state)
{
    (void)state;
    static const uint8_t pointer[16] = { 0x40, 0xe7, 0x5f, 0xf7, 0xff, 0xff };
    struct core_builder b = { .machine = ELF_AARCH64 };
    struct core_note notes[4];
    enum ch_status status[4];
    core_builder_named_note(&b, "LINUX", 0x401, pointer, 8);
    core_builder_named_note(&b, "LINUX", 0x401, pointer, 16); // of newer kernels
    core_builder_named_note(&b, "CORE", 0x401, pointer, 4);
    core_builder_named_note(&b, "LINUX", 0x401, pointer, 4);
    struct cursor cursor = notes_of(&b);
    for (size_t i = 0; i < 4; i++)
        status[i] = core_notes_next(&cursor, ELF_AARCH64, &notes[i]);
    struct cursor again = notes_of(&b);
    struct core_note other;
    enum ch_status of_x86_64 = core_notes_next(&again, ELF_X86_64, &other);
    core_builder_deinit(&b);

    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(status[i], CH_OK);
        assert_int_equal(notes[i].kind, CORE_NOTE_STORAGE);
        assert_int_equal(notes[i].thread_pointer, 0xfffff75fe740);
    }
    assert_int_equal(notes[2].kind, CORE_NOTE_OTHER);
    assert_int_equal(status[3], CH_ERR_MALFORMED);
    assert_int_equal(of_x86_64, CH_OK);
    assert_int_equal(other.kind, CORE_NOTE_OTHER);
}

static void core_notes_have_the_pointer_of_the_shadow_stack(void **state)
{
    (void)state;
    enum { X86_SHSTK = 0x204, ARM_GCS = 0x410 };
    static const uint64_t enabled[] = { 1, 0, 0x7ffff7a00ff0 };
    static const uint64_t disabled[] = { 0, 0, 0x7ffff7a00ff0 };
    static const struct {
        uint16_t machine;
        uint32_t type;
        const void *bytes;
        size_t size;
        enum ch_status status;
        enum core_note_kind kind;
        uint64_t pointer;
    } cases[] = {
        { ELF_X86_64, X86_SHSTK, &enabled[2], 8, CH_OK, CORE_NOTE_SHADOW,
          0x7ffff7a00ff0 },
        { ELF_AARCH64, ARM_GCS, enabled, 24, CH_OK, CORE_NOTE_SHADOW, 0x7ffff7a00ff0 },
        { ELF_AARCH64, ARM_GCS, disabled, 24, CH_OK, CORE_NOTE_SHADOW, 0 },
        { ELF_AARCH64, ARM_GCS, enabled, 16, CH_ERR_MALFORMED, CORE_NOTE_OTHER, 0 },
        { ELF_AARCH64, X86_SHSTK, &enabled[2], 8, CH_OK, CORE_NOTE_OTHER, 0 },
        { ELF_X86_64, ARM_GCS, enabled, 24, CH_OK, CORE_NOTE_OTHER, 0 },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct core_builder b = { .machine = cases[i].machine };
        struct core_note note = { .kind = CORE_NOTE_OTHER };
        core_builder_named_note(&b, "LINUX", cases[i].type, cases[i].bytes,
                                cases[i].size);
        struct cursor notes = notes_of(&b);
        enum ch_status status = core_notes_next(&notes, cases[i].machine, &note);
        core_builder_deinit(&b);
        assert_int_equal(status, cases[i].status);
        assert_int_equal(note.kind, cases[i].kind);
        if (note.kind == CORE_NOTE_SHADOW)
            assert_int_equal(note.shadow_stack, cases[i].pointer);
    }
}

static void core_notes_tell_a_fault_from_a_signal_that_was_sent(void **state)
{
    (void)state;
    struct core_builder b = { .machine = ELF_X86_64 };
    struct core_note fault;
    struct core_note sent;
    core_builder_fault(&b, 11, 1, 0xdead0000beef);
    core_builder_sent(&b, 6, -6, 4242, 1000);
    struct cursor notes = notes_of(&b);
    enum ch_status first = core_notes_next(&notes, ELF_X86_64, &fault);
    enum ch_status second = core_notes_next(&notes, ELF_X86_64, &sent);
    core_builder_deinit(&b);

    assert_int_equal(first, CH_OK);
    assert_int_equal(fault.kind, CORE_NOTE_SIGNAL);
    assert_int_equal(fault.signal.address, 0xdead0000beef);
    assert_int_equal(second, CH_OK);
    assert_int_equal(sent.signal.code, -6);
    assert_int_equal(sent.signal.sender_pid, 4242);
    assert_int_equal(sent.signal.sender_uid, 1000);
}

static void core_notes_list_mapped_files_with_offsets_in_bytes(void **state)
{
    (void)state;
    struct core_builder b = { .machine = ELF_X86_64 };
    struct core_note note;
    struct core_mapping mapping;
    char path[32] = "";
    core_builder_files(&b, 2,
                       (const struct core_builder_file[]){
                           { 0x1000, 0x3000, 0, "/bin/a" },
                           { 0x8000, 0x9000, 5, "/lib/b.so (deleted)" },
                       });
    struct cursor notes = notes_of(&b);
    enum ch_status status = core_notes_next(&notes, ELF_X86_64, &note);
    enum ch_status first = core_files_next(&note.files, &mapping);
    enum ch_status second = core_files_next(&note.files, &mapping);
    struct core_mapping none;
    enum ch_status end = core_files_next(&note.files, &none);
    snprintf(path, sizeof(path), "%s", mapping.path);
    core_builder_deinit(&b);

    assert_int_equal(status, CH_OK);
    assert_int_equal(first, CH_OK);
    assert_int_equal(second, CH_OK);
    assert_int_equal(mapping.start, 0x8000);
    assert_int_equal(mapping.offset, 5 * 4096);
    assert_string_equal(path, "/lib/b.so (deleted)");
    assert_int_equal(end, CH_END);
}

static void core_notes_do_not_believe_a_count_of_files(void **state)
{
    (void)state;
    struct core_builder b = { .machine = ELF_X86_64 };
    struct core_note note;
    core_builder_files(&b, 1, (const struct core_builder_file[]){ { 0, 1, 0, "/a" } });
    b.notes.bytes[CORE_BUILDER_NOTE_HEAD + 7] = 0x10; // of the count
    struct cursor notes = notes_of(&b);
    enum ch_status status = core_notes_next(&notes, ELF_X86_64, &note);
    core_builder_deinit(&b);

    assert_int_equal(status, CH_ERR_MALFORMED);
}

static void core_notes_pass_over_what_they_do_not_know(void **state)
{
    (void)state;
    struct core_builder b = { .machine = ELF_X86_64 };
    struct core_note note;
    core_builder_note(&b, 0x202, "xsave", 5);
    core_builder_note(&b, 1, "short", 5); // a thread's, far too short
    core_builder_process(&b, 4242, "shop");
    struct cursor notes = notes_of(&b);
    enum ch_status unknown = core_notes_next(&notes, ELF_X86_64, &note);
    enum core_note_kind kind = note.kind;
    enum ch_status damaged = core_notes_next(&notes, ELF_X86_64, &note);
    enum ch_status good = core_notes_next(&notes, ELF_X86_64, &note);
    enum ch_status end = core_notes_next(&notes, ELF_X86_64, &(struct core_note){ 0 });
    core_builder_deinit(&b);

    assert_int_equal(unknown, CH_OK);
    assert_int_equal(kind, CORE_NOTE_OTHER);
    assert_int_equal(damaged, CH_ERR_MALFORMED);
    assert_int_equal(good, CH_OK);
    assert_int_equal(note.process.pid, 4242);
    assert_string_equal(note.process.name, "shop");
    assert_int_equal(end, CH_END);
}

static void core_notes_refuse_other_machines(void **state)
{
    (void)state;
    struct core_note note;
    struct cursor none = cursor_over(NULL, 0);
    assert_int_equal(core_notes_next(&none, ELF_S390, &note), CH_ERR_UNSUPPORTED);
}

static void core_notes_survive_every_cut_and_every_flipped_bit(void **state)
{
    (void)state;
    static const uint64_t registers[34] = { 1, 2, 3 };
    uint16_t machines[] = { ELF_X86_64, ELF_AARCH64 };
    for (size_t i = 0; i < 2; i++) {
        struct core_builder b = { .machine = machines[i] };
        core_builder_thread(&b, 1, 11, registers);
        core_builder_process(&b, 1, "shop");
        core_builder_fault(&b, 11, 1, 0);
        core_builder_auxv(&b, 3, 0x400040);
        core_builder_files(&b, 1,
                           (const struct core_builder_file[]){ { 0, 1, 0, "/a" } });
        const uint8_t *bytes = (const uint8_t *)b.notes.bytes;
        int whole = visit(bytes, b.notes.size, machines[i]);
        int cut = bytes_cut_everywhere(bytes, b.notes.size, survive, &machines[i]);
        int flipped = bytes_flip_every_bit(bytes, b.notes.size, survive, &machines[i]);
        core_builder_deinit(&b);

        assert_int_equal(whole, 5);
        assert_int_equal(cut, 0);
        assert_int_equal(flipped, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(core_notes_put_x86_registers_in_the_order_of_dwarf),
        cmocka_unit_test(core_notes_read_aarch64_registers_as_they_stand),
        cmocka_unit_test(
            core_notes_have_the_thread_pointer_of_aarch64_in_a_note_of_its_own),
        cmocka_unit_test(core_notes_have_the_pointer_of_the_shadow_stack),
        cmocka_unit_test(core_notes_tell_a_fault_from_a_signal_that_was_sent),
        cmocka_unit_test(core_notes_list_mapped_files_with_offsets_in_bytes),
        cmocka_unit_test(core_notes_do_not_believe_a_count_of_files),
        cmocka_unit_test(core_notes_pass_over_what_they_do_not_know),
        cmocka_unit_test(core_notes_refuse_other_machines),
        cmocka_unit_test(core_notes_survive_every_cut_and_every_flipped_bit),
    };
    return cmocka_run_group_tests_name("formats/core_notes", tests, NULL, NULL);
}
