// SPDX-License-Identifier: Apache-2.0
//
// A group key is the fingerprint of version 3: one bug, one key, whatever compiler,
// optimization, file name or pointer value. By these rules:
//
// 1. The key is the innermost function of the program's own (in_app.h) on the crashed
//    thread, by its scoped name (scoped_name.h), inlined or not, and how the program
//    ended: memory, arithmetic, trap, abort, or another signal.
// 2. If that function only reports a failure (its name says so, and abort, throw or
//    the like was called by it), the next in-app function that does not counts too.
// 3. In a stack overflow the functions that call each other in turn are one place: the
//    first of them in the order of the alphabet.
// 4. A name without a scope that is one word (`main`, `parse`) takes the name of its
//    source file as its scope, or of its image where the file is not known. So does
//    every name of an interpreted frame; these count as all others do.
// 5. A frame without a name is its image's build ID and offset; after a reported
//    failure the next two frames count too, because the first may be a helper.
// 6. Without a frame of the program's own, the three innermost others count that do not
//    report, and failing those the signal alone.
// 7. Different assertions, panics, failed checks of the C library and exceptions stay
//    apart in one function: by the expression, by the message without numbers and
//    quoted parts, by the type.
// 8. Of a process that was killed the key is its program and the cause (crash.death):
//    the frame that it had reached is random. An exception that ended it has frames of
//    its own where a language gave them (crash.exception.stack), which count instead.
// 9. Of a block of the heap that was misused, the in-app function that freed it counts
//    (use after free, double free), or the one that allocated it (the other kinds).
//
// Never part of it: addresses, pointer values, the kind of the crash, callers, the
// version in a file's name. If a rule changes, GROUP_KEY_VERSION is raised,
// and the upgrade of the collector's tables queues every report for its new key
// (collector/store/schema/*_from_18.sql).
#pragma once
#include <jansson.h>
#include <stdbool.h>

#include "base/text.h"
#include "report/grouping/fingerprint.h"

enum { GROUP_KEY_VERSION = 3, GROUP_KEY_STACK = 16, GROUP_KEY_FRAMES = 3 };

struct group_key {
    char fingerprint[FINGERPRINT_SIZE];
    const char *why;      // a sentence about how the frames were chosen
    struct text material; // what was hashed, a line each
    struct text stack; // up to GROUP_KEY_STACK in-app functions, a line each, innermost
                       // first, repetitions once
    const json_t *frames[GROUP_KEY_FRAMES]; // that were chosen; the report owns them
    size_t frame_count;
    struct text place; // where it happened, as people say it
};

// group_key_make computes the key; false: nothing crashed, or memory is short. The
// report must outlive it.
bool group_key_make(const json_t *report, struct group_key *out);

// group_key_deinit frees what a key holds.
void group_key_deinit(struct group_key *key);

// How near two groups are: a weighted edit distance between their stacks of own
// functions, group_key.stack. A frame weighs more the nearer it is to the
// crash, so that two bugs below one event loop are not near. Users: collector, cli.

enum { NEAR_LEAST = 50 }; // percent from which groups are listed as near

// similar_percent is how much of two stacks is alike, 0 to 100; 0 if one is empty.
int similar_percent(const char *first, const char *second);
