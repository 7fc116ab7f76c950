// SPDX-License-Identifier: Apache-2.0
#include "languages/jitted.h"

#include <stdio.h>

#include "languages/jit_descriptor.h"
#include "support/jitdump_builder.h"
#include "support/test.h"

// name_at is the name and source found at an address, as `source name`; "": none.
static const char *name_at(const struct jitted *jitted, uint64_t address)
{
    static char text[256];
    const struct jitted_code *code = jitted_find(jitted, address);
    text[0] = 0;
    if (code != NULL)
        (void)snprintf(text, sizeof(text), "%s %s", code->source, code->name.bytes);
    return text;
}

static void read_map(struct jitted *jitted, const char *map)
{
    jitted_read_map(jitted, map, strlen(map));
}

static void wanted(struct jitted *jitted, uint64_t a, uint64_t b, uint64_t c)
{
    *jitted = (struct jitted){ 0 };
    jitted_want(jitted, b);
    jitted_want(jitted, c);
    jitted_want(jitted, a);
    jitted_sort(jitted);
}

static void the_last_line_of_a_map_counts(void **state)
{
    (void)state;
    struct jitted jitted;
    wanted(&jitted, 0x100, 0x1ff, 0x200);
    read_map(&jitted, "0 ffffffff all\n100 100 old\n100 100 new\n300 100 other\n");
    assert_string_equal(name_at(&jitted, 0x100), "perf-map new");
    assert_string_equal(name_at(&jitted, 0x1ff), "perf-map new");
    assert_string_equal(name_at(&jitted, 0x200), "perf-map all");
    assert_string_equal(name_at(&jitted, 0x300), "");
    jitted_deinit(&jitted);
}

static void code_that_moved_keeps_its_name(void **state)
{
    (void)state;
    struct jitted jitted;
    struct byte_builder out = { 0 };
    wanted(&jitted, 0x2080, 0x3080, 0x4000);
    jitdump_build(&out);
    jitted_read_dump(&jitted, out.bytes, out.size);
    read_map(&jitted, "2000 3000 by the map\n");
    assert_string_equal(name_at(&jitted, 0x2080), "jitdump f");
    assert_string_equal(name_at(&jitted, 0x3080), "jitdump f");
    assert_string_equal(name_at(&jitted, 0x4000), "perf-map by the map");
    jitted_deinit(&jitted);
}

static void sizes_that_wrap_cover_nothing_before_their_start(void **state)
{
    (void)state;
    struct jitted jitted;
    wanted(&jitted, 0x10, 0x2000, UINT64_MAX);
    read_map(&jitted, "1000 ffffffffffffffff f\n");
    assert_string_equal(name_at(&jitted, 0x10), "");
    assert_string_equal(name_at(&jitted, 0x2000), "perf-map f");
    jitted_deinit(&jitted);
}

static void names_are_taken_apart(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        const char *language;
        const char *function;
        const char *file;
    } cases[] = {
        { "JS:*serve /srv/a b.js:3:16", "javascript", "serve", "/srv/a b.js" },
        { "JS:~serve file:///srv/a.mjs:3:16", "javascript", "serve",
          "file:///srv/a.mjs" },
        { "LazyCompile:^get total node:fs:12:1", "javascript", "get total", "node:fs" },
        { "JS:* /srv/a.js:1:1", "javascript", "(anonymous)", "/srv/a.js" },
        { "py::Shop.total:/srv/shop.py", "python", "Shop.total", "/srv/shop.py" },
        { "Builtin:ArrayMap", NULL, "Builtin:ArrayMap", NULL },
        { "JS:", NULL, "JS:", NULL },
        { "Lshop/Cart;::total", NULL, "Lshop/Cart;::total", NULL },
        { "long shop.Cart.total(int)", NULL, "long shop.Cart.total(int)", NULL },
        { "long shop.Cart.total(int)", "java", "long shop.Cart.total(int)", NULL },
        { "StubRoutines (1)", NULL, "StubRoutines (1)", NULL },
        { "Interpreter", NULL, "Interpreter", NULL },
    };
    enum { HOTSPOT = 9 }; // the first that is one's
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct jitted_place place =
            jitted_name_split(cases[i].name, strlen(cases[i].name), i >= HOTSPOT);
        assert_int_equal(place.function_size, strlen(cases[i].function));
        assert_memory_equal(place.function, cases[i].function, place.function_size);
        assert_int_equal(place.file_size,
                         cases[i].file != NULL ? strlen(cases[i].file) : 0);
        if (cases[i].file != NULL)
            assert_memory_equal(place.file, cases[i].file, place.file_size);
        if (cases[i].language != NULL)
            assert_string_equal(place.language, cases[i].language);
        else
            assert_null(place.language);
    }
}

static void more_addresses_than_the_limit_are_left_out(void **state)
{
    (void)state;
    struct jitted jitted = { 0 };
    for (uint64_t i = 0; i < JITTED_ADDRESSES + 10; i++)
        jitted_want(&jitted, i);
    size_t count = jitted.count;
    jitted_deinit(&jitted);
    assert_int_equal(count, JITTED_ADDRESSES);
}

static void a_debuggers_file_that_is_no_elf_names_nothing(void **state)
{
    (void)state;
    struct jitted jitted;
    wanted(&jitted, 1, 2, 3);
    jit_file_name("\x7f"
                  "ELF",
                  4, &jitted);
    assert_string_equal(name_at(&jitted, 1), "");
    jitted_deinit(&jitted);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_last_line_of_a_map_counts),
        cmocka_unit_test(code_that_moved_keeps_its_name),
        cmocka_unit_test(sizes_that_wrap_cover_nothing_before_their_start),
        cmocka_unit_test(names_are_taken_apart),
        cmocka_unit_test(more_addresses_than_the_limit_are_left_out),
        cmocka_unit_test(a_debuggers_file_that_is_no_elf_names_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
