/// An account of what the library asks of MPI, kept by functions that stand in front of MPI's (mpi_ledger.cpp).
#pragma once

#include <mpi.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace laneway::test {

/// Programs that link mpi_ledger.cpp call MPI by the names PMPI_… for themselves: what goes through MPI_… is the
/// library's. Communicators that were made by PMPI_… are the user's.
class Ledger {
 public:
  /// What is made and not freed yet: "communicators", "windows", "groups", "datatypes", "infos", "error handlers",
  /// "keyvals", "descriptors", "mappings". Of "operators" all that are made: the library has an MPI_Op_free of its own.
  [[nodiscard]] static std::map<std::string, std::int64_t> made();

  /// What was wrong on this rank since the last call: a receive that is still posted when its communicator is freed, or
  /// is freed itself.
  [[nodiscard]] static std::vector<std::string> faults();

  /// The library's collective operations that are under way on communicators of the user's, by name.
  [[nodiscard]] static std::vector<std::string> under_way();

  /// Of each communicator that all its ranks have freed: whether as many messages were received as sent. Collective
  /// over MPI_COMM_WORLD.
  [[nodiscard]] static std::vector<std::string> unreceived();
  /// Drops the accounts of those, so that the account itself does not grow.
  static void forget_freed();
  /// How many communicators the library has freed on this rank.
  [[nodiscard]] static std::int64_t freed();

  /// `made` is the user's from now on, though the library has made it for the user.
  static void give_to_user(MPI_Comm made);

  /// The `nth` datatype that the library asks for from now on is refused; 0: none is.
  static void refuse_datatype(int nth);

  /// MPI_Comm_free waits for all ranks, as some MPI libraries do.
  static void let_frees_synchronise(bool synchronise);
};

}  // namespace laneway::test
