// Files of halo exchanges, for two ranks.
#include <sstream>
#include <string>

#include "data/halo_file.hpp"
#include "fuzz.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace laneway;
  std::istringstream file{std::string(fuzz::text_of(data, size))};
  for (const Rank rank : {0, 1})
    fuzz::accepts([&] {
      file.clear();
      const bench::Exchange exchange = bench::read_halo(file, "input", rank, 2, 8);
      for (const std::int64_t index : exchange.send.indices)
        fuzz::expect(index >= 0 && static_cast<std::size_t>(index) < exchange.send.labels.size(),
                     "an element is sent that the rank does not have");
      fuzz::expect(exchange.receive.indices.size() == exchange.receive.labels.size(),
                   "elements received have no names");
    });
  return 0;
}
