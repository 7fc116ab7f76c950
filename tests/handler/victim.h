// SPDX-License-Identifier: Apache-2.0
//
// victim is a program that crashes in the way its first argument names. It knows
// nothing of crashhook: the tests preload the library, link it, or have victim dlopen
// it (second argument) once its own handler is in place. The ways are in tables by what
// they try.
#pragma once

struct victim_way {
    const char *name; // NULL: the table's end
    void (*crash)(void);
};

extern const struct victim_way victim_faults[];
extern const struct victim_way victim_threads[];
extern const struct victim_way victim_surroundings[];
extern const struct victim_way victim_handlers[];

// victim_load_library loads the library that the second argument names, if there is
// one, and returns its handle.
void *victim_load_library(void);

// victim_say writes text to standard output at once, also from a handler.
void victim_say(const char *text);

// The ways that others build on.
void victim_null_write(void);
void victim_wild_write(void);
void victim_kill_self(void);
void victim_overflow(void);
