#pragma once

#include <CLI/App.hpp>
#include <cstdint>
#include <functional>
#include <vector>

namespace laneway::bench {

/// What the command line asks for; returns the exit status.
using Action = std::function<int()>;

/// What commands are for: the headings of `laneway-bench --help`, in this order.
enum class Topic : std::uint8_t { exchanges, programs, machine, explain };

/// A subcommand. One that is in the file NAME.cpp of a folder of commands/ is a row of the function
/// `std::vector<Command> NAME_commands()` there, which main.cpp finds by the name of the file.
struct Command {
  const char* name;
  Topic topic;
  const char* help;
  void (*add)(CLI::App& command, Action& action);  ///< its options, and that `action` is set when it is chosen
};

}  // namespace laneway::bench
