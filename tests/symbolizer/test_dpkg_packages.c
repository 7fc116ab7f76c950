// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/files/dpkg_packages.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "support/folder.h"
#include "support/test.h"

static const char lists[] = "var/lib/dpkg/info";
static const char status[] = "Package: libshop1\nStatus: install ok installed\n"
                             "Architecture: amd64\nVersion: 1.4-2\n\n"
                             "Package: libshop1\nArchitecture: i386\nVersion: 1.3\n"
                             "Conffiles:\n /etc/shop 1234\n\n"
                             "Package: shop-tools\nArchitecture: all\nVersion: 2:7.0\n";

static void write_database(const struct folder *folder, const char *name,
                           const char *text)
{
    char path[PATH_MAX];
    (void)snprintf(path, sizeof(path), "%s/%s", folder->path, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    (void)fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

// set_time gives a file or folder of the database a time of change.
static void set_time(const struct folder *folder, const char *name, time_t seconds)
{
    const struct timespec times[] = { { .tv_sec = seconds }, { .tv_sec = seconds } };
    assert_int_equal(utimensat(AT_FDCWD, folder_path(folder, name), times, 0), 0);
}

static int setup(void **state)
{
    static const char *const folders[] = { "var", "var/lib", "var/lib/dpkg",
                                           "var/lib/dpkg/info" };
    if (folder_setup(state) != 0)
        return -1;
    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
        if (mkdir(folder_path(*state, folders[i]), 0700) != 0)
            return -1;
    write_database(*state, "var/lib/dpkg/status", status);
    write_database(*state, "var/lib/dpkg/info/libshop1:amd64.list",
                   "/.\n/lib/x86_64-linux-gnu/libshop.so.1\n/usr/share/doc\n");
    write_database(*state, "var/lib/dpkg/info/libshop1:i386.list",
                   "/lib/i386-linux-gnu/libshop.so.1\n");
    write_database(*state, "var/lib/dpkg/info/shop-tools.list",
                   "/usr/bin/shop\n/opt/shop/deliver");
    write_database(*state, "var/lib/dpkg/info/shop-tools.md5sums", "/opt/none\n");
    // Packages are looked for each time, unless a test has the status settle.
    set_time(*state, "var/lib/dpkg/status", time(NULL) + 1000);
    return 0;
}

// is_of returns true if the package has that name and version, and releases it.
static bool is_of(struct dpkg_file *file, const char *name, const char *version)
{
    const char *has[] = {
        json_string_value(json_object_get(file->package, "name")),
        json_string_value(json_object_get(file->package, "version")),
    };
    bool same = has[0] != NULL && has[1] != NULL && strcmp(has[0], name) == 0 &&
                strcmp(has[1], version) == 0;
    json_decref(file->package);
    return same;
}

static void files_have_the_package_whose_list_has_them(void **state)
{
    const struct folder *folder = *state;
    struct dpkg_file files[] = {
        { "/usr/lib/x86_64-linux-gnu/libshop.so.1", NULL }, // listed without /usr
        { "/usr/lib/i386-linux-gnu/libshop.so.1", NULL },
        { "/bin/shop", NULL },
        { "/opt/shop/deliver", NULL }, // the last line has no end
    };
    dpkg_packages_find(folder->path, NULL, files, 4);
    bool right[] = { is_of(&files[0], "libshop1", "1.4-2"),
                     is_of(&files[1], "libshop1", "1.3"),
                     is_of(&files[2], "shop-tools", "2:7.0"),
                     is_of(&files[3], "shop-tools", "2:7.0") };
    for (size_t i = 0; i < 4; i++)
        assert_true(right[i]);
}

static void other_files_have_none(void **state)
{
    const struct folder *folder = *state;
    struct dpkg_file files[] = {
        { "/opt/none", NULL },
        { "/opt/shop/deliver.old", NULL },
        { "/opt/shop/deliv", NULL },
        { "/local/usr/bin/shop", NULL },
        { "", NULL },
    };
    dpkg_packages_find(folder->path, NULL, files, 5);
    for (size_t i = 0; i < 5; i++)
        assert_null(files[i].package);
    dpkg_packages_find("/nonexistent", NULL, files, 5);
    dpkg_packages_find(folder->path, NULL, files, 0);
    assert_null(files[0].package);
}

static void a_damaged_database_ends_the_search(void **state)
{
    static const char *const texts[] = { "", "\n\n\n", "Package: libshop1",
                                         "Package: \n\nVersion: 1\n\n",
                                         "Version: 1\nPackage: libshop1\n" };
    const struct folder *folder = *state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct dpkg_file file = { "/lib/x86_64-linux-gnu/libshop.so.1", NULL };
        write_database(folder, "var/lib/dpkg/status", texts[i]);
        dpkg_packages_find(folder->path, NULL, &file, 1);
        assert_null(file.package); // the architecture is missing, or the version
    }
    struct dpkg_file file = { "/bin/shop", NULL };
    assert_int_equal(mkfifo(folder_path(folder, "var/lib/dpkg/info/pipe.list"), 0600),
                     0);
    dpkg_packages_find(folder->path, NULL, &file, 1);
    assert_null(file.package);
}

static void a_database_that_is_cut_gives_no_other_package(void **state)
{
    const struct folder *folder = *state;
    for (size_t size = 0; size < sizeof(status); size++) {
        char cut[sizeof(status)];
        struct dpkg_file file = { "/lib/x86_64-linux-gnu/libshop.so.1", NULL };
        memcpy(cut, status, size);
        cut[size] = 0;
        write_database(folder, "var/lib/dpkg/status", cut);
        dpkg_packages_find(folder->path, NULL, &file, 1);
        bool found = file.package != NULL;
        bool right = is_of(&file, "libshop1", "1.4-2");
        assert_int_equal(right, found);
        assert_int_equal(found, size >= (size_t)(strstr(status, "\n\n") - status) + 1);
    }
}

static void a_list_that_is_cut_has_the_files_before(void **state)
{
    static const char list[] = "/.\n/lib/x86_64-linux-gnu/libshop.so.1\n/usr/share\n";
    const struct folder *folder = *state;
    for (size_t size = 0; size < sizeof(list); size++) {
        char cut[sizeof(list)];
        struct dpkg_file file = { "/lib/x86_64-linux-gnu/libshop.so.1", NULL };
        memcpy(cut, list, size);
        cut[size] = 0;
        write_database(folder, "var/lib/dpkg/info/libshop1:amd64.list", cut);
        dpkg_packages_find(folder->path, NULL, &file, 1);
        bool found = file.package != NULL;
        json_decref(file.package);
        assert_int_equal(found, size >= (size_t)(strstr(list, "\n/usr") - list));
    }
}

// indexes_change gives the number of indexes in the cache. They are cut to size, and
// their time of change is set to so many seconds ago, unless those are negative.
static int indexes_change(const char *cache, off_t size, time_t seconds)
{
    const struct timespec then = { .tv_sec = time(NULL) - seconds };
    const struct timespec times[] = { then, then };
    char path[PATH_MAX];
    const struct dirent *entry;
    int count = 0;
    DIR *folder = opendir(cache);
    while (folder != NULL && (entry = readdir(folder)) != NULL) {
        if (strstr(entry->d_name, "-packages") == NULL)
            continue;
        count++;
        (void)snprintf(path, sizeof(path), "%s/%s", cache, entry->d_name);
        if (size >= 0)
            assert_int_equal(truncate(path, size), 0);
        if (seconds >= 0)
            assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
    }
    if (folder != NULL)
        closedir(folder);
    return count;
}

// The lists are changed in place, so that only the time says that they were.
static void an_index_is_used_until_the_lists_change(void **state)
{
    const struct folder *folder = *state;
    char cache[PATH_MAX];
    (void)snprintf(cache, sizeof(cache), "%s", folder_path(folder, "cache"));
    for (int turn = 0; turn < 3; turn++) {
        struct dpkg_file older = { "/bin/shop", NULL };
        struct dpkg_file newer = { "/bin/new", NULL };
        set_time(folder, lists, turn < 2 ? 1000 : 2000);
        dpkg_packages_find(folder->path, cache, &newer, 1);
        assert_int_equal(is_of(&newer, "shop-tools", "2:7.0"), turn == 2);
        dpkg_packages_find(folder->path, cache, &older, 1);
        // The list that the index leads to does not have it any more.
        assert_int_equal(is_of(&older, "shop-tools", "2:7.0"), turn == 0);
        assert_int_equal(indexes_change(cache, -1, -1), turn < 2 ? 1 : 2);
        write_database(folder, "var/lib/dpkg/info/shop-tools.list", "/bin/new\n");
    }
}

static void versions_are_those_of_now(void **state)
{
    const struct folder *folder = *state;
    char cache[PATH_MAX];
    (void)snprintf(cache, sizeof(cache), "%s", folder_path(folder, "cache"));
    set_time(folder, lists, 1000);
    for (int turn = 0; turn < 2; turn++) {
        struct dpkg_file file = { "/bin/shop", NULL };
        dpkg_packages_find(folder->path, cache, &file, 1);
        assert_true(is_of(&file, "shop-tools", turn == 0 ? "2:7.0" : "8.0"));
        write_database(folder, "var/lib/dpkg/status",
                       "Package: shop-tools\nVersion: 8.0\n");
    }
}

static void what_was_found_is_known_until_the_database_changes(void **state)
{
    const struct folder *folder = *state;
    char cache[PATH_MAX];
    (void)snprintf(cache, sizeof(cache), "%s", folder_path(folder, "cache"));
    for (int turn = 0; turn < 3; turn++) {
        struct dpkg_file files[] = { { "/bin/shop", NULL },
                                     { "/bin/none", NULL },
                                     { "/opt/shop/deliver", NULL } };
        set_time(folder, lists, time(NULL) + 1000); // no index is kept
        set_time(folder, "var/lib/dpkg/status", turn < 2 ? 1000 : 2000);
        // The third file is looked for from the second turn on.
        dpkg_packages_find(folder->path, cache, files, turn == 0 ? 2 : 3);
        assert_int_equal(is_of(&files[0], "shop-tools", "2:7.0"), turn < 2);
        assert_int_equal(is_of(&files[1], "shop-tools", "2:7.0"), turn == 2);
        assert_null(files[2].package);
        write_database(folder, "var/lib/dpkg/info/shop-tools.list", "/bin/none\n");
    }
}

static void an_index_that_is_damaged_is_made_again(void **state)
{
    const struct folder *folder = *state;
    char cache[PATH_MAX];
    (void)snprintf(cache, sizeof(cache), "%s", folder_path(folder, "cache"));
    set_time(folder, lists, 1000);
    int cuts = 0;
    for (off_t size = 0; size < 400; size++) { // longer ones have zeros at the end
        struct dpkg_file file = { "/bin/shop", NULL };
        dpkg_packages_find(folder->path, cache, &file, 1);
        assert_true(is_of(&file, "shop-tools", "2:7.0"));
        cuts += indexes_change(cache, size, -1);
    }
    assert_int_equal(cuts, 400);
}

static void an_index_is_removed_after_a_month(void **state)
{
    enum { DAY_SECONDS = 24 * 60 * 60 };
    const struct folder *folder = *state;
    char cache[PATH_MAX];
    (void)snprintf(cache, sizeof(cache), "%s", folder_path(folder, "cache"));
    for (int turn = 0; turn < 3; turn++) {
        struct dpkg_file file = { "/bin/shop", NULL };
        set_time(folder, lists, 1000 + turn);
        dpkg_packages_find(folder->path, cache, &file, 1);
        assert_true(is_of(&file, "shop-tools", "2:7.0"));
        assert_int_equal(indexes_change(cache, -1, -1), turn == 1 ? 2 : 1);
        indexes_change(cache, -1, (turn == 0 ? 29 : 31) * DAY_SECONDS);
    }
}

static void an_index_of_lists_that_may_change_yet_is_not_kept(void **state)
{
    const struct folder *folder = *state;
    char cache[PATH_MAX];
    (void)snprintf(cache, sizeof(cache), "%s", folder_path(folder, "cache"));
    struct dpkg_file file = { "/bin/shop", NULL };
    set_time(folder, lists, time(NULL) + 1000);
    dpkg_packages_find(folder->path, cache, &file, 1);
    assert_true(is_of(&file, "shop-tools", "2:7.0"));
    assert_int_equal(indexes_change(cache, -1, -1), 0);
}

static void what_could_not_be_read_is_looked_for_again(void **state)
{
    const struct folder *folder = *state;
    char cache[PATH_MAX];
    char list[PATH_MAX];
    (void)snprintf(cache, sizeof(cache), "%s", folder_path(folder, "cache"));
    (void)snprintf(list, sizeof(list), "%s",
                   folder_path(folder, "var/lib/dpkg/info/shop-tools.list"));
    assert_int_equal(unlink(list), 0);
    assert_int_equal(mkdir(list, 0700), 0);
    set_time(folder, lists, 1000);
    struct dpkg_file file = { "/bin/shop", NULL };
    dpkg_packages_find(folder->path, cache, &file, 1);
    assert_null(file.package);
    assert_int_equal(indexes_change(cache, -1, -1), 0);
    assert_int_equal(rmdir(list), 0);
    write_database(folder, "var/lib/dpkg/info/shop-tools.list", "/bin/shop\n");
    set_time(folder, lists, 1000);
    dpkg_packages_find(folder->path, cache, &file, 1);
    assert_true(is_of(&file, "shop-tools", "2:7.0"));
}

#define DPKG_TEST(test) cmocka_unit_test_setup_teardown(test, setup, folder_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        DPKG_TEST(files_have_the_package_whose_list_has_them),
        DPKG_TEST(other_files_have_none),
        DPKG_TEST(a_damaged_database_ends_the_search),
        DPKG_TEST(a_database_that_is_cut_gives_no_other_package),
        DPKG_TEST(a_list_that_is_cut_has_the_files_before),
        DPKG_TEST(an_index_is_used_until_the_lists_change),
        DPKG_TEST(what_was_found_is_known_until_the_database_changes),
        DPKG_TEST(versions_are_those_of_now),
        DPKG_TEST(an_index_that_is_damaged_is_made_again),
        DPKG_TEST(an_index_is_removed_after_a_month),
        DPKG_TEST(an_index_of_lists_that_may_change_yet_is_not_kept),
        DPKG_TEST(what_could_not_be_read_is_looked_for_again),
    };
    return cmocka_run_group_tests_name("symbolizer/dpkg_packages", tests, NULL, NULL);
}
