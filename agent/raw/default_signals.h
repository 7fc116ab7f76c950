// SPDX-License-Identifier: Apache-2.0
//
// The signals that the agent has inherited: it is started with all blocked, and with
// those ignored that the program ignored.
#pragma once

// default_signals_unblock unblocks all signals; exec has removed the handlers.
void default_signals_unblock(void);

// default_signals_restore gives all signals their default actions and unblocks them.
void default_signals_restore(void);
