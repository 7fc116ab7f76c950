// SPDX-License-Identifier: Apache-2.0
//
// C++: which coroutine awaits which? The promise keeps the handle of the awaiting
// coroutine as its first member, so it is at offset 16 of every coroutine's frame.
#include <coroutine>
#include <crashhook/backtrace.h>
#include <cstdio>
#include <cstdlib>

struct task {
    struct promise_type {
        std::coroutine_handle<> awaiting{};
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
            std::abort();
        }
    };
    bool await_ready()
    {
        return false;
    }
    std::coroutine_handle<> await_suspend(std::coroutine_handle<> by)
    {
        coroutine.promise().awaiting = by;
        return coroutine;
    }
    void await_resume()
    {
    }
    std::coroutine_handle<promise_type> coroutine;
};

static std::coroutine_handle<> innermost;

static task read_page()
{
    co_await std::suspend_always{};
}

static task load_book()
{
    task page = read_page();
    innermost = page.coroutine;
    co_await page;
    page.coroutine.destroy();
}

static int print_waiting()
{
    crashhook_backtrace *backtrace;
    crashhook_symbolicated_backtrace *named;
    const std::size_t continuation = 16; // offset of promise_type::awaiting
    if (crashhook_backtrace_capture(nullptr, &backtrace) != 0 ||
        crashhook_backtrace_append_async(backtrace, innermost.address(), continuation,
                                         64) != 0 ||
        crashhook_backtrace_symbolicate(backtrace, nullptr,
                                        CRASHHOOK_SYMBOLICATION_DEFAULT, &named) != 0)
        return 1;
    char *text =
        crashhook_symbolicated_backtrace_format(named, CRASHHOOK_FORMAT_MEDIUM);
    std::puts(text != nullptr ? text : "");
    std::free(text);
    crashhook_symbolicated_backtrace_destroy(named);
    crashhook_backtrace_destroy(backtrace);
    return 0;
}

int main()
{
    task book = load_book();
    book.coroutine.resume();
    int status = print_waiting();
    innermost.destroy();
    book.coroutine.destroy();
    return status;
}
