// SPDX-License-Identifier: Apache-2.0
//
// start_target ends at once: what it takes is its start.
int main(void)
{
    return 0;
}
