#pragma once

namespace laneway::interpose {

/// In MPI_Init.
void begin_report();

/// In MPI_Finalize, on all ranks: says or writes on rank 0 what LANEWAY_REPORT asks for.
void report();

}  // namespace laneway::interpose
