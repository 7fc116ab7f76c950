// SPDX-License-Identifier: Apache-2.0
//
// The S3 protocol: objects of a bucket, by name.
//
// Requests are signed (SigV4, by libcurl) and say the hash of what they carry, so that
// a server refuses what arrived otherwise. Nothing beyond the oldest part of the
// protocol is relied on. All functions may be called from any thread. On failure why
// says what failed. Users: the collector's stores of bodies and debug files.
#pragma once
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/status.h"
#include "base/text.h"
#include "report/file/digest.h"

// An address of the S3 protocol: s3://BUCKET/PREFIX?endpoint=URL&region=REGION. Objects
// are at URL/BUCKET/PREFIX/NAME. Keys come from AWS_ACCESS_KEY_ID and
// AWS_SECRET_ACCESS_KEY, and AWS_SESSION_TOKEN where there is one.

enum { S3_WHY_SIZE = 256, S3_URL_SIZE = 1024, S3_NAME_SIZE = 256 };

struct s3 {
    char base[S3_URL_SIZE];    // URL/BUCKET
    char prefix[S3_NAME_SIZE]; // empty, or ends with a slash
    char region[64];
    char key[256];
    char secret[256];
    char token[2048];           // of a session; empty: none
    const atomic_bool *abandon; // once it is true requests fail; NULL: never
    // Until when, by CLOCK_MONOTONIC, the server requested no further requests; NULL:
    // that is not noted.
    _Atomic int64_t *rest_until_ms;
};

// s3_address_open parses an address, and reads the keys. On failure why says what is
// wrong.
CH_CHECKED enum ch_status s3_address_open(const char *address, struct s3 *out,
                                          char why[S3_WHY_SIZE]);

// s3_object is an object of a listing; name is without the prefix.
struct s3_object {
    const char *name;
    uint64_t size;
    const char *changed; // RFC 3339
};

typedef void s3_object_fn(void *context, const struct s3_object *object);

// s3_put stores size bytes of file, from its position; sum is their SHA-256.
CH_CHECKED enum ch_status s3_put(const struct s3 *s3, const char *name, FILE *file,
                                 size_t size, const char sum[SHA256_HEX_SIZE],
                                 char why[S3_WHY_SIZE]);

// s3_get writes the object to file. CH_ERR_NOT_FOUND: there is none.
CH_CHECKED enum ch_status s3_get(const struct s3 *s3, const char *name, FILE *to,
                                 char why[S3_WHY_SIZE]);

// s3_get_part appends size bytes of the object, from offset on.
CH_CHECKED enum ch_status s3_get_part(const struct s3 *s3, const char *name,
                                      uint64_t offset, size_t size, struct text *out,
                                      char why[S3_WHY_SIZE]);

// s3_remove removes the object; that there was none is no failure.
CH_CHECKED enum ch_status s3_remove(const struct s3 *s3, const char *name,
                                    char why[S3_WHY_SIZE]);

// s3_list visits the objects whose names begin with that.
CH_CHECKED enum ch_status s3_list(const struct s3 *s3, const char *begin,
                                  s3_object_fn *visit, void *context,
                                  char why[S3_WHY_SIZE]);

// s3_list_page visits the objects of one answer to a listing, and writes where the next
// page begins; empty: this was the last.
void s3_list_page(const struct s3 *s3, const char *page, s3_object_fn *visit,
                  void *context, char next[S3_NAME_SIZE]);
