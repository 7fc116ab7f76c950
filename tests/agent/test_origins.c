// SPDX-License-Identifier: Apache-2.0
#include "agent/raw/origins.h"

#include <stdio.h>
#include <string.h>

#include "agent/facts/origin_heap.h"
#include "formats/debug/maps.h"
#include "support/fake_memory.h"
#include "support/test.h"

// A process with a heap of pieces of 48 bytes, a program, a library and a stack.
#define HEAP UINT64_C(0x55d2c0a41000)
#define PROGRAM UINT64_C(0x55d2bf3f0000)
#define LIBRARY UINT64_C(0x7f4b21a00000)
#define STACK UINT64_C(0x7ffd3c8e0000)
enum { HEAP_BYTES = 0x21000, PIECE_BYTES = 48, PIECES = 800, STACK_BYTES = 0x2000 };
enum { RAX = 0, RBX = 3, RDI = 5, RSP = 7, RIP = 16 };

static uint64_t heap[HEAP_BYTES / 8];
static uint64_t stack[STACK_BYTES / 8];
static struct fake_region regions[] = { { HEAP, heap, sizeof(heap) },
                                        { STACK, stack, sizeof(stack) } };
static struct fake_memory memory = { .regions = regions, .region_count = 2 };
static struct target_mapping mappings[] = {
    { PROGRAM, PROGRAM + 0x4000, MAPS_READ | MAPS_EXECUTE, 1, 1, 0, "/bin/shop", 9,
      false },
    { HEAP, HEAP + HEAP_BYTES, MAPS_READ | MAPS_WRITE, 0, 0, 0, "[heap]", 6, false },
    { LIBRARY, LIBRARY + 0x200000, MAPS_READ, 2, 1, 0, "/lib/x.so", 9, false },
    { STACK - 0x1000, STACK, 0, 0, 0, 0, "", 0, false },
    { STACK, STACK + STACK_BYTES, MAPS_READ | MAPS_WRITE, 0, 0, 0, "", 0, false },
};
static struct target_crash crash;
static struct capture capture;
static struct origins found;

static uint64_t piece(unsigned number)
{
    return HEAP + 0x2a0 + (uint64_t)number * PIECE_BYTES;
}

static uint64_t *word_at(uint64_t address)
{
    return &heap[(address - HEAP) / 8];
}

static int build(void **state)
{
    (void)state;
    memset(heap, 0, sizeof(heap));
    memset(stack, 0, sizeof(stack));
    for (unsigned i = 0; i < PIECES; i++)
        *word_at(piece(i) - 8) = PIECE_BYTES | 1;
    *word_at(piece(PIECES) - 8) = (HEAP + HEAP_BYTES - (piece(PIECES) - 16)) | 1;
    crash = (struct target_crash){ .tid = 1 };
    crash.registers.value[RSP] = STACK + 0x1000;
    crash.registers.value[RIP] = PROGRAM + 0x1234;
    capture = (struct capture){ .arch = &unwind_arch_amd64,
                                .crash = &crash,
                                .reader = fake_memory_reader(&memory) };
    capture.images.mappings = mappings;
    capture.images.mapping_count = sizeof(mappings) / sizeof(mappings[0]);
    return 0;
}

// origin_of is the one claim about rax, or a kind of "".
static struct origin origin_of(uint64_t value)
{
    crash.registers.value[RAX] = value;
    origins_find(&capture, 0x10, &found);
    return found.count == 1 && strcmp(found.list[0].register_name, "rax") == 0
               ? found.list[0]
               : (struct origin){ .kind = "" };
}

static void link_in_freed_memory_leads_to_the_piece(void **state)
{
    build(state);
    uint64_t last = piece(300) >> 12;
    uint64_t link = piece(300) ^ piece(17) >> 12;
    *word_at(piece(300)) = last;
    *word_at(piece(17)) = link;
    struct origin origin = origin_of(last);
    assert_string_equal(origin.kind, "freed-chunk");
    assert_int_equal(origin.address, piece(300));
    assert_int_equal(origin.next, 0);
    origin = origin_of(link);
    assert_string_equal(origin.kind, "freed-chunk");
    assert_int_equal(origin.address, piece(17));
    assert_int_equal(origin.next, piece(300));
    link = (piece(300) - 16) ^ piece(17) >> 12; // of a fastbin
    *word_at(piece(17)) = link;
    assert_string_equal(origin_of(link).kind, "freed-chunk");
    *word_at(piece(300) - 8) = 80 | 1; // a piece of another size is of another list
    assert_string_equal(origin_of(link).kind, "");
    *word_at(piece(17)) = 0; // and a link that is not there proves nothing
    assert_string_equal(origin_of(link).kind, "");
}

static void value_after_the_links_of_a_freed_node_leads_to_the_piece(void **state)
{
    build(state);
    uint64_t link = piece(300) ^ piece(17) >> 12;
    *word_at(piece(300)) = piece(300) >> 12;
    *word_at(piece(17)) = link;
    struct origin origin = origin_of(link + 32);
    assert_string_equal(origin.kind, "freed-chunk");
    assert_int_equal(origin.address, piece(17));
    assert_int_equal(origin.offset, 32);
    assert_int_equal(origin_of(link).offset, 0);
    assert_string_equal(origin_of(link + 40).kind, "");
    assert_string_equal(origin_of(link + 4).kind, "");
}

static void last_link_of_a_low_heap_is_not_taken_for_a_small_number(void **state)
{
    enum { LOW = 0x7a1000, NUMBER = LOW >> 12 };
    struct fake_region region = regions[0];
    struct target_mapping program = mappings[0]; // the mapping that is first
    build(state);
    *word_at(piece(3)) = NUMBER;
    assert_string_equal(origin_of(NUMBER).kind, ""); // the heap is elsewhere
    regions[0].address = LOW;
    mappings[0] = mappings[1];
    mappings[0].start = LOW;
    mappings[0].end = LOW + HEAP_BYTES;
    struct origin origin = origin_of(NUMBER);
    struct origin after = origin_of(NUMBER + 16);
    struct origin other = origin_of(NUMBER + 1);
    regions[0] = region;
    mappings[0] = program;
    assert_string_equal(origin.kind, "freed-chunk");
    assert_int_equal(origin.address, LOW + piece(3) - HEAP);
    assert_int_equal(after.offset, 16);
    assert_string_equal(other.kind, "");
}

static void fill_and_text_are_known_by_their_bytes(void **state)
{
    build(state);
    assert_string_equal(origin_of(UINT64_C(0x5a5a5a5a5a5a5a5a)).kind, "fill");
    assert_string_equal(origin_of(0xdeadbeef).kind, "fill");
    assert_string_equal(origin_of(UINT64_MAX).kind, "map-failed");
    struct origin origin = origin_of(UINT64_C(0x006e6f646e6f4c20));
    assert_string_equal(origin.kind, "text");
    assert_string_equal(origin.text, " London");
    assert_string_equal(origin_of(UINT64_C(0x0000006e6f646e6f)).kind, ""); // too short
    assert_string_equal(origin_of(UINT64_C(0x6e6f64016e6f4c20)).kind, "");
    assert_string_equal(origin_of(UINT64_C(0x4141414141414141)).kind, "text");
    assert_string_equal(origin_of(UINT64_C(0x7777777777777770)).kind, ""); // "pwwwwwww"
}

static void cut_or_flipped_pointer_is_known_by_what_the_program_has(void **state)
{
    build(state);
    uint64_t whole = piece(55);
    struct origin origin = origin_of((uint32_t)whole);
    assert_string_equal(origin.kind, "truncated");
    assert_int_equal(origin.address, whole);
    assert_string_equal(origin.holder, "malloc");
    assert_string_equal(origin_of((uint32_t)(whole + 16)).kind, "");
    stack[0x1000 / 8 + 3] = whole + 16;
    assert_string_equal(origin_of((uint32_t)(whole + 16)).holder, "stack");
    origin = origin_of(whole ^ UINT64_C(1) << 40);
    assert_string_equal(origin.kind, "bit-flip");
    assert_int_equal(origin.bit, 40);
    assert_string_equal(origin_of((whole + 24) ^ UINT64_C(1) << 40).kind, "");
    crash.registers.value[RBX] = LIBRARY + 0x1230;
    origin = origin_of((LIBRARY + 0x1230) ^ UINT64_C(1) << 60);
    assert_string_equal(origin.holder, "rbx");
    // Pointers that are off by a power of two are not flipped.
    crash.registers.value[RBX] = LIBRARY;
    assert_string_equal(origin_of(LIBRARY + (UINT64_C(1) << 30)).kind, "");
}

static void failed_signature_is_known_by_its_key_on_aarch64_alone(void **state)
{
    build(state);
    const uint64_t key_b = UINT64_C(0x40) << 48;
    assert_string_equal(origin_of(key_b | (PROGRAM + 0x10)).kind, "");
    capture.arch = &unwind_arch_aarch64;
    crash.registers = (struct unwind_registers){ 0 };
    crash.registers.value[capture.arch->sp] = STACK + 0x1000;
    for (uint64_t tag = 0; tag < 2; tag++) {
        crash.registers.value[8] = tag << 56 | key_b | (PROGRAM + 0x10);
        origins_find(&capture, 0x10, &found);
        assert_int_equal(found.count, 1);
        assert_string_equal(found.list[0].register_name, "x8");
        assert_string_equal(found.list[0].kind, "failed-signature");
        assert_int_equal(found.list[0].address, PROGRAM + 0x10);
    }
    crash.registers.value[8] = key_b | 0x1234560; // leads nowhere
    origins_find(&capture, 0x10, &found);
    assert_int_equal(found.count, 0);
}

static void half_of_a_pointer_is_not_looked_for_in_mappings_without_bounds(void **state)
{
    build(state);
    uint64_t end = mappings[2].end;
    mappings[2].end = STACK - 0x1000; // still some 680 halves
    assert_string_equal(origin_of((uint32_t)piece(55)).kind, "truncated");
    mappings[2].end = end;
    mappings[4].end = UINT64_C(1) << 63;
    assert_string_equal(origin_of((uint32_t)piece(55)).kind, "");
    mappings[4].end = STACK + STACK_BYTES;
}

static void guard_page_names_the_thread_whose_stack_is_above_it(void **state)
{
    build(state);
    origins_find(&capture, STACK - 64, &found);
    assert_int_equal(found.count, 1);
    assert_string_equal(found.list[0].kind, "guard-page");
    assert_int_equal(found.list[0].thread, 1);
    crash.registers.value[RSP] = HEAP;
    origins_find(&capture, STACK - 64, &found);
    assert_int_equal(found.count, 0);
}

static uint64_t seed;

static uint64_t next_random(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed;
}

// random_value is one of the values that go wrong without a cause that can be told.
static uint64_t random_value(void)
{
    uint64_t value = next_random();
    switch (next_random() % 10) {
    case 0:
        return value; // any
    case 1:
        return value >> 17; // of user space
    case 2:
        return value >> 32; // a number
    case 3:
        return HEAP + value % (UINT64_C(1) << 34); // after the heap
    case 4:
        return HEAP + HEAP_BYTES + (UINT64_C(1) << value % 36); // far after it
    case 5:
        return LIBRARY + 0x200000 + value % (1 << 20); // an unmapped library
    case 6:
        return HEAP - value % (1 << 24) * 8; // an index below zero
    case 7:
        return (uint64_t) - (int64_t)(value % 4096) - 2; // an error's number
    case 8:
        return value % 65536 * 0x10001; // two shorts
    default:
        return piece((unsigned)(value % PIECES)) << value % 16; // computed with
    }
}

static void random_crashes_claim_no_cause(void **state)
{
    enum { CRASHES = 100000 };
    seed = 88172645463325252u;
    build(state);
    // A heap in use: pieces hold pointers to others, numbers and texts.
    for (unsigned i = 0; i < PIECES; i++) {
        *word_at(piece(i)) = piece((unsigned)(next_random() % PIECES));
        *word_at(piece(i) + 8) = next_random() >> next_random() % 64;
        *word_at(piece(i) + 16) = UINT64_C(0x7265746c61570020);
    }
    for (int i = 0; i < CRASHES; i++) {
        for (size_t k = 0; k < RSP; k++)
            crash.registers.value[k] =
                k % 2 ? piece((unsigned)(next_random() % PIECES)) : random_value();
        stack[0x1000 / 8 + next_random() % 64] =
            piece((unsigned)(next_random() % PIECES));
        origins_find(&capture, random_value(), &found);
        if (found.count != 0)
            print_message("%s: %s 0x%llx\n", found.list[0].kind,
                          found.list[0].register_name,
                          (unsigned long long)found.list[0].value);
        assert_int_equal(found.count, 0);
    }
    print_message("%d crashes of 4 random values each\n", CRASHES);
}

static void search_in_a_heap_is_bounded(void **state)
{
    build(state);
    for (size_t i = 0; i < sizeof(heap) / sizeof(heap[0]); i++)
        heap[i] = HEAP >> 12 ^ (HEAP + 0x40);
    memory.read_count = 0;
    (void)origin_of(HEAP >> 12 ^ (HEAP + 0x40));
    assert_true(memory.read_count < 40000);
}

static void what_was_jumped_to_may_be_the_head_of_a_list_of_freed_memory(void **state)
{
    build(state);
    uint64_t head = HEAP + 0x100; // of the list, elsewhere in malloc's data
    uint64_t chunk = piece(17) - 16;
    *word_at(head + 16) = chunk;
    *word_at(head + 24) = chunk;
    *word_at(chunk + 16) = head;
    *word_at(chunk + 24) = head;
    crash.registers.value[RIP] = head;
    crash.registers.value[RAX] = 0;
    origins_find(&capture, head, &found);
    assert_int_equal(found.count, 1);
    assert_string_equal(found.list[0].kind, "freed-chunk");
    assert_int_equal(found.list[0].address, piece(17));
    *word_at(chunk + 24) = head + 16; // a list that does not lead back is none
    origins_find(&capture, head, &found);
    assert_int_equal(found.count, 0);
}

// put_library puts what the linker leaves of a library that was unloaded.
static void put_library(uint64_t at, uint64_t start, const char *name)
{
    uint64_t libname = at + 0x400;
    *word_at(at - 8) = 0x470 | 1;
    *word_at(at + 40) = at;
    *word_at(at + 56) = libname;
    *word_at(at + 0x200) = start;
    *word_at(at + 0x208) = start + 0x8190;
    *word_at(at + 0x210) = start + 0x4000;
    *word_at(libname) = libname + 24;
    memcpy(word_at(libname + 24), name, strlen(name) + 1);
}

static const char *unloaded_at(uint64_t address)
{
    found.count = 0;
    origins_find_unloaded(&capture, address, &found);
    return found.count == 1 ? found.list[0].image : "";
}

static void unloaded_library_is_known_by_what_the_linker_has_left(void **state)
{
    uint64_t start = LIBRARY + 0x10000000;
    build(state);
    put_library(HEAP + 0x3000, start, "/opt/shop/libplug.so");
    assert_string_equal(unloaded_at(start + 0x1234), "libplug.so");
    assert_string_equal(unloaded_at(start + 0x8190), "");
    assert_string_equal(unloaded_at(start - 1), "");
    *word_at(HEAP + 0x3000 + 40) = HEAP; // what does not lead to itself is none
    assert_string_equal(unloaded_at(start + 0x1234), "");
    build(state);
    put_library(HEAP + 0x3000, LIBRARY, "libplug.so"); // it is still there
    assert_string_equal(unloaded_at(LIBRARY + 0x1234), "");
}

static void
name_whose_end_malloc_overwrote_is_completed_by_the_path_before(void **state)
{
    uint64_t start = LIBRARY + 0x10000000;
    uint64_t at = HEAP + 0x3000;
    build(state);
    put_library(at, start, "libplug.so");
    *word_at(at - 8) = (0x400 + 24 + 8 + 16) | 1; // its last word is "so" and beyond
    *word_at(at + 0x400 + 32) = 0x430;
    assert_string_equal(unloaded_at(start), "libplug....");
    memcpy((char *)word_at(at - 0x40), "gnu/libplug.so", sizeof("gnu/libplug.so"));
    assert_string_equal(unloaded_at(start), "libplug.so");
}

static void name_is_completed_by_what_malloc_has_left_of_the_path(void **state)
{
    static const char left[] = "ibplug.so"; // after the links of the freed piece
    uint64_t start = LIBRARY + 0x10000000;
    uint64_t at = HEAP + 0x3000;
    build(state);
    put_library(at, start, "/srv/shop/bin1/libplug.so");
    *word_at(at - 8) = (0x400 + 24 + 24 + 16) | 1; // its last word is "o"
    *word_at(at + 0x400 + 24 + 24) = 0x430;
    memcpy((char *)word_at(at - 0x40), left, sizeof(left));
    assert_string_equal(unloaded_at(start), "libplug.so");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(link_in_freed_memory_leads_to_the_piece),
        cmocka_unit_test(value_after_the_links_of_a_freed_node_leads_to_the_piece),
        cmocka_unit_test(last_link_of_a_low_heap_is_not_taken_for_a_small_number),
        cmocka_unit_test(name_is_completed_by_what_malloc_has_left_of_the_path),
        cmocka_unit_test(fill_and_text_are_known_by_their_bytes),
        cmocka_unit_test(cut_or_flipped_pointer_is_known_by_what_the_program_has),
        cmocka_unit_test(failed_signature_is_known_by_its_key_on_aarch64_alone),
        cmocka_unit_test(
            half_of_a_pointer_is_not_looked_for_in_mappings_without_bounds),
        cmocka_unit_test(guard_page_names_the_thread_whose_stack_is_above_it),
        cmocka_unit_test(what_was_jumped_to_may_be_the_head_of_a_list_of_freed_memory),
        cmocka_unit_test(unloaded_library_is_known_by_what_the_linker_has_left),
        cmocka_unit_test(
            name_whose_end_malloc_overwrote_is_completed_by_the_path_before),
        cmocka_unit_test(random_crashes_claim_no_cause),
        cmocka_unit_test(search_in_a_heap_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
