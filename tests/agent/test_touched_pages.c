// SPDX-License-Identifier: Apache-2.0
#include "agent/live/target_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include "support/test.h"

// More than are asked for at once.
enum { PAGES = 3 * TOUCHED_PAGES_READ };

struct mapping {
    struct touched_pages pages;
    uint8_t *bytes;
    uint64_t start;
    uint64_t end;
};

static int map_pages(void **state)
{
    static struct mapping mapping;
    touched_pages_open(&mapping.pages, getpid());
    size_t size = PAGES * (size_t)mapping.pages.page_bytes;
    mapping.bytes =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapping.bytes == MAP_FAILED)
        return -1;
    // Of huge pages, more would be there than was touched.
    (void)madvise(mapping.bytes, size, MADV_NOHUGEPAGE);
    mapping.start = (uint64_t)(uintptr_t)mapping.bytes;
    mapping.end = mapping.start + size;
    *state = &mapping;
    return 0;
}

static int unmap_pages(void **state)
{
    struct mapping *mapping = *state;
    touched_pages_close(&mapping->pages);
    return munmap(mapping->bytes, (size_t)(mapping->end - mapping->start));
}

static void touch(struct mapping *mapping, size_t first, size_t count)
{
    for (size_t i = first; i < first + count; i++)
        mapping->bytes[i * mapping->pages.page_bytes] = 1;
}

// expect_next expects pages first to last - 1 as the next from *at on.
static void expect_next(struct mapping *mapping, uint64_t *at, size_t first,
                        size_t last)
{
    uint64_t end = 0;
    assert_true(touched_pages_next(&mapping->pages, at, mapping->end, &end));
    assert_int_equal((*at - mapping->start) / mapping->pages.page_bytes, first);
    assert_int_equal((end - mapping->start) / mapping->pages.page_bytes, last);
    *at = end;
}

static void pages_that_nobody_touched_are_passed_over(void **state)
{
    struct mapping *mapping = *state;
    uint64_t at = mapping->start;
    uint64_t end = 0;
    touch(mapping, 3, 2);
    touch(mapping, TOUCHED_PAGES_READ - 1, 2); // asked for in two parts
    touch(mapping, PAGES - 1, 1);
    expect_next(mapping, &at, 3, 5);
    expect_next(mapping, &at, TOUCHED_PAGES_READ - 1, TOUCHED_PAGES_READ + 1);
    expect_next(mapping, &at, PAGES - 1, PAGES);
    assert_false(touched_pages_next(&mapping->pages, &at, mapping->end, &end));
}

static void what_lies_behind_the_end_is_not_given(void **state)
{
    struct mapping *mapping = *state;
    uint64_t at = mapping->start;
    uint64_t end = 0;
    touch(mapping, 0, 4);
    mapping->end = mapping->start + 2 * mapping->pages.page_bytes;
    expect_next(mapping, &at, 0, 2);
    assert_false(touched_pages_next(&mapping->pages, &at, mapping->end, &end));
    mapping->end = mapping->start + PAGES * mapping->pages.page_bytes;
}

static void all_count_as_touched_where_the_kernel_does_not_tell(void **state)
{
    struct mapping *mapping = *state;
    uint64_t at = mapping->start;
    touched_pages_close(&mapping->pages);
    touched_pages_open(&mapping->pages, -1); // no process
    expect_next(mapping, &at, 0, PAGES);
}

static void page_past_the_address_space_is_untouched_and_spoils_nothing(void **state)
{
    (void)state;
    struct touched_pages pages;
    uint64_t end = 0;
    uint64_t here = (uint64_t)(uintptr_t)&pages;
    touched_pages_open(&pages, getpid());
    const uint64_t size = pages.page_bytes;
    uint64_t start = UINT64_MAX / size * size - size; // the kernel's
    bool past = touched_pages_next(&pages, &start, start + size, &end);
    bool open = pages.fd >= 0;
    start = here / size * size;
    bool present = touched_pages_next(&pages, &start, start + size, &end);
    touched_pages_close(&pages);
    assert_true(open);
    assert_false(past);
    assert_true(present);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(page_past_the_address_space_is_untouched_and_spoils_nothing),
        cmocka_unit_test_setup_teardown(pages_that_nobody_touched_are_passed_over,
                                        map_pages, unmap_pages),
        cmocka_unit_test_setup_teardown(what_lies_behind_the_end_is_not_given,
                                        map_pages, unmap_pages),
        cmocka_unit_test_setup_teardown(
            all_count_as_touched_where_the_kernel_does_not_tell, map_pages,
            unmap_pages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
