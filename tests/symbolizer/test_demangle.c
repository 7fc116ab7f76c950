// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/names/demangle.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "support/test.h"

// means returns true if raw_name demangles to wanted (NULL: to nothing).
static bool means(const char *raw_name, const char *wanted)
{
    char *name = demangle_name(raw_name);
    bool same =
        wanted == NULL || name == NULL ? name == wanted : strcmp(name, wanted) == 0;
    if (!same)
        print_message("%s: %s\n", raw_name, name != NULL ? name : "(nothing)");
    free(name);
    return same;
}

static void demangle_reads_cxx_with_parameters(void **state)
{
    (void)state;
    assert_true(
        means("_ZN3net4Conn4sendERKSsi", "net::Conn::send(std::string const&, int)"));
}

static void demangle_reads_both_rust_schemes_without_the_hash(void **state)
{
    (void)state;
    assert_true(means("_ZN4core3fmt5write17h0123456789abcdefE", "core::fmt::write"));
    assert_true(means("_RNvCs1234_7mycrate3foo", "mycrate::foo"));
}

static void demangle_reads_d(void **state)
{
    (void)state;
    assert_true(means("_D3std5stdio7writelnFZv", "std.stdio.writeln()"));
}

static void demangle_leaves_names_of_c_alone(void **state)
{
    (void)state;
    assert_true(means("main", NULL));
    assert_true(means("_start", NULL));
    assert_true(means("_Z", NULL));
    assert_true(means("", NULL));
}

// doubling is a name in which each of levels parameters means the one before twice.
static struct text doubling(int levels)
{
    struct text name = { 0 };
    text_append_string(&name, "_Z1f1AIiiE");
    for (int i = 0; i < levels; i++) {
        // Substitutions count A, A<int, int>, then two for every level.
        char sequence[8] = "0_";
        if (i != 0)
            snprintf(sequence, sizeof(sequence), "%c_",
                     "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[i]);
        text_appendf(&name, "S_IS%sS%sE", sequence, sequence);
    }
    return name;
}

static size_t demangled_length(int levels)
{
    struct text name = doubling(levels);
    char *result = demangle_name(name.bytes);
    size_t length = result != NULL ? strlen(result) : 0;
    free(result);
    text_deinit(&name);
    return length;
}

static void demangle_refuses_a_short_name_that_means_gigabytes(void **state)
{
    (void)state;
    assert_in_range(demangled_length(3), 1, 1000);
    assert_in_range(demangled_length(6), 1000, DEMANGLE_OUTPUT_MAX);
    assert_int_equal(demangled_length(34), 0);
}

static void demangle_refuses_a_name_past_its_limit(void **state)
{
    (void)state;
    char *name = malloc(DEMANGLE_INPUT_MAX + 16);
    assert_non_null(name);
    memset(name, 'x', DEMANGLE_INPUT_MAX + 15);
    name[DEMANGLE_INPUT_MAX + 15] = 0;
    memcpy(name, "_Z16390", 7);
    char *result = demangle_name(name);
    bool refused = result == NULL;
    free(result);
    free(name);
    assert_true(refused);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(demangle_reads_cxx_with_parameters),
        cmocka_unit_test(demangle_reads_both_rust_schemes_without_the_hash),
        cmocka_unit_test(demangle_reads_d),
        cmocka_unit_test(demangle_leaves_names_of_c_alone),
        cmocka_unit_test(demangle_refuses_a_short_name_that_means_gigabytes),
        cmocka_unit_test(demangle_refuses_a_name_past_its_limit),
    };
    return cmocka_run_group_tests_name("symbolizer/demangle", tests, NULL, NULL);
}
