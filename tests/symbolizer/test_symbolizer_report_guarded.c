// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE // dl_iterate_phdr
#include "symbolizer/symbolizer.h"

#include <elfutils/libdw.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/folder.h"
#include "support/test.h"
#include "symbolizer/cache/symbol_cache.h"
#include "symbolizer/own_report.h"
#include "symbolizer/search/guarded_child.h"
#include "symbolizer/symbolization.h"

// How reading debug information goes wrong: in the library, as with damaged files that
// nobody has yet. Only the child of the guard ever gets there.
static enum { READ_WELL, READ_CRASHES, READ_HANGS, READ_EATS_MEMORY } reading;

Dwarf *__real_dwarf_begin_elf(Elf *elf, Dwarf_Cmd command, Elf_Scn *group);
Dwarf *__wrap_dwarf_begin_elf(Elf *elf, Dwarf_Cmd command, Elf_Scn *group);

Dwarf *__wrap_dwarf_begin_elf(Elf *elf, Dwarf_Cmd command, Elf_Scn *group)
{
    if (reading == READ_CRASHES)
        abort();
    while (reading == READ_HANGS)
        ;
    while (reading == READ_EATS_MEMORY) {
        volatile char *more = malloc(1 << 20);
        if (more == NULL)
            abort();
        more[0] = 1;
    }
    return __real_dwarf_begin_elf(elf, command, group);
}

// How reading a cache goes wrong: a page of it cannot be read, as after an error of the
// disk, in this process alone.
static pid_t page_is_bad_for;

enum ch_status __real_symbol_cache_find(struct symbol_cache *cache, uint64_t vaddr,
                                        struct symbol_frame frames[SYMBOL_FRAMES_MAX],
                                        size_t *out_count);
enum ch_status __wrap_symbol_cache_find(struct symbol_cache *cache, uint64_t vaddr,
                                        struct symbol_frame frames[SYMBOL_FRAMES_MAX],
                                        size_t *out_count);

enum ch_status __wrap_symbol_cache_find(struct symbol_cache *cache, uint64_t vaddr,
                                        struct symbol_frame frames[SYMBOL_FRAMES_MAX],
                                        size_t *out_count)
{
    if (page_is_bad_for == getpid())
        raise(SIGBUS);
    return __real_symbol_cache_find(cache, vaddr, frames, out_count);
}

static int forks;

static void count_fork(void)
{
    forks++;
}

__attribute__((noinline)) static void here(void)
{
}

// two_image_report has a frame in this program and one in the C library.
static json_t *two_image_report(void)
{
    return own_report(json_pack("[o, o]", own_report_frame("pc", (uint64_t)here),
                                own_report_frame("pc", (uint64_t)&json_array)),
                      1);
}

static const char *string_of(const json_t *object, const char *key)
{
    const char *value = json_string_value(json_object_get(object, key));
    return value != NULL ? value : "(none)";
}

// spoiled symbolizes while reading goes wrong, and checks what must always hold: the
// image that is to blame has no names and says why, the other one has its own.
static void spoiled(const char *wanted_status, uint32_t timeout_ms)
{
    const struct symbolizer_options options = { .level = SYMBOLIZE_FULL,
                                                .timeout_ms = timeout_ms };
    json_t *report = two_image_report();
    enum ch_status status = symbolizer_report_guarded(report, &options);
    reading = READ_WELL;
    const json_t *frames = own_report_frames(report, 0);
    const json_t *ours = json_array_get(frames, 0);
    const json_t *problem = json_array_get(json_object_get(report, "problems"), 0);
    bool nameless = json_object_get(ours, "function") == NULL &&
                    strcmp(string_of(ours, "symbol_status"), "damaged-file") == 0;
    bool named = strncmp(string_of(json_array_get(frames, 1), "function"), "json_array",
                         10) == 0;
    bool said = strcmp(string_of(problem, "stage"), "symbolize") == 0 &&
                strcmp(string_of(problem, "status"), wanted_status) == 0 &&
                strstr(string_of(problem, "image"), "test_symbolizer") != NULL;
    json_int_t revision = json_integer_value(json_object_get(report, "revision"));
    json_decref(report);
    assert_int_equal(status, CH_OK);
    assert_true(nameless);
    assert_true(named);
    assert_true(said);
    assert_int_equal(revision, 1);
}

static void a_file_that_crashes_the_reader_costs_its_own_names_alone(void **state)
{
    (void)state;
    reading = READ_CRASHES;
    spoiled("fault", 20000);
}

static void a_file_that_hangs_the_reader_costs_its_own_names_alone(void **state)
{
    (void)state;
    reading = READ_HANGS;
    spoiled("limit", 2000);
}

static void a_file_that_eats_memory_costs_its_own_names_alone(void **state)
{
    (void)state;
    if (CRASHHOOK_SANITIZED)
        test_skip("a sanitizer takes no limit on address space");
    reading = READ_EATS_MEMORY;
    spoiled("fault", 60000);
}

static void a_report_that_cannot_be_symbolized_stays_as_it_was(void **state)
{
    (void)state;
    json_t *report = json_pack("{s:s}", "id", "x");
    json_t *before = json_deep_copy(report);
    const struct symbolizer_options options = { .level = SYMBOLIZE_FULL };
    enum ch_status status = symbolizer_report_guarded(report, &options);
    int same = json_equal(before, report);
    json_decref(before);
    json_decref(report);
    assert_int_equal(status, CH_ERR_MALFORMED);
    assert_true(same);
}

// own_program_report has frames in this program, which has its debug information, and
// one that is nowhere.
static json_t *own_program_report(void)
{
    return own_report(json_pack("[o, o, o]", own_report_frame("pc", (uint64_t)here),
                                own_report_frame("ra", (uint64_t)count_fork + 1),
                                own_report_frame("ra", 16)),
                      1);
}

// named gives the frames of a new report, with names, as text; the caller frees it.
static char *named(const struct symbolizer_options *options)
{
    json_t *report = own_program_report();
    forks = 0;
    enum ch_status status = symbolizer_report_guarded(report, options);
    char *text = json_dumps(own_report_frames(report, 0), JSON_SORT_KEYS);
    json_decref(report);
    if (status == CH_OK)
        return text;
    free(text);
    return NULL;
}

static void write_caches(const struct symbolizer_options *options)
{
    struct symbolization symbolization;
    json_t *report = own_program_report();
    if (symbolization_init(&symbolization, report, options) == CH_OK)
        symbolization_write_caches(&symbolization);
    symbolization_deinit(&symbolization);
    json_decref(report);
}

static void names_that_caches_have_need_no_child(void **state)
{
    const struct folder *folder = *state;
    const struct symbolizer_options options = { .level = SYMBOLIZE_FULL,
                                                .cache_folder = folder->path,
                                                .single = true };
    char *from_files = named(&options);
    int forks_without = forks;
    write_caches(&options);
    char *from_caches = named(&options);
    int forks_with = forks;
    bool same = from_files != NULL && from_caches != NULL &&
                strcmp(from_files, from_caches) == 0;
    free(from_files);
    free(from_caches);
    assert_true(same);
    assert_int_equal(forks_without, 1);
    assert_int_equal(forks_with, 0);
}

static void places_of_an_earlier_report_need_no_file(void **state)
{
    struct symbolization_memo memo = { 0 };
    const struct symbolizer_options options = { .level = SYMBOLIZE_FULL,
                                                .memo = &memo };
    (void)state;
    char *from_files = named(&options);
    int forks_first = forks;
    reading = READ_CRASHES;
    char *from_memo = named(&options);
    int forks_then = forks;
    reading = READ_WELL;
    bool same =
        from_files != NULL && from_memo != NULL && strcmp(from_files, from_memo) == 0;
    size_t readers = memo.file_readers;
    symbolization_memo_deinit(&memo);
    free(from_files);
    free(from_memo);
    assert_true(same);
    assert_int_equal(forks_first, 1);
    assert_int_equal(forks_then, 0);
    assert_int_equal(readers, 1);
}

// Each of the reports has to say that an image could not be read.
static void places_of_an_image_that_cannot_be_read_are_not_remembered(void **state)
{
    struct symbolization_memo memo = { 0 };
    const struct symbolizer_options options = { .level = SYMBOLIZE_FULL,
                                                .memo = &memo,
                                                .timeout_ms = 20000 };
    size_t problems[2] = { 0 };
    (void)state;
    reading = READ_CRASHES;
    for (size_t i = 0; i < 2; i++) {
        json_t *report = two_image_report();
        (void)!symbolizer_report_guarded(report, &options);
        problems[i] = json_array_size(json_object_get(report, "problems"));
        json_decref(report);
    }
    reading = READ_WELL;
    symbolization_memo_deinit(&memo);
    assert_int_not_equal(problems[0], 0);
    assert_int_equal(problems[0], problems[1]);
}

static void a_page_of_a_cache_that_cannot_be_read_is_left_to_the_child(void **state)
{
    const struct folder *folder = *state;
    const struct symbolizer_options options = { .level = SYMBOLIZE_FULL,
                                                .cache_folder = folder->path,
                                                .single = true };
    struct sigaction before;
    struct sigaction after;
    char *from_files = named(&options);
    write_caches(&options);
    sigaction(SIGBUS, NULL, &before);
    page_is_bad_for = getpid();
    char *from_child = named(&options);
    page_is_bad_for = 0;
    sigaction(SIGBUS, NULL, &after);
    bool same =
        from_files != NULL && from_child != NULL && strcmp(from_files, from_child) == 0;
    free(from_files);
    free(from_child);
    assert_true(same);
    assert_int_equal(forks, 1);
    assert_true(after.sa_handler == before.sa_handler);
}

static enum ch_status stand_still(void *context, int to_parent)
{
    (void)context;
    (void)!write(to_parent, "", 1);
    (void)sleep(60);
    return CH_OK;
}

// start_and_end starts a child that stands still, and ends once that does.
static _Noreturn void start_and_end(void)
{
    struct guarded_child child;
    char byte;
    if (guarded_child_start(stand_still, NULL, guarded_child_now_ms() + 60000,
                            &child) == CH_OK)
        (void)!read(child.from, &byte, 1);
    _exit(0);
}

static void a_child_ends_with_the_process_that_it_works_for(void **state)
{
    (void)state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    if (pid == 0)
        start_and_end();
    (void)close(ends[1]); // the two processes have it
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    struct pollfd end = { .fd = ends[0], .events = POLLIN };
    assert_int_equal(poll(&end, 1, 30000), 1);
    (void)close(ends[0]);
}

static enum ch_status answer(void *context, int to_parent)
{
    return write(to_parent, context, 1) == 1 ? CH_ERR_LIMIT : CH_ERR_IO;
}

static void a_child_that_has_answered_ends_while_its_result_is_used(void **state)
{
    (void)state;
    char letter = 'a';
    struct text result = { 0 };
    enum ch_status status =
        guarded_child_run(answer, &letter, guarded_child_now_ms() + 60000, &result);
    bool whole = result.size == 1 && result.bytes[0] == 'a';
    text_deinit(&result);
    assert_int_equal(status, CH_ERR_LIMIT);
    assert_true(whole);
    siginfo_t info;
    assert_int_equal(waitid(P_ALL, 0, &info, WEXITED | WNOWAIT), 0); // it is still ours
    guarded_child_reap();
    assert_int_equal(waitid(P_ALL, 0, &info, WEXITED | WNOWAIT), -1);
}

int main(void)
{
    pthread_atfork(count_fork, NULL, NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(names_that_caches_have_need_no_child,
                                        folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(
            a_page_of_a_cache_that_cannot_be_read_is_left_to_the_child, folder_setup,
            folder_teardown),
        cmocka_unit_test(places_of_an_earlier_report_need_no_file),
        cmocka_unit_test(places_of_an_image_that_cannot_be_read_are_not_remembered),
        cmocka_unit_test(a_file_that_crashes_the_reader_costs_its_own_names_alone),
        cmocka_unit_test(a_file_that_hangs_the_reader_costs_its_own_names_alone),
        cmocka_unit_test(a_file_that_eats_memory_costs_its_own_names_alone),
        cmocka_unit_test(a_child_ends_with_the_process_that_it_works_for),
        cmocka_unit_test(a_child_that_has_answered_ends_while_its_result_is_used),
        cmocka_unit_test(a_report_that_cannot_be_symbolized_stays_as_it_was),
    };
    return cmocka_run_group_tests_name("symbolizer/symbolizer_report_guarded", tests,
                                       NULL, NULL);
}
