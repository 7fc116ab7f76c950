// SPDX-License-Identifier: Apache-2.0
//
// Exports some of the metadata by which debuggers read V8, with numbers of a version
// that nobody knows, and crashes in a function that has a frame pointer and no other
// rules, as V8's code has.
int v8dbg_TaggedSize = 4;
int v8dbg_SmiShiftSize = 31;

int *volatile nowhere;

__attribute__((noinline)) static void not_v8_crash(void)
{
    *nowhere = 1; // crashes here
}

int main(void)
{
    not_v8_crash();
    return 0;
}
