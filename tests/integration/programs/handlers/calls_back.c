// SPDX-License-Identifier: Apache-2.0
//
// A library whose function is on the stack when its caller crashes.

void *call_back(void *(*function)(void *), void *argument);

void *call_back(void *(*function)(void *), void *argument)
{
    void *volatile result = function(argument);
    return result;
}
