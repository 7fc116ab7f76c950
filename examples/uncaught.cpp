// SPDX-License-Identifier: Apache-2.0
//
// uncaught: a service reads its settings, and the operator has forgotten one. No
// handler catches the exception.
#include <iostream>
#include <map>
#include <stdexcept>
#include <string>

namespace settings
{

using table = std::map<std::string, std::string>;

class missing_setting : public std::runtime_error
{
  public:
    explicit missing_setting(const std::string &name)
        : std::runtime_error("no value for setting '" + name + "'")
    {
    }
};

template <typename T> T convert(const std::string &text);

template <> int convert<int>(const std::string &text)
{
    return std::stoi(text);
}

template <typename T>
__attribute__((noinline)) T require(const table &values, const std::string &name)
{
    auto found = values.find(name);
    if (found == values.end())
        throw missing_setting(name); // crashes here
    return convert<T>(found->second);
}

} // namespace settings

class server
{
  public:
    explicit server(const settings::table &values)
        : port_(settings::require<int>(values, "port")),
          workers_(settings::require<int>(values, "workers"))
    {
    }

    void announce() const
    {
        std::cout << "listening on " << port_ << " with " << workers_ << " workers\n";
    }

  private:
    int port_;
    int workers_;
};

int main()
{
    const settings::table values = { { "port", "8080" }, { "host", "localhost" } };
    server(values).announce();
    return 0;
}
