// SPDX-License-Identifier: Apache-2.0
//
// A class with virtual functions that two units use: that which is compiled with
// DEFINED has its functions, and alone its members in the debug information.
#include <string>
#include <vector>

namespace shop
{
struct base {
    int number = 7;
    virtual ~base();
    virtual int area() const;
};

class shape : public base
{
  public:
    shape(int width, const char *name) : width(width), name(name)
    {
    }
    int area() const override;
    int width;
    std::string name;
};
} // namespace shop

#ifdef DEFINED
shop::base::~base()
{
}
int shop::base::area() const
{
    return 0;
}
int shop::shape::area() const
{
    return width * 2;
}
#else
static int *volatile nothing;

__attribute__((noinline)) static int fill(const shop::shape &first)
{
    shop::shape local(4, "local");
    std::vector<shop::shape> several;
    several.emplace_back(3, "third");
    return *nothing + local.area() + first.area() + several[0].area();
}

int main()
{
    return fill(shop::shape(2, "first"));
}
#endif
