#pragma once

#include <cstdlib>
#include <string>

namespace laneway::test {

/// A setting of the environment, for a while.
class Setting {
 public:
  Setting(const char* name, const std::string& value) : name_(name) { setenv(name, value.c_str(), 1); }
  ~Setting() { unsetenv(name_); }
  Setting(const Setting&) = delete;
  Setting& operator=(const Setting&) = delete;

 private:
  const char* name_;
};

}  // namespace laneway::test
