// SPDX-License-Identifier: Apache-2.0
#include "backtrace/named.h"

#include <stdlib.h>

#include "backtrace/frame_list.h"
#include "backtrace/named_cache.h"
#include "backtrace/symbol.h"
#include "base/array.h"

enum ch_status named_create(const struct crashhook_backtrace *backtrace,
                            struct crashhook_images *images,
                            struct crashhook_symbolicated_backtrace **out)
{
    struct crashhook_symbolicated_backtrace *made = calloc(1, sizeof(*made));
    if (made == NULL)
        return CH_ERR_NO_MEMORY;
    enum ch_status status =
        stored_create(backtrace->architecture, backtrace->cbf, backtrace->cbf_size,
                      backtrace->images, &made->backtrace);
    if (status != CH_OK) {
        free(made);
        return status;
    }
    made->images = crashhook_images_retain(images);
    *out = made;
    return CH_OK;
}

enum ch_status named_add_frame(struct crashhook_symbolicated_backtrace *named,
                               const struct crashhook_symbolicated_frame *frame)
{
    if (!array_reserve(&named->frames, &named->capacity, named->count, sizeof(*frame)))
        return CH_ERR_NO_MEMORY;
    named->frames[named->count++] = *frame;
    return CH_OK;
}

enum ch_status named_add_symbol(struct crashhook_symbolicated_backtrace *named,
                                struct crashhook_symbol *symbol)
{
    if (!array_reserve(&named->symbols, &named->symbol_capacity, named->symbol_count,
                       sizeof(struct crashhook_symbol *))) {
        crashhook_symbol_destroy(symbol);
        return CH_ERR_NO_MEMORY;
    }
    named->symbols[named->symbol_count++] = symbol;
    return CH_OK;
}

void crashhook_symbolicated_backtrace_destroy(
    struct crashhook_symbolicated_backtrace *named)
{
    if (named == NULL)
        return;
    for (size_t i = 0; i < named->symbol_count; i++)
        crashhook_symbol_destroy(named->symbols[i]);
    free(named->symbols);
    for (size_t i = 0; i < named->entry_count; i++)
        named_entry_release(named->entries[i]);
    free(named->entries);
    free(named->copies);
    free(named->frames);
    crashhook_images_release(named->images);
    crashhook_backtrace_destroy(named->backtrace);
    free(named);
}

const struct crashhook_backtrace *crashhook_symbolicated_backtrace_backtrace(
    const struct crashhook_symbolicated_backtrace *named)
{
    return named->backtrace;
}

struct crashhook_images *crashhook_symbolicated_backtrace_images(
    const struct crashhook_symbolicated_backtrace *named)
{
    return named->images;
}

size_t crashhook_symbolicated_backtrace_count(
    const struct crashhook_symbolicated_backtrace *named)
{
    return named->count;
}

const struct crashhook_symbolicated_frame *crashhook_symbolicated_backtrace_at(
    const struct crashhook_symbolicated_backtrace *named, size_t index)
{
    return index < named->count ? &named->frames[index] : NULL;
}

const char *crashhook_symbolicated_backtrace_runtime_failure(
    const struct crashhook_symbolicated_backtrace *named)
{
    if (named->count == 0 ||
        !crashhook_symbolicated_frame_is_runtime_failure(&named->frames[0]))
        return NULL;
    return named->frames[0].symbol->name;
}

bool crashhook_symbolicated_frame_is_runtime_failure(
    const struct crashhook_symbolicated_frame *frame)
{
    return frame->symbol != NULL && frame->symbol->is_runtime_failure;
}

bool crashhook_symbolicated_frame_is_thunk(
    const struct crashhook_symbolicated_frame *frame)
{
    return frame->symbol != NULL && frame->symbol->is_thunk;
}

bool crashhook_symbolicated_frame_is_system(
    const struct crashhook_symbolicated_frame *frame)
{
    return frame->symbol != NULL && frame->symbol->is_system;
}
