// SPDX-License-Identifier: Apache-2.0
#include "fuzz/fuzz.h"
#include "symbolizer/cache/symbol_cache.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct symbol_frame frames[SYMBOL_FRAMES_MAX];
    struct build_id id = { .bytes = { 1 }, .size = 1 };
    struct symbol_cache cache;
    uint64_t vaddrs[SYMBOL_CACHE_EXPECTED_MAX];
    struct symbol_cache_die die;
    size_t count;
    if (symbol_cache_over(&cache, bytes, size, &id) != CH_OK)
        return 0;
    for (size_t i = 0; i <= cache.page_count / 8; i++)
        cache.checked[i] = 0xff; // the parser, not the checksums
    for (size_t i = 0; i < SYMBOL_CACHE_EXPECTED_MAX; i++)
        vaddrs[i] = cache.text[0] + 64 * i;
    symbol_cache_expect(&cache, vaddrs, SYMBOL_CACHE_EXPECTED_MAX);
    for (size_t i = 0; i < SYMBOL_CACHE_EXPECTED_MAX; i++)
        (void)!symbol_cache_find(&cache, vaddrs[i], frames, &count);
    for (size_t i = 0; i < SYMBOL_CACHE_EXPECTED_MAX; i++)
        (void)symbol_cache_find_die(&cache, vaddrs[i], &die);
    symbol_cache_deinit(&cache);
    return 0;
}
