// SPDX-License-Identifier: Apache-2.0
//
// The header as C++17 sees it: it compiles, links and is called.
#include <crashhook/backtrace.h>
#include <cstdlib>
#include <memory>

struct release {
    void operator()(crashhook_backtrace *it) const
    {
        crashhook_backtrace_destroy(it);
    }
    void operator()(char *it) const
    {
        std::free(it);
    }
};

int main()
{
    crashhook_capture_options options = CRASHHOOK_CAPTURE_DEFAULTS;
    options.algorithm = CRASHHOOK_UNWIND_PRECISE;
    crashhook_backtrace *captured = nullptr;
    if (crashhook_backtrace_capture(&options, &captured) != 0)
        return 1;
    std::unique_ptr<crashhook_backtrace, release> backtrace(captured);
    std::unique_ptr<char, release> text(crashhook_backtrace_description(captured));
    crashhook_frames frames = crashhook_backtrace_frames(captured);
    crashhook_frame frame;
    bool any = crashhook_frames_next(&frames, &frame);
    return any && frame.kind == CRASHHOOK_FRAME_RETURN_ADDRESS && text ? 0 : 1;
}
