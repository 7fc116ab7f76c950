// SPDX-License-Identifier: Apache-2.0
//
// The owner of a crash, and what binds the process to that crash: from the fault on,
// nothing other than that crash is to end it. Part of crash.h.
#pragma once
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

enum crash_claim { CRASH_CLAIM_WON, CRASH_CLAIM_RE_ENTERED, CRASH_CLAIM_TAKEN };

// crash_claim_of_caller is the calling thread's value of a claim.
uint64_t crash_claim_of_caller(void);

// crash_claim_take makes the crash self's, waiting while another thread has it.
// CRASH_CLAIM_TAKEN: it was not released in time.
enum crash_claim crash_claim_take(uint64_t self);
void crash_claim_give_back(void);

// crash_claim_await is called before the process ends in another way. It waits while
// another thread's crash is being reported, which nearly always ends the process. It
// returns at once in the thread that has crashed and in a forked child, and makes no
// system call where there is no crash.
void crash_claim_await(void);

// crash_claim_is_near returns true if crash_claim_await may have to wait.
bool crash_claim_is_near(void);

// crash_note_liveness writes how the program is about to end into its liveness record,
// if it has one. LIVENESS_ENDED waits, for a second at most, until the copy is removed
// if the supervisor is near. The first act of a crash is crash_note_crash, which makes
// no system call: whatever ends the process from then on, its supervisor knows of the
// crash. crash_continue_liveness undoes that where the handler recovered and the
// program continues.
void crash_note_liveness(uint32_t ended);
void crash_note_crash(int signal);
void crash_continue_liveness(uint32_t noted);

// crash_hold_program keeps the process from ending in another way than by this crash:
// from now on it ignores or blocks the signals that would end it.
void crash_hold_program(void);

// crash_happens_again returns true if re-executing the instruction raises the signal
// again.
bool crash_happens_again(int signal, const siginfo_t *info);

// crash_record_cut_off is for the helper when the process has ended in another way. If
// that was before the report was written, it leaves a record: the helper still has the
// memory of the process.
void crash_record_cut_off(void);

// crash_seize_others stops all threads but the crashed one by ptrace. The calling
// process is their tracer, and still is when it has executed the agent, unless that is
// a script.
void crash_seize_others(const char *agent);

#pragma GCC visibility pop
