// SPDX-License-Identifier: Apache-2.0
//
// Strings as Folly and sds have them, whose layouts are written out here: the libraries
// are no packages. With an argument each is overwritten by pointers to itself.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

static int *volatile nothing;

namespace folly
{
template <class Char> class fbstring_core
{
  public:
    explicit fbstring_core(const Char *text)
    {
        size_t size = 0;
        while (text[size] != 0)
            size++;
        enum { SHORT = sizeof(ml_) / sizeof(Char) - 1 };
        if (size <= SHORT) {
            memcpy(small_, text, size * sizeof(Char));
            small_[size] = 0;
            small_[SHORT] = Char(SHORT - size);
        } else {
            uint64_t kind = size <= 254 ? 0x8000000000000000 : 0x4000000000000000;
            ml_ = { (Char *)malloc((size + 1) * sizeof(Char)), size, size | kind };
            memcpy(ml_.data_, text, (size + 1) * sizeof(Char));
        }
    }

  private:
    struct MediumLarge {
        Char *data_;
        size_t size_;
        size_t capacity_;
    };
    union {
        uint8_t bytes_[sizeof(MediumLarge)];
        Char small_[sizeof(MediumLarge) / sizeof(Char)];
        MediumLarge ml_;
    };
};

template <class E, class Storage = fbstring_core<E>> class basic_fbstring
{
  public:
    explicit basic_fbstring(const E *text) : store_(text)
    {
    }

  private:
    Storage store_;
};
} // namespace folly

typedef char *sds;

// A vector as Boost's is with an allocator that has pointers of its own.
template <class T> struct offset_ptr {
    long offset;
};
template <class T> struct vector {
    struct {
        offset_ptr<T> m_start;
        size_t m_size;
    } m_holder;
};

// make_sds makes a string with a head for sizes of 5 or 8 << (type - 1) bits.
static sds make_sds(const char *text, size_t size, unsigned type)
{
    size_t width = type == 0 ? 0 : size_t(1) << (type - 1);
    char *made = (char *)calloc(1, 2 * width + 1 + size + 1) + 2 * width + 1;
    size_t allocated = size;
    made[-1] = char(type == 0 ? size << 3 : type);
    memcpy(made - 1 - 2 * width, &size, width);
    memcpy(made - 1 - width, &allocated, width);
    made[-1] = char(type == 0 ? size << 3 : type);
    memcpy(made, text, size);
    return made;
}

template <class T> static void damage(T &object)
{
    T *self = &object;
    for (size_t i = 0; i + sizeof(self) <= sizeof(object); i += sizeof(self))
        memcpy((char *)self + i, &self, sizeof(self));
}

int main(int argc, char **)
{
    char letters[601];
    memset(letters, 'x', 600);
    letters[600] = 0;
    folly::basic_fbstring<char> empty(""), small("small"),
        full("twenty-three characters"), medium("more than twenty-three characters"),
        large(letters);
    folly::basic_fbstring<char16_t> wide(u"wide"),
        wider(u"wider than in itself \u20ac \U0001F600");
    sds tiny = make_sds("tiny", 4, 0), usual = make_sds("a usual one", 11, 1),
        two_words = make_sds("two\0words", 9, 2), widest = make_sds("widest", 6, 4);
    sds wrong = letters + 300;
    vector<int> relative = { { { 16 }, 2 } };
    if (argc > 1)
        damage(small), damage(medium), damage(tiny), damage(usual), damage(wide);
    return *nothing + (wrong == two_words) + (widest == usual);
}
