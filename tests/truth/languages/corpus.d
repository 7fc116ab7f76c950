// SPDX-License-Identifier: Apache-2.0
//
// Ten crashes of D, by number.
import core.stdc.stdlib : abort, atoi;
import core.volatile : volatileLoad, volatileStore;

struct Item
{
    int id = 41;
    double price = 2.5;
    int[4] parts = [1, 2, 3, 4];
}

class Holder
{
    int held = 9;
    int read(int more) { return held + more; }
}

__gshared uint zero;

int read()
{
    return volatileLoad(&zero);
}

void keep(int value)
{
    volatileStore(&zero, value);
}

__gshared Holder nobody;

pragma(inline, false) void writeNull(int count, int* at)
{
    *at = count * 2;
}

pragma(inline, false) int divide(int left, int right)
{
    return left / right;
}

pragma(inline, false) void beyond(int* values, long at)
{
    values[at] = 7;
}

pragma(inline, false) int ofNobody(int more)
{
    return nobody.read(more) + 1;
}

pragma(inline, false) void endBy(int way)
{
    int[8] values = 5;
    Item one;
    one.id += way;
    switch (way % 5)
    {
    case 0: writeNull(way + 2, cast(int*) cast(size_t) read()); break;
    case 1: keep(divide(way + 10, read())); break;
    case 2: beyond(values.ptr, 400_000_000L + read()); break;
    case 3: keep(ofNobody(way)); break;
    default: abort();
    }
    keep(values[0] + one.id);
}

pragma(inline, false) void deep(int left, int way)
{
    int here = left * 3;
    if (left > 0)
        deep(left - 1, way);
    else
        endBy(way);
    keep(here * read());
}

extern (C) int main(int argc, char** argv)
{
    immutable way = atoi(argv[1]);
    if (way < 5)
        endBy(way);
    else
        deep(4, way);
    return read();
}
