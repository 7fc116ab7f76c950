// SPDX-License-Identifier: Apache-2.0
//
// Suspended coroutines as frames of a backtrace.
//
// Both gcc and clang lay out a coroutine's frame in the same way: a pointer to its
// resume function, one to its destroy function, the promise. The resume pointer is null
// once the coroutine is at its final suspension point. The co_await at which it is
// suspended is a number stored after these, at an offset that no ABI specifies.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "backtrace/frame_list.h"
#include "backtrace/local_code.h"

enum { WORD = 8, CHAIN_MAX = 4096 };

// chain is the state of following a chain of coroutines.
struct chain {
    uint64_t coroutine;  // address of the next one's frame; 0: none
    size_t continuation; // offset of the handle in each coroutine's frame
};

static bool read_own_word(uint64_t address, uint64_t *out)
{
    if (!local_code_is_readable(address) || !local_code_is_readable(address + WORD - 1))
        return false;
    memcpy(out, (const void *)(uintptr_t)address, sizeof(*out));
    return true;
}

// next_in_chain gives the next coroutine's frame. CH_END: there is none. CH_ERR_FAULT:
// this is no coroutine.
static enum ch_status next_in_chain(struct chain *chain, struct crashhook_frame *out)
{
    struct local_image image;
    uint64_t low;
    uint64_t high;
    uint64_t resume;
    uint64_t address = chain->coroutine;
    if (address == 0)
        return CH_END;
    if (address % WORD != 0 || !read_own_word(address, &resume))
        return CH_ERR_FAULT;
    if (resume == 0)
        return CH_END;
    if (!local_code_image(resume, &image) ||
        !local_code_segment(&image, resume, true, &low, &high))
        return CH_ERR_FAULT;
    *out = (struct crashhook_frame){ .kind = CRASHHOOK_FRAME_ASYNC_RESUME_POINT,
                                     .address = crashhook_address_make(resume, 64) };
    chain->coroutine = 0;
    if (chain->continuation != CRASHHOOK_NO_CONTINUATION &&
        !read_own_word(address + chain->continuation, &chain->coroutine))
        return CH_ERR_FAULT;
    return CH_OK;
}

// replace_frames sets the frames of backtrace to the given ones.
static enum ch_status replace_frames(struct crashhook_backtrace *backtrace,
                                     const struct crashhook_frame *frames, size_t count)
{
    uint8_t *cbf;
    size_t size;
    enum ch_status status = frame_list_encode(frames, count, &cbf, &size);
    if (status != CH_OK)
        return status;
    stored_replace(backtrace, cbf, size);
    return CH_OK;
}

static int append_chain(struct crashhook_backtrace *backtrace, struct chain *chain,
                        size_t max)
{
    struct crashhook_frame *frames;
    size_t count;
    enum ch_status status = frame_list_decode(backtrace, max, &frames, &count);
    if (status != CH_OK)
        return stored_errno(status);
    if (count != 0 && frames[count - 1].kind == CRASHHOOK_FRAME_TRUNCATED) {
        free(frames);
        return EINVAL;
    }
    enum ch_status found = CH_OK;
    for (size_t i = 0; found == CH_OK && i < max; i++) {
        found = next_in_chain(chain, &frames[count]);
        count += found == CH_OK;
    }
    status = replace_frames(backtrace, frames, count);
    free(frames);
    if (status != CH_OK)
        return stored_errno(status);
    return found == CH_ERR_FAULT ? EFAULT : 0;
}

int crashhook_backtrace_append_async(struct crashhook_backtrace *backtrace,
                                     const void *coroutine, size_t continuation,
                                     size_t max)
{
    struct chain chain = { .coroutine = (uintptr_t)coroutine,
                           .continuation = continuation };
    if (backtrace->width != 64)
        return EINVAL;
    return append_chain(backtrace, &chain, max < CHAIN_MAX ? max : CHAIN_MAX);
}
