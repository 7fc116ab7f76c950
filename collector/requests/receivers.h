// SPDX-License-Identifier: Apache-2.0
//
// Who is told of what: the receivers of alerts, from the files of web hooks and of
// mail.
//
// A line is a URL or an address and settings:
//
//   https://chat.example.org/hooks/4f2 secret=S on=new,regressed count=100/1h
//   server=smtp://mail.example.org from=crashes@example.org user=U password=P
//   team@example.org on=new,rising digest=07:00
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "base/text.h"
#include "collector/server/rate.h"
#include "net/message.h"

enum { RECEIVERS_MAX = 32, RECEIVER_ID_SIZE = 17, RECEIVER_RULE_SIZE = 32 };

// receiver_kind is what a receiver wants to be told of, as bits.
enum receiver_kind {
    RECEIVER_NEW = 1,
    RECEIVER_REGRESSED = 2,
    RECEIVER_RISING = 4,
};

struct receiver {
    char id[RECEIVER_ID_SIZE]; // the same in all collectors and after a restart
    const char *target;        // a URL, or an address
    const char *secret;        // NULL: requests are not signed
    const char *project;       // NULL: all
    bool mail;
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
    struct text files[2];
};

// receivers_read reads both files, each of which may be NULL. On failure why is a
// sentence with the line.
CH_CHECKED enum ch_status receivers_read(const char *hooks, const char *mail,
                                         struct receivers *out, char *why, size_t size);
void receivers_deinit(struct receivers *receivers);

// receiver_write_name writes what pages call a receiver: a URL ends after its host,
// because the rest is often a secret.
void receiver_write_name(const struct receiver *receiver, struct text *out);
