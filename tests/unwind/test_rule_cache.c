// SPDX-License-Identifier: Apache-2.0
#include "unwind/rule_cache.h"

#include "support/test.h"
#include "unwind/target.h"

// FUNCTIONS have rules; the two after them have none.
enum { FUNCTIONS = 30, DEF_CFA_OFFSET = 0x0e };

static uint8_t cfa_offset(size_t function)
{
    return (uint8_t)(16 + 3 * function);
}

static void begin(struct target *t)
{
    target_init(t);
    for (size_t i = 0; i < FUNCTIONS; i++) {
        const uint8_t code[] = { DEF_CFA_OFFSET, cfa_offset(i) };
        target_rule(t, code, sizeof(code));
    }
    target_finish(t);
}

// is_right returns true if the cache gives the row that pc's function has.
static bool is_right(struct rule_cache *cache, uint64_t pc)
{
    const struct unwind_row *row = NULL;
    size_t function = (size_t)(pc - CODE) / FUNCTION_BYTES;
    enum ch_status status = rule_cache_find(cache, RULE_CFI, pc, &row);
    if (function >= FUNCTIONS)
        return status == CH_ERR_NOT_FOUND;
    return status == CH_OK && row->cfa.offset == cfa_offset(function);
}

// More addresses than the cache holds: it grows, and then empties itself.
static void rule_cache_gives_the_same_rows_while_it_grows_and_empties(void **state)
{
    static struct target t;
    struct rule_cache *cache;
    size_t wrong = 0;
    (void)state;
    begin(&t);
    assert_int_equal(
        rule_cache_create(&unwind_arch_amd64, &t.reader, &t.image, 1, &cache), CH_OK);
    for (size_t i = 0; i < 3 * CODE_BYTES; i++) {
        // An odd factor visits each address once a round, in no order.
        wrong += !is_right(cache, CODE + i * 2654435761u % CODE_BYTES);
        wrong += !is_right(cache, CODE + (i / 2) * 2654435761u % CODE_BYTES);
    }
    rule_cache_destroy(cache);
    assert_int_equal(wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rule_cache_gives_the_same_rows_while_it_grows_and_empties),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
