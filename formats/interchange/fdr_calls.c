// SPDX-License-Identifier: Apache-2.0
#include "formats/interchange/fdr_calls.h"

#include <stdlib.h>

#include "base/array.h"

enum { STEPS_PER_RECORD = 256 };

const char *fdr_call_end_name(enum fdr_call_end how)
{
    static const char *const names[] = {
        [FDR_CALL_RETURNED] = "returned",
        [FDR_CALL_TAIL] = "tail",
        [FDR_CALL_LEFT] = "left",
        [FDR_CALL_OPEN] = "open",
    };
    return names[how];
}

void fdr_calls_init(struct fdr_calls *calls, const struct fdr_calls_user *user)
{
    *calls = (struct fdr_calls){ .user = *user };
}

void fdr_calls_deinit(struct fdr_calls *calls)
{
    for (size_t i = 0; i < calls->thread_count; i++)
        free(calls->threads[i].open);
    free(calls->threads);
    free(calls->numbers.slots);
    *calls = (struct fdr_calls){ 0 };
}

// calls_thread finds or adds the thread. CH_ERR_LIMIT: there are too many.
static enum ch_status calls_thread(struct fdr_calls *calls, int32_t tid,
                                   struct fdr_calls_thread **out)
{
    size_t count = calls->thread_count;
    if (calls->last >= count || calls->threads[calls->last].tid != tid) {
        uint32_t *number = key_index_place(&calls->numbers, count, (uint32_t)tid);
        if (number == NULL)
            return CH_ERR_NO_MEMORY;
        if (*number == 0 && count == FDR_CALLS_THREADS_MAX)
            return CH_ERR_LIMIT;
        if (*number == 0 && !array_reserve(&calls->threads, &calls->thread_capacity,
                                           count, sizeof(*calls->threads)))
            return CH_ERR_NO_MEMORY;
        if (*number == 0) {
            calls->threads[count] = (struct fdr_calls_thread){ .tid = tid };
            *number = (uint32_t)++calls->thread_count;
        }
        calls->last = *number - 1;
    }
    *out = &calls->threads[calls->last];
    return CH_OK;
}

static enum ch_status calls_enter(struct fdr_calls *calls,
                                  struct fdr_calls_thread *thread,
                                  const struct fdr_record *record)
{
    if (thread->deeper != 0 || calls->open_count == FDR_CALLS_OPEN_MAX) {
        thread->deeper++;
        calls->left_out++;
        return CH_OK;
    }
    if (!array_reserve(&thread->open, &thread->open_capacity, thread->open_count,
                       sizeof(*thread->open)))
        return CH_ERR_NO_MEMORY;
    struct fdr_call *call = &thread->open[thread->open_count++];
    *call = (struct fdr_call){ .begin = record->tsc, .function = record->function };
    calls->open_count++;
    calls->user.enter(calls->user.context, thread, call);
    return CH_OK;
}

// calls_pop ends the innermost open call. A clock that goes back gives a call no time.
static void calls_pop(struct fdr_calls *calls, struct fdr_calls_thread *thread,
                      uint64_t end, enum fdr_call_end how)
{
    const struct fdr_call *call = &thread->open[thread->open_count - 1];
    if (end < call->begin)
        end = call->begin;
    calls->user.leave(calls->user.context, thread, call, end, how);
    thread->open_count--;
    calls->open_count--;
}

static void calls_leave(struct fdr_calls *calls, struct fdr_calls_thread *thread,
                        const struct fdr_record *record)
{
    size_t level = thread->open_count;
    if (thread->deeper != 0) {
        thread->deeper--;
        return;
    }
    while (level != 0 && thread->open[level - 1].function != record->function) {
        if (calls->steps == 0) {
            calls->left_out++;
            return;
        }
        calls->steps--;
        level--;
    }
    if (level == 0) {
        calls->unmatched++;
        return;
    }
    while (thread->open_count > level)
        calls_pop(calls, thread, record->tsc, FDR_CALL_LEFT);
    calls_pop(calls, thread, record->tsc,
              record->action == FDR_TAIL_EXIT ? FDR_CALL_TAIL : FDR_CALL_RETURNED);
}

enum ch_status fdr_calls_add(struct fdr_calls *calls, const struct fdr_record *record)
{
    struct fdr_calls_thread *thread;
    if (record->kind != FDR_FUNCTION)
        return CH_OK;
    enum ch_status status = calls_thread(calls, record->tid, &thread);
    if (status == CH_ERR_LIMIT) {
        calls->left_out++;
        return CH_OK;
    }
    if (status != CH_OK)
        return status;
    thread->last_tsc = record->tsc;
    calls->steps += STEPS_PER_RECORD;
    if (record->action == FDR_ENTER || record->action == FDR_ENTER_ARGS)
        return calls_enter(calls, thread, record);
    calls_leave(calls, thread, record);
    return CH_OK;
}

void fdr_calls_finish(struct fdr_calls *calls)
{
    for (size_t i = 0; i < calls->thread_count; i++) {
        struct fdr_calls_thread *thread = &calls->threads[i];
        while (thread->open_count != 0)
            calls_pop(calls, thread, thread->last_tsc, FDR_CALL_OPEN);
    }
}
