// SPDX-License-Identifier: Apache-2.0
//
// bench_sframe LIBRARY: nanoseconds from a program counter to its unwind row, for
// random ones in the library's functions, beside libunwind's search of the same
// library's .eh_frame_hdr (which finds and parses the FDE, but runs no CFA program) and
// binutils' libsframe where it is installed.
#define _GNU_SOURCE // dl_iterate_phdr, dlinfo
#include <dlfcn.h>
#include <inttypes.h>
#define UNW_LOCAL_ONLY
#include <libunwind.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if __has_include(<sframe-api.h>)
#include <sframe-api.h>
#define HAVE_LIBSFRAME 1
#else
#define HAVE_LIBSFRAME 0
#endif

#include "bench/bench_time.h"
#include "formats/debug/sframe_file.h"

// A batch is short, so that other load disturbs few of them; the median batch is
// reported.
enum { PCS = 1 << 16, BATCH = 1 << 10, RUNS = 9, BATCHES = RUNS * PCS / BATCH };

// libunwind's own binary search, which its headers do not declare.
#define search_eh_frame_hdr _ULx86_64_dwarf_search_unwind_table
int search_eh_frame_hdr(unw_addr_space_t space, unw_word_t ip, unw_dyn_info_t *table,
                        unw_proc_info_t *out, int need_info, void *argument);

struct bench {
    struct sframe_section section;
    uint64_t bias;
    uint64_t pcs[PCS]; // vaddrs
    unw_dyn_info_t table;
#if HAVE_LIBSFRAME
    sframe_decoder_ctx *decoder;
#endif
};

// A look_up_fn looks up one vaddr and returns whether it was found.
typedef bool look_up_fn(struct bench *bench, uint64_t pc);

static bool by_crashhook(struct bench *bench, uint64_t pc)
{
    struct unwind_row row;
    return sframe_lookup(&bench->section, pc, &row) == CH_OK && row.cfa.offset != 0;
}

static bool by_libunwind(struct bench *bench, uint64_t pc)
{
    unw_proc_info_t info;
    return search_eh_frame_hdr(unw_local_addr_space, pc + bench->bias, &bench->table,
                               &info, 1, NULL) == 0;
}

#if HAVE_LIBSFRAME
static bool by_libsframe(struct bench *bench, uint64_t pc)
{
    sframe_frame_row_entry row;
    int32_t offset = (int32_t)(pc - bench->section.vaddr);
    return sframe_find_fre(bench->decoder, offset, &row) == 0;
}
#endif

static void measure(struct bench *bench, const char *name, look_up_fn *look_up)
{
    static double ns[BATCHES];
    size_t found = 0;
    for (size_t batch = 0; batch < BATCHES; batch++) {
        const uint64_t *pcs = &bench->pcs[batch * BATCH % PCS];
        double start = bench_now_ns();
        for (size_t i = 0; i < BATCH; i++)
            found += look_up(bench, pcs[i]);
        ns[batch] = (bench_now_ns() - start) / BATCH;
    }
    qsort(ns, BATCHES, sizeof(ns[0]), bench_compare_doubles);
    printf("  %-10s %7.1f ns/pc (fastest tenth of batches %.1f), %zu of %d found\n",
           name, ns[BATCHES / 2], ns[BATCHES / 10], found / RUNS, PCS);
}

static void choose_pcs(struct bench *bench)
{
    uint64_t random = 88172645463325252u;
    for (size_t i = 0; i < PCS;) {
        struct sframe_function function;
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        uint32_t index = (uint32_t)(random >> 32) % bench->section.function_count;
        if (sframe_read_function(&bench->section, index, &function) != CH_OK ||
            function.mask || function.size == 0)
            continue;
        bench->pcs[i++] = function.start + (uint32_t)random % function.size;
    }
}

// visit_library takes what libunwind's search needs from the loaded library.
static int visit_library(struct dl_phdr_info *info, size_t size, void *context)
{
    struct bench *bench = context;
    (void)size;
    if (info->dlpi_addr != bench->bias)
        return 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        if (header->p_type != PT_GNU_EH_FRAME)
            continue;
        const uint8_t *bytes = (const uint8_t *)(info->dlpi_addr + header->p_vaddr);
        uint32_t count;
        memcpy(&count, bytes + 8, sizeof(count));
        bench->table = (unw_dyn_info_t){ .start_ip = 0,
                                         .end_ip = UINT64_MAX,
                                         .format = UNW_INFO_FORMAT_REMOTE_TABLE };
        bench->table.u.rti.segbase = (unw_word_t)(uintptr_t)bytes;
        bench->table.u.rti.table_data = (unw_word_t)(uintptr_t)(bytes + 12);
        bench->table.u.rti.table_len = count * 8 / sizeof(unw_word_t);
    }
    return 1;
}

static uint8_t *read_file(const char *path, size_t *out_size)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL || fseek(file, 0, SEEK_END) != 0)
        return NULL;
    long size = ftell(file);
    rewind(file);
    uint8_t *bytes = size > 0 ? malloc((size_t)size) : NULL;
    if (bytes != NULL && fread(bytes, 1, (size_t)size, file) == (size_t)size)
        *out_size = (size_t)size;
    fclose(file);
    return bytes;
}

int main(int argc, char **argv)
{
    static struct bench bench;
    struct sframe_file file;
    size_t size = 0;
    size_t offset = 0;
    uint8_t *bytes = argc == 2 ? read_file(argv[1], &size) : NULL;
    void *library = argc == 2 ? dlopen(argv[1], RTLD_NOW) : NULL;
    struct link_map *map = NULL;
    if (bytes == NULL || library == NULL ||
        dlinfo(library, RTLD_DI_LINKMAP, &map) != 0 ||
        sframe_file_init(&file, bytes, size) != CH_OK ||
        sframe_file_next(&file, &offset, &bench.section) != CH_OK) {
        fputs("usage: bench_sframe LIBRARY with an .sframe section\n", stderr);
        return 1;
    }
    bench.bias = map->l_addr;
    dl_iterate_phdr(visit_library, &bench);
    choose_pcs(&bench);
    printf("%s: version %u, %" PRIu32 " functions, %" PRIu32 " rows, %zu bytes\n",
           argv[1], bench.section.version, bench.section.function_count,
           bench.section.row_count, sframe_section_size(&bench.section));
    measure(&bench, "crashhook", by_crashhook);
    measure(&bench, "libunwind", by_libunwind);
#if HAVE_LIBSFRAME
    int error = 0;
    bench.decoder = sframe_decode((const char *)bench.section.bytes.begin,
                                  sframe_section_size(&bench.section), &error);
    if (bench.decoder != NULL)
        measure(&bench, "libsframe", by_libsframe);
#endif
    return 0;
}
