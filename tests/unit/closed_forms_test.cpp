#include "offline/closed_forms.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "base/error.hpp"

namespace laneway {
namespace {

/// Lassen's tables, read by hand once more: alpha and beta of a message between CPUs that is large enough for
/// rendezvous, of one between GPUs, and of copies.
constexpr double on_socket_alpha = 3.15e-06, on_socket_beta = 3.40e-11;
constexpr double on_node_alpha = 6.77e-06, on_node_beta = 1.49e-10;
constexpr double off_node_alpha = 7.76e-06, off_node_beta = 7.97e-11;
constexpr double injection = 4.19e-11;

class ClosedFormsTest : public testing::Test {
 protected:
  [[nodiscard]] double seconds(const std::string& name, const Scenario& scenario) const {
    const auto forms = closed_forms();
    const auto form = std::find_if(forms.begin(), forms.end(), [&](const ClosedForm& row) { return row.name == name; });
    EXPECT_NE(form, forms.end()) << name;
    return model_.seconds(*form, scenario);
  }

  Parameters lassen_ = Parameters::read("lassen");
  ClosedForms model_{lassen_};
};

/// 256 messages of 2^20 bytes to 16 nodes: every message of every strategy goes by rendezvous.
constexpr Scenario large{16, 256, 1048576};
constexpr double s_node = 268435456, s_proc = 67108864, s_node_node = 16777216;

double copy_by_one(double sent, double received) {
  return 1.27e-05 + 1.96e-11 * sent + 1.30e-05 + 1.85e-11 * received;
}
double copy_by_four(double sent, double received) {
  return 1.47e-05 + 1.50e-10 * sent + 1.52e-05 + 5.52e-10 * received;
}
double on_node(double s) {
  return (on_socket_alpha + on_socket_beta * s) + 2 * (on_node_alpha + on_node_beta * s);
}
double on_node_device(double s) {
  return (1.82e-05 + 1.46e-11 * s) + 2 * (1.93e-05 + 2.39e-11 * s);
}

TEST_F(ClosedFormsTest, Equation41) {
  EXPECT_DOUBLE_EQ(model_.on_node(MemoryPath::staged, 1e6), on_node(1e6));
  EXPECT_DOUBLE_EQ(model_.on_node(MemoryPath::device_aware, 1e6), on_node_device(1e6));
  // Short messages.
  EXPECT_DOUBLE_EQ(model_.on_node(MemoryPath::staged, 100),
                   (3.67e-07 + 1.32e-10 * 100) + 2 * (9.25e-07 + 1.19e-09 * 100));
}

TEST_F(ClosedFormsTest, Equation42) {
  EXPECT_DOUBLE_EQ(model_.on_node_split(1e6, 1),
                   19 * (on_socket_alpha + on_socket_beta * 1e6) + 20 * (on_node_alpha + on_node_beta * 1e6));
  EXPECT_DOUBLE_EQ(model_.on_node_split(1e6, 4),
                   4 * (on_socket_alpha + on_socket_beta * 1e6) + 5 * (on_node_alpha + on_node_beta * 1e6));
}

TEST_F(ClosedFormsTest, Equations43And44) {
  // Injection limits four processes, but not one.
  const Volumes four{.proc_bytes = 1e6, .node_bytes = 4e6, .node_pair_bytes = 1e6, .messages = 2, .message_bytes = 5e5};
  EXPECT_DOUBLE_EQ(model_.off_node(MemoryPath::staged, four, 1e6), 2 * off_node_alpha + 4e6 * injection);
  Volumes one = four;
  one.node_bytes = 1e6;
  EXPECT_DOUBLE_EQ(model_.off_node(MemoryPath::staged, one, 1e6), 2 * off_node_alpha + 1e6 * off_node_beta);
  EXPECT_DOUBLE_EQ(model_.off_node(MemoryPath::device_aware, four, 1e6), 2 * 1.10e-05 + 1e6 * 1.72e-10);
}

TEST_F(ClosedFormsTest, Equation45) {
  EXPECT_DOUBLE_EQ(model_.copy(1e6, 2e6, 1), copy_by_one(1e6, 2e6));
  EXPECT_DOUBLE_EQ(model_.copy(1e6, 2e6, 4), copy_by_four(1e6, 2e6));
  EXPECT_EQ(model_.message_cap(), 17774);
}

TEST_F(ClosedFormsTest, Table6) {
  const double copies = copy_by_one(s_proc, s_node_node);
  EXPECT_DOUBLE_EQ(seconds("standard, staged", large), 64 * off_node_alpha + s_node * injection + copies);
  EXPECT_DOUBLE_EQ(seconds("standard, device-aware", large), 64 * 1.10e-05 + s_proc * 1.72e-10);
  // Sixteen nodes are dealt to four GPUs.
  EXPECT_DOUBLE_EQ(seconds("3-step, staged", large),
                   4 * off_node_alpha + s_node * injection + 2 * on_node(s_node_node) + copies);
  EXPECT_DOUBLE_EQ(seconds("3-step, device-aware", large),
                   4 * 1.10e-05 + 4 * s_node_node * 1.72e-10 + 2 * on_node_device(s_node_node));
  EXPECT_DOUBLE_EQ(seconds("2-step all, staged", large),
                   16 * off_node_alpha + s_node * injection + on_node(s_proc) + copies);
  EXPECT_DOUBLE_EQ(seconds("2-step all, device-aware", large),
                   16 * 1.10e-05 + s_proc * 1.72e-10 + on_node_device(s_proc));
  EXPECT_DOUBLE_EQ(seconds("2-step 1, staged", large),
                   4 * off_node_alpha + s_node * injection + on_node(s_proc) + copies);
  EXPECT_DOUBLE_EQ(seconds("2-step 1, device-aware", large), 4 * 1.10e-05 + s_proc * 1.72e-10 + on_node_device(s_proc));
  // The cap grows to s_node / 40, so that a pair of nodes needs three messages: 48 for 40 processes.
  const double off = 2 * off_node_alpha + s_node * injection;
  const double part = s_node / 40;  // of a process of the node
  EXPECT_DOUBLE_EQ(
      seconds("split + MD", large),
      off + 2 * (19 * (on_socket_alpha + on_socket_beta * part) + 20 * (on_node_alpha + on_node_beta * part)) + copies);
  EXPECT_DOUBLE_EQ(seconds("split + DD", large),
                   off +
                       2 * (4 * (on_socket_alpha + on_socket_beta * part) + 5 * (on_node_alpha + on_node_beta * part)) +
                       copy_by_four(s_proc, s_node_node));
}

TEST_F(ClosedFormsTest, AnyExchange) {
  // A process sends 5 messages to 3 nodes, its node to 6; half of what is sent is duplicates.
  const Crossings uneven{5, 6, 3, {5e6, 8e6, 2e6}, {2.5e6, 4e6, 1e6}};
  const auto seconds = [&](const char* name) {
    const auto forms = closed_forms();
    return model_.seconds(
        *std::find_if(forms.begin(), forms.end(), [&](const ClosedForm& row) { return row.name == name; }), uneven);
  };
  EXPECT_DOUBLE_EQ(seconds("standard, staged"), 5 * off_node_alpha + 5e6 * off_node_beta + copy_by_one(5e6, 2e6));
  EXPECT_DOUBLE_EQ(seconds("2-step all, staged"),
                   3 * off_node_alpha + 2.5e6 * off_node_beta + on_node(2.5e6) + copy_by_one(2.5e6, 1e6));
  EXPECT_DOUBLE_EQ(seconds("3-step, staged"),
                   2 * off_node_alpha + 4e6 * injection + 2 * on_node(1e6) + copy_by_one(2.5e6, 1e6));
}

TEST_F(ClosedFormsTest, DuplicatesAreOnlySentByStandard) {
  Scenario half = large;
  half.duplicates = 0.5;
  EXPECT_EQ(seconds("standard, staged", half), seconds("standard, staged", large));
  Scenario smaller = large;
  smaller.bytes /= 2;
  for (const ClosedForm& form : closed_forms())
    if (form.rule != Rule::standard) {
      EXPECT_EQ(model_.seconds(form, half), model_.seconds(form, smaller)) << form.name;
    }
}

TEST_F(ClosedFormsTest, SplitSendsAMessageForEachNodeWhileTheyAreSmall) {
  const Volumes small = model_.volumes(Rule::split_md, model_.crossings({4, 32, 8}));
  EXPECT_EQ(small.messages, 1);
  EXPECT_DOUBLE_EQ(small.message_bytes, 32 * 8 / 40.0);
  // 100 nodes are more than the 40 processes.
  EXPECT_EQ(model_.volumes(Rule::split_md, model_.crossings({100, 100, 8})).messages, 3);
  // Two messages for each of 16 nodes, with a cap that still holds all.
  EXPECT_EQ(model_.volumes(Rule::split_md, model_.crossings({16, 16, 20000})).messages, 1);
}

TEST_F(ClosedFormsTest, TermsOfTheOtherSocketCountOnceForEach) {
  const double socket = on_socket_alpha + on_socket_beta * 1e6;
  const double node = on_node_alpha + on_node_beta * 1e6;
  const ClosedForms one{lassen_, {8, 64, 1}};
  EXPECT_DOUBLE_EQ(one.on_node(MemoryPath::staged, 1e6), 7 * socket);
  EXPECT_DOUBLE_EQ(one.on_node_split(1e6, 1), 63 * socket);
  const ClosedForms four{lassen_, {1, 24, 4}};
  EXPECT_DOUBLE_EQ(four.on_node(MemoryPath::staged, 1e6), 3 * node);
  EXPECT_DOUBLE_EQ(four.on_node_split(1e6, 1), 23 * socket + 72 * node);
  EXPECT_EQ(four.volumes(Rule::split_md, four.crossings({97, 97, 8})).messages, 2);  // of 96 processes
}

TEST(ClosedForms, MachinesOfOtherPapersHaveWhatIsNeeded) {
  for (const char* name : {"lassen", "frontier-cxi-like", "delta-like", "elcapitan-like"}) {
    const Parameters machine = Parameters::read(name);
    EXPECT_NO_THROW(ClosedForms{machine}) << name;
  }
}

TEST(ClosedForms, MissingParametersAreNamed) {
  const Parameters machine = Parameters::read("mi250-ib");
  try {
    const ClosedForms model(machine);
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "the parameters of mi250-ib lack device_copies by 4 processes");
  }
}

}  // namespace
}  // namespace laneway
