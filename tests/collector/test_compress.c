// SPDX-License-Identifier: Apache-2.0

#include "collector/entry/decode.h"
#include "support/test.h"

static void gzip_is_wanted_where_it_is_named(void **state)
{
    (void)state;
    static const char *const wanted[] = { "gzip", "deflate, gzip", "GZIP;q=0.5, br",
                                          "br , gzip ;q=1" };
    static const char *const refused[] = { "",       "br",          "gzip;q=0",
                                           "x-gzip", "gzip; q=0.0", "gzi",
                                           "*" };
    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
        assert_true(compress_wanted(wanted[i]));
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
        assert_false(compress_wanted(refused[i]));
    assert_false(compress_wanted(NULL));
}

static void an_answer_becomes_smaller_and_is_the_same(void **state)
{
    (void)state;
    struct text body = { 0 };
    struct text again = { 0 };
    for (int i = 0; i < 2000; i++)
        text_appendf(&body, "<li>row %d</li>", i);
    size_t size = body.size;
    bool done = compress_answer(&body);
    bool same =
        done && body.size < size / 3 &&
        decode_body(DECODE_GZIP, body.bytes, body.size, 2 * size, &again) == CH_OK &&
        again.size == size && memcmp(again.bytes, "<li>row 0</li>", 14) == 0;
    text_deinit(&body);
    text_deinit(&again);
    assert_true(same);
}

static void what_is_short_or_does_not_shrink_stays(void **state)
{
    (void)state;
    struct text body = { 0 };
    uint32_t chance = 1;
    text_append_string(&body, "short");
    bool kept = !compress_answer(&body) && strcmp(body.bytes, "short") == 0;
    for (int i = 0; i < 4000; i++) {
        chance = chance * 1664525 + 1013904223;
        text_append(&body, (const char *)&chance + 3, 1);
    }
    size_t size = body.size;
    kept = kept && !compress_answer(&body) && body.size == size;
    text_deinit(&body);
    assert_true(kept);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gzip_is_wanted_where_it_is_named),
        cmocka_unit_test(an_answer_becomes_smaller_and_is_the_same),
        cmocka_unit_test(what_is_short_or_does_not_shrink_stays),
    };
    return cmocka_run_group_tests_name("collector/compress", tests, NULL, NULL);
}
