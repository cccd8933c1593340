// Times of arrival; the first byte says their unit.
#include "scenario/trace_file.h"

#include "file_of_bytes.h"
#include "fuzz.h"

#include <cstdlib>

using namespace deepgap;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static fuzz::Share share("traces accepted");
  static fuzz::FileOfBytes file;
  if (size == 0) return -1;
  const std::string& path = file.hold(data + 1, size - 1);
  share.count(fuzz::accepts([&] {
    const TraceUnit unit = data[0] % 2 == 0 ? TraceUnit::s : TraceUnit::ns;
    const int64_t arrivals = check_trace(path, unit);
    TraceArrivals trace(path, unit);
    Nanoseconds last = 0;
    for (int64_t i = 0; i < arrivals && i < 1000; ++i) {
      const Nanoseconds next = trace.next();
      if (next < last) std::abort();  // never going back
      last = next;
    }
  }));
  return 0;
}
