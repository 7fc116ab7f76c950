// SPDX-License-Identifier: Apache-2.0
#include "images/image_symbol.h"

#include <dlfcn.h>
#include <elf.h>
#include <string.h>

#include "agent/live/target_memory.h"
#include "formats/debug/elf_hash.h"
#include "support/child.h"
#include "support/fake_memory.h"
#include "support/test.h"

static int wait_to_be_read(int ready, int go)
{
    char byte;
    child_say_ready(ready);
    return read(go, &byte, 1) == 1 ? 0 : 1;
}

// A forked child has every library where we have it.
static void image_symbol_is_where_the_linker_finds_it(void **state)
{
    (void)state;
    static const char *const names[] = { "malloc", "abort", "__abort_msg", "environ" };
    void *libc = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
    struct child child = child_start(wait_to_be_read);
    struct target_memory memory;
    struct target_images images = { 0 };
    uint64_t found[4] = { 0 };
    uint64_t missing = 1;
    enum ch_status status = target_memory_init(&memory, child.pid);
    struct memory_reader reader = target_memory_reader(&memory);
    if (status == CH_OK)
        status = images_read(&images, child.pid, &reader);
    for (size_t i = 0; status == CH_OK && i < 4; i++)
        found[i] = image_symbol_find_in(&reader, &images, "/libc.so", names[i]);
    if (status == CH_OK)
        missing = image_symbol_find_in(&reader, &images, "/libc.so", "no_such_name");
    images_deinit(&images);
    target_memory_deinit(&memory);
    (void)child_end(&child, true);
    assert_int_equal(status, CH_OK);
    assert_non_null(libc);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(found[i], (uint64_t)(uintptr_t)dlsym(libc, names[i]));
    assert_int_equal(missing, 0);
}

// An image with one symbol, in one page.
enum {
    BASE = 0x10000,
    AT_DYNAMIC = 0x000,
    AT_HASH = 0x100, // 1 bucket, first symbol 1, 1 word of filter
    AT_SYMBOLS = 0x200,
    AT_STRINGS = 0x300,
    IMAGE_BYTES = 0x400,
};

static uint8_t bytes[IMAGE_BYTES];

static void put(size_t at, uint64_t value, size_t size)
{
    memcpy(bytes + at, &value, size);
}

static void build(void)
{
    static const uint64_t dynamic[] = { DT_GNU_HASH, BASE + AT_HASH,
                                        DT_SYMTAB,   AT_SYMBOLS,
                                        DT_STRTAB,   BASE + AT_STRINGS,
                                        DT_NULL,     0 };
    static const uint32_t hash[] = { 1, 1, 1, 6, 0, 0, 1 };
    memset(bytes, 0, sizeof(bytes));
    memcpy(bytes + AT_DYNAMIC, dynamic, sizeof(dynamic));
    memcpy(bytes + AT_HASH, hash, sizeof(hash));
    // "say" is symbol 1, and the last of its bucket.
    put(AT_HASH + sizeof(hash), elf_hash_name("say") | 1, 4);
    put(AT_SYMBOLS + 24, 1, 4);
    put(AT_SYMBOLS + 24 + 6, 7, 2);
    put(AT_SYMBOLS + 24 + 8, 0x77, 8);
    memcpy(bytes + AT_STRINGS + 1, "say", 4);
}

static enum ch_status look_up(struct fake_memory *memory, uint64_t *out)
{
    const struct target_image image = { .base = BASE,
                                        .bias = BASE,
                                        .dynamic = BASE + AT_DYNAMIC };
    struct memory_reader reader = fake_memory_reader(memory);
    return image_symbol_find(&reader, &image, "say", out);
}

static void image_symbol_in_damaged_memory_is_bounded(void **state)
{
    (void)state;
    static const uint64_t damage[] = {
        0, 1, 2, UINT64_MAX, BASE, BASE + IMAGE_BYTES - 1, UINT64_C(0x8000000000000000)
    };
    const struct fake_region region = { BASE, bytes, sizeof(bytes) };
    struct fake_memory memory = { .regions = &region, .region_count = 1 };
    uint64_t address = 0;
    build();
    assert_int_equal(look_up(&memory, &address), CH_OK);
    assert_int_equal(address, BASE + 0x77);
    for (size_t at = 0; at < IMAGE_BYTES; at += 4) {
        for (size_t i = 0; i < sizeof(damage) / sizeof(damage[0]); i++) {
            build();
            put(at, damage[i], at + 8 <= IMAGE_BYTES ? 8 : 4);
            memory.read_count = 0;
            (void)!look_up(&memory, &address);
            assert_true(memory.read_count < 20000);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(image_symbol_is_where_the_linker_finds_it),
        cmocka_unit_test(image_symbol_in_damaged_memory_is_bounded),
    };
    return cmocka_run_group_tests_name("agent/image_symbol", tests, NULL, NULL);
}
