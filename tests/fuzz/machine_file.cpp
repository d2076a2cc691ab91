// Machine files.
#include "machine/machine_file.hpp"

#include "fuzz.hpp"
#include "machine/fabric.hpp"
#include "machine/parameters.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace laneway;
  const std::string_view text = fuzz::text_of(data, size);
  fuzz::accepts([&] {
    const Parameters parameters = Parameters::parse(text, "input");
    for (const std::int64_t bytes : {std::int64_t{0}, std::int64_t{1} << 40})
      if (const LinkCost* link = known_link(parameters.links, LinkClass::node); link != nullptr)
        fuzz::expect(link->seconds(bytes) >= 0, "a message takes less than no time");
    (void)parameters.copy_beta(3);
    (void)parameters.device_copy(2);
    (void)parameters.between_devices();
  });
  fuzz::accepts([&] {
    TomlTable file = TomlTable::parse(text, "input");
    (void)read_devices(file);
  });
  return 0;
}
