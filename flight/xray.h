// SPDX-License-Identifier: Apache-2.0
//
// Recording through XRay's sleds, in programs compiled with -fxray-instrument: clang's
// runtime patches them to call us, and its function numbers are used.
#pragma once

// xray_list makes the table in which the agent finds the address of a function's
// number, before xray_start.
void xray_list(void);

// xray_start patches the program's sleds. It does nothing in a program that has none,
// or if XRAY_OPTIONS is set, because XRay is then used for something else.
void xray_start(void);
