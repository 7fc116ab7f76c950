// SPDX-License-Identifier: Apache-2.0
//
// What record_stops.py runs and records: calls of many shapes, without
// a C library, so that a whole program is a few kilobytes. Each call of stop() is a
// place to record.
typedef unsigned long word;

#define KEEP __attribute__((noinline, noclone))

static long call_kernel(long number, long a, long b, long c, long d)
{
#if defined(__x86_64__)
    long result;
    register long fourth __asm__("r10") = d;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(fourth)
                     : "rcx", "r11", "memory");
    return result;
#elif defined(__aarch64__)
    register long first __asm__("x0") = a;
    register long second __asm__("x1") = b;
    register long third __asm__("x2") = c;
    register long fourth __asm__("x3") = d;
    register long which __asm__("x8") = number;
    __asm__ volatile("svc #0"
                     : "+r"(first)
                     : "r"(second), "r"(third), "r"(fourth), "r"(which)
                     : "memory");
    return first;
#else
    register long which __asm__("r1") = number;
    register long first __asm__("r2") = a;
    register long second __asm__("r3") = b;
    register long third __asm__("r4") = c;
    register long fourth __asm__("r5") = d;
    __asm__ volatile("svc 0"
                     : "+d"(first)
                     : "d"(which), "d"(second), "d"(third), "d"(fourth)
                     : "memory");
    return first;
#endif
}

#if defined(__x86_64__)
enum { SIGACTION = 13, KILL = 62, GETPID = 39, EXIT = 231 };
#elif defined(__aarch64__)
enum { SIGACTION = 134, KILL = 129, GETPID = 172, EXIT = 94 };
#else
enum { SIGACTION = 174, KILL = 37, GETPID = 20, EXIT = 248 };
#endif
enum { SIGUSR1 = 10, SIGINFO = 4, RESTORER = 0x04000000 };

// The kernel's own layout.
struct action {
    void (*handler)(int);
    word flags;
    void (*restorer)(void);
    word mask;
};

extern void __restore_rt(void);

static volatile int last_stop;
static volatile word sink;

KEEP void stop(int number)
{
    last_stop = number;
    __asm__ volatile("" ::: "memory");
}

KEEP static int compare(int a, int b)
{
    stop(1);
    return a - b;
}

// called through a pointer, with registers to keep
KEEP static int sum(const int *values, int count, int (*by)(int, int))
{
    int all = 0;
    for (int i = 1; i < count; i++)
        all += by(values[i - 1], values[i]) * i;
    return all;
}

KEEP static int with_alloca(int count)
{
    int *values = __builtin_alloca((count & 63) * sizeof(int) + 16);
    for (int i = 0; i < count; i++)
        values[i] = i * 37 & 15;
    stop(2);
    return sum(values, count, compare) + values[0];
}

KEEP static int with_large_frame(int count)
{
    volatile char bytes[5000];
    for (int i = 0; i < 5000; i += 64)
        bytes[i] = (char)(i + count);
    int result = with_alloca(count);
    stop(3);
    return result + bytes[count];
}

KEEP static int recurse(int depth, const int *from)
{
    word kept[9];
    kept[depth % 9] = (word)depth;
    __asm__ volatile("" : : "r"(kept) : "memory");
    if (depth == 0)
        return with_large_frame(*from);
    return recurse(depth - 1, from) + (int)kept[depth % 9];
}

KEEP static int with_many_arguments(long a, long b, long c, long d, long e, long f,
                                    long g, long h, long i)
{
    int from = 3;
    long products[] = { a * b, c * d, e * f, g * h };
    int result = recurse(4, &from);
    stop(4);
    return (int)(result + products[0] + products[1] + products[2] + products[3] + i);
}

KEEP static void on_signal(int number)
{
    volatile char bytes[200];
    bytes[number] = 1;
    stop(5);
    sink += (word)bytes[number];
}

KEEP static void realigned(int count)
{
    volatile long values[8] __attribute__((aligned(64)));
    char *bytes = __builtin_alloca((count & 31) + 1);
    values[0] = (long)bytes;
    stop(6);
    sink += (word)values[0] & 1;
}

KEEP static int drive(int one)
{
    const struct action action = { on_signal, SIGINFO | RESTORER, __restore_rt, 0 };
    int result = with_many_arguments(one, 2, 3, 4, 5, 6, 7, 8, 9);
    call_kernel(SIGACTION, SIGUSR1, (long)&action, 0, 8);
    call_kernel(KILL, call_kernel(GETPID, 0, 0, 0, 0), SIGUSR1, 0, 0);
    realigned(one);
    stop(7);
    return result;
}

void begin(void)
{
    int result = drive(1);
    call_kernel(EXIT, result & 1, 0, 0, 0);
    __builtin_trap();
}
