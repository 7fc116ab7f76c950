// SPDX-License-Identifier: Apache-2.0
#include "agent/live/capture.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "agent/facts/held_stack.h"
#include "agent/live/target_memory.h"
#include "support/child.h"
#include "support/test.h"

enum { BUDGET_MS = 10000, MANY = 200, FEW = 3 };

static sem_t named;

static void *wait_under_a_name(void *number)
{
    char name[THREAD_NAME_SIZE];
    snprintf(name, sizeof(name), "thread-%d", (int)(intptr_t)number);
    prctl(PR_SET_NAME, name);
    sem_post(&named);
    for (;;)
        pause();
    return NULL;
}

static int start_named_threads(int ready, int go, int count)
{
    char byte;
    sem_init(&named, 0, 0);
    prctl(PR_SET_NAME, "thread-0");
    for (int i = 1; i < count; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, wait_under_a_name, (void *)(intptr_t)i) != 0)
            return 1;
        // One after the other, so that they are listed by number.
        sem_wait(&named);
    }
    child_say_ready(ready);
    return read(go, &byte, 1) == 1 ? 0 : 1;
}

static int start_many(int ready, int go)
{
    return start_named_threads(ready, go, MANY);
}

static int start_few(int ready, int go)
{
    return start_named_threads(ready, go, FEW);
}

// wrong_names asks for the name of each thread from index on, and counts those that are
// not the thread's.
static int wrong_names(struct thread_names *names, const struct stop *stop,
                       size_t index)
{
    int wrong = 0;
    for (; index < stop->count; index++) {
        char expected[32];
        char name[THREAD_NAME_SIZE];
        snprintf(expected, sizeof(expected), "thread-%zu", index);
        thread_names_get(names, stop, stop->threads[index].tid, name);
        wrong += strcmp(name, expected) != 0;
    }
    return wrong;
}

static void check_names(child_main_fn *start, size_t count)
{
    struct child child = child_start(start);
    struct thread_names names = { 0 };
    struct stop stop;
    enum ch_status status = stop_threads(&stop, child.pid, 0, BUDGET_MS);
    size_t found = stop.count;
    thread_names_begin(&names, &stop);
    int wrong = wrong_names(&names, &stop, stop.count - 1); // as a crashed thread's
    wrong += wrong_names(&names, &stop, 0);
    thread_names_end(&names);
    wrong += wrong_names(&names, &stop, 0);
    thread_names_deinit(&names);
    stop_release(&stop);
    stop_deinit(&stop);
    child_end(&child, true);
    assert_int_equal(status, CH_OK);
    assert_int_equal(found, count);
    assert_int_equal(wrong, 0);
}

static void names_of_many_threads_are_the_threads_own(void **state)
{
    (void)state;
    for (int i = 0; i < 20; i++) // who reads a name is a race
        check_names(start_many, MANY);
}

static void names_of_few_threads_are_the_threads_own(void **state)
{
    (void)state;
    check_names(start_few, FEW);
}

static void a_thread_that_is_gone_has_no_name(void **state)
{
    (void)state;
    struct child child = child_start(start_many);
    struct thread_names names = { 0 };
    struct stop stop;
    char name[THREAD_NAME_SIZE] = "as before";
    enum ch_status status = stop_threads(&stop, child.pid, 0, BUDGET_MS);
    thread_names_begin(&names, &stop);
    thread_names_get(&names, &stop, getpid(), name);
    thread_names_deinit(&names);
    stop_release(&stop);
    stop_deinit(&stop);
    child_end(&child, true);
    assert_int_equal(status, CH_OK);
    assert_string_equal(name, "");
}

// The mappings that the kernel is asked for are those of /proc/PID/maps.

enum { PAGE = 4096 };

static int wait_for_the_end(int ready, int go)
{
    char byte;
    child_say_ready(ready);
    return read(go, &byte, 1) == 1 ? 0 : 1;
}

// map_file maps the first pages of a new file of that name, and deletes it if asked to.
static int map_file(const char *name, char *at, bool deleted)
{
    char path[] = "/tmp/crashhook-map-query.XXXXXX.with a name that is added";
    snprintf(path, sizeof(path), "/tmp/crashhook-map-query.XXXXXX%s", name);
    int fd = mkstemps(path, (int)strlen(name));
    if (fd < 0 || ftruncate(fd, 2L * PAGE) != 0 ||
        mmap(at, PAGE, PROT_READ, MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED ||
        mmap(at + PAGE, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fd,
             PAGE) == MAP_FAILED)
        return 1;
    close(fd);
    // What is not deleted stays until the group ends.
    return deleted ? unlink(path) : 0;
}

static char *area;
static char kept[] = "/tmp/crashhook-map-query.kept.XXXXXX";

// set_up maps in every way that the list tells apart: files side by side, one of them
// deleted, memory of no file after a file, a hole, and memory of no name.
static int set_up(void **state)
{
    (void)state;
    area = mmap(NULL, 16L * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int fd = mkstemp(kept);
    if (area == MAP_FAILED || fd < 0 || ftruncate(fd, PAGE) != 0 ||
        mmap(area + (size_t)2 * PAGE, PAGE, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd,
             0) == MAP_FAILED)
        return 1;
    close(fd);
    return map_file("", area + (size_t)3 * PAGE, true) +
           map_file(" two words", area + (size_t)5 * PAGE, true) +
           munmap(area + (size_t)9 * PAGE, PAGE) +
           mprotect(area + (size_t)7 * PAGE, PAGE, PROT_READ | PROT_WRITE);
}

static int tear_down(void **state)
{
    (void)state;
    return munmap(area, 16L * PAGE) + unlink(kept);
}

static bool same_mapping(const struct target_mapping *a, const struct target_mapping *b)
{
    return a->start == b->start && a->end == b->end &&
           a->permissions == b->permissions && a->inode == b->inode &&
           a->device == b->device && a->offset == b->offset &&
           a->deleted == b->deleted && a->path_size == b->path_size &&
           (a->path_size == 0 || memcmp(a->path, b->path, a->path_size) == 0);
}

static bool is_vsyscall(const struct target_mapping *mapping)
{
    static const char name[] = "[vsyscall]";
    return mapping->path_size == sizeof(name) - 1 &&
           memcmp(mapping->path, name, sizeof(name) - 1) == 0;
}

// A pair is the mappings of a child by the query and by the text.
struct pair {
    struct target_images query;
    struct target_images text;
    enum ch_status queried;
    enum ch_status read;
};

static void pair_read(struct pair *pair)
{
    struct child child = child_start(wait_for_the_end);
    struct target_memory memory;
    *pair = (struct pair){ 0 };
    pair->queried = map_query_read(&pair->query, child.pid);
    pair->read = target_memory_init(&memory, child.pid);
    struct memory_reader reader = target_memory_reader(&memory);
    if (pair->read == CH_OK)
        pair->read = images_read(&pair->text, child.pid, &reader);
    target_memory_deinit(&memory);
    child_end(&child, true);
}

static void pair_free(struct pair *pair)
{
    images_deinit(&pair->query);
    images_deinit(&pair->text);
}

static void mappings_are_those_of_the_text(void **state)
{
    (void)state;
    struct pair pair;
    pair_read(&pair);
    if (pair.queried == CH_ERR_UNSUPPORTED) {
        pair_free(&pair);
        test_skip("the kernel does not know the query");
    }
    size_t count = pair.text.mapping_count;
    if (count != 0 && is_vsyscall(&pair.text.mappings[count - 1]))
        count--;
    size_t same = 0;
    size_t deleted = 0;
    for (size_t i = 0; i < count && i < pair.query.mapping_count; i++) {
        same += same_mapping(&pair.query.mappings[i], &pair.text.mappings[i]);
        deleted += pair.query.mappings[i].deleted;
    }
    size_t queried = pair.query.mapping_count;
    enum ch_status read = pair.read;
    pair_free(&pair);
    assert_int_equal(read, CH_OK);
    assert_int_equal(queried, count);
    assert_int_equal(same, count);
    assert_in_range(deleted, 4, count);
}

static void a_process_that_is_not_there_leaves_nothing(void **state)
{
    (void)state;
    struct target_images images = { .mapping_count = 7 };
    assert_int_equal(map_query_read(&images, INT32_MAX), CH_ERR_IO);
    assert_int_equal(images.mapping_count, 0);
    assert_null(images.mappings);
}

// A saved_context is the part of AArch64's ucontext_t in which the kernel saves vector
// registers: records that begin with a magic number and a size.
struct saved_context {
    uint8_t before[464];
    uint32_t records[1024];
};

static size_t read_context(void *source, uint64_t address, void *to, size_t length)
{
    const struct saved_context *context = source;
    if (address < 4096 || address - 4096 > sizeof(*context) - length)
        return 0;
    memcpy(to, (const uint8_t *)context + (address - 4096), length);
    return length;
}

static void vectors_of_aarch64_are_found_among_the_records_of_the_context(void **state)
{
    (void)state;
    struct saved_context context = { .records = { 0x45535201, 16, 0, 0, 0x46508001,
                                                  528 } };
    const struct memory_reader memory = { .read = read_context, .source = &context };
    assert_int_equal(held_vectors_saved(&memory, UNWIND_ARCH_AARCH64, 4096),
                     4096 + 464 + 16 + 16);
    context.records[4] = 0; // the end
    assert_int_equal(held_vectors_saved(&memory, UNWIND_ARCH_AARCH64, 4096), 0);
    for (size_t i = 0; i < 1024; i += 2) { // none ends
        context.records[i] = 1;
        context.records[i + 1] = 8;
    }
    assert_int_equal(held_vectors_saved(&memory, UNWIND_ARCH_AARCH64, 4096), 0);
    assert_int_equal(held_vectors_saved(&memory, UNWIND_ARCH_AARCH64, 1 << 20), 0);
}

static const char *no_variable(void *context, const char *name)
{
    (void)context;
    (void)name;
    return NULL;
}

static void the_bound_on_reads_ends_before_signals_are_restored(void **state)
{
    (void)state;
    const struct timespec longer = { .tv_nsec = 200000000 };
    struct settings settings;
    struct capture capture = { .settings = &settings, .bounded = true };
    struct child child = child_start(wait_for_the_end);
    sigset_t signals;
    settings_read(&settings, no_variable, NULL, NULL);
    settings.timeout_ms = 400; // a signal each 25 ms
    sigemptyset(&signals);
    sigaddset(&signals, SIGUSR1);
    enum ch_status status = capture_take(&capture, child.pid);
    stall_end();
    sigprocmask(SIG_BLOCK, &signals, NULL);
    int sent = sigtimedwait(&signals, NULL, &longer);
    sigprocmask(SIG_UNBLOCK, &signals, NULL);
    capture_release(&capture);
    capture_deinit(&capture);
    child_end(&child, true);
    assert_int_equal(status, CH_OK);
    assert_int_equal(sent, -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_of_many_threads_are_the_threads_own),
        cmocka_unit_test(names_of_few_threads_are_the_threads_own),
        cmocka_unit_test(a_thread_that_is_gone_has_no_name),
        cmocka_unit_test_setup_teardown(mappings_are_those_of_the_text, set_up,
                                        tear_down),
        cmocka_unit_test(a_process_that_is_not_there_leaves_nothing),
        cmocka_unit_test(the_bound_on_reads_ends_before_signals_are_restored),
        cmocka_unit_test(vectors_of_aarch64_are_found_among_the_records_of_the_context),
    };
    return cmocka_run_group_tests_name("agent/capture", tests, NULL, NULL);
}
