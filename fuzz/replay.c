// SPDX-License-Identifier: Apache-2.0
//
// Runs a fuzz target over the files of a folder, without libFuzzer: so every input that
// ever mattered is tried in every build.
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "fuzz/fuzz.h"

// replay_file gives the file's bytes to the target, in an allocation of their size.
static int replay_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL || fseek(file, 0, SEEK_END) != 0)
        return -1;
    long size = ftell(file);
    rewind(file);
    uint8_t *bytes = size >= 0 ? malloc(size != 0 ? (size_t)size : 1) : NULL;
    if (bytes == NULL || fread(bytes, 1, (size_t)size, file) != (size_t)size)
        return -1;
    fclose(file);
    LLVMFuzzerTestOneInput(bytes, (size_t)size);
    free(bytes);
    return 0;
}

int main(int argc, char **argv)
{
    struct dirent **entries = NULL;
    int count = argc == 2 ? scandir(argv[1], &entries, NULL, alphasort) : -1;
    int replayed = 0;
    for (int i = 0; i < count; i++) {
        char path[4096];
        snprintf(path, sizeof(path), "%s/%s", argv[1], entries[i]->d_name);
        if (entries[i]->d_name[0] != '.' && replay_file(path) == 0)
            replayed++;
        free(entries[i]);
    }
    free(entries);
    printf("%d inputs replayed\n", replayed);
    return replayed != 0 ? 0 : 1;
}
