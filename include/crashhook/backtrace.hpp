// SPDX-License-Identifier: Apache-2.0
//
// The Backtrace API for C++17: values that own what they hold, ranges, comparison,
// hashing, printing. A thin layer over backtrace.h; nothing is compiled into a library.
//
//     std::cerr << crashhook::symbolicated_backtrace(crashhook::backtrace::capture());
//
// A value may be read by several threads at the same time; copies share what they hold.
// Functions that fail throw std::system_error with the errno value that the C function
// returns; those marked noexcept do not fail. Only the captures of raw_backtrace and
// backtrace_store::add may be called in a signal handler.
#pragma once
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "crashhook/backtrace.h"

#if __has_include(<version>)
#include <version>
#endif
#if defined(__cpp_lib_format)
#include <format>
#endif
#if defined(__cpp_lib_stacktrace)
#include <stacktrace>
#endif

namespace crashhook
{
namespace detail
{
inline void check(int error, const char *what)
{
    if (error != 0)
        throw std::system_error(error, std::generic_category(), what);
}

// take_string makes a string of one that the caller is to free.
inline std::string take_string(char *string)
{
    const std::unique_ptr<char, decltype(&std::free)> owned(string, &std::free);
    if (string == nullptr)
        throw std::bad_alloc();
    return string;
}
} // namespace detail

// capture_options are crashhook_capture_options with their defaults.
struct capture_options {
    crashhook_unwind_algorithm algorithm = CRASHHOOK_UNWIND_AUTO;
    std::size_t limit = 64; // CRASHHOOK_NO_LIMIT: all frames
    std::size_t offset = 0;
    std::size_t top = 16;

    crashhook_capture_options to_c() const noexcept
    {
        return { sizeof(crashhook_capture_options), algorithm, limit, offset, top };
    }
};

// A frame is a value of a few words.
class frame
{
  public:
    frame() noexcept : frame_{}
    {
    }
    explicit frame(const crashhook_frame &from) noexcept : frame_(from)
    {
    }

    crashhook_frame_kind kind() const noexcept
    {
        return frame_.kind;
    }

    // address is the one that was captured; 0 where frames were left out.
    std::uint64_t address() const noexcept
    {
        return frame_.address.bits;
    }

    // adjusted_address is the one for looking up names: inside the call.
    std::uint64_t adjusted_address() const noexcept
    {
        return crashhook_frame_adjusted_program_counter(&frame_).bits;
    }
    std::uint64_t omitted() const noexcept
    {
        return frame_.omitted;
    }
    std::string description() const
    {
        return detail::take_string(crashhook_frame_description(&frame_));
    }
    const crashhook_frame &c_frame() const noexcept
    {
        return frame_;
    }

    friend bool operator==(const frame &a, const frame &b) noexcept
    {
        return a.kind() == b.kind() && a.address() == b.address() &&
               a.omitted() == b.omitted();
    }
    friend bool operator!=(const frame &a, const frame &b) noexcept
    {
        return !(a == b);
    }
    friend std::ostream &operator<<(std::ostream &out, const frame &value)
    {
        return out << value.description();
    }

  private:
    crashhook_frame frame_;
};

// A backtrace is a captured stack. Two are equal if their frames are.
class backtrace
{
  public:
    // An iterator passes over the frames, innermost first.
    class iterator
    {
      public:
        using iterator_category = std::input_iterator_tag;
        using value_type = frame;
        using difference_type = std::ptrdiff_t;
        using pointer = const frame *;
        using reference = const frame &;

        iterator() noexcept : frames_{}, at_end_(true)
        {
        }
        explicit iterator(const crashhook_backtrace *from) noexcept
            : frames_(crashhook_backtrace_frames(from)), at_end_(false)
        {
            ++*this;
        }
        reference operator*() const noexcept
        {
            return frame_;
        }
        pointer operator->() const noexcept
        {
            return &frame_;
        }
        iterator &operator++() noexcept
        {
            crashhook_frame next;
            at_end_ = !crashhook_frames_next(&frames_, &next);
            if (!at_end_)
                frame_ = frame(next);
            return *this;
        }
        iterator operator++(int) noexcept
        {
            iterator before = *this;
            ++*this;
            return before;
        }
        friend bool operator==(const iterator &a, const iterator &b) noexcept
        {
            return a.at_end_ && b.at_end_;
        }
        friend bool operator!=(const iterator &a, const iterator &b) noexcept
        {
            return !(a == b);
        }

      private:
        crashhook_frames frames_;
        frame frame_;
        bool at_end_;
    };
    using const_iterator = iterator;
    using value_type = frame;

    // capture captures the calling thread. The first frame is the calling function.
    __attribute__((noinline)) static backtrace
    capture(const capture_options &options = capture_options())
    {
        crashhook_capture_options wanted = options.to_c();
        wanted.offset += wanted.offset != SIZE_MAX; // not this function
        crashhook_backtrace *made = nullptr;
        detail::check(crashhook_backtrace_capture(&wanted, &made), "capture");
        return backtrace(made);
    }

    // capture_thread captures another thread of this process.
    static backtrace capture_thread(pid_t tid,
                                    const capture_options &options = capture_options())
    {
        const crashhook_capture_options wanted = options.to_c();
        crashhook_backtrace *made = nullptr;
        detail::check(crashhook_backtrace_capture_thread(tid, &wanted, &made),
                      "capture_thread");
        return backtrace(made);
    }

    // from_addresses makes one of return addresses, innermost first.
    static backtrace from_addresses(const std::uint64_t *addresses, std::size_t count)
    {
        crashhook_backtrace *made = nullptr;
        detail::check(crashhook_backtrace_from_addresses(
                          addresses, count, CRASHHOOK_FRAME_RETURN_ADDRESS, &made),
                      "from_addresses");
        return backtrace(made);
    }

    // from_json reads what to_json gave; the text may be untrusted.
    static backtrace from_json(std::string_view json)
    {
        crashhook_backtrace *made = nullptr;
        detail::check(crashhook_backtrace_from_json(json.data(), json.size(), &made),
                      "from_json");
        return backtrace(made);
    }

    // from_exception gives where an exception was thrown, where libcrashhook-throws is
    // loaded and CRASHHOOK_THROWS is yes; nothing: that is not known.
    static std::optional<backtrace> from_exception(const std::exception_ptr &exception)
    {
        const void *object = nullptr;
        crashhook_backtrace *made = nullptr;
        static_assert(sizeof(object) == sizeof(exception));
        // In both C++ runtimes it is a pointer to the object.
        std::memcpy(&object, static_cast<const void *>(&exception), sizeof(object));
        if (object == nullptr || crashhook_backtrace_from_exception(object, &made) != 0)
            return std::nullopt;
        return backtrace(made);
    }

    // from_current_exception is for a catch block.
    static std::optional<backtrace> from_current_exception()
    {
        return from_exception(std::current_exception());
    }

#if defined(__cpp_lib_stacktrace)
    // from_stacktrace takes the frames of the standard library's, whose addresses are
    // inside of the calls.
    template <class Allocator>
    static backtrace from_stacktrace(const std::basic_stacktrace<Allocator> &from)
    {
        std::vector<std::uint64_t> addresses;
        for (const std::stacktrace_entry &entry : from)
            addresses.push_back(static_cast<std::uint64_t>(entry.native_handle()) + 1);
        return from_addresses(addresses.data(), addresses.size());
    }
#endif

    // It takes over from, which must not be null.
    explicit backtrace(crashhook_backtrace *from)
        : backtrace_(from, &crashhook_backtrace_destroy)
    {
    }

    iterator begin() const noexcept
    {
        return iterator(c_backtrace());
    }
    iterator end() const noexcept
    {
        return iterator();
    }
    std::vector<frame> frames() const
    {
        return std::vector<frame>(begin(), end());
    }

    // cbf gives the frames in Compact Backtrace Format, as long as a copy of this
    // exists.
    std::string_view cbf() const noexcept
    {
        std::size_t size = 0;
        const std::uint8_t *bytes = crashhook_backtrace_cbf(c_backtrace(), &size);
        return { reinterpret_cast<const char *>(bytes), size };
    }
    std::string description() const
    {
        return detail::take_string(crashhook_backtrace_description(c_backtrace()));
    }
    std::string to_json() const
    {
        return detail::take_string(crashhook_backtrace_to_json(c_backtrace()));
    }
    const crashhook_backtrace *c_backtrace() const noexcept
    {
        return backtrace_.get();
    }

    friend bool operator==(const backtrace &a, const backtrace &b) noexcept
    {
        return compare(a, b) == 0;
    }
    friend bool operator!=(const backtrace &a, const backtrace &b) noexcept
    {
        return compare(a, b) != 0;
    }
    friend bool operator<(const backtrace &a, const backtrace &b) noexcept
    {
        return compare(a, b) < 0;
    }
    friend std::ostream &operator<<(std::ostream &out, const backtrace &value)
    {
        return out << value.description();
    }

  private:
    static int compare(const backtrace &a, const backtrace &b) noexcept
    {
        return a.cbf().compare(b.cbf());
    }

    std::shared_ptr<crashhook_backtrace> backtrace_;
};

// A symbolicated_frame is borrowed from its symbolicated_backtrace.
class symbolicated_frame
{
  public:
    explicit symbolicated_frame(const crashhook_symbolicated_frame *from) noexcept
        : frame_(from)
    {
    }
    frame captured() const noexcept
    {
        return frame(frame_->captured);
    }
    bool is_inline() const noexcept
    {
        return frame_->is_inline;
    }
    bool is_system() const noexcept
    {
        return crashhook_symbolicated_frame_is_system(frame_);
    }

    // function is empty where the name is not known, and file where the location is
    // not.
    std::string_view function() const noexcept
    {
        return frame_->symbol != nullptr ? frame_->symbol->name : "";
    }
    std::string_view file() const noexcept
    {
        const bool known =
            frame_->symbol != nullptr && frame_->symbol->location.path != nullptr;
        return known ? frame_->symbol->location.path : "";
    }
    std::uint32_t line() const noexcept
    {
        return frame_->symbol != nullptr ? frame_->symbol->location.line : 0;
    }

    // snippet gives the source lines around the frame's; nothing: they are not here.
    std::optional<std::string> snippet(unsigned around = 2) const
    {
        char *lines = nullptr;
        if (frame_->symbol == nullptr ||
            crashhook_symbol_snippet(frame_->symbol, around, &lines) != 0)
            return std::nullopt;
        return detail::take_string(lines);
    }
    std::string description() const
    {
        return detail::take_string(crashhook_symbolicated_frame_description(frame_));
    }
    const crashhook_symbolicated_frame *c_frame() const noexcept
    {
        return frame_;
    }

    friend std::ostream &operator<<(std::ostream &out, const symbolicated_frame &value)
    {
        return out << value.description();
    }

  private:
    const crashhook_symbolicated_frame *frame_;
};

// A symbolicated_backtrace is a backtrace with names.
class symbolicated_backtrace
{
  public:
    // An iterator passes over the frames, innermost first, with inlined ones.
    class iterator
    {
      public:
        using iterator_category = std::input_iterator_tag;
        using iterator_concept = std::forward_iterator_tag; // from C++20 on
        using value_type = symbolicated_frame;
        using difference_type = std::ptrdiff_t;
        using pointer = void;
        using reference = symbolicated_frame;

        iterator() noexcept : of_(nullptr), index_(0)
        {
        }
        iterator(const crashhook_symbolicated_backtrace *of, std::size_t index) noexcept
            : of_(of), index_(index)
        {
        }
        symbolicated_frame operator*() const noexcept
        {
            return symbolicated_frame(crashhook_symbolicated_backtrace_at(of_, index_));
        }
        iterator &operator++() noexcept
        {
            ++index_;
            return *this;
        }
        iterator operator++(int) noexcept
        {
            return iterator(of_, index_++);
        }
        friend bool operator==(const iterator &a, const iterator &b) noexcept
        {
            return a.index_ == b.index_;
        }
        friend bool operator!=(const iterator &a, const iterator &b) noexcept
        {
            return a.index_ != b.index_;
        }

      private:
        const crashhook_symbolicated_backtrace *of_;
        std::size_t index_;
    };
    using const_iterator = iterator;
    using value_type = symbolicated_frame;

    explicit symbolicated_backtrace(const backtrace &from,
                                    unsigned options = CRASHHOOK_SYMBOLICATION_DEFAULT)
        : named_(symbolicate(from, options), &crashhook_symbolicated_backtrace_destroy)
    {
    }

    iterator begin() const noexcept
    {
        return iterator(named_.get(), 0);
    }
    iterator end() const noexcept
    {
        return iterator(named_.get(), size());
    }
    std::size_t size() const noexcept
    {
        return crashhook_symbolicated_backtrace_count(named_.get());
    }
    symbolicated_frame operator[](std::size_t index) const noexcept
    {
        return *iterator(named_.get(), index);
    }
    std::string format(crashhook_format_preset preset = CRASHHOOK_FORMAT_FRIENDLY) const
    {
        return detail::take_string(
            crashhook_symbolicated_backtrace_format(named_.get(), preset));
    }
    std::string to_json() const
    {
        return detail::take_string(
            crashhook_symbolicated_backtrace_to_json(named_.get()));
    }
    const crashhook_symbolicated_backtrace *c_backtrace() const noexcept
    {
        return named_.get();
    }

    friend std::ostream &operator<<(std::ostream &out,
                                    const symbolicated_backtrace &value)
    {
        return out << value.format();
    }

  private:
    static crashhook_symbolicated_backtrace *symbolicate(const backtrace &from,
                                                         unsigned options)
    {
        crashhook_symbolicated_backtrace *made = nullptr;
        detail::check(crashhook_backtrace_symbolicate(from.c_backtrace(), nullptr,
                                                      options, &made),
                      "symbolicate");
        return made;
    }

    std::shared_ptr<crashhook_symbolicated_backtrace> named_;
};

// A raw_backtrace holds up to Capacity addresses in itself. Capturing is
// async-signal-safe and does not fail; names come later, from a backtrace.
template <std::size_t Capacity = 64> class raw_backtrace
{
    static_assert(Capacity != 0);

  public:
    __attribute__((always_inline)) static raw_backtrace capture() noexcept
    {
        raw_backtrace made;
        made.size_ =
            crashhook_backtrace_capture_raw(made.addresses_.data(), Capacity, nullptr);
        return made;
    }

    // capture_context captures from where a signal interrupted the thread: context is
    // the third argument of a handler with SA_SIGINFO. The first address is made one
    // like the others: the one after where the program was.
    static raw_backtrace capture_context(const void *context) noexcept
    {
        raw_backtrace made;
        crashhook_raw_options options = CRASHHOOK_RAW_DEFAULTS;
        options.context = context;
        made.size_ = crashhook_backtrace_capture_raw(made.addresses_.data(), Capacity,
                                                     &options);
        if (made.size_ != 0)
            made.addresses_[0]++;
        return made;
    }
    const std::uint64_t *begin() const noexcept
    {
        return addresses_.data();
    }
    const std::uint64_t *end() const noexcept
    {
        return addresses_.data() + size_;
    }
    std::size_t size() const noexcept
    {
        return size_;
    }
    crashhook::backtrace to_backtrace() const
    {
        return crashhook::backtrace::from_addresses(addresses_.data(), size_);
    }

  private:
    std::array<std::uint64_t, Capacity> addresses_;
    std::size_t size_ = 0;
};

// A backtrace_store is crashhook_backtrace_store: a number for each stack. add is
// async-signal-safe.
class backtrace_store
{
  public:
    explicit backtrace_store(std::size_t size)
        : store_(create(size), &crashhook_backtrace_store_destroy)
    {
    }

    // add gives the stack's number; 0: the store is full.
    template <std::size_t Capacity>
    std::uint32_t add(const raw_backtrace<Capacity> &stack) noexcept
    {
        return crashhook_backtrace_store_add(store_.get(), stack.begin(), stack.size());
    }
    backtrace get(std::uint32_t number) const
    {
        crashhook_backtrace *made = nullptr;
        detail::check(crashhook_backtrace_store_get(store_.get(), number, &made),
                      "backtrace_store");
        return backtrace(made);
    }
    std::size_t size() const noexcept
    {
        return crashhook_backtrace_store_count(store_.get());
    }

  private:
    static crashhook_backtrace_store *create(std::size_t size)
    {
        crashhook_backtrace_store *made = nullptr;
        detail::check(crashhook_backtrace_store_create(size, &made), "backtrace_store");
        return made;
    }

    std::unique_ptr<crashhook_backtrace_store,
                    decltype(&crashhook_backtrace_store_destroy)>
        store_;
};

} // namespace crashhook

template <> struct std::hash<crashhook::frame> {
    std::size_t operator()(const crashhook::frame &value) const noexcept
    {
        return crashhook_address_hash(value.c_frame().address);
    }
};

template <> struct std::hash<crashhook::backtrace> {
    std::size_t operator()(const crashhook::backtrace &value) const noexcept
    {
        return std::hash<std::string_view>()(value.cbf());
    }
};

#if defined(__cpp_lib_format)
namespace crashhook::detail
{
// A text_formatter formats a value as its text, with the options of a string.
template <class Value> struct text_formatter : std::formatter<std::string> {
    template <class Context> auto format(const Value &value, Context &context) const
    {
        return std::formatter<std::string>::format(text_of(value), context);
    }

  private:
    static std::string text_of(const symbolicated_backtrace &value)
    {
        return value.format();
    }
    template <class Other> static std::string text_of(const Other &value)
    {
        return value.description();
    }
};
} // namespace crashhook::detail

template <>
struct std::formatter<crashhook::frame>
    : crashhook::detail::text_formatter<crashhook::frame> {
};
template <>
struct std::formatter<crashhook::backtrace>
    : crashhook::detail::text_formatter<crashhook::backtrace> {
};
template <>
struct std::formatter<crashhook::symbolicated_frame>
    : crashhook::detail::text_formatter<crashhook::symbolicated_frame> {
};
template <>
struct std::formatter<crashhook::symbolicated_backtrace>
    : crashhook::detail::text_formatter<crashhook::symbolicated_backtrace> {
};
#endif
