// SPDX-License-Identifier: Apache-2.0
//
// crashhook for C++: scopes for tags and breadcrumbs, settings as strings, and
// std::stacktrace in Compact Backtrace Format. A thin layer over crashhook.h; nothing
// is compiled into a library. Like there, tags and breadcrumbs allocate nothing, take
// no lock and throw nothing.
//
// C++17. With C++23 and <stacktrace>, crashhook::cbf needs libcrashhook-backtrace too.
#pragma once
#include <cstdio>
#include <exception>
#include <initializer_list>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "crashhook/crashhook.h"

#if __has_include(<version>)
#include <version>
#endif
#if defined(__cpp_lib_stacktrace)
#include <stacktrace>

#include "crashhook/backtrace.h"
#endif

namespace crashhook
{

// settings holds the texts of crashhook_options:
//
//     crashhook::settings().set(&crashhook_options::release, "1.4.2").install();
class settings
{
  public:
    // set gives a member its value, which is copied.
    settings &set(const char *crashhook_options::*member, std::string value)
    {
        values_.emplace_back(member, std::move(value));
        return *this;
    }

    // install is crashhook_install: it throws std::system_error where that fails.
    void install() const
    {
        int error = try_install();
        if (error != 0)
            throw std::system_error(error, std::generic_category(), "crashhook");
    }

    // try_install returns an errno value instead; 0: it is installed.
    int try_install() const noexcept
    {
        crashhook_options options = CRASHHOOK_DEFAULTS;
        for (const auto &[member, value] : values_)
            options.*member = value.c_str();
        return crashhook_install(&options);
    }

  private:
    std::vector<std::pair<const char * crashhook_options::*, std::string>> values_;
};

// A scoped_tag is set while it exists. Where one of the same name is set around it in
// this thread, that one's value returns when it ends. Scopes of one thread are nested;
// name and value must outlive the scope.
class scoped_tag
{
  public:
    scoped_tag(const char *name, const char *value) noexcept
        : name_(name), value_(value), outer_(innermost())
    {
        innermost() = this;
        crashhook_set_tag(name, value);
    }

    ~scoped_tag()
    {
        innermost() = outer_;
        const scoped_tag *same = outer_;
        while (same != nullptr && !equal(same->name_, name_))
            same = same->outer_;
        crashhook_set_tag(name_, same != nullptr ? same->value_ : nullptr);
    }

    scoped_tag(const scoped_tag &) = delete;
    scoped_tag &operator=(const scoped_tag &) = delete;

  private:
    static const scoped_tag *&innermost() noexcept
    {
        static thread_local const scoped_tag *tag = nullptr;
        return tag;
    }

    static bool equal(const char *a, const char *b) noexcept
    {
        while (*a != 0 && *a == *b) {
            a++;
            b++;
        }
        return *a == *b;
    }

    const char *name_;
    const char *value_;
    const scoped_tag *outer_;
};

// breadcrumb records an event, formatted as printf does.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
template <typename... Arguments>
void breadcrumb(const char *format, Arguments... arguments) noexcept
{
    char message[240];
    if constexpr (sizeof...(Arguments) == 0)
        std::snprintf(message, sizeof(message), "%s", format);
    else
        std::snprintf(message, sizeof(message), format, arguments...);
    crashhook_breadcrumb(message);
}
#pragma GCC diagnostic pop

// A scoped_breadcrumb records that a piece of work begins, and that it ends or is left
// by an exception.
class scoped_breadcrumb
{
  public:
    explicit scoped_breadcrumb(const char *work) noexcept
        : work_(work), exceptions_(std::uncaught_exceptions())
    {
        breadcrumb("%s: begins", work);
    }

    ~scoped_breadcrumb()
    {
        bool thrown = std::uncaught_exceptions() > exceptions_;
        breadcrumb(thrown ? "%s: left by an exception" : "%s: ends", work_);
    }

    scoped_breadcrumb(const scoped_breadcrumb &) = delete;
    scoped_breadcrumb &operator=(const scoped_breadcrumb &) = delete;

  private:
    const char *work_;
    int exceptions_;
};

#if defined(__cpp_lib_stacktrace)
// cbf gives the frames of a std::stacktrace in Compact Backtrace Format, which
// `crashhook cbf decode` reads. It throws
// std::system_error where there is no memory.
inline std::vector<unsigned char> cbf(const std::stacktrace &trace)
{
    std::vector<uint64_t> addresses;
    for (const std::stacktrace_entry &entry : trace)
        addresses.push_back(entry.native_handle() + 1); // a handle is in the call
    struct crashhook_backtrace *backtrace = nullptr;
    int error = crashhook_backtrace_from_addresses(
        addresses.data(), addresses.size(), CRASHHOOK_FRAME_RETURN_ADDRESS, &backtrace);
    if (error != 0)
        throw std::system_error(error, std::generic_category(), "crashhook");
    size_t size = 0;
    const unsigned char *bytes = crashhook_backtrace_cbf(backtrace, &size);
    std::vector<unsigned char> copy(bytes, bytes + size);
    crashhook_backtrace_destroy(backtrace);
    return copy;
}
#endif

} // namespace crashhook
