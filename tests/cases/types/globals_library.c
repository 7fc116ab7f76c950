// SPDX-License-Identifier: Apache-2.0
//
// What globals.c needs of others: with UNIT a unit of the program, else a library.
#ifdef UNIT
int of_other_unit = 77;
#else
static __thread int library_depth = 5;
__thread char library_name[16] = "library";
static int library_static = 6;
int of_library = 8;
extern int shared_count;
int library_use(int *p);

int library_use(int *p)
{
    library_depth++;
    library_name[0] = 'L';
    library_static++;
    of_library++;
    shared_count++;
    return *p;
}
#endif
