// SPDX-License-Identifier: Apache-2.0
//
// Whose code a frame is: the program's own, or a library's, a runtime's, the
// machinery's that reports a failure. The one rule that grouping, titles, highlights,
// source excerpts, in_app of Sentry, the diagnosis and folding share.
//
// The rules are data: in_app_rules.c. They look at the image (path, package, build ID),
// the source file, the namespace and the function. Users extend them: CRASHHOOK_OWN and
// the collector's --own have the same form, words separated by spaces or commas:
//
//   /opt/acme/*           an image or source file of the program's own
//   acme::                a namespace of its own
//   !boost::  !*/vendor/* not its own
//   image:, source:, namespace:, function:, package:, build:   says what is meant
//   !builds:/etc/x        builds that a file lists: IDs, one a line, or the Build-Ids
//                         of a distribution's index of debug packages
//
// A user's rule comes before the table's, the first that matches decides. A program's
// executable is its own wherever it is installed, and so are images whose package notes
// name its package; those of another package are not.
#pragma once
#include <stdbool.h>
#include <stddef.h>

// in_app_kind is what a rule looks at, and for functions what they do, in the order in
// which rules decide: what a function does comes first, as a static program has its
// abort in itself.
enum in_app_kind {
    IN_APP_REPORTS,   // the scoped name: it reports a failure and is not its place
    IN_APP_STARTS,    // the same: it starts programs and threads, or calls handlers
    IN_APP_PACKAGE,   // the package note of the image
    IN_APP_BUILD,     // its build ID
    IN_APP_BUILDS,    // the same, in a list that a file holds: the pattern is its path
    IN_APP_IMAGE,     // its path
    IN_APP_SOURCE,    // the source file
    IN_APP_NAMESPACE, // the first components of the function's scoped name
    IN_APP_RUST,      // the same, of Rust alone: C++ programs have a `core::` too
    IN_APP_FUNCTION,  // the scoped name
    IN_APP_STATIC,    // the same, of a C library's function that is linked statically
    IN_APP_INTERPRETER, // a function of an interpreter: it is, in an image of that name
    IN_APP_KINDS
};

// in_app_rule is a row of the table; '*' in pattern matches anything.
struct in_app_rule {
    enum in_app_kind kind;
    const char *pattern;
};

extern const struct in_app_rule in_app_rules[];
extern const size_t in_app_rules_count;

// in_app_failing_words are words in the names of functions that programs write to
// report a failure: `die`, `log_fatal`. A NULL ends them.
extern const char *const in_app_failing_words[];

// in_app_frame is what is known of a frame; all members may be NULL. A caller that has
// the scoped name of function passes it, since it takes time to find.
struct in_app_frame {
    const char *image;
    const char *package;         // of the image
    const char *program_package; // of the executable
    const char *build_id;
    const char *function; // demangled
    const char *scoped;   // scoped_name of function, or NULL
    const char *raw_name;
    const char *file;
    bool executable; // the image is the program itself
    bool is_static;  // the program has the C library in itself
};

// in_app_verdict says whose a frame is and by which rule.
struct in_app_verdict {
    bool in_app;
    bool reports;  // it belongs to the machinery that reports a failure
    bool starts;   // it starts programs or threads
    bool by_user;  // CRASHHOOK_OWN or --own said so
    char rule[96]; // "namespace std::"; empty: no rule matched
};

// in_app_extend adds rules of the user to this process's. It returns NULL, or the first
// word that is not understood. It is called at the start, before there are threads.
const char *in_app_extend(const char *rules);

// in_app_judge judges a frame.
void in_app_judge(const struct in_app_frame *frame, struct in_app_verdict *out);

// in_app_judge_by_user judges it by the rules of the user alone; false: none matches.
bool in_app_judge_by_user(const struct in_app_frame *frame, struct in_app_verdict *out);

// in_app_is_failing is true for a scoped name whose words say that the function only
// reports a failure. It counts where machinery was called by it.
bool in_app_is_failing(const char *scoped_name);

// in_app_matches returns true if a pattern matches the length bytes at text.
bool in_app_matches(const char *pattern, const char *text, size_t length);
