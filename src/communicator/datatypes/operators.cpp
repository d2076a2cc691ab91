#include "communicator/datatypes/operators.hpp"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "communicator/arguments/held.hpp"
#include "communicator/arguments/operations.hpp"
#include "communicator/datatypes/datatype.hpp"
#include "mpi/check.hpp"
#include "mpi/made_type.hpp"
#include "mpi/reduce_local.hpp"

namespace laneway {

namespace {

/// What predefined operators apply to (MPI 4.0, section 6.9.2).
enum Class : unsigned {
  of_integers = 1,
  of_reals = 2,
  of_complexes = 4,
  of_logicals = 8,
  of_bytes = 16,
  of_pairs = 32
};

struct OperatorRow {
  MPI_Op op;
  const char* name;
  unsigned classes;
};

const OperatorRow* find_predefined(MPI_Op op) {
  static const std::array rows = {
      OperatorRow{MPI_MAX, "MPI_MAX", of_integers | of_reals},
      OperatorRow{MPI_MIN, "MPI_MIN", of_integers | of_reals},
      OperatorRow{MPI_SUM, "MPI_SUM", of_integers | of_reals | of_complexes},
      OperatorRow{MPI_PROD, "MPI_PROD", of_integers | of_reals | of_complexes},
      OperatorRow{MPI_LAND, "MPI_LAND", of_integers | of_logicals},
      OperatorRow{MPI_LOR, "MPI_LOR", of_integers | of_logicals},
      OperatorRow{MPI_LXOR, "MPI_LXOR", of_integers | of_logicals},
      OperatorRow{MPI_BAND, "MPI_BAND", of_integers | of_bytes},
      OperatorRow{MPI_BOR, "MPI_BOR", of_integers | of_bytes},
      OperatorRow{MPI_BXOR, "MPI_BXOR", of_integers | of_bytes},
      OperatorRow{MPI_MAXLOC, "MPI_MAXLOC", of_pairs},
      OperatorRow{MPI_MINLOC, "MPI_MINLOC", of_pairs},
      OperatorRow{MPI_REPLACE, "MPI_REPLACE", 0},
      OperatorRow{MPI_NO_OP, "MPI_NO_OP", 0},
  };
  const auto* const row = std::ranges::find(rows, op, &OperatorRow::op);
  return row != rows.end() ? row : nullptr;
}

/// 0: of no class that the tables of operators name.
unsigned class_of(MPI_Datatype type) {
  const auto is_one_of = [&](std::initializer_list<MPI_Datatype> types) {
    return type != MPI_DATATYPE_NULL && std::ranges::find(types, type) != types.end();
  };
  // What not every MPI library has. Where Fortran or C++ lacks the type itself, the handle is MPI_DATATYPE_NULL.
#ifdef MPI_INTEGER16
  if (is_one_of({MPI_INTEGER16})) return of_integers;
#endif
#ifdef MPI_REAL2
  if (is_one_of({MPI_REAL2})) return of_reals;
#endif
#ifdef MPI_COMPLEX4
  if (is_one_of({MPI_COMPLEX4})) return of_complexes;
#endif
#ifdef MPI_CXX_BOOL
  if (is_one_of({MPI_CXX_BOOL})) return of_logicals;
#endif
#if defined(MPI_CXX_FLOAT_COMPLEX) && !defined(LANEWAY_SIMULATED)  // which SMPI names and has not
  if (is_one_of({MPI_CXX_FLOAT_COMPLEX, MPI_CXX_DOUBLE_COMPLEX, MPI_CXX_LONG_DOUBLE_COMPLEX})) return of_complexes;
#endif
  if (is_one_of({MPI_INT,         MPI_LONG,          MPI_SHORT,         MPI_UNSIGNED_SHORT,
                 MPI_UNSIGNED,    MPI_UNSIGNED_LONG, MPI_LONG_LONG_INT, MPI_UNSIGNED_LONG_LONG,
                 MPI_SIGNED_CHAR, MPI_UNSIGNED_CHAR, MPI_INT8_T,        MPI_INT16_T,
                 MPI_INT32_T,     MPI_INT64_T,       MPI_UINT8_T,       MPI_UINT16_T,
                 MPI_UINT32_T,    MPI_UINT64_T,      MPI_AINT,          MPI_OFFSET,
                 MPI_COUNT,       MPI_INTEGER1,      MPI_INTEGER2,      MPI_INTEGER4,
                 MPI_INTEGER8,    MPI_INTEGER}))
    return of_integers;
  if (is_one_of(
          {MPI_FLOAT, MPI_DOUBLE, MPI_LONG_DOUBLE, MPI_REAL, MPI_DOUBLE_PRECISION, MPI_REAL4, MPI_REAL8, MPI_REAL16}))
    return of_reals;
  if (is_one_of({MPI_C_FLOAT_COMPLEX, MPI_C_DOUBLE_COMPLEX, MPI_C_LONG_DOUBLE_COMPLEX, MPI_COMPLEX, MPI_DOUBLE_COMPLEX,
                 MPI_COMPLEX8, MPI_COMPLEX16, MPI_COMPLEX32}))
    return of_complexes;
  if (is_one_of({MPI_LOGICAL, MPI_C_BOOL})) return of_logicals;
  if (is_one_of({MPI_BYTE})) return of_bytes;
  if (is_one_of({MPI_FLOAT_INT, MPI_DOUBLE_INT, MPI_LONG_INT, MPI_2INT, MPI_SHORT_INT, MPI_LONG_DOUBLE_INT, MPI_2REAL,
                 MPI_2DOUBLE_PRECISION, MPI_2INTEGER}))
    return of_pairs;
  return 0;
}

std::string name_of(MPI_Datatype type) {
  std::array<char, MPI_MAX_OBJECT_NAME> text{};
  int length = 0;
  check_mpi(MPI_Type_get_name(type, text.data(), &length), "MPI_Type_get_name");
  return length > 0 ? std::string(text.data(), static_cast<std::size_t>(length)) : "a datatype without a name";
}

[[noreturn]] void refuse_operator(const std::string& why) {
  throw Error(ErrorKind::mpi, why, MPI_ERR_OP);
}

/// An argument that is a datatype.
struct Named {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  std::string argument;
};

/// Those of all neighbours, each handle once.
std::vector<Named> types_of(const Call& call, const Topology& topology) {
  const KindRow& row = row_of(call.kind);
  std::vector<Named> types;
  const auto add = [&](MPI_Datatype type, const std::string& argument) {
    require(type != MPI_DATATYPE_NULL, ErrorKind::type, argument + " is MPI_DATATYPE_NULL");
    if (std::ranges::find(types, type, &Named::type) == types.end()) types.push_back({type, argument});
  };
  const auto add_side = [&](const SideArguments& side, const SideRow& names, const std::vector<Neighbor>& neighbors) {
    if (names.blocks != BlockForm::typed) return add(side.type, side.name_of_type(names));
    require(side.types != nullptr || neighbors.empty(), ErrorKind::argument, std::string(names.types) + " is NULL");
    for (const Neighbor& neighbor : neighbors)
      add(side.types[neighbor.slot], std::string(names.types) + "[" + std::to_string(neighbor.slot) + "]");
  };
  add_side(call.send, row.send, topology.destinations);
  add_side(call.receive, row.receive, topology.sources);
  return types;
}

/// What kernels call the numbers that elements are made of, of which two are added one by one where they are complex;
/// none: they know no such numbers. `bytes`: of an element.
std::optional<int> device_number(MPI_Datatype type, int bytes, MPI_Op op) {
  const unsigned kind = class_of(type);
  if (kind == of_reals || (kind == of_complexes && op == MPI_SUM)) {
    const int each = kind == of_complexes ? bytes / 2 : bytes;
    return each == 4 ? std::optional(LNW_DEVICE_FLOAT32) : each == 8 ? std::optional(LNW_DEVICE_FLOAT64) : std::nullopt;
  }
  const std::array unsigned_types = {
      MPI_UNSIGNED,       MPI_UNSIGNED_LONG, MPI_UNSIGNED_LONG_LONG, MPI_UNSIGNED_CHAR, MPI_UINT8_T,
      MPI_UNSIGNED_SHORT, MPI_UINT16_T,      MPI_UINT32_T,           MPI_UINT64_T,      MPI_BYTE};
  if (kind != of_integers && type != MPI_BYTE) return std::nullopt;
  const bool is_unsigned = std::ranges::find(unsigned_types, type) != unsigned_types.end();
  switch (bytes) {
    case 1:
      return is_unsigned ? LNW_DEVICE_UINT8 : LNW_DEVICE_INT8;
    case 2:
      return is_unsigned ? LNW_DEVICE_UINT16 : LNW_DEVICE_INT16;
    case 4:
      return is_unsigned ? LNW_DEVICE_UINT32 : LNW_DEVICE_INT32;
    case 8:
      return is_unsigned ? LNW_DEVICE_UINT64 : LNW_DEVICE_INT64;
    default:
      return std::nullopt;
  }
}

/// None: no kernel combines such elements. The operator is one of the datatype's.
std::optional<DeviceOperation> device_operation(MPI_Op op, MPI_Datatype type) {
  constexpr std::array operations = {LNW_DEVICE_SUM,  LNW_DEVICE_MIN, LNW_DEVICE_MAX,  LNW_DEVICE_PROD,
                                     LNW_DEVICE_LAND, LNW_DEVICE_LOR, LNW_DEVICE_LXOR, LNW_DEVICE_BAND,
                                     LNW_DEVICE_BOR,  LNW_DEVICE_BXOR};
  const std::array ops = {MPI_SUM, MPI_MIN,  MPI_MAX,  MPI_PROD, MPI_LAND,
                          MPI_LOR, MPI_LXOR, MPI_BAND, MPI_BOR,  MPI_BXOR};
  const auto* const found = std::ranges::find(ops, op);
  int bytes = 0;
  check_mpi(MPI_Type_size(type, &bytes), "MPI_Type_size");
  const std::optional<int> number = device_number(type, bytes, op);
  if (found == ops.end() || !number) return std::nullopt;
  return DeviceOperation{operations[static_cast<std::size_t>(found - ops.begin())], *number, bytes};
}

class LocalReduction final : public Combiner {
 public:
  LocalReduction(MPI_Op op, MPI_Datatype type, std::int64_t element_bytes, bool in_order)
      : op_(op),
        type_(type),
        element_bytes_(element_bytes),
        in_order_(in_order),
        on_device_(device_operation(op, type)) {}
  [[nodiscard]] std::optional<DeviceOperation> on_device() const override { return on_device_; }

  void combine(std::byte* from, std::byte* to, std::int64_t bytes) const override {
    const InParts how{.element_bytes = element_bytes_, .in_order = in_order_, .most = std::numeric_limits<int>::max()};
    combine_in_parts(from, to, bytes, how, [&](const std::byte* in, std::byte* inout, std::int64_t n) {
      check_mpi(reduce_local(in, inout, static_cast<int>(n), type_.get(), op_.get()), "MPI_Reduce_local");
    });
  }

 private:
  HeldOperator op_;
  HeldType type_;
  std::int64_t element_bytes_;
  bool in_order_;
  std::optional<DeviceOperation> on_device_;
};

/// Whether this library can combine such elements in the program as it is.
bool can_combine(MPI_Op op, MPI_Datatype type) {
  return mpi_reduces_locally() || reduce_by_loops(nullptr, nullptr, 0, type, op);
}
constexpr const char* needs_world = "this MPI library combines such elements only after MPI_Init";

MPI_Aint extent_of(MPI_Datatype type) {
  MPI_Aint lower = 0;
  MPI_Aint extent = 0;
  check_mpi(MPI_Type_get_extent(type, &lower, &extent), "MPI_Type_get_extent");
  return extent;
}

/// A user's operator combines elements of the datatype itself, wherever its bytes lie together.
MPI_Datatype type_of_users_operator(const std::vector<Named>& types) {
  for (const Named& other : types)
    require(other.type == types.front().type, ErrorKind::type, [&] {
      return other.argument + " is another datatype than " + types.front().argument +
             ", which a user's operator cannot combine";
    });
  const std::shared_ptr<const TypeMap> map = type_map(types.front().type);
  const auto whole = map->ranges.contiguous();
  require(class_of(types.front().type) == of_pairs || (whole && *whole == Range{0, map->extent}), ErrorKind::type,
          [&] { return types.front().argument + " has gaps, which a user's operator cannot combine"; });
  return types.front().type;
}

MPI_Datatype type_of_predefined(const OperatorRow& row, const std::vector<Named>& types) {
  const MPI_Datatype base = base_type(types.front().type);
  for (const Named& other : types) {
    const MPI_Datatype its = base_type(other.type);
    require(its != MPI_DATATYPE_NULL, ErrorKind::type, [&] {
      return other.argument + " is made of several predefined types, which " + row.name + " cannot combine";
    });
    require(its == base, ErrorKind::type, [&] {
      return other.argument + " is made of " + name_of(its) + ", but " + types.front().argument + " of " +
             name_of(base);
    });
    require(class_of(its) != of_pairs || other.type == its, ErrorKind::type,
            [&] { return other.argument + " is derived from " + name_of(its) + ", which cannot be combined"; });
  }
  if ((class_of(base) & row.classes) == 0)
    refuse_operator("op is " + std::string(row.name) + ", which does not apply to " + name_of(base));
  return base;
}

/// Pairs have gaps inside, which are moved along.
class WithoutGaps {
 public:
  WithoutGaps(const Call& call, MPI_Datatype pair, const Topology& topology) : call_(call) {
    check_mpi(MPI_Type_contiguous(static_cast<int>(extent_of(pair)), MPI_BYTE, bytes_.place()), "MPI_Type_contiguous");
    types_.assign(static_cast<std::size_t>(std::max(topology.indegree, topology.outdegree)) + 1, bytes_.get());
    for (SideArguments* side : {&call_.send, &call_.receive}) {
      side->type = bytes_.get();
      side->types = types_.data();
    }
  }
  ~WithoutGaps() = default;
  WithoutGaps(const WithoutGaps&) = delete;
  WithoutGaps& operator=(const WithoutGaps&) = delete;

  [[nodiscard]] const Call& call() const { return call_; }

 private:
  Call call_;
  MadeType bytes_;
  std::vector<MPI_Datatype> types_;
};

}  // namespace

bool is_predefined_operator(MPI_Op op) {
  return find_predefined(op) != nullptr;
}

Reduction reduction_of(const Call& call, const Topology& topology) {
  require(call.fault == nullptr, ErrorKind::argument, call.fault);
  if (call.op == MPI_OP_NULL) refuse_operator("op is MPI_OP_NULL");
  const OperatorRow* const row = find_predefined(call.op);
  if (row != nullptr && row->classes == 0)
    refuse_operator("op is " + std::string(row->name) + ", which reduces nothing");
  const std::vector<Named> types = types_of(call, topology);
  int commutes = 1;
  check_mpi(MPI_Op_commutative(call.op, &commutes), "MPI_Op_commutative");
  if (types.empty()) return {{row != nullptr ? row->name : "user", "", 1, commutes == 0}, nullptr, {}};
  const MPI_Datatype type = row != nullptr ? type_of_predefined(*row, types) : type_of_users_operator(types);
  require(can_combine(call.op, type), ErrorKind::unsupported, needs_world);
  // Elements of an empty datatype have no bytes, of whatever size each is.
  const std::int64_t element_bytes = std::max<std::int64_t>(extent_of(type), 1);
  Reduction reduction{{row != nullptr ? row->name : "user", name_of(type), element_bytes, commutes == 0}, nullptr, {}};
  reduction.combiner =
      std::make_shared<const LocalReduction>(call.op, type, reduction.how.element_bytes, commutes == 0);
  reduction.has_gaps = class_of(type) == of_pairs;
  reduction.pattern =
      reduction.has_gaps ? describe(WithoutGaps(call, type, topology).call(), topology) : describe(call, topology);
  return reduction;
}

void check_call(const Call& call, const Topology& topology) {
  if (reduces(call.kind))
    (void)reduction_of(call, topology);
  else
    (void)describe(call, topology);
}

std::optional<Floats> floats_of(MPI_Datatype type) {
  const unsigned kind = class_of(type);
  if (kind != of_reals && kind != of_complexes) return std::nullopt;
  int bytes = 0;
  check_mpi(MPI_Type_size(type, &bytes), "MPI_Type_size");
  const int numbers = kind == of_reals ? 1 : 2;
  const int each = bytes / numbers;
  if (each != sizeof(float) && each != sizeof(double)) return std::nullopt;
  return Floats{each, numbers};
}

const char* operator_name(MPI_Op op) {
  const OperatorRow* const row = find_predefined(op);
  return row != nullptr ? row->name : "a user's operator";
}

const char* check_operator(MPI_Op op, MPI_Datatype type, const char* type_name) {
  if (op == MPI_OP_NULL) refuse_operator("op is MPI_OP_NULL");
  require(type != MPI_DATATYPE_NULL, ErrorKind::type, [&] { return std::string(type_name) + " is MPI_DATATYPE_NULL"; });
  const OperatorRow* const row = find_predefined(op);
  if (row != nullptr && row->classes == 0)
    refuse_operator("op is " + std::string(row->name) + ", which reduces nothing");
  if (row != nullptr && !is_predefined(type)) return "the operator is MPI's own and the datatype is not";
  if (row == nullptr || (class_of(type) & row->classes) != 0) return nullptr;
  // Of types beside those that the standard names, MPI knows.
  if (class_of(type) == 0) return "the datatype is none of those that the standard's operators name";
  refuse_operator("op is " + std::string(row->name) + ", which does not apply to " + name_of(type));
}

DenseReduction dense_reduction(MPI_Op op, MPI_Datatype type, const char* type_name, bool by_rank) {
  if (const char* const why = check_operator(op, type, type_name)) return {{}, nullptr, why};
  const OperatorRow* const row = find_predefined(op);
  const std::shared_ptr<const TypeMap> map = type_map(type);
  if (map->extent <= 0 || map->ranges.empty()) return {{}, nullptr, "the datatype is empty"};
  const auto whole = map->ranges.contiguous();
  if (class_of(type) != of_pairs && (!whole || *whole != Range{0, map->extent}))
    return {{}, nullptr, "the datatype has gaps, which MPI alone lets an operator see"};
  if (!can_combine(op, type)) return {{}, nullptr, needs_world};
  int commutes = 1;
  check_mpi(MPI_Op_commutative(op, &commutes), "MPI_Op_commutative");
  const bool in_order = by_rank || commutes == 0;
  DenseReduction reduction{{row != nullptr ? row->name : "user", name_of(type), map->extent, in_order}, nullptr, ""};
  reduction.combiner = std::make_shared<const LocalReduction>(op, type, map->extent, in_order);
  return reduction;
}

namespace {

/// Of MPI's own. What is not among these counts as a floating-point number.
bool is_integer_type(MPI_Datatype type) {
  const std::initializer_list<MPI_Datatype> integers = {
      MPI_CHAR,     MPI_SIGNED_CHAR, MPI_UNSIGNED_CHAR, MPI_BYTE,      MPI_SHORT,         MPI_UNSIGNED_SHORT,
      MPI_INT,      MPI_UNSIGNED,    MPI_LONG,          MPI_LONG_LONG, MPI_UNSIGNED_LONG, MPI_UNSIGNED_LONG_LONG,
      MPI_INT8_T,   MPI_INT16_T,     MPI_INT32_T,       MPI_INT64_T,   MPI_UINT8_T,       MPI_UINT16_T,
      MPI_UINT32_T, MPI_UINT64_T,    MPI_AINT,          MPI_OFFSET,    MPI_COUNT,         MPI_WCHAR,
      MPI_C_BOOL,   MPI_INTEGER,     MPI_LOGICAL};
  return std::ranges::find(integers, type) != integers.end();
}

}  // namespace

bool depends_on_order(MPI_Op op, MPI_Datatype type) {
  return (op == MPI_SUM || op == MPI_PROD) && !is_integer_type(type);
}

}  // namespace laneway
