// SPDX-License-Identifier: Apache-2.0
//
// How libcrashhook-flight tells libcrashhook where its rings are: by a function that
// libcrashhook exports. Either library may be loaded without the other.
#pragma once

// A flight_register_fn is the type of crashhook_flight_register.
typedef void flight_register_fn(const void *state);

// crashhook_flight_register records the address of the recorder's state. It is exported
// by libcrashhook for libcrashhook-flight alone, which looks it up by name where it has
// to.
__attribute__((visibility("default"))) void
crashhook_flight_register(const void *state);
