// SPDX-License-Identifier: Apache-2.0
//
// plugin: a library that faults.c closes while it still has its function.
void plugin_work(void);

static volatile int worked;

void plugin_work(void)
{
    worked++;
}
