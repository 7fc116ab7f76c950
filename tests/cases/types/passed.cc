// SPDX-License-Identifier: Apache-2.0
//
// passed NUMBER [ADDRESS]: calls a function of the C or C++ library with a bad pointer,
// which the program has as `box->bad`. Without NUMBER it prints how many there are.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <cwchar>
#include <string>
#include <strings.h>

struct box {
    long other;
    char *bad;
};

static char good[256] = "some text";
static volatile long result;
static int number;

#define CASE(call) [](struct box *box) -> long { return result = (long)(call); },

static long (*const calls[])(struct box *) = {
    CASE(strlen(box->bad))
    CASE(strnlen(box->bad, 9))
    CASE(wcslen((wchar_t *)box->bad))
    CASE(strchr(box->bad, 'x'))
    CASE(strrchr(box->bad, 'x'))
    CASE(strdup(box->bad))
    CASE(strndup(box->bad, 9))
    CASE(strcpy(good, box->bad))
    CASE(strcpy(box->bad, good))
    CASE(strncpy(good, box->bad, 9))
    CASE(strncpy(box->bad, good, 9))
    CASE(stpcpy(good, box->bad))
    CASE(strcat(good, box->bad))
    CASE(strcat(box->bad, good))
    CASE(strncat(good, box->bad, 9))
    CASE(strcmp(box->bad, good))
    CASE(strcmp(good, box->bad))
    CASE(strncmp(box->bad, good, 9))
    CASE(strcasecmp(box->bad, good))
    CASE(strcasecmp(good, box->bad))
    CASE(strncasecmp(box->bad, good, 9))
    CASE(strcoll(box->bad, good))
    CASE(strstr(box->bad, "x"))
    CASE(strstr(good, box->bad))
    CASE(strspn(box->bad, "abc"))
    CASE(strcspn(box->bad, "abc"))
    CASE(strpbrk(box->bad, "abc"))
    CASE(strtok(box->bad, "abc"))
    CASE(memcpy(good, box->bad, 9))
    CASE(memcpy(box->bad, good, 9))
    CASE(memmove(good, box->bad, 40))
    CASE(memmove(box->bad, good, 40))
    CASE(mempcpy(good, box->bad, 9))
    CASE(memset(box->bad, 0, 100))
    CASE((bzero(box->bad, 100), 0))
    CASE((explicit_bzero(box->bad, 100), 0))
    CASE(memcmp(box->bad, good, 9))
    CASE(memcmp(good, box->bad, 9))
    CASE(memchr(box->bad, 'x', 9))
    CASE(memrchr(box->bad, 'x', 1))
    CASE(memmem(box->bad, 9, "te", 2))
    CASE(atoi(box->bad))
    CASE(atol(box->bad))
    CASE(atof(box->bad))
    CASE(strtol(box->bad, nullptr, 10))
    CASE(strtoul(box->bad, nullptr, 10))
    CASE(strtod(box->bad, nullptr))
    CASE(sscanf(box->bad, "%d", &number))
    CASE(sscanf("7", "%d", (int *)box->bad))
    CASE(puts(box->bad))
    CASE(fputs(box->bad, stdout))
    CASE(fwrite(box->bad, 1, 100, stdout))
    CASE(printf("%s\n", (box->bad + 1) - 1))
    CASE(printf("%d %s %d\n", 7, box->bad, 8))
    CASE(printf(box->bad))
    CASE(fprintf(stdout, "%d %s\n", 7, box->bad))
    CASE(snprintf(good, 100, "%s", box->bad))
    CASE(sprintf(box->bad, "%d", 7))
    CASE(getenv(box->bad))
    CASE(mktime((struct tm *)box->bad))
    CASE(gmtime((time_t *)box->bad))
    CASE((free(box->bad), 0))
    CASE(realloc(box->bad, 100))
    CASE(std::string(box->bad).size())
};

int main(int argc, char **argv)
{
    struct box box = { 7, nullptr };
    const int count = sizeof(calls) / sizeof(calls[0]);
    if (argc > 2)
        box.bad = (char *)strtoul(argv[2], nullptr, 0);
    if (argc > 1)
        return (int)calls[atoi(argv[1]) % count](&box);
    printf("%d\n", count);
    return 0;
}
