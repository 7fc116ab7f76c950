// SPDX-License-Identifier: Apache-2.0
//
// The effects of instructions as decoded here, beside those by the disassembler: of the
// code that this process has loaded, and of that code with bytes changed at random or
// with a prefix in front.
#define _GNU_SOURCE
#include "symbolizer/diagnosis/instruction_common.h"

#include <inttypes.h>
#include <link.h>
#include <stdio.h>

#include "support/test.h"

#if defined(__x86_64__)

enum { DIFFERENCES_SHOWN = 20, ROOM = 16, LEAST = 200000 };

struct comparison {
    uint64_t random;
    unsigned changes;
    size_t decoded; // by the disassembler
    size_t compared;
    size_t only_here;
    size_t different;
};

static uint64_t next_random(struct comparison *c)
{
    c->random ^= c->random << 13;
    c->random ^= c->random >> 7;
    c->random ^= c->random << 17;
    return c->random;
}

static void show_effects(const char *who, const struct instruction_effects *e)
{
    print_message("  %s: length %d flow %d repeats %d action %d from %d to %d bytes %d "
                  "constant %" PRIx64 " target %" PRIx64
                  " written %x named %x memory %d%d%d %d+%d*%d %d %" PRIx64 "\n",
                  who, e->length, (int)e->flow, e->repeats, (int)e->action, e->from,
                  e->to, e->bytes, (uint64_t)e->constant, e->target, e->written,
                  e->named, e->memory.used, e->memory.read, e->memory.written,
                  e->memory.base, e->memory.index, e->memory.scale, e->memory.bytes,
                  (uint64_t)e->memory.displacement);
}

static bool is_same_memory(const struct instruction_memory *a,
                           const struct instruction_memory *b)
{
    return a->used == b->used && a->read == b->read && a->written == b->written &&
           a->base == b->base && a->index == b->index && a->scale == b->scale &&
           a->bytes == b->bytes && a->displacement == b->displacement;
}

static bool is_same(const struct instruction_effects *a,
                    const struct instruction_effects *b)
{
    return a->length == b->length && a->flow == b->flow && a->repeats == b->repeats &&
           a->action == b->action && a->from == b->from && a->to == b->to &&
           a->bytes == b->bytes && a->constant == b->constant &&
           a->target == b->target && a->written == b->written && a->named == b->named &&
           is_same_memory(&a->memory, &b->memory);
}

// A known_difference is an opcode for which the disassembler is wrong.
struct known_difference {
    bool escaped;
    uint8_t opcode;
    uint16_t written; // what it takes for written and is not
    uint8_t bytes;    // what it takes for the operand's size
    const char *cause;
    bool wide; // only where REX.W and 66 are in front
};

static const struct known_difference mistakes[] = {
    { false, 0x99, 1, 0, "cqo, cdq and cwd leave rax as it is", false },
    { false, 0xa8, 1, 0, "test only sets flags", false },
    { false, 0xa9, 1, 0, "test only sets flags", false },
    { false, 0xaa, 4, 0, "stos counts in rcx only if it is repeated", false },
    { false, 0xab, 4, 0, "stos counts in rcx only if it is repeated", false },
    { true, 0x2f, 0, 16, "comiss reads 4 bytes, and comisd 8", false },
    { true, 0xbc, 0, 2, "REX.W prevails over 66, which Capstone 5 does not know",
      true },
    { true, 0xbd, 0, 2, "REX.W prevails over 66, which Capstone 5 does not know",
      true },
};

// take_known makes one of the disassembler's known mistakes in here.
static void take_known(const uint8_t *bytes, struct instruction_effects *here)
{
    const uint8_t *begin = bytes;
    while (*bytes == 0x66 || *bytes == 0x2e || (*bytes & 0xf0) == 0x40 ||
           *bytes == 0x64 || *bytes == 0x65 || *bytes == 0xf0)
        bytes++;
    bool escaped = *bytes == 0x0f;
    bool wide = bytes > begin && (bytes[-1] & 0xf8) == 0x48 &&
                memchr(begin, 0x66, (size_t)(bytes - begin)) != NULL;
    for (size_t i = 0; i < sizeof(mistakes) / sizeof(mistakes[0]); i++) {
        if (mistakes[i].escaped != escaped || mistakes[i].opcode != bytes[escaped] ||
            (mistakes[i].wide && !wide))
            continue;
        here->written |= mistakes[i].written;
        if (here->memory.used && mistakes[i].bytes != 0)
            here->memory.bytes = mistakes[i].bytes;
    }
}

static void compare_one(struct comparison *c, const uint8_t *bytes, size_t size,
                        uint64_t address)
{
    struct instruction_effects here;
    struct instruction_effects there;
    bool common = instruction_common_effects(bytes, size, address, &here);
    bool listed = instruction_library_effects(bytes, size, address, &there) == CH_OK;
    c->decoded += listed;
    c->compared += common && listed;
    c->only_here += common && !listed;
    if (!common || (listed && is_same(&here, &there)))
        return;
    take_known(bytes, &here);
    if (listed && is_same(&here, &there))
        return;
    if (c->different++ >= DIFFERENCES_SHOWN)
        return;
    print_message("differs:");
    for (size_t i = 0; i < size && i < INSTRUCTION_BYTES_MAX; i++)
        print_message(" %02x", bytes[i]);
    print_message("\n");
    show_effects("here", &here);
    if (listed)
        show_effects("disassembler", &there);
}

static void compare_changed(struct comparison *c, const uint8_t *bytes, size_t size,
                            uint64_t address)
{
    uint8_t changed[INSTRUCTION_BYTES_MAX] = { 0 };
    size_t copied = size < sizeof(changed) ? size : sizeof(changed);
    memcpy(changed, bytes, copied);
    uint64_t random = next_random(c);
    changed[random % 4] ^= (uint8_t)(1u << (random >> 8 & 7));
    changed[(random >> 16) % 6] = (uint8_t)(random >> 24);
    compare_one(c, changed, sizeof(changed), address);
}

// compare_prefixed puts a prefix in front.
static void compare_prefixed(struct comparison *c, const uint8_t *bytes, size_t size,
                             uint64_t address)
{
    static const uint8_t prefixes[] = { 0x2e, 0x3e, 0x48, 0x64, 0x65,
                                        0x66, 0x67, 0xf0, 0xf2, 0xf3 };
    uint8_t changed[INSTRUCTION_BYTES_MAX] = { 0 };
    size_t copied = size < sizeof(changed) - 1 ? size : sizeof(changed) - 1;
    changed[0] = prefixes[next_random(c) % sizeof(prefixes)];
    memcpy(changed + 1, bytes, copied);
    compare_one(c, changed, sizeof(changed), address);
}

static void compare_code(struct comparison *c, const uint8_t *bytes, size_t size)
{
    for (size_t at = 0; at + ROOM < size;) {
        struct instruction_effects there;
        uint64_t address = (uint64_t)(uintptr_t)(bytes + at);
        compare_one(c, bytes + at, size - at, address);
        for (unsigned i = 0; i < c->changes; i++)
            compare_changed(c, bytes + at, size - at, address);
        compare_prefixed(c, bytes + at, size - at, address);
        bool known = instruction_library_effects(bytes + at, size - at, address,
                                                 &there) == CH_OK;
        at += known ? there.length : 1;
    }
}

static int compare_image(struct dl_phdr_info *image, size_t size, void *context)
{
    (void)size;
    for (int i = 0; i < image->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &image->dlpi_phdr[i];
        if (segment->p_type == PT_LOAD && segment->p_flags & PF_X)
            compare_code(
                context,
                (const uint8_t *)(uintptr_t)(image->dlpi_addr + segment->p_vaddr),
                segment->p_memsz);
    }
    return 0;
}

static void
common_instructions_have_the_effects_that_the_disassembler_gives(void **state)
{
    static const uint8_t nop = 0x90;
    struct instruction_effects unused;
    struct comparison c = { .random = 20261124, .changes = 2 };
    (void)state;
    if (instruction_library_effects(&nop, 1, 0, &unused) != CH_OK)
        test_skip("built without capstone");
    print_message("seed %" PRIu64 "\n", c.random);
    (void)dl_iterate_phdr(compare_image, &c);
    print_message("decoded %zu, compared %zu, decoded here alone %zu, different %zu\n",
                  c.decoded, c.compared, c.only_here, c.different);
    assert_int_equal(c.different, 0);
    assert_true(c.compared >= LEAST);
}

#define COMMON(out, ...)                                                               \
    instruction_common_effects((const uint8_t[]){ __VA_ARGS__ },                       \
                               sizeof((const uint8_t[]){ __VA_ARGS__ }), 0, out)

// The low byte of rax has nothing to do with ah.
static void a_high_byte_is_not_taken_for_the_low_one(void **state)
{
    struct instruction_effects e;
    (void)state;
    assert_true(COMMON(&e, 0x0f, 0xb6, 0xd0)); // movzx edx, al
    assert_int_equal(e.action, INSTRUCTION_MOVES);
    assert_true(COMMON(&e, 0x0f, 0xb6, 0xd4)); // movzx edx, ah
    assert_int_equal(e.action, INSTRUCTION_DOES_OTHER);
    assert_true(COMMON(&e, 0x88, 0x07)); // mov byte ptr [rdi], al
    assert_int_equal(e.action, INSTRUCTION_STORES);
    assert_true(COMMON(&e, 0x88, 0x27)); // mov byte ptr [rdi], ah
    assert_int_equal(e.action, INSTRUCTION_DOES_OTHER);
    assert_true(e.memory.written);
}

static uint16_t written_by(const uint8_t *bytes, size_t size)
{
    struct instruction_effects e;
    enum ch_status status = instruction_library_effects(bytes, size, 0, &e);
    if (status == CH_ERR_UNSUPPORTED)
        test_skip("built without capstone");
    assert_int_equal(status, CH_OK);
    return e.written;
}

// The disassembler's own tables miss these.
static void registers_that_are_not_operands_count_as_written(void **state)
{
    static const uint8_t cmpxchg[] = { 0x48, 0x0f, 0xb1, 0x0f };
    static const uint8_t mulx[] = { 0xc4, 0xe2, 0xe3, 0xf6, 0xd6 }; // to rdx and rbx
    static const uint8_t xlat[] = { 0xd7 };
    static const uint8_t enter[] = { 0xc8, 0x10, 0, 0 };
    (void)state;
    assert_int_equal(written_by(cmpxchg, sizeof(cmpxchg)), 1 << 0);
    assert_int_equal(written_by(mulx, sizeof(mulx)), 1 << 1 | 1 << 3);
    assert_int_equal(written_by(xlat, sizeof(xlat)), 1 << 0);
    assert_int_equal(written_by(enter, sizeof(enter)), 1 << 6 | 1 << 7);
}

static void a_part_of_an_instruction_is_none(void **state)
{
    static const uint8_t whole[][INSTRUCTION_BYTES_MAX] = {
        { 0x48, 0xb8, 1, 2, 3, 4, 5, 6, 7, 8 },                   // movabs
        { 0x48, 0xc7, 0x84, 0x24, 1, 2, 3, 4, 5, 6, 7, 8 },       // mov [rsp + ], imm
        { 0x66, 0x44, 0x0f, 0x70, 0x84, 0xc8, 1, 2, 3, 4, 0x1b }, // pshufd
        { 0x0f, 0x84, 1, 2, 3, 4 },                               // je
        { 0xf0, 0x49, 0x0f, 0xb1, 0x8d, 1, 2, 3, 4 },             // lock cmpxchg
    };
    static const uint8_t lengths[] = { 10, 12, 11, 6, 9 };
    struct instruction_effects e;
    (void)state;
    for (size_t i = 0; i < sizeof(lengths); i++) {
        for (size_t size = 0; size < lengths[i]; size++)
            assert_false(instruction_common_effects(whole[i], size, 0, &e));
        assert_true(instruction_common_effects(whole[i], lengths[i], 0, &e));
        assert_int_equal(e.length, lengths[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_high_byte_is_not_taken_for_the_low_one),
        cmocka_unit_test(registers_that_are_not_operands_count_as_written),
        cmocka_unit_test(a_part_of_an_instruction_is_none),
        cmocka_unit_test(
            common_instructions_have_the_effects_that_the_disassembler_gives),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void)
{
    return 0;
}

#endif
