// SPDX-License-Identifier: Apache-2.0
//
// Receivers of alerts: from the files of web hooks and of mail, and from the store,
// where people keep them on a page or by the API.
//
// A line is a URL or an address and settings:
//
//   https://chat.example.org/hooks/4f2 secret=S on=new,regressed count=100/1h
//   https://hooks.slack.com/services/T/B/X format=slack program=shopd machines=5
//   server=smtp://mail.example.org from=crashes@example.org user=U password=P
//   team@example.org on=new,rising digest=07:00
//
// struct receivers is all of them at one time; it does not change. A receiver_list
// holds the current one, and whoever works with it takes a reference.
#pragma once
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "base/text.h"
#include "collector/server/rate.h"
#include "net/message.h"

enum {
    RECEIVERS_MAX = 32,
    RECEIVER_ID_SIZE = 17,
    RECEIVER_RULE_SIZE = 32,
    RECEIVER_LINE_SIZE = 1024, // of one in the store
};

// receiver_kind is what a receiver wants to be told of, as bits.
enum receiver_kind {
    RECEIVER_NEW = 1,
    RECEIVER_REGRESSED = 2,
    RECEIVER_RISING = 4,
};

// receiver_format is what a web hook is sent.
enum receiver_format {
    RECEIVER_JSON,
    RECEIVER_SLACK, // Mattermost takes it too
    RECEIVER_DISCORD,
    RECEIVER_PAGERDUTY,    // Events API, version 2
    RECEIVER_ALERTMANAGER, // what its web hooks are sent, version 4
};

struct receiver {
    char id[RECEIVER_ID_SIZE]; // the same in all collectors and after a restart
    const char *target;        // a URL, or an address
    const char *secret;        // NULL: requests are not signed
    const char *project;       // NULL: all
    const char *program;       // conditions on the group; NULL: any
    const char *environment;
    const char *crash_kind;
    const char *key; // the routing key of PagerDuty
    bool in_app;     // only groups with frames of the program's own
    bool kept;       // in the store, and not by a file
    bool mail;
    int64_t machines;       // it has so many; 0: any
    int64_t since_ms;       // what happened before is not sent
    int64_t window_ms;      // between two messages; 0: one for each alert
    struct rate_limit most; // messages
    enum receiver_format format;
    unsigned kinds;
    char rule[RECEIVER_RULE_SIZE]; // `100/1h`; empty: none
    struct rate_limit limit;
    int digest_minute; // of the day, UTC; -1: no digest
};

struct receivers {
    struct receiver list[RECEIVERS_MAX];
    const char *ids[RECEIVERS_MAX];
    size_t count;
    struct message_server server;
    struct text files[3]; // of hooks, of mail, and the lines of the store
    unsigned references;
};

struct store;

struct receiver_list {
    pthread_mutex_t lock;
    struct receivers *current;
    const char *hooks; // files, or NULL
    const char *mail;
    struct store *store; // NULL until it is open
};

// receiver_list_init reads both files, each of which may be NULL. On failure why is a
// sentence with the line.
CH_CHECKED enum ch_status receiver_list_init(struct receiver_list *list,
                                             const char *hooks, const char *mail,
                                             char *why, size_t size);
void receiver_list_deinit(struct receiver_list *list);

// receiver_list_load reads the files again, and the receivers that list->store has. It
// notes in the store which are new, unless that is only read. On failure those of
// before stay.
CH_CHECKED enum ch_status receiver_list_load(struct receiver_list *list, bool reading,
                                             char *why, size_t size);

// receivers_take is the current receivers, until receivers_release.
struct receivers *receivers_take(struct receiver_list *list);
void receivers_release(struct receiver_list *list, struct receivers *receivers);

// receiver_check reads one line as the store would have it, and writes its id. On
// failure why says what is wrong.
CH_CHECKED enum ch_status receiver_check(struct receiver_list *list, const char *line,
                                         char id[RECEIVER_ID_SIZE], char *why,
                                         size_t size);

// receiver_write_name writes what pages call a receiver: a URL ends after its host,
// because the rest is often a secret.
void receiver_write_name(const struct receiver *receiver, struct text *out);
