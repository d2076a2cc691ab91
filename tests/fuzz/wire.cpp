// What ranks send each other when they plan. The first byte of each read says what is read next.
#include "base/bytes/wire.hpp"

#include "base/error.hpp"
#include "fuzz.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace laneway;
  Reader reader(std::as_bytes(std::span(data, size)));
  fuzz::accepts([&] {
    while (!reader.done()) switch (reader.get<std::uint8_t>() % 4) {
        case 0: {
          const std::int64_t number = reader.get_compact();
          Writer writer;
          writer.put_compact(number);
          const Bytes bytes = writer.take();
          fuzz::expect(Reader(bytes).get_compact() == number, "a number changes on its way");
          break;
        }
        case 1: {
          const RangeList list = reader.get_ranges();
          Writer writer;
          writer.put(list);
          const Bytes bytes = writer.take();
          fuzz::expect(Reader(bytes).get_ranges() == list, "ranges change on their way");
          const std::int64_t half = list.bytes() / 2;
          fuzz::expect(list.slice(0, half).bytes() + list.slice(half, list.bytes() - half).bytes() == list.bytes(),
                       "parts of ranges have other sizes");
          break;
        }
        case 2:
          (void)reader.get_bytes();
          break;
        default:
          (void)reader.get<double>();
      }
  });
  return 0;
}
