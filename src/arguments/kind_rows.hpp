// Written by api/generate.py from api/operations.toml.
#pragma once

#include "arguments/call.hpp"

namespace laneway {

inline constexpr KindRow kind_rows[] = {
    {Kind::allgather,
     {.blocks = Blocks::same, .count = "sendcount", .type = "sendtype"},
     {.blocks = Blocks::equal, .count = "recvcount", .type = "recvtype"}},
    {Kind::allgatherv,
     {.blocks = Blocks::same, .count = "sendcount", .type = "sendtype"},
     {.blocks = Blocks::counted, .counts = "recvcounts", .displacements = "displs", .type = "recvtype"}},
    {Kind::alltoall,
     {.blocks = Blocks::equal, .count = "sendcount", .type = "sendtype"},
     {.blocks = Blocks::equal, .count = "recvcount", .type = "recvtype"}},
    {Kind::alltoallv,
     {.blocks = Blocks::counted, .counts = "sendcounts", .displacements = "sdispls", .type = "sendtype"},
     {.blocks = Blocks::counted, .counts = "recvcounts", .displacements = "rdispls", .type = "recvtype"}},
    {Kind::alltoallw,
     {.blocks = Blocks::typed, .counts = "sendcounts", .displacements = "sdispls", .types = "sendtypes"},
     {.blocks = Blocks::typed, .counts = "recvcounts", .displacements = "rdispls", .types = "recvtypes"}},
    {Kind::alltoallv_indexed,
     {.blocks = Blocks::indexed,
      .size = "sendsize",
      .counts = "sendcounts",
      .indices = "sendindices",
      .type = "sendtype"},
     {.blocks = Blocks::indexed,
      .size = "recvsize",
      .counts = "recvcounts",
      .indices = "recvindices",
      .type = "recvtype"}},
};

}  // namespace laneway
