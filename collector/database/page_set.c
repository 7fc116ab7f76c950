// SPDX-License-Identifier: Apache-2.0
#include "collector/database/page_set.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

enum { BITS = 64 };

void page_set_deinit(struct page_set *set)
{
    free(set->words);
    *set = (struct page_set){ 0 };
}

static bool grow_to(struct page_set *set, size_t words)
{
    size_t before = set->word_count;
    if (words <= before)
        return true;
    if (!array_grow(&set->words, &set->word_count, words, sizeof(set->words[0])))
        return false;
    memset(set->words + before, 0, (set->word_count - before) * sizeof(set->words[0]));
    return true;
}

bool page_set_has(const struct page_set *set, uint32_t page)
{
    return page / BITS < set->word_count &&
           (set->words[page / BITS] >> (page % BITS) & 1) != 0;
}

bool page_set_add(struct page_set *set, uint32_t page)
{
    if (page > PAGE_SET_MOST || !grow_to(set, page / BITS + 1))
        return false;
    set->count += !page_set_has(set, page);
    set->words[page / BITS] |= (uint64_t)1 << (page % BITS);
    return true;
}

bool page_set_move(struct page_set *from, struct page_set *to)
{
    if (!grow_to(to, from->word_count))
        return false;
    for (size_t i = 0; i < from->word_count && from->count != 0; i++) {
        to->count += (size_t)__builtin_popcountll(from->words[i] & ~to->words[i]);
        to->words[i] |= from->words[i];
        from->words[i] = 0;
    }
    from->count = 0;
    return true;
}

static bool take_one(struct page_set *set, uint32_t page)
{
    if (!page_set_has(set, page))
        return false;
    set->words[page / BITS] &= ~((uint64_t)1 << (page % BITS));
    set->count--;
    return true;
}

struct page_run page_set_take(struct page_set *set, size_t *word, uint32_t most)
{
    struct page_run run = { 0 };
    while (*word < set->word_count && set->words[*word] == 0)
        (*word)++;
    if (*word == set->word_count)
        return run;
    run.first = (uint32_t)(*word * BITS) + (uint32_t)__builtin_ctzll(set->words[*word]);
    while (run.count < most && take_one(set, run.first + run.count))
        run.count++;
    return run;
}
