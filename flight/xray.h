// SPDX-License-Identifier: Apache-2.0
//
// Recording through XRay's sleds, in programs that were compiled with
// -fxray-instrument: clang's runtime patches them to call us, and its numbers of
// functions are ours.
#pragma once

// xray_start patches the program's sleds. Nothing happens in a program that has none,
// or where XRAY_OPTIONS is set: then somebody uses XRay in another way.
void xray_start(void);
