// SPDX-License-Identifier: Apache-2.0
//
// second_libc LIBRARY FUNCTION: calls the function of a library that is loaded with a C
// library of its own.
#include <dlfcn.h>
#include <stdio.h>

int main(int count, char **words)
{
    void *library = count == 3 ? dlmopen(LM_ID_NEWLM, words[1], RTLD_NOW) : NULL;
    int (*function)(int *) =
        library != NULL ? (int (*)(int *))dlsym(library, words[2]) : NULL;
    if (function == NULL) {
        puts(dlerror());
        return 2;
    }
    return function(NULL);
}
