#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "communicator/private_comm.hpp"

namespace laneway {

/// Communicators are freed when all their ranks have retired them, which each does whenever its last owner goes. Then
/// the ranks agree, by a reduction on the communicator itself, and what residents have sent has been received before:
/// a message that came later would be taken for one of the next communicator with the same context.
///
/// MPI_Comm_free may synchronise. So communicators are not freed in the order in which a rank has retired them but, in
/// an order that their ranks have in common, where all of them come: when another one is made of the same ranks, or in
/// MPI_Finalize. Only where more than `most_deferred` would be kept is the oldest freed by each rank when it finds
/// that. Programs whose communicators are of ever other ranks need this: MPI libraries have some thousand contexts.
inline constexpr int most_deferred = 64;

/// Made with each communicator, since all its ranks must come to agree, also one that has no memory left.
class RetiredPlace;
[[nodiscard]] std::shared_ptr<RetiredPlace> place_for_retired();
/// Takes what has lost its last owner. Calls no function of MPI: this may be inside a callback of MPI.
void retire(std::unique_ptr<PrivateComm> comm, RetiredPlace& place) noexcept;

/// As far as it comes without waiting.
void advance_retired() noexcept;

/// Frees those of the same ranks that all of them have retired. Collective over `fresh`, which was just made.
void free_retired(const PrivateComm& fresh);

/// Of the first of `numbers`, in rising order, those that are among the first on all ranks. Collective.
[[nodiscard]] std::vector<std::int64_t> common_numbers(const std::vector<std::int64_t>& numbers,
                                                       const PrivateComm& comm);

/// Before the last session ends in a program without MPI_Init: frees what all its ranks have retired, and forgets the
/// rest, with which MPI may be gone. Waits until all ranks have come so far.
void finish_retired_of_sessions() noexcept;

/// In MPI_Finalize: `alive` will not be used by all ranks together any more.
void finish_retired(const std::vector<std::shared_ptr<PrivateComm>>& alive) noexcept;

}  // namespace laneway
