// SPDX-License-Identifier: Apache-2.0
//
// peer_scopes FILE: names the addresses on standard input, one per line, as programs
// that use libdw do: for each, the scopes of its unit, innermost first, and its line.
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <stdio.h>
#include <stdlib.h>

static const Dwfl_Callbacks callbacks = {
    .find_elf = dwfl_build_id_find_elf,
    .find_debuginfo = dwfl_standard_find_debuginfo,
    .section_address = dwfl_offline_section_address,
};

static void print_scopes(Dwarf_Die *unit, Dwarf_Addr address)
{
    Dwarf_Die *scopes = NULL;
    int count = dwarf_getscopes(unit, address, &scopes);

    for (int i = 0; i < count; i++) {
        int tag = dwarf_tag(&scopes[i]);
        const char *name = dwarf_diename(&scopes[i]);
        if (tag == DW_TAG_inlined_subroutine || tag == DW_TAG_subprogram)
            printf("%s%s", name != NULL ? name : "?",
                   tag == DW_TAG_inlined_subroutine ? " inlined into " : "");
    }
    free(scopes);
}

static void print_address(Dwfl *dwfl, Dwarf_Addr address)
{
    Dwarf_Addr bias = 0;
    int line = 0;
    Dwfl_Module *module = dwfl_addrmodule(dwfl, address);
    Dwarf_Die *unit =
        module != NULL ? dwfl_module_addrdie(module, address, &bias) : NULL;

    if (unit != NULL)
        print_scopes(unit, address - bias);
    else if (module != NULL)
        printf("%s", dwfl_module_addrname(module, address));
    Dwfl_Line *found = module != NULL ? dwfl_module_getsrc(module, address) : NULL;
    const char *file =
        found != NULL ? dwfl_lineinfo(found, NULL, &line, NULL, NULL, NULL) : NULL;
    printf(" at %s:%d\n", file != NULL ? file : "?", line);
}

int main(int argc, char **argv)
{
    unsigned long long address = 0;

    if (argc != 2)
        return 2;
    Dwfl *dwfl = dwfl_begin(&callbacks);
    if (dwfl == NULL || dwfl_report_offline(dwfl, argv[1], argv[1], -1) == NULL)
        return 1;
    dwfl_report_end(dwfl, NULL, NULL);
    while (scanf("%llx", &address) == 1)
        print_address(dwfl, address);
    dwfl_end(dwfl);
    return 0;
}
