// SPDX-License-Identifier: Apache-2.0
#include "upload/lanes.h"

size_t lanes_open(const struct lanes *lanes)
{
    size_t open = lanes->well < LANES_FROM ? 1 : lanes->well - LANES_FROM + 2;
    return open < LANES_MAX ? open : LANES_MAX;
}

static void *lane_run(void *context)
{
    const struct lane *lane = context;
    lane->work(lane->context);
    return NULL;
}

void lanes_begin(struct lanes *lanes, lane_work_fn *work, void *context)
{
    struct lane *lane = &lanes->busy[(lanes->first + lanes->count) % LANES_MAX];
    *lane = (struct lane){ .work = work, .context = context };
    lanes->count++;
    lane->threaded = lanes_open(lanes) > 1 &&
                     pthread_create(&lane->thread, NULL, lane_run, lane) == 0;
    if (!lane->threaded)
        work(context);
}

bool lanes_free(const struct lanes *lanes)
{
    return lanes->count < lanes_open(lanes);
}

void *lanes_end(struct lanes *lanes)
{
    if (lanes->count == 0)
        return NULL;
    const struct lane *lane = &lanes->busy[lanes->first];
    if (lane->threaded)
        (void)pthread_join(lane->thread, NULL);
    lanes->first = (lanes->first + 1) % LANES_MAX;
    lanes->count--;
    return lane->context;
}

void lanes_judge(struct lanes *lanes, bool well)
{
    lanes->well = well ? lanes->well + 1 : 0;
}
