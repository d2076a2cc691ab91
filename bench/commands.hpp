#pragma once

#include <laneway/device.h>

#include <CLI/App.hpp>
#include <functional>
#include <optional>

namespace laneway::bench {

/// What the command line asks for; returns the exit status.
using Action = std::function<int()>;

/// How far the nearest network interface is from a device, if that is known.
using NetworkDistanceOf = std::function<std::optional<int>(const lnw_device_info&)>;

/// Each adds one subcommand, which sets `action` when it is chosen.
/// Null where hypre was not found: what includes this compiles alike with and without it.
[[gnu::weak]] void add_amg(CLI::App& app, Action& action);
void add_bag(CLI::App& app, Action& action);
void add_calibrate(CLI::App& app, Action& action);
void add_channel(CLI::App& app, Action& action);
void add_copy(CLI::App& app, Action& action);
void add_dense(CLI::App& app, Action& action);
void add_device(CLI::App& app, Action& action, NetworkDistanceOf network_distance = {});
void add_discover(CLI::App& app, Action& action);
void add_distribute(CLI::App& app, Action& action);
void add_explain(CLI::App& app, Action& action);
void add_halos(CLI::App& app, Action& action);
void add_hints(CLI::App& app, Action& action);
void add_info(CLI::App& app, Action& action);
void add_link(CLI::App& app, Action& action);
void add_model(CLI::App& app, Action& action);
void add_neighbor(CLI::App& app, Action& action);
void add_overlap(CLI::App& app, Action& action);
void add_partitioned(CLI::App& app, Action& action);
void add_predict(CLI::App& app, Action& action);
void add_queue(CLI::App& app, Action& action);
void add_reduce(CLI::App& app, Action& action);
void add_spmbv(CLI::App& app, Action& action);
void add_spmm(CLI::App& app, Action& action);
void add_spmv(CLI::App& app, Action& action);
void add_strategies(CLI::App& app, Action& action);

}  // namespace laneway::bench
