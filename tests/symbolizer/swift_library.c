// SPDX-License-Identifier: Apache-2.0
//
// Stands for libswiftDemangle: it writes whose rights it was loaded with into the name.
#include <stdio.h>
#include <unistd.h>

size_t swift_demangle_getDemangledName(const char *name, char *out, size_t size);

size_t swift_demangle_getDemangledName(const char *name, char *out, size_t size)
{
    return (size_t)snprintf(out, size, "demangled %s by %s", name,
                            geteuid() == 0 ? "root" : "another");
}
