// SPDX-License-Identifier: Apache-2.0
//
// How one frame of our own process is left, from the SFrame or call frame information
// of its image: of all rules, the three that lead to the next frame.
//
// The tables are read where they are loaded, without locks and within the bounds of
// their image (backtrace/local_code.h). A rule that needs other registers than the
// stack pointer and the frame pointer counts as none.
#pragma once
#include <stdint.h>

enum frame_rule_kind {
    FRAME_RULE_NONE,      // no rule is known
    FRAME_RULE_CFA,       // by the members
    FRAME_RULE_SIGNAL,    // the kernel called a signal handler
    FRAME_RULE_OUTERMOST, // it has no caller
};
enum frame_rule_cfa {
    FRAME_CFA_SP,
    FRAME_CFA_FP,
    FRAME_CFA_LOADED, // from the memory at the frame pointer plus the offset
};
enum frame_rule_fp { FRAME_FP_SAME, FRAME_FP_AT_CFA, FRAME_FP_AT_FP };

// A frame_rule fits into one word, so that it can be stored at once.
struct frame_rule {
    uint64_t kind : 2; // enum frame_rule_kind
    uint64_t cfa : 2;  // enum frame_rule_cfa: what cfa_offset is added to
    uint64_t fp : 2;   // enum frame_rule_fp: where the caller's frame pointer is
    int64_t cfa_offset : 26;
    int64_t ra_words : 16; // of the return address, from the canonical frame address
    int64_t fp_words : 16;
};

// frame_rule_find finds the rule at pc.
struct frame_rule frame_rule_find(uint64_t pc);
