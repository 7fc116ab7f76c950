// SPDX-License-Identifier: Apache-2.0
#include "crashhook/backtrace.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "support/test.h"

#define KEEP_FRAME() __asm__ volatile("")

// The frames of one capture.
struct captured {
    struct crashhook_frame frames[256];
    size_t count;
    int error;
};

static void capture(const struct crashhook_capture_options *options,
                    struct captured *out)
{
    struct crashhook_backtrace *backtrace;
    out->count = 0;
    out->error = crashhook_backtrace_capture(options, &backtrace);
    if (out->error != 0)
        return;
    struct crashhook_frames frames = crashhook_backtrace_frames(backtrace);
    while (out->count < 256 && crashhook_frames_next(&frames, &out->frames[out->count]))
        out->count++;
    crashhook_backtrace_destroy(backtrace);
}

__attribute__((noinline)) static void
recurse(unsigned depth, struct crashhook_capture_options *options, struct captured *out)
{
    if (depth != 0)
        recurse(depth - 1, options, out);
    else
        capture(options, out);
    KEEP_FRAME();
}

static void frame_0_is_the_caller_of_capture(void **state)
{
    (void)state;
    struct crashhook_backtrace *backtrace;
    struct crashhook_frame frame;
    uint64_t here = 0;
    assert_int_equal(crashhook_backtrace_capture(NULL, &backtrace), 0);
    __asm__ volatile(
#if defined(__x86_64__)
        "leaq 0(%%rip), %0"
#else
        "adr %0, ."
#endif
        : "=r"(here));
    struct crashhook_frames frames = crashhook_backtrace_frames(backtrace);
    bool any = crashhook_frames_next(&frames, &frame);
    crashhook_backtrace_destroy(backtrace);
    assert_true(any);
    assert_int_equal(frame.kind, CRASHHOOK_FRAME_RETURN_ADDRESS);
    assert_true(frame.address.bits < here && frame.address.bits + 200 > here);
}

static void every_algorithm_finds_the_same_frames(void **state)
{
    (void)state;
    struct captured found[3];
    for (int i = 0; i < 3; i++) {
        struct crashhook_capture_options options = CRASHHOOK_CAPTURE_DEFAULTS;
        options.algorithm = (enum crashhook_unwind_algorithm)i;
        recurse(20, &options, &found[i]);
        assert_int_equal(found[i].error, 0);
        assert_true(found[i].count > 20);
    }
    // Past the first frame, which is not the same call, up to the test's runner.
    for (size_t i = 1; i < 20; i++) {
        assert_int_equal(found[0].frames[i].address.bits,
                         found[1].frames[i].address.bits);
        assert_int_equal(found[0].frames[i].address.bits,
                         found[2].frames[i].address.bits);
    }
}

static struct captured in_callback;

static int compare_by_capturing(const void *a, const void *b)
{
    struct crashhook_capture_options options = CRASHHOOK_CAPTURE_DEFAULTS;
    options.algorithm = CRASHHOOK_UNWIND_PRECISE;
    capture(&options, &in_callback);
    return *(const int *)a - *(const int *)b;
}

static void precise_passes_code_that_keeps_no_frame_pointer(void **state)
{
    (void)state;
    // qsort calls back; the frames of libc have call frame information alone.
    int numbers[] = { 2, 1 };
    struct captured outer;
    capture(NULL, &outer);
    qsort(numbers, 2, sizeof(numbers[0]), compare_by_capturing);
    assert_true(in_callback.count > outer.count);
    for (size_t i = 1; i + 1 < outer.count; i++)
        assert_int_equal(in_callback.frames[in_callback.count - i].address.bits,
                         outer.frames[outer.count - i].address.bits);
}

static void a_limit_keeps_both_ends_and_counts_what_is_between(void **state)
{
    (void)state;
    struct crashhook_capture_options options = CRASHHOOK_CAPTURE_DEFAULTS;
    struct captured all;
    struct captured some;
    options.limit = CRASHHOOK_NO_LIMIT;
    recurse(100, &options, &all);
    options.limit = 10;
    options.top = 4;
    recurse(100, &options, &some);
    assert_int_equal(some.count, 10);
    assert_int_equal(some.frames[5].kind, CRASHHOOK_FRAME_OMITTED);
    assert_int_equal(some.frames[5].omitted, all.count - 9);
    assert_int_equal(some.frames[9].address.bits,
                     all.frames[all.count - 1].address.bits);
}

static void without_a_top_a_capture_stops_at_the_limit(void **state)
{
    (void)state;
    struct crashhook_capture_options options = CRASHHOOK_CAPTURE_DEFAULTS;
    struct captured some;
    options.limit = 10;
    options.top = 0;
    recurse(100, &options, &some);
    assert_int_equal(some.count, 10);
    assert_int_equal(some.frames[9].kind, CRASHHOOK_FRAME_TRUNCATED);
}

static void an_offset_skips_inner_frames(void **state)
{
    (void)state;
    struct crashhook_capture_options options = CRASHHOOK_CAPTURE_DEFAULTS;
    struct captured all;
    struct captured skipped;
    recurse(5, &options, &all);
    options.offset = 2;
    recurse(5, &options, &skipped);
    assert_int_equal(skipped.count, all.count - 2);
    assert_int_equal(skipped.frames[0].address.bits, all.frames[2].address.bits);
    options.offset = 1000;
    recurse(5, &options, &skipped);
    assert_int_equal(skipped.error, 0);
    assert_int_equal(skipped.count, 0);
}

static void options_that_make_no_sense_are_refused(void **state)
{
    (void)state;
    struct crashhook_capture_options options = CRASHHOOK_CAPTURE_DEFAULTS;
    struct captured none;
    options.limit = 0;
    capture(&options, &none);
    assert_int_equal(none.error, EINVAL);
    options.limit = 1;
    options.size--;
    capture(&options, &none);
    assert_int_equal(none.error, EINVAL);
}

// What runs on a stack that is nobody's thread's.
static ucontext_t main_context;
static ucontext_t other_context;
static struct captured on_other_stack;

static void run_on_other_stack(void)
{
    capture(NULL, &on_other_stack);
    KEEP_FRAME();
}

static void a_stack_of_the_programs_own_is_walked_too(void **state)
{
    (void)state;
    enum { BYTES = 256 << 10 };
    void *stack =
        mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(stack, MAP_FAILED);
    getcontext(&other_context);
    other_context.uc_stack.ss_sp = stack;
    other_context.uc_stack.ss_size = BYTES;
    other_context.uc_link = &main_context;
    makecontext(&other_context, run_on_other_stack, 0);
    swapcontext(&main_context, &other_context);
    munmap(stack, BYTES);
    assert_int_equal(on_other_stack.error, 0);
    assert_true(on_other_stack.count >= 2);
}

// break_frame has its caller's frame pointer and return address hold nonsense while
// it captures.
__attribute__((noinline)) static void break_frame(struct captured *out)
{
    struct crashhook_capture_options options = CRASHHOOK_CAPTURE_DEFAULTS;
    options.algorithm = CRASHHOOK_UNWIND_FAST;
    volatile uint64_t *record = __builtin_frame_address(0);
    uint64_t kept[2] = { record[0], record[1] };
    record[0] = 0xdead0000dead0000;
    record[1] = 0x4141414141414141;
    capture(&options, out);
    record[0] = 8;
    record[1] = kept[1];
    struct captured again;
    capture(&options, &again);
    record[0] = kept[0];
}

static void a_broken_stack_ends_the_walk_and_nothing_else(void **state)
{
    (void)state;
    struct captured broken;
    break_frame(&broken);
    assert_int_equal(broken.error, 0);
    assert_true(broken.count >= 1 && broken.count < 5);
}

static void *capture_often(void *failures)
{
    for (unsigned i = 0; i < 200; i++) {
        struct crashhook_capture_options options = CRASHHOOK_CAPTURE_DEFAULTS;
        struct captured found;
        recurse(i % 40, &options, &found);
        if (found.error != 0 || found.count < i % 40)
            ++*(int *)failures;
    }
    return NULL;
}

static void threads_capture_at_the_same_time_while_libraries_come_and_go(void **state)
{
    (void)state;
    enum { THREADS = 6 };
    pthread_t threads[THREADS];
    int failures[THREADS] = { 0 };
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, capture_often, &failures[i]),
                         0);
    for (int i = 0; i < 20; i++) {
        void *library = dlopen("libcurl.so.4", RTLD_NOW);
        if (library != NULL)
            dlclose(library);
    }
    int failed = 0;
    for (size_t i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        failed += failures[i];
    }
    assert_int_equal(failed, 0);
}

static void images_are_those_loaded_now(void **state)
{
    (void)state;
    struct crashhook_images *images;
    size_t index;
    assert_int_equal(crashhook_images_capture(&images), 0);
    uint64_t here = (uintptr_t)capture;
    int error = crashhook_images_find(images, crashhook_address_make(here, 64), &index);
    const char *name =
        error == 0 ? crashhook_image_name(crashhook_images_at(images, index)) : "";
    int same = strcmp(name, "test_backtrace_capture");
    crashhook_images_release(images);
    assert_int_equal(same, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frame_0_is_the_caller_of_capture),
        cmocka_unit_test(every_algorithm_finds_the_same_frames),
        cmocka_unit_test(precise_passes_code_that_keeps_no_frame_pointer),
        cmocka_unit_test(a_limit_keeps_both_ends_and_counts_what_is_between),
        cmocka_unit_test(without_a_top_a_capture_stops_at_the_limit),
        cmocka_unit_test(an_offset_skips_inner_frames),
        cmocka_unit_test(options_that_make_no_sense_are_refused),
        cmocka_unit_test(a_stack_of_the_programs_own_is_walked_too),
        cmocka_unit_test(a_broken_stack_ends_the_walk_and_nothing_else),
        cmocka_unit_test(threads_capture_at_the_same_time_while_libraries_come_and_go),
        cmocka_unit_test(images_are_those_loaded_now),
    };
    return cmocka_run_group_tests_name("backtrace/capture", tests, NULL, NULL);
}
