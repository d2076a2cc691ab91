#include <dlfcn.h>

#include <string_view>

#include "mpi/quirks/engine.hpp"

/// Open MPI lets others register functions with its engine.
namespace laneway::engine {

namespace {

using Registration = int (*)(int (*)());

Registration registration(const char* name) {
  return reinterpret_cast<Registration>(dlsym(RTLD_DEFAULT, name));
}

}  // namespace

bool can_be_entered(const char* setting) {
  const bool is_refused = setting != nullptr && std::string_view(setting) == "0";
  return !is_refused && registration("opal_progress_register") && registration("opal_progress_unregister");
}

void enter(int (*function)(), int (*before)()) {
  if (before != nullptr) registration("opal_progress_unregister")(before);
  if (function != nullptr) registration("opal_progress_register")(function);
}

}  // namespace laneway::engine
