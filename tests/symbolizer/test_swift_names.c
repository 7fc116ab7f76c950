// SPDX-License-Identifier: Apache-2.0
//
// NAMES has mangled names with the answers of swift-demangle 6.2.
#include "symbolizer/swift_names.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report/file/system_image.h"
#include "support/test.h"

enum { NAMES_MIN = 300 };

static json_t *report_of(const char *const *names, size_t count)
{
    json_t *frames = json_array();
    for (size_t i = 0; i < count; i++)
        (void)json_array_append_new(
            frames, json_pack("{s:s,s:s}", "function", names[i], "raw_name", names[i]));
    return json_pack("{s:[{s:{s:o}}]}", "threads", "backtrace", "frames", frames);
}

static const char *function_of(const json_t *report, size_t index)
{
    json_t *thread = json_array_get(json_object_get(report, "threads"), 0);
    json_t *frames = json_object_get(json_object_get(thread, "backtrace"), "frames");
    return json_string_value(
        json_object_get(json_array_get(frames, index), "function"));
}

// only_root_writes returns true if all can read a file and only root can change it.
static bool only_root_writes(const char *path)
{
    char folder[PATH_MAX];
    struct stat is;
    (void)snprintf(folder, sizeof(folder), "%s", path);
    while (folder[0] != 0) {
        if (stat(folder, &is) != 0 || is.st_uid != 0 || is.st_mode & 022 ||
            !(is.st_mode & S_IXOTH || S_ISREG(is.st_mode)) || !(is.st_mode & S_IROTH))
            return false;
        *strrchr(folder, '/') = 0;
    }
    return true;
}

static void swift_names_are_demangled_by_a_library_without_roots_rights(void **state)
{
    (void)state;
    static const char *const names[] = { "$s1a5crashySiSaySiGF", "main", "_ZN1aC1Ev" };
    const struct symbolizer_options options = { .swift_library = SWIFT_LIBRARY };
    if (!only_root_writes(SWIFT_LIBRARY))
        test_skip("the build folder is not root's, or not readable for all");
    json_t *report = report_of(names, 3);
    swift_names_apply(report, &options);
    bool right = strcmp(function_of(report, 0),
                        "demangled $s1a5crashySiSaySiGF by another") == 0 &&
                 strcmp(function_of(report, 1), "main") == 0 &&
                 strcmp(function_of(report, 2), "_ZN1aC1Ev") == 0;
    json_decref(report);
    assert_true(right);
}

static void a_library_that_others_can_write_is_not_loaded(void **state)
{
    (void)state;
    static const char *const name = "$s1a5crashySiSaySiGF";
    static char library[1 << 20];
    char copy[] = "/tmp/crashhook-swift.XXXXXX";
    FILE *from = fopen(SWIFT_LIBRARY, "r");
    int fd = mkstemp(copy);
    assert_true(from != NULL && fd >= 0);
    size_t size = fread(library, 1, sizeof(library), from);
    assert_int_equal(write(fd, library, size), size);
    fclose(from);
    close(fd);
    const char *const paths[] = { copy, "/no/such/library.so", "/dev/null" };
    bool right = true;
    for (size_t i = 0; i < 3; i++) {
        const struct symbolizer_options options = { .swift_library = paths[i] };
        json_t *report = report_of(&name, 1);
        swift_names_apply(report, &options);
        right = right && strcmp(function_of(report, 0), name) == 0;
        json_decref(report);
    }
    unlink(copy);
    assert_true(right);
}

// read_names reads the lines of NAMES, each a name, a tab and an answer.
static size_t read_names(char *text, size_t size, const char **names,
                         const char **answers, size_t room)
{
    size_t count = 0;
    FILE *file = fopen(NAMES, "r");
    if (file == NULL)
        return 0;
    text[fread(text, 1, size - 1, file)] = 0;
    fclose(file);
    for (char *line = text; *line != 0 && count < room;) {
        char *tab = strchr(line, '\t');
        char *end = strchr(line, '\n');
        if (tab == NULL || end == NULL)
            break;
        *tab = *end = 0;
        names[count] = line;
        answers[count++] = tab + 1;
        line = end + 1;
    }
    return count;
}

static void an_installed_swift_gives_the_answers_of_its_own_tool(void **state)
{
    (void)state;
    static char text[1 << 17];
    static const char *names[1000];
    static const char *answers[1000];
    const struct symbolizer_options options = { .level = SYMBOLIZE_FULL };
    size_t count = read_names(text, sizeof(text), names, answers, 1000);
    assert_true(count >= NAMES_MIN);
    for (size_t i = 0; i < count; i++)
        assert_true(swift_symbol_is_mangled(names[i]));
    json_t *report = report_of(names, count);
    swift_names_apply(report, &options);
    bool is_installed = strcmp(function_of(report, 0), names[0]) != 0;
    size_t right = 0;
    for (size_t i = 0; i < count; i++)
        right += strcmp(function_of(report, i), answers[i]) == 0;
    json_decref(report);
    if (!is_installed)
        test_skip("no Swift is installed");
    print_message("%zu of %zu names\n", right, count);
    assert_int_equal(right, count);
}

static void thunks_of_swift_belong_to_the_system(void **state)
{
    (void)state;
    // A forwarder of a closure, a protocol's witness, its part after an await.
    assert_true(system_frame("/opt/shop", "$s1a5outerySixAA6PricedRzlFS2icfU_TA"));
    assert_true(
        system_frame("/opt/shop", "$s1a4ShopCAA6PricedA2aDP5price2ofSiSS_tFTW"));
    assert_true(system_frame("/opt/shop", "$s1a4ShopCAA6PricedA2aDP5priceSiyFTWTQ0_"));
    assert_false(system_frame("/opt/shop", "$s1a5crashySiSaySiGF"));
    assert_false(system_frame("/opt/shop", "$s1a4ShopC4openyAA4KindOSSSiKcYaFZTY0_"));
    assert_false(system_frame("/opt/shop", "_ZTW5local"));
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(swift_names_are_demangled_by_a_library_without_roots_rights),
        cmocka_unit_test(a_library_that_others_can_write_is_not_loaded),
        cmocka_unit_test(an_installed_swift_gives_the_answers_of_its_own_tool),
        cmocka_unit_test(thunks_of_swift_belong_to_the_system),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
