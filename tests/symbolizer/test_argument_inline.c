// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE // dl_iterate_phdr
#include "symbolizer/arguments/argument_inline.h"

#include <dwarf.h>
#include <fcntl.h>
#include <link.h>
#include <unistd.h>

#include "support/test.h"

#define INLINE static inline __attribute__((always_inline))

static __attribute__((noinline)) uint64_t called_from(void)
{
    return (uintptr_t)__builtin_return_address(0);
}

INLINE uint64_t inner(int number)
{
    return called_from() + 0 * (uint64_t)number;
}

INLINE uint64_t middle(int number)
{
    return inner(number + 1);
}

static __attribute__((noinline)) uint64_t around(int number)
{
    volatile uint64_t pc = middle(number); // volatile: the call comes back here
    return pc;
}

struct scene {
    Dwarf *dwarf;
    struct argument_call call;
};

static int note_bias(struct dl_phdr_info *info, size_t size, void *out)
{
    (void)size;
    *(uint64_t *)out = info->dlpi_addr;
    return 1; // the program comes first
}

// begin stands in the innermost of the three functions.
static int begin(void **state)
{
    static struct scene scene;
    Dwarf_Die unit;
    Dwarf_Die die;
    uint64_t bias = 0;
    dl_iterate_phdr(note_bias, &bias);
    scene = (struct scene){ .call.vaddr = around(1) - bias - 1, .call.index = 2 };
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    scene.dwarf = dwarf_begin(fd, DWARF_C_READ);
    close(fd);
    *state = &scene;
    if (dwarf_addrdie(scene.dwarf, scene.call.vaddr, &unit) == NULL)
        return -1;
    for (int more = dwarf_child(&unit, &die); more == 0;
         more = dwarf_siblingof(&die, &die))
        if (dwarf_tag(&die) == DW_TAG_subprogram &&
            dwarf_haspc(&die, scene.call.vaddr) == 1) {
            scene.call.function = die;
            scene.call.has_function = true;
        }
    return scene.call.has_function ? 0 : -1;
}

static int end(void **state)
{
    struct scene *scene = *state;
    return dwarf_end(scene->dwarf);
}

// find asks for the calls inlined in front of the last frame, and takes frames over.
static size_t find(const struct scene *scene, json_t *frames,
                   Dwarf_Die out[ARGUMENT_INLINE_MAX])
{
    size_t count = argument_inline_find(&scene->call, frames, out);
    json_decref(frames);
    return count;
}

static void inlined_calls_are_found_innermost_first(void **state)
{
    Dwarf_Die found[ARGUMENT_INLINE_MAX];
    json_t *frames = json_pack("[{s:b, s:s}, {s:b, s:s}, {s:b, s:s}]", "inline", 1,
                               "raw_name", "inner", "inline", 1, "raw_name", "middle",
                               "inline", 0, "raw_name", "around");
    assert_int_equal(find(*state, frames, found), 2);
    assert_string_equal(dwarf_diename(&found[0]), "inner");
    assert_string_equal(dwarf_diename(&found[1]), "middle");
}

static void frames_that_are_named_otherwise_get_nothing(void **state)
{
    Dwarf_Die found[ARGUMENT_INLINE_MAX];
    json_t *frames = json_pack("[{s:b, s:s}, {s:b, s:s}, {s:b, s:s}]", "inline", 1,
                               "raw_name", "middle", "inline", 1, "raw_name", "inner",
                               "inline", 0, "raw_name", "around");
    assert_int_equal(find(*state, frames, found), 0);
}

static void fewer_frames_than_calls_get_nothing(void **state)
{
    Dwarf_Die found[ARGUMENT_INLINE_MAX];
    json_t *frames = json_pack("[{s:b, s:s}, {s:b, s:s}, {s:b, s:s}]", "inline", 0,
                               "raw_name", "other", "inline", 1, "raw_name", "middle",
                               "inline", 0, "raw_name", "around");
    assert_int_equal(find(*state, frames, found), 0);
}

static void more_frames_than_calls_get_nothing(void **state)
{
    Dwarf_Die found[ARGUMENT_INLINE_MAX];
    struct scene scene = *(struct scene *)*state;
    scene.call.index = 3;
    json_t *frames = json_pack("[{s:b, s:s}, {s:b, s:s}, {s:b, s:s}, {s:b}]", "inline",
                               1, "raw_name", "deeper", "inline", 1, "raw_name",
                               "inner", "inline", 1, "raw_name", "middle", "inline", 0);
    assert_int_equal(find(&scene, frames, found), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inlined_calls_are_found_innermost_first),
        cmocka_unit_test(frames_that_are_named_otherwise_get_nothing),
        cmocka_unit_test(fewer_frames_than_calls_get_nothing),
        cmocka_unit_test(more_frames_than_calls_get_nothing),
    };
    return cmocka_run_group_tests_name("symbolizer/argument_inline", tests, begin, end);
}
