// MLPerf's configuration files and run.json; the first byte says which.
#include "mlperf/loadgen/conf_file.h"

#include "fuzz.h"
#include "mlperf/loadgen/run_json.h"

using namespace deepgap;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static fuzz::Share share("files accepted");
  if (size == 0) return -1;
  const std::string text(fuzz::text_of(data + 1, size - 1));
  share.count(fuzz::accepts([&] {
    if (data[0] % 2 == 0) {
      ConfFile::parse(text, "fuzz").entries_for("resnet50", "Server");
    } else {
      parse_run_json(text, "fuzz");
    }
  }));
  return 0;
}
