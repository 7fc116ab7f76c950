// SPDX-License-Identifier: Apache-2.0
//
// Captures in a coroutine that runs: its stack is that of the function which resumed
// it.
#include <coroutine>
#include <cstdio>
#include <exception>
#include <string_view>

#include <crashhook/backtrace.hpp>

namespace
{
struct task {
    struct promise_type {
        task get_return_object()
        {
            return { std::coroutine_handle<promise_type>::from_promise(*this) };
        }
        std::suspend_always initial_suspend() noexcept
        {
            return {};
        }
        std::suspend_always final_suspend() noexcept
        {
            return {};
        }
        void return_void()
        {
        }
        void unhandled_exception()
        {
            std::terminate();
        }
    };
    std::coroutine_handle<promise_type> handle;
};

crashhook_raw_end end = CRASHHOOK_RAW_INVALID;
std::uint64_t addresses[64];
std::size_t count;

task capture_in_coroutine()
{
    co_await std::suspend_always();
    crashhook_raw_options options = CRASHHOOK_RAW_DEFAULTS;
    options.end = &end;
    count = crashhook_backtrace_capture_raw(addresses, 64, &options);
}

__attribute__((noinline)) void resume_often(const task &resumed)
{
    while (!resumed.handle.done())
        resumed.handle.resume();
    __asm__ volatile("");
}

bool has(const crashhook::symbolicated_backtrace &named, std::string_view function)
{
    for (const crashhook::symbolicated_frame frame : named)
        if (frame.function().find(function) != std::string_view::npos)
            return true;
    return false;
}
} // namespace

int main()
{
    const task resumed = capture_in_coroutine();
    resume_often(resumed);
    resumed.handle.destroy();
    const crashhook::symbolicated_backtrace named(
        crashhook::backtrace::from_addresses(addresses, count));
    const bool right = end == CRASHHOOK_RAW_COMPLETE &&
                       has(named, "capture_in_coroutine") &&
                       has(named, "resume_often") && has(named, "main");
    std::printf("%s\n", right ? "right" : named.format().c_str());
    return right ? 0 : 1;
}
