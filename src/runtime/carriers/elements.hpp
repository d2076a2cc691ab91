#pragma once

#include <mpi.h>

#include <cstdint>
#include <vector>

#include "mpi/made_type.hpp"
#include "runtime/carriers/transport.hpp"

namespace laneway {

/// What a message consists of: elements of a datatype; MPI_DATATYPE_NULL: bytes that lie together.
struct Elements {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  std::int64_t count = 0;
  /// From the first byte that they touch, which is where the message of a plan begins, to where the datatype counts
  /// from.
  std::int64_t origin = 0;
};

/// The elements of all messages of a bound plan, sends and receives each in the order of the plan: MPI gathers them
/// from and scatters them to where they are. What is on the wire is the same: one side may use this, and the other
/// bytes.
class MessageElements {
 public:
  MessageElements() = default;
  ~MessageElements() = default;
  MessageElements(const MessageElements&) = delete;
  MessageElements& operator=(const MessageElements&) = delete;

  void add_send(const Elements& elements) { sends_.push_back(elements); }
  void add_receive(const Elements& elements) { receives_.push_back(elements); }
  [[nodiscard]] const std::vector<Elements>& sends() const { return sends_; }
  [[nodiscard]] const std::vector<Elements>& receives() const { return receives_; }

  /// From now on the user may free the datatypes.
  void keep_types();

 private:
  std::vector<Elements> sends_;
  std::vector<Elements> receives_;
  std::vector<MadeType> kept_;
};

}  // namespace laneway
