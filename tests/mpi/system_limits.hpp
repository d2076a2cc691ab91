#pragma once

// What MPI libraries and systems refuse, for a while: the functions that the library calls are replaced in the test.

namespace laneway::test {

/// MPI_TAG_UB is no larger than this.
class TagLimit {
 public:
  explicit TagLimit(int limit);
  ~TagLimit();
  TagLimit(const TagLimit&) = delete;
  TagLimit& operator=(const TagLimit&) = delete;
};

/// Whether this process may make memory that others map, and map theirs.
void refuse_shared_memory(bool refuse);

}  // namespace laneway::test
