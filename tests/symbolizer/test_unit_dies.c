// SPDX-License-Identifier: Apache-2.0

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/text.h"
#include "support/test.h"
#include "symbolizer/cache/symbol_cache.h"
#include "symbolizer/names/image_cache.h"
#include "symbolizer/names/symbol_image.h"

// located counts functions that the cache was asked for.
struct located {
    struct symbol_cache cache;
    uint64_t text[2];
    size_t asked;
    size_t right;
};

static bool is_located(struct symbol_cache *cache, Dwarf_Die *function, uint64_t vaddr)
{
    struct symbol_cache_die found;
    uint64_t die = dwarf_dieoffset(function);
    return symbol_cache_find_die(cache, vaddr, &found) && found.die == die &&
           found.unit == die - dwarf_cuoffset(function);
}

// locate asks for the first and the last address of each part of a function.
static int locate(Dwarf_Die *function, void *context)
{
    struct located *located = context;
    Dwarf_Addr base;
    Dwarf_Addr low;
    Dwarf_Addr high;
    ptrdiff_t at = 0;
    while ((at = dwarf_ranges(function, at, &base, &low, &high)) > 0) {
        if (low < located->text[0] || high > located->text[1] || low == high)
            continue;
        located->asked += 2;
        located->right += is_located(&located->cache, function, low);
        located->right += is_located(&located->cache, function, high - 1);
    }
    return DWARF_CB_OK;
}

static void a_symbol_cache_knows_where_debug_information_has_each_function(void **state)
{
    (void)state;
    static const struct build_id any = { .size = 0 };
    static const struct debug_search no_cache = { 0 };
    struct located located = { .asked = 0 };
    struct text bytes = { 0 };
    struct symbol_image *image;
    struct build_id id;
    Dwarf_CU *cu = NULL;
    Dwarf_Die unit;
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    Dwarf *dwarf = dwarf_begin(fd, DWARF_C_READ);
    assert_non_null(dwarf);
    assert_int_equal(
        symbol_image_open(&image, "/proc/self/exe", &any, &no_cache, false), CH_OK);
    symbol_image_build(image, &id);
    symbol_image_text(image, located.text);
    assert_int_equal(symbol_cache_write(image, &id, &bytes), CH_OK);
    assert_int_equal(symbol_cache_over(&located.cache, bytes.bytes, bytes.size, &id),
                     CH_OK);
    while (dwarf_get_units(dwarf, cu, &cu, NULL, NULL, &unit, NULL) == 0)
        (void)dwarf_getfuncs(&unit, locate, &located, 0);
    dwarf_end(dwarf);
    close(fd);
    symbol_cache_deinit(&located.cache);
    symbol_image_close(image);
    text_deinit(&bytes);
    assert_true(located.asked > 200);
    assert_int_equal(located.right, located.asked);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            a_symbol_cache_knows_where_debug_information_has_each_function),
    };
    return cmocka_run_group_tests_name("symbolizer/unit_dies", tests, NULL, NULL);
}
