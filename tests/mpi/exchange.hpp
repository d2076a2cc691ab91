/// One neighborhood operation with random arguments, as MPI and as this library run it.
#pragma once

#include <cstddef>

#include "base/kind.hpp"
#include "device_memory.hpp"
#include "support.hpp"

namespace laneway::test {

using Op = Kind;
inline constexpr Op all_ops[] = {Op::allgather, Op::allgatherv, Op::alltoall, Op::alltoallv, Op::alltoallw};

/// Which of an operation's functions is called: with int or with large counts, on the communicator or on a topology
/// object.
struct Form {
  bool large = false;
  LNW_Topology topology = LNW_TOPOLOGY_NULL;
  bool generic = false;  ///< persistent operations by LNW_Operation_init

  [[nodiscard]] std::string text() const;
};

/// The neighbours of the calling rank by slot, also MPI_PROC_NULL.
struct Neighborhood {
  std::vector<int> sources;
  std::vector<int> destinations;
  bool cartesian = false;

  [[nodiscard]] bool has_edge_twice() const;
};
[[nodiscard]] Neighborhood neighborhood_of(MPI_Comm comm);

/// Datatypes whose signature is two MPI_INTs, each with other places for them.
[[nodiscard]] const std::vector<MPI_Datatype>& pair_types();
void free_pair_types();

/// Memory whose offset 0 lies somewhere inside.
class Memory {
 public:
  Memory() = default;
  Memory(std::int64_t lower, std::int64_t upper) : lower_(lower), bytes_(static_cast<std::size_t>(upper - lower)) {}
  [[nodiscard]] unsigned char* base() { return bytes_.data() - lower_; }
  [[nodiscard]] unsigned char* base(const Mirror& mirror) const { return mirror.data() - lower_; }
  [[nodiscard]] std::vector<unsigned char>& bytes() { return bytes_; }

 private:
  std::int64_t lower_ = 0;
  std::vector<unsigned char> bytes_;
};

class Exchange {
 public:
  /// Arguments that agree on all ranks of `comm`, whose neighborhood it is; `typed`: derived datatypes, other ones on
  /// both sides.
  Exchange(Op op, MPI_Comm comm, std::uint64_t seed, bool typed);

  /// New data to send, and the receive buffers as before the operation.
  void fill(int iteration);
  /// The receive buffers as before the operation.
  void clear();

  /// What must arrive, by messages that follow the standard's rules: the k-th edge between two ranks on one side is the
  /// k-th on the other; on Cartesian communicators what is sent in the negative direction arrives from the positive
  /// one.
  void reference();
  /// What `other`, with the same arguments on another communicator, has as its reference.
  void expect_as(const Exchange& other) { expected_ = other.expected_; }
  /// Whether MPI's own operation does what `reference` does.
  [[nodiscard]] bool mpi_agrees();

  [[nodiscard]] int blocking(const Form& form = {});
  [[nodiscard]] int nonblocking(LNW_Request* request, const Form& form = {});
  [[nodiscard]] int init(MPI_Info info, LNW_Request* request, const Form& form = {});

  /// Whether what arrived by the last exchange is, byte for byte, gaps and all, what the reference has.
  [[nodiscard]] testing::AssertionResult arrived();
  /// Runs the operation blocking and nonblocking. `what`: for what fails.
  void expect_calls(const std::string& what, const Form& form = {});

 private:
  struct Side {
    int count = 0;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    std::vector<int> counts;
    std::vector<int> displacements;
    std::vector<MPI_Count> large_counts;
    std::vector<MPI_Aint> large_displacements;
    std::vector<MPI_Aint> byte_displacements;
    std::vector<MPI_Datatype> types;
    Memory memory;
    Mirror mirror;  ///< what the library is given instead, if there is one

    [[nodiscard]] unsigned char* base() { return mirror ? memory.base(mirror) : memory.base(); }
  };

  struct Block {
    unsigned char* data;
    int count;
    MPI_Datatype type;
  };
  [[nodiscard]] int generic_init(MPI_Info info, LNW_Request* request, const Form& form);
  [[nodiscard]] Block block(Side& side, std::size_t slot, bool sends);
  void run_mpi(Memory& receive);
  void run_messages(Memory& receive);

  Op op_;
  MPI_Comm comm_;
  std::uint64_t seed_;
  int rank_ = 0;
  Neighborhood neighbors_;
  Side send_;
  Side receive_;
  Memory expected_;
};

}  // namespace laneway::test
