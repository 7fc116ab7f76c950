// SPDX-License-Identifier: Apache-2.0
//
// Alerts tell people at once what is new, came back, rises or comes in great number.
//
// One thread looks for what is to be told, and sends it, one message after the other:
// of all alerts that came for a receiver in its window. A receiver that fails rests,
// for a second at first and an hour at last, and nobody else waits for it longer than
// one attempt takes. What is on its way when the collector is to end is waited
// for, so that only a kill sends an alert twice.
#pragma once
#include "collector/requests/receivers.h"
#include "collector/server/metrics.h"
#include "collector/store/store.h"

typedef void alerts_complain_fn(const char *error);

struct alerts;

// alerts_options is what the thread works with; what it refers to must outlive it.
struct alerts_options {
    struct store *store;
    struct receiver_list *receivers;
    struct metrics *metrics;
    const char *site; // where the pages are; NULL: not known
    alerts_complain_fn *complain;
};

// alerts_create starts the thread.
CH_CHECKED enum ch_status alerts_create(const struct alerts_options *options,
                                        struct alerts **out);

// alerts_destroy ends it after the current message; NULL is allowed.
void alerts_destroy(struct alerts *alerts);

// alerts_add_receiver keeps a receiver in the store, for a project or, where that is
// empty, for all, and writes its id. CH_ERR_MALFORMED: why says what is wrong with the
// line.
CH_CHECKED enum ch_status alerts_add_receiver(struct receiver_list *receivers,
                                              const char *project, const char *line,
                                              char id[RECEIVER_ID_SIZE],
                                              char why[STORE_ERROR_SIZE]);

// alerts_remove_receiver removes one that was kept so. CH_ERR_NOT_FOUND: there is none,
// or a file has it.
CH_CHECKED enum ch_status alerts_remove_receiver(struct receiver_list *receivers,
                                                 const char *project, const char *id,
                                                 char error[STORE_ERROR_SIZE]);

// alerts_test queues a test for one receiver, of a project or, where that is empty, of
// any. CH_ERR_NOT_FOUND: there is no such.
CH_CHECKED enum ch_status alerts_test(struct store *store,
                                      struct receiver_list *receivers,
                                      const char *project, const char *id,
                                      char error[STORE_ERROR_SIZE]);
