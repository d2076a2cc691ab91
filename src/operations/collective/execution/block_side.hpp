#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/bytes/types.hpp"
#include "communicator/arguments/collective.hpp"
#include "communicator/datatypes/datatype.hpp"

namespace laneway {

/// Type maps that calls need again and again: predefined datatypes are never freed, so that theirs stay; those of
/// derived ones are held for one call. Allocates nothing for datatypes that have been seen.
class CallTypes {
 public:
  [[nodiscard]] const TypeMap* map(MPI_Datatype type);
  void end_call() { derived_.clear(); }

 private:
  std::vector<std::pair<MPI_Datatype, std::shared_ptr<const TypeMap>>> predefined_;
  std::vector<std::shared_ptr<const TypeMap>> derived_;
};

/// One side of an all-to-all with unequal blocks: where the block of each rank is. The arguments have been found good.
class BlockSide {
 public:
  explicit BlockSide(Rank ranks) : blocks_(static_cast<std::size_t>(ranks)) {}

  struct Block {
    const TypeMap* map = nullptr;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    std::int64_t count = 0;
    std::int64_t bytes = 0;
    std::byte* first = nullptr;  ///< where element 0 is

    /// Where its bytes are if they lie together; else null.
    [[nodiscard]] std::byte* together() const;
    /// Copies its bytes, in the order of the type map.
    void gather(std::byte* to) const;
    void scatter(const std::byte* from) const;
  };

  /// Of the arrays of a call; lists of datatypes have one for each rank. Allocates nothing where the datatypes are
  /// known.
  void describe(const SideArguments& arguments, void* buffer, CallTypes& types);
  [[nodiscard]] const Block& operator[](Rank peer) const { return blocks_[static_cast<std::size_t>(peer)]; }

 private:
  std::vector<Block> blocks_;
};

/// Both sides of a call, for as long as it runs.
struct CallBlocks {
  explicit CallBlocks(Rank ranks) : send(ranks), receive(ranks) {}
  /// In place, what is sent lies where the receive side says.
  void describe(const CollectiveCall& call);

  BlockSide send;
  BlockSide receive;
  CallTypes types;
  bool in_place = false;
  bool keeps_types = true;  ///< false: the program may have freed its datatypes, of which the maps are left
};

}  // namespace laneway
