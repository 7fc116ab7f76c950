// SPDX-License-Identifier: Apache-2.0
//
// The owner of the crash, decided in crash context (see crash.c): the first thread to
// claim the state is reported, and is the watchdog of its own agent. The others wait:
// nearly always for the termination of the process.
#include "handler/crash/crash.h"

#include "handler/machine/machine.h"
#include "handler/machine/syscalls.h"

#include "handler/machine/poison.h"

uint64_t crash_claim_of_caller(void)
{
    return (uint64_t)(uint32_t)sys_getpid() << 32 | (uint32_t)sys_gettid();
}

// claim_stands returns true if the claim is of this process. A claim inherited by fork
// is void.
static bool claim_stands(uint64_t claim, uint64_t self)
{
    return claim >> 32 == self >> 32;
}

static enum crash_claim try_claim(uint64_t self)
{
    uint64_t found = 0;
    while (!__atomic_compare_exchange_n(&crash_state.claim, &found, self, false,
                                        __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
        if (found == self)
            return CRASH_CLAIM_RE_ENTERED;
        if (claim_stands(found, self))
            return CRASH_CLAIM_TAKEN;
    }
    crash_state.bound = -1;
    crash_state.re_entries = 0;
    crash_state.dying = 0;
    return CRASH_CLAIM_WON;
}

// claim_word is the half of the claim that other threads wait on.
static uint32_t *claim_word(void)
{
    return (uint32_t *)&crash_state.claim;
}

void crash_claim_give_back(void)
{
    __atomic_store_n(&crash_state.claim, 0, __ATOMIC_SEQ_CST);
    sys_futex_wake_all(claim_word());
}

// park_thread waits for the claim to be released. False: that took longer than the
// limit for its owner.
static bool park_thread(void)
{
    uint64_t now = sys_clock_ns(CLOCK_MONOTONIC);
    uint64_t until = now + crash_plan->timeout_ns + CRASH_RECORD_NS;
    for (; now < until; now = sys_clock_ns(CLOCK_MONOTONIC)) {
        uint32_t owner = __atomic_load_n(claim_word(), __ATOMIC_SEQ_CST);
        if (owner == 0)
            return true;
        sys_futex_wait(claim_word(), owner, until - now);
    }
    return false;
}

bool crash_claim_is_near(void)
{
    return __atomic_load_n(&crash_state.claim, __ATOMIC_SEQ_CST) != 0 ||
           __atomic_load_n(&crash_state.claimants, __ATOMIC_SEQ_CST) != 0;
}

// await_claimant waits until a thread that has crashed has claimed that, for a limited
// time: a forked child may have inherited their number.
static uint64_t await_claimant(void)
{
    enum { LOOKS = 500, PAUSE_NS = 100000 };
    uint64_t claim = 0;
    for (int i = 0; i < LOOKS && crash_claim_is_near(); i++) {
        claim = __atomic_load_n(&crash_state.claim, __ATOMIC_SEQ_CST);
        if (claim != 0)
            break;
        sys_poll(NULL, 0, PAUSE_NS);
    }
    return claim;
}

void crash_claim_await(void)
{
    uint64_t claim = crash_claim_is_near() ? await_claimant() : 0;
    if (claim == 0)
        return;
    uint64_t self = crash_claim_of_caller();
    if (claim != self && claim_stands(claim, self))
        (void)park_thread();
}

enum crash_claim crash_claim_take(uint64_t self)
{
    enum crash_claim claim;
    while ((claim = try_claim(self)) == CRASH_CLAIM_TAKEN) {
        if (!park_thread())
            return CRASH_CLAIM_TAKEN;
    }
    return claim;
}
