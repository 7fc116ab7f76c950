// SPDX-License-Identifier: Apache-2.0
// A program of D without its run-time library, so that it stays small. It reads address 8.
module garden;

struct Pond(T)
{
    T depth;

    pragma(inline, false) U drain(U)(const U* from)
    {
        const U taken = *cast(shared const U*) from; // crashes here
        return cast(U)(taken + depth);
    }
}

pragma(inline, false) int visit(ref Pond!int pond, size_t at)
{
    return pond.drain!short(cast(const short*) at) + 1;
}

extern (C) int main()
{
    auto pond = Pond!int(3);
    return visit(pond, 8) + 2;
}
