#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "machine/machine.hpp"
#include "plan/plan.hpp"
#include "runtime/carriers/bootstrap.hpp"
#include "runtime/carriers/carrier.hpp"
#include "runtime/carriers/local_options.hpp"
#include "runtime/carriers/node/sharing.hpp"

namespace laneway {

/// A plan whose messages are shared out among the carriers, and the memory that it reaches, if any.
struct Carried {
  std::shared_ptr<const Plan> plan;
  std::shared_ptr<PlanMemory> memory;
  std::string refusal = {};  ///< for people: why no carrier leaves the node, if some might have
};

/// Leaves to the MPI library what no other carrier can bring, unpacked where none brings anything. `node`: the ranks
/// that share memory with this one; none: it is alone. `arena_bytes`: as the hint lnw_shared_staging. Collective.
[[nodiscard]] Carried carry(std::shared_ptr<const Plan> plan, const Region& node, const LocalOptions& options,
                            Arenas& arenas, std::int64_t arena_bytes, Bootstrap& bootstrap);

/// As Carrier::connect, by the first carrier that can.
[[nodiscard]] std::shared_ptr<PlanMemory> connect_devices(Bootstrap& bootstrap, const DeviceEnds& ends,
                                                          std::shared_ptr<CarrierMemory>& kept, std::string& why);

}  // namespace laneway
