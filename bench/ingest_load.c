// SPDX-License-Identifier: Apache-2.0
//
// ingest_load PORT[,PORT] CLIENTS COUNT FILE [FIRST MIX GROUPS HOSTS [RATE]]: sends
// COUNT reports to the collectors on 127.0.0.1, over CLIENTS connections to each in
// turn, which wait for each answer before the next report. Each report is FILE with an
// id of its own. Prints reports per second, the median and the 99th percentile of the
// answer times, and the CPU time used here.
//
// With a mix, ids are numbered from FIRST, and every `group_00000000` and
// `host_00000000` in FILE gets a number: hosts are all as frequent, groups as MIX says:
// `zipf`, where the Nth is as frequent as 1/N, or `hot10`, where ten have 90 %.
//
// With a RATE, that many reports a second are due, and an answer's time counts from
// when its report was due.
#include <arpa/inet.h>
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static const char placeholder[] = "00000000-0000-7000-8000-000000000000";

static const char group_holder[] = "group_00000000";
static const char host_holder[] = "host_00000000";

enum { COLLECTORS = 8, HOLES = 64, DIGITS = 8 };

// hole is where a number of a group or a host goes in the body.
struct hole {
    size_t offset;
    bool of_host;
};

static struct {
    long ports[COLLECTORS];
    size_t port_count;
    atomic_size_t clients;
    long count;
    char *body;
    size_t size;
    size_t id_offset;
    long first;
    const char *mix; // NULL: none
    double groups;
    double hosts;
    double rate; // 0: none
    double began;
    struct hole holes[HOLES];
    size_t hole_count;
    atomic_long next;
    double *seconds; // of every answer
} load;

static void die(const char *what)
{
    (void)fprintf(stderr, "ingest_load: cannot %s: %s\n", what, strerror(errno));
    exit(1);
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void read_body(const char *path)
{
    FILE *file = fopen(path, "rb");
    load.body = calloc(1, 1 << 20);
    if (file == NULL || load.body == NULL)
        die("read the report");
    load.size = fread(load.body, 1, (1 << 20) - 1, file);
    (void)fclose(file);
    char *id = strstr(load.body, placeholder);
    if (id == NULL)
        die("find the id in the report");
    load.id_offset = (size_t)(id - load.body);
}

static void find_holes(const char *holder, bool of_host)
{
    size_t length = strlen(holder);
    for (char *at = strstr(load.body, holder); at != NULL && load.hole_count < HOLES;
         at = strstr(at + length, holder))
        load.holes[load.hole_count++] =
            (struct hole){ (size_t)(at - load.body) + length - DIGITS, of_host };
}

// chance is a number from 0 to 1 that is number's own.
static double chance(uint64_t number)
{
    number = (number + 1) * 0x9e3779b97f4a7c15u;
    number = (number ^ (number >> 30)) * 0xbf58476d1ce4e5b9u;
    number = (number ^ (number >> 27)) * 0x94d049bb133111ebu;
    return (double)((number ^ (number >> 31)) >> 11) / 9007199254740992.0;
}

// choose_group is the group of a report, the most frequent one first.
static unsigned long choose_group(uint64_t number)
{
    double where = chance(2 * number);
    if (strcmp(load.mix, "zipf") == 0)
        return (unsigned long)(pow(load.groups + 1, where)) - 1;
    return (unsigned long)(where < 0.9 ? where / 0.9 * 10
                                       : (where - 0.9) / 0.1 * load.groups);
}

static void fill_holes(char *body, uint64_t number)
{
    char group[DIGITS + 13];
    char host[DIGITS + 13];
    if (load.mix == NULL)
        return;
    (void)snprintf(group, sizeof(group), "%08lu", choose_group(number));
    (void)snprintf(host, sizeof(host), "%08lu",
                   (unsigned long)(chance(2 * number + 1) * load.hosts));
    for (size_t i = 0; i < load.hole_count; i++)
        memcpy(body + load.holes[i].offset, load.holes[i].of_host ? host : group,
               DIGITS);
}

static void read_ports(const char *list)
{
    char *end = (char *)(uintptr_t)list;
    do {
        load.ports[load.port_count++] = strtol(list, &end, 10);
        list = end + 1;
    } while (*end == ',' && load.port_count < COLLECTORS);
}

static int connect_to_collector(void)
{
    size_t turn = atomic_fetch_add(&load.clients, 1) % load.port_count;
    struct sockaddr_in address = { .sin_family = AF_INET,
                                   .sin_port = htons((uint16_t)load.ports[turn]),
                                   .sin_addr = { htonl(INADDR_LOOPBACK) } };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0)
        die("connect");
    return fd;
}

static void send_all(int fd, const char *bytes, size_t size)
{
    while (size != 0) {
        ssize_t sent = send(fd, bytes, size, MSG_NOSIGNAL);
        if (sent <= 0)
            die("send");
        bytes += sent;
        size -= (size_t)sent;
    }
}

// read_answer reads an answer that arrives in one piece, as these short ones do.
static void read_answer(int fd)
{
    char answer[4096];
    ssize_t size = recv(fd, answer, sizeof(answer) - 1, 0);
    if (size <= 0)
        die("receive");
    answer[size] = 0;
    if (strncmp(answer, "HTTP/1.1 201", 12) == 0)
        return;
    (void)fprintf(stderr, "ingest_load: unexpected answer: %s\n", answer);
    exit(1);
}

// wait_until_due returns when a report is due: at once where there is no rate.
static double wait_until_due(long number)
{
    if (load.rate <= 0)
        return now();
    double due = load.began + (double)number / load.rate;
    double left = due - now();
    const struct timespec pause = { .tv_sec = (time_t)left,
                                    .tv_nsec =
                                        (long)((left - (double)(time_t)left) * 1e9) };
    if (left > 0)
        nanosleep(&pause, NULL);
    return due;
}

static void *run_client(void *context)
{
    (void)context;
    int fd = connect_to_collector();
    char head[256];
    int head_size = snprintf(head, sizeof(head),
                             "POST /api/v1/reports HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                             "Content-Length: %zu\r\n\r\n",
                             load.size);
    char *request = malloc((size_t)head_size + load.size);
    if (request == NULL)
        die("allocate");
    memcpy(request, head, (size_t)head_size);
    memcpy(request + head_size, load.body, load.size);
    long number;
    while ((number = atomic_fetch_add(&load.next, 1)) < load.count) {
        char digits[16];
        (void)snprintf(digits, sizeof(digits), "%012lx",
                       (unsigned long)(load.first + number) + 1);
        memcpy(request + head_size + load.id_offset + 24, digits, 12);
        fill_holes(request + head_size, (uint64_t)(load.first + number));
        double began = wait_until_due(number);
        send_all(fd, request, (size_t)head_size + load.size);
        read_answer(fd);
        load.seconds[number] = now() - began;
    }
    free(request);
    close(fd);
    return NULL;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    if (argc != 5 && argc != 9 && argc != 10)
        return 2;
    long clients = strtol(argv[2], NULL, 10);
    read_ports(argv[1]);
    load.count = strtol(argv[3], NULL, 10);
    load.seconds = calloc((size_t)load.count, sizeof(double));
    pthread_t *threads = calloc((size_t)clients, sizeof(*threads));
    if (load.seconds == NULL || threads == NULL)
        die("allocate");
    read_body(argv[4]);
    if (argc >= 9) {
        load.first = strtol(argv[5], NULL, 10);
        load.mix = argv[6];
        load.groups = strtod(argv[7], NULL);
        load.hosts = strtod(argv[8], NULL);
        find_holes(group_holder, false);
        find_holes(host_holder, true);
    }
    load.rate = argc == 10 ? strtod(argv[9], NULL) : 0;
    load.began = now();
    for (long i = 0; i < clients; i++) {
        if (pthread_create(&threads[i], NULL, run_client, NULL) != 0)
            die("start a client");
    }
    for (long i = 0; i < clients; i++)
        pthread_join(threads[i], NULL);
    double took = now() - load.began;
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    qsort(load.seconds, (size_t)load.count, sizeof(double), compare);
    printf("{\"reports_per_second\":%.0f,\"p50_ms\":%.2f,\"p99_ms\":%.2f,"
           "\"max_ms\":%.2f,\"load_cpu_seconds\":%.2f,\"seconds\":%.2f}\n",
           (double)load.count / took, load.seconds[load.count / 2] * 1e3,
           load.seconds[load.count * 99 / 100] * 1e3,
           load.seconds[load.count - 1] * 1e3,
           (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
               (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6,
           took);
    free(threads);
    free(load.seconds);
    free(load.body);
    return 0;
}
