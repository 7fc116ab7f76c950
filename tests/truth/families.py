# SPDX-License-Identifier: Apache-2.0
#
# Families of programs with one known defect each. A family is a product of tables: how a
# bad pointer reached a function, what it was, and how it was used; what a function of the C
# library was passed; which exception ended the program, and where it was thrown.
# write_sources writes a source for each family, whose cases have the form that
# sentence_cases.py reads.

import os
import shutil
import sys

HEAD = r"""// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>
#define OWN __attribute__((noinline)) static
#define KEEP(value) __asm__ volatile("" : "+r"(value))
#define HERE __asm__ volatile("" : : : "memory")
"""

POINTER_TYPES = r"""
struct item {
    long head;
    int count;
    char letter;
    double price;
    long values[8];
    struct item *next;
    long (*price_of)(struct item *);
    unsigned flag : 3;
};

struct owner {
    int id;
    struct item *item;
    struct { struct item *first, *second; } pair;
};

static struct item good, *current;
static struct owner owner;
static struct item *table[8];

OWN struct item *find(unsigned long bad)
{
    struct item *item = (struct item *)bad;
    KEEP(item);
    return item;
}
"""

# How the pointer reaches the function: its parameters, a statement that comes first, the
# expression, what the caller does, and what a report may call the pointer.
SOURCES = {
    "parameter": ("struct item *p", "", "p", "struct item *p = find(bad)", "p", "p"),
    "local": ("unsigned long key", "struct item *found = find(key);", "found", "", "bad",
              "found|bad|key"),
    "global": ("void", "", "current", "current = find(bad)", "", "current"),
    "member": ("struct owner *o", "", "o->item", "owner.item = find(bad)", "&owner",
               "o->item|owner.item"),
    "inner": ("struct owner *o", "", "o->pair.second", "owner.pair.second = find(bad)",
              "&owner", "o->pair.second|owner.pair.second"),
    "element": ("struct item **v, long i", "", "v[i]", "table[3] = find(bad)", "table, 3",
                r"v\[(i|3)\]|table\[3\]|\*?v"),
    "indirect": ("struct item **at", "", "(*at)", "table[2] = find(bad)", "&table[2]",
                 r"\*at|at\[0\]|table\[2\]"),
    "chain": ("struct item *first", "", "first->next", "good.next = find(bad)", "&good",
              "first->next|good.next"),
}

# What the pointer is, and the kind that the crash has.
VALUES = {
    "null": ("0", "null-dereference"),
    "number": ("42", "small-pointer"),
    "text": ("0x4141414141414141", "non-canonical-address"),
    "wild": ("0x123456789010", "unknown"),
}

# How the function uses it.
USES = {
    "read": "long seen = {e}->head; KEEP(seen); return seen;",
    "count": "long seen = {e}->count; KEEP(seen); return seen;",
    "letter": "int seen = {e}->letter; KEEP(seen); return seen;",
    "price": "double seen = {e}->price; __asm__ volatile(\"\" : \"+x\"(seen)); return seen > 2;",
    "value": "long seen = {e}->values[5]; KEEP(seen); return seen;",
    "write": "{e}->count = 7; HERE; return 1;",
    "add": "{e}->head += 3; HERE; return 1;",
    "copy": "good = *{e}; HERE; return good.count;",
    "call": "long seen = {e}->price_of({e}); KEEP(seen); return seen;",
    "flag": "{e}->flag = 5; HERE; return 1;",
}
OTHER_USES = ("read", "write", "value")  # of a pointer that is not null

# What a function of the C library is passed. It is called with a pointer p.
LIBRARY = {
    "strlen": "sum += strlen(p);",
    "strcpy_from": "strcpy(buffer, p);",
    "strcpy_to": "strcpy(p, argument);",
    "strncpy_from": "strncpy(buffer, p, 20);",
    "strcat_from": "strcat(buffer, p);",
    "strcmp": "sum += strcmp(p, argument);",
    "strncmp": "sum += strncmp(argument, p, 5);",
    "strcasecmp": "sum += strcasecmp(p, argument);",
    "strchr": "sum += strchr(p, 'x') != NULL;",
    "strrchr": "sum += strrchr(p, 'x') != NULL;",
    "strstr": "sum += strstr(p, argument) != NULL;",
    "strdup": "argument = strdup(p);",
    "strtol": "sum += strtol(p, NULL, 10);",
    "atoi": "sum += atoi(p);",
    "memcpy_from": "memcpy(buffer, p, size);",
    "memcpy_to": "memcpy(p, buffer, size);",
    "memmove_to": "memmove(p, buffer, size);",
    "memset": "memset(p, 0, size);",
    "memcmp": "sum += memcmp(p, buffer, size);",
    "memchr": "sum += memchr(p, 'x', size) != NULL;",
    "wcslen": "sum += wcslen((const wchar_t *)p);",
    "fputs": "sum += fputs(p, stdout);",
    "fwrite": "sum += fwrite(p, 1, size, stdout);",
    "sscanf": "sum += sscanf(p, \"%ld\", &sum);",
    "qsort": "qsort(p, size, 4, compare);",
}

# How a program ends by a signal that is no bad pointer: the signal, the kind, what the
# summary begins with, and the body of a function with a number n that is 0.
ENDINGS = {
    "int_by_zero": ("FPE", "divide-by-zero", "Integer division by zero",
                    "sum = 7 / (int)n;"),
    "unsigned_by_zero": ("FPE", "divide-by-zero", "Integer division by zero",
                         "sum = 7u / (unsigned)n;"),
    "long_by_zero": ("FPE", "divide-by-zero", "Integer division by zero", "sum = sum / n;"),
    "rest_by_zero": ("FPE", "divide-by-zero", "Integer division by zero",
                     "sum = sum % (n + zero);"),
    "short_by_zero": ("FPE", "divide-by-zero", "Integer division by zero",
                      "sum = (short)sum / (short)n;"),
    "least_by_minus_one": ("FPE", "division-overflow", "Integer division whose result",
                           "sum = (INT_MIN + (int)zero) / ((int)n - 1);"),
    "least_long_rest": ("FPE", "division-overflow", "Integer division whose result",
                        "sum = (LONG_MIN + zero) % (n - 1);"),
    "aborts": ("ABRT", "abort", "The program aborted", "abort();"),
    "raises_abort": ("ABRT", "abort", "The program aborted", "raise(SIGABRT);"),
    "asserts": ("ABRT", "assertion", "Assertion", "assert(n == 3);"),
    "asserts_text": ("ABRT", "assertion", "Assertion",
                     'assert(strcmp(text, "open") == 0 && "the shop is open");'),
    "asserts_inverse": ("ABRT", "assertion", "Assertion", "assert(!(n < 3) && sum > 2);"),
    "frees_twice": ("ABRT", "heap-corruption", ".*double free",
                    "char *at = block(40); free(at); HERE; free(at);"),
    "frees_large_twice": ("ABRT", "heap-corruption", ".*double free",
                          "char *at = block(4000), *next = block(4000); free(at); HERE; "
                          "free(at); free(next);"),
    "frees_inside": ("ABRT", "heap-corruption", ".*free\\(\\): invalid pointer",
                     "char *at = block(40); free(at + 8); HERE;"),
    "frees_stack": ("ABRT", "heap-corruption", ".*(free\\(\\): invalid|double free or corruption)",
                    "char at[64]; KEEP_TEXT(at); free(at + 16); HERE;"),
    "overwrites_top": ("ABRT", "heap-corruption", ".*malloc\\(\\): corrupted top size",
                       "char *at = block(24); memset(at + n, 0xff, 40); HERE; "
                       "sum = block(200000 / 2) != NULL;"),
    "overwrites_size": ("ABRT", "heap-corruption", ".*(free|munmap_chunk)\\(\\): invalid",
                        "char *at = block(24), *next = block(24); "
                        "memset(at + n, 0xff, 32); HERE; free(next);"),
    "smashes": ("ABRT", "stack-smashing", "A function wrote past its variables",
                "char line[24]; memset(line, 'x', 48 + n); KEEP_TEXT(line);"),
    "traps": ("ILL", "trap|illegal-instruction", "", "__builtin_trap();"),
    "breaks": ("TRAP", "trap", "", "__asm__ volatile(BREAKPOINT);"),
    "writes_literal": ("SEGV", "write-to-read-only", "Write to 0x[0-9a-f]+, which is read-only",
                       'char *at = "literal"; KEEP(at); at[n] = 3;'),
    "writes_constant": ("SEGV", "write-to-read-only",
                        "Write to 0x[0-9a-f]+, which is read-only",
                        "char *at = (char *)constant; KEEP(at); at[2] = 3;"),
    "writes_code": ("SEGV", "write-to-read-only", "Write to 0x[0-9a-f]+, which is read-only",
                    "char *at = (char *)main; KEEP(at); at[n] = 3;"),
    "writes_sealed": ("SEGV", "write-to-read-only", "Write to 0x[0-9a-f]+, which is read-only",
                      "char *at = pages(2); mprotect(at, 4096, PROT_READ); at[64] = 3;"),
    "reads_sealed": ("SEGV", "unknown", "Read from 0x[0-9a-f]+",
                     "char *at = pages(2); mprotect(at, 4096, PROT_NONE); sum = at[64];"),
    "reads_unmapped": ("SEGV", "use-after-unmap|unknown",
                       "Read from 0x[0-9a-f]+, where nothing is mapped",
                       "char *at = pages(64); munmap(at, 64 * 4096); HERE; sum = at[64];"),
    "calls_null": ("SEGV", "null-dereference", "Jump to 0x0, through a null pointer",
                   "void (*call)(void) = (void (*)(void))n; KEEP(call); call(); HERE;"),
    "calls_number": ("SEGV", "wild-jump", "Jump to 0x3e7",
                     "void (*call)(void) = (void (*)(void))(n + 999); KEEP(call); call(); "
                     "HERE;"),
    "calls_data": ("SEGV", "execute-of-data", "Jump to 0x[0-9a-f]+, which is data",
                   "void (*call)(void) = (void (*)(void))&sum; KEEP(call); call(); HERE;"),
    "calls_heap": ("SEGV", "execute-of-data", "Jump to 0x[0-9a-f]+, which is data",
                   "void (*call)(void) = (void (*)(void))block(64); KEEP(call); call(); "
                   "HERE;"),
    "calls_text": ("SEGV", "non-canonical-address",
                   "Jump to 0x4141414141414141, an address that no memory can have",
                   "void (*call)(void) = (void (*)(void))(n + 0x4141414141414141); "
                   "KEEP(call); call(); HERE;"),
    "calls_by_sealed_table": ("SEGV", "unknown", "Read from 0x[0-9a-f]+, which may not be",
                              "extern char table[] __asm__(\"_GLOBAL_OFFSET_TABLE_\"); "
                              "char *page = (char *)((unsigned long)table & -4096ul); "
                              "mprotect(page, 4096, PROT_NONE); "
                              "sum = strtol(text, NULL, 10);"),
    "recurses": ("SEGV", "stack-overflow", "Stack overflow", "sum = recursed((int)n + 1);"),
    "recurses_in_turn": ("SEGV", "stack-overflow", "Stack overflow",
                         "sum = even((int)n + 1);"),
    "fills_frame": ("SEGV", "stack-overflow", "Stack overflow",
                    "char large[(64 << 20) + n]; large[0] = 1; KEEP_TEXT(large);"),
}

CXX_HEAD = r"""// SPDX-License-Identifier: Apache-2.0
#include <any>
#include <cstring>
#include <exception>
#include <functional>
#include <future>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <variant>
#include <vector>
#define OWN [[gnu::noinline]] static
#define HERE asm volatile("" : : : "memory")

namespace shop
{
struct refused : std::runtime_error {
    using std::runtime_error::runtime_error;
};
struct closed {
    int code;
};
} // namespace shop

static std::vector<int> three(3);
static std::map<std::string, int> prices;
static std::optional<int> none;
static std::variant<int, std::string> either = 3;
static std::function<void()> nothing;
static std::any something = 3;
"""

# An exception, and what a report says of it.
EXCEPTIONS = {
    "number": ("throw 42;", "int"),
    "words": ('throw "out of paper";', "char const\\*"),
    "runtime": ('throw std::runtime_error("no such order");',
                "std::runtime_error: no such order"),
    "logic": ('throw std::logic_error("sold twice");', "std::logic_error: sold twice"),
    "derived": ('throw shop::refused("card 17 is refused");',
                "shop::refused: card 17 is refused"),
    "plain": ("throw shop::closed{ 3 };", "shop::closed"),
    "vector_at": ("three.at(7) = 1;", "std::out_of_range: vector::_M_range_check"),
    "map_at": ('prices.at("tea") = 1;', "std::out_of_range: map::at"),
    "stoi": ('three[0] = std::stoi("tea");', "std::invalid_argument: stoi"),
    "optional": ("three[0] = none.value();", "std::bad_optional_access"),
    "variant": ("std::get<std::string>(either).clear();", "std::bad_variant_access"),
    "function": ("nothing();", "std::bad_function_call"),
    "any": ("three[0] = (int)std::any_cast<std::string>(something).size();",
            "std::bad_any_cast"),
    "system": ("throw std::system_error(2, std::generic_category(), \"prices.db\");",
               "std::system_error: prices.db: No such file or directory"),
}

# Where it is thrown; the name of the function that throws stays the case's.
PLACES = {
    "plain": "OWN void {n}()\n{{\n    {t}\n    HERE;\n}}\n",
    "noexcept": "OWN void {n}() noexcept\n{{\n    {t}\n    HERE;\n}}\n",
    "thread": ("OWN void {n}_now()\n{{\n    {t}\n    HERE;\n}}\n"
               "OWN void {n}()\n{{\n    std::thread({n}_now).join();\n}}\n"),
    "destructor": ("struct {n}_end {{\n    [[gnu::noinline]] ~{n}_end()\n    {{\n"
                   "        {t}\n        HERE;\n    }}\n}};\n"
                   "OWN void {n}()\n{{\n    {n}_end end;\n    HERE;\n}}\n"),
}


# Functions of Python that end the interpreter: the signal, the kind, what the summary begins
# with, and what the function does.
PYTHON = {
    "reads_null": ("SEGV", "null-dereference", "Read from 0x0, through a null pointer",
                   "ctypes.string_at(0)"),
    "reads_wild": ("SEGV", "unknown", "Read from 0x123456789010, where nothing is mapped",
                   "ctypes.string_at(0x123456789010)"),
    "writes_null": ("SEGV", "null-dereference", "Write to 0x0, through a null pointer",
                    "ctypes.memset(0, 65, 8)"),
    "writes_literal": ("SEGV", "write-to-read-only", "Write to 0x[0-9a-f]+, which is read-only",
                       "ctypes.memset(ctypes.cast(ctypes.pythonapi.Py_GetVersion, "
                       "ctypes.c_void_p).value, 65, 8)"),
    "calls_null": ("SEGV", "null-dereference", "Jump to 0x0, through a null pointer",
                   "call(0)"),
    "calls_number": ("SEGV", "wild-jump", "Jump to 0x3e7", "call(999)"),
    "aborts": ("ABRT", "abort", "The program aborted", "os.abort()"),
}


def of_case(name, body, **keys):
    lines = [f"//   {key}: {value}" for key, value in keys.items() if value]
    return "\n".join([f"\n// case {name}", *lines, body])


def table_of(names, kind):
    rows = "\n".join(f'    {{ "{name}", {start} }},' for name, start in names)
    return f"""
static const struct {{
    const char *name;
    {kind}
}} cases[] = {{
{rows}
}};
"""


def pointer_source(source):
    """Every use of a pointer that came by one way."""
    parameters, first, expression, before, arguments, named = SOURCES[source]
    out, names = [HEAD, "// all cause: none|null-offset|text|fill|overwritten|small\n",
                  POINTER_TYPES], []
    for value, (number, kind) in VALUES.items():
        for use, body in USES.items():
            if value != "null" and use not in OTHER_USES:
                continue
            name = f"{value}_{source}_{use}"
            function = (f"OWN long {name}({parameters})\n{{\n    {first}\n    "
                        f"{body.format(e=expression)}\n}}\n"
                        f"OWN long start_{name}(unsigned long bad)\n{{\n"
                        f"    {before + ';' if before else '(void)bad;'}\n    HERE;\n"
                        f"    return {name}({arguments}) + 1;\n}}\n")
            # A double in a vector register is read by an instruction of its own.
            out.append(of_case(name, function, kind=kind, variable=named))
            names.append((name, f"start_{name}, {number}"))
    out.append(table_of(names, "long (*start)(unsigned long);\n    unsigned long value;"))
    out.append("""
int main(int argc, char **argv)
{
    for (size_t i = 0; argc == 2 && i < sizeof(cases) / sizeof(cases[0]); i++)
        if (strcmp(cases[i].name, argv[1]) == 0)
            return (int)cases[i].start(cases[i].value);
    return 2;
}
""")
    return "\n".join(out)


def library_source():
    """Functions of the C library with a pointer that is null or leads nowhere."""
    out = [HEAD, "// all cause: none|null-offset|text|fill|overwritten|small\n", """
static long sum;
static char buffer[64] = "words", *volatile argument = "argument";
static volatile size_t size = 40;

OWN int compare(const void *a, const void *b)
{
    return memcmp(a, b, 4);
}
"""]
    names = []
    for value in ("null", "wild", "text"):
        number, kind = VALUES[value]
        for called, body in LIBRARY.items():
            name = f"{value}_{called}"
            function = (f"OWN void {name}(char *p)\n{{\n    (void)compare;\n    {body}\n"
                        "    HERE;\n}\n")
            # The first element that is compared may be the second of the array.
            first = kind if called != "qsort" else kind + "|small-pointer"
            out.append(of_case(name, function, kind=first, variable="p|p \\+.*|a|b",
                               builds="-musl -static"))
            names.append((name, f"{name}, (char *){number}"))
    out.append(table_of(names, "void (*start)(char *);\n    char *volatile value;"))
    out.append("""
int main(int argc, char **argv)
{
    for (size_t i = 0; argc == 2 && i < sizeof(cases) / sizeof(cases[0]); i++)
        if (strcmp(cases[i].name, argv[1]) == 0)
            cases[i].start(cases[i].value);
    return 2;
}
""")
    return "\n".join(out)


ENDING_HELP = r"""
#undef NDEBUG
#include <assert.h>
#include <limits.h>
#include <signal.h>
#include <sys/mman.h>
#ifdef __aarch64__
#define BREAKPOINT "brk 0"
#else
#define BREAKPOINT "int3"
#endif
#define KEEP_TEXT(text) __asm__ volatile("" : : "r"(text) : "memory")
static volatile long zero, sum = 7;
static const char constant[64] = "constant";
static char *volatile text = "closed";
int main(int argc, char **argv);

OWN char *block(size_t size)
{
    char *at = malloc(size);
    KEEP(at);
    return at;
}

OWN char *pages(size_t count)
{
    char *at = mmap(NULL, count * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    at[64] = 1;
    KEEP(at);
    return at;
}

OWN int recursed(int depth)
{
    char line[200];
    KEEP_TEXT(line);
    return depth == 0 ? 0 : recursed(depth + 1) + line[depth % 7];
}

static int odd(int depth);
OWN int even(int depth)
{
    char line[200];
    KEEP_TEXT(line);
    return depth == 0 ? 0 : odd(depth + 2) + line[depth % 7];
}

__attribute__((noinline)) static int odd(int depth)
{
    char line[200];
    KEEP_TEXT(line);
    return depth == 0 ? 0 : even(depth + 2) + line[depth % 7];
}
"""

# The stub of the procedure linkage table is named; static programs have none.
ENDING_KEYS = {"calls_by_sealed_table": {"builds": "gcc -musl -static -lto", "shows": "@plt in "}}
ENDING_IN = {"calls_text": "-", "recurses": "recursed", "recurses_in_turn": "-"}


def ending_source():
    """Endings by arithmetic, aborts, the heap, jumps, protected pages and deep stacks."""
    out = [HEAD, "// all flags: -fstack-protector-all -U_FORTIFY_SOURCE\n"
           "// all builds: -musl\n// all cause: none|null-offset|text|fill|overwritten|small\n",
           ENDING_HELP]
    for name, (signal, kind, says, body) in ENDINGS.items():
        function = f"OWN void {name}(long n)\n{{\n    {body}\n    HERE;\n}}\n"
        out.append(of_case(name, function, signal=signal, kind=kind, says=says,
                           **({"in": ENDING_IN[name]} if name in ENDING_IN else {}),
                           **ENDING_KEYS.get(name, {})))
    out.append(table_of([(name, name) for name in ENDINGS], "void (*start)(long);"))
    out.append("""
int main(int argc, char **argv)
{
    (void)constant;
    for (size_t i = 0; argc == 2 && i < sizeof(cases) / sizeof(cases[0]); i++)
        if (strcmp(cases[i].name, argv[1]) == 0)
            cases[i].start(zero);
    return 2;
}
""")
    return "\n".join(out)


def exception_source():
    """Every exception, thrown everywhere."""
    out = [CXX_HEAD, "// all flags: -std=c++17\n// all signal: ABRT\n// all kind: uncaught-exception\n"]
    names = []
    for place, shape in PLACES.items():
        for thrown, (throws, said) in EXCEPTIONS.items():
            name = f"{thrown}_{place}"
            # Unwinding begins only where a handler is found: a thread's and a noexcept
            # function's frames are on the stack, and so is what threw.
            out.append(of_case(name, shape.format(n=name, t=throws),
                               says="Uncaught exception " + said, **{"in": "-"}))
            names.append((name, name))
    out.append(table_of(names, "void (*start)();"))
    out.append("""
int main(int argc, char **argv)
{
    for (const auto &each : cases)
        if (argc == 2 && std::strcmp(each.name, argv[1]) == 0)
            each.start();
    return 2;
}
""")
    return "\n".join(out)


def python_source():
    """A script whose functions end the interpreter. Its cases are in its first string."""
    cases, functions = [], []
    for name, (signal, kind, says, body) in PYTHON.items():
        cases.append(of_case(name, "", signal=signal, kind=kind, says=says))
        functions.append(f"def {name}():\n    {body}\n    return 1\n\n")
    return ("#!/usr/bin/python3\nr\"\"\"\n// all cause: none|null-offset\n" + "\n".join(cases) +
            "\n\"\"\"\nimport ctypes\nimport os\nimport sys\n\n"
            "def call(address):\n    ctypes.CFUNCTYPE(None)(address)()\n\n\n" +
            "\n".join(functions) + "\nglobals()[sys.argv[1]]()\n")


def write_sources(folder):
    """Writes the sources of all families."""
    sources = {f"{name}_pointers.c": pointer_source(name) for name in SOURCES}
    sources["library_calls.c"] = library_source()
    sources["interpreted.python"] = python_source()
    sources["endings.c"] = ending_source()
    sources["thrown.cc"] = exception_source()
    for name, text in sources.items():
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(text)


# Called as a compiler: `families.py -o PROGRAM SCRIPT` makes a script a program.
if __name__ == "__main__":
    shutil.copy(sys.argv[3], sys.argv[2])
    os.chmod(sys.argv[2], 0o755)
