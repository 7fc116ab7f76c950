// SPDX-License-Identifier: Apache-2.0
//
// The queue of alerts: what happened, and which receivers are still to be told of it.
//
// What is new or came back becomes an alert in the transaction that stores its report,
// so no kill loses it. store_alerts_spread gives each alert to the receivers that want
// it; those that are due for a receiver are claimed for one message and, once it
// arrived, done. A claim that ends with its collector is claimed again, with the same
// id. Several collectors may share the queue. User: alerts.c.
#pragma once
#include "collector/store/store.h"

enum {
    STORE_MESSAGE_ALERTS = 500, // that one message is about at most
    STORE_ALERT_DETAIL_SIZE = 128,
    STORE_ALERT_ERROR_SIZE = 160,
    STORE_ALERT_KEPT_DAYS = 30, // then it is given up
};

// store_alert is something that happened. Strings live until the visitor returns.
struct store_alert {
    const char *id;      // a UUID
    const char *once;    // the same for what must not be told twice; NULL: id
    const char *kind;    // new, regressed, rising, count, machines, digest, test
    const char *group;   // empty: it is about no group
    const char *title;   // of the group
    const char *detail;  // of `regressed` the release, of `count` the rule, of
                         // `machines` how many, of others the only receiver
    const char *body;    // of a digest
    const char *project; // of the group; empty: none
    const char *report;  // that gave rise to it; empty: none, or it was removed
    // Of the group, for receivers that want only some; the environment is the report's.
    const char *program;
    const char *environment;
    const char *crash_kind;
    bool in_app; // some of its frames are the program's own
    int64_t machines;
    int64_t time_ms;
    int64_t number;
    int64_t tries; // of a claimed one, this one included
};

// store_alert_wanted_fn returns whether a receiver wants to be told of an alert.
typedef bool store_alert_wanted_fn(void *context, size_t receiver,
                                   const struct store_alert *alert);

// store_receivers are those who alerts are spread to.
struct store_receivers {
    const char *const *ids;
    size_t count;
    store_alert_wanted_fn *wanted;
    void *context;
};

// store_alert_state is what is queued for one receiver.
struct store_alert_state {
    int64_t waiting;
    int64_t tries; // most of one
    char error[STORE_ALERT_ERROR_SIZE];
};

typedef void store_alert_fn(void *context, const struct store_alert *alert);

// store_alert_add adds an alert that is no report's own, unless there was one of its
// kind, group and detail since since_ms.
CH_CHECKED enum ch_status store_alert_add(struct store *store,
                                          const struct store_alert *alert,
                                          int64_t since_ms,
                                          char error[STORE_ERROR_SIZE]);

// store_alerts_spread gives alerts that are ready to their receivers, and returns how
// many those were. A `new` group whose report turned out to be of an older one is
// dropped.
CH_CHECKED enum ch_status store_alerts_spread(struct store *store,
                                              const struct store_receivers *receivers,
                                              size_t *out_count,
                                              char error[STORE_ERROR_SIZE]);

// store_alert_pace is how often a receiver is notified: once in window_ms (0: of each
// alert by a message of its own), and limit_count times in limit_ms.
struct store_alert_pace {
    int64_t window_ms;
    int64_t limit_count;
    int64_t limit_ms;
};

// store_message is the alerts that one message is about.
struct store_message {
    const char *receiver;
    struct store_alert_pace pace;
    int64_t alerts[STORE_MESSAGE_ALERTS];
    size_t count;
    int64_t tries; // this one included
    bool alone;    // a digest or a test, which counts for no limit
};

// store_message_claim fills message with the alerts that are due for its receiver,
// which nobody else is given for lease_ms, and visits each. What was claimed together
// is claimed together again. CH_ERR_NOT_FOUND: none is due.
CH_CHECKED enum ch_status store_message_claim(struct store *store,
                                              struct store_message *message,
                                              int64_t lease_ms, store_alert_fn *visit,
                                              void *context,
                                              char error[STORE_ERROR_SIZE]);

// store_message_done ends what was claimed. store_message_later has it, and all else
// for that receiver, wait until due_ms; why is kept for people.
CH_CHECKED enum ch_status store_message_done(struct store *store,
                                             const struct store_message *message,
                                             char error[STORE_ERROR_SIZE]);
CH_CHECKED enum ch_status store_message_later(struct store *store,
                                              const struct store_message *message,
                                              int64_t due_ms, const char *why,
                                              char error[STORE_ERROR_SIZE]);

// store_receiver_row is a receiver as the store knows it; line is empty where a file
// has it.
struct store_receiver_row {
    const char *id;
    const char *line;
    int64_t since_ms; // it is notified of what happened from then on
};
typedef void store_receiver_fn(void *context, const struct store_receiver_row *row);

// store_receivers_seen notes receivers of files that are not known yet: they are
// notified from now on. store_list_receivers visits all, the oldest first.
CH_CHECKED enum ch_status store_receivers_seen(struct store *store,
                                               const char *const *ids, size_t count,
                                               char error[STORE_ERROR_SIZE]);
CH_CHECKED enum ch_status store_list_receivers(struct store *store,
                                               store_receiver_fn *visit, void *context);

// store_receiver_add keeps a receiver, store_receiver_remove removes one that was kept
// so, with what waits for it. CH_ERR_NOT_FOUND: there is none.
CH_CHECKED enum ch_status store_receiver_add(struct store *store, const char *id,
                                             const char *line,
                                             char error[STORE_ERROR_SIZE]);
CH_CHECKED enum ch_status store_receiver_remove(struct store *store, const char *id,
                                                char error[STORE_ERROR_SIZE]);

// store_alerts_forget removes alerts that were sent and are older than keep_ms, and
// gives up what could not be sent in STORE_ALERT_KEPT_DAYS.
CH_CHECKED enum ch_status store_alerts_forget(struct store *store, int64_t keep_ms,
                                              char error[STORE_ERROR_SIZE]);

// store_alert_state_of finds out what waits for a receiver; store_list_alerts visits
// the latest alerts of a project (empty: of all), the last first.
CH_CHECKED enum ch_status store_alert_state_of(struct store *store,
                                               const char *receiver,
                                               struct store_alert_state *out);
CH_CHECKED enum ch_status store_list_alerts(struct store *store, const char *project,
                                            size_t limit, store_alert_fn *visit,
                                            void *context);

typedef void store_burst_fn(void *context, const char *group, const char *title,
                            int64_t count);

// store_list_bursts visits the groups of which at least least reports came since
// since_ms.
CH_CHECKED enum ch_status store_list_bursts(struct store *store, int64_t since_ms,
                                            int64_t least, store_burst_fn *visit,
                                            void *context);

// store_list_spreading visits the groups that were first seen since since_ms and are on
// at least machines machines.
CH_CHECKED enum ch_status store_list_spreading(struct store *store, int64_t since_ms,
                                               int64_t machines, store_burst_fn *visit,
                                               void *context);
