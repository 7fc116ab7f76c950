// SPDX-License-Identifier: Apache-2.0
//
// Whether the digest of a report says what the report says: for its test and its fuzz
// target.
#pragma once
#include <jansson.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "collector/digest.h"
#include "collector/entry.h"
#include "report/report.h"

enum digest_verdict {
    DIGEST_SILENT, // it said nothing
    DIGEST_AGREES,
    DIGEST_DISAGREES,
};

// digest_check_trees compares what two trees make of an entry.
static inline enum digest_verdict digest_check_trees(const json_t *digest,
                                                     const json_t *report)
{
    struct entry short_entry;
    struct entry long_entry;
    memset(&short_entry, 0, sizeof(short_entry));
    memset(&long_entry, 0, sizeof(long_entry));
    if (entry_from_report(digest, INT64_C(1) << 42, &short_entry) != CH_OK ||
        entry_from_report(report, INT64_C(1) << 42, &long_entry) != CH_OK)
        return DIGEST_DISAGREES;
    bool same = memcmp(&short_entry, &long_entry, sizeof(short_entry)) == 0;
    return same ? DIGEST_AGREES : DIGEST_DISAGREES;
}

// digest_check digests a text and, where that works, compares with the whole of it.
static inline enum digest_verdict digest_check(const uint8_t *bytes, size_t size)
{
    struct text text = { 0 };
    struct report_error error;
    json_t *report = NULL;
    enum digest_verdict verdict = DIGEST_SILENT;
    if (digest_report((const char *)bytes, size, &text)) {
        json_t *digest =
            json_loadb(text.bytes, text.size, JSON_REJECT_DUPLICATES, NULL);
        verdict = DIGEST_DISAGREES;
        if (digest != NULL &&
            report_parse((const char *)bytes, size, &report, &error) == CH_OK)
            verdict = digest_check_trees(digest, report);
        json_decref(digest);
        json_decref(report);
    }
    text_deinit(&text);
    return verdict;
}
