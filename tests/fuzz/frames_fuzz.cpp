// What a worker sends: frames in pieces, and Points and Records in their headers.
#include "worker/protocol.h"

#include "fuzz.h"
#include "record/record_json.h"
#include "record/timing_block.h"

#include <algorithm>
#include <cstdlib>

using namespace deepgap;

namespace {

// What the parent does with a frame; json's own exceptions are taken for a broken worker (run/supervisor.cpp).
void take(const Frame& frame) {
  const std::string kind = frame.header.value("kind", "");
  if (kind == "point") point_from_json(frame.header);
  if (kind == "record") {
    record_from_json(frame.header.at("record"));
    for (const std::string& block : frame.blocks) {
      decode_timings(block);
      decode_series(block);
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static fuzz::Share share("streams with a whole frame");
  const std::string_view bytes = fuzz::text_of(data, size);
  FrameParser parser;
  int frames = 0;
  try {
    for (size_t at = 0; at < bytes.size(); at += 1000) {
      parser.feed(bytes.substr(at, 1000));
      while (const auto frame = parser.next()) {
        ++frames;
        take(*frame);
      }
    }
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::internal && !fuzz::is_refusal(error)) std::abort();
  } catch (const nlohmann::json::exception&) {
  }
  share.count(frames > 0);
  return 0;
}
