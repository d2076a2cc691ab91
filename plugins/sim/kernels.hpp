#pragma once

#include <laneway/device.h>
#include <laneway/device_combine.h>
#include <laneway/device_kernels.h>

#include <cstddef>

namespace laneway::sim {

/// Functions of the table.
int moves_create(int device, const lnw_device_run* runs, std::size_t count, lnw_device_moves* moves);
int moves_destroy(lnw_device_moves moves);
int moves_launch(lnw_device_moves moves, lnw_device_stream stream, void* const* bases, std::size_t base_count);

/// Extensions.
extern const lnw_device_kernels program_kernels;
extern const lnw_device_combine combine_kernels;

}  // namespace laneway::sim
