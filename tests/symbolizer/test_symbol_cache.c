// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/cache/symbol_cache.h"

#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utime.h>

#include "base/text.h"
#include "support/folder.h"
#include "support/test.h"
#include "symbolizer/cache/symbol_cache_folder.h"
#include "symbolizer/names/image_cache.h"
#include "symbolizer/names/symbol_image.h"
#include "symbolizer/symbolizer.h"

// These tests are their own image: a program with debug information and an inlined
// call.
static __attribute__((always_inline)) inline size_t called_inline(const char *text)
{
    size_t length = strlen(text);
    return length * 3 + (size_t)text[0];
}

__attribute__((noinline)) static size_t calls_inline(const char *text)
{
    return called_inline(text) + 1;
}

#define NAMED_BY_A_LONG_TYPE                                                           \
    calls_of_a_rather_long_type_of_values_and_of_a_rather_long_type_of_values_and_of_a_rather_long_type_of_values
#define STRING_OF(macro) #macro
#define NAME_OF(macro) STRING_OF(macro)

__attribute__((noinline)) static size_t NAMED_BY_A_LONG_TYPE(const char *text)
{
    return calls_inline(text) * 7;
}

struct fixture {
    char path[PATH_MAX];
    void *made;         // the folder of these tests
    const char *folder; // its path
    struct build_id id;
    struct debug_search search;
    struct symbol_image *image; // without a cache
    struct text bytes;          // of its cache
    uint64_t text[2];
};

static struct fixture fixture;

static int set_up(void **state)
{
    (void)state;
    static const struct build_id any = { .size = 0 };
    static const struct debug_search no_cache = { 0 };
    // Volatile, so that no optimizer knows the answer and drops the call.
    const char *volatile any_text = "x";
    ssize_t length = readlink("/proc/self/exe", fixture.path, PATH_MAX - 1);
    if (length <= 0 || NAMED_BY_A_LONG_TYPE(any_text) == 0)
        return 1;
    if (symbol_image_open(&fixture.image, fixture.path, &any, &no_cache, false) !=
        CH_OK)
        return 1;
    symbol_image_build(fixture.image, &fixture.id);
    symbol_image_text(fixture.image, fixture.text);
    if (folder_setup(&fixture.made) != 0)
        return 1;
    const struct folder *made = fixture.made;
    fixture.folder = made->path;
    fixture.search.cache_folder = fixture.folder;
    return symbol_cache_write(fixture.image, &fixture.id, &fixture.bytes) != CH_OK;
}

static int tear_down(void **state)
{
    (void)state;
    symbol_image_close(fixture.image);
    text_deinit(&fixture.bytes);
    return folder_teardown(&fixture.made);
}

static bool same_string(const char *a, const char *b)
{
    return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

static bool same_frame(const struct symbol_frame *a, const struct symbol_frame *b)
{
    bool placed = a->function == NULL || a->inlined ||
                  (a->start == b->start && a->entry == b->entry);
    return same_string(a->function, b->function) &&
           same_string(a->raw_name, b->raw_name) && same_string(a->file, b->file) &&
           a->line == b->line && a->column == b->column && a->inlined == b->inlined &&
           a->of_source == b->of_source && placed;
}

// answers_alike is true when cache says of vaddr what the image says.
static bool answers_alike(struct symbol_cache *cache, uint64_t vaddr)
{
    struct symbol_frame ours[SYMBOL_FRAMES_MAX];
    struct symbol_frame theirs[SYMBOL_FRAMES_MAX];
    size_t count;
    size_t expected = symbol_image_find(fixture.image, vaddr, theirs);
    if (symbol_cache_find(cache, vaddr, ours, &count) != CH_OK || count != expected)
        return false;
    for (size_t i = 0; i < count; i++)
        if (!same_frame(&ours[i], &theirs[i]))
            return false;
    return true;
}

static void symbol_cache_says_what_debug_information_says(void **state)
{
    (void)state;
    struct symbol_cache cache;
    size_t alike = 0;
    size_t asked = 0;
    uint64_t size = fixture.text[1] - fixture.text[0];
    uint64_t step = size / 20000 != 0 ? size / 20000 : 1;
    assert_int_equal(
        symbol_cache_over(&cache, fixture.bytes.bytes, fixture.bytes.size, &fixture.id),
        CH_OK);
    for (uint64_t at = fixture.text[0] - 8; at < fixture.text[1] + 8; at += step) {
        asked++;
        alike += answers_alike(&cache, at);
    }
    symbol_cache_deinit(&cache);
    assert_true(asked > 10000);
    assert_int_equal(alike, asked);
}

// inlined_at returns true if the cache has a call inlined at an address of
// calls_inline.
static bool inlined_at(struct symbol_cache *cache, uint64_t vaddr)
{
    struct symbol_frame frames[SYMBOL_FRAMES_MAX];
    size_t count;
    return symbol_cache_find(cache, vaddr, frames, &count) == CH_OK && count == 2 &&
           frames[0].inlined && !frames[1].inlined &&
           strcmp(frames[0].function, "called_inline") == 0 &&
           strcmp(frames[1].function, "calls_inline") == 0 && frames[1].line != 0 &&
           strstr(frames[1].file, "test_symbol_cache.c") != NULL;
}

static void symbol_cache_keeps_inlined_calls_and_where_they_are(void **state)
{
    (void)state;
    struct symbol_cache cache;
    bool found = false;
    assert_int_equal(
        symbol_cache_over(&cache, fixture.bytes.bytes, fixture.bytes.size, &fixture.id),
        CH_OK);
    for (uint64_t at = fixture.text[0]; !found && at < fixture.text[1]; at++)
        found = inlined_at(&cache, at);
    symbol_cache_deinit(&cache);
    assert_true(found);
}

// finds_function returns true if the cache has a function of that name.
static bool finds_function(struct symbol_cache *cache, const char *name)
{
    struct symbol_frame frames[SYMBOL_FRAMES_MAX];
    size_t count = 0;
    for (uint64_t at = fixture.text[0]; at < fixture.text[1]; at++)
        if (symbol_cache_find(cache, at, frames, &count) == CH_OK && count != 0 &&
            frames[count - 1].function != NULL &&
            strcmp(frames[count - 1].function, name) == 0)
            return true;
    return false;
}

static void symbol_cache_keeps_a_name_that_repeats_itself_without_that(void **state)
{
    (void)state;
    static const char name[] = NAME_OF(NAMED_BY_A_LONG_TYPE);
    struct symbol_cache cache;
    assert_int_equal(
        symbol_cache_over(&cache, fixture.bytes.bytes, fixture.bytes.size, &fixture.id),
        CH_OK);
    bool found = finds_function(&cache, name);
    symbol_cache_deinit(&cache);
    size_t at = 0;
    while (at + sizeof(name) <= fixture.bytes.size &&
           memcmp(fixture.bytes.bytes + at, name, sizeof(name) - 1) != 0)
        at++;
    bool whole = at + sizeof(name) <= fixture.bytes.size;
    assert_true(found);
    assert_false(whole);
}

static void symbol_cache_answers_alike_whatever_was_expected(void **state)
{
    (void)state;
    struct symbol_cache cache;
    uint64_t vaddrs[2 * SYMBOL_CACHE_EXPECTED_MAX];
    const size_t count = sizeof(vaddrs) / sizeof(vaddrs[0]);
    size_t alike = 0;
    for (size_t i = 0; i < count; i++) // some before the code and some after it
        vaddrs[i] = fixture.text[0] - 8 +
                    (fixture.text[1] - fixture.text[0] + 16) * i / (count - 1);
    assert_int_equal(
        symbol_cache_over(&cache, fixture.bytes.bytes, fixture.bytes.size, &fixture.id),
        CH_OK);
    symbol_cache_expect(&cache, vaddrs, count);
    for (size_t i = 0; i < count; i++)
        alike += answers_alike(&cache, vaddrs[i]);
    symbol_cache_deinit(&cache);
    assert_int_equal(alike, count);
}

static void symbol_cache_without_linker_names_has_the_others(void **state)
{
    (void)state;
    struct symbol_cache cache;
    bool other = false;
    size_t named = 0;
    assert_int_equal(
        symbol_cache_over(&cache, fixture.bytes.bytes, fixture.bytes.size, &fixture.id),
        CH_OK);
    cache.no_linker_names = true;
    for (uint64_t at = fixture.text[0]; at < fixture.text[1]; at += 16) {
        struct symbol_frame ours[SYMBOL_FRAMES_MAX];
        struct symbol_frame theirs[SYMBOL_FRAMES_MAX];
        size_t count = 0;
        size_t expected = symbol_image_find(fixture.image, at, theirs);
        other |=
            symbol_cache_find(&cache, at, ours, &count) != CH_OK || count != expected;
        for (size_t i = 0; !other && i < count; i++) {
            other = ours[i].raw_name != NULL ||
                    !same_string(ours[i].function, theirs[i].function);
            named += ours[i].function != NULL;
        }
    }
    symbol_cache_deinit(&cache);
    assert_false(other);
    assert_true(named > 0);
}

// opens_copy finds out how a copy of size bytes of the cache opens; damage is flipped
// into the byte at.
static enum ch_status opens_copy(size_t size, size_t at, uint8_t damage,
                                 const struct build_id *id)
{
    struct symbol_cache cache;
    uint8_t *copy = malloc(size != 0 ? size : 1);
    if (copy == NULL)
        abort();
    memcpy(copy, fixture.bytes.bytes, size);
    if (at < size)
        copy[at] ^= damage;
    enum ch_status status = symbol_cache_over(&cache, copy, size, id);
    if (status == CH_OK)
        symbol_cache_deinit(&cache);
    free(copy);
    return status;
}

static void symbol_cache_cut_anywhere_is_refused(void **state)
{
    (void)state;
    size_t accepted = 0;
    size_t step = fixture.bytes.size / 500 + 1;
    for (size_t size = 0; size < fixture.bytes.size; size += size < 300 ? 1 : step)
        accepted += opens_copy(size, SIZE_MAX, 0, &fixture.id) == CH_OK;
    assert_int_equal(accepted, 0);
}

static void symbol_cache_with_any_bit_of_its_header_flipped_is_refused(void **state)
{
    (void)state;
    size_t accepted = 0;
    for (size_t bit = 0; bit < 8 * (size_t)(SYMBOL_CACHE_HEADER_SIZE + 4); bit++)
        accepted += opens_copy(fixture.bytes.size, bit / 8, (uint8_t)(1u << bit % 8),
                               &fixture.id) == CH_OK;
    assert_int_equal(accepted, 0);
}

// Answers of a damaged cache: right ones, refused ones, and lies.
struct answers {
    struct symbol_cache sound;
    size_t refused;
    size_t wrong;
};

static void ask_damaged(uint8_t *copy, struct answers *answers)
{
    struct symbol_cache cache;
    uint64_t step = (fixture.text[1] - fixture.text[0]) / 40 + 1;
    if (symbol_cache_over(&cache, copy, fixture.bytes.size, &fixture.id) != CH_OK)
        return;
    for (uint64_t at = fixture.text[0]; at < fixture.text[1]; at += step) {
        struct symbol_frame frames[SYMBOL_FRAMES_MAX];
        struct symbol_cache_die die;
        struct symbol_cache_die right;
        size_t count;
        if (symbol_cache_find_die(&cache, at, &die))
            answers->wrong += !symbol_cache_find_die(&answers->sound, at, &right) ||
                              die.die != right.die || die.unit != right.unit;
        if (symbol_cache_find(&cache, at, frames, &count) != CH_OK)
            answers->refused++;
        else
            answers->wrong += !answers_alike(&cache, at);
    }
    symbol_cache_deinit(&cache);
}

static void symbol_cache_never_lies_when_a_bit_of_its_data_is_flipped(void **state)
{
    (void)state;
    struct answers answers = { 0 };
    size_t step = (fixture.bytes.size - SYMBOL_CACHE_PAGE) / 200 + 1;
    uint8_t *copy = malloc(fixture.bytes.size);
    assert_non_null(copy);
    memcpy(copy, fixture.bytes.bytes, fixture.bytes.size);
    assert_int_equal(symbol_cache_over(&answers.sound, fixture.bytes.bytes,
                                       fixture.bytes.size, &fixture.id),
                     CH_OK);
    for (size_t at = SYMBOL_CACHE_PAGE; at < fixture.bytes.size; at += step) {
        copy[at] ^= 0x10;
        ask_damaged(copy, &answers);
        copy[at] ^= 0x10;
    }
    free(copy);
    symbol_cache_deinit(&answers.sound);
    assert_int_equal(answers.wrong, 0);
    assert_true(answers.refused > 0);
}

static void symbol_cache_of_another_version_is_not_supported(void **state)
{
    (void)state;
    assert_int_equal(opens_copy(fixture.bytes.size, 8, 0x02, &fixture.id),
                     CH_ERR_UNSUPPORTED);
}

static void symbol_cache_of_another_build_is_refused(void **state)
{
    (void)state;
    struct build_id other = fixture.id;
    other.bytes[0] ^= 1;
    assert_int_equal(opens_copy(fixture.bytes.size, SIZE_MAX, 0, &other),
                     CH_ERR_MALFORMED);
}

static void image_without_debug_information_gets_no_cache(void **state)
{
    (void)state;
    static const struct debug_search no_cache = { 0 };
    struct symbol_image *image;
    struct text out = { 0 };
    assert_int_equal(
        symbol_image_open(&image, fixture.path, &fixture.id, &no_cache, true), CH_OK);
    enum ch_status status = symbol_cache_write(image, &fixture.id, &out);
    symbol_image_close(image);
    text_deinit(&out);
    assert_int_equal(status, CH_ERR_UNSUPPORTED);
}

// fresh_folder empties the folder and writes the cache of these tests into it.
static void fresh_folder(void)
{
    symbol_cache_folder_forget(fixture.folder, &fixture.id);
    assert_int_equal(
        image_cache_write_names(fixture.path, &fixture.id, &fixture.search), CH_OK);
}

static void cache_path(char out[PATH_MAX])
{
    int length = snprintf(out, PATH_MAX, "%s/", fixture.folder);
    for (size_t i = 0; i < fixture.id.size; i++)
        length += snprintf(out + length, 3, "%02x", fixture.id.bytes[i]);
}

// is_answered_by_cache opens the image as anybody would and says who answered.
static bool is_answered_by_cache(void)
{
    static const struct build_id any = { .size = 0 };
    struct symbol_image *image;
    struct symbol_frame frames[SYMBOL_FRAMES_MAX];
    if (symbol_image_open(&image, fixture.path, &any, &fixture.search, false) != CH_OK)
        abort();
    uint64_t entry = (fixture.text[0] + fixture.text[1]) / 2;
    while (entry < fixture.text[1] && symbol_image_find(image, entry, frames) == 0)
        entry++;
    bool named = entry < fixture.text[1];
    bool cached = symbol_image_is_cached(image);
    symbol_image_close(image);
    if (!named)
        abort();
    return cached;
}

static void image_with_a_cache_opens_no_debug_file(void **state)
{
    (void)state;
    fresh_folder();
    assert_true(is_answered_by_cache());
}

static void damaged_cache_is_removed_and_the_files_answer(void **state)
{
    (void)state;
    char path[PATH_MAX];
    fresh_folder();
    cache_path(path);
    // All pages with data, so that whatever is asked for is damaged.
    FILE *file = fopen(path, "r+");
    assert_non_null(file);
    for (long at = 2 * SYMBOL_CACHE_PAGE; at < (long)fixture.bytes.size;
         at += SYMBOL_CACHE_PAGE) {
        fseek(file, at, SEEK_SET);
        fputs("damage", file);
    }
    fclose(file);
    bool cached = is_answered_by_cache();
    bool removed = access(path, F_OK) != 0;
    assert_false(cached);
    assert_true(removed);
}

static void stale_version_of_a_cache_is_replaced(void **state)
{
    (void)state;
    char path[PATH_MAX];
    fresh_folder();
    cache_path(path);
    FILE *file = fopen(path, "r+");
    assert_non_null(file);
    fseek(file, SYMBOL_CACHE_MAGIC_SIZE, SEEK_SET);
    fputc(SYMBOL_CACHE_VERSION + 1, file);
    fclose(file);
    bool cached = is_answered_by_cache();
    enum ch_status rewritten =
        image_cache_write_names(fixture.path, &fixture.id, &fixture.search);
    bool cached_again = is_answered_by_cache();
    assert_false(cached);
    assert_int_equal(rewritten, CH_OK);
    assert_true(cached_again);
}

static void folder_that_others_can_write_is_not_used(void **state)
{
    (void)state;
    fresh_folder();
    chmod(fixture.folder, 0777);
    bool cached = is_answered_by_cache();
    bool claimed =
        symbol_cache_folder_claim(fixture.folder, &fixture.id, SYMBOL_CACHE_OF_NAMES);
    chmod(fixture.folder, 0700);
    assert_false(cached);
    assert_false(claimed);
}

static void cache_that_others_can_write_is_not_used(void **state)
{
    (void)state;
    char path[PATH_MAX];
    fresh_folder();
    cache_path(path);
    chmod(path, 0622);
    bool cached = is_answered_by_cache();
    assert_false(cached);
}

static void one_process_at_a_time_writes_a_cache(void **state)
{
    (void)state;
    const struct build_id id = { .bytes = { 1, 2, 3, 4 }, .size = 4 };
    assert_true(symbol_cache_folder_claim(fixture.folder, &id, SYMBOL_CACHE_OF_NAMES));
    assert_false(symbol_cache_folder_claim(fixture.folder, &id, SYMBOL_CACHE_OF_NAMES));
    enum ch_status put = symbol_cache_folder_put(
        fixture.folder, &id, SYMBOL_CACHE_OF_NAMES, "x", 1, 1 << 30);
    assert_int_equal(put, CH_OK);
    assert_false(symbol_cache_folder_claim(fixture.folder, &id, SYMBOL_CACHE_OF_NAMES));
    symbol_cache_folder_forget(fixture.folder, &id);
    assert_true(symbol_cache_folder_claim(fixture.folder, &id, SYMBOL_CACHE_OF_NAMES));
}

static void a_cache_is_awaited_only_while_a_process_may_be_writing_it(void **state)
{
    (void)state;
    const struct build_id id = { .bytes = { 4, 3, 2, 1 }, .size = 4 };
    assert_false(symbol_cache_folder_await(fixture.folder, &id, SYMBOL_CACHE_OF_DEBUG,
                                           INT64_MAX));
    assert_true(symbol_cache_folder_claim(fixture.folder, &id, SYMBOL_CACHE_OF_DEBUG));
    assert_false(
        symbol_cache_folder_await(fixture.folder, &id, SYMBOL_CACHE_OF_DEBUG, 10));
    symbol_cache_folder_release(fixture.folder, &id, SYMBOL_CACHE_OF_DEBUG);
    assert_false(symbol_cache_folder_await(fixture.folder, &id, SYMBOL_CACHE_OF_DEBUG,
                                           INT64_MAX));
}

static void cache_forgotten_while_it_was_written_does_not_appear(void **state)
{
    (void)state;
    const struct build_id id = { .bytes = { 5, 6 }, .size = 2 };
    assert_true(symbol_cache_folder_claim(fixture.folder, &id, SYMBOL_CACHE_OF_NAMES));
    symbol_cache_folder_forget(fixture.folder, &id);
    assert_int_equal(symbol_cache_folder_put(fixture.folder, &id, SYMBOL_CACHE_OF_NAMES,
                                             "x", 1, 1 << 30),
                     CH_ERR_NOT_FOUND);
    assert_true(symbol_cache_folder_lacks(fixture.folder, &id));
}

static void folder_lacks_what_is_neither_there_nor_claimed(void **state)
{
    (void)state;
    const struct build_id id = { .bytes = { 7, 8 }, .size = 2 };
    assert_true(symbol_cache_folder_lacks("/nonexistent/folder", &id));
    assert_true(symbol_cache_folder_lacks(fixture.folder, &id));
    assert_true(symbol_cache_folder_claim(fixture.folder, &id, SYMBOL_CACHE_OF_NAMES));
    assert_false(symbol_cache_folder_lacks(fixture.folder, &id));
    assert_int_equal(symbol_cache_folder_put(fixture.folder, &id, SYMBOL_CACHE_OF_NAMES,
                                             "x", 1, 1 << 30),
                     CH_OK);
    assert_false(symbol_cache_folder_lacks(fixture.folder, &id));
    symbol_cache_folder_forget(fixture.folder, &id);
    assert_true(symbol_cache_folder_lacks(fixture.folder, &id));
}

static void image_without_debug_information_can_be_claimed_again(void **state)
{
    (void)state;
    const struct build_id id = { .bytes = { 9, 9 }, .size = 2 };
    enum ch_status status = image_cache_write_names("/nowhere", &id, &fixture.search);
    bool claimed =
        symbol_cache_folder_claim(fixture.folder, &id, SYMBOL_CACHE_OF_NAMES);
    symbol_cache_folder_release(fixture.folder, &id, SYMBOL_CACHE_OF_NAMES);
    assert_int_equal(status, CH_ERR_UNSUPPORTED);
    assert_true(claimed);
}

static void folder_drops_what_was_read_longest_ago(void **state)
{
    (void)state;
    char folder[PATH_MAX];
    char path[PATH_MAX + 16];
    struct build_id id = { .bytes = { 0xaa }, .size = 1 };
    const struct utimbuf long_ago = { .actime = 1000, .modtime = 1000 };
    snprintf(folder, sizeof(folder), "%s/sub/folder", fixture.folder);
    for (uint8_t i = 0; i < 3; i++) {
        id.bytes[0] = (uint8_t)(0xaa + i);
        assert_true(symbol_cache_folder_claim(folder, &id, SYMBOL_CACHE_OF_NAMES));
        assert_int_equal(symbol_cache_folder_put(folder, &id, SYMBOL_CACHE_OF_NAMES,
                                                 "0123456789", 10, 25),
                         CH_OK);
        snprintf(path, sizeof(path), "%s/ab", folder);
        (void)utime(path, &long_ago);
    }
    assert_int_not_equal(access(path, F_OK), 0);
    snprintf(path, sizeof(path), "%s/aa", folder);
    assert_int_equal(access(path, F_OK), 0);
    snprintf(path, sizeof(path), "%s/ac", folder);
    assert_int_equal(access(path, F_OK), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(symbol_cache_says_what_debug_information_says),
        cmocka_unit_test(symbol_cache_keeps_inlined_calls_and_where_they_are),
        cmocka_unit_test(symbol_cache_keeps_a_name_that_repeats_itself_without_that),
        cmocka_unit_test(symbol_cache_answers_alike_whatever_was_expected),
        cmocka_unit_test(symbol_cache_without_linker_names_has_the_others),
        cmocka_unit_test(symbol_cache_cut_anywhere_is_refused),
        cmocka_unit_test(symbol_cache_with_any_bit_of_its_header_flipped_is_refused),
        cmocka_unit_test(symbol_cache_never_lies_when_a_bit_of_its_data_is_flipped),
        cmocka_unit_test(symbol_cache_of_another_version_is_not_supported),
        cmocka_unit_test(symbol_cache_of_another_build_is_refused),
        cmocka_unit_test(image_without_debug_information_gets_no_cache),
        cmocka_unit_test(image_with_a_cache_opens_no_debug_file),
        cmocka_unit_test(damaged_cache_is_removed_and_the_files_answer),
        cmocka_unit_test(stale_version_of_a_cache_is_replaced),
        cmocka_unit_test(folder_that_others_can_write_is_not_used),
        cmocka_unit_test(cache_that_others_can_write_is_not_used),
        cmocka_unit_test(one_process_at_a_time_writes_a_cache),
        cmocka_unit_test(a_cache_is_awaited_only_while_a_process_may_be_writing_it),
        cmocka_unit_test(cache_forgotten_while_it_was_written_does_not_appear),
        cmocka_unit_test(folder_lacks_what_is_neither_there_nor_claimed),
        cmocka_unit_test(image_without_debug_information_can_be_claimed_again),
        cmocka_unit_test(folder_drops_what_was_read_longest_ago),
    };
    return cmocka_run_group_tests_name("symbolizer/symbol_cache", tests, set_up,
                                       tear_down);
}
