// SPDX-License-Identifier: Apache-2.0
#include "images/images.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "agent/live/stop.h"
#include "agent/live/target_memory.h"
#include "images/link_map.h"
#include "support/child.h"
#include "support/test.h"

// Enough bytes that reads cross pages, and a hole after them.
enum { SAMPLE_BYTES = 3 * 4096 };
static uint8_t *sample;

static int wait_for_the_end(int ready, int go)
{
    char byte;
    child_say_ready(ready);
    return read(go, &byte, 1) == 1 ? 0 : 1;
}

static int set_up(void **state)
{
    (void)state;
    sample = mmap(NULL, SAMPLE_BYTES + 4096, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (sample == MAP_FAILED || munmap(sample + SAMPLE_BYTES, 4096) != 0)
        return 1;
    for (size_t i = 0; i < SAMPLE_BYTES; i++)
        sample[i] = (uint8_t)(i * 7 + i / 4096);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    return munmap(sample, SAMPLE_BYTES);
}

static uint64_t address_of(const void *pointer)
{
    return (uint64_t)(uintptr_t)pointer;
}

static void target_memory_reads_across_pages_and_stops_at_holes(void **state)
{
    (void)state;
    struct child child = child_start(wait_for_the_end);
    struct target_memory memory;
    uint8_t copy[8192];
    enum ch_status status = target_memory_init(&memory, child.pid);
    struct memory_reader reader = target_memory_reader(&memory);

    enum ch_status inside = memory_read(&reader, address_of(sample) + 100, copy, 8192);
    bool equal = memcmp(copy, sample + 100, 8192) == 0;
    enum ch_status outside =
        memory_read(&reader, address_of(sample) + SAMPLE_BYTES - 4, copy, 8);
    enum ch_status nowhere = memory_read(&reader, 16, copy, 8);
    target_memory_deinit(&memory);
    child_end(&child, true);

    assert_int_equal(status, CH_OK);
    assert_int_equal(inside, CH_OK);
    assert_true(equal);
    assert_int_equal(outside, CH_ERR_FAULT);
    assert_int_equal(nowhere, CH_ERR_FAULT);
}

static void target_memory_window_gives_the_same_bytes_as_the_cache(void **state)
{
    (void)state;
    struct child child = child_start(wait_for_the_end);
    struct target_memory memory;
    enum ch_status status = target_memory_init(&memory, child.pid);
    struct memory_reader reader = target_memory_reader(&memory);
    size_t wrong = 0;

    target_memory_set_stack(&memory, address_of(sample),
                            address_of(sample) + SAMPLE_BYTES);
    // Outward as a walk goes, and then back, as an expression may.
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i + 8 <= SAMPLE_BYTES; i += 8) {
            size_t at = pass == 0 ? i : SAMPLE_BYTES - 8 - i;
            uint64_t word;
            uint64_t wanted;
            memcpy(&wanted, sample + at, 8);
            wrong +=
                memory_read_word(&reader, address_of(sample) + at, &word) != CH_OK ||
                word != wanted;
        }
    }
    target_memory_deinit(&memory);
    child_end(&child, true);

    assert_int_equal(status, CH_OK);
    assert_int_equal(wrong, 0);
}

// reads_sample compares a stretch of the sample with what a walk of a stack reads
// there.
static bool reads_sample(struct target_memory *memory, size_t start, size_t end)
{
    uint8_t copy[SAMPLE_BYTES + 1];
    struct memory_reader reader = target_memory_reader(memory);
    return memory_read(&reader, address_of(sample) + start, copy, end - start) ==
               CH_OK &&
           memcmp(copy, sample + start, end - start) == 0;
}

static void target_memory_reads_the_stacks_it_expects_at_once(void **state)
{
    (void)state;
    struct child child = child_start(wait_for_the_end);
    struct target_memory memory;
    uint64_t base = address_of(sample);
    const struct target_stack stacks[] = {
        { base + 64, base + 4096 },
        { base + 5000, base + 8192 },
        { base + 9000, base + SAMPLE_BYTES + 4096 }, // its end cannot be read
    };
    enum ch_status status = target_memory_init(&memory, child.pid);
    target_memory_expect(&memory, stacks, 3);

    target_memory_set_stack(&memory, base, base + 4096);
    bool first = reads_sample(&memory, 64, 4096);
    bool at_once = memory.ends[1].size == 8192 - 5000;
    bool below = reads_sample(&memory, 8, 64); // less than was said to be in use
    // The second does not come after all.
    target_memory_set_stack(&memory, base + 8192, base + SAMPLE_BYTES + 4096);
    bool third = reads_sample(&memory, 9000, SAMPLE_BYTES);
    bool hole = reads_sample(&memory, 9000, SAMPLE_BYTES + 1);
    target_memory_set_stack(&memory, base + 4096, base + 5000);
    bool unexpected = reads_sample(&memory, 4096, 5000);
    target_memory_deinit(&memory);
    child_end(&child, true);

    assert_int_equal(status, CH_OK);
    assert_true(first);
    assert_true(at_once);
    assert_true(below);
    assert_true(third);
    assert_false(hole);
    assert_true(unexpected);
}

static void target_memory_peeks_at_a_stopped_thread(void **state)
{
    (void)state;
    struct child child = child_start(wait_for_the_end);
    struct target_memory memory;
    struct stop stop;
    enum ch_status stopped = stop_threads(&stop, child.pid, 0, 10000);
    enum ch_status status = target_memory_init(&memory, child.pid);
    memory.way = TARGET_PEEK;
    target_memory_set_thread(&memory, child.pid);

    bool same = reads_sample(&memory, 1, 4096 + 7);
    bool to_its_end = reads_sample(&memory, 8192 + 3, SAMPLE_BYTES);
    bool hole = reads_sample(&memory, SAMPLE_BYTES - 3, SAMPLE_BYTES + 1);
    enum target_way way = memory.way;
    stop_release(&stop);
    uint8_t byte;
    size_t unstopped = target_memory_copy(&memory, address_of(sample), &byte, 1);
    bool gave_up = memory.way == TARGET_NO_WAY;
    target_memory_deinit(&memory);
    stop_deinit(&stop);
    child_end(&child, true);

    assert_int_equal(stopped, CH_OK);
    assert_int_equal(status, CH_OK);
    assert_true(same);
    assert_true(to_its_end);
    assert_false(hole);
    assert_int_equal(way, TARGET_PEEK);
    assert_int_equal(unstopped, 0);
    assert_true(gave_up);
}

struct target {
    struct child child;
    struct target_memory memory;
    struct memory_reader reader;
    struct target_images images;
    enum ch_status status;
};

// target_read lists what is mapped in the child.
static enum ch_status target_read(struct target *target)
{
    enum ch_status status = target_memory_init(&target->memory, target->child.pid);
    if (status != CH_OK)
        return status;
    target->reader = target_memory_reader(&target->memory);
    return images_read(&target->images, target->child.pid, &target->reader);
}

static void target_open(struct target *target)
{
    target->child = child_start(wait_for_the_end);
    target->status = target_read(target);
}

static void target_close(struct target *target)
{
    images_deinit(&target->images);
    target_memory_deinit(&target->memory);
    child_end(&target->child, true);
}

static bool path_ends(const struct target_image *image, const char *end)
{
    size_t size = strlen(end);
    return image != NULL && image->path_size >= size &&
           memcmp(image->path + image->path_size - size, end, size) == 0;
}

static void images_hold_the_program_its_libraries_and_the_vdso(void **state)
{
    (void)state;
    struct target target;
    target_open(&target);
    const struct target_image *self =
        images_find(&target.images, address_of((void *)(uintptr_t)wait_for_the_end));
    const struct target_image *libc =
        images_find(&target.images, address_of((void *)(uintptr_t)getppid));
    bool found_self = path_ends(self, "test_images_images");
    bool found_libc = path_ends(libc, "/libc.so.6");
    bool libc_is_whole = libc != NULL && libc->build_id_size == 20 &&
                         libc->eh_frame_hdr_size != 0 && libc->dynamic != 0 &&
                         libc->end_of_text > libc->base &&
                         libc->end >= libc->end_of_text;
    size_t vdso_count = 0;
    bool sorted = true;
    for (size_t i = 0; i < target.images.count; i++) {
        vdso_count += path_ends(&target.images.images[i], "[vdso]");
        sorted = sorted && (i == 0 || target.images.images[i - 1].base <
                                          target.images.images[i].base);
    }
    enum ch_status status = target.status;
    target_close(&target);

    assert_int_equal(status, CH_OK);
    assert_true(found_self);
    assert_true(found_libc);
    assert_true(libc_is_whole);
    assert_int_equal(vdso_count, 1);
    assert_true(sorted);
}

static void images_tell_code_from_data(void **state)
{
    (void)state;
    struct target target;
    target_open(&target);
    bool code =
        images_is_code(&target.images, address_of((void *)(uintptr_t)wait_for_the_end));
    bool data = images_is_code(&target.images, address_of(sample));
    bool nothing = images_is_code(&target.images, 0);
    target_close(&target);

    assert_true(code);
    assert_false(data);
    assert_false(nothing);
}

// An ELF file that is only read, not run, is no image. Nothing links this one.
static int map_a_library_as_data(int ready, int go)
{
    int fd = open("/lib/x86_64-linux-gnu/libnss_compat.so.2", O_RDONLY | O_CLOEXEC);
    void *bytes =
        fd >= 0 ? mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;
    if (fd >= 0)
        close(fd);
    return bytes == MAP_FAILED ? 1 : wait_for_the_end(ready, go);
}

static void images_leave_out_libraries_that_are_only_read(void **state)
{
    (void)state;
    struct target target;
    target.child = child_start(map_a_library_as_data);
    enum ch_status status = target_read(&target);
    size_t found = 0;
    for (size_t i = 0; i < target.images.count; i++)
        found += path_ends(&target.images.images[i], "/libnss_compat.so.2");
    target_close(&target);

    assert_int_equal(status, CH_OK);
    assert_int_equal(found, 0);
}

// copy_over puts anonymous memory with the same bytes in the place of a mapping, as
// programs do that move their text to huge pages.
static bool copy_over(uint64_t start, uint64_t end, const char *permissions)
{
    size_t size = (size_t)(end - start);
    void *at = (void *)(uintptr_t)start;
    int protection = (permissions[0] == 'r' ? PROT_READ : 0) |
                     (permissions[1] == 'w' ? PROT_WRITE : 0) |
                     (permissions[2] == 'x' ? PROT_EXEC : 0);
    if (protection == 0)
        return mmap(at, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
                    0) != MAP_FAILED;
    void *copy = malloc(size);
    if (copy == NULL)
        return false;
    memcpy(copy, at, size);
    bool done = mmap(at, size, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED;
    if (done)
        memcpy(at, copy, size);
    free(copy);
    return done && mprotect(at, size, protection) == 0;
}

static int move_cmocka_to_anonymous_memory(int ready, int go)
{
    char lines[64][256];
    size_t count = 0;
    FILE *maps = fopen("/proc/self/maps", "re");
    while (maps != NULL && count < 64 && fgets(lines[count], 256, maps) != NULL)
        count += strstr(lines[count], "/libcmocka.so") != NULL;
    if (maps == NULL || fclose(maps) != 0 || count == 0)
        return 1;
    for (size_t i = 0; i < count; i++) {
        char *end;
        uint64_t start = strtoull(lines[i], &end, 16);
        uint64_t stop = strtoull(end + 1, &end, 16);
        if (!copy_over(start, stop, end + 1))
            return 1;
    }
    return wait_for_the_end(ready, go);
}

static void images_of_anonymous_memory_come_from_the_link_map(void **state)
{
    (void)state;
    uint64_t address = address_of((void *)(uintptr_t)_cmocka_run_group_tests);
    struct target target;
    target.child = child_start(move_cmocka_to_anonymous_memory);
    enum ch_status status = target_read(&target);
    bool by_maps = images_find(&target.images, address) != NULL;
    enum ch_status list =
        link_map_read(&target.images, target.child.pid, &target.reader);
    const struct target_image *image = images_find(&target.images, address);
    bool named = image != NULL && memmem(image->path, image->path_size, "libcmocka", 9);
    bool identified = image != NULL && image->build_id_size != 0;
    bool sorted = true;
    for (size_t i = 1; i < target.images.count; i++)
        sorted =
            sorted && target.images.images[i - 1].base < target.images.images[i].base;
    target_close(&target);

    assert_int_equal(status, CH_OK);
    assert_int_equal(list, CH_OK);
    assert_false(by_maps);
    assert_true(named);
    assert_true(identified);
    assert_true(sorted);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(target_memory_reads_across_pages_and_stops_at_holes),
        cmocka_unit_test(target_memory_window_gives_the_same_bytes_as_the_cache),
        cmocka_unit_test(target_memory_reads_the_stacks_it_expects_at_once),
        cmocka_unit_test(target_memory_peeks_at_a_stopped_thread),
        cmocka_unit_test(images_hold_the_program_its_libraries_and_the_vdso),
        cmocka_unit_test(images_tell_code_from_data),
        cmocka_unit_test(images_leave_out_libraries_that_are_only_read),
        cmocka_unit_test(images_of_anonymous_memory_come_from_the_link_map),
    };
    return cmocka_run_group_tests_name("agent/images", tests, set_up, tear_down);
}
