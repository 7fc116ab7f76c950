// SPDX-License-Identifier: Apache-2.0
//
// Arrays of arrays. The objects of this source by two compilers are kept beside it, because
// these write the dimensions of such arrays into CTF in different orders.
int crashhook_watch_object(const char *name, const volatile void *object, const char *type,
                           unsigned long size);

struct grids {
    int numbers[2][3];
    char names[2][8];
    short cube[2][3][4];
    int square[2][2];
    int row[3];
};

struct grids grids = { .names = { "first", "second" }, .row = { 7, 8, 9 } };

int main(void)
{
    for (int i = 0; i < 6; i++)
        (&grids.numbers[0][0])[i] = i;
    for (int i = 0; i < 24; i++)
        (&grids.cube[0][0][0])[i] = i;
    for (int i = 0; i < 4; i++)
        (&grids.square[0][0])[i] = i;
    crashhook_watch_object("grids", &grids, "struct grids", sizeof(grids));
    *(volatile int *)0 = 1; // crashes here
}
