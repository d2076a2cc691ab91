#pragma once

#include "plan/plan.hpp"
#include "plan/writer/writer.hpp"

namespace laneway {

/// One plan that does what `first` does and then what `then` does, both of one rank. A step of `then` comes after those
/// steps of `first` that write what it reads, or touch what it writes, and after no others: phases overlap as far as
/// their data allows. `redirect`: where the buffers of `then` are, such as its send buffer in what `first` has
/// received.
///
/// For plans that no carrier has rewritten. The plans of all ranks must be composed: messages of a pair match in the
/// order of both plans.
[[nodiscard]] Plan compose(const Plan& first, const Plan& then, const Redirect& redirect = {});

}  // namespace laneway
