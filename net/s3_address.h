// SPDX-License-Identifier: Apache-2.0
//
// An address of the S3 protocol: s3://BUCKET/PREFIX?endpoint=URL&region=REGION. Objects
// are at URL/BUCKET/PREFIX/NAME. Keys come from AWS_ACCESS_KEY_ID and
// AWS_SECRET_ACCESS_KEY, and AWS_SESSION_TOKEN where there is one. Users: s3.c, and who
// opens a store of objects.
#pragma once
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

enum { S3_WHY_SIZE = 256, S3_URL_SIZE = 1024, S3_NAME_SIZE = 256 };

struct s3 {
    char base[S3_URL_SIZE];    // URL/BUCKET
    char prefix[S3_NAME_SIZE]; // empty, or ends with a slash
    char region[64];
    char key[256];
    char secret[256];
    char token[2048];           // of a session; empty: none
    const atomic_bool *abandon; // once it is true requests fail; NULL: never
    // Until when, by CLOCK_MONOTONIC, the server asked not to be asked again; NULL:
    // that is not noted.
    _Atomic int64_t *rest_until_ms;
};

// s3_address_open parses an address, and reads the keys. On failure why says what is
// wrong.
CH_CHECKED enum ch_status s3_address_open(const char *address, struct s3 *out,
                                          char why[S3_WHY_SIZE]);

// s3_address_query writes the query that lists objects whose names begin with prefix,
// those after `after`: sorted and encoded as a signature needs them.
void s3_address_query(const char *prefix, const char *after, char *out, size_t size);
