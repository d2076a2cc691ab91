#pragma once

#include <CLI/App.hpp>
#include <functional>

namespace laneway::bench {

/// What the command line asks for; returns the exit status.
using Action = std::function<int()>;

/// Each adds one subcommand, which sets `action` when it is chosen.
void add_amg(CLI::App& app, Action& action);
void add_calibrate(CLI::App& app, Action& action);
void add_copy(CLI::App& app, Action& action);
void add_device(CLI::App& app, Action& action);
void add_explain(CLI::App& app, Action& action);
void add_halos(CLI::App& app, Action& action);
void add_link(CLI::App& app, Action& action);
void add_model(CLI::App& app, Action& action);
void add_neighbor(CLI::App& app, Action& action);
void add_overlap(CLI::App& app, Action& action);
void add_predict(CLI::App& app, Action& action);
void add_spmv(CLI::App& app, Action& action);
void add_strategies(CLI::App& app, Action& action);

}  // namespace laneway::bench
