/// Every object and operation of the library once: made, used and freed on a communicator. For tests of what all of
/// them must keep: nothing left behind, nothing disturbed, handles and memory that are used again at once.
///
/// A new family gets a row here (every_form.cpp), and is in all those tests.
#pragma once

#include <mpi.h>

#include <functional>
#include <string>
#include <vector>

namespace laneway::test {

struct ObjectForm {
  std::string name;
  /// All ranks of the communicator call it, and it fails the test where what comes is wrong. `use`: false: what it
  /// makes is freed as it is.
  std::function<void(MPI_Comm comm, bool use)> run;
  /// Of what is freed locally, so that ranks may free two of them in opposite orders: makes and uses it, and returns
  /// what frees it. Null of all else.
  std::function<std::function<void()>(MPI_Comm comm)> make;
  /// Of forms that share their objects: these take turns where one object is made very often. Empty: the name.
  std::string family = {};
};

/// LANEWAY_TEST_FORMS=text: those whose names have it; with a minus before it: those whose names have it not.
[[nodiscard]] const std::vector<ObjectForm>& every_form();

}  // namespace laneway::test
