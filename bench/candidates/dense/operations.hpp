#pragma once

#include <mpi.h>

#include <cstddef>

#include "candidates/dense.hpp"

namespace laneway::bench {

/// Calls f(forms, arguments that they have in common...) for the task's operation. `Forms`: the functions of each
/// operation in all forms, as members of the operation's name.
template <class Forms, class F>
void with_operation(const DenseTask& task, F&& f) {
  const DenseBlocks& b = task.blocks;
  std::byte* const in = task.receive.data();
  const std::byte* const out = task.send.data();
  const Rank root = task.dense.root;
  const int bytes = static_cast<int>(task.dense.bytes);
  const int elements = static_cast<int>(task.dense.elements());
  switch (task.dense.kind) {
    case DenseKind::alltoall:
      return f(Forms::alltoall, out, bytes, MPI_BYTE, in, bytes, MPI_BYTE);
    case DenseKind::alltoallv:
      return f(Forms::alltoallv, out, b.send_counts.data(), b.send_displacements.data(), MPI_BYTE, in,
               b.receive_counts.data(), b.receive_displacements.data(), MPI_BYTE);
    case DenseKind::allgather:
      return f(Forms::allgather, out, bytes, MPI_BYTE, in, bytes, MPI_BYTE);
    case DenseKind::gather:
      return f(Forms::gather, out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, root);
    case DenseKind::scatter:
      return f(Forms::scatter, out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, root);
    case DenseKind::bcast:
      return f(Forms::bcast, in, bytes, MPI_BYTE, root);
    case DenseKind::reduce:
      return f(Forms::reduce, out, in, elements, MPI_DOUBLE, MPI_SUM, root);
    case DenseKind::allreduce:
      return f(Forms::allreduce, out, in, elements, MPI_DOUBLE, MPI_SUM);
    case DenseKind::reduce_scatter:
      return f(Forms::reduce_scatter, out, in, b.receive_counts.data(), MPI_DOUBLE, MPI_SUM);
    default:
      return f(Forms::barrier);
  }
}

}  // namespace laneway::bench
