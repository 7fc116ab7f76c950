// SPDX-License-Identifier: Apache-2.0
//
// A program that uses XRay's own flight data recorder (it is compiled by clang with
// -fxray-instrument) and knows nothing of ours. Three threads call; one crashes.
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

// Of xray/xray_interface.h and xray/xray_log_interface.h, whose types are C++'s.
int __xray_log_select_mode(const char *mode);
int __xray_log_init_mode(const char *mode, const char *options);
int __xray_patch(void);

static pthread_barrier_t all_at_work;

__attribute__((noinline)) int descend(long depth, const int *nowhere)
{
    if (depth == 0)
        return *nowhere; // crashes here
    int below = descend(depth - 1, nowhere);
    __asm__ volatile("" : "+r"(below));
    return below + 1;
}

__attribute__((noinline)) static int step(int value)
{
    __asm__ volatile("" : "+r"(value));
    return value + 1;
}

static void *work(void *crashes)
{
    for (int i = 0; i < 1000; i++)
        (void)step(i);
    pthread_barrier_wait(&all_at_work);
    if (crashes != NULL)
        (void)descend(5, NULL);
    pause();
    return NULL;
}

int main(void)
{
    pthread_t threads[3];
    (void)__xray_log_select_mode("xray-fdr");
    (void)__xray_log_init_mode(
        "xray-fdr",
        "func_duration_threshold_us=0:no_file_flush=true:buffer_size=16384");
    (void)__xray_patch();
    pthread_barrier_init(&all_at_work, NULL, 3);
    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, work, i == 2 ? &all_at_work : NULL);
    pthread_join(threads[0], NULL);
    return 0;
}
