// SPDX-License-Identifier: Apache-2.0
//
// Several reports of a live process, one after another, and what their stacks have in
// common: where a program hangs or spends its time. A thread's stacks agree from the
// outer end up to the function in which it was each time; what it did there differs,
// and is counted. Users: attach.
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

struct attach_samples {
    json_t *threads; // tid: {"name","state","kernel":[...],"stacks":[[frame...]...]}
    json_t *waits;   // {"sample","waits":[...]}, of the samples in which a thread waits
    size_t count;
};

CH_CHECKED enum ch_status attach_samples_init(struct attach_samples *samples);
void attach_samples_deinit(struct attach_samples *samples);

// attach_samples_add adds the threads of a report with names. Of a thread in
// uninterruptible sleep the kernel's own stack is read, or the function that it sleeps
// in, where /proc gives it.
void attach_samples_add(struct attach_samples *samples, const json_t *report);

// attach_samples_print prints what is common to them, as text or as JSON.
void attach_samples_print(const struct attach_samples *samples, bool as_json);
