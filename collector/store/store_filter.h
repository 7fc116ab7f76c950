// SPDX-License-Identifier: Apache-2.0
//
// What narrows and orders a listing of the store: terms that all hold, or alternatives
// of which one has to.
//
// Terms up to STORE_KEY_TIME are conditions on a report, and several of them must hold
// for the same one; the others are conditions on its group. Alternatives are either all
// of a report or all of its group. Limit: STORE_TERMS.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { STORE_TERMS = 24 }; // most terms of one filter

// STORE_NUMBER_MAX is above every number in a range: the times of the year 9999 in
// milliseconds are below it.
#define STORE_NUMBER_MAX INT64_C(1000000000000000)

// store_key is what a term of a filter is about. The value of a frame, file, build or
// message is a part of it, in either case; that of any other key is the whole.
enum store_key {
    STORE_KEY_WORD, // part of title, summary, program, host, release, frame, file,
                    // build or message: see store_word_key
    STORE_KEY_RELEASE,
    STORE_KEY_ENVIRONMENT,
    STORE_KEY_SIGNAL, // number
    STORE_KEY_SIGNAL_NAME,
    STORE_KEY_HOST,
    STORE_KEY_PROGRAM, // its path, or the last part of that
    STORE_KEY_TAG,     // tag and value
    STORE_KEY_KIND,
    STORE_KEY_FRAME,
    STORE_KEY_FILE,
    STORE_KEY_BUILD,
    STORE_KEY_MESSAGE,
    STORE_KEY_KERNEL,
    STORE_KEY_PROCESSOR,
    STORE_KEY_UPTIME,
    STORE_KEY_THREAD,
    STORE_KEY_ADDRESS,
    STORE_KEY_REGISTER,
    STORE_KEY_ARGUMENT,
    STORE_KEY_DEPTH,
    STORE_KEY_FREED_IN,
    STORE_KEY_SINCE,         // number: the time, inclusive
    STORE_KEY_UNTIL,         // number: the time, exclusive
    STORE_KEY_TIME,          // from number to high, inclusive
    STORE_KEY_FIRST_RELEASE, // of the group, as are those that follow
    STORE_KEY_FIRST_SEEN,    // from number to high, as the next four
    STORE_KEY_LAST_SEEN,
    STORE_KEY_REPORTS,
    STORE_KEY_MACHINES,
    STORE_KEY_USERS,
    STORE_KEY_STATUS,
    STORE_KEY_ANY,      // no condition
    STORE_KEY_OPEN,     // open or regressed
    STORE_KEY_BACK_IN,  // regressed in the release that value names
    STORE_KEY_NEW,      // first seen in a release that is new in its program
    STORE_KEY_RISING,   // more reports than in the week before, beyond its program
    STORE_KEY_ASSIGNED, // to anybody
    STORE_KEY_ASSIGNEE,
    STORE_KEY_PROJECT,
    STORE_KEY_SHORT_WORD, // part of its title or summary
    STORE_KEY_COUNT
};

// store_word_key is the key of a searched word: the indexes find three characters and
// more, and shorter words are looked for in what is shown of each group.
enum store_key store_word_key(const char *word);

// store_term is one condition of a filter.
struct store_term {
    enum store_key key;
    bool negated;     // it must not hold
    bool joined;      // it is an alternative of the term before it,
    bool alternative; // or of any: the same for all of them
    bool wildcard;    // `*` in the value stands for any text
    bool at_end;      // and what the value may be a part of ends with it
    const char *value;
    const char *tag; // the key of a tag
    int64_t number;
    int64_t high; // the end of a range, inclusive; 0: it has none
};

enum store_sort {
    STORE_SORT_LAST_SEEN,
    STORE_SORT_FIRST_SEEN,
    STORE_SORT_COUNT, // of the reports that the filter accepts
    STORE_SORT_MACHINES,
    STORE_SORT_RISING, // the least likely to be random first
};

// store_filter narrows a listing. Zeros do not narrow it.
struct store_filter {
    struct store_term terms[STORE_TERMS];
    size_t term_count;
    const char *group;
    const char *project;  // NULL or empty: of any
    enum store_sort sort; // of groups; reports are in the order of their time
    const char *cursor;   // where the previous page of the listing ended
    size_t limit;         // 1 to STORE_PAGE_MAX
    size_t found_most;    // of groups that are looked for; 0: see store_found
};

// store_found is how many groups a filter accepts. Where more than the value of one
// term decides, groups are looked for up to STORE_FOUND_MOST, to STORE_FOUND_EXAMINED
// where their reports have to be looked at, or to STORE_FOUND_WORD for a word that very
// many values contain, and more says that there are others. Lists by count then hold
// those of them that have most reports in all.
enum { STORE_FOUND_MOST = 5000, STORE_FOUND_EXAMINED = 1000, STORE_FOUND_WORD = 500 };

// STORE_COUNTED_MOST is how many reports of a group are looked at, in a store that has
// had STORE_MANY_REPORTS or more, to count those that a filter accepts: the newest,
// where a group has more.
enum { STORE_COUNTED_MOST = 1000, STORE_MANY_REPORTS = 100000 };

struct store_found {
    int64_t count;
    bool more;
};
