// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/symbolization.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/elf_builder.h"
#include "support/folder.h"
#include "support/test.h"

static const struct build_id built = { .bytes = { 1, 2, 3, 4 }, .size = 4 };

static const char shop[] = "{\"type\":\"rpm\",\"name\":\"shop\",\"version\":\"1.4\","
                           "\"os\":\"fedora\",\"extra\":{\"deep\":[1,2]}}";

// write_file makes a file of the first size bytes of what was built.
static const char *write_file(const struct folder *folder, const struct elf_builder *e,
                              size_t size)
{
    const char *path = folder_path(folder, "image");
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, e->out.bytes, size), (ssize_t)size);
    close(fd);
    return path;
}

static struct elf_builder build(const char *package, bool is_64, bool big_endian)
{
    struct elf_builder e = { .is_64 = is_64,
                             .big_endian = big_endian,
                             .type = 3,
                             .section = ".own",
                             .section_type = 1,
                             .package = package };
    elf_builder_build(&e);
    return e;
}

// read_package gives what is read of a file with a note, dumped; to be freed.
static char *read_package(const struct folder *folder, const char *package,
                          const struct build_id *id)
{
    struct elf_builder e = build(package, true, false);
    json_t *read = image_package_read(write_file(folder, &e, e.out.size), id);
    char *dumped = read != NULL ? json_dumps(read, JSON_SORT_KEYS) : NULL;
    json_decref(read);
    return dumped;
}

static void the_note_names_the_package_of_either_class_and_order(void **state)
{
    for (int i = 0; i < 4; i++) {
        struct elf_builder e = build(shop, i & 1, i & 2);
        json_t *read = image_package_read(write_file(*state, &e, e.out.size), &built);
        char *dumped = read != NULL ? json_dumps(read, JSON_SORT_KEYS) : NULL;
        json_decref(read);
        bool same = dumped != NULL &&
                    strcmp(dumped, "{\"name\": \"shop\", \"os\": \"fedora\", \"type\":"
                                   " \"rpm\", \"version\": \"1.4\"}") == 0;
        free(dumped);
        assert_true(same);
    }
}

static void a_file_of_another_build_says_nothing(void **state)
{
    const struct build_id other = { .bytes = { 1, 2, 3, 5 }, .size = 4 };
    const struct build_id none = { .size = 0 };
    assert_null(read_package(*state, shop, &other));
    assert_null(read_package(*state, shop, &none));
    assert_null(read_package(*state, NULL, &built));
}

static void a_note_without_a_name_of_a_sane_length_says_nothing(void **state)
{
    static const char *const notes[] = { "{}", "[\"name\"]", "{\"name\":7}",
                                         "{",  "\"\"",       "{\"name\":\"\\u0000\"",
                                         "" };
    char longer[300];
    for (size_t i = 0; i < sizeof(notes) / sizeof(notes[0]); i++)
        assert_null(read_package(*state, notes[i], &built));
    (void)snprintf(longer, sizeof(longer), "{\"name\":\"%0200d\"}", 0);
    assert_null(read_package(*state, longer, &built));
}

static void a_file_that_is_cut_or_damaged_is_survived(void **state)
{
    struct elf_builder e = build(shop, true, false);
    for (size_t size = 0; size < e.out.size; size++)
        json_decref(image_package_read(write_file(*state, &e, size), &built));
    for (size_t at = 0; at < e.out.size; at++) {
        e.out.bytes[at] ^= 0xff;
        json_decref(image_package_read(write_file(*state, &e, e.out.size), &built));
        e.out.bytes[at] ^= 0xff;
    }
}

static void what_is_no_file_does_not_block(void **state)
{
    const char *pipe = folder_path(*state, "pipe");
    assert_int_equal(mkfifo(pipe, 0600), 0);
    assert_null(image_package_read(pipe, &built));
    assert_null(image_package_read("/nonexistent", &built));
}

#define PACKAGE_TEST(test)                                                             \
    cmocka_unit_test_setup_teardown(test, folder_setup, folder_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        PACKAGE_TEST(the_note_names_the_package_of_either_class_and_order),
        PACKAGE_TEST(a_file_of_another_build_says_nothing),
        PACKAGE_TEST(a_note_without_a_name_of_a_sane_length_says_nothing),
        PACKAGE_TEST(a_file_that_is_cut_or_damaged_is_survived),
        PACKAGE_TEST(what_is_no_file_does_not_block),
    };
    return cmocka_run_group_tests_name("symbolizer/image_package", tests, NULL, NULL);
}
